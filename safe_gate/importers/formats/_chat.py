"""Conversations as tools write them, and the text of a message."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from safe_gate.importers.formats._rows import Asked, NotACase, Refused, Row, samples

NOT_TEXT, SYSTEM, TOOLS = "parts that are not text", "system messages", "calls and answers of tools"
"""What is left out of a case, in the plural."""

_ROLES = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bard": "assistant",
    "bing": "assistant",
    "bot": "assistant",
    "model": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
    "function_call": "tool",
    "function-call": "tool",
    "function_response": "tool",
    "observation": "tool",
}
_ROLE_KEYS = ("role", "from", "type")
_TEXT_KEYS = ("content", "value", "parts", "text")


class Exchange(NamedTuple):
    """The last reply of a conversation and its prompt; `assistant` is None if a user message is last.

    `user` is the user's text, or all messages before the reply if they include other replies.
    """

    user: Asked
    assistant: str | None
    left_out: tuple[str, ...]


class _Message(NamedTuple):
    role: str
    text: str | None
    is_whole: bool


def is_message(value: Any) -> bool:
    """Return whether a value is a message: an object with a role that is known and a place for content."""
    return _role(value) is not None and any(key in _unwrapped(value) for key in (*_TEXT_KEYS, "tool_calls"))


def are_messages(value: Any) -> bool:
    """Return whether a value is a list of messages, of at least one."""
    return isinstance(value, list) and bool(value) and is_message(value[0])


def exchange(messages: Any, *, whole: bool = False) -> Exchange:
    """Return the last reply of a conversation, and its prompt.

    Messages and calls of tools are left out. Without an earlier reply, system messages are left out too, and user
    messages are joined by a blank line. A `whole` conversation keeps them. Raises NotACase for a value that is not a
    conversation.
    """
    if not isinstance(messages, list):
        raise NotACase("has no messages; expected a list of messages with role and content")
    known = [_message(one, index) for index, one in enumerate(messages)]
    told = [one for one in known if one.role == "user" or (one.role == "assistant" and one.text is not None)]
    reply = None
    if told and told[-1].role == "assistant":
        reply = told.pop()
    elif known and known[-1].role == "assistant":
        raise NotACase("ends with a message without text; expected a reply")
    asked = [one for one in told if one.role == "user"]
    if not asked:
        raise NotACase("has no message of the user before the last reply")
    has_tools = any(one.role == "tool" or (one.role == "assistant" and one.text is None) for one in known)
    has_earlier = whole or len(asked) < len(told)
    roles = ("system", "user", "assistant") if has_earlier else ("user", "assistant")
    kept = [one for one in known if one.role in roles and (one.role != "assistant" or one.text is not None)]
    left_out = (
        *(() if has_earlier or all(one.role != "system" for one in known) else (SYSTEM,)),
        *((TOOLS,) if has_tools else ()),
        *(() if all(one.is_whole for one in kept) else (NOT_TEXT,)),
    )
    if has_earlier:
        before = kept[:-1] if reply else kept
        user: Asked = tuple({"role": one.role, "content": one.text or ""} for one in before)
    else:
        user = "\n\n".join(one.text or "" for one in asked)
    return Exchange(user, reply.text if reply else None, left_out)


def ended(messages: Any, id_: str = "", *, whole: bool = False) -> Exchange:
    """Return the last reply of a conversation, as `exchange` does. Raises NotACase where no reply ends it."""
    try:
        found = exchange(messages, whole=whole)
    except NotACase as error:
        raise NotACase(str(error), id_) from None
    if found.assistant is None:
        raise NotACase("ends with a message of the user; expected a reply", id_)
    return found


def parsed(value: Any) -> Any:
    """Return what a text holds that is a JSON object or list, else the value as it is: `7` and `null` are text."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            found = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return found if isinstance(found, dict | list) else value
    return value


def text_of(content: Any) -> str | None:
    """Return the text of a message's content: a text, or the text parts of a list, a line each. None for none."""
    return _text(content)[0]


def _message(value: Any, index: int) -> _Message:
    role = _role(value)
    if role is None:
        known = "user, assistant, system or tool"
        raise NotACase(f"has a message without a known role at index {index}; expected {known}")
    fields = _unwrapped(value)
    text, is_whole = _text(next((fields[key] for key in _TEXT_KEYS if fields.get(key) is not None), None))
    return _Message(role, text, is_whole)


def _role(value: Any) -> str | None:
    if not isinstance(value, dict):
        return None
    fields = _unwrapped(value)
    return next(
        (
            _ROLES[word.lower()]
            for key in _ROLE_KEYS
            if isinstance(word := fields.get(key), str) and word.lower() in _ROLES
        ),
        None,
    )


def _unwrapped(message: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a message that LangChain wrote: they are in `kwargs` or `data`, the role in the class."""
    inner = message.get("kwargs", message.get("data"))
    if not isinstance(inner, dict) or "role" in message:
        return message
    name = message.get("id")
    last = name[-1] if isinstance(name, list) and name and isinstance(name[-1], str) else ""
    role = message.get("type") if last == "" else last.removesuffix("Chunk").removesuffix("Message").lower()
    return {"role": role, **inner}


def _text(content: Any) -> tuple[str | None, bool]:
    """Return the text of a message's content, None for none, and whether it is all of it."""
    if isinstance(content, str):
        return content, True
    if not isinstance(content, Sequence):
        return None, content is None
    found = [_part(part) for part in content]
    kept = [part for part in found if part is not None]
    return "\n".join(kept) if kept else None, len(kept) == len(found)


def _part(part: Any) -> str | None:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict) or part.get("type", "text") not in ("text", "input_text", "output_text"):
        return None
    return next((part[key] for key in ("text", "content") if isinstance(part.get(key), str)), None)


ASKED = ("messages", "message", "input", "question", "prompt", "user", "query", "instruction", "text", "content")
"""The names of what a user asks."""

_SAMPLES = ("choices", "generations")
_ANSWERED = (
    "output",
    "answer",
    "response",
    "completion",
    "assistant",
    "text",
    "content",
    "result",
    "message",
    "messages",
)


def recorded(id_: str, given: Any, answer: Any, tags: tuple[str, ...]) -> Iterator[Row | Refused]:
    """Yield each sample of a recorded call: the input and the answer of a model or an application.

    Either may be text, a message, messages, or these as JSON text. It may also be an object with one under a common
    name.
    Raises NotACase.
    """
    try:
        asked, replies = _given(given), replies_of(answer)
        found = None if isinstance(asked, str) else exchange([*asked, {"role": "assistant", "content": ""}])
    except NotACase as error:
        raise NotACase(str(error), id_) from None
    row = Row(id_, found.user if found else str(asked), None, tags, {}, found.left_out if found else ())
    yield from samples(row, replies, "text or a message in its output")


def replies_of(answer: Any) -> list[str | None]:
    """Return the text of each sample of a recorded answer, None for one without text. There is at least one."""
    answer = parsed(answer)
    if isinstance(answer, str):
        return [answer]
    if isinstance(answer, list) and answer:
        return _of_list(answer)
    if not isinstance(answer, dict):
        return [None]
    if is_message(answer):
        return [_message(answer, 0).text]
    some = next((answer[name] for name in _SAMPLES if isinstance(answer.get(name), list) and answer[name]), None)
    if some is None:
        found = next((answer[name] for name in _ANSWERED if answer.get(name) is not None), None)
        return [None] if found is None else replies_of(found)
    if len(some) > 1 and all(isinstance(one, list) for one in some):
        raise NotACase(f"has answers to {len(some)} prompts; expected one prompt per record")
    flat = some[0] if isinstance(some[0], list) else some
    return [reply for one in flat for reply in replies_of(one)] or [None]


def _of_list(answer: list[Any]) -> list[str | None]:
    """Return the last reply of a list of messages, or the reply in its parts. Other lists are samples."""
    if said := [one for one in answer if is_message(one)]:
        return [_message(said[-1], 0).text]
    if any(isinstance(one, dict) and "type" in one for one in answer):
        return [text_of(answer)]
    return [reply for one in answer for reply in replies_of(one)]


def _given(given: Any) -> str | list[Any]:
    given = parsed(given)
    if isinstance(given, str):
        return given
    if are_messages(given):
        return list(given)
    if isinstance(given, list) and given and are_messages(given[0]):  # LangChain: a list of lists
        if len(given) > 1:
            raise NotACase(f"has {len(given)} prompts in its input; expected one prompt per record")
        return list(given[0])
    if isinstance(given, dict):
        if is_message(given) and "messages" not in given:
            return [given]
        inner = next((given[name] for name in ASKED if given.get(name) is not None), None)
        if inner is not None:
            return _given(inner)
        if len(given) == 1 and isinstance(only := next(iter(given.values())), str):
            return only
    raise NotACase("has no message of a user in its input")
