"""Rows with named fields: lines or lists of JSON objects, CSV, TSV and Parquet."""

from __future__ import annotations

from safe_gate.addons.importers.fields import is_known, rows
from safe_gate.addons.importers.formats import messages
from safe_gate.addons.importers.rows import Format, Record


def _detects(record: Record) -> bool:
    """Return whether the fields of a record name both sides of an exchange."""
    return is_known(record.value)


JSON = Format(
    "jsonl",
    "JSON objects with named fields",
    _detects,
    messages.FORMAT.rows,
    paths=(("data",), ("examples",), ("rows",)),
    shape="json",
)
CSV = Format("csv", "CSV", _detects, rows, shape="commas")
TSV = Format("tsv", "TSV", _detects, rows, shape="tabs")
PARQUET = Format("parquet", "Parquet", _detects, rows, shape="columns")
