"""Exports of what an application did: Langfuse and LangSmith."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from safe_gate.addons.importers.conversations import parsed, recorded
from safe_gate.addons.importers.fields import unused
from safe_gate.addons.importers.files import value_of
from safe_gate.addons.importers.rows import (
    Format,
    LeftOut,
    NotACase,
    Record,
    Refused,
    Row,
    each,
    error_of,
    id_of,
    texts,
)
from safe_gate.core.text.patterns import later

_TRACE = frozenset(("input", "output", "timestamp", "userId", "release"))
_CONTROL = later(r"[\x00-\x1f]")
_MARKS = ("trace_id", "traceId", "trace_name", "traceName", "start_time", "startTime")


def _is_langfuse(record: Record) -> bool:
    """Return whether a record is an observation or a trace."""
    value = record.value
    is_observation = {"type", "input", "output"} <= value.keys() and any(key in value for key in _MARKS)
    return is_observation or value.keys() >= _TRACE


def _rows(records: Iterable[Record]) -> Iterator[Row | Refused | LeftOut]:
    """Yield each generation, and the exchange of each trace."""
    return each(_of_langfuse, _decoded(records))


def _decoded(records: Iterable[Record]) -> Iterator[Record]:
    """Yield records, those of CSV with the texts that their cells hold as JSON.

    A cell may be JSON without its quotes until a cell has what JSON escapes, or a comma outside of JSON.
    """
    is_bare = True
    for record in records:
        if record.shape == "json" or not isinstance(record.value, dict):
            yield record
            continue
        cells = {name: (one, _json(one)) for name, one in record.value.items() if isinstance(one, str)}
        is_bare &= not any(_CONTROL.search(one) or ("," in one and held is None) for one, held in cells.values())
        found = {name: _json(f'"{one}"') if is_bare and held is None else held for name, (one, held) in cells.items()}
        yield record._replace(value=record.value | {name: one for name, one in found.items() if isinstance(one, str)})


def _json(text: str) -> Any:
    """Return the text, object or list that a text holds as JSON, None for none."""
    if not text.startswith(('"', "{", "[")):
        return None
    try:
        return value_of(text)
    except (ValueError, RecursionError):
        return None


def _of_langfuse(value: dict[str, Any]) -> Iterator[Row | Refused | LeftOut]:
    if value.get("type", "GENERATION") != "GENERATION":
        yield LeftOut("observations that are not generations")
        return
    id_ = id_of(value.get("id"))
    if str(value.get("level", "")).upper() == "ERROR":
        words = value.get("status_message") or value.get("statusMessage") or "unknown"
        raise NotACase(f"is an error: {str(words)[:80]}", id_)
    if value.get("output") in (None, ""):
        raise NotACase("has no reply: its output is not set", id_)
    fields = unused(value, "type", "level", "input", "output", "tags")
    yield from recorded(id_, value.get("input"), value["output"], texts(parsed(value.get("tags"))), fields)


LANGFUSE = Format("langfuse", "a Langfuse export", _is_langfuse, _rows, paths=(("data",),))
"""Observations and traces, as exported (JSON, JSONL or CSV) or as pages of the API.

Of observations only generations are read. An unset output is exported as an empty text, so that counts as a missing
reply. In CSV, versions before July 2026 write each text as JSON, and one without a comma loses its quotes
(`transformStreamToCsv`).
"""


def _is_langsmith(record: Record) -> bool:
    """Return whether a record is a run or an example."""
    return bool(record.value.keys() >= {"inputs", "outputs"})


def _of_langsmith(value: dict[str, Any]) -> Iterator[Row | Refused | LeftOut]:
    if value.get("run_type", "llm") != "llm":
        yield LeftOut("runs that are not of type llm")
        return
    id_ = id_of(value.get("id"))
    if error := error_of(value.get("error")):
        raise NotACase(f"is an error: {error}", id_)
    fields = unused(value, "run_type", "error", "inputs", "outputs", "tags")
    yield from recorded(id_, value.get("inputs"), value.get("outputs"), texts(value.get("tags")), fields)


LANGSMITH = Format("langsmith", "a LangSmith export", _is_langsmith, partial(each, _of_langsmith))
"""Runs of a model, and examples of a data set, with `inputs` and `outputs`.

Only the runs of type `llm` in a trace are read: the chains and tools around them repeat the same texts.
"""
