"""Converts what other tools recorded into cases or outputs: `safe-gate import`."""

from safe_gate.addons.importers.entries import BY_DEFAULT, Request, Update, to_json_line
from safe_gate.addons.importers.fields import IMPORTING
from safe_gate.addons.importers.reading import import_files, number_repeated_ids, parse_mapping

__all__ = [
    "BY_DEFAULT",
    "IMPORTING",
    "Request",
    "Update",
    "import_files",
    "number_repeated_ids",
    "parse_mapping",
    "to_json_line",
]
