"""An evaluator for outputs that pass or fail named checks. A package adds only its checks. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

from safe_gate.core.case import CaseAt, Grouping, OwnFile, PartShape
from safe_gate.core.evaluator import (
    ANY_SEVERITY,
    Comparing,
    Evaluator,
    Figures,
    Judging,
    Presentation,
    Rule,
    Share,
    always,
)
from safe_gate.core.figures import percent, plural, share
from safe_gate.core.jsontext import digest
from safe_gate.model import record
from safe_gate.model.codec import JsonObject, key
from safe_gate.model.problems import Place
from safe_gate.model.results import (
    Explanation,
    Failure,
    Finding,
    Judgement,
    Metric,
    Outcome,
    Rate,
    Section,
    Severity,
    Table,
    Test,
    Untrusted,
)
from safe_gate.model.spool import Spool


def _object(properties: JsonObject, *optional: str, **more: Any) -> dict[str, Any]:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False, **more}


_TEXTS = {"type": "array", "items": {"type": "string"}}
_COUNT = {"type": "integer", "minimum": 0}
_SUMMARY = _object({"cases": _COUNT, "passed": _COUNT})
_RESULT = _object(
    {
        "id": {"type": "string"},
        "pass": {"type": "boolean"},
        "checks": {"type": "object", "additionalProperties": _TEXTS},
        "tags": _TEXTS,
        "source": {"$ref": "#/$defs/source"},
        "digests": {"type": "object"},
        "cluster": {"type": "string"},
    },
    "cluster",
)
_PART = _object({"summary": _SUMMARY, "results": {"type": "array", "items": _RESULT}})
"""The schema of its part of the report. Under `checks` a result has what each check found wrong, if anything."""


def case_schema(**fields: JsonObject) -> JsonObject:
    """Return the schema of a line of input with `id`, `output`, `tags`, and the schemas of fields that it needs."""
    own = {
        "id": {"type": "string", "minLength": 1, "maxLength": 200, "description": "text of 1 to 200 characters"},
        "output": {"type": "string", "description": "text: what the application answered"},
        **fields,
        "tags": {**_TEXTS, "description": "a list of texts"},
    }
    return _object(own, "tags", patternProperties={"^x_": {}})


@record
class Case:
    """A line of an input file: `value` is the object, `expects` names its fields with expectations."""

    value: JsonObject
    id: str
    groups: tuple[str, ...]
    expects: tuple[str, ...]
    place: Place
    cluster: str

    @property
    def ids(self) -> tuple[str]:
        return (self.id,)

    @property
    def recording(self) -> str:
        return self.place.path

    def asks(self) -> dict[str, Any]:
        """Return the expectations of the output: digests by field, and the tags."""
        digests = {name: digest(self.value[name]) for name in self.expects if name in self.value}
        return {**digests, "tags": [*self.groups]}

    def given(self) -> dict[str, Any]:
        """Return nothing: the application's input is unknown."""
        return {}

    def judges(self) -> dict[str, str]:
        """Return nothing: it has no recorded verdicts."""
        return {}

    def digests(self) -> dict[str, str]:
        return {"case": digest(self.asks()), "output": digest(self.value["output"])}

    def texts(self) -> dict[str, Any]:
        return {"output": self.value["output"]}


@record
class Summary:
    """The number of all cases or of those with a tag, and how many of them pass."""

    cases: int
    passed: int


@record
class Result:
    """A case, and what each check found wrong with it, if anything. Its cases come in no batches."""

    id: str
    passed: Annotated[bool, key("pass")]
    checks: Mapping[str, Sequence[str]]
    groups: Annotated[Sequence[str], key("tags")]
    place: Annotated[Place, key("source")]
    digests: Mapping[str, str]
    cluster: str = ""
    batch: ClassVar[str] = ""
    asks: ClassVar[Mapping[str, Any]] = MappingProxyType({})

    @property
    def failed(self) -> tuple[str, ...]:
        return tuple(name for name, faults in self.checks.items() if faults)

    @property
    def words(self) -> str:
        return "passes" if self.passed else "fails"


@record
class Part:
    """Its part of the report."""

    summary: Summary
    results: Sequence[Result]


class PassFail(Evaluator, Judging, Presentation, Comparing):
    """An evaluator whose input is lines with `id`, `output` and, if they like, `tags`.

    A package gives `name`, `title`, `settings`, `input`, `explanations`, `expects` and `check`, and may replace the
    rest. The setting `min_NAME_pass_rate` limits the share of cases that pass. The command NAME scores its cases alone.
    """

    explanations: Mapping[str, Explanation]
    """The explanation of each check for readers, by its name."""

    expects: tuple[str, ...] = ()
    """The fields of a case, besides its tags, with expectations of the output."""

    grouping = Grouping(noun="tag", key="tags", setting="", figures=lambda _: {})
    measure_noun, reply_field, compared_cases = "check", "output", ""
    field_titles = {"output": "Output"}  # noqa: RUF012
    guards: Mapping[str, tuple[str, str]] = {}
    group_rules: tuple[Rule, ...] = ()
    pass_counting_settings: tuple[str, ...] = ()

    @property
    def part(self) -> PartShape:  # type: ignore[override]
        return PartShape(Part, Result, quotes=frozenset(self.explanations), schema=_PART)

    @property
    def gate(self) -> PassFail:
        return self

    present = compare = gate

    def check(self, value: JsonObject) -> Mapping[str, Sequence[str]]:
        """Return the faults of a case by each check of `explanations`; none if the case passes it."""
        raise NotImplementedError

    def parse(self, value: JsonObject, at: CaseAt, settings: JsonObject) -> Iterator[Case]:
        yield Case(value, value["id"], tuple(dict.fromkeys(value.get("tags", ()))), self.expects, at.place, at.cluster)

    def recipe(self, settings: JsonObject, own: Sequence[OwnFile]) -> str:
        return self.name

    def compile(self, recipe: str) -> Any:
        return recipe

    def score(self, case: Any, by: Any) -> Result:
        returned = self.check(case.value)
        if returned.keys() != self.explanations.keys():  # no report could show, or withhold, another
            given, expected = (", ".join(map(repr, some)) or "nothing" for some in (returned, self.explanations))
            raise TypeError(f"check returns {given}; expected all checks of explanations, which are {expected}")
        for name, faults in returned.items():
            if not isinstance(faults, list | tuple) or not all(isinstance(fault, str) for fault in faults):
                raise TypeError(f"check returns no list of texts for {name!r}")
        found = {name: list(faults) for name, faults in returned.items()}
        passed = not any(found.values())
        return Result(case.id, passed, found, case.groups, case.place, case.digests(), case.cluster)

    def totals(self, scored: Sequence[tuple[Any, Any]], by: Any) -> Any:
        return Counter(result.passed for _, result in scored)

    def report(self, totals: Any, results: Sequence[Any], by: Any, generated_at: str) -> Part:
        return Part(Summary(totals.total(), totals[True]), results)

    # --- gate

    @property
    def rules(self) -> tuple[Rule, ...]:
        name = f"min-{self.name.replace('_', '-')}-pass-rate"
        return (Rule(name, self.name, self._passed, forgives=always, finds=ANY_SEVERITY),)

    def _passed(self, part: Part) -> Share:
        cases, passed = part.summary.cases, part.summary.passed
        words = plural(cases, f"{self.title} case passes", f"{self.title} cases pass")
        return Share("Pass rate", passed, cases, f"{passed} of {words}")

    def failures(self, part: Part) -> Iterator[Failure]:
        return (Failure(one.id, frozenset(one.failed), one) for one in part.results if not one.passed)

    # --- present

    def section(self, part: Part) -> Section:
        cases, passed = part.summary.cases, part.summary.passed
        failing = Counter(name for result in part.results for name in result.failed)
        checks = tuple((facts.title, str(failing[name])) for name, facts in self.explanations.items())
        return Section(
            title=(f"{self.title} Scorecard",),
            headline=f"{plural(cases, 'case')}: {passed} passed",
            counts=(f"Passed: {passed} ({percent(share(passed, cases))})",),
            metrics=Table(("Check", "Failing"), "<>", checks),
            footer=(f"Cases: {cases}",),
            cases_title="Per-Case Breakdown",
            cases=Table(("Case", "Outcome"), "<<", Spool((Untrusted(one.id), one.words) for one in part.results)),
            findings=Spool(self.finding(one) for one in part.results if not one.passed),
        )

    def figures(self, part: Part | None) -> Figures:
        output = f"{self.name.replace('_', '-')}-pass-rate"
        if part is None:
            return Figures((), {}, {output: ""})
        cases, passed = part.summary.cases, part.summary.passed
        rate = Rate("Passes", "all cases", passed, cases, self.rules[0].name)
        return Figures((rate,), {"passes": passed, "fails": cases - passed}, {output: str(share(passed, cases))})

    def finding(self, result: Result) -> Finding:
        evidence = tuple((Untrusted(fault),) for faults in result.checks.values() for fault in faults)
        found = Finding(Untrusted(result.id), Severity.FAILING, result.words, evidence, result.place)
        return found._replace(groups=tuple(result.groups))

    def judgements(self, part: Part, result: Result) -> Iterator[Judgement]:
        for name, faults in result.checks.items():
            evidence = tuple((Untrusted(fault),) for fault in faults)
            severity = Severity.FAILING if faults else None
            yield Judgement(name, "fails" if faults else "passes", severity, float(not faults), evidence)

    def result_event(
        self, result: Result, judgements: Sequence[Judgement], *, with_text: bool
    ) -> tuple[str, dict[str, Any]]:
        checks = {name: faults if with_text else len(faults) for name, faults in result.checks.items()}
        data = {"id": result.id, "pass": result.passed, "tags": list(result.groups), "checks": checks}
        return f"safe.{self.name}.result", data

    # --- compare

    @property
    def metrics(self) -> Mapping[str, Metric]:
        return {"pass": Metric(f"The share of {self.title} cases that pass", Test.SIGN)}

    def outcome(self, result: Result) -> Outcome:
        return Outcome(
            id=result.id,
            passed=result.passed,
            rank=int(result.passed),
            words=result.words,
            scores={"pass": float(result.passed)},
            violations=frozenset(),
            groups=frozenset(result.groups),
            cluster=result.cluster,
            case=result.digests["case"],
            output=result.digests["output"],
        )

    def scoring_terms(self, part: Part | None, policy: JsonObject) -> Any:
        return self.name
