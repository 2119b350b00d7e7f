"""A Synthesis case: a recorded turn, its place in a conversation, and what is asked of the reply. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import accumulate
from typing import Any, NamedTuple

from safe_gate.core.jsontext import digest
from safe_gate.core.text.characters import is_blank
from safe_gate.core.validate import Fault
from safe_gate.evaluators.judged import JudgeVerdict
from safe_gate.evaluators.replies import reply_digests
from safe_gate.evaluators.synthesis.definitions import ANY_OF, KINDS
from safe_gate.model import record
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import Place
from safe_gate.model.results import Hit

UNJUDGED = "unjudged replies"
"""The key of `Case.asks()` with the number of replies before the judged one that answer the same messages."""

_BETWEEN = "\n\n"  # ends a sentence, so no phrase reaches from one message into the next


class Message(NamedTuple):
    """A message of a conversation: its index in `messages`, and its text."""

    number: int
    text: str


def field_of(index: int) -> str:
    """Return the field of a result for a message."""
    return f"messages[{index}]"


class Talk(NamedTuple):
    """The place of a reply in a conversation.

    `id` is the conversation's. `asked` are the user messages that it answers: replies in a row answer the same ones.
    `earlier` are those further back that `topic_pivot` may look in, nearest first. `before` is a digest of the system
    and user messages before `asked`, "" without any. `context` is the case's own number, None if it sets none.
    `unjudged` is the number of replies before this one that answer the same messages, 0 if all replies are judged.

    A message without text is no message to answer and no reply that ends a turn.
    """

    id: str
    reply: Message
    asked: tuple[Message, ...]
    earlier: tuple[Message, ...]
    before: str
    context: int | None
    unjudged: int


def join_texts(messages: Sequence[Message]) -> str:
    """Return messages as one text, with a blank line between two."""
    return _BETWEEN.join(one.text for one in messages)


def find_talks(case: JsonObject, context: int) -> Iterator[Talk]:
    """Yield where each reply of a case with `messages` stands. `context` holds if the case sets none."""
    asked: list[Message] = []
    earlier: deque[Message] = deque(maxlen=case.get("context", context))
    before, replies = "", 0
    for index, message in enumerate(case["messages"]):
        one = Message(index, content_text(message["content"]))
        if message["role"] == "system":
            before = digest([before, "system", one.text])
        elif message["role"] == "assistant":
            yield Talk(case["id"], one, tuple(asked), tuple(earlier), before, case.get("context"), replies)
            replies += not is_blank(one.text)
        elif not is_blank(one.text):
            if replies:
                for each in asked:
                    before = digest([before, "user", each.text])
                    earlier.appendleft(each)
                asked, replies = [], 0
            asked.append(one)


def merged_messages(case: JsonObject) -> Iterator[Sequence[tuple[str, Any]]]:
    """Yield the messages up to each reply, which are read as one text, each with its place."""
    asked: list[tuple[str, Any]] = []
    for index, message in enumerate(case.get("messages", ())):
        if message["role"] != "assistant":
            asked.append((field_of(index), message["content"]))
        elif asked and not is_blank(content_text(message["content"])):
            yield asked
            asked = []
    if asked:
        yield asked


def content_text(content: Any) -> str:
    """Return the text of a message's content: a text, or the parts of a list, with nothing between them."""
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def place_hit(hit: Hit, reply: Message, read: Sequence[Message]) -> Hit:
    """Return a hit with its place in its own message.

    `read` are the user messages that were read as one text. If a hit of a team's pattern goes on into the
    next message, it ends with its first message.
    """
    if hit.field == "assistant":
        return replace(hit, field=field_of(reply.number))
    starts = [0, *accumulate(len(one.text) + len(_BETWEEN) for one in read)]
    place = max(place for place in range(len(read)) if starts[place] <= hit.start)
    start, text = hit.start - starts[place], read[place].text
    end = min(hit.end - starts[place], len(text))
    return replace(hit, field=field_of(read[place].number), start=start, end=end, text=text[start:end])


def conversation_faults(case: JsonObject) -> Iterator[Fault]:
    """Yield the problems of the messages of a case that fits its schema."""
    if "messages" not in case:
        return
    messages = case["messages"]
    last, place = messages[-1], len(messages) - 1
    if all(one["role"] != "assistant" for one in messages):
        yield Fault(("messages",), "has no assistant message; expected one at its end, the reply to judge")
    elif last["role"] != "assistant":
        words = f"is a {last['role']} message at the end, which has no reply; add the reply, or leave the message out"
        yield Fault(("messages", place), words)
    if "expected" in case and "expected" in last:
        yield Fault(("expected",), "labels the last message, which has labels of its own; keep one of them")


@record
class Case:
    """A recorded turn and the checks to run on it.

    `expected` holds the given labels, and `marks` quotes the clauses that decide, by group. No verdict uses either. In
    a conversation, `talk` is the place of the turn, and `user` has the messages that it answers. `wording` has what the
    reply must and must not contain, by the fields of `KINDS`. `judged` has recorded verdicts by the names of checks.
    """

    id: str
    user: str
    assistant: str
    checks: tuple[str, ...]
    expected: Mapping[str, bool | None]
    tags: tuple[str, ...]
    place: Place
    cluster: str = ""
    marks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    talk: Talk | None = None
    wording: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    judged: Mapping[str, JudgeVerdict] = field(default_factory=dict)

    @property
    def groups(self) -> tuple[str, ...]:
        """The tags, as groups."""
        return self.tags

    @property
    def ids(self) -> tuple[str, ...]:
        """The id, and that of the conversation: no case of another line may have either."""
        return (self.id,) if self.talk is None else (self.talk.id, self.id)

    @property
    def recording(self) -> str:
        """The file with the reply, which is that of the case."""
        return self.place.path

    def given(self) -> dict[str, Any]:
        """Return the digests of the message and of the earlier conversation, "" without one."""
        return {"user": digest(self.user), "before": self._before}

    @property
    def _before(self) -> str:
        return self.talk.before if self.talk else ""

    def asks(self) -> dict[str, Any]:
        """Return the expectations of the reply, sorted, so that equal expectations compare equal."""
        context = self.talk.context if self.talk else None
        unjudged = (self.talk.unjudged if self.talk else 0) or None
        asked = {
            "checks": sorted({*self.checks, *self.judged}),
            "expected": dict(self.expected),
            "tags": sorted(set(self.tags)),
        }
        return {**asked, "context": context, UNJUDGED: unjudged, **_sorted_requirements(self.wording)}

    def judges(self) -> dict[str, str]:
        """Return the judges of the recorded verdicts, by check."""
        return {name: one.by for name, one in self.judged.items()}

    def texts(self) -> dict[str, str]:
        """Return the recorded texts that are read, by field and in reading order."""
        if self.talk:
            read = (*reversed(self.talk.earlier), *self.talk.asked, self.talk.reply)
            return {field_of(one.number): one.text for one in read}
        return {"user": self.user, "assistant": self.assistant}

    def digests(self) -> dict[str, str]:
        """Return the digests that tell whether the case, and whether its reply, is the same in another run."""
        before = self._before or None
        asked = {**self.asks(), "before": before}
        known = {name: value for name, value in asked.items() if value is not None}  # few cases have all
        own = {"case": digest({"user": self.user, **known}), "output": digest(self.assistant)}
        return {**own, **reply_digests([self.assistant], {**self.given(), "before": before})}


def _sorted_requirements(wording: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Return requirements on wording, sorted; None for absent ones.

    One more entry in `must_contain_any` asks for less, so its digest is used: it is compared as a whole.
    """
    found: dict[str, Any] = {}
    for kind in KINDS:
        names = sorted(one if isinstance(one, str) else f"regex {one['regex']}" for one in wording.get(kind, ()))
        found[kind] = (digest(names) if kind == ANY_OF else names) if names else None
    return found


_FAIL_TAGS = tuple(
    f"{name}-fail"
    for name in "agency agency_language reassurance unverifiable_reassurance pivot topic_pivot crisis_support".split()
)
"""Endings of tags that mark a reply that should fail: a check's name, in full or short, and `-fail`."""


def is_negative(tags: Collection[str], profile: str, checks: Iterable[str] = ()) -> bool:
    """Return whether tags mark a reply that should fail: `negative_example`, or an ending of `_FAIL_TAGS`.

    So does the name of one of `checks`, those of the case, with `-fail`. Under the profile `spec` every tag that ends
    in `-fail` does (spec, "How to Mark Negative Examples").

    >>> is_negative(["grief", "ack-but-pivot-fail"], "standard"), is_negative(["exam-fail"], "standard")
    (True, False)
    >>> is_negative(["exam-fail"], "spec"), is_negative(["acme/tone-fail"], "standard", ["acme/tone"])
    (True, True)
    """
    endings = "-fail" if profile == "spec" else _FAIL_TAGS
    named = {"negative_example", *(f"{check}-fail" for check in checks)} if tags else ()
    return any(tag in named or tag.endswith(endings) for tag in tags)
