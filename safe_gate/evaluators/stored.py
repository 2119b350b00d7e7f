"""Reports, and evaluators' parts of them, as JSON in the shape of `schemas/report.schema.json`, and back. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace
from typing import Any, TypeVar

from safe_gate.core.jsontext import stand_in
from safe_gate.evaluators.registry import EVALUATORS
from safe_gate.model import codec
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import number
from safe_gate.model.report import SCHEMA_VERSION, Comparison, Report, Verdict
from safe_gate.model.spool import Spool

Results = Callable[[Iterator[Any]], Iterable[Any]]
"""Makes the JSON of results one value: `list`, or `iter` for a writer that takes them one at a time."""

T = TypeVar("T")


def part_json(part: Any, results: Results = list) -> dict[str, Any]:
    """Return an evaluator's part of a report as JSON."""
    own: dict[str, Any] = codec.to_json(replace(part, results=()))
    return {**own, "results": results(map(codec.to_json, part.results))}


def report_json(report: Report, results: Results = list) -> dict[str, Any]:
    """Return a report as JSON."""
    own = codec.to_json(replace(report, parts={}))
    count = number(report.problems)
    return {
        "schema_version": SCHEMA_VERSION,
        **{name: own[name] for name in ("tool", "generated_at", "verdict", "rules")},
        **{name: part and part_json(part, results) for name, part in report.parts.items()},
        "waivers": own.get("waivers"),
        **{name: own[name] for name in ("comparison", "weakened", "recordings", "provenance") if name in own},
        **({"problems": own.get("problems", [])} if report.verdict is Verdict.ERROR else {}),
        **({"problem_count": count} if count > len(report.problems) else {}),
        **({"blessed": own["blessed"]} if "blessed" in own else {}),
    }


def read_report(value: JsonObject) -> Report:
    """Return the report that a JSON object is, which fits the schema."""
    own = {one.name: value[one.name] for one in fields(Report) if one.name in value}
    found = codec.from_json(Report, {**own, "parts": {}})
    problems = found.problems
    if more := value.get("problem_count", len(problems)) - len(problems):
        problems = (*problems[:-1], replace(problems[-1], count=1 + more))
    parts = {name: read_part(name, value[name]) for name in EVALUATORS}
    return replace(found, parts=parts, problems=problems, comparison=found.comparison and _compared(found.comparison))


def read_part(name: str, value: JsonObject | None) -> Any:
    """Return an evaluator's part of a report, None for one that was given no input."""
    return value and codec.from_json(EVALUATORS[name].part.kind, value)


def read_result(name: str, value: JsonObject) -> Any:
    """Return an evaluator's result."""
    return codec.from_json(EVALUATORS[name].part.result, value)


def _compared(comparison: Comparison) -> Comparison:
    """Return a comparison with the baseline's results of changed cases as values."""
    parts = {
        name: part
        and replace(
            part,
            changes=[
                replace(one, before=None if one.before is None else read_result(name, one.before))
                for one in part.changes
            ],
        )
        for name, part in comparison.parts.items()
    }
    return replace(comparison, parts=parts)


def without_texts(name: str, value: JsonObject) -> dict[str, Any]:
    """Return JSON of an evaluator, such as a result, with a stand-in for every recorded text."""
    quotes = EVALUATORS[name].part.quotes

    def strip(value: Any, *, is_text: bool = False) -> Any:
        if isinstance(value, dict):
            return {key: strip(inner, is_text=key in quotes) for key, inner in value.items()}
        if isinstance(value, list):
            return [strip(inner, is_text=is_text) for inner in value]
        return stand_in(value) if is_text and isinstance(value, str) else value

    stripped: dict[str, Any] = strip(dict(value))
    return stripped


def withheld(name: str, value: T) -> T:
    """Return an evaluator's result, or its part of a report, with a stand-in for every recorded text."""
    if not isinstance(value, EVALUATORS[name].part.kind):
        return codec.from_json(type(value), without_texts(name, codec.to_json(value)))
    part: Any = value
    bare = codec.from_json(type(value), without_texts(name, codec.to_json(replace(part, results=()))))
    found: T = replace(bare, results=Spool(withheld(name, one) for one in part.results))  # type: ignore[type-var]
    return found
