"""Converts what other tools recorded into cases or outputs: `safe-gate import`."""

from safe_gate.addons.importers.entries import BY_DEFAULT, Request, to_json_line, update_cases
from safe_gate.addons.importers.fields import IMPORTING
from safe_gate.addons.importers.formats import AUTO, CHOICES
from safe_gate.addons.importers.reading import import_files, number_repeated_ids, parse_mapping

__all__ = [
    "AUTO",
    "BY_DEFAULT",
    "CHOICES",
    "IMPORTING",
    "Request",
    "import_files",
    "number_repeated_ids",
    "parse_mapping",
    "to_json_line",
    "update_cases",
]
