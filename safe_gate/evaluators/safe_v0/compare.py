"""A SAFE v0 result as an outcome for comparing two runs, from the report's JSON alone. Pure."""

from __future__ import annotations

from typing import Any

from safe_gate.core.given import Scored
from safe_gate.evaluators.safe_v0.metrics import METRICS
from safe_gate.evaluators.safe_v0.part import Part
from safe_gate.evaluators.safe_v0.result import Result
from safe_gate.evaluators.safe_v0.score import RANKS, Policy
from safe_gate.model.codec import JsonObject
from safe_gate.model.results import Metric, Outcome, Test

metrics = {
    "pass": Metric("The share of cases labelled Pass", Test.SIGN),
    **{metric: Metric(metric, Test.SIGN_FLIP) for metric in METRICS},
}
"""The scores of an outcome: the label Pass as a yes or no, CR, AH and AC as they are."""


def outcome(result: Result) -> Outcome:
    """Return what a result says of its case."""
    label = result.label
    return Outcome(
        id=result.id,
        passed=result.passed,
        rank=RANKS[label],
        words=label.value,
        scores={"pass": float(result.passed), **result.scores},
        violations=frozenset(result.violations),
        groups=frozenset([result.archetype]),
        cluster=result.cluster,
        case=result.digests["case"],
        output=result.digests["output"],
    )


guards = {
    "new-violations": ("newly uses a forbidden term", "newly use a forbidden term"),
    "label-drops": ("falls from Pass to Fail", "fall from Pass to Fail"),
}
compared_on = ""


def metric(name: str) -> Metric:
    """Return how results are compared by a score."""
    return metrics[name]


def scored_by(part: Part | Scored | None, _policy: JsonObject) -> Any:
    """Return the policy that a report records."""
    return part.policy if part else None


def recorded(policy: JsonObject) -> Scored:
    """Return what a report records of its settings."""
    return Scored(Policy.of(policy).to_json())
