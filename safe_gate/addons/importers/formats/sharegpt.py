"""ShareGPT: objects with `conversations` of `from` and `value`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from safe_gate.addons.importers.formats._chat import are_messages, ended
from safe_gate.addons.importers.formats._fields import id_at, tags_at, unused
from safe_gate.addons.importers.formats._rows import LeftOut, Record, Refused, Row, each
from safe_gate.addons.importers.formats.trl import has_sides, sides

TITLE = "ShareGPT conversations"


def detects(record: Record) -> bool:
    """Return whether a record holds a conversation."""
    return isinstance(record.value, dict) and are_messages(_turns(record.value))


def rows(records: Iterable[Record]) -> Iterator[Row | Refused | LeftOut]:
    """Yield each conversation."""
    return each(_read, records)


def _turns(value: dict[str, Any]) -> Any:
    return value.get("conversations", value.get("conversation"))


def _read(value: dict[str, Any]) -> Iterator[Row]:
    if has_sides(value):
        yield from sides(value)
        return
    id_ = id_at(value, {})
    found, fields = ended(_turns(value), id_), unused(value, "conversations", "conversation", "tags")
    yield Row(id_, found.user, found.assistant, tags_at(value, ""), {}, found.left_out, 0, fields)
