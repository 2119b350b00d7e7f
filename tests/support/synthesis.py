"""Cases of Synthesis, evaluated."""

from __future__ import annotations

from typing import Any

from safe_gate.evaluators.synthesis.checks.score import Case, score_case
from safe_gate.model import codec
from safe_gate.model.problems import Place
from tests.support.packs import load as load_rules

HURT = "My husband asked for divorce and I'm devastated."


def checked(check: str, assistant: str, user: str = HURT, profile: str = "standard") -> dict[str, Any]:
    case = Case("x", user, assistant, (check,), {}, (), Place("c.jsonl", 1))
    found: dict[str, Any] = codec.to_json(score_case(case, load_rules(profile)).checks[check])
    return found
