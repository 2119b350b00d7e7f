"""OpenAI chat: objects with `messages`, as for fine-tuning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from safe_gate.evaluators import EVALUATORS
from safe_gate.importers.formats._chat import are_messages, ended
from safe_gate.importers.formats._fields import id_at
from safe_gate.importers.formats._rows import LeftOut, Record, Refused, Row, each, texts

TITLE = "OpenAI chat messages"
_KEPT = frozenset(name for one in EVALUATORS.values() if one.imports for name in one.imports.keeps)


def detects(record: Record) -> bool:
    """Return whether a record holds a conversation."""
    return isinstance(record.value, dict) and are_messages(record.value.get("messages"))


def rows(records: Iterable[Record]) -> Iterator[Row | Refused | LeftOut]:
    """Yield each conversation."""
    return each(_read, records)


def _read(value: dict[str, Any]) -> Iterator[Row]:
    id_ = id_at(value, {})
    fields = {name: one for name, one in value.items() if name in _KEPT or name[:2] == "x_"}
    # Our own case stays a conversation, because its labels, marks and turns refer to its messages.
    found = ended(value.get("messages"), id_, whole=bool(fields))
    yield Row(id_, found.user, found.assistant, texts(value.get("tags")), {}, found.left_out, 0, fields)
