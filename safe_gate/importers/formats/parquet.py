"""Parquet: rows with named columns."""

from safe_gate.importers.formats import _fields
from safe_gate.importers.formats._rows import Record

TITLE, SHAPE = "Parquet", "columns"
rows = _fields.rows


def detects(record: Record) -> bool:
    """Return whether the columns name both sides of an exchange."""
    return _fields.is_known(record.value)
