"""SAFE v0 results folded into the batch report (SAFE v0 spec sections 4.2, 4.3 and 5.1).

Pure. `Totals` is a value: totals of parts add up, in any order, to the totals of the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import Any

from safe_gate.core.figures import ExactSum, add_up, share
from safe_gate.core.model import Failure, JsonObject, Label
from safe_gate.core.stats import wilson
from safe_gate.evaluators.safe_v0.metrics import METRICS
from safe_gate.evaluators.safe_v0.score import UNUSED, Case, Policy, Threshold

WORST = 5
_SCORES = (*METRICS, "composite")
_NEEDLES = {"CR": "missing", "AH": "violations", "AC": "missing"}
"""Where a result's details have what a metric counts against it."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts and sums over a group of cases."""

    labels: Counter[str] = field(default_factory=Counter)
    passes: Counter[str] = field(default_factory=Counter)
    sums: Mapping[str, ExactSum] = field(default_factory=lambda: dict.fromkeys(_SCORES, ExactSum()))

    @classmethod
    def of(cls, results: Sequence[JsonObject], thresholds: Mapping[str, Threshold]) -> Tally:
        """Return the tally of cases that have the same thresholds, by their entries of `results[]`."""
        scores = {name: [result["scores"][name] for result in results] for name in _SCORES}
        return cls(
            Counter(result["label"] for result in results),
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

    def pass_rate_interval(self) -> dict[str, float]:
        """Return the 95 % Wilson interval of the pass rate, of at least one case."""
        return _interval(self.labels[Label.PASS], self.count)

    def rates(self) -> dict[str, Any]:
        """Return what the whole and each batch report alike: means, pass rates and labels."""
        return {
            "mean_scores": {name: self.mean(name) for name in _SCORES},
            "pass_rates": {
                **{metric: share(self.passes[metric], self.count) for metric in METRICS},
                "overall": self.pass_rate(),
            },
            "pass_rate_intervals": {
                **{metric: _interval(self.passes[metric], self.count) for metric in METRICS},
                "overall": self.pass_rate_interval(),
            },
            "label_distribution": {label.value: self.labels[label] for label in Label},
        }


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
    worst: tuple[JsonObject, ...] = ()

    @classmethod
    def of(cls, scored: Sequence[tuple[Case, JsonObject]], policy: Policy) -> Totals:
        """Return the totals of cases with their entries of `results[]`, whoever scored them."""
        results = [result for _, result in scored]
        groups: dict[tuple[str, str], list[JsonObject]] = {}
        for result in results:
            groups.setdefault((result["batch_id"], result["archetype"]), []).append(result)
        tallies = {group: Tally.of(found, policy.thresholds_for(group[1])) for group, found in groups.items()}
        by_batch: dict[str, Tally] = {}
        by_archetype: dict[str, Tally] = {}
        for (batch, archetype), tally in tallies.items():
            by_batch[batch] = by_batch.get(batch, Tally()) + tally
            by_archetype[archetype] = by_archetype.get(archetype, Tally()) + tally
        concerns: dict[str, frozenset[str]] = {}
        for case, result in scored:
            concerns[result["batch_id"]] = concerns.get(result["batch_id"], frozenset()) | {case.concern_id}
        return cls(
            add_up(tallies.values(), Tally()),
            by_batch,
            by_archetype,
            concerns,
            # A case counts once for a needle, however often its list repeats it.
            {
                metric: Counter(text for result in results for text in set(result["details"][metric][key]))
                for metric, key in _NEEDLES.items()
            },
            sum(len(result["details"]["AH"]["violations"]) for result in results),
            Counter(metric for case, _ in scored for metric, texts in case.needles().items() if not texts),
            sum("no_reply" in result for result in results),
            sum("near_misses" in result for result in results),
            Counter(name for case, _ in scored for name in case.unused),
            _worst(results),
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
            _worst((*self.worst, *other.worst)),
        )


def _worst(results: Iterable[JsonObject]) -> tuple[JsonObject, ...]:
    return tuple(nsmallest(WORST, results, key=lambda result: (result["scores"]["composite"], result["test_id"])))


def report(totals: Totals, results: Sequence[JsonObject], policy: Policy, generated_at: str) -> dict[str, Any]:
    """Return the JSON report of section 5.1 with everything of section 4.2, and the policy.

    `results` are the cases' results as JSON, in the order they are to be reported. Rates and means
    are fractions in [0, 1], not rounded.
    """
    whole = totals.all
    return {
        "report_type": "SAFE_v0",
        "generated_at": generated_at,
        "batch_id": ",".join(sorted(totals.by_batch)),
        "concern_id": ",".join(sorted(frozenset().union(*totals.concerns.values()))),
        "policy": policy.as_json(),
        "total_cases": whole.count,
        "summary": {
            "total_cases": whole.count,
            "pass": whole.labels[Label.PASS],
            "review": whole.labels[Label.REVIEW],
            "fail": whole.labels[Label.FAIL],
            "overall_pass_rate": whole.pass_rate(),
        },
        **whole.rates(),
        "by_archetype": {
            archetype: {
                "count": tally.count,
                **{f"mean_{metric}": tally.mean(metric) for metric in METRICS},
                "passed": tally.labels[Label.PASS],
                "pass_rate": tally.pass_rate(),
                "pass_rate_interval": tally.pass_rate_interval(),
            }
            for archetype, tally in sorted(totals.by_archetype.items())
        },
        "by_batch": {
            batch: {
                "concern_id": ",".join(sorted(totals.concerns[batch])),
                "total_cases": tally.count,
                **tally.rates(),
            }
            for batch, tally in sorted(totals.by_batch.items())
        },
        "vacuity": _vacuity(totals.vacuous, whole.count),
        "no_reply": totals.no_reply,
        "near_misses": totals.near_misses,
        "unused_expectations": {name: totals.unused[name] for name in UNUSED},
        "results": results,
        "failure_analysis": {
            "worst_performers": list(totals.worst),
            "common_CR_misses": _common(totals.misses["CR"], "signal", "miss_count"),
            "common_AH_violations": _common(totals.misses["AH"], "term", "count"),
            "common_AC_misses": _common(totals.misses["AC"], "phrase", "miss_count"),
            "total_AH_violations": totals.violations,
        },
    }


def failures(part: Mapping[str, Any]) -> Iterator[Failure]:
    """Yield the cases of a report that are not labelled Pass, with the metrics below their threshold of Pass."""
    policy = part["policy"]
    for result in part["results"]:
        if result["label"] != Label.PASS:
            thresholds = policy["archetype_thresholds"].get(result["archetype"], policy["thresholds"])
            low = frozenset(metric for metric in METRICS if result["scores"][metric] < thresholds[metric]["pass"])
            yield Failure(result["test_id"], low, result)


def _interval(part: int, whole: int) -> dict[str, float]:
    low, high = wilson(part, whole)
    return {"low": low, "high": high}


def _vacuity(vacuous: Mapping[str, int], cases: int) -> dict[str, Any]:
    """Return how many scores are 1.0 because nothing was expected: of all, and of each metric."""

    def counted(number: int, total: int) -> dict[str, Any]:
        return {"total": total, "vacuous": number, "share": share(number, total)}

    by_metric = {metric: counted(vacuous.get(metric, 0), cases) for metric in METRICS}
    return {"scores": counted(sum(vacuous.values()), len(METRICS) * cases), "by_metric": by_metric}


def _merge(first: Mapping[str, Tally], second: Mapping[str, Tally]) -> dict[str, Tally]:
    return {key: first.get(key, Tally()) + second.get(key, Tally()) for key in {**first, **second}}


def _common(counts: Counter[str], needle: str, count: str) -> list[dict[str, Any]]:
    """Return needles with their counts, the most common first, ties by code point."""
    return [{needle: text, count: n} for text, n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
