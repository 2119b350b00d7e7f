"""CSV: a header and rows, with commas or semicolons between fields."""

from safe_gate.importers.formats import _fields
from safe_gate.importers.formats._rows import Record

TITLE, SHAPE = "CSV", "commas"
rows = _fields.rows


def detects(record: Record) -> bool:
    """Return whether the header names both sides of an exchange."""
    return _fields.is_known(record.value)
