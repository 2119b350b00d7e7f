"""The Markdown scorecard as a file. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from safe_gate.render.formats import Run
from safe_gate.render.markdown import SUMMARY_LIMIT, scorecard
from safe_gate.render.report import problems_in


def _draw(run: Run) -> Iterator[str]:
    yield scorecard(run.report, problems_in(run.report), limit=SUMMARY_LIMIT, recorded=run.recorded)


FILES = {"safe-gate.md": _draw}
