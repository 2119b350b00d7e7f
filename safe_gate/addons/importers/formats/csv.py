"""CSV: a header and rows, with commas or semicolons between fields."""

from safe_gate.addons.importers.formats._fields import detects, rows

__all__ = ["SHAPE", "TITLE", "detects", "rows"]
TITLE, SHAPE = "CSV", "commas"
