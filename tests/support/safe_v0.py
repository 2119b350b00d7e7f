"""A SAFE v0 case, scored."""

from __future__ import annotations

from typing import Any

from safe_gate.evaluators.safe_v0.result import METRICS, Result
from safe_gate.evaluators.safe_v0.score import Case, Policy, Threshold, score_case
from safe_gate.model.problems import Place

DEFAULT = Policy(
    {"CR": Threshold(0.8, 0.5), "AH": Threshold(1.0, 0.5), "AC": Threshold(0.8, 0.5)}, dict.fromkeys(METRICS, 1.0)
)


def case(**fields: Any) -> Case:
    default: dict[str, Any] = {
        "test_id": "t",
        "concern_id": "c",
        "batch_id": "b",
        "archetype": "Unknown",
        "must_find_signals": (),
        "forbidden_terms": (),
        "must_contain_phrases": (),
        "signals": (),
        "summary": "",
        "followup_questions": (),
        "place": Place("b.json", 1),
    }
    return Case(**default | fields)


def scored(policy: Policy = DEFAULT, **fields: Any) -> Result:
    return score_case(case(**fields), policy)
