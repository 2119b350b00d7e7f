"""The event of a Synthesis case. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from safe_gate.core.model import Judgement
from safe_gate.evaluators.synthesis.result import Result

RESULT = "safe.synthesis.result"
"""The type of the event of a case."""


def result(case: Result, judgements: Sequence[Judgement], *, with_text: bool) -> dict[str, Any]:
    """Return the event of a case. The deciding words are in it only `with_text`."""
    return {
        "id": case.id,
        "pass": case.passed,
        "as_expected": case.is_as_expected,
        "is_negative_example": case.is_negative_example,
        "tags": list(case.tags),
        "checks": {one.by: _check(one, with_text=with_text) for one in judgements},
    }


def _check(one: Judgement, *, with_text: bool) -> dict[str, Any]:
    rules = list(dict.fromkeys(hit.rule for hit in one.hits))
    hits = {"hits": [hit.as_quote() for hit in one.hits]} if with_text else {}
    return {"verdict": one.outcome, "rules": rules, **hits}
