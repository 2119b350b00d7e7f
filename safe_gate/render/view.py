"""What readers are shown of a report: comment, summary, step outputs, annotations, console and files share it. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from heapq import nsmallest
from typing import Any, NamedTuple

from safe_gate.core.evaluator import ANY_SEVERITY, Evaluator
from safe_gate.core.figures import enumerated, first_few, plural
from safe_gate.evaluators import registry
from safe_gate.evaluators.registry import EVALUATORS, parts_of, results_of
from safe_gate.gate.waivers import case_of, unwaived_failures, waived_ids
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import Problem, in_order
from safe_gate.model.report import Provenance, Report, RuleOutcome, Verdict, Waiver
from safe_gate.model.results import Cause, Finding, Phrase, Section, Severity, Table, Untrusted, Words
from safe_gate.model.spool import Spool
from safe_gate.render.comparison import NEWLY_FAILING, comparison_section, drop_empty_columns, mark_changes


class ShownPart(NamedTuple):
    """What an evaluator found, and whether one of its rules is broken."""

    evaluator: Evaluator
    section: Section
    is_broken: bool


@dataclass(frozen=True)
class ReportView:
    """What readers see of a report, in no particular format. Each part is computed at its first use.

    `problems` keep the run from a verdict.
    """

    report: Report
    problems: Sequence[Problem] = ()

    @classmethod
    def of(cls, report: Report) -> ReportView:
        """Return the view of a stored report, with the problems that it has."""
        return cls(report, report.problems)

    @cached_property
    def broken(self) -> Sequence[RuleOutcome]:
        """The broken rules."""
        return self.report.broken()

    @cached_property
    def parts(self) -> Sequence[ShownPart]:
        """What each evaluator found, in reading order.

        Cases that a broken rule counts are marked, a case that waivers let pass is only to review, and what newly fails
        is named as new.
        """
        report, known = self.report, waived_ids(self.report)
        compared = report.comparison.parts if report.comparison else {}
        shown = []
        for evaluator, part in parts_of(report.parts):
            broken = [rule for rule in self.broken if rule.evaluator == evaluator.name]
            section = evaluator.present.section(part)
            if waived := known[evaluator.name]:
                words = f"{section.headline}; {plural(len(waived), 'failing case is', 'failing cases are')} waived"
                section = section._replace(headline=words, counts=(*section.counts, f"Waived: {len(waived)}"))
            if waived or broken:
                section = _mark_findings(section, waived, broken, evaluator, part)
            if one := compared.get(evaluator.name):
                section = mark_changes(section, evaluator, one)
            shown.append(ShownPart(evaluator, section, bool(broken)))
        return shown

    @property
    def sections(self) -> Sequence[Section]:
        """The sections of the evaluators, in reading order."""
        return [part.section for part in self.parts]

    @cached_property
    def comparison(self) -> Section | None:
        """The comparison with a baseline, or None without a baseline."""
        found = self.report.comparison
        return comparison_section(found, self.report.parts) if found and found.status != "none" else None

    @cached_property
    def known_failures(self) -> Phrase:
        """A sentence on the waived failures and the next waiver to expire, empty if none is waived.

        Those of a case with further failures are counted separately: no rule lets it pass.
        """
        applied, left = self.report.waivers.applied if self.report.waivers else (), unwaived_failures(self.report)
        idle = [waiver for waiver in applied if case_of(waiver) in left]
        words: Phrase = ()
        if count := len(applied) - len(idle):
            first = min(waiver.expires for waiver in applied if case_of(waiver) not in left)
            words = (f"{count} waived, {'the first ' * (count > 1)}until ", Untrusted(first), *["; "] * bool(idle))
        if idle:
            one = f"its case still fails by {enumerated(left[case_of(idle[0])])}"
            words += (f"{plural(len(idle), 'waiver')} in force, {one if len(idle) == 1 else 'their cases still fail'}",)
        return words

    @cached_property
    def waivers(self) -> Table:
        """The table of the report's waivers, those that need attention first."""
        left = unwaived_failures(self.report)

        def became(waiver: Waiver, fate: str) -> str:
            still = left.get(case_of(waiver), ()) if fate == "applied" else ()
            state = "in force" if fate == "applied" else fate
            return f"{state}, still fails by {enumerated(still)}" if still else state

        rows: list[tuple[Words, ...]] = [
            (
                Untrusted(waiver.case_id),
                waiver.name,
                became(waiver, fate),
                *map(Untrusted, (waiver.reason, waiver.owner, waiver.expires)),
            )
            for fate, waiver in (self.report.waivers.each() if self.report.waivers else ())
        ]
        return Table(("Case", "Fails", "Waiver", "Reason", "Owner", "Expires"), "<<<<<<", tuple(rows))

    @cached_property
    def remarks(self) -> Sequence[Phrase]:
        """The sentences that a reader needs beside the verdict, such as that rules did not apply."""
        report, policy = self.report, self.report.provenance.policy
        found: list[Phrase] = []
        if report.verdict is not Verdict.ERROR:
            found += [
                (f"{evaluator.title} did not run: it has no input, so its rules do not apply.",)
                for name, evaluator in EVALUATORS.items()
                if report.parts[name] is None
            ]
            asked = [
                name for name in ("protect", "max_regressions", "max_score_drop") if policy[name] not in (None, [])
            ]
            if asked and report.comparison is None:
                names = ", ".join(name.replace("_", "-") for name in asked)
                found.append(
                    (f"No baseline is set, so nothing was compared, and these rules judged nothing: {names}.",)
                )
        own = (remark for one, part in parts_of(report.parts) for remark in one.present.remarks(part, policy))
        return [*found, *changed_setting_sentences(report.provenance), *own]

    @cached_property
    def step_outputs(self) -> Mapping[str, str]:
        """The step outputs that follow from the report; empty where nothing was measured.

        `pass-rate` and `label-accuracy` are fractions from 0 to 1, like the limits of their rules.
        """
        figures = [evaluator.present.figures(self.report.parts[name]).outputs for name, evaluator in EVALUATORS.items()]
        return {
            "verdict": self.report.verdict.value,
            **{output: value for own in figures for output, value in own.items()},
            "total-cases": str(sum(len(part.results) for _, part in parts_of(self.report.parts))),
        }


def _mark_findings(
    section: Section, waived: Set[str], broken: Sequence[RuleOutcome], one: Evaluator, part: Any
) -> Section:
    """Return a section whose cases say whether a broken rule counts them. A waived one is only to review.

    A rule counts cases by name, or by their severity, in its group if it has one.
    """
    finds = {rule.name: rule.finds for rule in (*one.gate.rules, *one.gate.group_rules)}
    finds |= dict.fromkeys(("min-drop", "max-score-drop"), ANY_SEVERITY)
    named, by_group = {name for rule in broken for name in rule.names}, dict[str, set[Severity]]()
    for rule in broken:
        if not rule.names:
            by_group.setdefault(rule.group, set()).update(finds.get(rule.rule, ()))
    anywhere = by_group.pop("", set())
    in_groups = {
        (result.id, severity)
        for result in results_of(part if by_group else None)
        for group in result.groups
        for severity in by_group.get(group, ())
    }

    def marked(finding: Finding) -> Finding:
        case_id, severity = finding.case_id.text, finding.severity
        if case_id in waived:  # rules that ignore waivers name the cases they count
            what = f"{finding.what}, waived"
            return finding._replace(severity=Severity.REVIEW, what=what, breaks=case_id in named)
        is_counted = case_id in named or severity in anywhere or (case_id, severity) in in_groups
        return finding._replace(breaks=is_counted)

    return section._replace(findings=Spool(map(marked, section.findings)))


VERDICTS = {"pass": "passed", "fail": "failed", "error": "no verdict"}
"""The words for each verdict."""

NO_VERDICT = "the input or the settings have problems, so the gate did not pass"

LONGEST_PROBLEM = 500
"""The most characters of a problem's message. It is long, because a message ends with what to do."""


def problems_table(problems: Sequence[Problem]) -> Table:
    """Return the table of problems, in their order, without empty columns."""
    texts = (
        (one.place.path + (f":{one.place.line}" if one.place.line else ""), one.case_id, one.field, one.message)
        for one in in_order(problems)
    )
    rows = [tuple(Untrusted(text) if text else "" for text in row) for row in texts]
    return drop_empty_columns(("Place", "Case", "Field", "Problem"), rows)


def rules_summary(report: Report) -> str:
    """Return a summary of the rules' states, such as `1 of 2 rules broken, 1 skipped`."""
    skipped, warns = sum(rule.skipped for rule in report.rules), sum(rule.warns for rule in report.rules)
    total = len(report.rules) - skipped - warns
    broken = len(report.broken())
    if report.verdict is Verdict.ERROR:
        return "could not judge"
    holds = "the only rule holds" if total == 1 else f"all {total} rules hold"
    words = f"{broken} of {plural(total, 'rule')} broken" if broken else holds
    beside = (f"{skipped} skipped" if skipped else "", plural(warns, "warning") if warns else "")
    return ", ".join(filter(None, (words, *beside)))


def rule_state(rule: RuleOutcome) -> str:
    """Return the state of a rule: `ok`, `warning`, `broken` or `skipped`."""
    if rule.skipped:
        return "skipped"
    if rule.warns:
        return "warning"
    return "ok" if rule.passed else "broken"


def section_alone(name: str, part: Any, settings: JsonObject, left_out: int) -> Section:
    """Return the section of an evaluator whose part is the whole report, with remarks on the settings it scored by.

    `left_out` is how many cases filters leave out.
    """
    section = EVALUATORS[name].present.section(part)
    notes = (
        *_setting_sentences(settings, {name: left_out} if left_out else {}),
        *EVALUATORS[name].present.remarks(part, settings),
    )
    return section._replace(notes=(*section.notes, *notes))


class RankedFindings(NamedTuple):
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


def rank(findings: Iterable[Finding], most: int) -> RankedFindings:
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
        most, counted(), lambda one: (not one.breaks, one.news != NEWLY_FAILING, one.severity != Severity.FAILING)
    )
    return RankedFindings(
        first,
        number,
        sorted(causes.items(), key=lambda one: (-one[1], one[0])),
        sorted(groups.items(), key=lambda one: (-one[1], one[0])),
    )


def finding_counts(ranked: RankedFindings) -> Iterator[tuple[str, Sequence[tuple[Phrase, int]]]]:
    """Yield each way to count the cases to look at, with its values and numbers. Yield nothing for few cases.

    A value that one case alone has is left out if all cases are shown.
    """
    least = 1 + (ranked.number <= len(ranked.first))
    causes = [
        ((one.what, *([": ", Untrusted(one.rule)] if one.rule else ())), cases)
        for one, cases in ranked.causes
        if cases >= least
    ]
    # A group of one case is not a pattern.
    groups = [((Untrusted(group),), cases) for group, cases in ranked.groups if cases > 1]
    for noun, counts in (("rule", causes), ("tag or archetype", groups)):
        if ranked.number > _FEW and counts:
            yield noun, counts


def rule_name(rule: RuleOutcome) -> str:
    """Return the name of a rule for readers: that of its setting."""
    return registry.setting_of(rule.rule)


def rule_message(rule: RuleOutcome) -> Phrase:
    """Return what a rule found, with the name of its group and of what broke it, if any."""
    return (*rule_subject(rule), rule.message, *blamed_names(rule))


def rule_subject(rule: RuleOutcome) -> Phrase:
    """Return the name of the group or recording that a rule is about, empty if it is about all cases."""
    if not rule.group:
        return ()
    noun = "recording" if rule.evaluator == "gate" else EVALUATORS[rule.evaluator].grouping.noun
    return (f"{noun.capitalize()} ", Untrusted(rule.group), ": ")


def blamed_names(rule: RuleOutcome) -> Phrase:
    """Return the names of the first cases that broke a rule, if any."""
    return (": ", *first_few(rule.names, len(rule.names))) if rule.names else ()


def changed_setting_sentences(provenance: Provenance) -> Iterator[Phrase]:
    """Yield a sentence for each changed setting that a reader of the report must know."""
    if commit := provenance.policy_commit:
        judged_by = "Judged by the config file, rule packs and waivers of the base commit ("
        yield (judged_by, Untrusted(commit[:7]), "), not those of this change.")
    yield from _setting_sentences(provenance.policy, provenance.left_out or {})


def _setting_sentences(policy: Mapping[str, Any], left_out: Mapping[str, int]) -> Iterator[Phrase]:
    yield from filter_sentence(policy, left_out)
    if policy.get("text") == "none":
        yield ("Recorded text is hidden; hashes replace it.",)


def report_filter_sentence(report: Report) -> Phrase:
    """Return the sentence of `filtered` on a report, an empty one without a filter."""
    return next(filter_sentence(report.provenance.policy, report.provenance.left_out or {}), ())


def filter_sentence(policy: Mapping[str, Any], counts: Mapping[str, int]) -> Iterator[Phrase]:
    """Yield a sentence on the filter of a run and, if known, how many cases it leaves out."""
    if not (tags := policy.get("tag")):
        return
    wanted = [tag for tag in tags if not tag.startswith("!")]
    unwanted = [tag.removeprefix("!") for tag in tags if tag.startswith("!")]
    phrase: list[str | Untrusted] = []
    for joint, tags in ((joint, tags) for joint, tags in (("with ", wanted), ("without ", unwanted)) if tags):
        phrase += [" and " if phrase else "Filtered: only cases ", joint]
        phrase += [word for tag in tags for word in (" or ", Untrusted(tag))][1:]
    left_out = [plural(counts[name], f"{one.title} case") for name, one in EVALUATORS.items() if name in counts]
    are = "is" if [*counts.values()] == [1] else "are"
    yield (*phrase, f"; {enumerated(left_out)} {are} left out." if left_out else ".")
