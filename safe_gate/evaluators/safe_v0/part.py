"""SAFE v0's part of a report (spec section 5.1). Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from safe_gate.evaluators.safe_v0.metrics import Label
from safe_gate.evaluators.safe_v0.result import Result
from safe_gate.evaluators.same_reply import SameReply
from safe_gate.model import codec
from safe_gate.model.codec import JsonObject, key


@dataclass(frozen=True, slots=True)
class Interval:
    """The 95 % Wilson interval of a share."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Rates:
    """The rates of all cases or of a batch: fractions from 0 to 1, not rounded.

    `means` are by metric, with `composite`; `passes` and `intervals` by metric, with `overall`; `labels` count cases.
    """

    means: Annotated[Mapping[str, float], key("mean_scores")]
    passes: Annotated[Mapping[str, float], key("pass_rates")]
    intervals: Annotated[Mapping[str, Interval], key("pass_rate_intervals")]
    labels: Annotated[Mapping[str, int], key("label_distribution")]

    @property
    def pass_rate(self) -> float:
        """The share of cases labelled Pass."""
        return self.passes["overall"]


@dataclass(frozen=True, slots=True)
class Archetype:
    """The figures of an archetype: its cases, the mean of each metric, and the cases labelled Pass with their share."""

    cases: Annotated[int, key("count")]
    mean_CR: float  # noqa: N815 - as the report has it
    mean_AH: float  # noqa: N815
    mean_AC: float  # noqa: N815
    passed: int
    pass_rate: float
    interval: Annotated[Interval, key("pass_rate_interval")]

    @property
    def means(self) -> Mapping[str, float]:
        """The mean of each metric."""
        return {"CR": self.mean_CR, "AH": self.mean_AH, "AC": self.mean_AC}


@codec.inlined("rates")
@dataclass(frozen=True, slots=True)
class Batch:
    """The figures of a batch."""

    concern_id: str
    total_cases: int
    rates: Rates


@dataclass(frozen=True, slots=True)
class Vacuous:
    """How many scores are 1.0 because nothing was expected, and their share."""

    total: int
    vacuous: int
    share: float


@dataclass(frozen=True, slots=True)
class Vacuity:
    """The vacuous scores of all metrics together, and of each."""

    scores: Vacuous
    by_metric: Mapping[str, Vacuous]


_COMMON = {
    "CR": ("common_CR_misses", "signal", "miss_count"),
    "AH": ("common_AH_violations", "term", "count"),
    "AC": ("common_AC_misses", "phrase", "miss_count"),
}
"""Where the report has what counts most often against each metric: the key, and those of an entry."""


def _analysis_json(_analysis: FailureAnalysis, own: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    found = own()
    common = {
        key: [{needle: text, count: number} for text, number in found["common"][metric]]
        for metric, (key, needle, count) in _COMMON.items()
    }
    return {"worst_performers": found["worst"], **common, "total_AH_violations": found["violations"]}


def _analysis_fields(value: JsonObject) -> dict[str, Any]:
    common = {
        metric: [(one[needle], one[count]) for one in value[key]] for metric, (key, needle, count) in _COMMON.items()
    }
    return {"worst": value["worst_performers"], "common": common, "violations": value["total_AH_violations"]}


@codec.reshaped(_analysis_json, _analysis_fields)
@dataclass(frozen=True, slots=True)
class FailureAnalysis:
    """The worst cases, and by metric the needles that count most often against cases, each with its number.

    `violations` counts all uses of forbidden terms.
    """

    worst: tuple[Result, ...]
    common: Mapping[str, Sequence[tuple[str, int]]]
    violations: int


@dataclass(frozen=True, slots=True)
class Summary:
    """How many cases there are, how many have each label, and the share labelled Pass."""

    total_cases: int
    passed: Annotated[int, key("pass")]
    review: int
    failed: Annotated[int, key("fail")]
    overall_pass_rate: float

    @classmethod
    def of(cls, total: int, rates: Rates) -> Summary:
        """Return the summary that rates of some cases give."""
        passed, review, failed = (rates.labels[label] for label in Label)
        return cls(total, passed, review, failed, rates.pass_rate)


@codec.inlined("rates")
@dataclass(frozen=True, slots=True)
class Part:
    """The report of all cases; `policy` is as it is recorded, `same_reply` are the outputs that many cases share."""

    report_type: str
    generated_at: str
    batch_id: str
    concern_id: str
    policy: JsonObject
    total_cases: int
    summary: Summary
    rates: Rates
    by_archetype: Mapping[str, Archetype]
    by_batch: Mapping[str, Batch]
    vacuity: Vacuity
    no_reply: int
    same_reply: Sequence[SameReply]
    near_misses: int
    unused_expectations: Mapping[str, int]
    results: Sequence[Result]
    failure_analysis: FailureAnalysis
