"""LangSmith: runs of a model, and examples of a data set, with `inputs` and `outputs`.

Only the runs of type `llm` in a trace are read: the chains and tools around them repeat the same texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from safe_gate.addons.importers.conversations import recorded
from safe_gate.addons.importers.fields import unused
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


def _detects(record: Record) -> bool:
    """Return whether a record is a run or an example."""
    return bool(record.value.keys() >= {"inputs", "outputs"})


def _read(value: dict[str, Any]) -> Iterator[Row | Refused | LeftOut]:
    if value.get("run_type", "llm") != "llm":
        yield LeftOut("runs that are not of type llm")
        return
    id_ = id_of(value.get("id"))
    if error := error_of(value.get("error")):
        raise NotACase(f"is an error: {error}", id_)
    fields = unused(value, "run_type", "error", "inputs", "outputs", "tags")
    yield from recorded(id_, value.get("inputs"), value.get("outputs"), texts(value.get("tags")), fields)


FORMAT = Format("langsmith", "a LangSmith export", _detects, partial(each, _read))
