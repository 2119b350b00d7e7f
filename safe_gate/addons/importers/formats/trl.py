"""TRL data sets: `prompt` with `completion`, or with `chosen` and `rejected`, which are two samples.

Each is text or messages. Other tools write the same with the conversation up to the replies in `messages` or
`conversations`, or the prompt under another name.

Source: the dataset formats of TRL's documentation, and LLaMA-Factory's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from safe_gate.addons.importers.conversations import (
    are_messages,
    are_parts,
    continued,
    ended,
    exchange,
    is_message,
    parsed,
)
from safe_gate.addons.importers.fields import id_at, tags_at, unused
from safe_gate.addons.importers.rows import Format, NotACase, Record, Row, each, is_set

_SIDES = ("completion", "chosen", "rejected")
_TALKS = ("messages", "conversations", "conversation")
_PROMPTS = ("prompt", "question", "query", "instruction", "input")


def _detects(record: Record) -> bool:
    """Return whether a record holds two replies, or a conversation with its completion."""
    value = record.value
    if has_sides(value):
        return not are_messages(value.get("conversations", value.get("conversation")))
    return {"prompt", "completion"} <= value.keys() and (
        are_messages(value["prompt"]) or isinstance(value.get("label"), bool)
    )


def has_sides(value: Mapping[str, Any]) -> bool:
    """Return whether a record holds two replies to compare."""
    return {"chosen", "rejected"} <= value.keys()


def sides(value: dict[str, Any]) -> Iterator[Row]:
    """Yield each reply with what it answers. A whole conversation beside them is one more, if its reply is another."""
    id_, tags = id_at(value, {}), tags_at(value, "")
    asked = [name for name in _PROMPTS if is_set(value.get(name))]
    is_in_two = asked == ["instruction", "input"] and all(isinstance(value[name], str) for name in asked)
    asked = asked if is_in_two else asked[:1]
    texts = [value[name] for name in asked]
    prompt = _messages("\n\n".join(texts) if is_in_two else texts[0], "user", id_) if asked else []
    talk = next((name for name in _TALKS if are_messages(parsed(value.get(name)))), "")
    told, whole = parsed(value[talk]) if talk else [], None
    if talk and is_message(told[-1]) and (ending := exchange(told)).assistant is not None:
        whole = ended(continued(prompt, told), id_)
        before: Any = ending.user
        told = _messages(before if isinstance(before, str) else list(before), "user", id_)
    fields, found = unused(value, *_SIDES, *asked, talk, "tags"), []
    for side in _SIDES:
        if value.get(side) is not None:
            answer = _messages(value[side], "assistant", id_)
            found.append(
                ((side,) if side != "completion" else (), ended(continued(continued(prompt, told), answer), id_))
            )
    if not found:
        raise NotACase("has no completion, chosen or rejected", id_)
    if whole and all(whole[:2] != one[:2] for _, one in found):
        found.append(((), whole))
    for side_tags, one in found:
        yield Row(id_, one.user, one.assistant, (*side_tags, *tags), {}, one.left_out, fields)


def _messages(value: Any, role: str, id_: str) -> list[Any]:
    """Return a side of an exchange as messages: it may be text, a message, messages or the parts of a text."""
    inner = parsed(value)
    if are_messages(inner):
        return list(inner)
    if is_message(inner):
        return [inner]
    if isinstance(value, str) or are_parts(value):
        return [{"role": role, "content": value}]
    raise NotACase("has a side that is neither text nor messages; expected text or a list of messages", id_)


FORMAT = Format("trl", "a TRL data set", _detects, partial(each, sides))
