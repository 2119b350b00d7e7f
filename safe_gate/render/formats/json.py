"""The report itself, the one that can be a baseline. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from safe_gate.core.model import JsonObject
from safe_gate.render.jsonreport import pieces


def _draw(report: JsonObject, _folder: str) -> Iterator[str]:
    return pieces(report)


FILES = {"safe-gate.json": _draw}
