"""Synthesis's part of a report as values, and the one place that writes its figures as JSON and reads them. Pure.

The values are named tuples: commands that start quickly import them. Those of a tag are made when asked for, as there
may be very many tags.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from safe_gate.core.lazy import Lookup
from safe_gate.core.model import JsonObject
from safe_gate.evaluators.same_reply import SameReply


class Verdicts(NamedTuple):
    """How many cases a check passes, fails and does not apply to."""

    passed: int
    failed: int
    not_applicable: int


class Accuracy(NamedTuple):
    """How many labels there are and how many agree; `accuracy` in percent, None of nothing."""

    total: int
    matched: int
    accuracy: float | None


class Tagged(NamedTuple):
    """The results of the cases of a tag; `low` and `high` are the 95 % interval of the pass rate."""

    cases: int
    passed_as_expected: int
    unexpected_failures: int
    pass_rate: float
    low: float
    high: float
    labels: int
    matched: int

    def to_json(self) -> dict[str, Any]:
        """Return the figures in the shape of the report."""
        return {
            "cases": self.cases,
            "passed_as_expected": self.passed_as_expected,
            "unexpected_failures": self.unexpected_failures,
            "pass_rate": self.pass_rate,
            "pass_rate_interval": {"low": self.low, "high": self.high},
            "labels": {"total": self.labels, "matched": self.matched},
        }

    @classmethod
    def from_json(cls, value: JsonObject) -> Tagged:
        """Return the figures that a report has."""
        counts = value["cases"], value["passed_as_expected"], value["unexpected_failures"]
        interval, labels = value["pass_rate_interval"], value["labels"]
        shares = value["pass_rate"], interval["low"], interval["high"]
        return cls(*counts, *shares, labels["total"], labels["matched"])


class Estimate(NamedTuple):
    """A share with its 95 % Wilson interval."""

    value: float
    low: float
    high: float


class Quality(NamedTuple):
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
        return self.labels, *self[2:6]

    @property
    def estimates(self) -> tuple[Estimate | None, ...]:
        """Precision, recall, accuracy, and the share that does not apply."""
        return self.precision, self.recall, self.accuracy, self.not_applicable

    def to_json(self) -> dict[str, Any]:
        """Return the figures in the shape of the report."""
        return {
            name: one._asdict() if isinstance(one, Estimate) else one
            for name, one in zip(self._fields, self, strict=True)
        }

    @classmethod
    def from_json(cls, value: JsonObject) -> Quality:
        """Return the figures that a report has."""
        shares = {name: value[name] and Estimate(**value[name]) for name in cls._fields[6:]}
        return cls(**{**value, **shares})


class Summary(NamedTuple):
    """The figures of all cases. Those of labels are there for checks that have one.

    `quality` and `quality_by_tag` say how the checks agree with labels, by check, and by tag and check.
    """

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
    quality: Mapping[str, Quality]
    quality_by_tag: Mapping[str, Mapping[str, Quality]]

    @property
    def as_expected(self) -> int:
        """The number of cases that pass or fail as expected."""
        return self.strict_passed + self.expected_failures

    def to_json(self) -> dict[str, Any]:
        """Return the figures in the shape of the report."""
        by_tag, quality_by_tag = self.by_tag, self.quality_by_tag
        return {
            **dict(zip(self._fields[:11], self[:11], strict=True)),
            "by_check": {name: one._asdict() for name, one in self.by_check.items()},
            "by_tag": Lookup(by_tag, lambda tag: by_tag[tag].to_json()),
            "label_accuracy": self.label_accuracy._asdict(),
            "label_accuracy_by_check": {name: one._asdict() for name, one in self.label_accuracy_by_check.items()},
            "label_quality": {
                "by_check": {name: one.to_json() for name, one in self.quality.items()},
                "by_tag": Lookup(
                    quality_by_tag, lambda tag: {name: one.to_json() for name, one in quality_by_tag[tag].items()}
                ),
            },
        }

    @classmethod
    def from_json(cls, value: JsonObject) -> Summary:
        """Return the figures that a report has."""
        by_tag, quality = value["by_tag"], value["label_quality"]

        def of_checks(rates: JsonObject) -> dict[str, Quality]:
            return {name: Quality.from_json(one) for name, one in rates.items()}

        return cls(
            **{name: value[name] for name in cls._fields[:11]},
            by_check={name: Verdicts(**one) for name, one in value["by_check"].items()},
            by_tag=Lookup(by_tag, lambda tag: Tagged.from_json(by_tag[tag])),
            label_accuracy=Accuracy(**value["label_accuracy"]),
            label_accuracy_by_check={name: Accuracy(**one) for name, one in value["label_accuracy_by_check"].items()},
            quality=of_checks(quality["by_check"]),
            quality_by_tag=Lookup(quality["by_tag"], lambda tag: of_checks(quality["by_tag"][tag])),
        )


class Share(NamedTuple):
    """So many of a total, and their share."""

    total: int
    part: int
    share: float


class Part(NamedTuple):
    """The report of all cases: figures, the failures in brief and the results in full.

    `idle` are verdicts that pass because there is nothing to judge, `unlabelled` cases that no person has labelled.
    `same_reply` are the replies that many cases share.
    """

    summary: Summary
    idle: Share
    unlabelled: Share
    same_reply: Sequence[SameReply]
    failures: Sequence[JsonObject]
    results: Sequence[JsonObject]

    def to_json(self) -> dict[str, Any]:
        """Return the part in the shape of the report."""
        idle, unlabelled = self.idle, self.unlabelled
        return {
            "summary": self.summary.to_json(),
            "vacuity": {
                "verdicts": {"total": idle.total, "not_applicable": idle.part, "share": idle.share},
                "cases": {"total": unlabelled.total, "without_labels": unlabelled.part, "share": unlabelled.share},
            },
            "same_reply": [one._asdict() for one in self.same_reply],
            "failures": self.failures,
            "results": self.results,
        }

    @classmethod
    def from_json(cls, value: JsonObject) -> Part:
        """Return the part that a report has."""
        verdicts, cases = value["vacuity"]["verdicts"], value["vacuity"]["cases"]
        return cls(
            Summary.from_json(value["summary"]),
            Share(verdicts["total"], verdicts["not_applicable"], verdicts["share"]),
            Share(cases["total"], cases["without_labels"], cases["share"]),
            [SameReply(**one) for one in value["same_reply"]],
            value["failures"],
            value["results"],
        )
