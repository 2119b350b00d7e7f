"""Synthesis's part of a report. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from safe_gate.evaluators.same_reply import SameReply
from safe_gate.evaluators.synthesis.result import Result
from safe_gate.model.codec import key


@dataclass(frozen=True, slots=True)
class Verdicts:
    """How many cases a check passes, fails and does not apply to."""

    passed: int
    failed: int
    not_applicable: int


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How many labels there are and how many agree; `accuracy` in percent, None of nothing."""

    total: int
    matched: int
    accuracy: float | None


@dataclass(frozen=True, slots=True)
class Interval:
    """The 95 % Wilson interval of a share."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Labels:
    """How many labels there are, and how many agree."""

    total: int
    matched: int


@dataclass(frozen=True, slots=True)
class Tagged:
    """The results of the cases of a tag, and the labels of them."""

    cases: int
    passed_as_expected: int
    unexpected_failures: int
    pass_rate: float
    interval: Annotated[Interval, key("pass_rate_interval")]
    labels: Labels


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share with its 95 % Wilson interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Quality:
    """How a check agrees with people; a positive is a verdict that fails the reply. A share of nothing is None.

    `confusion` counts labels by what people say and what the check says.
    """

    labels: int
    confusion: Mapping[str, Mapping[str, int]]
    true_positives: int
    false_positives: int
    true_negatives: int
    false_negatives: int
    accuracy: Estimate | None
    precision: Estimate | None
    recall: Estimate | None
    not_applicable: Estimate | None

    @property
    def counts(self) -> tuple[int, ...]:
        """How many labels there are, then true positives, false positives, true negatives and false negatives."""
        right, wrong = (self.true_positives, self.false_positives), (self.true_negatives, self.false_negatives)
        return self.labels, *right, *wrong

    @property
    def estimates(self) -> tuple[Estimate | None, ...]:
        """Precision, recall, accuracy, and the share that does not apply."""
        return self.precision, self.recall, self.accuracy, self.not_applicable


@dataclass(frozen=True, slots=True)
class LabelQuality:
    """How the checks agree with labels, by check, and by tag and check."""

    by_check: Mapping[str, Quality]
    by_tag: Mapping[str, Mapping[str, Quality]]


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of all cases. Those of labels are there for checks that have one."""

    cases: int
    passed: int
    failed: int
    strict_passed: int
    strict_failed: int
    expected_failures: int
    unexpected_failures: int
    unexpected_passes: int
    not_english: int
    no_reply: int
    disguised: int
    by_check: Mapping[str, Verdicts]
    by_tag: Mapping[str, Tagged]
    label_accuracy: Accuracy
    label_accuracy_by_check: Mapping[str, Accuracy]
    quality: Annotated[LabelQuality, key("label_quality")]

    @property
    def as_expected(self) -> int:
        """The number of cases that pass or fail as expected."""
        return self.strict_passed + self.expected_failures


@dataclass(frozen=True, slots=True)
class Idle:
    """How many verdicts pass because there is nothing to judge, and their share."""

    total: int
    not_applicable: int
    share: float


@dataclass(frozen=True, slots=True)
class Unlabelled:
    """How many cases no person has labelled, and their share."""

    total: int
    without_labels: int
    share: float


@dataclass(frozen=True, slots=True)
class Vacuity:
    """The verdicts and the cases that prove nothing."""

    verdicts: Idle
    cases: Unlabelled


@dataclass(frozen=True, slots=True)
class FailedCase:
    """A case that fails, in brief."""

    id: str
    is_negative_example: bool
    failed_checks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """The report of all cases: figures, the replies that many share, the failures in brief and all results in full."""

    summary: Summary
    vacuity: Vacuity
    same_reply: Sequence[SameReply]
    failures: Sequence[FailedCase]
    results: Sequence[Result]
