"""A SAFE v0 result as an outcome for comparing two runs, from the report's JSON alone. Pure."""

from __future__ import annotations

from safe_gate.core.model import Metric, Outcome, Test
from safe_gate.evaluators.safe_v0.metrics import METRICS
from safe_gate.evaluators.safe_v0.result import Result
from safe_gate.evaluators.safe_v0.score import RANKS

COMPARED = {
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
