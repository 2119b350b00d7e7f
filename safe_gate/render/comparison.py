"""What a reader is shown of a comparison with a baseline and of a weakened gate, as values in no format. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from safe_gate.core.evaluator import Evaluator
from safe_gate.core.figures import first_few, fixed, percent, plural, score, with_interval
from safe_gate.core.stats import wilson
from safe_gate.evaluators.registry import EVALUATORS, parts_of, results_of
from safe_gate.gate.comparison import smallest_visible
from safe_gate.model.report import (
    BaselineFacts,
    Change,
    Compared,
    Comparison,
    JudgeChange,
    MetricChange,
    Parts,
    Weakened,
    Weakening,
)
from safe_gate.model.results import CaseResult, Finding, Phrase, Section, Severity, Table, Test, Untrusted, Words

NEWLY_FAILING = "newly failing"
"""The kind, and the news, of a case that newly fails."""

NEW_CASE = "new case"
"""The kind, and the news, of a case that the baseline does not have."""

FAILS_BY_RULES, _FIXED_BY_RULES = "fails by today's rules", "fixed by today's rules"

NEWS = frozenset({NEWLY_FAILING, "still failing", FAILS_BY_RULES, NEW_CASE})
"""The kinds of changes that a case to look at is labelled with."""

_SHOWN = ("newly failing", "worse", "mixed", "better", "fixed", "still passing", "still failing")
"""The order of changed cases."""

_COLUMNS = ("Metric", "Baseline", "Today's rules", "This run", "By rules", "By outputs", "95 %", "Worse", "Better", "p")
_FOOTER = "Baseline: as judged then. Today's rules: its outputs under today's rules. p: after Holm's correction."
_UNSEPARATED = "By outputs: also by rules where the two are not separated."


def kind_of_change(change: Change) -> str:
    """Return how a case changed. Where only rules changed, its output did not, but it is still news."""
    was_passing, *_ = change.passed
    if change.change == "still failing" and was_passing:
        return FAILS_BY_RULES
    return _FIXED_BY_RULES if change.change == "still passing" and not was_passing else change.change


def comparison_section(comparison: Comparison, run: Parts) -> Section:
    """Return a comparison as a section; `run` has the evaluators' parts of the run that is compared."""
    parts, counts = [*parts_of(comparison.parts)], headline(comparison)
    cases = [part.cases for _, part in parts]
    differing = {
        "Removed": [one.id for some in cases for one in some.removed],
        "Added": [one.id for some in cases for one in some.added],
        "Changed expectations": [one for some in cases for one in some.changed_expectations],
    }
    is_unseparated = any(one.unseparated for one in cases)
    footer = (_FOOTER, _UNSEPARATED * is_unseparated, *(evaluator.compare.compared_cases for evaluator, _ in parts))
    return Section(
        title=("Compared with ", *describe_baseline(comparison.baseline)),
        headline=counts,
        counts=(counts,),
        metrics=Table(
            _COLUMNS,
            "<" + ">" * 9,
            tuple(_metric_row(evaluator, metric) for evaluator, part in parts for metric in part.metrics),
        ),
        footer=(" ".join(filter(None, footer)),),
        issues=tuple((f"{title} ({len(ids)})", first_few(ids, len(ids))) for title, ids in differing.items() if ids),
        findings=tuple(_changed_findings(parts, run)),
        notes=tuple(comparison_notes(comparison)),
    )


def describe_baseline(base: BaselineFacts) -> Phrase:
    """Return what the baseline is called: its commit, its name and its age."""
    commit = (Untrusted(base.commit[:7]), " (") if base.commit else ()
    days = base.age_days
    age = "" if days is None else f", {plural(days, 'day')} old" if days else ", from today"
    why = f", {base.why}" if base.why else ""
    name: Words = f"the base commit{why}" if base.name == "base" else Untrusted(base.name)
    return (*commit, name, age, ")" if commit else "")


def headline(comparison: Comparison) -> str:
    """Return the counts of a comparison in one line."""
    parts = [part for _, part in parts_of(comparison.parts)]
    if not parts:
        return "no baseline yet"
    kinds = Counter(kind_of_change(change) for part in parts for change in part.changes)
    by_rules = kinds[FAILS_BY_RULES]
    optional = {
        "of them by today's rules alone": by_rules,
        f"{_FIXED_BY_RULES} alone": kinds[_FIXED_BY_RULES],
        "added": sum(len(part.cases.added) for part in parts),
        "removed": sum(len(part.cases.removed) for part in parts),
    }
    counts = [f"{kinds[NEWLY_FAILING]} newly failing", f"{kinds['fixed']} fixed"]
    counts.append(f"{kinds['still failing'] + by_rules} still failing")
    counts += [f"{count} {kind}" for kind, count in optional.items() if count]
    changed, both = (sum(len(part.cases.changed_outputs) for part in parts), sum(part.cases.both for part in parts))
    return f"{', '.join(counts)} · {changed} of {plural(both, 'output')} changed"


def comparison_notes(comparison: Comparison) -> Iterator[Phrase]:
    """Yield the notes of a comparison: what it shows, and what it cannot show."""
    if comparison.status == "none":
        base = comparison.baseline
        is_found, is_base = bool(base.made_at), base.name == "base"
        commit = "the event's base commit" if is_found else "this event"
        lacks = "has none of these cases" if is_found else "has no base commit" if is_base else "is not there"
        name: Words = commit if is_base else Untrusted(base.name)
        yield ("There is no baseline yet: ", name, f" {lacks}. Only the absolute rules were judged.")
        return
    parts = [part for _, part in parts_of(comparison.parts)]
    for missing in comparison.without_baseline:
        words = f"{EVALUATORS[missing].title} has no baseline yet: no case of it is in the baseline."
        yield (f"{words} Only its absolute rules were judged.",)
    if comparison.status == "warn":
        yield ("Unproven drop: a metric fell, but by less than min-drop or not beyond chance.",)
    if comparison.status == "inconclusive":
        yield (_detectable_drop_note(comparison),)
    of_all = [part.metrics[0] for part in parts if part.metrics]
    units, grouped = sum(metric.units for metric in of_all), sum(metric.cases for metric in of_all)
    if comparison.cluster_key or units < grouped:
        by = Untrusted(comparison.cluster_key) if comparison.cluster_key else "conversation"
        less = ", so their differences have no interval" if units < grouped else ""
        yield ("Cases are grouped by ", by, f": {plural(units, 'group')} of {plural(grouped, 'case')}{less}.")
    for part in parts:
        yield from _changed_judges(part.judges)
    if unseparated := sum(part.cases.unseparated for part in parts):
        cases = plural(unseparated, "case")
        why = "the baseline is a report without outputs; use a commit as the baseline to separate the two"
        yield (f"Both rules and outputs of {cases} may have changed, and {why}.",)


_MOST_JUDGES = 3


def _changed_judges(changes: Sequence[JudgeChange]) -> Iterator[Phrase]:
    """Yield a sentence on each of the first checks whose judge changed, which is a change of the rules."""
    for one in changes[:_MOST_JUDGES]:
        both = f"; of {one.unseparated} the output or the expectations changed too" if one.unseparated else ""
        who = (" was ", Untrusted(one.before), " and is ", Untrusted(one.after))
        yield (f"The rules changed: the judge of {one.check}", *who, f" in {plural(one.cases, 'case')}{both}.")
    if (more := len(changes) - _MOST_JUDGES) > 0:
        yield (f"{plural(more, 'more judge')} changed.",)


def _detectable_drop_note(comparison: Comparison) -> str:
    if not any(part.cases.both for _, part in parts_of(comparison.parts)):
        return "No case id is in both runs: nothing was compared."
    smallest = smallest_visible(comparison.parts)
    if smallest is None:
        return "Inconclusive: no relevant drop was seen, but there are too few cases to tell a drop from chance."
    points = fixed(100 * smallest, 1)
    return f"Inconclusive: no relevant drop was seen, but the cases cannot detect a drop below {points} points."


def _metric_row(evaluator: Evaluator, metric: MetricChange) -> tuple[str, ...]:
    interval, p, mean = metric.interval, metric.p_adjusted, metric.head
    same, is_share = metric.worse == metric.better == 0, metric.test is Test.SIGN
    bounds = wilson(round(mean * metric.cases), metric.cases) if is_share else ()
    return (
        f"{evaluator.title}: {metric.metric.replace('_', ' ')}",
        percent(metric.baseline, 1),
        percent(metric.today, 1),
        with_interval(mean, *bounds) if bounds else percent(mean, 1),
        _signed_points(metric.today - metric.baseline),
        _signed_points(metric.head - metric.today),
        f"{_signed_points(interval.low)} to {_signed_points(interval.high)}" if interval and not same else "",
        str(metric.worse),
        str(metric.better),
        "" if same else fixed(p, 3) if p >= 0.001 else "below 0.001",
    )


def _signed_points(share: float) -> str:
    """Return a difference of two shares in percentage points, with its sign."""
    points = fixed(abs(100 * share), 1)
    return points if float(points) == 0 else f"{'+' if share > 0 else '-'}{points}"


def _changed_findings(parts: Sequence[tuple[Evaluator, Compared]], run: Parts) -> Iterator[Finding]:
    """Yield the cases that changed, those that newly fail first, with their evidence before and now."""
    found = []
    for evaluator, part in parts:
        results = {one.id: one for one in results_of(run[evaluator.name] if part.changes else None)}
        found += [
            (_SHOWN.index(change.change), _changed_finding(evaluator, change, results[change.id]))
            for change in part.changes
            if change.before is not None
        ]
    for _, finding in sorted(found, key=lambda one: one[0]):
        yield finding


def _changed_finding(evaluator: Evaluator, change: Change, result: CaseResult) -> Finding:
    whole = next(iter(evaluator.compare.metrics))  # the yes or no that the change itself shows
    moved = [
        f"{metric.replace('_', ' ')} {_score(was)} to {_score(is_)}"
        for metric, (_, was, is_) in change.scores.items()
        if metric != whole and was != is_
    ]
    kind = what = kind_of_change(change)
    if kind == change.change and change.because:
        what += f" by {' and '.join(change.because)}"
    if change.protected:
        what += ", protected"
    return Finding(
        case_id=Untrusted(change.id),
        severity=Severity.FAILING if kind in (FAILS_BY_RULES, NEWLY_FAILING) else Severity.REVIEW,
        what=f"{what}: {', '.join(moved)}" if moved else what,
        evidence=tuple(evidence_of(evaluator, result)),
        before=tuple(evidence_of(evaluator, change.before)),
        place=result.place,
    )


def _score(value: float | None) -> str:
    return "none" if value is None else score(value)


def evidence_of(evaluator: Evaluator, result: Any) -> Sequence[Phrase]:
    """Return the evidence of a result, its label where there is none."""
    outcome = evaluator.compare.outcome(result)
    is_feigned = outcome.is_meant_to_fail and not outcome.passed
    label: Phrase = (f"{outcome.words}{', although it is a negative example' * is_feigned}",)
    return evaluator.present.finding(result).evidence or (label,)


# --- a weakened gate -----------------------------------------------------------------------------

WEAKENED_ROWS = 10
"""The most weakenings that are shown before the rest is folded."""


WEAKENED = "This change weakens the gate"


def weakened_headline(weakened: Weakened | None) -> Phrase:
    """Return the words after `WEAKENED`, empty if no change weakens the gate."""
    if not weakened or not weakened.findings:
        return ()
    since = describe_baseline(weakened.against) if weakened.against else ()
    return (f" in {plural(len(weakened.findings), 'way')}, compared with ", *since)


def weakened_table(findings: Sequence[Weakening]) -> Table:
    """Return the table of weakenings, with the values before and after where there are any."""
    header = ("Weaker", "Which", "Part", "Change", "Before", "After")
    return drop_empty_columns(header, [_weakened_row(one) for one in findings])


def drop_empty_columns(header: Sequence[str], rows: Sequence[tuple[Words, ...]]) -> Table:
    """Return rows as a table without the columns in which no row has a value."""
    told = [place for place in range(len(header)) if any(row[place] for row in rows)]
    return Table(
        tuple(header[place] for place in told),
        "<" * len(told),
        tuple(tuple(row[place] for place in told) for row in rows),
    )


def weakened_remarks(weakened: Weakened | None) -> Iterator[Phrase]:
    """Yield remarks on the comparison of the gate where nothing got weaker, or where this is unknown."""
    if not weakened or weakened.findings:
        return
    if weakened.against is None:
        yield ("Unknown whether this change weakens the gate: no base commit could be read.",)
    else:
        new = " and no ".join(f"{EVALUATORS[name].title} case" for name in weakened.without_baseline)
        words = "No setting or rule is weaker than" if new else "The config, rules and cases are as strict as"
        yield (f"{words} at ", *describe_baseline(weakened.against), f", which has no {new}." if new else ".")


def _weakened_row(finding: Weakening) -> tuple[Words, ...]:
    kind, before, after = finding.kind, finding.before, finding.after
    off = "off" if kind == "setting" and (before, after) != (None, None) else ""
    return (
        f"{EVALUATORS[kind].title} case" if kind in EVALUATORS else kind,
        Untrusted(finding.id),
        Untrusted(finding.field) if finding.field else "",
        finding.what,
        _display_value(before, off),
        _display_value(after, off),
    )


def _display_value(value: Any, off: str) -> Words:
    if value is None or value == []:
        return off
    if isinstance(value, list):
        return Untrusted(", ".join(value))
    return Untrusted(value) if isinstance(value, str) else json.dumps(value)
