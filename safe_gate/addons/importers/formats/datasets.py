"""Data sets of exchanges for training or batch runs: TRL, ShareGPT, OpenAI chat messages and OpenAI Batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from safe_gate.addons.importers.conversations import (
    are_messages,
    are_parts,
    beside,
    continued,
    ended,
    exchange,
    is_message,
    parsed,
    replies_of,
    said_in,
)
from safe_gate.addons.importers.fields import id_at, is_known, row, tags_at, unused
from safe_gate.addons.importers.rows import Format, NotACase, Record, Refused, Row, each, id_of, is_set, samples, texts
from safe_gate.evaluators import EVALUATORS

_SIDES = ("completion", "chosen", "rejected")
_TALKS = ("messages", "conversations", "conversation")
_PROMPTS = ("prompt", "question", "query", "instruction", "input")


def _is_trl(record: Record) -> bool:
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


TRL = Format("trl", "a TRL data set", _is_trl, partial(each, sides))
"""`prompt` with `completion`, or with `chosen` and `rejected`, which are two samples. Each is text or messages.

Other tools write the same with the conversation up to the replies in `messages` or `conversations`, or the prompt under
another name. Source: the dataset formats of TRL's documentation, and LLaMA-Factory's.
"""


def _is_sharegpt(record: Record) -> bool:
    """Return whether a record holds a conversation."""
    return are_messages(_turns(record.value))


def _turns(value: dict[str, Any]) -> Any:
    return value.get("conversations", value.get("conversation"))


def _of_sharegpt(value: dict[str, Any]) -> Iterator[Row]:
    if has_sides(value):
        yield from sides(value)
        return
    id_ = id_at(value, {})
    found, fields = ended(_turns(value), id_), unused(value, "conversations", "conversation", "tags")
    yield Row(id_, found.user, found.assistant, tags_at(value, ""), {}, found.left_out, fields)


SHAREGPT = Format("sharegpt", "ShareGPT conversations", _is_sharegpt, partial(each, _of_sharegpt))
"""Objects with `conversations` of `from` and `value`."""


_KEPT = frozenset(name for one in EVALUATORS.values() if one.imports for name in one.imports.keeps)


def _is_messages(record: Record) -> bool:
    """Return whether a record holds a conversation."""
    value = record.value
    return are_messages(value.get("messages")) and not has_sides(value)


def _of_messages(value: dict[str, Any]) -> Iterator[Row]:
    if has_sides(value):
        yield from sides(value)
        return
    if "messages" not in value or (is_known(value) and not are_messages(value["messages"])):
        yield row(value, {})
        return
    id_, fields, messages = id_at(value, {}), unused(value, "messages", "tags"), value.get("messages")
    # Our own case stays a conversation, because its labels, marks and turns refer to its messages.
    labelled = (one for one in messages if isinstance(one, dict)) if isinstance(messages, list) else ()
    is_ours = any(name in _KEPT or name[:2] == "x_" for name in fields) or any("expected" in one for one in labelled)
    found = ended(messages, id_, whole=is_ours)
    if found.labels is not None:
        if "expected" in fields:
            raise NotACase("has labels of the last message twice; keep one", id_)
        fields["expected"] = found.labels
    yield Row(id_, found.user, found.assistant, texts(value.get("tags")), {}, found.left_out, fields)


MESSAGES = Format("messages", "OpenAI chat messages", _is_messages, partial(each, _of_messages))
"""Objects with `messages`, as for fine-tuning. Records beside them may have named fields, as our cases."""


_OK = 200


def _is_batch(record: Record) -> bool:
    """Return whether a record is a request or a response."""
    value = record.value
    return "custom_id" in value and bool({"body", "response", "error"} & value.keys())


def _of_batch(value: dict[str, Any]) -> Iterator[Row | Refused]:
    id_ = id_of(value.get("custom_id"))
    if not id_:
        raise NotACase("has no custom_id")
    if "body" in value:
        body = value["body"] if isinstance(value["body"], dict) else {}
        yield _request(id_, body)
        return
    response = value.get("response")
    if value.get("error") or not isinstance(response, dict) or response.get("status_code") != _OK:
        raise NotACase(f"is an error: {_reason(value, response)}", id_)
    for messages, left_out in replies_of(response.get("body")):
        row = Row(id_, None, None, (), {}, left_out)
        yield from samples(row, [said_in(messages)], "text in choices[0].message.content")


def _request(id_: str, body: dict[str, Any]) -> Row:
    name = next((name for name in ("messages", "input", "prompt") if name in body), "")
    others = beside(body, "request", name)
    if isinstance(asked := body.get(name), str):
        return Row(id_, asked, None, (), {}, others)
    found = exchange(asked)
    if found.assistant is not None:
        raise NotACase("has a request that ends with a reply; expected a message of the user", id_)
    return Row(id_, found.user, None, (), {}, (*others, *found.left_out))


def _reason(value: dict[str, Any], response: Any) -> str:
    error = value.get("error")
    if isinstance(error, dict):
        return str(error.get("message") or error.get("code") or "unknown")[:80]
    return f"status {response.get('status_code')}" if isinstance(response, dict) else "no response"


OPENAI_BATCH = Format(
    "openai-batch", "OpenAI Batch requests and responses", _is_batch, partial(each, _of_batch), joins=True
)
"""The file of requests and the file of responses, joined by `custom_id`."""
