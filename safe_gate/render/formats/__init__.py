"""The formats of a run's reports. Pure.

`json` and `markdown` are here; each other one is a module, named as the setting `reports` names it. A module has
`FILES`: its files by name, each with its renderer. `SHOWS_TEXTS` and `SHOWS_COLUMNS` say that they show recorded
texts, or the columns of the deciding words. Pieces come one by one, so that what is held does not grow with the cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

from safe_gate import addons
from safe_gate.evaluators.stored import report_json
from safe_gate.model.report import NOWHERE, Origin, Report
from safe_gate.model.results import NOTHING_RECORDED, Recorded
from safe_gate.render import SUMMARY_LIMIT
from safe_gate.render.jsonreport import pieces
from safe_gate.render.markdown import scorecard
from safe_gate.render.view import ReportView


class Shown(NamedTuple):
    """What the files of a run are drawn from: its report and where it comes from.

    `recorded` are the texts of its cases, for a format that shows them.
    """

    view: ReportView
    origin: Origin = NOWHERE
    recorded: Recorded = NOTHING_RECORDED

    @property
    def report(self) -> Report:
        """The report."""
        return self.view.report


Draw = Callable[[Shown], Iterable[str]]
"""Gives the text of a file in pieces."""


def _json(run: Shown) -> Iterator[str]:
    """Yield the report itself, the one that can be a baseline."""
    return pieces(report_json(run.report, iter))


def _markdown(run: Shown) -> Iterator[str]:
    view = ReportView.of(run.report) if run.report.problems else run.view  # a report has the first problems alone
    yield scorecard(view, limit=SUMMARY_LIMIT, recorded=run.recorded)


_HERE: Mapping[str, Mapping[str, Draw]] = {
    "json": {"safe-gate.json": _json},
    "markdown": {"safe-gate.md": _markdown},
}


def show_texts(formats: Iterable[str]) -> bool:
    """Return whether any of some formats needs the recorded texts of a run."""
    return _any(formats, "SHOWS_TEXTS")


def show_columns(formats: Iterable[str]) -> bool:
    """Return whether any format needs the columns of the deciding words."""
    return _any(formats, "SHOWS_COLUMNS")


def _any(formats: Iterable[str], flag: str) -> bool:
    return any(getattr(_module(name), flag, False) for name in formats if name not in _HERE)


def _module(name: str) -> ModuleType:
    return addons.page.report if name == "html" else import_module(f"{__name__}.{name}")


def files(formats: Iterable[str]) -> Iterator[tuple[str, Draw]]:
    """Yield the files of formats by name with what draws each, every format once."""
    for name in dict.fromkeys(formats):
        drawn: Mapping[str, Draw] = _HERE[name] if name in _HERE else _module(name).FILES
        yield from drawn.items()
