"""Messages and conversations as tools write them: their text, their last reply, and what is left out of them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from safe_gate.addons.importers.files import RefusedRecord, error_text, field_words, has_value, list_texts, parse_json
from safe_gate.core.jsontext import JsonError, value_at
from safe_gate.core.text.characters import is_blank
from safe_gate.evaluators.replies import without_reasoning

_NOT_TEXT, _SYSTEM, _TOOLS = "parts that are not text", "system messages", "calls and answers of tools"
_REASONING, _EMPTY = "reasoning", "messages without text"
"""The kinds of content that are left out of a case, in the plural."""

_CALL = "call"
"""The role of an item that is a call of a tool, whose answer is an item of its own."""

_ROLES = {
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("system", "developer"), "system"),
    # `message` is the type of a reply of the Responses API.
    **dict.fromkeys("assistant ai gpt chatgpt chatbot bard bing bot model message".split(), "assistant"),
    **dict.fromkeys(("function_call", "custom_tool_call"), _CALL),
}
_SPEAKERS = ("user", "assistant", "system")
_ITEMS = {_CALL: _TOOLS, _TOOLS: _TOOLS, _REASONING: _REASONING}  # that are no messages, and what they are
_ASIDE = ("", "system", _CALL, _REASONING)  # what may follow a reply
_ROLE_KEYS = ("role", "from", "type")
_TEXT_KEYS = ("content", "value", "parts", "text")
_TEXT_TYPES = (None, "text", "input_text", "output_text", "refusal")  # of parts whose text counts; Gemini's have none
_OF_TOOLS = re.compile(r"(?i)(?:\b|_)(?:tool|function|mcp|execut)|\b(?:observation|ipython)\b|_call(?:_|\b)")
_OF_REASONING = re.compile(r"(?i)reasoning|thinking|thought")
PLUMBING = frozenset({*_ROLE_KEYS, "refusal", "id", "status", "object", "index", "tool_call_id", "example"})
"""The fields of a message that hold no speech."""

ASKED = tuple("messages message input contents question prompt prompts user query instruction text content".split())
"""The field names of a user's question."""

_ANSWERED = tuple("output answer response completion assistant text content result message messages".split())
_UNFINISHED = ("canceled", "cancelled", "error", "failed", "in_progress", "incomplete", "pending", "queued")
_SAMPLES = ("choices", "generations", "candidates")


class Message(NamedTuple):
    """A message. The `role` of an item that is no message is its kind. A reply may be any JSON value.

    `left_out` is what is left out of it, in the plural. It `is_empty` if it is one of several messages and has no text.
    `failure` says why a reply is an error, "" if it is none.
    """

    role: str
    text: Any
    left_out: tuple[str, ...] = ()
    is_empty: bool = False
    failure: str = ""


Messages = Sequence[Message]


class Sample(NamedTuple):
    """An exchange as a format finds it: what is `asked`, empty if `said` has it too, and what is said up to the reply.

    `used` are the fields of the record that both are made of. `extra` holds fields of the case with names that start
    with `x_`. Samples with one `id` answer one prompt; "" is the id of the record.
    """

    asked: Messages
    said: Messages
    used: Sequence[str] = ()
    tags: tuple[str, ...] = ()
    extra: Mapping[str, Any] = {}
    id: str = ""


def is_message(value: Any) -> bool:
    """Return whether a value is a message: an object with a role that is known and a place for content."""
    is_said = isinstance(value, dict) and _role(value) in _SPEAKERS
    return is_said and any(key in _unwrap_langchain(value) for key in (*_TEXT_KEYS, "tool_calls"))


def are_messages(value: Any) -> bool:
    """Return whether a value is a list with a message."""
    return isinstance(value, list) and any(map(is_message, value))


def _are_parts(value: Any) -> bool:
    """Return whether a value is a list of the parts of one text."""
    is_list = isinstance(value, list) and bool(value) and not are_messages(value)
    return is_list and all(isinstance(one, dict) and ("type" in one or "text" in one) for one in value)


def parse_embedded_json(value: Any) -> Any:
    """Return the object or list in a JSON text, else the value unchanged: `7` and `null` stay texts."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return parse_json(value)
        except JsonError:
            return value
    return value


def _is_speech(value: Any) -> bool:
    """Return whether a parsed JSON text is a message, messages or the parts of a text. Other JSON may be a reply."""
    has_types = _are_parts(value) and all("type" in one for one in value)
    is_said = isinstance(value, dict) and value.get("role") in ("user", "assistant")
    is_one = is_said and content_text(value.get("content"))[0] is not None
    return is_one or are_messages(value) or (has_types and content_text(value)[0] is not None)


def read_side(value: Any, role: str, name: str = "its prompt") -> Messages:
    """Return one side of an exchange: text, a message, messages or parts of a text, each also as JSON text.

    A reply may be any other value too. Raises RefusedRecord; the side is called `name`.
    """
    inner = parse_embedded_json(value)
    inner = inner if _is_speech(inner) else value
    if _are_parts(inner):
        inner = {"role": role, "content": inner}
    if is_message(inner) or isinstance(inner, list):
        return read_messages(inner)
    if role == "user" and not isinstance(value, str):
        raise RefusedRecord(f"has no text in {name}; expected text or messages")
    return [Message(role, value)]


def read_messages(value: Any) -> Messages:
    """Return the messages in a list, or of a single one. Raises RefusedRecord for a value that is no conversation."""
    items = [value] if is_message(value) else value
    if not isinstance(items, list) or not items:
        raise RefusedRecord("has no messages; expected a list of messages with role and content")
    known = [_message(one, index) for index, one in enumerate(items)]
    said = [one for one in known if one.role in _SPEAKERS]
    is_response = len(said) > 1 and all(one.role == "assistant" and one.text is not None for one in said)
    if is_response and all(one.get("type") == "message" for one in items if is_message(one)):
        # The messages of the Responses API are parts of one reply.
        text = "".join(one.text for one in said)
        left_out = tuple(chain.from_iterable(one.left_out for one in said))
        failure = next((one.failure for one in said if one.failure), "")
        reply = Message("assistant", text, left_out, is_empty=is_blank(text), failure=failure)
        kept = (one for one in known if one is said[-1] or one.role not in _SPEAKERS)
        return [reply if one is said[-1] else one for one in kept]
    return known


def last_exchange(sample: Sample) -> tuple[str | tuple[Mapping[str, Any], ...], Any, tuple[str, ...]]:
    """Return what the last reply of a sample answers, the reply, and what is left out. Raises RefusedRecord.

    It answers a text of the user, or all messages before it if they include other replies. Messages without text and
    what tools call and answer are left out. Without an earlier reply, system messages are left out too, and user
    messages are joined by a blank line.
    """
    asked, said = ([*map(_without_reasoning, some)] for some in (sample.asked, sample.said))
    told = join_messages(asked, said)
    reply = find_reply(told)
    if failure := (reply or told[-1]).failure:
        raise RefusedRecord(f"is an error: {failure}")
    if asked and not any(one is reply for one in said):
        raise RefusedRecord("has no reply; if another field has it, name it: --map assistant=PATH")
    if reply is None:
        what = "without text" if told[-1].is_empty else "of the user"
        raise RefusedRecord(f"ends with a message {what}; expected a reply")
    before = [one for one in told if one.role in _SPEAKERS and one is not reply]
    kept = [one for one in before if not one.is_empty]
    turns = [one for one in kept if one.role != "system"]
    if all(one.role != "user" for one in turns):
        raise RefusedRecord("has no message of the user before the last reply, or none with text")
    left_out = [what for one in told for what in one.left_out]
    left_out += [_EMPTY for one in before if one.is_empty and not one.left_out]
    user: Any = tuple({"role": one.role, "content": one.text} for one in kept)
    if all(one.role == "user" for one in turns):
        user = "\n\n".join(one.text for one in turns)
        left_out += [_SYSTEM] if len(turns) < len(kept) else []
    return user, reply.text, tuple(dict.fromkeys(left_out))


def _without_reasoning(message: Message) -> Message:
    text = without_reasoning(message.text) if message.role == "assistant" and isinstance(message.text, str) else None
    if text in (None, message.text):
        return message
    return message._replace(text=text, left_out=(*message.left_out, _REASONING), is_empty=is_blank(text or ""))


def find_reply(messages: Messages) -> Message | None:
    """Return the reply that a conversation ends with, None if it ends with something else, such as a tool's answer."""
    last: Message | None = next((one for one in reversed(messages) if one.role not in _ASIDE), None)
    if last is None or last.role != "assistant" or last.text is None or (last.is_empty and _TOOLS in last.left_out):
        return None
    return last  # an empty reply is one


def join_messages(asked: Messages, said: Messages) -> Messages:
    """Return two lists of messages as one. Messages that a tool recorded in both count once."""
    after = [_said(one) for one in said if not one.is_empty]
    if all(role != "user" for role, _ in after):
        return [*asked, *said]
    systems = {one for one in after if one[0] == "system"}
    turns = [one for one in asked if one.role != "system" and not one.is_empty]
    before, after = [_said(one) for one in turns], [one for one in after if one[0] != "system"]
    starts = [0, *([max(place for place, one in enumerate(before) if one == after[0])] if after[0] in before else [])]
    start = next((one for one in starts if before[one:] == after[: len(before) - one]), len(before))
    again = turns if len(before) == 1 and before[0] in after else turns[start:]
    repeated = {id(one) for one in again}
    return [*(one for one in asked if id(one) not in repeated and _said(one) not in systems), *said]


def _said(message: Message) -> tuple[str, str]:
    text = message.text
    return message.role, text.strip() if isinstance(text, str) else ""


# --- a message ------------------------------------------------------------------------------------


def content_text(content: Any) -> tuple[str | None, tuple[str, ...]]:
    """Return the text of a message's content, None for none, and what is left out of it.

    Its parts are joined with nothing between, as tools join them.
    """
    if isinstance(content, str | None):
        return content, ()
    if isinstance(content, dict):
        return content_text(content.get("parts", [content]))
    if not isinstance(content, list):
        return None, (_NOT_TEXT,)
    said = [(part, _part_text(part)) for part in content]
    texts = [text for _, text in said if text is not None]
    return "".join(texts) if texts else None, tuple(_sort_of_part(part) for part, text in said if text is None)


def _part_text(part: Any) -> str | None:
    if isinstance(part, dict) and part.get("type") in _TEXT_TYPES and not part.get("thought"):
        part = next((part[key] for key in ("text", "content", "refusal") if part.get(key) is not None), None)
        part = part.get("value") if isinstance(part, dict) else part  # the Assistants API
    return part if isinstance(part, str) else None


def _sort_of_part(part: Any) -> str:
    kind = part.get("type") if isinstance(part, dict) else ""
    return _sort(kind if isinstance(kind, str) else " ".join(part)) or _NOT_TEXT


def _sort(name: str) -> str | None:
    """Return whether a part, field or item is of tools or reasoning, by its name; None for neither."""
    if _OF_TOOLS.search(name):
        return _TOOLS
    return _REASONING if _OF_REASONING.search(name) else None


def _message(value: Any, index: int) -> Message:
    role = _role(value) if isinstance(value, dict) else None
    if role is None:
        known = "user, assistant, system or tool"
        raise RefusedRecord(f"has a message without a known role at index {index}; expected {known}")
    if role in _ITEMS:
        return Message(role, None, (_ITEMS[role],), is_empty=True)
    fields = _unwrap_langchain(value)
    failure = _failure(fields) if role == "assistant" else ""
    given = [key for key in _TEXT_KEYS if fields.get(key) is not None]
    used = next((key for key in given if has_value(fields[key])), given[0] if given else "")
    text, left_out = content_text(fields.get(used))
    refusal = fields.get("refusal")
    if isinstance(refusal, str) and refusal not in (text or ""):
        text = f"{text}\n\n{refusal}" if text and not is_blank(text) else refusal
    others = [key for key, one in fields.items() if key != used and key not in PLUMBING and has_value(one)]
    left_out += tuple(_sort(key) or f"{field_words(key)} of messages" for key in others)
    return Message(role, text, left_out, is_empty=is_blank(text or ""), failure=failure)


def _role(value: dict[str, Any]) -> str | None:
    """Return the role of a message, or the kind of another item of a conversation; None if it is unknown."""
    fields = _unwrap_langchain(value)
    word = next((word for key in _ROLE_KEYS if isinstance(word := fields.get(key), str)), "")
    plain = word.removesuffix("Chunk").removesuffix("Message").lower()
    return _ROLES.get(word) or _ROLES.get(plain) or _sort(word)


def _unwrap_langchain(message: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a message that LangChain wrote: they are in `kwargs` or `data`, the role in the class."""
    inner, role = message.get("kwargs", message.get("data")), dict[str, Any]()
    if isinstance(inner, dict) and "role" not in message:
        names = list_texts(message.get("id"))
        role = {"role": names[-1] if names else message.get("type")}
    else:
        inner = message
    more = inner.get("additional_kwargs")
    if not isinstance(more, dict):
        return {**role, **inner}
    return {**role, **more, **{key: one for key, one in inner.items() if key != "additional_kwargs"}}


# --- a recorded input or output -------------------------------------------------------------------


def replies_of(output: Any) -> list[Messages]:
    """Return each sample of a recorded output, at least one, which may be without messages. Raises RefusedRecord."""
    inner = parse_embedded_json(output)
    lists = [name for name in ("choices", "output") if isinstance(inner, dict) and isinstance(inner.get(name), list)]
    if lists or value_at(inner, "object") == "response":  # an application's own fields are no matter of the call
        refuse_unfinished(inner)
    return _samples(output, "assistant") or [[]]


def refuse_unfinished(value: Mapping[str, Any]) -> None:
    """Raise RefusedRecord for a call, an answer or a reply that failed or is not complete, whatever text it has."""
    if failure := _failure(value):
        raise RefusedRecord(f"is an error: {failure}")


def _failure(value: Mapping[str, Any]) -> str:
    status = str(value.get("status") or "completed")[:40]
    is_open = status.lower() in _UNFINISHED or (value.get("object") == "response" and status.lower() != "completed")
    return error_text(value.get("error")) or (f"status {status}" if is_open else "")


def prompt_of(given: Any) -> Messages:
    """Return a recorded input. Raises RefusedRecord."""
    found = _samples(given, "user")
    if len(found) > 1:
        raise RefusedRecord(f"has {len(found)} prompts in its input; expected one prompt per record")
    if not any(one.role in _SPEAKERS for some in found for one in some):
        raise RefusedRecord("has no message of a user in its input; name both sides: --map user=PATH,assistant=PATH")
    return found[0]


def _samples(value: Any, role: str) -> list[Messages]:
    """Return each sample of what somebody said: text, a message, messages, the parts of a text, or a list of samples.

    It may be an object with one of these under a common name. All may be JSON text, but for a list of replies.
    """
    inner, found = parse_embedded_json(value), list[Messages]()
    if isinstance(inner, dict):
        found = _samples_of_object(inner, role)
    elif isinstance(inner, list) and (
        inner is value or _is_speech(inner) or (role == "user" and all(isinstance(one, str) for one in inner))
    ):
        if are_messages(inner):
            found = [read_messages(inner)]
        elif any(isinstance(one, dict) and "type" in one for one in inner):
            found = [read_messages({"role": role, "content": inner})]
        else:
            found = [sample for one in inner for sample in _samples(one, role)]
    is_text = isinstance(value, str) and (inner is value or role == "assistant")  # a reply may be any JSON
    if is_text and not any(one.role for some in found for one in some):
        return [read_messages({"role": role, "content": value})]
    return found


def _samples_of_object(value: dict[str, Any], role: str) -> list[Messages]:
    if (is_message(value) and "messages" not in value) or _role(value) in _ITEMS:
        return [read_messages([value])]
    if isinstance(value.get("refusal"), str) or isinstance(value.get("parts"), list):
        return [read_messages([{**value, "role": role}])]
    side, names = ("output", _ANSWERED) if role == "assistant" else ("input", ASKED)
    used = [next((name for name in names if value.get(name) is not None), "")]
    if not used[0] and role == "user" and len(value) == 1:
        used = [key for key, one in value.items() if isinstance(one, str) and key not in PLUMBING] or [""]
    held = [value.get(used[0])]
    if is_message(value.get("message")):  # LangChain writes a shortened text beside it
        used, held = ["message", "text"], [value["message"]]
    elif some := next((name for name in _SAMPLES if isinstance(value.get(name), list) and value[name]), None):
        used, held = [some], value[some]
        if len(held) > 1 and all(isinstance(one, list) for one in held):
            raise RefusedRecord(f"has answers to {len(held)} prompts; expected one prompt per record")
        held = held[0] if isinstance(held[0], list) else held
    aside = unused_side_fields(value, side, used)
    return [[*aside, *said] for one in held for said in _samples(one, role)] or [aside]


def unused_side_fields(value: dict[str, Any], side: str, used: Iterable[str]) -> list[Message]:
    """Return the fields of one side of an exchange that hold something and are not used, as a message of nobody."""
    unused = ((key, one) for key, one in value.items() if key not in (*used, *PLUMBING) and has_value(one))
    left_out = tuple(f"{field_words(key)} of the {side}" for key, one in unused)
    return [Message("", None, left_out, is_empty=True)] if left_out else []
