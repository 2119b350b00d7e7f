"""ShareGPT: objects with `conversations` of `from` and `value`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from safe_gate.addons.importers.conversations import are_messages, ended
from safe_gate.addons.importers.fields import id_at, tags_at, unused
from safe_gate.addons.importers.formats.trl import has_sides, sides
from safe_gate.addons.importers.rows import Format, Record, Row, each


def _detects(record: Record) -> bool:
    """Return whether a record holds a conversation."""
    return are_messages(_turns(record.value))


def _turns(value: dict[str, Any]) -> Any:
    return value.get("conversations", value.get("conversation"))


def _read(value: dict[str, Any]) -> Iterator[Row]:
    if has_sides(value):
        yield from sides(value)
        return
    id_ = id_at(value, {})
    found, fields = ended(_turns(value), id_), unused(value, "conversations", "conversation", "tags")
    yield Row(id_, found.user, found.assistant, tags_at(value, ""), {}, found.left_out, fields)


FORMAT = Format("sharegpt", "ShareGPT conversations", _detects, partial(each, _read))
