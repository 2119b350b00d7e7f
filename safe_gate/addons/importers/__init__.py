"""Converts what other tools recorded into cases or outputs: `safe-gate import`."""

from safe_gate.addons.importers.entries import BY_DEFAULT, IMPORTING, Request, Update, as_json, update
from safe_gate.addons.importers.reading import mapping_of, numbered, read

__all__ = ["BY_DEFAULT", "IMPORTING", "Request", "Update", "as_json", "mapping_of", "numbered", "read", "update"]
