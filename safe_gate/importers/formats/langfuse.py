"""Langfuse exports: observations as JSON, JSONL or CSV. Only generations are read.

Langfuse exports an unset output as an empty text, so an empty text counts as a missing reply.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from safe_gate.importers.formats._chat import parsed, recorded
from safe_gate.importers.formats._rows import LeftOut, NotACase, Record, Refused, Row, each, id_of, texts

TITLE = "a Langfuse export"
_MARKS = ("trace_id", "traceId", "trace_name", "traceName", "start_time", "startTime")


def detects(record: Record) -> bool:
    """Return whether a record is an observation."""
    value = record.value
    is_observation = isinstance(value, dict) and {"type", "input", "output"} <= value.keys()
    return is_observation and any(key in value for key in _MARKS)


def rows(records: Iterable[Record]) -> Iterator[Row | Refused | LeftOut]:
    """Yield each generation."""
    return each(_read, records)


def _read(value: dict[str, Any]) -> Iterator[Row | Refused | LeftOut]:
    if value.get("type") != "GENERATION":
        yield LeftOut("observations that are not generations")
        return
    id_ = id_of(value.get("id"))
    if str(value.get("level", "")).upper() == "ERROR":
        words = value.get("status_message") or value.get("statusMessage") or "unknown"
        raise NotACase(f"is an error: {str(words)[:80]}", id_)
    if value.get("output") in (None, ""):
        raise NotACase("has no reply: its output is not set", id_)
    yield from recorded(id_, value.get("input"), value["output"], texts(parsed(value.get("tags"))))
