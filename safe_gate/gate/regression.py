"""Compares two runs over the same cases: what changed, why, whether it is real, and whether it is allowed.

Pure, and from reports alone. Three runs separate a change of outputs from a change of rules:

- `baseline`: the baseline as it was judged.
- `today`: the baseline's outputs under today's rules. Only rules differ from `baseline`.
- `head`: this run. Only outputs and expectations differ from `today`.

Scores follow from recorded text alone, so a difference is a fact. A test says whether the difference is more than
chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from safe_gate.core import stats
from safe_gate.core.comparison import Added, Change, Compared, ComparedCases, Interval, MetricChange, Removed
from safe_gate.core.digests import digest
from safe_gate.core.model import JsonObject, Outcome, Parts, Test
from safe_gate.evaluators import EVALUATORS, outcomes_of
from safe_gate.evaluators.results import results_of
from safe_gate.gate.drops import Guards, metrics_of


def compare(
    baseline: Parts,
    today: Parts | None,
    head: Parts,
    guards: Guards,
    same_rules: Mapping[str, bool],
    *,
    same_clusters: bool = True,
    counts: Callable[[Outcome], bool] = lambda _: True,
) -> dict[str, Compared | None]:
    """Return the comparison of each evaluator that either run has, None of the others.

    The three runs are evaluators' parts of reports by name. `today`, or an evaluator's part of it, is None if the
    baseline's outputs are missing. Then, under the `same_rules`, a case has the baseline's verdict today. Otherwise it
    has head's verdict if its digests are the same. Any other case is assumed to keep the baseline's verdict.

    Unless both runs are clustered by the same field (`same_clusters`), the clusters of head count. `counts` tells
    which baseline cases head's filters keep; the others are in neither run.
    """
    parts: dict[str, Compared | None] = dict.fromkeys(EVALUATORS)
    for name in EVALUATORS:
        if baseline[name] or head[name]:  # without a baseline all cases are added, without head all are gone
            again = today[name] if today else None
            runs = baseline[name], again, head[name]
            parts[name] = _compared(
                name, *runs, guards, counts, same_rules=same_rules[name], same_clusters=same_clusters
            )
    metrics = metrics_of(parts)
    adjusted = iter(stats.holm([metric.p for metric in metrics]))

    def among_all(metric: MetricChange) -> MetricChange:
        smallest = stats.smallest_drop(metric.units, guards.alpha / len(metrics))
        return replace(metric, p_adjusted=next(adjusted), smallest_drop=smallest)

    return {name: part and replace(part, metrics=[*map(among_all, part.metrics)]) for name, part in parts.items()}


@dataclass(frozen=True, slots=True)
class _Triple:
    """One case in three runs, and the cluster that it counts with, "" for none."""

    baseline: Outcome
    today: Outcome
    head: Outcome
    cluster: str

    @property
    def change(self) -> str:
        """How the case changed under today's rules: its verdict, else its scores."""
        if self.today.passed != self.head.passed:
            return "fixed" if self.head.passed else "newly failing"
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
        return [
            *["rules"] * (self.baseline.passed != self.today.passed or self.baseline.scores != self.today.scores),
            *["output"] * (self.baseline.output != self.head.output),
            *["expectations"] * (self.baseline.case != self.head.case),
        ]


def _compared(
    name: str,
    old: JsonObject | None,
    again: JsonObject | None,
    new: JsonObject | None,
    guards: Guards,
    counts: Callable[[Outcome], bool],
    *,
    same_rules: bool,
    same_clusters: bool,
) -> Compared:
    evaluator = EVALUATORS[name]
    before, rescored, after = (
        {one.id: one for one in outcomes_of(name, part) if part is new or counts(one)} for part in (old, again, new)
    )
    triples, unseparated = [], 0
    for case_id in sorted(before.keys() & after.keys()):
        was, now = before[case_id], after[case_id]
        is_same = (was.case, was.output) == (now.case, now.output)
        today = rescored.get(case_id) or (now if is_same and not same_rules else was)
        unseparated += not (rescored or is_same or same_rules)
        cluster = now.cluster
        if (
            same_clusters
        ):  # only cases that share a cluster in both runs: a change must not merge the cases that it makes worse
            cluster = digest([was.cluster, now.cluster]) if was.cluster and now.cluster else ""
        triples.append(_Triple(was, today, now, cluster))
    own = {score for triple in triples for score in triple.head.scores} - evaluator.metrics.keys()
    names = (*evaluator.metrics, *sorted(own))
    added, removed = sorted(after.keys() - before.keys()), sorted(before.keys() - after.keys())
    cases = ComparedCases(
        baseline=len(before),
        head=len(after),
        both=len(triples),
        changed_outputs=[t.head.id for t in triples if t.baseline.output != t.head.output],
        changed_expectations=[t.head.id for t in triples if t.baseline.case != t.head.case],
        unseparated=unseparated,
        added=[Added(i, after[i].passed) for i in added],
        removed=[Removed(i, _is_protected(before[i], guards)) for i in removed],
    )
    metrics = [one for name in names for one in _metric(name, evaluator.metric(name).test, triples)]
    news = {triple.head.id: triple for triple in triples if triple.is_news}
    every = results_of(evaluator, old if news else None)
    results = {one.id: one.entry for one in every if one.id in news}  # few of a run's results
    return Compared(cases, metrics, [_change(triple, results[one], guards) for one, triple in news.items()])


def _is_protected(outcome: Outcome, guards: Guards) -> bool:
    return not {outcome.id, *outcome.groups}.isdisjoint(guards.protect)


def _change(triple: _Triple, result: JsonObject, guards: Guards) -> Change:
    """Return how a case changed, with the baseline's result. Head's result is in the report already."""
    runs = triple.baseline, triple.today, triple.head
    moved = sorted({name for run in runs for name in run.scores if len({r.scores.get(name) for r in runs}) > 1})
    return Change(
        id=triple.head.id,
        change=triple.change,
        because=triple.because,
        protected=any(_is_protected(run, guards) for run in (triple.baseline, triple.head)),
        labels=[run.words for run in runs],
        passed=[run.passed for run in runs],
        scores={name: [run.scores.get(name) for run in runs] for name in moved},
        steps=max(0, triple.today.rank - triple.head.rank),
        new_violations=triple.new_violations,
        before=result if moved or "output" in triple.because else None,
    )


def _metric(name: str, test: Test, triples: Sequence[_Triple]) -> Iterator[MetricChange]:
    """Yield a metric in the three runs, over the cases that have it in all three, if there are any."""
    read = [t for t in triples if all(name in run.scores for run in (t.baseline, t.today, t.head))]
    if not read:
        return
    pairs = [(t.cluster, t.head.scores[name] - t.today.scores[name]) for t in read]
    folded = stats.by_cluster(pairs)
    worse, better = (sum(difference * sign > 0 for _, difference in pairs) for sign in (-1, 1))
    interval = None
    if test is Test.SIGN:
        p = stats.sign_test(sum(d < 0 for d in folded), sum(d > 0 for d in folded))
        both = sum(t.today.scores[name] == t.head.scores[name] == 1 for t in read)
        low, high = stats.newcombe(both, worse, better, len(read) - both - worse - better)
        interval = Interval(low, high)
    else:
        p = stats.sign_flip(folded)
    means = {
        run: math.fsum(getattr(t, run).scores[name] for t in read) / len(read)  # fsum: exact, so free of order
        for run in ("baseline", "today", "head")
    }
    yield MetricChange(
        metric=name,
        test=test,
        cases=len(read),
        units=len(folded),
        **means,
        worse=worse,
        better=better,
        interval=interval,
        p=p,
    )
