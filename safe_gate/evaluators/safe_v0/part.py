"""SAFE v0's part of a report as values. Only this module writes it as JSON and reads it (spec section 5.1). Pure.

The values are named tuples: commands that start quickly import them. Those of an archetype or a batch are made when
asked for, as there may be many.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from safe_gate.core.lazy import Lookup
from safe_gate.core.model import JsonObject
from safe_gate.evaluators.safe_v0.metrics import METRICS, Label
from safe_gate.evaluators.same_reply import SameReply

_COMMON = {
    "CR": ("common_CR_misses", "signal", "miss_count"),
    "AH": ("common_AH_violations", "term", "count"),
    "AC": ("common_AC_misses", "phrase", "miss_count"),
}
"""Where the report has what counts most often against each metric: the key, and those of an entry."""


class Interval(NamedTuple):
    """The 95 % Wilson interval of a share."""

    low: float
    high: float


class Rates(NamedTuple):
    """The rates of all cases or of a batch: fractions from 0 to 1, not rounded.

    `means` are by metric, with `composite`; `passes` and `intervals` by metric, with `overall`; `labels` count cases.
    """

    means: Mapping[str, float]
    passes: Mapping[str, float]
    intervals: Mapping[str, Interval]
    labels: Mapping[str, int]

    def to_json(self) -> dict[str, Any]:
        """Return the rates in the shape of the report."""
        return {
            "mean_scores": dict(self.means),
            "pass_rates": dict(self.passes),
            "pass_rate_intervals": {name: one._asdict() for name, one in self.intervals.items()},
            "label_distribution": dict(self.labels),
        }

    @classmethod
    def from_json(cls, value: JsonObject) -> Rates:
        """Return the rates that the whole or a batch has."""
        intervals = {name: Interval(**one) for name, one in value["pass_rate_intervals"].items()}
        return cls(value["mean_scores"], value["pass_rates"], intervals, value["label_distribution"])

    @property
    def pass_rate(self) -> float:
        """The share of cases labelled Pass."""
        return self.passes["overall"]


class Archetype(NamedTuple):
    """The figures of an archetype: its cases, the mean of each metric, and the cases labelled Pass with their share."""

    cases: int
    means: Mapping[str, float]
    passed: int
    pass_rate: float
    interval: Interval

    def to_json(self) -> dict[str, Any]:
        """Return the figures in the shape of the report."""
        return {
            "count": self.cases,
            **{f"mean_{metric}": self.means[metric] for metric in METRICS},
            "passed": self.passed,
            "pass_rate": self.pass_rate,
            "pass_rate_interval": self.interval._asdict(),
        }

    @classmethod
    def from_json(cls, value: JsonObject) -> Archetype:
        """Return the figures that a report has."""
        means = {metric: value[f"mean_{metric}"] for metric in METRICS}
        return cls(value["count"], means, value["passed"], value["pass_rate"], Interval(**value["pass_rate_interval"]))


class Batch(NamedTuple):
    """The figures of a batch; earlier reports have no `concern_id`."""

    concern_id: str | None
    total_cases: int
    rates: Rates

    def to_json(self) -> dict[str, Any]:
        """Return the figures in the shape of the report."""
        concern = {} if self.concern_id is None else {"concern_id": self.concern_id}
        return {**concern, "total_cases": self.total_cases, **self.rates.to_json()}

    @classmethod
    def from_json(cls, value: JsonObject) -> Batch:
        """Return the figures that a report has."""
        return cls(value.get("concern_id"), value["total_cases"], Rates.from_json(value))


class Vacuous(NamedTuple):
    """How many scores are 1.0 because nothing was expected, and their share."""

    total: int
    vacuous: int
    share: float


class Part(NamedTuple):
    """The report of all cases. `results` and `worst` have entries of `results[]`; `policy` is as it is recorded.

    `vacuous` is over all scores, `vacuous_by_metric` over those of each metric. `common` has by metric the needles
    that count most often against cases, each with its number. `same_reply` are the
    outputs that many cases share. `violations` counts all uses of forbidden terms.
    """

    generated_at: str
    batch_id: str
    concern_id: str
    policy: JsonObject
    total_cases: int
    rates: Rates
    by_archetype: Mapping[str, Archetype]
    by_batch: Mapping[str, Batch]
    vacuous: Vacuous
    vacuous_by_metric: Mapping[str, Vacuous]
    no_reply: int
    same_reply: Sequence[SameReply]
    near_misses: int
    unused: Mapping[str, int]
    results: Sequence[JsonObject]
    worst: Sequence[JsonObject]
    common: Mapping[str, Sequence[tuple[str, int]]]
    violations: int

    def to_json(self) -> dict[str, Any]:
        """Return the part in the shape of the report."""
        labels = self.rates.labels
        return {
            "report_type": "SAFE_v0",
            "generated_at": self.generated_at,
            "batch_id": self.batch_id,
            "concern_id": self.concern_id,
            "policy": self.policy,
            "total_cases": self.total_cases,
            "summary": {
                "total_cases": self.total_cases,
                "pass": labels[Label.PASS],
                "review": labels[Label.REVIEW],
                "fail": labels[Label.FAIL],
                "overall_pass_rate": self.rates.pass_rate,
            },
            **self.rates.to_json(),
            "by_archetype": {name: one.to_json() for name, one in self.by_archetype.items()},
            "by_batch": {name: one.to_json() for name, one in self.by_batch.items()},
            "vacuity": {
                "scores": self.vacuous._asdict(),
                "by_metric": {metric: one._asdict() for metric, one in self.vacuous_by_metric.items()},
            },
            "no_reply": self.no_reply,
            "same_reply": [one._asdict() for one in self.same_reply],
            "near_misses": self.near_misses,
            "unused_expectations": dict(self.unused),
            "results": self.results,
            "failure_analysis": {
                "worst_performers": list(self.worst),
                **{
                    key: [{needle: text, count: number} for text, number in self.common[metric]]
                    for metric, (key, needle, count) in _COMMON.items()
                },
                "total_AH_violations": self.violations,
            },
        }

    @classmethod
    def from_json(cls, value: JsonObject) -> Part:
        """Return the part that a report has."""
        analysis, vacuity = value["failure_analysis"], value["vacuity"]
        by_archetype, by_batch = value["by_archetype"], value["by_batch"]

        def common(metric: str) -> list[tuple[str, int]]:
            key, needle, count = _COMMON[metric]
            return [(entry[needle], entry[count]) for entry in analysis[key]]

        return cls(
            generated_at=value["generated_at"],
            batch_id=value["batch_id"],
            concern_id=value["concern_id"],
            policy=value["policy"],
            total_cases=value["total_cases"],
            rates=Rates.from_json(value),
            by_archetype=Lookup(by_archetype, lambda name: Archetype.from_json(by_archetype[name])),
            by_batch=Lookup(by_batch, lambda name: Batch.from_json(by_batch[name])),
            vacuous=Vacuous(**vacuity["scores"]),
            vacuous_by_metric={metric: Vacuous(**one) for metric, one in vacuity["by_metric"].items()},
            no_reply=value["no_reply"],
            same_reply=[SameReply(**one) for one in value["same_reply"]],
            near_misses=value["near_misses"],
            unused=value["unused_expectations"],
            results=value["results"],
            worst=analysis["worst_performers"],
            common=Lookup(METRICS, common),
            violations=analysis["total_AH_violations"],
        )
