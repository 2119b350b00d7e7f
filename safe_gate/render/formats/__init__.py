"""The formats of a run's reports. Pure.

`json` and `markdown` are here; each other one is a module, named as the setting `reports` names it. A module has
`FILES`: its files by name, each with its renderer. Pieces come one by one, so that what is held does not grow with the
cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module

from safe_gate import addons
from safe_gate.core.jsontext import pieces
from safe_gate.gate.stored import report_json, streamed
from safe_gate.model.report import Origin
from safe_gate.model.results import Judgement, Untrusted
from safe_gate.render import SUMMARY_LIMIT
from safe_gate.render.cases import WHOLE_CASE, ShownCase
from safe_gate.render.markdown import scorecard
from safe_gate.render.untrusted import name_in_full, plain, quote_phrase
from safe_gate.render.view import ReportView

Draw = Callable[[ReportView], Iterable[str]]
"""Gives the text of a file in pieces."""


_BUILT_IN: Mapping[str, Mapping[str, Draw]] = {
    "json": {"safe-gate.json": lambda view: pieces(report_json(view.report, streamed))},  # which can be a baseline
    "markdown": {"safe-gate.md": lambda view: [_markdown(view)]},
}


def _markdown(view: ReportView) -> str:
    """Return the text of the comment without its links, so that it is the same wherever the gate runs."""
    return scorecard(view, limit=SUMMARY_LIMIT, origin=Origin(gate=view.origin.gate), recorded=view.recorded)


def format_files(formats: Iterable[str]) -> Iterator[tuple[str, Draw]]:
    """Yield the file names of formats, each with its renderer; every format once."""
    for name in dict.fromkeys(formats):
        if name in _BUILT_IN:
            yield from _BUILT_IN[name].items()
        else:
            module = addons.page.report if name == "html" else import_module(f"{__name__}.{name}")
            yield from module.FILES.items()


def gate_of(view: ReportView) -> tuple[str, ...]:
    """Return what tells a gate's findings from those of others: its id or its job, if it has one."""
    return (plain(Untrusted(view.origin.name)),) if view.origin.name else ()


LONGEST_MESSAGE = 1_000
"""The most characters of a message about a case."""


def judgement_message(case: ShownCase, judgement: Judgement) -> str:
    """Return the judgement of a metric or check on a case as a line, with its evidence."""
    title = "" if judgement.by == WHOLE_CASE else f"{case.evaluator.present.explanation(judgement.by).title}: "
    figure = "" if judgement.score is None else f" {judgement.score:.2f}"
    said = _with_evidence(f"{title}{judgement.label}{figure}", judgement)
    return f"{name_in_full(case.result.id)}: {said}"[:LONGEST_MESSAGE]


def _with_evidence(head: str, judgement: Judgement | None) -> str:
    more = [*map(quote_phrase, judgement.evidence)] if judgement else []
    return "; ".join(more if more and more[0].startswith(f"{head}: ") else [head, *more])  # a reason is said once


def why_look(case: ShownCase) -> str:
    """Return why a reviewer is shown a case, with the evidence that no metric or check has; "" if none is."""
    whole = next((one for one in case.judgements_to_review() if one.by == WHOLE_CASE), None)
    return _with_evidence(case.finding.what, whole)[:LONGEST_MESSAGE] if case.finding else ""
