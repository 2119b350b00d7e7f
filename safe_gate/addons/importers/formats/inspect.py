"""Inspect logs: `.json`, or `.eval`, an archive of samples. Epochs are samples of one prompt.

Source: `inspect_ai.log.EvalLog` and `EvalSample`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from safe_gate.addons.importers.conversations import are_messages, exchange, is_message, said_in
from safe_gate.addons.importers.fields import unused
from safe_gate.addons.importers.files import MOST
from safe_gate.addons.importers.rows import (
    Asked,
    Format,
    LeftOut,
    NotACase,
    Record,
    Refused,
    Row,
    Said,
    each,
    error_of,
    id_of,
    samples,
)

_HEADERS = ("header.json", "_journal/start.json")
_ATTACHMENT = "attachment://"


def _detects(record: Record) -> bool:
    """Return whether a record is a sample of a log, or of its header."""
    value = record.value
    is_eval = record.path == ("eval",) and "task" in value
    return is_eval or _is_header(record) or {"id", "epoch", "input"} <= value.keys()


def _rows(records: Iterable[Record]) -> Iterator[Row | Refused | LeftOut]:
    """Yield each sample; that a log is not complete, or has no samples, is a refusal of its own."""
    statuses: list[Any] = []
    has_samples = False
    for record in records:
        if record.path == ("status",):
            statuses.append(record.value)
        elif _is_header(record):
            statuses.append(record.value.get("status"))
        elif record.path != ("eval",):
            has_samples = True
            yield from each(_read, [record])
    for status in statuses or [None]:
        is_told = isinstance(status, str)
        words = f'has the status "{status[:40]}"' if is_told else "has no header with a status, as after a killed run"
        if status != "success":
            yield Refused(f'{words}, so samples may be missing; expected "success"')
    if not has_samples:
        yield Refused("has no samples; write the log with its samples (log_samples)")


def _is_header(record: Record) -> bool:
    value = record.value
    return isinstance(value, dict) and (record.name in _HEADERS or {"status", "eval"} <= value.keys())


def _read(value: dict[str, Any]) -> Iterator[Row | Refused]:
    id_ = id_of(value.get("id"))
    error = value.get("error")
    if words := error_of(error.get("message", error) if isinstance(error, dict) else error):
        raise NotACase(f"is an error: {words}", id_)
    attached = value.get("attachments")
    attachments = attached if isinstance(attached, dict) else {}
    if sum(_added(value.get(name), attachments) for name in ("input", "output", "messages")) > MOST:
        raise NotACase(f"has attachments that expand to more than {MOST} characters", id_)
    said = _resolved(value.get("input"), attachments)
    replies = _replies(_resolved(value.get("output"), attachments))
    user, left_out = _user(said, _resolved(value.get("messages"), attachments))
    fields = unused(value, "epoch", "input", "messages", "output", "error", "attachments")
    row = Row(id_, user, None, (), {"x_epoch": value.get("epoch")}, left_out, fields)
    yield from samples(row, replies, "output.choices[0].message.content")


def _user(said: Any, messages: Any) -> tuple[Asked, tuple[str, ...]]:
    """Return what the user wrote before the last reply: the sample's input, unless other turns followed it."""
    if not isinstance(messages, list | None):
        raise NotACase("has messages that are not a list")
    asked = said if isinstance(said, str) else exchange(said).user
    if not are_messages(messages):
        return asked, ()
    found = exchange(messages)
    return asked if isinstance(asked, str) and isinstance(found.user, str) else found.user, found.left_out


def _replies(output: Any) -> list[Said]:
    if not isinstance(output, dict):
        return [Said(None)]
    choices = output.get("choices")
    if isinstance(choices, list) and choices:
        messages = [choice.get("message") if isinstance(choice, dict) else None for choice in choices]
        return [said_in([one]) if is_message(one) else Said(None) for one in messages]
    completion = output.get("completion")
    return [Said(completion if isinstance(completion, str) and completion else None)]


def _added(value: Any, attachments: dict[str, Any]) -> int:
    """Return how many characters attachments add: a few bytes may refer to one a million times."""
    if isinstance(value, str):
        text = attachments.get(value.removeprefix(_ATTACHMENT)) if value.startswith(_ATTACHMENT) else None
        return len(text) if isinstance(text, str) else 0
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(_added(one, attachments) for one in inner)


def _resolved(value: Any, attachments: dict[str, Any]) -> Any:
    """Return a value with the texts that attachments hold in place of the references to them."""
    if isinstance(value, str) and value.startswith(_ATTACHMENT):
        return attachments.get(value.removeprefix(_ATTACHMENT), value)
    if isinstance(value, list):
        return [_resolved(one, attachments) for one in value]
    if isinstance(value, dict):
        return {key: _resolved(one, attachments) for key, one in value.items()}
    return value


FORMAT = Format("inspect", "an Inspect log", _detects, _rows, paths=(("status",), ("eval",), ("samples",)))
