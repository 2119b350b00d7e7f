"""The cases of a report as every renderer shows them: one walk, and the ranking of those to look at. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from heapq import nsmallest
from itertools import count
from typing import Any, NamedTuple

from safe_gate.core.evaluator import ANY_SEVERITY, Evaluator
from safe_gate.core.figures import plural
from safe_gate.evaluators.registry import parts_of, results_of
from safe_gate.gate import waivers as gate_waivers
from safe_gate.model import record
from safe_gate.model.report import Compared, Report, RuleOutcome, Waiver
from safe_gate.model.results import (
    CaseResult,
    Cause,
    Finding,
    Judgement,
    Outcome,
    Phrase,
    Section,
    Severity,
    Untrusted,
    Words,
)
from safe_gate.model.spool import Spool
from safe_gate.render.comparison import NEW_CASE, NEWLY_FAILING, NEWS, evidence_of, kind_of_change


class ShownPart(NamedTuple):
    """An evaluator's part of a report, what readers see of it, and whether one of its rules is broken."""

    evaluator: Evaluator
    part: Any
    section: Section
    is_broken: bool


def shown_parts(report: Report) -> Iterator[ShownPart]:
    """Yield the part of each evaluator, in reading order, with its findings marked."""
    known = gate_waivers.waived(report)
    for evaluator, part in parts_of(report.parts):
        broken = [rule for rule in report.broken() if rule.evaluator == evaluator.name]
        section, waived = evaluator.present.section(part), {one.case_id for one in known[evaluator.name]}
        if waived:
            words = f"{section.headline}; {plural(len(waived), 'failing case is', 'failing cases are')} waived"
            rows = Spool(map(partial(_waived_row, waived), section.cases.rows))
            counts, cases = (*section.counts, f"Waived: {len(waived)}"), section.cases._replace(rows=rows)
            section = section._replace(headline=words, counts=counts, cases=cases)
        compared = compared_part(report, evaluator.name)
        if waived or broken or compared:
            # The name of the rule, or that of one for a tag or a check.
            disagree = {name for rule in broken if rule.rule.startswith("min-label-accuracy") for name in rule.names}
            found = _with_labels(section.findings, evaluator, part, disagree) if disagree else section.findings
            marked = _marked(found, broken, waived, evaluator, compared)
            section = section._replace(findings=Spool(marked))
        yield ShownPart(evaluator, part, section, bool(broken))


def _waived_row(waived: Set[str], row: tuple[Words, ...]) -> tuple[Words, ...]:
    """Return the row of a case in a table, whose last cell then says that the case is waived."""
    *others, last = row
    is_waived = isinstance(row[0], Untrusted) and row[0].text in waived and isinstance(last, str)
    return (*others, f"{last} (waived)") if is_waived else row


def _with_labels(findings: Iterable[Finding], evaluator: Evaluator, part: Any, ids: Set[str]) -> Iterator[Finding]:
    """Yield findings and, in the order of the results, those of other cases whose labels disagree, by id."""
    rest = iter(findings)
    finding = next(rest, None)
    for result in results_of(part):
        if finding and finding.case_id.text == result.id:
            yield finding
            finding = next(rest, None)
        elif result.id in ids:
            yield evaluator.present.finding(result)._replace(severity=Severity.REVIEW, evidence=())


def compared_part(report: Report, name: str) -> Compared | None:
    """Return how an evaluator's cases compare with a baseline, None if they do not."""
    return report.comparison.parts[name] if report.comparison else None


def _marked(
    findings: Iterable[Finding],
    broken: Sequence[RuleOutcome],
    waived: Set[str],
    evaluator: Evaluator,
    compared: Compared | None,
) -> Iterator[Finding]:
    """Yield findings that say whether a broken rule counts them, and what is new. A waived case is only to review."""
    counted, named = _counted_severities(broken, evaluator), {name for rule in broken for name in rule.names}
    doubted = {name for rule in broken if rule.rule in _ON_DOUBTS for name in rule.names}
    kinds, changes = _kinds(compared), compared.changes if compared else ()
    evidence = {one.id: tuple(evidence_of(evaluator, one.before)) for one in changes if one.before is not None}
    for finding in findings:
        case_id, severity, what = finding.case_id.text, finding.severity, finding.what
        kind = kinds.get(case_id, "")
        is_counted = any(severity in counted.get(one, ()) for one in ("", *finding.groups)) and not finding.ends_well
        if case_id in waived:  # rules that ignore waivers name the cases they count
            severity, what, is_counted = Severity.REVIEW, f"{what}, waived", False
        yield finding._replace(
            severity=Severity.FAILING if case_id in doubted else severity,
            what=what,
            breaks=is_counted or case_id in named,
            doubts_break=case_id in doubted,
            news=kind if kind in NEWS else "",
            before=evidence.get(case_id, ()),
        )


_ON_DOUBTS = ("max-no-reply", "max-not-english", "max-disguised")
"""The rules that count the doubts of findings."""


def _counted_severities(broken: Sequence[RuleOutcome], evaluator: Evaluator) -> Mapping[str, Set[Severity]]:
    """Return by group, "" for all cases, the severities of the findings that broken rules count without naming them."""
    finds = {rule.name: rule.finds for rule in (*evaluator.gate.rules, *evaluator.gate.group_rules)}
    finds |= dict.fromkeys(("min-drop", "max-score-drop"), ANY_SEVERITY)
    counted: dict[str, Set[Severity]] = {}
    for rule in broken:
        if not rule.names:
            counted[rule.group] = counted.get(rule.group, frozenset()) | finds.get(rule.rule, frozenset())
    return counted


def _kinds(compared: Compared | None) -> Mapping[str, str]:
    """Return the kinds of changes since the baseline, new cases among them, by the ids of cases."""
    if compared is None:
        return {}
    added = dict.fromkeys((one.id for one in compared.cases.added), NEW_CASE)
    return added | {one.id: kind_of_change(one) for one in compared.changes}


WHOLE_CASE = "case"
"""The name in place of a metric or check where none is the cause, as for a case without a reply."""


@record
class ShownCase:
    """A case of a report: its result, and what every metric or check says of it.

    `excused_by` are the groups by which it fails as it is meant to. `waivers` are those that let it pass, by metric or
    check. `change` is what became of it since the baseline, "" where nothing did or there is none. `finding` is what a
    reviewer is shown of it, None of a case that needs no look.
    """

    evaluator: Evaluator
    result: CaseResult
    outcome: Outcome
    excused_by: Sequence[str]
    judgements: tuple[Judgement, ...]
    waivers: Mapping[str, Waiver]
    change: str
    finding: Finding | None

    @property
    def breaks(self) -> bool:
        """Whether a broken rule counts it."""
        return bool(self.finding and self.finding.breaks)

    def judgements_to_review(self) -> Iterator[Judgement]:
        """Yield the judgements for a reviewer: those without a full pass, waived or not.

        Before them is the whole case if it leaves doubts, or if there are none. It fails if a broken rule counts the
        doubts, or counts the case and no judgement fails it.
        """
        found = [] if self.excused_by else [one for one in self.judgements if one.severity]
        if (finding := self.finding) and (finding.doubts or not found):
            what, evidence = (self.outcome.words, finding.doubts) if found else (finding.what, finding.evidence)
            fails = any(one.severity is Severity.FAILING and one.by not in self.waivers for one in found)
            breaks = finding.doubts_break or (finding.breaks and not fails)
            yield Judgement(WHOLE_CASE, what, Severity.FAILING if breaks else Severity.REVIEW, evidence=evidence)
        yield from found

    def level(self, judgement: Judgement) -> str:
        """Return error, warning or note: what breaks a rule is an error, what is waived is a note."""
        is_review = judgement.severity is Severity.REVIEW
        if judgement.by in self.waivers or (is_review and judgement.by == WHOLE_CASE):
            return "note"
        return "error" if self.breaks else "note" if is_review else "warning"


def shown_cases(report: Report, parts: Iterable[ShownPart]) -> Iterator[ShownCase]:
    """Yield the cases of the shown parts of a report, in its order; one is held at a time."""
    policy, waivers = report.provenance.policy, dict[tuple[str, str], dict[str, Waiver]]()
    for waiver in report.waivers.applied if report.waivers else ():
        waivers.setdefault((waiver.case_id, waiver.kind), {})[waiver.name] = waiver
    for evaluator, part, section, _ in parts:
        changes, present = _kinds(compared_part(report, evaluator.name)), evaluator.present
        findings = iter(section.findings)  # those of some cases, in the order of all
        finding = next(findings, None)
        for result in results_of(part):
            shown = finding if finding and finding.case_id.text == result.id else None
            finding = next(findings, None) if shown else finding
            outcome, excused_by = evaluator.compare.outcome(result), ()
            if outcome.passed and outcome.is_meant_to_fail:
                excuses = (one for one in result.groups if evaluator.gate.is_excused(one, result.asks, policy))
                excused_by = tuple(excuses) or result.groups
            yield ShownCase(
                evaluator=evaluator,
                result=result,
                outcome=outcome,
                excused_by=excused_by,
                judgements=tuple(present.judgements(part, result)),
                waivers=waivers.get((result.id, present.measure_noun), {}),
                change=changes.get(result.id, ""),
                finding=shown,
            )


class RankedFindings(NamedTuple):
    """The first findings by rank, and the number of all.

    `counts` has by `rule` and by `tag or archetype` how many cases have each, the most frequent first, and what is left
    out in words, "" for nothing.
    """

    first: Sequence[Finding]
    number: int
    counts: Sequence[tuple[str, Sequence[tuple[Phrase, int]], str]]


_FEW = 3
"""The most cases to look at that are listed without a count. More are first counted by cause."""

_MOST_COUNTED = 10
"""How many rules and groups are shown with the number of their cases."""


def rank(findings: Iterable[Finding], most: int) -> RankedFindings:
    """Return the findings that a broken rule counts first, of these what newly fails, then what fails.

    Those of the same rank keep their order; all are read and few are held. Few cases have no counts.
    """
    causes, groups, numbers = Counter[Cause](), Counter[str](), count()

    def counted() -> Iterator[Finding]:
        for finding, _ in zip(findings, numbers, strict=False):
            causes.update(finding.causes)
            groups.update(finding.groups)
            yield finding

    first = nsmallest(most, counted(), rank_of)
    number = next(numbers)
    least = 1 if number > len(first) else 2  # what one case alone has is no news if it is shown
    by_rule = [
        ((one.what, *([": ", Untrusted(one.rule)] if one.rule else ())), cases) for one, cases in _most_frequent(causes)
    ]
    by_group = [((Untrusted(group),), cases) for group, cases in _most_frequent(groups)]
    counts = (("rule", "rules", by_rule, least), ("tag or archetype", "tags or archetypes", by_group, 2))
    shown = [(noun, *_first_counts(every, least, nouns)) for noun, nouns, every, least in counts if number > _FEW]
    return RankedFindings(first, number, [one for one in shown if one[1]])


def _first_counts(
    every: Sequence[tuple[Phrase, int]], least: int, nouns: str
) -> tuple[Sequence[tuple[Phrase, int]], str]:
    """Return the counts to show, of `least` cases or more, and in words what else there is."""
    if not (counted := sum(cases >= least for _, cases in every[:_MOST_COUNTED])):
        return (), ""
    shown = counted + (len(every) == counted + 1)  # one more would be no shorter in words
    left = [cases for _, cases in every[shown:]]
    return every[:shown], f"{len(left)} more {nouns}{' with one case each' * (left[0] == 1)}" if left else ""


def rank_of(finding: Finding) -> int:
    """Return the rank of a finding, 0 for the most important."""
    return 4 * (not finding.breaks) + 2 * (finding.news != NEWLY_FAILING) + (finding.severity != Severity.FAILING)


def _most_frequent(counter: Counter[Any]) -> list[tuple[Any, int]]:
    return sorted(counter.items(), key=lambda one: (-one[1], one[0]))
