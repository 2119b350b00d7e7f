"""OpenAI Batch: the file of requests and the file of responses, joined by `custom_id`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from safe_gate.importers.formats._chat import exchange, text_of
from safe_gate.importers.formats._rows import LeftOut, NotACase, Record, Refused, Row, each, id_of, samples

TITLE, JOINS = "OpenAI Batch requests and responses", True
_OK = 200


def detects(record: Record) -> bool:
    """Return whether a record is a request or a response."""
    value = record.value
    return isinstance(value, dict) and "custom_id" in value and bool({"body", "response", "error"} & value.keys())


def rows(records: Iterable[Record]) -> Iterator[Row | Refused | LeftOut]:
    """Yield the user's half of each request, and the reply's half of each choice of a response."""
    return each(_read, records)


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
    yield from samples(Row(id_, None, None), _replies(response.get("body")), "text in choices[0].message.content")


def _request(id_: str, body: dict[str, Any]) -> Row:
    if "messages" not in body and isinstance(asked := body.get("input", body.get("prompt")), str):
        return Row(id_, asked, None)
    found = exchange(body.get("messages", body.get("input")))
    if found.assistant is not None:
        raise NotACase("has a request that ends with a reply; expected a message of the user", id_)
    return Row(id_, found.user, None, (), {}, found.left_out)


def _replies(body: Any) -> list[str | None]:
    body = body if isinstance(body, dict) else {}
    choices, items = body.get("choices"), body.get("output")
    if isinstance(choices, list) and choices:
        return [_text(choice if isinstance(choice, dict) else {}) for choice in choices]
    if isinstance(items, list):  # the Responses API: its messages are parts of one reply
        said = [text_of(one.get("content")) for one in items if isinstance(one, dict) and one.get("type") == "message"]
        found = [text for text in said if text is not None]
        return ["\n".join(found) if found else None]
    return [None]


def _text(choice: dict[str, Any]) -> str | None:
    message = choice.get("message")
    return text_of(message.get("content") if isinstance(message, dict) else choice.get("text"))


def _reason(value: dict[str, Any], response: Any) -> str:
    error = value.get("error")
    if isinstance(error, dict):
        return str(error.get("message") or error.get("code") or "unknown")[:80]
    return f"status {response.get('status_code')}" if isinstance(response, dict) else "no response"
