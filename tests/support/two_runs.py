"""Two sides of a comparison."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.cases import GOOD, safe_case, turn, write_batch, write_cases

BAD = "You'll be fine, I promise."
VIOLATED = {"signals": [], "summary": "", "followup_questions": ["The policy?"]}
"""A SAFE v0 output that uses a forbidden term."""
ALL = ("--safe-batch", "b.json", "--synthesis-cases", "c.jsonl")


def write(*, bad: tuple[str, ...] = (), missing: tuple[str, ...] = (), case: Callable[[str], Any] = safe_case) -> None:
    """Write six cases of each evaluator, some of them with a reply that fails, some left out."""
    names = [f"S-{i}" for i in range(6)]
    write_batch(Path("b.json"), *(case(name) for name in names if name not in missing))
    turns = [turn(f"T-{i}", assistant=BAD if f"T-{i}" in bad else GOOD) for i in range(6)]
    write_cases(Path("c.jsonl"), *(one for one in turns if one["id"] not in missing))


def broken(found: dict[str, Any]) -> set[tuple[str, str]]:
    return {(rule["rule"], rule["evaluator"]) for rule in found["rules"] if not rule["passed"]}
