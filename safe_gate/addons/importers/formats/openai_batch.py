"""OpenAI Batch: the file of requests and the file of responses, joined by `custom_id`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from safe_gate.addons.importers.conversations import beside, exchange, replies_of, said_in
from safe_gate.addons.importers.rows import Format, NotACase, Record, Refused, Row, each, id_of, samples

_OK = 200


def _detects(record: Record) -> bool:
    """Return whether a record is a request or a response."""
    value = record.value
    return "custom_id" in value and bool({"body", "response", "error"} & value.keys())


def _read(value: dict[str, Any]) -> Iterator[Row | Refused]:
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


FORMAT = Format("openai-batch", "OpenAI Batch requests and responses", _detects, partial(each, _read), joins=True)
