"""The formats that `safe-gate import` reads: each says how to recognise and how to read its records. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from safe_gate.addons.importers.fields import is_known, rows
from safe_gate.addons.importers.formats.datasets import MESSAGES, OPENAI_BATCH, SHAREGPT, TRL
from safe_gate.addons.importers.formats.harnesses import DEEPEVAL, INSPECT, LM_EVAL
from safe_gate.addons.importers.formats.promptfoo import PROMPTFOO
from safe_gate.addons.importers.formats.traces import LANGFUSE, LANGSMITH
from safe_gate.addons.importers.rows import Format, Record

_OF_TOOLS = (DEEPEVAL, INSPECT, LANGFUSE, LANGSMITH, LM_EVAL, MESSAGES, OPENAI_BATCH, PROMPTFOO, SHAREGPT, TRL)


def _names_both_sides(record: Record) -> bool:
    """Return whether the fields of a record name both sides of an exchange."""
    return is_known(record.value)


_OF_ROWS = (
    Format("csv", "CSV", _names_both_sides, rows, shape="commas"),
    Format(
        "jsonl",
        "JSON objects with named fields",
        _names_both_sides,
        MESSAGES.rows,
        paths=(("data",), ("examples",), ("rows",)),
        shape="json",
    ),
    Format("parquet", "Parquet", _names_both_sides, rows, shape="columns"),
    Format("tsv", "TSV", _names_both_sides, rows, shape="tabs"),
)

FORMATS: Mapping[str, Format] = {one.name: one for one in sorted((*_OF_TOOLS, *_OF_ROWS), key=lambda one: one.name)}
"""All formats by name, in the order of the names."""

PATHS = frozenset(path for one in FORMATS.values() for path in one.paths)
"""The keys that lead to the records of any format in a JSON document."""


def detected(record: Record) -> Format | None:
    """Return the format that a record is of: one that a tool writes before rows of any kind. None if there is none."""
    if not isinstance(record.value, dict):
        return None
    tools_first = sorted(FORMATS.values(), key=lambda one: bool(one.shape))
    return next((one for one in tools_first if one.shape in ("", record.shape) and one.detects(record)), None)


def of_rows(shape: str) -> Format:
    """Return the format of rows with named fields in a shape of a file, whatever their names."""
    of_json = {"lines": "json", "document": "json", "archive": "json"}
    return next(one for one in _OF_ROWS if one.shape == of_json.get(shape, shape))
