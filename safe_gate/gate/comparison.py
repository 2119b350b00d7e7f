"""Compares two runs over the same cases: what changed, why, whether it is real, and whether it is allowed.

Pure, and from reports alone. Scores follow from recorded text alone, so a difference is a fact. A test says whether the
difference is more than chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from enum import StrEnum
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from safe_gate.core import stats
from safe_gate.core.case import selects
from safe_gate.core.evaluator import Count, Evaluator
from safe_gate.core.figures import fixed, format_distinct, plural
from safe_gate.core.jsontext import digest
from safe_gate.evaluators.registry import EVALUATORS, outcomes_of, parts_of, results_of
from safe_gate.gate.stored import withheld
from safe_gate.model.report import (
    Added,
    Change,
    Compared,
    ComparedCases,
    ComparedParts,
    JudgeChange,
    MetricChange,
    Parts,
    Removed,
    RuleOutcome,
)
from safe_gate.model.results import Interval, Outcome, Test


class ComparedRun(NamedTuple):
    """One of two runs to compare: its parts, the digests of what scores follow from, and whether texts are withheld.

    `cluster_key` is the field that its cases are clustered by, "" for none; `tag` is its filter.
    """

    parts: Parts
    rules: Mapping[str, str]
    is_withheld: bool = False
    cluster_key: str = ""
    tag: tuple[str, ...] = ()

    def withheld(self) -> ComparedRun:
        """Return the run with stand-ins for texts: its own where it has some, for one of one would be another."""
        if self.is_withheld:
            return self
        parts = {name: part and withheld(name, part) for name, part in self.parts.items()}
        return self._replace(parts=parts, is_withheld=True)


def comparable(old: ComparedRun, new: ComparedRun) -> tuple[ComparedRun, ComparedRun]:
    """Return two runs, both without texts if one is: stand-ins can be compared with stand-ins alone."""
    return (old.withheld(), new.withheld()) if old.is_withheld or new.is_withheld else (old, new)


GUARDING = ("protect", "allow_missing", "max_regressions", "max_score_drop", "significance")
"""The settings that the guards follow from."""


class Guards(NamedTuple):
    """The guards: the changes that break a run. None switches a guard off. Shares are fractions from 0 to 1.

    `protect` names cases that must not newly fail, by id, tag or archetype. A drop is real if its p-value, after
    Holm's correction over all metrics, is at most `alpha`. It matters from `min_drop` on.
    """

    protect: tuple[str, ...] = ()
    allow_missing: tuple[str, ...] = ()
    max_regressions: int | None = None
    max_score_drop: float | None = None
    min_drop: float = 0.02
    alpha: float = 0.05

    @classmethod
    def of(cls, policy: Mapping[str, Any]) -> Guards:
        """Return the guards of settings, those of the run or of its report."""
        return cls(
            tuple(policy["protect"]),
            tuple(policy["allow_missing"]),
            policy["max_regressions"],
            policy["max_score_drop"],
            policy["significance"]["min-drop"],
            policy["significance"]["alpha"],
        )

    def protects(self, outcome: Outcome) -> bool:
        """Return whether a case is protected."""
        return not {outcome.id, *outcome.groups}.isdisjoint(self.protect)

    def is_real(self, metric: MetricChange) -> bool:
        """Return whether a change is more than chance."""
        return metric.p_adjusted <= self.alpha

    def matters(self, metric: MetricChange) -> bool:
        """Return whether a drop is large enough to matter."""
        return metric.drop > 0 and not _is_below(metric.drop, self.min_drop)


# --- what changed -------------------------------------------------------------------------------


def compare(
    old: ComparedRun,
    today: ComparedRun | None,
    head: ComparedRun,
    guards: Guards,
    by_base: Parts = MappingProxyType({}),
) -> dict[str, Compared | None]:
    """Return the comparison of each evaluator that either run has, None of the others.

    `today` is the baseline's outputs under today's rules, which separates a change of outputs from one of rules. It, or
    an evaluator's part of it, is None if the baseline's outputs are missing. Then, under the same rules, a case has the
    baseline's verdict today. Otherwise it has head's verdict if its digests are the same. Any other case is assumed to
    keep the baseline's verdict. The same goes for a case with recorded verdicts of another judge. Unless both runs are
    clustered by the same field, the clusters of head count. Cases that head's filter leaves out are in neither run.

    `by_base` has head's outputs under the baseline's rules. An output that newly fails by these is no better
    for failing by today's too: it is compared with the verdict and scores that the baseline had. So is a case with the
    same output that fails as in the baseline, but not by today's rules with the baseline's expectations.
    """
    if today and head.is_withheld:
        today = today.withheld()
    parts = {  # without a baseline all cases are added, without head all are gone
        name: _compared(name, old, today, head, guards, by_base.get(name))
        if old.parts[name] or head.parts[name]
        else None
        for name in EVALUATORS
    }
    metrics = metrics_of(parts)
    adjusted = iter(stats.holm([metric.p for metric in metrics]))

    def among_all(metric: MetricChange) -> MetricChange:
        smallest = stats.smallest_drop(metric.units, guards.alpha / len(metrics))
        return replace(metric, p_adjusted=next(adjusted), smallest_drop=smallest)

    return {name: part and replace(part, metrics=[*map(among_all, part.metrics)]) for name, part in parts.items()}


def metrics_of(compared: ComparedParts) -> list[MetricChange]:
    """Return the metrics of all evaluators that were compared."""
    return [metric for _, part in parts_of(compared) for metric in part.metrics]


class _Triple(NamedTuple):
    """One case in three runs, the cluster that it counts with, "" for none, and whether rules may differ unseen."""

    baseline: Outcome
    today: Outcome
    head: Outcome
    cluster: str
    is_unseparated: bool

    @property
    def runs(self) -> tuple[Outcome, Outcome, Outcome]:
        """The case in the baseline, in the baseline under today's rules, and in head."""
        return self.baseline, self.today, self.head

    @property
    def change(self) -> str:
        """How the case changed under today's rules: its verdict, else its scores."""
        if self.head.newly_fails(self.today):
            return "newly failing"
        if self.head.passed and not self.today.passed:
            return "fixed"
        shared = self.today.scores.keys() & self.head.scores.keys()
        runs = [(self.today.scores[name], self.head.scores[name]) for name in shared]
        moves = {before < after for before, after in runs if before != after}
        if self.head.passed:
            return {(False,): "worse", (True,): "better", (): "still passing"}.get(tuple(moves), "mixed")
        return "still failing"

    @property
    def is_news(self) -> bool:
        """Whether to list the case: all but those that pass as before and have no new violation."""
        drifted = self.baseline.passed != self.today.passed
        return drifted or self.change != "still passing" or bool(self.new_violations)

    @property
    def new_violations(self) -> list[str]:
        """The violations of the output that the baseline's did not have: the same output has the same."""
        if self.baseline.output == self.head.output:
            return []
        known = {term.casefold() for term in self.today.violations}
        return sorted(term for term in self.head.violations if term.casefold() not in known)

    @property
    def because(self) -> list[str]:
        """Name what differs between the runs: rules, if the verdict of the same output differs."""
        found = [
            *["rules"] * (self.baseline.passed != self.today.passed or self.baseline.scores != self.today.scores),
            *["output"] * (self.baseline.output != self.head.output),
            *["expectations"] * (self.baseline.case != self.head.case),
        ]
        if self.is_unseparated:
            return [f"rules or {found[0]}", *found[1:]]
        # Nothing else can differ between the runs: the same judge gave another verdict on the same output.
        return found or ["verdicts"] * (self.today.scores != self.head.scores)


def _compared(
    name: str,
    old: ComparedRun,
    rescored_run: ComparedRun | None,
    head: ComparedRun,
    guards: Guards,
    by_base: Any,
) -> Compared:
    evaluator, same_rules = EVALUATORS[name], old.rules[name] == head.rules[name]
    rescored_part = rescored_run and rescored_run.parts[name]
    before, rescored, after, then = (
        {one.id: one for one in outcomes_of(name, part) if selects(tag, one.groups)}
        for part, tag in ((old.parts[name], head.tag), (rescored_part, head.tag), (head.parts[name], ()), (by_base, ()))
    )
    triples = []
    judges: dict[tuple[str, str, str], list[bool]] = {}
    for case_id in sorted(before.keys() & after.keys()):
        was, now = before[case_id], after[case_id]
        is_same = (was.case, was.output) == (now.case, now.output)
        has_same_rules = case_id in rescored or same_rules
        others = {check: by for check, by in was.judges.items() if now.judges.get(check, by) != by}
        for check, by in others.items():
            judges.setdefault((check, by, now.judges[check]), []).append(is_same)
        today = now if is_same and (others or not has_same_rules) else rescored.get(case_id, was)
        one = then.get(case_id, was)
        fails = not today.passed and now.newly_fails(was) and not (is_same and others)
        if fails and one.newly_fails(was) and one.output == now.output:  # head may be a report of other files
            lost = {key: score for key, score in was.scores.items() if one.scores.get(key, score) < score}
            today = was._replace(scores={**today.scores, **lost})
        elif was.output == now.output:  # what it fails again moved from the settings into its case
            kept = {key: score for key, score in was.scores.items() if now.scores.get(key) == score}
            fails_again = now.newly_fails(today) and not now.newly_fails(was)
            today = (was if fails_again else today)._replace(scores={**today.scores, **kept})
        cluster = now.cluster
        if old.cluster_key == head.cluster_key:  # no change may merge cases that it makes worse
            cluster = digest([was.cluster, now.cluster]) if was.cluster and now.cluster else ""
        triples.append(_Triple(was, today, now, cluster, not (rescored or is_same or same_rules)))
    cases = ComparedCases(
        baseline=len(before),
        head=len(after),
        both=len(triples),
        changed_outputs=[t.head.id for t in triples if t.baseline.output != t.head.output],
        changed_expectations=[t.head.id for t in triples if t.baseline.case != t.head.case],
        unseparated=sum(t.is_unseparated for t in triples),
        added=[Added(one, after[one].passed) for one in sorted(after.keys() - before.keys())],
        removed=[Removed(one, guards.protects(before[one])) for one in sorted(before.keys() - after.keys())],
    )
    own = {score for triple in triples for score in triple.head.scores} - evaluator.compare.metrics.keys()
    metrics = [
        metric
        for score in (*evaluator.compare.metrics, *sorted(own))
        for metric in _metric(score, evaluator.compare.metric(score).test, triples)
    ]
    news = {triple.head.id: triple for triple in triples if triple.is_news}
    every = results_of(old.parts[name] if news else None)
    results = {one.id: one for one in every if one.id in news}  # few of a run's results
    changes = [_change(triple, results[one], guards) for one, triple in news.items()]
    swapped = tuple(JudgeChange(*who, len(same), same.count(False)) for who, same in sorted(judges.items()))
    return Compared(cases, metrics, changes, swapped)


def _change(triple: _Triple, result: Any, guards: Guards) -> Change:
    """Return how a case changed, with the baseline's result. Head's result is in the report already."""
    runs = triple.runs
    moved = sorted({name for run in runs for name in run.scores if len({r.scores.get(name) for r in runs}) > 1})
    return Change(
        id=triple.head.id,
        change=triple.change,
        because=triple.because,
        protected=guards.protects(triple.baseline) or guards.protects(triple.head),
        labels=[run.words for run in runs],
        passed=[run.passed for run in runs],
        scores={name: [run.scores.get(name) for run in runs] for name in moved},
        steps=max(0, triple.today.rank - triple.head.rank),
        new_violations=triple.new_violations,
        before=result if moved or triple.baseline.output != triple.head.output else None,
    )


def _metric(name: str, test: Test, triples: Sequence[_Triple]) -> Iterator[MetricChange]:
    """Yield a metric in the three runs, over the cases that have it in all three, if there are any."""
    read = [t for t in triples if all(name in run.scores for run in t.runs)]
    if not read:
        return
    runs = [[run.scores[name] for run in column] for column in zip(*(t.runs for t in read), strict=True)]
    moves = [now - then for then, now in zip(*runs[1:], strict=True)]
    worse, better = sum(move < 0 for move in moves), sum(move > 0 for move in moves)
    folded = stats.by_cluster([(t.cluster, move) for t, move in zip(read, moves, strict=True)])
    interval = None
    if test is Test.SIGN:
        p = stats.sign_test(sum(d < 0 for d in folded), sum(d > 0 for d in folded))
        if len(folded) == len(read):  # it takes every case for a unit of its own
            both = sum(then == now == 1 for then, now in zip(*runs[1:], strict=True))
            interval = Interval(*stats.newcombe(both, worse, better, len(read) - both - worse - better))
    else:
        p = stats.sign_flip(folded)
    baseline, today, head = (math.fsum(scores) / len(read) for scores in runs)  # fsum: exact, so free of order
    yield MetricChange(
        metric=name,
        test=test,
        cases=len(read),
        units=len(folded),
        baseline=baseline,
        today=today,
        head=head,
        worse=worse,
        better=better,
        interval=interval,
        p=p,
        p_adjusted=1.0,  # among all metrics: see `compare`
        smallest_drop=None,
    )


# --- whether that is allowed --------------------------------------------------------------------


_DROP = attrgetter("drop")
_EXACT = 12  # decimals of a mean that doubles represent
_STEPS = 2  # a label that drops this many steps breaks a run


def judge(
    compared: ComparedParts, guards: Guards, waived: Mapping[str, Set[str]] | None = None
) -> tuple[RuleOutcome, ...]:
    """Return the outcome of every guard that is on, for each evaluator that was compared.

    Cases that are `waived`, by evaluator and id, break no guard on single cases except `protect`. Without a case in
    both runs a guard that holds has judged nothing, and has no outcome.
    """
    return tuple(
        outcome
        for evaluator, part in parts_of(compared)
        for outcome in (
            *_on_cases(evaluator, part, guards, (waived or {}).get(evaluator.name, frozenset())),
            *_on_metrics(evaluator, part.metrics, guards),
        )
        if part.cases.both or not outcome.passed
    )


def _on_cases(evaluator: Evaluator, part: Compared, guards: Guards, waived: Set[str]) -> Iterator[RuleOutcome]:
    """Yield the outcomes of the guards on single cases. Those of a broken guard are named, each once."""

    def outcome(
        rule: str,
        found: Sequence[Change | Removed],
        nouns: tuple[str, str],
        waived: Set[str] = frozenset(),
        most: int = 0,
    ) -> RuleOutcome:
        counted = [one.id for one in found if one.id not in waived]
        holds, said = len(counted) <= most, Count(len(found), *nouns).against(most, len(found) - len(counted))
        names = () if holds else tuple(dict.fromkeys(counted))
        return RuleOutcome(rule, evaluator.name, len(counted), most, holds, said, names=names)

    case, removed = f"{evaluator.title} case", part.cases.removed
    newly = [change for change in part.changes if change.change == "newly failing"]
    if "cases" not in guards.allow_missing:
        words = f"{case} of the baseline is gone", f"{case}s of the baseline are gone"
        yield outcome("no-removed-cases", removed, words)
    if guards.protect:
        lost = [one for some in (newly, removed) for one in some if one.protected]
        words = f"protected {case} newly fails or is gone", f"protected {case}s newly fail or are gone"
        yield outcome("protect", lost, words)
    fallen = [change for change in part.changes if change.steps >= _STEPS]
    violating = [change for change in part.changes if change.new_violations]
    for guard, found in (("new-violations", violating), ("label-drops", fallen)):
        if guard in evaluator.compare.guards:  # not every evaluator has both
            one, many = evaluator.compare.guards[guard]
            yield outcome(guard, found, (f"{case} {one}", f"{case}s {many}"), waived)
    if (most := guards.max_regressions) is not None:
        yield outcome("max-regressions", newly, (f"{case} newly fails", f"{case}s newly fail"), waived, most)


def _on_metrics(evaluator: Evaluator, metrics: Sequence[MetricChange], guards: Guards) -> Iterator[RuleOutcome]:
    """Yield the outcomes of the guards on means: how far one fell, and whether a drop is real and matters."""

    def falls(metric: MetricChange) -> str:
        return f"{evaluator.title}: {evaluator.compare.metric(metric.metric).title} falls"

    worst = max(metrics, key=_DROP, default=None)
    if worst is None:
        return
    name, none_falls = evaluator.name, f"No {evaluator.title} metric falls"
    if guards.max_score_drop is not None:
        drop = max(0.0, worst.drop)
        holds = not _is_below(guards.max_score_drop, drop)
        fall, most = format_distinct(round(drop, _EXACT), guards.max_score_drop, _points)
        words = f"{falls(worst)} by {fall} on average" if drop else none_falls
        yield RuleOutcome("max-score-drop", name, drop, guards.max_score_drop, holds, f"{words}, {most} allowed")
    mattering = [metric for metric in metrics if guards.matters(metric)]
    proven = [metric for metric in mattering if guards.is_real(metric) and _is_enough(metric)]
    words = f"{none_falls} by {_points(guards.min_drop)} or more"
    if worst := max(proven or mattering, key=_DROP, default=None):
        few = f"fewer than {stats.LEAST_CASES} cases net"
        relation = "more than chance" if proven else "which may be chance" if _is_enough(worst) else few
        p, _ = format_distinct(worst.p_adjusted, guards.alpha, lambda value, digits: f"{value:.{digits}g}", 2)
        fall = f"{falls(worst)} by {_points(worst.drop)}"
        words = f"{fall} ({plural(worst.worse, 'case')} worse, {worst.better} better), {relation} (p {p})"
    drop = max((metric.drop for metric in proven), default=0.0)
    yield RuleOutcome("min-drop", name, drop, guards.min_drop, not proven, words)


class Status(StrEnum):
    """The result of a comparison.

    `none`: there is nothing to compare with yet. `fail`: a guard is broken. `warn`: a drop that matters
    but is not proven, or one that is proven but is smaller than matters. `inconclusive`: no such drop
    was seen, but the cases are too few to see one.
    """

    NONE = "none"
    FAIL = "fail"
    WARN = "warn"
    INCONCLUSIVE = "inconclusive"
    PASS = "pass"


def status(compared: ComparedParts, outcomes: Sequence[RuleOutcome], guards: Guards) -> Status:
    """Return the result of a comparison as a whole, given the outcomes of its guards."""
    metrics, cases = metrics_of(compared), [part.cases for _, part in parts_of(compared)]
    if not all(outcome.passed for outcome in outcomes):
        return Status.FAIL
    if not metrics and any(one.baseline for one in cases):
        return Status.INCONCLUSIVE  # nothing is in both runs
    if any((guards.matters(metric) or guards.is_real(metric)) and metric.drop > 0 for metric in metrics):
        return Status.WARN
    smallest = [metric.smallest_drop for metric in metrics if metric.test is Test.SIGN]
    is_blind = any(drop is None or drop > guards.min_drop for drop in smallest)
    return Status.INCONCLUSIVE if is_blind and any(one.changed_outputs for one in cases) else Status.PASS


def smallest_visible(compared: ComparedParts) -> float | None:
    """Return the smallest drop that every yes-or-no metric can show, as a share; None if one can show none."""
    drops = [metric.smallest_drop for metric in metrics_of(compared) if metric.test is Test.SIGN]
    seen = [drop for drop in drops if drop is not None]
    return None if len(seen) < len(drops) else max(seen, default=None)


def _is_enough(metric: MetricChange) -> bool:
    """Return whether a drop of a yes-or-no metric is more than one or two cases."""
    return metric.test is not Test.SIGN or metric.worse - metric.better >= stats.LEAST_CASES


def _is_below(drop: float, limit: float) -> bool:
    """Return whether a difference of means is below a limit, up to rounding."""
    return round(drop - limit, _EXACT) < 0


def _points(share: float, digits: int = 1) -> str:
    return f"{fixed(100 * share, digits)} points"
