"""The Synthesis section of a report for readers.

Pure: from the report's JSON alone, so that a stored report shows the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from safe_gate.core.figures import first_few, percent, plural, share, with_interval
from safe_gate.core.model import Judgement, Phrase, Severity, Untrusted, Words
from safe_gate.core.shown import Cause, Explained, Finding, Rate, Section, Table
from safe_gate.core.spool import Spool
from safe_gate.core.stats import wilson
from safe_gate.evaluators import same_reply
from safe_gate.evaluators.no_reply import why_no_reply, without_reply
from safe_gate.evaluators.synthesis.checks.check_result import CheckResult
from safe_gate.evaluators.synthesis.checks.failure_reasons import causes, evidence, hits_against
from safe_gate.evaluators.synthesis.checks.shipped import SHIPPED
from safe_gate.evaluators.synthesis.names import DEFAULT_CHECKS, WORDING, in_order, title, words
from safe_gate.evaluators.synthesis.part import Part, Quality, Summary, Tagged, Verdicts
from safe_gate.evaluators.synthesis.result import Result

_LEAST = 5  # labels, or cases, of a tag that is shown; an interval of fewer says nothing


def section(part: Part) -> Section:
    """Return the scorecard of a Synthesis report as values, for any renderer to draw."""
    summary, results = part.summary, part.results
    unexpected = Spool(filter(_is_to_be_seen, results))
    return Section(
        title=("Synthesis Scorecard",),
        headline=f"{plural(summary.cases, 'case')}: "
        f"{plural(summary.unexpected_failures, 'unexpected failure')}, {summary.expected_failures} expected, "
        + _labels(part),
        counts=(
            f"Total Cases: {summary.cases}",
            f"Passed: {summary.passed} ({percent(share(summary.passed, summary.cases))})",
            f"Expected failures: {summary.expected_failures}",
            f"Unexpected failures: {summary.unexpected_failures}",
        ),
        metrics=Table(
            header=("Check", "Passed", "Failed", "N/A", "Labels", "False alarms", "Misses"),
            align="<>>><>>",
            rows=tuple(_check_row(name, summary) for name in in_order(summary.by_check)),
        ),
        footer=(f"Negative examples that pass: {summary.unexpected_passes}", _labels(part)),
        cases_title="Cases to look at",
        cases=Table(
            header=("Case", "Result", "Checks"),
            align="<<<",
            rows=Spool(map(_case_row, unexpected)),
        ),
        issues=(),
        findings=Spool(map(finding, unexpected)),
        notes=(
            *without_reply(summary.no_reply, (case.id for case in results if case.no_reply)),
            *same_reply.notes(part.same_reply, results),
            *_disguised(summary.disguised, results),
            *_foreign(summary.not_english, results),
            *_idle(summary.by_check, summary.cases),
        ),
        details=(*_by_tag(summary.by_tag), *_quality(summary)),
    )


def _by_tag(by_tag: Mapping[str, Tagged]) -> Iterator[tuple[str, Table]]:
    """Yield the share of each tag's cases that pass or fail as they are expected to, the largest tags first."""
    sizes = {tag: group.cases for tag, group in by_tag.items() if group.cases >= _LEAST}

    def row(tag: str) -> tuple[Words, ...]:
        group = by_tag[tag]
        rate = with_interval(group.pass_rate, group.interval.low, group.interval.high)
        return Untrusted(tag), str(group.cases), str(group.unexpected_failures), rate

    if sizes:
        tags = sorted(sizes, key=lambda tag: -sizes[tag])
        header = ("Tag", "Cases", "Unexpected failures", "As expected")
        yield (
            f"Cases that pass or fail as expected, by tag from {_LEAST} cases on",
            Table(header, "<>>>", [*map(row, tags)]),
        )


def _foreign(count: int, cases: Iterable[Result]) -> Iterator[Phrase]:
    """Yield a sentence that names the unreadable cases, and tells whether profile spec judged them anyway."""
    if count:
        is_judged = any(case.checks[name].applicable for case in cases for name in case.foreign)
        anyway = "; profile spec judges them anyway" if is_judged else ""
        foreign = (case.id for case in cases if case.foreign)
        counted = plural(count, "case is", "cases are")
        yield (f"{counted} not in English, which the checks cannot read{anyway}: ", *first_few(foreign, count), ".")


def _disguised(count: int, cases: Iterable[Result]) -> Iterator[Phrase]:
    """Yield a sentence that names the replies with disguised letters."""
    if count:
        disguised = (case.id for case in cases if case.disguised_letters)
        replies = plural(count, "reply has", "replies have")
        yield (f"{replies} disguised letters, read as the ones they look like: ", *first_few(disguised, count), ".")


def _idle(by_check: Mapping[str, Verdicts], cases: int) -> Iterator[Phrase]:
    """Yield a line on the checks that judged no case, then on those that judged few: a green that nobody earned."""
    ran = {name: counts.passed + counts.failed for name, counts in by_check.items()}
    never = {
        "run on": [f"`{name}`" for name in DEFAULT_CHECKS if name not in ran],
        "apply to": [f"`{name}`" for name, judged in ran.items() if not judged],
    }
    found = f"any of {cases} cases" if cases > 1 else "the only case"
    lines = (f"{' and '.join(names)} did not {verb} {found}" for verb, names in never.items() if names)
    if line := "; ".join(lines):
        yield (f"{line}.",)
    for name, counts in by_check.items():
        idle = counts.not_applicable
        total = ran[name] + idle
        if ran[name] and 2 * idle > total:
            verdicts = f"{idle} of {plural(total, 'verdict is', 'verdicts are')}"
            yield (f"{title(name)}: {verdicts} not applicable, which passes but proves nothing.",)


def _labels(part: Part) -> str:
    total, matched = part.summary.label_accuracy.total, part.summary.label_accuracy.matched
    without = part.vacuity.cases.without_labels
    if not total:
        return "no labels"
    cases = f", {plural(without, 'case')} without labels" if without else ""
    rate = with_interval(matched / total, *wilson(matched, total))
    return f"checks match {matched} of {plural(total, 'label')}, {rate}{cases}"


def _check_row(name: str, summary: Summary) -> tuple[str, ...]:
    counts = summary.by_check[name]
    verdicts = map(str, (counts.passed, counts.failed, counts.not_applicable))
    labels = summary.label_accuracy_by_check.get(name)
    if not labels:
        return title(name), *verdicts, "none", "", ""
    rates = summary.quality.by_check[name]
    alarms, misses = str(rates.false_positives), str(rates.false_negatives)
    return title(name), *verdicts, f"{labels.matched} of {labels.total}", alarms, misses


def _quality(summary: Summary) -> tuple[tuple[str, Table], ...]:
    """Return how the checks agree with labels as a table: over all cases, then tag by tag, the largest first."""
    whole, by_tag = summary.quality.by_check, summary.quality.by_tag
    sizes = {
        (tag, check): rates.labels
        for tag, by_check in by_tag.items()
        for check, rates in by_check.items()
        if rates.labels >= _LEAST
    }
    tagged = sorted(sizes, key=lambda group: -sizes[group])

    def rows() -> Iterator[tuple[Words, ...]]:
        yield from ((title(check), "all", *_quality_cells(whole[check])) for check in in_order(whole))
        for tag, check in tagged:
            yield title(check), Untrusted(tag), *_quality_cells(by_tag[tag][check])

    header = ("Check", "Tag", "Labels", "TP", "FP", "TN", "FN", "Precision", "Recall", "Accuracy", "N/A")
    heading = f"Agreement with labels by check, and by tag from {_LEAST} labels on (positive: fails the reply)"
    return ((heading, Table(header, "<<" + ">" * 9, [*rows()])),) if whole else ()


def _quality_cells(rates: Quality) -> Iterator[str]:
    yield from map(str, rates.counts)
    yield from (with_interval(one.value, one.low, one.high) if one else "-" for one in rates.estimates)


def _is_to_be_seen(case: Result) -> bool:
    return not case.is_as_expected or bool(case.no_reply or case.disguised_letters or case.foreign)


def _outcome(case: Result) -> str:
    if not case.passed:
        return "fails"
    if case.is_negative_example:
        return "negative example passes"
    if case.no_reply:
        return "no reply"
    return "disguised letters" if case.disguised_letters else "not English"


def _case_row(case: Result) -> tuple[str | Untrusted, ...]:
    checks = ", ".join(words(name) for name in case.failed) or "none fails"
    return Untrusted(case.id), _outcome(case), checks


def finding(case: Result) -> Finding:
    """Return the finding for one case: its faults and the evidence."""
    failed = {name: case.checks[name] for name in case.failed}
    names = ", ".join(words(name) for name in failed)
    return Finding(
        case_id=Untrusted(case.id),
        severity=Severity.REVIEW if case.passed else Severity.FAILING,
        what=f"fails {names}" if failed else _outcome(case),
        evidence=(
            *_doubts(case),
            *(phrase for name, check in failed.items() for phrase in evidence(name, check)),
        ),
        place=case.place,
        causes=tuple(_causes(failed)) or (Cause(_outcome(case).capitalize()),),
        groups=tuple(dict.fromkeys(case.tags)),
    )


def rates(part: Part) -> Iterator[Rate]:
    """Yield the cases that end as expected, the verdicts of each check, the agreement with labels, then tags."""
    summary = part.summary
    yield Rate("As expected", "all cases", summary.as_expected, summary.cases, "min-synthesis-pass-rate")
    for check in in_order(summary.by_check):
        counts = summary.by_check[check]
        judged = counts.passed + counts.failed
        yield Rate("Passes where the check applies, negative examples too", title(check), counts.passed, judged)
    for check in in_order(summary.label_accuracy_by_check):
        agreed = summary.label_accuracy_by_check[check]
        rule = f"min-label-accuracy-{check.replace('_', '-')}"
        yield Rate("Agreement with human labels", title(check), agreed.matched, agreed.total, rule)
    sizes = {tag: group.cases for tag, group in summary.by_tag.items() if group.cases >= _LEAST}
    for tag in sorted(sizes, key=lambda tag: -sizes[tag]):
        passed = summary.by_tag[tag].passed_as_expected
        yield Rate("As expected, by tag", Untrusted(tag), passed, sizes[tag], "min-pass-rate", tag)


def labels(part: Part) -> dict[str, int]:
    """Return how many cases end in each way."""
    summary = part.summary
    return {
        "passes": summary.strict_passed,
        "fails as expected": summary.expected_failures,
        "negative example passes": summary.unexpected_passes,
        "fails unexpectedly": summary.unexpected_failures,
    }


def _causes(failed: Mapping[str, CheckResult]) -> Iterator[Cause]:
    """Yield the causes of a case: the rules that each failed check fails by."""
    for name, check in failed.items():
        rules = dict.fromkeys(causes(check))
        yield from (Cause(title(name), rule) for rule in rules)
        if not rules:
            yield Cause(f"{title(name)} (no rule matches)")


_IF_WRONG = "If the check is wrong, change its rules or waive the failure."
EXPLAINED = {
    **{name: Explained(one["title"], one["asks"], f"{one['advice']} {_IF_WRONG}") for name, one in SHIPPED.items()},
    WORDING: Explained(
        title(WORDING),
        "The reply contains what its case and its tags ask for, and nothing that they forbid.",
        "Correct the reply, or must_contain, must_contain_any or must_not_contain of the case or the tag.",
    ),
}
"""The explanation of each shipped check, and of `wording`, in other formats."""


def measured(part: Part) -> tuple[str, ...]:
    """Return the checks of a part: those of the specification, and others that ran."""
    ran = part.summary.by_check
    return tuple(in_order({*ran, *(name for name, data in SHIPPED.items() if "spec" in data)}))


def of_a_team(check: str) -> Explained:
    """Return the explanation, in other formats, of a check that a pack defines."""
    return Explained(check, f"The reply passes {check}, a check of this repository.", f"Read the evidence. {_IF_WRONG}")


def judgements(_part: Any, case: Result) -> Iterator[Judgement]:
    """Yield what each check says of a case."""
    for name, check in case.checks.items():
        if check.passed:
            yield Judgement(name, "passes" if check.applicable else "not applicable")
        else:
            found = tuple(evidence(name, check))
            yield Judgement(name, "fails", Severity.FAILING, evidence=found, hits=tuple(hits_against(check)))


def _doubts(case: Result) -> Iterator[Phrase]:
    """Yield why nobody may rely on the verdicts of a case."""
    yield from why_no_reply(case.no_reply)
    if case.disguised_letters:
        yield (f"{case.disguised_letters} disguised letters, read as the ones they look like",)
    if unread := case.foreign:
        yield (f"not in English, which {', '.join(map(words, unread))} cannot read",)
