"""What two runs are compared by: a SAFE v0 result as an outcome, from the report's JSON alone. Pure."""

from __future__ import annotations

from safe_gate.core.model import JsonObject, Label, Metric, Outcome, Test
from safe_gate.evaluators.safe_v0.metrics import METRICS
from safe_gate.evaluators.safe_v0.score import RANKS

COMPARED = {
    "pass": Metric("The share of cases labelled Pass", Test.SIGN),
    **{metric: Metric(metric, Test.SIGN_FLIP) for metric in METRICS},
}
"""The scores of an outcome: the label Pass as a yes or no, CR, AH and AC as they are."""


def outcome(result: JsonObject) -> Outcome:
    """Return what one entry of `results[]` says of its case."""
    label = result["label"]
    return Outcome(
        id=result["test_id"],
        passed=label == Label.PASS,
        rank=RANKS[label],
        words=label,
        scores={"pass": float(label == Label.PASS), **{metric: result["scores"][metric] for metric in METRICS}},
        violations=frozenset(result["details"]["AH"]["violations"]),
        groups=frozenset([result["archetype"]]),
        cluster=result.get("cluster", ""),
        case=result["digests"]["case"],
        output=result["digests"]["output"],
    )
