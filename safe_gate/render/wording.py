"""What every format says of a report in the same words. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from heapq import nsmallest
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from safe_gate import evaluators
from safe_gate.core.evaluator import Evaluator
from safe_gate.core.figures import enumerated, first_few, plural
from safe_gate.core.lazy import View
from safe_gate.core.model import JsonObject, Parts, Phrase, RuleOutcome, Severity, Untrusted, Verdict, Words
from safe_gate.core.rules import ANY_SEVERITY
from safe_gate.core.shown import Cause, Finding, Section, Table
from safe_gate.evaluators import EVALUATORS, parts_of, present
from safe_gate.evaluators.results import results_of
from safe_gate.gate import limits
from safe_gate.gate.waivers import case_of, left_over, let_pass

if TYPE_CHECKING:
    from safe_gate.core.report import Found, Provenance, Report, Waiver


def conclusion(report: Report) -> str:
    """Return how many rules hold and how many were skipped, in words: `1 of 2 rules broken, 1 skipped`."""
    skipped = sum(rule.skipped for rule in report.rules)
    total = len(report.rules) - skipped
    broken = len(report.broken())
    if report.verdict is Verdict.ERROR:
        return "could not judge"
    holds = "the only rule holds" if total == 1 else f"all {total} rules hold"
    words = f"{broken} of {plural(total, 'rule')} broken" if broken else holds
    return f"{words}, {skipped} skipped" if skipped else words


def state(rule: RuleOutcome) -> str:
    """Return what became of a rule: `ok`, `broken` or `skipped`."""
    return "skipped" if rule.skipped else "ok" if rule.passed else "broken"


def sections(report: Report) -> tuple[Section, ...]:
    """Return what a reader is shown of every evaluator, its cases marked.

    Cases that a broken rule counts are marked; a case that waivers let pass is only to review.
    """
    known, broken = let_pass(report), broken_rules(report)
    return tuple(
        _with_waived(section, len(known[name]))._replace(
            findings=_marked(
                section.findings, known[name], _Counted.of(report.parts, EVALUATORS[name], broken.get(name, ()))
            ),
        )
        if known[name] or name in broken
        else section
        for name, section in zip(present(report.parts), evaluators.sections(report.parts), strict=True)
    )


def _with_waived(section: Section, waived: int) -> Section:
    """Return a section whose counts say how many of its failures are waived."""
    if not waived:
        return section
    words = f"{section.headline}; {plural(waived, 'failing case is', 'failing cases are')} waived"
    return section._replace(headline=words, counts=(*section.counts, f"Waived: {waived}"))


def broken_rules(report: Report) -> dict[str, list[RuleOutcome]]:
    """Return the broken rules by evaluator, of those that have one."""
    broken: dict[str, list[RuleOutcome]] = {}
    for rule in report.broken():
        broken.setdefault(rule.evaluator, []).append(rule)
    return broken


class _Counted(NamedTuple):
    """Which cases to look at the broken rules of an evaluator count: by name, group and severity, or severity alone."""

    named: Set[str]
    in_groups: Set[tuple[str, Severity]]
    anywhere: Set[Severity]

    @classmethod
    def of(cls, parts: Parts, evaluator: Evaluator, broken: Sequence[RuleOutcome]) -> _Counted:
        """Return what some broken rules of an evaluator count."""
        by_group: dict[str, set[Severity]] = {}
        finds = {rule.name: rule.finds for rule in (*evaluator.rules, *evaluator.group_rules)}
        finds |= dict.fromkeys(("min-drop", "max-score-drop"), ANY_SEVERITY)
        for rule in broken:
            if not rule.names:
                by_group.setdefault(rule.group, set()).update(finds.get(rule.rule, ()))
        anywhere, in_groups = by_group.pop("", set()), set[tuple[str, Severity]]()
        if by_group:
            for result in results_of(evaluator, parts[evaluator.name]):
                for group in result.groups:
                    in_groups.update((result.id, severity) for severity in by_group.get(group, ()))
        return cls({name for rule in broken for name in rule.names}, in_groups, anywhere)

    def has(self, finding: Finding) -> bool:
        """Return whether a case is counted."""
        case_id, severity = finding.case_id.text, finding.severity
        return case_id in self.named or severity in self.anywhere or (case_id, severity) in self.in_groups


def _marked(findings: Sequence[Finding], known: Set[str], counted: _Counted) -> Sequence[Finding]:
    def marked(finding: Finding) -> Finding:
        case_id = finding.case_id.text
        if case_id not in known:
            return finding._replace(breaks=counted.has(finding))
        waived = f"{finding.what}, waived"  # rules that ignore waivers name the cases they count
        return finding._replace(severity=Severity.REVIEW, what=waived, breaks=case_id in counted.named)

    return View(lambda: map(marked, findings))


Name = TypeVar("Name", str, Cause)

NEWLY_FAILING = "newly failing"
"""The news of a case that a change made fail."""


class Ranked(NamedTuple):
    """The first findings by rank, the number of all, and their number by cause and group.

    What counts most comes first; a finding counts once for each of its causes and groups.
    """

    first: Sequence[Finding]
    number: int
    causes: Sequence[tuple[Cause, int]] = ()
    groups: Sequence[tuple[str, int]] = ()


_FEW = 3
"""The most cases to look at that are listed without a count. More are first counted by cause."""

MOST_COUNTED = 10
"""How many rules and groups are shown with the number of their cases."""


def ranked(findings: Iterable[Finding], most: int) -> Ranked:
    """Return the findings that a broken rule counts first, of these what newly fails, then what fails.

    Those of the same rank keep their order; all are read and few are held.
    """
    number, causes, groups = 0, Counter[Cause](), Counter[str]()

    def counted() -> Iterator[Finding]:
        nonlocal number
        for finding in findings:
            number += 1
            causes.update(finding.causes)
            groups.update(finding.groups)
            yield finding

    first = nsmallest(
        most,
        counted(),
        lambda one: (not one.breaks, one.news != NEWLY_FAILING, one.severity != Severity.FAILING),
    )
    return Ranked(first, number, _by_count(causes), _by_count(groups))


def counted(found: Ranked) -> Iterator[tuple[str, Sequence[tuple[Phrase, int]]]]:
    """Yield each way to count the cases to look at, with its values and numbers. Yield nothing for few cases.

    A value that one case alone has is left out if all cases are shown.
    """
    least = 1 + (found.number <= len(found.first))
    causes = [
        ((one.what, *([": ", Untrusted(one.rule)] if one.rule else ())), cases)
        for one, cases in found.causes
        if cases >= least
    ]
    # A group of one case is not a pattern.
    groups = [((Untrusted(group),), cases) for group, cases in found.groups if cases > 1]
    for noun, counts in (("rule", causes), ("tag or archetype", groups)):
        if found.number > _FEW and counts:
            yield noun, counts


def _by_count(counts: Counter[Name]) -> Sequence[tuple[Name, int]]:
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))


def rule_name(rule: RuleOutcome) -> str:
    """Return the name of a rule for readers: that of its setting."""
    return limits.setting_of(rule.rule)


def message(rule: RuleOutcome) -> Phrase:
    """Return what a rule found, with the name of its group and of what broke it, if any."""
    return (*about(rule), rule.message, *names(rule))


def about(rule: RuleOutcome) -> Phrase:
    """Return the name of the group of cases that a rule is about, nothing if it is about all."""
    if not rule.group:
        return ()
    return (f"{EVALUATORS[rule.evaluator].grouping.noun.capitalize()} ", Untrusted(rule.group), ": ")


def names(rule: RuleOutcome) -> Phrase:
    """Return the first names that broke a rule, if any."""
    return (": ", *first_few(rule.names, len(rule.names))) if rule.names else ()


def known_failures(report: Found) -> Phrase:
    """Return how many failures are waived and what is next to expire, nothing if none is: nobody may overlook them.

    Those of a case with further failures are counted separately: no rule lets it pass.
    """
    applied, left = report.waivers.applied if report.waivers else (), left_over(report)
    idle = [waiver for waiver in applied if case_of(waiver) in left]
    words: Phrase = ()
    if count := len(applied) - len(idle):
        first = min(waiver.expires for waiver in applied if case_of(waiver) not in left)
        words = (f"{count} waived, {'the first ' * (count > 1)}until ", Untrusted(first), *["; "] * bool(idle))
    if idle:
        one = f"its case still fails by {enumerated(left[case_of(idle[0])])}"
        words += (f"{plural(len(idle), 'waiver')} in force, {one if len(idle) == 1 else 'their cases still fail'}",)
    return words


def waiver_table(report: Found) -> Table:
    """Return the waivers of a report, those that somebody must see to first."""
    left = left_over(report)

    def became(waiver: Waiver, fate: str) -> str:
        still = left.get(case_of(waiver), ()) if fate == "applied" else ()
        return f"{_FATES[fate]}, still fails by {enumerated(still)}" if still else _FATES[fate]

    rows: list[tuple[Words, ...]] = [
        (
            Untrusted(waiver.case_id),
            waiver.name,
            became(waiver, fate),
            *map(Untrusted, (waiver.reason, waiver.owner, waiver.expires)),
        )
        for fate, waiver in (report.waivers.each() if report.waivers else ())
    ]
    return Table(("Case", "Fails", "Waiver", "Reason", "Owner", "Expires"), "<<<<<<", tuple(rows))


_FATES = {"applied": "in force", "expired": "expired", "unused": "unused"}


def remarks(report: Report) -> list[Phrase]:
    """Return what a reader of any report must know beside the verdict, a sentence each."""
    provenance = report.provenance
    own = (remark for one, part in parts_of(report.parts) for remark in one.remarks(part, provenance.policy))
    return [*not_run(report), *_not_compared(report), *departures(provenance), *own]


def section_alone(name: str, part: JsonObject, settings: JsonObject, left_out: int) -> Section:
    """Return the section of an evaluator whose part is the whole report, with remarks on the settings it scored by.

    `left_out` is how many cases filters leave out.
    """
    section = EVALUATORS[name].section(part)
    notes = (*_of_settings(settings, {name: left_out} if left_out else {}), *EVALUATORS[name].remarks(part, settings))
    return section._replace(notes=(*section.notes, *notes))


def _not_compared(report: Report) -> Iterator[Phrase]:
    """Yield a sentence on rules that ask for a baseline where none is named: they judged nothing."""
    policy = report.provenance.policy
    asked = [name for name in ("protect", "max_regressions", "max_score_drop") if policy[name] not in (None, [])]
    if asked and report.comparison is None and report.verdict is not Verdict.ERROR:
        names = ", ".join(name.replace("_", "-") for name in asked)
        yield (f"No baseline is set, so nothing was compared, and these rules judged nothing: {names}.",)


def not_run(report: Report) -> list[Phrase]:
    """Return a sentence for each evaluator without input: that its rules did not apply must be seen."""
    return [
        (f"{evaluator.title} did not run: it has no input, so its rules do not apply.",)
        for name, evaluator in EVALUATORS.items()
        if report.parts[name] is None and report.verdict is not Verdict.ERROR
    ]


def departures(provenance: Provenance) -> Iterator[Phrase]:
    """Yield a sentence for each changed setting that a reader of the report must know."""
    if commit := provenance.policy_commit:
        judged_by = "Judged by the config file, rule packs and waivers of the base commit ("
        yield (judged_by, Untrusted(commit[:7]), "), not those of this change.")
    yield from _of_settings(provenance.policy, provenance.left_out or {})


def _of_settings(policy: Mapping[str, Any], left_out: Mapping[str, int]) -> Iterator[Phrase]:
    yield from filtered(policy, left_out)
    if policy.get("text") == "none":
        yield ("Recorded text is hidden; hashes replace it.",)


def filter_of(report: Report) -> Phrase:
    """Return the sentence of `filtered` on a report, an empty one without a filter."""
    return next(filtered(report.provenance.policy, report.provenance.left_out or {}), ())


def filtered(policy: Mapping[str, Any], counts: Mapping[str, int]) -> Iterator[Phrase]:
    """Yield a sentence on the filters of a run and, if known, how many cases they leave out."""
    wanted, unwanted = (policy.get(name) or [] for name in ("tag", "not_tag"))
    if not (wanted or unwanted):
        return
    filters = [(joint, tags) for joint, tags in (("with ", wanted), ("without ", unwanted)) if tags]
    phrase: list[str | Untrusted] = []
    for joint, tags in filters:
        phrase += [" and " if phrase else "Filtered: only cases ", joint]
        phrase += [word for tag in tags for word in (" or ", Untrusted(tag))][1:]
    left_out = [plural(counts[name], f"{one.title} case") for name, one in EVALUATORS.items() if name in counts]
    are = "is" if [*counts.values()] == [1] else "are"
    yield (*phrase, f"; {enumerated(left_out)} {are} left out." if left_out else ".")
