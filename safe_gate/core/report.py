"""The report of a run as values, written as JSON and read from it. Pure.

The shape of the JSON is `schemas/report.schema.json`. `from_json` takes what fits it. An evaluator's part is as the
evaluator made it; its `results` are read one at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from safe_gate.core.comparison import Comparison, Weakened
from safe_gate.core.model import Code, InputFile, JsonObject, Parts, Place, Problem, RuleOutcome, Verdict
from safe_gate.core.problems import number

SCHEMA_VERSION = 1

_KINDS = ("check", "metric")  # the words for the subject of a waiver
_OPTIONAL = ("comparison", "weakened")
_OWN = frozenset(
    {"schema_version", "tool", "generated_at", "verdict", "rules", "waivers", "provenance", "problems"}
    | {"problem_count", "blessed", *_OPTIONAL}
)
"""The keys of a report that are no evaluator's."""


class Tool(NamedTuple):
    """The program that made a report."""

    name: str
    version: str

    @classmethod
    def of(cls, value: JsonObject) -> Tool:
        """Return the program that made a report or a shard."""
        return cls(**value["tool"])


class Digests(NamedTuple):
    """The digests of a report: see `proof.differences`."""

    rules: str
    policy: str
    cases: str
    outputs: str
    results: str
    all: str


class Base(NamedTuple):
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

    def to_json(self) -> dict[str, Any]:
        """Return it in the shape of the report's `provenance`."""
        return {
            "commit": self.commit,
            "inputs": [{"path": one.path, "sha256": one.sha256, "kind": one.kind} for one in self.inputs],
            "packs_sha256": self.packs_sha256,
            "policy": self.policy,
            **({"policy_commit": self.policy_commit} if self.policy_commit else {}),
            **({} if self.base is None else {"base": self.base._asdict()}),
            **({} if self.left_out is None else {"left_out": self.left_out}),
            **({} if self.digests is None else {"digests": self.digests._asdict()}),
        }

    @classmethod
    def from_json(cls, value: JsonObject) -> Provenance:
        """Return the provenance that a report records."""
        return cls(
            value["commit"],
            tuple(InputFile(one["path"], one["sha256"], one["kind"]) for one in value["inputs"]),
            value["packs_sha256"],
            value["policy"],
            value.get("policy_commit", ""),
            Base(**value["base"]) if "base" in value else None,
            value.get("left_out"),
            Digests(**value["digests"]) if "digests" in value else None,
        )


@dataclass(frozen=True, slots=True)
class Waiver:
    """A known failure that the gate lets pass until a day (YYYY-MM-DD): `kind` is check or metric, `name` which one."""

    case_id: str
    kind: str
    name: str
    reason: str
    owner: str
    expires: str

    def to_json(self) -> dict[str, Any]:
        """Return the waiver in the shape of the report and of a file of waivers."""
        told = {"reason": self.reason, "owner": self.owner, "expires": self.expires}
        return {"id": self.case_id, self.kind: self.name, **told}

    @classmethod
    def from_json(cls, value: JsonObject) -> Waiver:
        """Return the waiver that an entry of a report or of a file of waivers is."""
        kind = next(one for one in _KINDS if one in value)
        return cls(value["id"], kind, value[kind], value["reason"], value["owner"], value["expires"])

    @classmethod
    def listed(cls, file: JsonObject) -> tuple[Waiver, ...]:
        """Return the waivers of a file of waivers."""
        return tuple(map(cls.from_json, file["waivers"]))

    @classmethod
    def joined(cls, file: JsonObject, more: Iterable[Waiver]) -> dict[str, Any]:
        """Return a file of waivers with more waivers, sorted by their subjects."""

        def about(entry: JsonObject) -> tuple[str, str, str]:
            one = cls.from_json(entry)
            return one.case_id, one.kind, one.name

        return {**file, "waivers": sorted((*file["waivers"], *(one.to_json() for one in more)), key=about)}


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

    def to_json(self) -> dict[str, Any]:
        """Return them in the shape of the report's `waivers`."""
        fates = {fate: [one.to_json() for one in getattr(self, fate)] for fate in _FATES}
        return {"path": self.path, "sha256": self.sha256, **fates}

    @classmethod
    def from_json(cls, value: JsonObject) -> Waivers:
        """Return the waivers that a report has."""
        fates = (tuple(map(Waiver.from_json, value[fate])) for fate in _FATES)
        return cls(value["path"], value["sha256"], *fates)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The findings of a run, before the gate judges it.

    `parts` are evaluators' parts by name, None for one without input. `comparison` and `weakened` are None if the run
    has nothing to compare with.
    """

    parts: Parts
    waivers: Waivers | None = None
    comparison: Comparison | None = None
    weakened: Weakened | None = None


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

    def to_json(self) -> dict[str, Any]:
        """Return the report in the shape of `report.schema.json`; results in a view stay a view."""
        optional = {"comparison": self.comparison, "weakened": self.weakened}
        return {
            "schema_version": SCHEMA_VERSION,
            "tool": self.tool._asdict(),
            "generated_at": self.generated_at,
            "verdict": self.verdict.value,
            "rules": [rule.to_json() for rule in self.rules],
            **self.parts,
            "waivers": self.waivers and self.waivers.to_json(),
            **{name: one.to_json() for name, one in optional.items() if one is not None},
            "provenance": self.provenance.to_json(),
            **(_problems_to_json(self.problems) if self.verdict is Verdict.ERROR else {}),
            **({} if self.blessed is None else {"blessed": self.blessed}),
        }

    @classmethod
    def from_json(cls, value: JsonObject) -> Report:
        """Return the report that a JSON object is, which fits the schema."""
        waivers, comparison, weakened = (value.get(name) for name in ("waivers", *_OPTIONAL))
        return cls(
            tool=Tool.of(value),
            generated_at=value["generated_at"],
            verdict=Verdict(value["verdict"]),
            rules=tuple(map(RuleOutcome.from_json, value["rules"])),
            parts={name: part for name, part in value.items() if name not in _OWN},
            waivers=Waivers.from_json(waivers) if waivers is not None else None,
            comparison=None if comparison is None else Comparison.from_json(comparison),
            weakened=None if weakened is None else Weakened.from_json(weakened),
            provenance=Provenance.from_json(value["provenance"]),
            problems=_problems_from_json(value),
            blessed=value.get("blessed"),
        )


@dataclass(frozen=True, slots=True)
class Earlier:
    """The parts of a report that record an earlier state. `waivers_stand` keeps the `waivers` it was judged by."""

    comparison: Comparison | None
    weakened: Weakened | None
    waivers: Waivers | None
    waivers_stand: bool


def _problems_to_json(problems: Sequence[Problem]) -> dict[str, Any]:
    """Return problems in the shape of the report, with how many there are if it does not have all."""
    entries = [
        {
            "path": one.place.path,
            "line": one.place.line,
            "id": one.case_id,
            "field": one.field,
            "message": one.message,
            "code": one.code.value,
        }
        for one in problems
    ]
    total = number(problems)
    return {"problems": entries, **({"problem_count": total} if total > len(entries) else {})}


def _problems_from_json(value: JsonObject) -> tuple[Problem, ...]:
    """Return the problems that a report has."""
    problems = tuple(
        Problem(Place(one["path"], one["line"]), one["message"], one["id"], one["field"], code=Code(one["code"]))
        for one in value.get("problems", ())
    )
    more = value.get("problem_count", len(problems)) - len(problems)
    return (*problems[:-1], replace(problems[-1], count=1 + more)) if problems and more else problems
