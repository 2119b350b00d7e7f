"""The report of a run as values. Its JSON has the shape of `schemas/report.schema.json`. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from safe_gate.model import codec
from safe_gate.model.codec import JsonObject
from safe_gate.model.comparison import Comparison, Weakened
from safe_gate.model.lock import Recordings
from safe_gate.model.problems import Problem

SCHEMA_VERSION = 1

_KINDS = ("check", "metric")  # the words for the subject of a waiver


Parts = Mapping[str, Any]
"""Evaluators' parts of a report by name, None for one that was given no input."""


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file that was read, with the SHA-256 of its bytes; `kind` is the schema that its content fits."""

    path: str
    sha256: str
    kind: str


class Origin(NamedTuple):
    """The origin of a result, if known. It is no part of the result itself.

    `repository` is the repository's address, and `folder` is the working folder's path in it. `commit` is the
    judged commit, `run` the workflow run's number, and `gate` the gate's id, if it has one.
    """

    repository: str = ""
    folder: str = ""
    commit: str = ""
    run: int = 0
    gate: str = ""


NOWHERE = Origin()
"""The origin of a result that is about no commit and no run."""


@dataclass(frozen=True, slots=True)
class Tool:
    """The program that made a report."""

    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Digests:
    """The digests of a report: see `proof.differences`."""

    rules: str
    policy: str
    cases: str
    outputs: str
    results: str
    all: str


@dataclass(frozen=True, slots=True)
class Base:
    """The base commit of an event, and why it is this one."""

    commit: str
    why: str


@dataclass(frozen=True, slots=True)
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

    @property
    def withholds_texts(self) -> bool:
        """Whether the report has hashes for recorded texts."""
        return bool(self.policy["text"] == "none")


def _waiver_json(waiver: Waiver) -> dict[str, Any]:
    """Return a waiver under the key of its kind, as reports and files of waivers have it."""
    told = {"reason": waiver.reason, "owner": waiver.owner, "expires": waiver.expires}
    return {"id": waiver.case_id, waiver.kind: waiver.name, **told}


def _waiver_fields(value: JsonObject) -> dict[str, Any]:
    kind = next(one for one in _KINDS if one in value)
    told = {name: value[name] for name in ("reason", "owner", "expires")}
    return {"case_id": value["id"], "kind": kind, "name": value[kind], **told}


@codec.formed(_waiver_json, _waiver_fields)
@dataclass(frozen=True, slots=True)
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


_FATES = ("expired", "unused", "applied")


@dataclass(frozen=True, slots=True)
class Waivers:
    """The file of waivers that a run was judged by, and what became of each waiver: see `gate.waivers.sorted_out`."""

    path: str
    sha256: str
    expired: tuple[Waiver, ...]
    unused: tuple[Waiver, ...]
    applied: tuple[Waiver, ...]

    def each(self) -> Iterator[tuple[str, Waiver]]:
        """Yield what became of a waiver and the waiver, what somebody must see to first."""
        for fate in _FATES:
            yield from ((fate, one) for one in getattr(self, fate))


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
@dataclass(frozen=True, slots=True)
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
class Found:
    """The findings of a run, before the gate judges it.

    `parts` are evaluators' parts by name, None for one without input. `comparison` and `weakened` are None if the run
    has nothing to compare with, `recordings` if they are not compared with the lock.
    """

    parts: Parts
    waivers: Waivers | None = None
    comparison: Comparison | None = None
    weakened: Weakened | None = None
    recordings: Recordings | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report(Found):
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
