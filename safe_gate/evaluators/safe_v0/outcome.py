"""A SAFE v0 result as an outcome for comparing two runs, from the report's JSON alone. Pure."""

from __future__ import annotations

from safe_gate.core.model import JsonObject, Metric, Outcome, Test
from safe_gate.evaluators.safe_v0.metrics import METRICS, Label
from safe_gate.evaluators.safe_v0.result import Entry
from safe_gate.evaluators.safe_v0.score import RANKS

COMPARED = {
    "pass": Metric("The share of cases labelled Pass", Test.SIGN),
    **{metric: Metric(metric, Test.SIGN_FLIP) for metric in METRICS},
}
"""The scores of an outcome: the label Pass as a yes or no, CR, AH and AC as they are."""


def outcome(result: JsonObject) -> Outcome:
    """Return what one entry of `results[]` says of its case."""
    case = Entry(result)
    label = case.label
    return Outcome(
        id=case.id,
        passed=label == Label.PASS,
        rank=RANKS[label],
        words=label.value,
        scores={"pass": float(label == Label.PASS), **{metric: case.scores[metric] for metric in METRICS}},
        violations=frozenset(case.against("AH")),
        groups=frozenset([case.archetype]),
        cluster=case.cluster,
        case=case.case_digest,
        output=case.output_digest,
    )
