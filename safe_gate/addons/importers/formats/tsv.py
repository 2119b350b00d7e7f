"""TSV: a header and rows, with tabs between fields."""

from safe_gate.addons.importers.formats._fields import detects, rows

__all__ = ["SHAPE", "TITLE", "detects", "rows"]
TITLE, SHAPE = "TSV", "tabs"
