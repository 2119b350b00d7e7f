"""The Markdown scorecard as a file. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from safe_gate.render import SUMMARY_LIMIT
from safe_gate.render.formats import Shown
from safe_gate.render.markdown import scorecard
from safe_gate.render.view import ReportView


def _draw(run: Shown) -> Iterator[str]:
    view = ReportView.of(run.report) if run.report.problems else run.view  # a report has the first problems alone
    yield scorecard(view, limit=SUMMARY_LIMIT, recorded=run.recorded)


FILES = {"safe-gate.md": _draw}
