"""Messages and conversations as tools write them: their text, their last reply, and what is left out of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain
from typing import Any, NamedTuple

from safe_gate.addons.importers.files import parse_json
from safe_gate.addons.importers.records import Asked, RefusedRecord, field_words, has_value, list_texts
from safe_gate.core.text.characters import is_blank

_NOT_TEXT, _SYSTEM, _TOOLS = "parts that are not text", "system messages", "calls and answers of tools"
_REASONING, _EMPTY = "reasoning", "messages without text"
"""The kinds of content that are left out of a case, in the plural."""

_ROLES = {
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("system", "developer"), "system"),
    # `message` is the type of a reply of the Responses API.
    **dict.fromkeys("assistant ai gpt chatgpt chatbot bard bing bot model message".split(), "assistant"),
}
_ROLE_KEYS = ("role", "from", "type")
_TEXT_KEYS = ("content", "value", "parts", "text")
_TEXT_TYPES = (None, "text", "input_text", "output_text", "refusal")
"""The types of parts whose text counts. Gemini's parts have none."""

_OF_TOOLS = re.compile(r"(?i)(?:\b|_)(?:tool|function|mcp|execut)|\b(?:observation|ipython)\b|_call(?:_|\b)")
_OF_REASONING = re.compile(r"(?i)reasoning|thinking|thought")
_PLUMBING = frozenset({*_ROLE_KEYS, "refusal", "id", "status", "object", "index", "tool_call_id", "example"})
"""The fields of a message that hold no speech."""

ASKED = tuple("messages message input contents question prompt prompts user query instruction text content".split())
"""The field names of a user's question."""

_ANSWERED = tuple("output answer response completion assistant text content result message messages".split())
_SAMPLES = ("choices", "generations", "candidates")


class MessageText(NamedTuple):
    """What a message or a reply says, None for no text, and what is left out of it, in the plural."""

    text: str | None
    left_out: tuple[str, ...] = ()


class Conversation(NamedTuple):
    """The last reply of a conversation and its prompt; `assistant` is None if a user message is last.

    `user` is the user's text, or all messages before the reply if they include other replies. `labels` are those of
    the reply in a case of ours.
    """

    user: Asked
    assistant: Any
    left_out: tuple[str, ...]
    labels: Any = None


class _Message(NamedTuple):
    """A message. The `role` of an item that is no message is its kind. `own` are the case fields that it keeps."""

    role: str
    text: str | None
    left_out: tuple[str, ...]
    own: Mapping[str, Any] = {}

    @property
    def is_empty(self) -> bool:
        return is_blank(self.text or "")


def is_message(value: Any) -> bool:
    """Return whether a value is a message: an object with a role that is known and a place for content."""
    is_said = _role(value) in ("user", "assistant", "system")
    return is_said and any(key in _unwrap_langchain(value) for key in (*_TEXT_KEYS, "tool_calls"))


def are_messages(value: Any) -> bool:
    """Return whether a value is a list with a message."""
    return isinstance(value, list) and any(map(is_message, value))


def are_parts(value: Any) -> bool:
    """Return whether a value is a list of the parts of one text."""
    is_list = isinstance(value, list) and bool(value) and not are_messages(value)
    return is_list and all(isinstance(one, dict) and ("type" in one or "text" in one) for one in value)


def parse_embedded_json(value: Any) -> Any:
    """Return the object or list in a JSON text, else the value unchanged: `7` and `null` stay texts."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return parse_json(value)
        except (ValueError, RecursionError):
            return value
    return value


def is_message_value(value: Any) -> bool:
    """Return whether a parsed JSON text is messages, or the parts of a text. Other JSON may be a reply."""
    has_types = are_parts(value) and all("type" in one for one in value)
    return are_messages(value) or (has_types and content_text(value).text is not None)


def messages_or_value(value: Any) -> Any:
    """Return the messages or parts in a value, even if they are JSON text; any other value unchanged."""
    if is_message(value):
        return [value]
    return inner if is_message_value(inner := parse_embedded_json(value)) else value


def last_exchange(messages: Any, *, whole: bool = False) -> Conversation:
    """Return the last reply of a conversation, and its prompt.

    Messages without text and what tools call and answer are left out. Without an earlier reply, system messages are
    left out too, and user messages are joined by a blank line. A `whole` conversation keeps them. Raises RefusedRecord
    for a value that is not a conversation.
    """
    if not isinstance(messages, list) or not messages:
        raise RefusedRecord("has no messages; expected a list of messages with role and content")
    known = [_message(one, index, len(messages) - 1, whole=whole) for index, one in enumerate(messages)]
    last, is_called = known[-1], _TOOLS in known[-1].left_out
    kept = [one for one in known if one.role in ("system", "user", "assistant") and not one.is_empty]
    if last.role == "assistant" and last.text is not None and last.is_empty and not is_called:
        kept.append(last)  # an empty reply is one
    told = [one for one in kept if one.role != "system"]
    reply = told.pop() if told and told[-1].role == "assistant" else None
    is_unsaid = (last.role == "user" and not is_called) or (last.role == "assistant" and reply is None)
    if last.is_empty and last is not reply and is_unsaid:
        raise RefusedRecord("ends with a message without text; expected a reply")
    if all(one.role != "user" for one in told):
        raise RefusedRecord("has no message of the user before the last reply, or none with text")
    left_out = [what for one in known for what in one.left_out]
    left_out += [_EMPTY for one in known if one.is_empty and one is not reply and not one.left_out]
    before = [one for one in kept if one is not reply]
    user: Asked = tuple({"role": one.role, "content": one.text or "", **one.own} for one in before)
    if not whole and all(one.role == "user" for one in told):
        user = "\n\n".join(one.text or "" for one in told)
        left_out += [_SYSTEM] if len(told) < len(before) else []
    labels = reply.own.get("expected") if reply else None
    return Conversation(user, reply.text if reply else None, tuple(dict.fromkeys(left_out)), labels)


def last_reply(messages: Any, *, whole: bool = False) -> Conversation:
    """Return the last reply of a conversation, as `last_exchange` does. Raises RefusedRecord where no reply ends it."""
    found = last_exchange(messages, whole=whole)
    if found.assistant is None:
        raise RefusedRecord("ends with a message of the user; expected a reply")
    return found


def join_messages(before: list[Any], after: list[Any]) -> list[Any]:
    """Return two lists of messages as one. Messages that a tool recorded in both count once."""
    asked, said = _plain_messages(before), _plain_messages(after)
    if all(role != "user" for role, _ in said):
        return [*before, *after]
    places = [place for place, (role, _) in enumerate(asked) if role != "system"]
    turns, told = [asked[place] for place in places], [one for one in said if one[0] != "system"]
    starts = [0, *([max(i for i, one in enumerate(turns) if one == told[0])] if told[0] in turns else [])]
    start = next((one for one in starts if turns[one:] == told[: len(turns) - one]), len(turns))
    if len(turns) == 1 and turns[0] in told:
        start = 0
    known = {one for one in said if one[0] == "system"}
    again = {*places[start:], *(place for place, one in enumerate(asked) if one in known)}
    return [*(one for place, one in enumerate(before) if place not in again), *after]


def _plain_messages(messages: list[Any]) -> list[tuple[str, str]]:
    known = (_message(one, index) for index, one in enumerate(messages))
    return [(one.role, (one.text or "").strip()) for one in known]


# --- a message ------------------------------------------------------------------------------------


def content_text(content: Any) -> MessageText:
    """Return the text of a message's content: a text, or its parts, joined with nothing between as tools join them."""
    if isinstance(content, str | None):
        return MessageText(content)
    if isinstance(content, dict):
        return content_text(content.get("parts", [content]))
    if not isinstance(content, list):
        return MessageText(None, (_NOT_TEXT,))
    found = [_part_text(part) for part in content]
    said = [text for text, _ in found if text is not None]
    return MessageText("".join(said) if said else None, tuple(what for _, some in found for what in some))


def _part_text(part: Any) -> MessageText:
    if isinstance(part, str):
        return MessageText(part)
    if not isinstance(part, dict):
        return MessageText(None, (_NOT_TEXT,))
    kind = part.get("type")
    if kind in _TEXT_TYPES and not part.get("thought"):
        text = next((part[key] for key in ("text", "content", "refusal") if part.get(key) is not None), None)
        text = text.get("value") if isinstance(text, dict) else text  # the Assistants API
        if isinstance(text, str):
            return MessageText(text)
    return MessageText(None, (_sort_of_part(kind if isinstance(kind, str) else " ".join(part)) or _NOT_TEXT,))


def _sort_of_part(name: str) -> str | None:
    """Return whether a part, field or item is of tools or reasoning, by its name; None for neither."""
    if _OF_TOOLS.search(name):
        return _TOOLS
    return _REASONING if _OF_REASONING.search(name) else None


def _message(value: Any, index: int, last: int = -1, *, whole: bool = False) -> _Message:
    fields = _unwrap_langchain(value) if isinstance(value, dict) else {}
    role = _role_of(fields)
    if role is None:
        known = "user, assistant, system or tool"
        raise RefusedRecord(f"has a message without a known role at index {index}; expected {known}")
    if role in (_TOOLS, _REASONING):
        return _Message(role, None, (role,))
    kept = [key for key in fields if key == "expected" or (key[:2] == "x_" and index < last)] if whole else ()
    own = {key: fields.pop(key) for key in kept}
    return _Message(role, *_message_text(fields), own)


def _message_text(fields: Mapping[str, Any]) -> MessageText:
    """Return the text of a message. A refusal is text too."""
    given = [key for key in _TEXT_KEYS if fields.get(key) is not None]
    used = next((key for key in given if has_value(fields[key])), given[0] if given else "")
    text, left_out = content_text(fields.get(used))
    refusal = fields.get("refusal")
    if isinstance(refusal, str) and refusal not in (text or ""):
        text = f"{text}\n\n{refusal}" if text and not is_blank(text) else refusal
    others = [key for key, one in fields.items() if key != used and key not in _PLUMBING and has_value(one)]
    return MessageText(text, (*left_out, *[_sort_of_part(key) or f"{field_words(key)} of messages" for key in others]))


def _role(value: Any) -> str | None:
    """Return the role of a message, or the kind of another item of a conversation; None if it is unknown."""
    return _role_of(_unwrap_langchain(value)) if isinstance(value, dict) else None


def _role_of(fields: Mapping[str, Any]) -> str | None:
    word = next((word for key in _ROLE_KEYS if isinstance(word := fields.get(key), str)), "")
    return (
        _ROLES.get(word)
        or _ROLES.get(word.removesuffix("Chunk").removesuffix("Message").lower())
        or _sort_of_part(word)
    )


def _unwrap_langchain(message: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a message that LangChain wrote: they are in `kwargs` or `data`, the role in the class."""
    inner = message.get("kwargs", message.get("data"))
    role: dict[str, Any] = {}
    if isinstance(inner, dict) and "role" not in message:
        names = list_texts(message.get("id"))
        role = {"role": names[-1] if names else message.get("type")}
    else:
        inner = message
    more = inner.get("additional_kwargs")
    if not isinstance(more, dict):
        return {**role, **inner}
    return {**role, **more, **{key: one for key, one in inner.items() if key != "additional_kwargs"}}


# --- an input and an output -----------------------------------------------------------------------


def last_reply_text(messages: list[Any]) -> MessageText:
    """Return the last reply of some messages, and what is left out of them."""
    known = [_message(one, index) for index, one in enumerate(messages)]
    found = next((one for one in reversed(known) if one.text is not None), None)
    if found is None or found.role != "assistant" or (found.is_empty and _TOOLS in found.left_out):
        return MessageText(None)
    return MessageText(found.text, tuple(what for one in known for what in one.left_out))


Told = tuple[list[Any], tuple[str, ...]]
"""A recorded input or output as messages, none if there is no text, and what is left out of it."""


def replies_of_output(output: Any) -> list[Told]:
    """Return each sample of a recorded output, at least one. Raises RefusedRecord."""
    return _spoken_samples(output, "assistant") or [([], ())]


def prompt_of_input(given: Any) -> Told:
    """Return a recorded input. Raises RefusedRecord."""
    found = _spoken_samples(given, "user")
    if len(found) > 1:
        raise RefusedRecord(f"has {len(found)} prompts in its input; expected one prompt per record")
    if not (found and found[0][0]):
        raise RefusedRecord("has no message of a user in its input")
    return found[0]


def _spoken_samples(value: Any, role: str) -> list[Told]:
    """Return each sample of what somebody said: text, a message, messages, the parts of a text, or a list of samples.

    It may be JSON text, or an object with one of these under a common name.
    """
    inner, found = parse_embedded_json(value), list[Told]()
    if isinstance(inner, dict):
        found = _object_samples(inner, role)
    elif isinstance(inner, list) and (
        inner is value or is_message_value(inner) or all(isinstance(one, str) for one in inner)
    ):
        found = _list_samples(inner, role)
    is_text = isinstance(value, str) and (inner is value or role == "assistant")  # a reply may be any JSON
    if is_text and not any(messages for messages, _ in found):
        return [([{"role": role, "content": value}], ())]
    return found


def _list_samples(value: list[Any], role: str) -> list[Told]:
    if are_messages(value):
        said = [one for one in value if is_message(one)]
        # The messages of the Responses API are parts of one reply.
        if all(one.get("type") == "message" and _role(one) == "assistant" and one.get("content") for one in said):
            parts = (one["content"] if isinstance(one["content"], list) else [one["content"]] for one in said)
            whole = said[-1] | {"content": list(chain.from_iterable(parts))}
            return [([*(one for one in value if not is_message(one)), whole], ())]
        return [(value, ())]
    if any(isinstance(one, dict) and "type" in one for one in value):
        return [([{"role": role, "content": value}], ())]
    return [sample for one in value for sample in _spoken_samples(one, role)]


def _object_samples(value: dict[str, Any], role: str) -> list[Told]:
    side, names = ("output", _ANSWERED) if role == "assistant" else ("input", ASKED)
    if (is_message(value) and "messages" not in value) or _role(value) in (_TOOLS, _REASONING):
        return [([value], ())]
    if isinstance(value.get("refusal"), str):
        return [([{"role": role, **value}], ())]
    if is_message(value.get("message")):  # LangChain writes a shortened text beside it
        return [([value["message"]], unused_side_fields(value, side, "message", "text"))]
    if isinstance(value.get("parts"), list):
        return [([{"role": role, "content": value}], ())]
    some = next((name for name in _SAMPLES if isinstance(value.get(name), list) and value[name]), None)
    name = some or next((name for name in names if value.get(name) is not None), "")
    if not name and role == "user" and len(value) == 1:
        name = next((key for key, one in value.items() if isinstance(one, str) and key not in _PLUMBING), "")
    held = value[name] if some else [value.get(name)]
    if some and len(held) > 1 and all(isinstance(one, list) for one in held):
        raise RefusedRecord(f"has answers to {len(held)} prompts; expected one prompt per record")
    flat = held[0] if some and isinstance(held[0], list) else held
    others = unused_side_fields(value, side, name)
    return [(messages, (*others, *more)) for one in flat for messages, more in _spoken_samples(one, role)] or [
        ([], others)
    ]


def unused_side_fields(value: dict[str, Any], side: str, *used: str) -> tuple[str, ...]:
    """Return the fields of one side of an exchange that hold something and are not used."""
    names = (key for key, one in value.items() if key not in (*used, *_PLUMBING) and has_value(one))
    return tuple(f"{field_words(key)} of the {side}" for key in names)
