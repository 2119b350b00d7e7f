"""Parquet: rows with named columns."""

from safe_gate.addons.importers.formats._fields import detects, rows

__all__ = ["SHAPE", "TITLE", "detects", "rows"]
TITLE, SHAPE = "Parquet", "columns"
