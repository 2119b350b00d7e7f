"""The report itself, the one that can be a baseline. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from safe_gate.evaluators.stored import report_json
from safe_gate.render.formats import Shown
from safe_gate.render.jsonreport import pieces


def _draw(run: Shown) -> Iterator[str]:
    return pieces(report_json(run.report, iter))


FILES = {"safe-gate.json": _draw}
