"""The formats of a run's reports. Pure.

`json` and `markdown` are here; each other one is a module, named as the setting `reports` names it. A module has
`FILES`: its files by name, each with its renderer. `SHOWS_TEXTS` says that they show recorded
texts. Pieces come one by one, so that what is held does not grow with the cases.
`judged_cases` gives the cases one at a time, each with what every metric or check says of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

from safe_gate import addons
from safe_gate.core.evaluator import Evaluator
from safe_gate.core.jsontext import pieces
from safe_gate.evaluators.registry import parts_of, results_of
from safe_gate.gate.stored import report_json
from safe_gate.gate.waivers import case_of
from safe_gate.model.problems import Place
from safe_gate.model.report import NOWHERE, Origin, Report, Waiver
from safe_gate.model.results import NOTHING_RECORDED, CaseResult, Finding, Judgement, Recorded, Severity, Untrusted
from safe_gate.render import SUMMARY_LIMIT
from safe_gate.render.markdown import scorecard
from safe_gate.render.untrusted import plain, quote_phrase
from safe_gate.render.view import ReportView


class RenderedRun(NamedTuple):
    """A run as its files show it: its report and where it comes from.

    `recorded` are the texts of its cases, for a format that shows them.
    """

    view: ReportView
    origin: Origin = NOWHERE
    recorded: Recorded = NOTHING_RECORDED

    @property
    def report(self) -> Report:
        """The report."""
        return self.view.report


Draw = Callable[[RenderedRun], Iterable[str]]
"""Gives the text of a file in pieces."""


def _json(run: RenderedRun) -> Iterator[str]:
    """Yield the report itself, the one that can be a baseline."""
    return pieces(report_json(run.report, iter))


def _markdown(run: RenderedRun) -> Iterator[str]:
    view = ReportView.of(run.report) if run.report.problems else run.view  # a report has the first problems alone
    yield scorecard(view, limit=SUMMARY_LIMIT, recorded=run.recorded)


_BUILT_IN: Mapping[str, Mapping[str, Draw]] = {
    "json": {"safe-gate.json": _json},
    "markdown": {"safe-gate.md": _markdown},
}


def needs_texts(formats: Iterable[str]) -> bool:
    """Return whether any of some formats needs the recorded texts of a run."""
    return any(getattr(_module(name), "SHOWS_TEXTS", False) for name in formats if name not in _BUILT_IN)


def _module(name: str) -> ModuleType:
    return addons.page.report if name == "html" else import_module(f"{__name__}.{name}")


def format_files(formats: Iterable[str]) -> Iterator[tuple[str, Draw]]:
    """Yield the file names of formats, each with its renderer; every format once."""
    for name in dict.fromkeys(formats):
        drawn: Mapping[str, Draw] = _BUILT_IN[name] if name in _BUILT_IN else _module(name).FILES
        yield from drawn.items()


WHOLE_CASE = "case"
"""The name in place of a metric or check where none is the cause, as for a case without a reply."""


@dataclass(frozen=True, slots=True)
class JudgedCase:
    """A case of a report.

    `label` is its overall result: Pass, Review or Fail; passes or fails. `passed` tells whether that is as it should
    be: a negative example is to fail. `groups` are its archetype or its tags, `excused_by` those by which it fails as
    it is meant to. `waivers` are those that let it pass, by metric or check. `change` is what became of it since the
    baseline, "" where nothing did or there is none. `finding` is what a reviewer is shown of it, None of a case that
    needs no look. `result` is its result in the report.
    """

    evaluator: Evaluator
    id: str
    place: Place
    label: str
    passed: bool
    groups: Sequence[str]
    excused_by: Sequence[str]
    judgements: tuple[Judgement, ...]
    waivers: Mapping[str, Waiver]
    change: str
    finding: Finding | None
    result: CaseResult

    def judgements_to_review(self) -> Iterator[Judgement]:
        """Yield the judgements for a reviewer: those without a full pass, waived or not, or the whole case."""
        found = [] if self.excused_by else [one for one in self.judgements if one.severity]
        if not found and self.finding:
            what, severity = self.finding.what, self.finding.severity
            found = [Judgement(WHOLE_CASE, what, severity, evidence=self.finding.evidence)]
        yield from found

    def level(self, judgement: Judgement) -> str:
        """Return error, warning or note: what breaks no rule is never an error, what is waived is a note."""
        if judgement.by in self.waivers:
            return "note"
        levels = ("error", "warning") if self.finding and self.finding.breaks else ("warning", "note")
        return levels[judgement.severity is Severity.REVIEW]


def judged_cases(view: ReportView) -> Iterator[JudgedCase]:
    """Yield the cases of a report in its order; one is held at a time."""
    report = view.report
    waivers: dict[tuple[str, str], dict[str, Waiver]] = {}
    for waiver in report.waivers.applied if report.waivers else ():
        waivers.setdefault(case_of(waiver), {})[waiver.name] = waiver
    policy = report.provenance.policy
    for (evaluator, part), section in zip(parts_of(report.parts), view.sections, strict=True):
        changes = _changes_by_id(report, evaluator.name)
        findings = iter(section.findings)  # those of some cases, in the order of all
        finding = next(findings, None)
        for one in results_of(part):
            case_id = one.id
            shown = finding if finding and finding.case_id.text == case_id else None
            finding = next(findings, None) if shown else finding
            outcome, excuses = evaluator.compare.outcome(one), list[str]()
            if outcome.passed and outcome.is_meant_to_fail:
                excuses = [tag for tag in one.groups if evaluator.gate.is_excused(tag, one.asks, policy)]
                excuses = excuses or [*one.groups]
            yield JudgedCase(
                evaluator=evaluator,
                id=case_id,
                place=one.place,
                label=outcome.words,
                passed=outcome.passed,
                groups=one.groups,
                excused_by=excuses,
                judgements=tuple(evaluator.present.judgements(part, one)),
                waivers=waivers.get((case_id, evaluator.present.measure_noun), {}),
                change=changes.get(case_id, ""),
                finding=shown,
                result=one,
            )


LONGEST_MESSAGE = 1_000
"""The most characters of a message about a case."""


def judgement_message(case: JudgedCase, judgement: Judgement) -> str:
    """Return the judgement of a metric or check on a case as a line, with its evidence."""
    title = "" if judgement.by == WHOLE_CASE else f"{case.evaluator.present.explanation(judgement.by).title}: "
    figure = "" if judgement.score is None else f" {judgement.score:.2f}"
    head = f"{plain(Untrusted(case.id))}: {title}{judgement.label}{figure}"
    return "; ".join((head, *map(quote_phrase, judgement.evidence)))[:LONGEST_MESSAGE]


def repository_path(place: Place, folder: str) -> str:
    """Return a file's path from the repository's root, or as the run was given it where it lies outside."""
    return place.within(folder) or place.path


def is_compared(report: Report, name: str) -> bool:
    """Return whether a report compares an evaluator's cases with a baseline."""
    return bool(report.comparison and report.comparison.parts[name])


def _changes_by_id(report: Report, name: str) -> dict[str, str]:
    """Return how an evaluator's cases changed since the baseline, by id. Unchanged ones are left out."""
    part = report.comparison and report.comparison.parts[name]
    if not part:
        return {}
    return {change.id: change.change for change in part.changes} | {one.id: "new case" for one in part.cases.added}
