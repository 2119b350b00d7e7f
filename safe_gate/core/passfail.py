"""An evaluator for outputs that pass or fail named checks. A package adds only its checks. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from safe_gate.core.digests import digest
from safe_gate.core.evaluator import Evaluator
from safe_gate.core.figures import percent, plural, share
from safe_gate.core.given import CaseAt, Grouping, OwnFile, PartShape
from safe_gate.core.lazy import View
from safe_gate.core.model import (
    Failure,
    JsonObject,
    Judgement,
    Metric,
    Outcome,
    Place,
    Severity,
    Test,
    Untrusted,
    entries_of,
)
from safe_gate.core.rules import ANY_SEVERITY, Rule, Share, anything
from safe_gate.core.shown import Finding, Rate, Section, Table

_OBJECT = {"type": "object"}
_COUNT = {"type": "integer", "minimum": 0}
_TEXTS = {"type": "array", "items": {"type": "string"}}
_FIGURES = {"type": "object", "required": ["cases", "passed"], "properties": {"cases": _COUNT, "passed": _COUNT}}
_RESULT = {
    "type": "object",
    "required": ["id", "pass", "checks", "tags", "source", "digests"],
    "properties": {
        "id": {"type": "string"},
        "pass": {"type": "boolean"},
        "checks": {"type": "object", "additionalProperties": _TEXTS},
        "tags": _TEXTS,
        "source": {"$ref": "#/$defs/source"},
        "digests": _OBJECT,
        "cluster": {"type": "string"},
    },
    "additionalProperties": False,
}

PART: JsonObject = {
    "type": "object",
    "required": ["summary", "by_tag", "results"],
    "properties": {
        "summary": _FIGURES,
        "by_tag": {"type": "object", "additionalProperties": _FIGURES},
        "results": {"type": "array", "items": _RESULT},
    },
    "additionalProperties": False,
}
"""The schema of its part of the report. Under `checks` an entry has what each check found wrong, if anything."""


def case_schema(**fields: JsonObject) -> JsonObject:
    """Return the schema of a line of input with `id`, `output`, `tags`, and the schemas of fields that it needs."""
    return {
        "type": "object",
        "required": ["id", "output", *fields],
        "properties": {
            "id": {"type": "string", "minLength": 1, "maxLength": 200, "description": "text of 1 to 200 characters"},
            "output": {"type": "string", "description": "text: what the application answered"},
            **fields,
            "tags": {**_TEXTS, "description": "a list of texts"},
        },
        "patternProperties": {"^x_": {}},
        "additionalProperties": False,
    }


@dataclass(frozen=True, slots=True)
class Case:
    """A line of an input file: `value` is the object, `asked` names its fields with expectations."""

    value: JsonObject
    id: str
    groups: tuple[str, ...]
    asked: tuple[str, ...]
    place: Place
    cluster: str

    @property
    def ids(self) -> tuple[str]:
        """The id alone: no other case may have it."""
        return (self.id,)

    def asks(self) -> dict[str, Any]:
        """Return the expectations of the output: digests by field, and the tags."""
        return {name: digest(self.value[name]) for name in self.asked if name in self.value} | {"tags": [*self.groups]}

    def given(self) -> dict[str, Any]:
        """Return nothing: the application's input is unknown."""
        return {}

    def digests(self) -> dict[str, str]:
        """Return the digests of the expectations and of the output."""
        return {"case": digest(self.asks()), "output": digest(self.value["output"])}

    def texts(self) -> dict[str, Any]:
        """Return the output."""
        return {"output": self.value["output"]}


class Figures(NamedTuple):
    """The number of all cases or of those with a tag, and how many of them pass."""

    cases: int
    passed: int

    @classmethod
    def from_json(cls, value: JsonObject) -> Figures:
        """Return the figures that a report has."""
        return cls(value["cases"], value["passed"])


@dataclass(frozen=True, slots=True)
class Result:
    """An entry of `results[]`: a case, and what each check found wrong with it, if anything."""

    id: str
    passed: bool
    checks: Mapping[str, Sequence[str]]
    tags: Sequence[str]
    place: Place
    digests: Mapping[str, str]
    cluster: str = ""

    @property
    def failed(self) -> tuple[str, ...]:
        """The names of the checks that fail."""
        return tuple(name for name, faults in self.checks.items() if faults)

    @property
    def words(self) -> str:
        """The result for readers."""
        return "passes" if self.passed else "fails"

    def to_json(self) -> dict[str, Any]:
        """Return the entry of `results[]`."""
        return {
            "id": self.id,
            "pass": self.passed,
            "checks": self.checks,
            "tags": list(self.tags),
            "source": {"path": self.place.path, "line": self.place.line},
            "digests": self.digests,
            **({"cluster": self.cluster} if self.cluster else {}),
        }

    @classmethod
    def from_json(cls, entry: JsonObject) -> Result:
        """Return the result of an entry of `results[]`."""
        return cls(
            entry["id"],
            entry["pass"],
            entry["checks"],
            entry["tags"],
            Place(entry["source"]["path"], entry["source"]["line"]),
            entry["digests"],
            entry.get("cluster", ""),
        )


class Part(NamedTuple):
    """Its part of the report: the figures of all cases and of each tag, and the entries of `results[]`."""

    summary: Figures
    by_tag: Mapping[str, Figures]
    entries: Sequence[JsonObject]

    def results(self) -> Iterator[Result]:
        """Yield the results, read one at a time."""
        return map(Result.from_json, self.entries)

    def to_json(self) -> dict[str, Any]:
        """Return the part in the shape of the report."""
        by_tag = {tag: one._asdict() for tag, one in self.by_tag.items()}
        return {"summary": self.summary._asdict(), "by_tag": by_tag, "results": self.entries}

    @classmethod
    def from_json(cls, value: JsonObject) -> Part:
        """Return the part that a report has."""
        by_tag = {tag: Figures.from_json(one) for tag, one in value["by_tag"].items()}
        return cls(Figures.from_json(value["summary"]), by_tag, value["results"])


class PassFail(Evaluator):
    """An evaluator whose input is lines with `id`, `output` and, if they like, `tags`.

    A package gives `name`, `title`, `settings`, `input`, `kinds`, `schemas`, `explained`, `asked` and `check`, and may
    replace the rest. The setting `min_NAME_pass_rate` limits the share of cases that pass. The command
    NAME scores its cases alone.
    """

    asked: tuple[str, ...] = ()
    """The fields of a case, besides its tags, with expectations of the output."""

    measures = "check"
    reply = "output"
    grouping = Grouping(
        noun="tag",
        key="tags",
        setting="",
        figures=lambda part: Part.from_json(part).by_tag,
        groups_of=lambda result: Result.from_json(result).tags,
    )

    @property
    def part(self) -> PartShape:  # type: ignore[override]
        return PartShape(quotes=frozenset(self.explained), schema=PART)

    def check(self, value: JsonObject) -> Mapping[str, Sequence[str]]:
        """Return the faults of a case by the checks of `explained`; no entry for a check that passes."""
        raise NotImplementedError

    def parse(self, value: JsonObject, at: CaseAt, settings: JsonObject) -> Iterator[Case]:
        yield Case(value, value["id"], tuple(dict.fromkeys(value.get("tags", ()))), self.asked, at.place, at.cluster)

    def recipe(self, settings: JsonObject, own: Sequence[OwnFile]) -> str:
        return self.name

    def made(self, recipe: str) -> Any:
        return recipe

    def score(self, case: Any, by: Any) -> JsonObject:
        found = {name: list(faults) for name, faults in self._faults(case.value)}
        passed = not any(found.values())
        return Result(case.id, passed, found, case.groups, case.place, case.digests(), case.cluster).to_json()

    def _faults(self, value: JsonObject) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield each check with its faults. Raises TypeError for what no report could show, or withhold."""
        for name, faults in self.check(value).items():
            if name not in self.explained:
                raise TypeError(f"check returns faults of {name!r}, which explained lacks")
            if isinstance(faults, str):
                raise TypeError(f"check returns a text for {name!r}; expected a list of texts")
            yield name, faults

    def value(self, entry: JsonObject) -> Result:
        return Result.from_json(entry)

    def read(self, part: JsonObject) -> Part:
        return Part.from_json(part)

    def totals(self, scored: Sequence[tuple[Any, JsonObject]], by: Any) -> Any:
        results = (Result.from_json(entry) for _, entry in scored)
        return Counter((tag, result.passed) for result in results for tag in ("", *result.tags))

    def report(self, totals: Any, results: Sequence[JsonObject], by: Any, generated_at: str) -> dict[str, Any]:
        tags = ["", *sorted({tag for tag, _ in totals} - {""})]
        figures = {tag: Figures(totals[tag, True] + totals[tag, False], totals[tag, True]) for tag in tags}
        return Part(figures.pop(""), figures, results).to_json()

    @property
    def rules(self) -> tuple[Rule, ...]:
        return (
            Rule(
                f"min-{self.name.replace('_', '-')}-pass-rate",
                self.name,
                self._passed,
                forgives=anything,
                finds=ANY_SEVERITY,
            ),
        )

    def _passed(self, part: Part) -> Share:
        cases, passed = part.summary
        words = plural(cases, f"{self.title} case passes", f"{self.title} cases pass")
        return Share("Pass rate", passed, cases, f"{passed} of {words}")

    def failures(self, part: JsonObject) -> Iterator[Failure]:
        for entry in entries_of(part):
            result = Result.from_json(entry)
            if not result.passed:
                yield Failure(result.id, frozenset(result.failed), entry)

    def scored_by(self, part: JsonObject | None, policy: JsonObject) -> Any:
        return self.name

    def step_outputs(self, part: JsonObject | None) -> dict[str, str]:
        name = f"{self.name.replace('_', '-')}-pass-rate"
        if part is None:
            return {name: ""}
        cases, passed = self.read(part).summary
        return {name: str(share(passed, cases))}

    def section(self, part: JsonObject) -> Section:
        found = self.read(part)
        cases, passed = found.summary
        failing = Counter(name for result in found.results() for name in result.failed)
        checks = tuple((facts.title, str(failing[name])) for name, facts in self.explained.items())
        return Section(
            title=(f"{self.title} Scorecard",),
            headline=f"{plural(cases, 'case')}: {passed} passed",
            counts=(f"Passed: {passed} ({percent(share(passed, cases))})",),
            metrics=Table(("Check", "Failing"), "<>", checks),
            footer=(f"Cases: {cases}",),
            cases_title="Per-Case Breakdown",
            cases=Table(
                ("Case", "Outcome"), "<<", View(lambda: ((Untrusted(one.id), one.words) for one in found.results()))
            ),
            issues=(),
            findings=View(lambda: (_finding(one) for one in found.results() if not one.passed)),
        )

    def finding(self, result: JsonObject) -> Finding:
        return _finding(Result.from_json(result))

    def judgements(self, part: JsonObject, result: JsonObject) -> Iterator[Judgement]:
        for name, faults in Result.from_json(result).checks.items():
            evidence = tuple((Untrusted(fault),) for fault in faults)
            severity = Severity.FAILING if faults else None
            yield Judgement(name, "fails" if faults else "passes", severity, float(not faults), evidence)

    @property
    def fields(self) -> Mapping[str, str]:
        return {"output": "Output"}

    def rates(self, part: JsonObject) -> Iterator[Rate]:
        (rule,) = self.rules
        cases, passed = self.read(part).summary
        yield Rate("Passes", "all cases", passed, cases, rule.name)

    def labels(self, part: JsonObject) -> Mapping[str, int]:
        cases, passed = self.read(part).summary
        return {"passes": passed, "fails": cases - passed}

    def result_event(
        self, result: JsonObject, judgements: Sequence[Judgement], *, with_text: bool
    ) -> tuple[str, dict[str, Any]]:
        one = Result.from_json(result)
        checks = {name: faults if with_text else len(faults) for name, faults in one.checks.items()}
        data = {"id": one.id, "pass": one.passed, "tags": list(one.tags), "checks": checks}
        return f"safe.{self.name}.result", data

    def outcome(self, result: JsonObject) -> Outcome:
        one = Result.from_json(result)
        return Outcome(
            id=one.id,
            passed=one.passed,
            rank=int(one.passed),
            words=one.words,
            scores={"pass": float(one.passed)},
            violations=frozenset(),
            groups=frozenset(one.tags),
            cluster=one.cluster,
            case=one.digests["case"],
            output=one.digests["output"],
        )

    @property
    def metrics(self) -> Mapping[str, Metric]:
        return MappingProxyType({"pass": Metric(f"The share of {self.title} cases that pass", Test.SIGN)})


def _finding(result: Result) -> Finding:
    evidence = tuple((Untrusted(fault),) for faults in result.checks.values() for fault in faults)
    return Finding(Untrusted(result.id), Severity.FAILING, result.words, evidence, result.place)
