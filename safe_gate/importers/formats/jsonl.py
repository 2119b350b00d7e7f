"""JSON objects with named fields: one per line, in a list, or in a list under `data` or `examples`."""

from safe_gate.importers.formats import _fields, messages
from safe_gate.importers.formats._rows import Record

TITLE, SHAPE = "JSON objects with named fields", "json"
PATHS = (("data",), ("examples",), ("rows",))
rows = messages.rows


def detects(record: Record) -> bool:
    """Return whether the fields name both sides of an exchange."""
    return _fields.is_known(record.value)
