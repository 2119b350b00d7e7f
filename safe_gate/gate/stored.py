"""Reports as JSON in the shape of `schemas/report.schema.json`, and back; their digests, and how two differ. Pure.

The digests cover everything that the verdict depends on. Each is a SHA-256. `all` covers all digests, the rules'
outcomes and the verdict. Two reports with the same `all` have the same cases, outputs, rules, settings, engine and
findings. Digests do not depend on the order of files or cases, or on the places of cases in files. Sums over results
(means, counts, worst cases) have no digest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from safe_gate.core.jsontext import digest, digest_of_all, stand_in
from safe_gate.evaluators.registry import BUILT_IN, EVALUATORS, parts_of, results_of
from safe_gate.model import codec
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import number
from safe_gate.model.report import SCHEMA_VERSION, Comparison, Digests, Report, Verdict
from safe_gate.model.spool import Spool

T = TypeVar("T")

Results = Callable[[Iterable[Any]], Iterable[Any]]
"""Makes JSON of results: `listed`, or `streamed` for a writer that takes them one at a time."""


def listed(results: Iterable[Any]) -> list[Any]:
    """Return results as JSON, all at once."""
    return [*map(codec.to_json, results)]


def streamed(results: Iterable[Any]) -> Iterator[Any]:
    """Return results one at a time, for `jsontext.pieces` alone."""
    return map(codec.for_encoder, results)


def part_json(part: Any, results: Results) -> dict[str, Any]:
    """Return an evaluator's part of a report as JSON."""
    own: dict[str, Any] = codec.to_json(replace(part, results=()))
    return {**own, "results": results(part.results)}


def report_json(report: Report, results: Results = listed) -> dict[str, Any]:
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


def with_streams(report: JsonObject) -> JsonObject:
    """Return a report's JSON with its results as iterators, as a run writes them."""
    parts = {name: {**one, "results": iter(one["results"])} for name in EVALUATORS if (one := report.get(name))}
    return {name: parts.get(name, value) for name, value in report.items()}


def read_report(value: JsonObject) -> Report:
    """Return the report that a JSON object is, which fits the schema."""
    found = codec.from_json(Report, {**value, "parts": {}})
    problems = found.problems
    if more := value.get("problem_count", len(problems)) - len(problems):
        problems = (*problems[:-1], replace(problems[-1], count=1 + more))
    parts = {name: (part := value[name]) and codec.from_json(one.part.kind, part) for name, one in EVALUATORS.items()}
    return replace(found, parts=parts, problems=problems, comparison=found.comparison and _compared(found.comparison))


def read_result(name: str, value: JsonObject) -> Any:
    """Return an evaluator's result."""
    return codec.from_json(EVALUATORS[name].part.result, value)


def _compared(comparison: Comparison) -> Comparison:
    """Return a comparison with the baseline's results of changed cases as values."""
    parts = {**comparison.parts}
    for evaluator, part in parts_of(comparison.parts):
        name = evaluator.name
        changes = [
            one if one.before is None else replace(one, before=read_result(name, one.before)) for one in part.changes
        ]
        parts[name] = replace(part, changes=changes)
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


def digests(report: Report) -> Digests:
    """Return the digests of a report: `rules`, `policy`, `cases`, `outputs`, `results`, and `all` of them.

    `rules` is of all that scores follow from besides the cases: engine, rule packs, profile, thresholds
    and weights. `policy` is of the settings as they are recorded, lists in no order.
    """
    policy = report.provenance.policy
    of_each = dict[str, list[str]](cases=[], outputs=[], results=[])
    for evaluator, part in parts_of(report.parts):
        name = evaluator.name
        for result in results_of(part):
            of = evaluator.compare.outcome(result)
            of_each["cases"].append(digest([name, of.id, of.case]))
            of_each["outputs"].append(digest([name, of.id, of.output]))
            told = {key: value for key, value in codec.for_encoder(result).items() if key not in evaluator.part.where}
            of_each["results"].append(digest([name, told]))
    found = {
        "rules": digest(
            {
                "engine": codec.to_json(report.tool),
                "packs": report.provenance.packs_sha256,
                **{
                    name: evaluator.compare.scoring_terms(report.parts[name], policy)
                    for name, evaluator in EVALUATORS.items()
                    if name in BUILT_IN or report.parts[name] is not None
                },
            }
        ),
        "policy": digest(
            {
                key: digest_of_all(map(digest, value)) if isinstance(value, list) else value
                for key, value in policy.items()
            }
        ),
        **{name: digest_of_all(every) for name, every in of_each.items()},
    }
    judged = [report.verdict.value, [*map(codec.to_json, report.rules)]]
    return Digests(**found, all=digest({**found, "judged": judged}))


def with_digests(report: Report) -> Report:
    """Return a report with its digests in its provenance."""
    return replace(report, provenance=replace(report.provenance, digests=digests(report)))
