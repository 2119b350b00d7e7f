"""An evaluator for outputs that pass or fail named checks. A package adds only its checks. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from safe_gate.core.digests import digest
from safe_gate.core.evaluator import Evaluator
from safe_gate.core.figures import percent, plural, share
from safe_gate.core.given import Grouping, OwnFile, Shipped
from safe_gate.core.model import Failure, JsonObject, Judgement, Metric, Outcome, Place, Severity, Test, Untrusted
from safe_gate.core.rules import ALL, Rule, Share, anything
from safe_gate.core.shown import Finding, Rate, Section, Table
from safe_gate.core.views import View

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


@dataclass(frozen=True, slots=True)
class Case:
    """A line of an input file: `value` is the object, `asked` names its fields with expectations."""

    value: JsonObject
    id: str
    groups: tuple[str, ...]
    asked: tuple[str, ...]
    place: Place
    cluster: str

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


class PassFail(Evaluator):
    """An evaluator whose input is lines with `id`, `output` and, if they like, `tags`.

    A package gives `name`, `title`, `settings`, `input`, `kinds`, `schemas`, `explained`, `asked` and `check`, and may
    replace the rest. The setting `min_NAME_pass_rate` limits the share of cases that pass.
    """

    asked: tuple[str, ...] = ()
    """The fields of a case, besides its tags, with expectations of the output."""

    scoring = ()
    id_key = "id"
    measures = "check"
    groups_key = "tags"
    reply = "output"
    reads = ("output",)
    grouping = Grouping(
        noun="tag",
        setting="",
        size="cases",
        figures=lambda part: part["by_tag"],
        groups_of=lambda result: result["tags"],
    )

    @property
    def quotes(self) -> frozenset[str]:
        return frozenset(self.explained)

    def check(self, value: JsonObject) -> Mapping[str, Sequence[str]]:
        """Return the faults of a case by the checks of `explained`; no entry for a check that passes."""
        raise NotImplementedError

    def case(self, value: JsonObject, place: Place, cluster: str) -> Case:
        return Case(value, value["id"], tuple(dict.fromkeys(value.get("tags", ()))), self.asked, place, cluster)

    def recipe(self, settings: JsonObject, own: Sequence[OwnFile], data: Shipped) -> str:
        return self.name

    def made(self, recipe: str, data: Shipped) -> Any:
        return recipe

    def score(self, case: Any, by: Any) -> JsonObject:
        found = {name: list(faults) for name, faults in self.check(case.value).items()}
        entry = {"id": case.id, "pass": not any(found.values()), "checks": found, "tags": list(case.groups)}
        entry |= {"source": {"path": case.place.path, "line": case.place.line}, "digests": case.digests()}
        return entry | ({"cluster": case.cluster} if case.cluster else {})

    def totals(self, scored: Sequence[tuple[Any, JsonObject]], by: Any) -> Any:
        return Counter((tag, entry["pass"]) for _, entry in scored for tag in ("", *entry["tags"]))

    def report(self, totals: Any, results: Sequence[JsonObject], by: Any, generated_at: str) -> dict[str, Any]:
        tags = ["", *sorted({tag for tag, _ in totals} - {""})]
        figures = {tag: {"cases": totals[tag, True] + totals[tag, False], "passed": totals[tag, True]} for tag in tags}
        return {"summary": figures.pop(""), "by_tag": figures, "results": results}

    @property
    def rules(self) -> tuple[Rule, ...]:
        return (
            Rule(f"min-{self.name.replace('_', '-')}-pass-rate", self.name, self._passed, forgives=anything, finds=ALL),
        )

    def _passed(self, part: JsonObject) -> Share:
        passed, cases = part["summary"]["passed"], part["summary"]["cases"]
        words = plural(cases, f"{self.title} case passes", f"{self.title} cases pass")
        return Share("Pass rate", passed, cases, f"{passed} of {words}")

    def failures(self, part: JsonObject) -> Iterator[Failure]:
        for one in filter(_fails, part["results"]):
            yield Failure(one["id"], frozenset(name for name, faults in one["checks"].items() if faults), one)

    def scored_by(self, part: JsonObject | None, policy: JsonObject) -> Any:
        return self.name

    def step_outputs(self, part: JsonObject | None) -> dict[str, str]:
        rate = str(share(part["summary"]["passed"], part["summary"]["cases"])) if part else ""
        return {f"{self.name.replace('_', '-')}-pass-rate": rate}

    def section(self, part: JsonObject) -> Section:
        cases, passed = part["summary"]["cases"], part["summary"]["passed"]
        failing = Counter(name for one in part["results"] for name, faults in one["checks"].items() if faults)
        checks = tuple((facts.title, str(failing[name])) for name, facts in self.explained.items())
        return Section(
            title=(f"{self.title} Scorecard",),
            headline=f"{plural(cases, 'case')}: {passed} passed",
            counts=(f"Passed: {passed} ({percent(share(passed, cases))})",),
            metrics=Table(("Check", "Failing"), "<>", checks),
            footer=f"Cases: {cases}",
            cases_title="Per-Case Breakdown",
            cases=Table(
                ("Case", "Outcome"), "<<", View(lambda: ((Untrusted(one["id"]), _said(one)) for one in part["results"]))
            ),
            issues=(),
            findings=View(lambda: map(self.finding, filter(_fails, part["results"]))),
        )

    def finding(self, result: JsonObject) -> Finding:
        evidence = tuple((Untrusted(fault),) for faults in result["checks"].values() for fault in faults)
        place = Place(result["source"]["path"], result["source"]["line"])
        return Finding(Untrusted(result["id"]), Severity.FAILING, _said(result), evidence, place)

    def judgements(self, part: JsonObject, result: JsonObject) -> Iterator[Judgement]:
        for name, faults in result["checks"].items():
            evidence = tuple((Untrusted(fault),) for fault in faults)
            severity = Severity.FAILING if faults else None
            yield Judgement(name, "fails" if faults else "passes", severity, float(not faults), evidence)

    @property
    def fields(self) -> Mapping[str, str]:
        return {"output": "Output"}

    def rates(self, part: JsonObject) -> Iterator[Rate]:
        (rule,) = self.rules
        yield Rate("Passes", "all cases", part["summary"]["passed"], part["summary"]["cases"], rule.name)

    def labels(self, part: JsonObject) -> Mapping[str, int]:
        return {"passes": part["summary"]["passed"], "fails": part["summary"]["cases"] - part["summary"]["passed"]}

    def result_event(
        self, result: JsonObject, judgements: Sequence[Judgement], *, with_text: bool
    ) -> tuple[str, dict[str, Any]]:
        told = {"id": result["id"], "pass": result["pass"], "tags": list(result["tags"])}
        found = result["checks"] if with_text else {name: len(faults) for name, faults in result["checks"].items()}
        return f"safe.{self.name}.result", told | {"checks": dict(found)}

    def outcome(self, result: JsonObject) -> Outcome:
        return Outcome(
            id=result["id"],
            passed=result["pass"],
            rank=int(result["pass"]),
            words=_said(result),
            scores={"pass": float(result["pass"])},
            violations=frozenset(),
            groups=frozenset(result["tags"]),
            cluster=result.get("cluster", ""),
            case=result["digests"]["case"],
            output=result["digests"]["output"],
        )

    @property
    def metrics(self) -> Mapping[str, Metric]:
        return MappingProxyType({"pass": Metric(f"The share of {self.title} cases that pass", Test.SIGN)})


def _fails(result: JsonObject) -> bool:
    return not result["pass"]


def _said(result: JsonObject) -> str:
    return "passes" if result["pass"] else "fails"
