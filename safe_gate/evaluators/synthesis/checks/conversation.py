"""Conversations: the assistant messages that are judged, each with the user messages that it answers. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any, NamedTuple

from safe_gate.core.jsontext import digest
from safe_gate.core.text.characters import is_blank
from safe_gate.core.validate import Fault
from safe_gate.model.codec import JsonObject
from safe_gate.model.results import Hit

ALL_TURNS = "all"
"""The value of `turns` that has every assistant message judged."""

FIELDS = ("user", "assistant")
"""The fields of a case without messages."""

_BETWEEN = "\n\n"  # ends a sentence, so no phrase reaches from one message into the next


class Message(NamedTuple):
    """A message of a conversation: its index in `messages`, and its text."""

    number: int
    text: str

    @property
    def field(self) -> str:
        """The field of a result for it."""
        return field_of(self.number)


def field_of(index: int) -> str:
    """Return the field of a result for a message."""
    return f"messages[{index}]"


class Talk(NamedTuple):
    """The place of a reply in a conversation.

    `id` is the conversation's. `asked` are the user messages that it answers: replies in a row answer the same ones.
    `earlier` are those further back that `topic_pivot` may look in, nearest first. `before` is a digest of the system
    and user messages before `asked`, "" without any. `context` is the case's own number, None if it sets none.

    A message without text is no message to answer and no reply that ends a turn.
    """

    id: str
    reply: Message
    asked: tuple[Message, ...]
    earlier: tuple[Message, ...]
    before: str
    context: int | None

    @property
    def user(self) -> str:
        """The text that the reply answers: the user messages, with a blank line between two."""
        return joined(self.asked)


def joined(messages: Sequence[Message]) -> str:
    """Return messages as one text."""
    return _BETWEEN.join(one.text for one in messages)


def talks(case: JsonObject, turns: str, context: int) -> Iterator[Talk]:
    """Yield where each judged reply of a case with `messages` stands.

    `turns` and `context` hold where the case sets neither.
    """
    found = _talks(case, case.get("context", context))
    if case.get("turns", turns) == ALL_TURNS:
        yield from found
    else:
        yield from deque(found, maxlen=1)


def _talks(case: JsonObject, context: int) -> Iterator[Talk]:
    asked: list[Message] = []
    earlier: deque[Message] = deque(maxlen=context)
    before, is_answered = "", False
    for index, message in enumerate(case["messages"]):
        one = Message(index, text_of(message["content"]))
        if message["role"] == "system":
            before = digest([before, "system", one.text])
        elif message["role"] == "assistant":
            yield Talk(case["id"], one, tuple(asked), tuple(earlier), before, case.get("context"))
            is_answered |= not is_blank(one.text)
        elif not is_blank(one.text):
            if is_answered:
                for each in asked:
                    before = digest([before, "user", each.text])
                    earlier.appendleft(each)
                asked, is_answered = [], False
            asked.append(one)


def read_as_one(case: JsonObject) -> Iterator[Sequence[tuple[str, Any]]]:
    """Yield the messages up to each reply, which are read as one text, each with its place."""
    asked: list[tuple[str, Any]] = []
    for index, message in enumerate(case.get("messages", ())):
        if message["role"] != "assistant":
            asked.append((field_of(index), message["content"]))
        elif asked and not is_blank(text_of(message["content"])):
            yield asked
            asked = []
    if asked:
        yield asked


def text_of(content: Any) -> str:
    """Return the text of a message's content: a text, or the parts of a list, with nothing between them."""
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def placed(hit: Hit, reply: Message, read: Sequence[Message]) -> Hit:
    """Return a hit with its place in its own message.

    `read` are the user messages that were read as one text. If a hit of a team's pattern goes on into the
    next message, it ends with its first message.
    """
    if hit.field == "assistant":
        return replace(hit, field=reply.field)
    starts = [0, *accumulate(len(one.text) + len(_BETWEEN) for one in read)]
    place = max(place for place in range(len(read)) if starts[place] <= hit.start)
    start, text = hit.start - starts[place], read[place].text
    end = min(hit.end - starts[place], len(text))
    return replace(hit, field=read[place].field, start=start, end=end, text=text[start:end])


def faults(case: JsonObject) -> Iterator[Fault]:
    """Yield the problems of the messages of a case that fits its schema."""
    messages = case.get("messages")
    if messages is None:
        for name in ("turns", "context"):
            if name in case:
                yield Fault((name,), "is for a case with messages; leave it out")
        return
    for name in FIELDS:
        if name in case:
            yield Fault((name,), "cannot be combined with messages; keep one of them")
    if all(one["role"] != "assistant" for one in messages):
        yield Fault(("messages",), "has no assistant message; expected one at its end, the reply to judge")
    elif messages[-1]["role"] != "assistant":
        role, place = messages[-1]["role"], len(messages) - 1
        words = f"is a {role} message at the end, which has no reply; add the reply, or leave the message out"
        yield Fault(("messages", place), words)
    for place, one in enumerate(messages):
        if "expected" in one and one["role"] != "assistant":
            yield Fault(
                ("messages", place, "expected"), "labels a message that is not judged; label assistant messages"
            )
    if "expected" in case and "expected" in messages[-1]:
        yield Fault(("expected",), "labels the last message, which has labels of its own; keep one of them")
