"""The formats that `safe-gate import` reads: a module each says how to recognise and how to read its records. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from safe_gate.addons.importers.formats import (
    deepeval,
    inspect,
    langfuse,
    langsmith,
    lm_eval,
    messages,
    named,
    openai_batch,
    promptfoo,
    sharegpt,
    trl,
)
from safe_gate.addons.importers.rows import Format, Record

_OF_TOOLS = (deepeval, inspect, langfuse, langsmith, lm_eval, messages, openai_batch, promptfoo, sharegpt, trl)
_OF_ROWS = (named.CSV, named.JSON, named.PARQUET, named.TSV)

FORMATS: Mapping[str, Format] = {
    one.name: one for one in sorted((*(module.FORMAT for module in _OF_TOOLS), *_OF_ROWS), key=lambda one: one.name)
}
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
