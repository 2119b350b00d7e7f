"""JSON objects with named fields: one per line, in a list, or in a list under `data` or `examples`."""

from safe_gate.addons.importers.formats._fields import detects
from safe_gate.addons.importers.formats.messages import rows

__all__ = ["PATHS", "SHAPE", "TITLE", "detects", "rows"]
TITLE, SHAPE = "JSON objects with named fields", "json"
PATHS = (("data",), ("examples",), ("rows",))
