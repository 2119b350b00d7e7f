"""A run and its gate compared with an earlier state: the report's `comparison` and `weakened`, as values. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from safe_gate.model import codec
from safe_gate.model.results import Interval, Test


@dataclass(frozen=True, slots=True)
class Against:
    """The baseline of a run: the user's name for it, its commit and its time in UTC.

    Commit and time are "" if unknown. `age_days` is None if the time is unknown. `why` says why the base commit of an
    event is this one, "" for any other baseline.
    """

    name: str
    commit: str
    made_at: str
    age_days: int | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Added:
    """A case that the baseline does not have."""

    id: str
    passed: bool


@dataclass(frozen=True, slots=True)
class Removed:
    """A case of the baseline that is gone."""

    id: str
    protected: bool


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
    p_adjusted: float
    smallest_drop: float | None

    @property
    def drop(self) -> float:
        """By how much the mean falls from the baseline under today's rules to head."""
        return self.today - self.head


@dataclass(frozen=True, slots=True)
class Change:
    """A case that both runs have, and how its result changed.

    `because` says what differs: rules, output, expectations, or else a judge's verdicts. `labels`, `passed` and
    `scores` have a value for each run: the baseline, the baseline under today's rules, and head. `steps` is by how many
    labels the case falls. `before` is the baseline's result, None if it equals head's.
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
    before: Annotated[Any, codec.ANY] = None


@dataclass(frozen=True, slots=True)
class JudgeChange:
    """Recorded verdicts of a check that another judge gave than before, and in how many cases of both runs.

    `unseparated` counts those of them of which nobody can tell a change of the output from one of the judge.
    """

    check: str
    before: str
    after: str
    cases: int
    unseparated: int


@dataclass(frozen=True, slots=True)
class Compared:
    """An evaluator's part of a comparison."""

    cases: ComparedCases
    metrics: Sequence[MetricChange]
    changes: Sequence[Change]
    judges: tuple[JudgeChange, ...] = ()


ComparedParts = Mapping[str, Compared | None]
"""What evaluators' parts of a comparison say, by name; None of one without cases in either run."""


@codec.inlined("parts")
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


@codec.whole
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


@dataclass(frozen=True, slots=True)
class Weakened:
    """Where the gate asks for less than an earlier state, `against`: None if there was nothing to compare it with.

    `partial` says that one side is a report, which has limits and digests alone. `on_weakened` is `fail` or `warn`.
    """

    against: Against | None
    partial: bool
    on_weakened: str
    findings: Sequence[Weakening]
