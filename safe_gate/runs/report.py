"""Shell: the report of a run, and that of one that could not judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from safe_gate import __version__
from safe_gate.core.model import Problem, RuleOutcome, Verdict
from safe_gate.core.problems import first_of, number
from safe_gate.evaluators import EVALUATORS
from safe_gate.inputs import disk
from safe_gate.publish.effects import Effects
from safe_gate.runs.policy import Ruling, gate_policy
from safe_gate.scoring import asked, measure
from safe_gate.settings.options import Options

SCHEMA_VERSION = 1


def report_of(
    verdict: Verdict,
    outcomes: Sequence[RuleOutcome],
    parts: Mapping[str, Any],
    inputs: Sequence[disk.InputFile],
    ruling: Ruling,
    effects: Effects,
) -> dict[str, Any]:
    """Return the whole report in the shape of `schemas/report.schema.json`, but for its digests."""
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "safe-gate", "version": __version__},
        "generated_at": effects.generated_at,
        "verdict": verdict.value,
        "rules": [outcome.as_json() for outcome in outcomes],
        **{name: parts.get(name) for name in (*EVALUATORS, "waivers")},
        **{name: parts[name] for name in ("comparison", "weakened") if name in parts},
        "provenance": provenance(inputs, ruling, effects, is_judged=verdict is not Verdict.ERROR),
    }


def provenance(
    inputs: Sequence[disk.InputFile], ruling: Ruling, effects: Effects, *, is_judged: bool
) -> dict[str, Any]:
    """Return what a run follows from; rule packs, which may be what keeps it from a verdict, if it `is_judged`."""
    options = ruling.options
    return {
        "commit": effects.context.head_sha,
        "inputs": [asdict(file) for file in sorted(inputs, key=lambda file: file.path)],
        "packs_sha256": measure.rules_digest(options, root=ruling.root) if is_judged else "",
        "policy": {**gate_policy(options).as_json(), **asked.settings(options)},
        **({"policy_commit": ruling.base.commit} if ruling.base else {}),
    }


def error_report(
    problems: Sequence[Problem], options: Options, effects: Effects, inputs: Sequence[disk.InputFile] = ()
) -> dict[str, Any]:
    """Return the report of a run without a verdict: no scores, every problem."""
    report = report_of(Verdict.ERROR, (), {}, inputs, Ruling(options), effects)
    report["problems"] = [
        {"path": p.place.path, "line": p.place.line, "id": p.case_id, "field": p.field, "message": p.message}
        for p in first_of(problems)
    ]
    if (total := number(problems)) > len(report["problems"]):
        report["problem_count"] = total
    return report
