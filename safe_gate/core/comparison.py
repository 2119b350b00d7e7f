"""A run and its gate compared with an earlier state: the report's `comparison` and `weakened`, as values. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from safe_gate.core.model import JsonObject, Test

_OWN = frozenset({"baseline", "status", "without_baseline", "cluster_key"})
"""The keys of a comparison that are no evaluator's."""


class Against(NamedTuple):
    """The baseline of a run: the user's name for it, its commit and its time in UTC.

    Commit and time are "" if unknown. `age_days` is None if the time is unknown. `why` says why the base commit of an
    event is this one, "" for any other baseline.
    """

    name: str
    commit: str
    made_at: str
    age_days: int | None
    why: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return it in the shape of the report."""
        return {name: value for name, value in self._asdict().items() if name != "why" or value}


class Added(NamedTuple):
    """A case that the baseline does not have."""

    id: str
    passed: bool


class Removed(NamedTuple):
    """A case of the baseline that is gone."""

    id: str
    protected: bool


class Interval(NamedTuple):
    """The 95 % interval of a difference of shares."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class ComparedCases:
    """How many cases two runs have, and the ids of those that differ.

    `unseparated` counts cases of which nobody can tell a change of the output from one of the rules.
    """

    baseline: int
    head: int
    both: int
    changed_outputs: Sequence[str]
    changed_expectations: Sequence[str]
    unseparated: int
    added: Sequence[Added]
    removed: Sequence[Removed]

    def to_json(self) -> dict[str, Any]:
        """Return the cases in the shape of the report."""
        return {
            "baseline": self.baseline,
            "head": self.head,
            "both": self.both,
            "changed_outputs": list(self.changed_outputs),
            "changed_expectations": list(self.changed_expectations),
            "unseparated": self.unseparated,
            "added": [one._asdict() for one in self.added],
            "removed": [one._asdict() for one in self.removed],
        }

    @classmethod
    def from_json(cls, value: JsonObject) -> ComparedCases:
        """Return the cases that a report has."""
        added, removed = [Added(**one) for one in value["added"]], [Removed(**one) for one in value["removed"]]
        return cls(**{**value, "added": added, "removed": removed})


@dataclass(frozen=True, slots=True)
class MetricChange:
    """A metric over the cases that have it in all three runs: its means, and whether it changed beyond chance.

    The runs are the baseline as it was judged, its outputs under today's rules, and head. `units` counts clusters, and
    cases in none. `interval` is the interval of head minus today, None for scores. `p_adjusted` is after Holm's
    correction over all metrics. `smallest_drop` is the smallest drop that the test detects four times in five, None if
    it detects no drop.
    """

    metric: str
    test: Test
    cases: int
    units: int
    baseline: float
    today: float
    head: float
    worse: int
    better: int
    interval: Interval | None
    p: float
    p_adjusted: float = 1.0
    smallest_drop: float | None = None

    @property
    def drop(self) -> float:
        """By how much the mean falls from the baseline under today's rules to head."""
        return self.today - self.head

    def to_json(self) -> dict[str, Any]:
        """Return the metric in the shape of the report."""
        return {
            "metric": self.metric,
            "test": self.test.value,
            "cases": self.cases,
            "units": self.units,
            "baseline": self.baseline,
            "today": self.today,
            "head": self.head,
            "worse": self.worse,
            "better": self.better,
            "interval": self.interval and self.interval._asdict(),
            "p": self.p,
            "p_adjusted": self.p_adjusted,
            "smallest_drop": self.smallest_drop,
        }

    @classmethod
    def from_json(cls, value: JsonObject) -> MetricChange:
        """Return the metric that a report has."""
        interval = value["interval"] and Interval(**value["interval"])
        return cls(**{**value, "test": Test(value["test"]), "interval": interval})


@dataclass(frozen=True, slots=True)
class Change:
    """A case that both runs have, and how its result changed.

    `because` says what differs: rules, output, expectations. `labels`, `passed` and `scores` have a value for each
    run: the baseline, the baseline under today's rules, and head. `steps` is by how many labels the case falls.
    `before` is the baseline's entry of `results[]`, None if it equals head's entry.
    """

    id: str
    change: str
    because: Sequence[str]
    protected: bool
    labels: Sequence[str]
    passed: Sequence[bool]
    scores: Mapping[str, Sequence[float | None]]
    steps: int
    new_violations: Sequence[str]
    before: JsonObject | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the change in the shape of the report."""
        return {
            "id": self.id,
            "change": self.change,
            "because": list(self.because),
            "protected": self.protected,
            "labels": list(self.labels),
            "passed": list(self.passed),
            "scores": {name: list(scores) for name, scores in self.scores.items()},
            "steps": self.steps,
            "new_violations": list(self.new_violations),
            **({} if self.before is None else {"before": self.before}),
        }


@dataclass(frozen=True, slots=True)
class Compared:
    """An evaluator's part of a comparison."""

    cases: ComparedCases
    metrics: Sequence[MetricChange]
    changes: Sequence[Change]

    def to_json(self) -> dict[str, Any]:
        """Return the part in the shape of the report."""
        return {
            "cases": self.cases.to_json(),
            "metrics": [one.to_json() for one in self.metrics],
            "changes": [one.to_json() for one in self.changes],
        }

    @classmethod
    def from_json(cls, value: JsonObject) -> Compared:
        """Return the part that a report has."""
        return cls(
            ComparedCases.from_json(value["cases"]),
            [MetricChange.from_json(one) for one in value["metrics"]],
            [Change(**one) for one in value["changes"]],
        )


ComparedParts = Mapping[str, Compared | None]
"""What evaluators' parts of a comparison say, by name; None of one without cases in either run."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A run compared with a baseline; its `status` is one of `gate.comparison.Status`.

    `without_baseline` names the evaluators of which the baseline has no case. `cluster_key` is the field that clusters
    the cases of this run, "" for none.
    """

    baseline: Against
    status: str
    without_baseline: Sequence[str]
    parts: ComparedParts
    cluster_key: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the comparison in the shape of the report."""
        return {
            "baseline": self.baseline.to_json(),
            "status": self.status,
            "without_baseline": list(self.without_baseline),
            **{name: part and part.to_json() for name, part in self.parts.items()},
            **({"cluster_key": self.cluster_key} if self.cluster_key else {}),
        }

    @classmethod
    def from_json(cls, value: JsonObject) -> Comparison:
        """Return the comparison that a report has."""
        parts = {name: part for name, part in value.items() if name not in _OWN}
        return cls(
            Against(**value["baseline"]),
            value["status"],
            value["without_baseline"],
            {name: part and Compared.from_json(part) for name, part in parts.items()},
            value.get("cluster_key", ""),
        )


@dataclass(frozen=True, slots=True)
class Weakening:
    """One way in which the gate asks for less.

    `kind` is `setting`, `rule`, `waiver`, or the evaluator of a case. `id` names the setting (as the action's input),
    the rule or the case. `field` names the part of it, "" for all of it. `before` and `after` are JSON values, None if
    there is nothing to show.
    """

    kind: str
    id: str
    field: str
    what: str
    before: Any = None
    after: Any = None

    def to_json(self) -> dict[str, Any]:
        """Return the finding in the shape of the report."""
        return {
            "kind": self.kind,
            "id": self.id,
            "field": self.field,
            "what": str(self.what),
            "before": self.before,
            "after": self.after,
        }


@dataclass(frozen=True, slots=True)
class Weakened:
    """Where the gate asks for less than an earlier state, `against`: None if there was nothing to compare it with.

    `partial` says that one side is a report, which has limits and digests alone. `on_weakened` is `fail` or `warn`.
    """

    against: Against | None
    partial: bool
    on_weakened: str
    findings: Sequence[Weakening]

    def to_json(self) -> dict[str, Any]:
        """Return it in the shape of the report."""
        return {
            "against": self.against and self.against.to_json(),
            "partial": self.partial,
            "on_weakened": self.on_weakened,
            "findings": [one.to_json() for one in self.findings],
        }

    @classmethod
    def from_json(cls, value: JsonObject) -> Weakened:
        """Return the JSON of a report."""
        against = value["against"] and Against(**value["against"])
        return cls(against, value["partial"], value["on_weakened"], [Weakening(**one) for one in value["findings"]])
