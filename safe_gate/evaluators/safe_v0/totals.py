"""SAFE v0 results folded into the batch report (SAFE v0 spec sections 4.2, 4.3 and 5.1).

Pure. `Totals` is a value: totals of parts add up, in any order, to the totals of the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest

from safe_gate.core.figures import ExactSum, add_up, share
from safe_gate.core.stats import wilson
from safe_gate.evaluators import judged
from safe_gate.evaluators.judged import Told
from safe_gate.evaluators.replies import Frequent, same_replies
from safe_gate.evaluators.safe_v0.result import (
    METRICS,
    Archetype,
    Batch,
    FailureAnalysis,
    Label,
    Part,
    Rates,
    Result,
    Summary,
    Vacuity,
    Vacuous,
)
from safe_gate.evaluators.safe_v0.score import UNUSED, Case, Policy, Threshold
from safe_gate.model.results import Interval

WORST = 5
_SCORES = (*METRICS, "composite")


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts and sums over a group of cases."""

    labels: Counter[str] = field(default_factory=Counter)
    passes: Counter[str] = field(default_factory=Counter)
    sums: Mapping[str, ExactSum] = field(default_factory=lambda: dict.fromkeys(_SCORES, ExactSum()))

    @classmethod
    def of(cls, cases: Sequence[Result], thresholds: Mapping[str, Threshold]) -> Tally:
        """Return the tally of cases that have the same thresholds, by their results."""
        scores = {name: [case.figures[name] for case in cases] for name in _SCORES}
        return cls(
            Counter(case.label.value for case in cases),
            Counter(m for m in METRICS for score in scores[m] if thresholds[m].label(score) is Label.PASS),
            {name: ExactSum.of(*values) for name, values in scores.items()},
        )

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.labels + other.labels,
            self.passes + other.passes,
            {name: self.sums[name] + other.sums[name] for name in _SCORES},
        )

    @property
    def count(self) -> int:
        """The number of cases."""
        return self.labels.total()

    def mean(self, name: str) -> float:
        """Return the mean of a metric or of the composite."""
        return self.sums[name].mean()

    def pass_rate(self) -> float:
        """Return the share of cases with the label Pass."""
        return share(self.labels[Label.PASS], self.count)

    def pass_rate_interval(self) -> Interval:
        """Return the 95 % Wilson interval of the pass rate, of at least one case."""
        return _interval(self.labels[Label.PASS], self.count)

    def rates(self) -> Rates:
        """Return what the whole and each batch report alike."""
        shares = {metric: share(self.passes[metric], self.count) for metric in METRICS}
        intervals = {metric: _interval(self.passes[metric], self.count) for metric in METRICS}
        return Rates(
            means={name: self.mean(name) for name in _SCORES},
            passes={**shares, "overall": self.pass_rate()},
            intervals={**intervals, "overall": self.pass_rate_interval()},
            labels={label.value: self.labels[label] for label in Label},
        )


@dataclass(frozen=True, slots=True)
class Totals:
    """Everything the batch report says about all cases together."""

    all: Tally = field(default_factory=Tally)
    by_batch: Mapping[str, Tally] = field(default_factory=dict)
    by_archetype: Mapping[str, Tally] = field(default_factory=dict)
    concerns: Mapping[str, frozenset[str]] = field(default_factory=dict)
    misses: Mapping[str, Counter[str]] = field(default_factory=lambda: {metric: Counter() for metric in METRICS})
    violations: int = 0
    vacuous: Counter[str] = field(default_factory=Counter)
    no_reply: int = 0
    near_misses: int = 0
    unused: Counter[str] = field(default_factory=Counter)
    judged: Counter[Told] = field(default_factory=Counter)
    worst: tuple[Result, ...] = ()
    replies: Frequent = field(default_factory=Frequent, compare=False)

    @classmethod
    def of(cls, scored: Sequence[tuple[Case, Result]], policy: Policy) -> Totals:
        """Return the totals of cases with their results, whoever scored them."""
        results = [result for _, result in scored]
        groups: dict[tuple[str, str], list[Result]] = {}
        for one in results:
            groups.setdefault((one.batch, one.archetype), []).append(one)
        tallies = {group: Tally.of(found, policy.thresholds_for(group[1])) for group, found in groups.items()}
        by_batch: dict[str, Tally] = {}
        by_archetype: dict[str, Tally] = {}
        for (batch, archetype), tally in tallies.items():
            by_batch[batch] = by_batch.get(batch, Tally()) + tally
            by_archetype[archetype] = by_archetype.get(archetype, Tally()) + tally
        concerns: dict[str, frozenset[str]] = {}
        for case, result in scored:
            concerns[result.batch] = concerns.get(result.batch, frozenset()) | {case.concern_id}
        return cls(
            add_up(tallies.values(), Tally()),
            by_batch,
            by_archetype,
            concerns,
            # A case counts once for a needle, however often its list repeats it.
            {metric: Counter(text for one in results for text in set(one.against[metric])) for metric in METRICS},
            sum(len(one.violations) for one in results),
            Counter(metric for case, _ in scored for metric, texts in case.needles().items() if not texts),
            sum(bool(one.no_reply) for one in results),
            sum(bool(one.near) for one in results),
            Counter(name for case, _ in scored for name in case.unused),
            Counter(Told(name, v.passed, v.expected) for one in results for name, v in one.judged.items()),
            _worst(results),
            Frequent.of(one.digests["reply"] for one in results),
        )

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.all + other.all,
            _merge(self.by_batch, other.by_batch),
            _merge(self.by_archetype, other.by_archetype),
            {
                batch: self.concerns.get(batch, frozenset()) | other.concerns.get(batch, frozenset())
                for batch in {**self.concerns, **other.concerns}
            },
            {metric: self.misses[metric] + other.misses[metric] for metric in METRICS},
            self.violations + other.violations,
            self.vacuous + other.vacuous,
            self.no_reply + other.no_reply,
            self.near_misses + other.near_misses,
            self.unused + other.unused,
            self.judged + other.judged,
            _worst((*self.worst, *other.worst)),
            self.replies + other.replies,
        )


def _worst(results: Iterable[Result]) -> tuple[Result, ...]:
    return tuple(nsmallest(WORST, results, key=lambda one: (one.composite, one.id)))


def report(totals: Totals, results: Sequence[Result], policy: Policy, generated_at: str) -> Part:
    """Return the report of section 5.1 with everything of section 4.2, and the policy.

    `results` are in the report's order. Rates and means are fractions in [0, 1], not rounded.
    """
    whole = totals.all
    by_metric = {metric: _vacuous(totals.vacuous.get(metric, 0), whole.count) for metric in METRICS}
    return Part(
        report_type="SAFE_v0",
        generated_at=generated_at,
        batch_id=",".join(sorted(totals.by_batch)),
        concern_id=",".join(sorted(frozenset().union(*totals.concerns.values()))),
        policy=policy.to_json(),
        total_cases=whole.count,
        summary=Summary.of(whole.count, whole.rates()),
        rates=whole.rates(),
        by_archetype={name: archetype_of(tally) for name, tally in sorted(totals.by_archetype.items())},
        by_batch={
            batch: Batch(",".join(sorted(totals.concerns[batch])), tally.count, tally.rates())
            for batch, tally in sorted(totals.by_batch.items())
        },
        vacuity=Vacuity(_vacuous(sum(totals.vacuous.values()), len(METRICS) * whole.count), by_metric),
        no_reply=totals.no_reply,
        same_reply=same_replies(totals.replies, results),
        near_misses=totals.near_misses,
        unused_expectations={name: totals.unused[name] for name in UNUSED},
        results=results,
        failure_analysis=FailureAnalysis(
            worst=totals.worst,
            # The most common first, ties by code point.
            common={
                metric: sorted(needles.items(), key=lambda item: (-item[1], item[0]))
                for metric, needles in totals.misses.items()
            },
            violations=totals.violations,
        ),
        judged=judged.figures(totals.judged, (one.judged for one in results)),
    )


def archetype_of(tally: Tally) -> Archetype:
    """Return the figures of an archetype."""
    return Archetype(
        cases=tally.count,
        mean_CR=tally.mean("CR"),
        mean_AH=tally.mean("AH"),
        mean_AC=tally.mean("AC"),
        passed=tally.labels[Label.PASS],
        pass_rate=tally.pass_rate(),
        interval=tally.pass_rate_interval(),
    )


def _interval(part: int, whole: int) -> Interval:
    return Interval(*wilson(part, whole))


def _vacuous(number: int, total: int) -> Vacuous:
    return Vacuous(total, number, share(number, total))


def _merge(first: Mapping[str, Tally], second: Mapping[str, Tally]) -> dict[str, Tally]:
    return {key: first.get(key, Tally()) + second.get(key, Tally()) for key in {**first, **second}}
