"""The report of a run as values, with its comparison and recordings, as `schemas/report.schema.json` has it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, NamedTuple

from safe_gate.model import codec, record
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import Problem
from safe_gate.model.results import Interval, Test


@record
class BaselineFacts:
    """The baseline of a run: the user's name for it, its commit and its time in UTC.

    Commit and time are "" if unknown. `age_days` is None if the time is unknown. `why` says why the base commit of an
    event is this one, "" for any other baseline.
    """

    name: str
    commit: str
    made_at: str
    age_days: int | None
    why: str = ""

    @classmethod
    def named(cls, name: str) -> BaselineFacts:
        """Return the facts of a baseline of which only the name is known."""
        return cls(name, commit="", made_at="", age_days=None)


@record
class Added:
    """A case that the baseline does not have."""

    id: str
    passed: bool


@record
class Removed:
    """A case of the baseline that is gone."""

    id: str
    protected: bool


@record
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


@record
class MetricChange:
    """A metric over the cases that have it in all three runs: its means, and whether it changed beyond chance.

    The runs are the baseline as it was judged, its outputs under today's rules, and head. `units` counts clusters, and
    cases in none. `interval` is the interval of head minus today, None for scores and where units are fewer than
    cases. `p_adjusted` is after Holm's correction over all metrics. `smallest_drop` is the smallest drop that the test
    detects four times in five, None if it detects no drop.
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


@record
class Change:
    """A case that both runs have, and how its result changed.

    `because` says what differs: rules, output, expectations, or else a judge's verdicts. "rules or" before the first
    says that the rules may be the cause instead. `labels`, `passed` and `scores` have a value for each run: the
    baseline, the baseline under today's rules, and head. `steps` is by how many labels the case falls. `before` is the
    baseline's result, None if it equals head's.
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
    before: Annotated[Any, codec.APART] = None


@record
class JudgeChange:
    """Recorded verdicts of a check that another judge gave than before, and in how many cases of both runs.

    `unseparated` counts those of them of which nobody can tell a change of the output from one of the judge.
    """

    check: str
    before: str
    after: str
    cases: int
    unseparated: int


@record
class Compared:
    """An evaluator's part of a comparison."""

    cases: ComparedCases
    metrics: Sequence[MetricChange]
    changes: Sequence[Change]
    judges: tuple[JudgeChange, ...] = ()


ComparedParts = Mapping[str, Compared | None]
"""What evaluators' parts of a comparison say, by name; None of one without cases in either run."""


@codec.inlined("parts")
@record
class Comparison:
    """A run compared with a baseline; its `status` is one of `gate.comparison.Status`.

    `without_baseline` names the evaluators of which the baseline has no case. `cluster_key` is the field that clusters
    the cases of this run, "" for none.
    """

    baseline: BaselineFacts
    status: str
    without_baseline: Sequence[str]
    parts: ComparedParts
    cluster_key: str = ""


@codec.whole
@record
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


@record
class Weakened:
    """Where the gate asks for less than an earlier state, `against`: None if there was nothing to compare it with.

    `on_weakened` is `fail` or `warn`. `without_baseline` are the evaluators that have cases now and had none then.
    """

    against: BaselineFacts | None
    on_weakened: str
    findings: Sequence[Weakening]
    without_baseline: Sequence[str] = ()


@record
class Locked:
    """A file of recordings at one time: its SHA-256, the model's id, the time, and the SHA-256 of its sources by path.

    The time is ISO 8601 in UTC, the id "" if nobody gave it.
    """

    sha256: str
    model: str
    recorded_at: str
    sources: Mapping[str, str]


@record
class Lock:
    """The file `safe-gate.lock.json`: its entries by the paths of recordings."""

    recordings: Mapping[str, Locked]


class Fault(StrEnum):
    """Why a recording is stale, in the words of reports."""

    NOT_LOCKED = "has no entry in the lock"
    SOURCES_CHANGED = "is older than its sources"
    NOT_RENEWED = "changed without a new entry in the lock"
    NOT_RECORDED_AGAIN = "has the base's outputs, although its sources changed"
    MODEL_CHANGED = "has the base's outputs, although its model changed"
    TOO_OLD = "is too old"
    IN_FUTURE = "is newer than the judged commit"


@record
class Stale:
    """A file of recordings that is stale, why, and the files that tell: its changed sources.

    `days` is the age of one that is too old, in whole days at the judged commit's time.
    """

    recording: str
    fault: Fault
    files: tuple[str, ...] = ()
    days: int = 0


@record
class Recordings:
    """The recordings that were compared with the lock, and those that are stale.

    `on_stale` is `fail` or `warn`; `max_age` is in days, None without a limit.
    """

    on_stale: str
    max_age: int | None
    compared: int
    stale: tuple[Stale, ...]


SCHEMA_VERSION = 1


Parts = Mapping[str, Any]
"""Evaluators' parts of a report by name, None for one that was given no input."""


@record
class InputFile:
    """A file that was read, with the SHA-256 of its bytes; `kind` is the schema that its content fits."""

    path: str
    sha256: str
    kind: str


class Origin(NamedTuple):
    """The origin of a result, if known. It is no part of the result itself.

    `repository` is the repository's address, and `folder` is the working folder's path in it. `commit` is the
    judged commit, `run` the workflow run's number, and `gate` the gate's id, if it has one; `job` is that of the run.
    `checkout` is the commit that cases are linked at, "" if it is the judged one: GitHub merges a head before it is
    checked out.
    """

    repository: str = ""
    folder: str = ""
    commit: str = ""
    run: int = 0
    gate: str = ""
    checkout: str = ""
    job: str = ""

    @property
    def name(self) -> str:
        """The gate's id, or else the name of its job, "" without either."""
        return self.gate or self.job


NOWHERE = Origin()
"""The origin of a result that is about no commit and no run."""


@record
class Tool:
    """The program that made a report."""

    name: str
    version: str


@record
class Digests:
    """The digests of a report: see `gate.stored.digests`."""

    rules: str
    policy: str
    cases: str
    outputs: str
    results: str
    all: str


@record
class Base:
    """The base commit of an event, and why it is this one."""

    commit: str
    why: str


@record
class Provenance:
    """The inputs of a run: the judged commit, the files, the rules and the settings that judge, by their names.

    `policy_commit` is the base commit if its settings judge. `base` is the event's base commit if the run read it.
    `left_out` counts by evaluator the cases that filters
    leave out, None for none. `digests` is None in a report without a verdict, and in an unfinished one.
    """

    commit: str
    inputs: tuple[InputFile, ...]
    packs_sha256: str
    policy: Mapping[str, Any]
    policy_commit: str = ""
    base: Base | None = None
    left_out: Mapping[str, int] | None = None
    digests: Digests | None = None


def _waiver_json(waiver: Waiver) -> dict[str, Any]:
    """Return a waiver under the key of its kind, as reports and files of waivers have it."""
    told = {"reason": waiver.reason, "owner": waiver.owner, "expires": waiver.expires}
    return {"id": waiver.case_id, waiver.kind: waiver.name, **told}


def _waiver_fields(value: JsonObject) -> dict[str, Any]:
    kind = next(one for one in ("check", "metric") if one in value)
    told = {name: value[name] for name in ("reason", "owner", "expires")}
    return {"case_id": value["id"], "kind": kind, "name": value[kind], **told}


@codec.formed(_waiver_json, _waiver_fields)
@record
class Waiver:
    """A known failure that the gate lets pass until a day (YYYY-MM-DD): `kind` is check or metric, `name` which one."""

    case_id: str
    kind: str
    name: str
    reason: str
    owner: str
    expires: str

    @classmethod
    def listed(cls, file: JsonObject) -> tuple[Waiver, ...]:
        """Return the waivers of a file of waivers."""
        return tuple(codec.from_json(cls, one) for one in file["waivers"])

    @classmethod
    def joined(cls, file: JsonObject, more: Iterable[Waiver]) -> dict[str, Any]:
        """Return a file of waivers with more waivers, sorted by their subjects."""

        def about(entry: JsonObject) -> tuple[str, str, str]:
            one = codec.from_json(cls, entry)
            return one.case_id, one.kind, one.name

        return {**file, "waivers": sorted((*file["waivers"], *map(codec.to_json, more)), key=about)}


@record
class Waivers:
    """The waivers of a run: their file, and the standing of each waiver: see `gate.waivers.sort_by_standing`."""

    path: str
    sha256: str
    expired: tuple[Waiver, ...]
    unused: tuple[Waiver, ...]
    applied: tuple[Waiver, ...]

    def each(self) -> Iterator[tuple[str, Waiver]]:
        """Return what became of a waiver and the waiver, what somebody must see to first."""
        return ((fate, one) for fate in ("expired", "unused", "applied") for one in getattr(self, fate))


class Verdict(StrEnum):
    """The gate's verdict: it passed, it failed, or it could not judge."""

    PASS = "pass"
    FAIL = "fail"
    ERROR = "error"

    @property
    def exit_code(self) -> int:
        """What `run` exits with; `score` and `eval` have the codes of their specs."""
        return {Verdict.PASS: 0, Verdict.FAIL: 1, Verdict.ERROR: 3}[self]


def _outcome_json(outcome: RuleOutcome) -> dict[str, Any]:
    """Return the outcome in the shape of the report's `rules[]`."""
    told = ("rule", "evaluator", "value", "threshold", "passed", "message")
    optional = {name: one for name in ("group", "names", "skipped", "warns") if (one := getattr(outcome, name))}
    return {name: getattr(outcome, name) for name in told} | optional


def _outcome_fields(value: JsonObject) -> dict[str, Any]:
    own = {name: one for name, one in value.items() if name != "message"}
    found, _, detail = value["message"].partition(": ")  # as `message` joins them
    return {**own, "found": found, "detail": detail}


@codec.formed(_outcome_json, _outcome_fields)
@record
class RuleOutcome:
    """The outcome of one rule of the gate: the value found, the limit, and both in words.

    A share is a float from 0 to 1, as is a drop of a mean; a count is an int. `value` is None if there was nothing to
    measure. That never passes, unless the rule was `skipped` because its group has too few cases. `found` says what was
    found and what is allowed, without a colon, `detail` the numbers behind it, both in our own words. Recorded text:
    the `group` of cases, if not all, or the file of recordings, and the `names` of what broke it. A rule that only
    `warns` passes.
    """

    rule: str
    evaluator: str
    value: float | int | None
    threshold: float | int
    passed: bool
    found: str
    detail: str = ""
    group: str = ""
    names: tuple[str, ...] = ()
    skipped: bool = False
    warns: bool = False

    @property
    def message(self) -> str:
        """The sentence that the report has: what was found, and the numbers behind it."""
        return f"{self.found}: {self.detail}" if self.detail else self.found


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The findings of a run, before the gate judges it.

    `parts` are evaluators' parts by name, None for one without input. `comparison` and `weakened` are None if the run
    has nothing to compare with, `recordings` if they are not compared with the lock.
    """

    parts: Parts
    waivers: Waivers | None = None
    comparison: Annotated[Comparison, codec.APART] | None = None
    weakened: Annotated[Weakened, codec.APART] | None = None
    recordings: Annotated[Recordings, codec.APART] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report(Findings):
    """The report of a run. `problems` keep it from a verdict: the last of them stands for those that are only counted.

    `blessed` is of a baseline: the reason why a person approved it, and the owner.
    """

    tool: Tool
    generated_at: str
    verdict: Verdict
    rules: tuple[RuleOutcome, ...]
    provenance: Provenance
    problems: tuple[Problem, ...] = ()
    blessed: Mapping[str, str] | None = None

    def broken(self) -> list[RuleOutcome]:
        """Return the broken rules."""
        return [rule for rule in self.rules if not rule.passed]
