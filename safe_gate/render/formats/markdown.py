"""The Markdown scorecard as a file. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from safe_gate.core.model import JsonObject
from safe_gate.render.markdown import SUMMARY_LIMIT, scorecard
from safe_gate.render.report import problems_in


def _draw(report: JsonObject, _folder: str) -> Iterator[str]:
    yield scorecard(report, problems_in(report), limit=SUMMARY_LIMIT)


FILES = {"safe-gate.md": _draw}
