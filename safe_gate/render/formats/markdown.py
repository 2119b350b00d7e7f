"""The Markdown scorecard as a file. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from safe_gate.render.formats import Run
from safe_gate.render.markdown import SUMMARY_LIMIT, scorecard


def _draw(run: Run) -> Iterator[str]:
    yield scorecard(run.report, run.report.problems, limit=SUMMARY_LIMIT, recorded=run.recorded)


FILES = {"safe-gate.md": _draw}
