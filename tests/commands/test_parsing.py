"""The help of a command's flags."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from safe_gate.core.model import Place, Problem
from tests.support.cases import Ran


def test_the_help_of_a_flag_does_not_ask_for_a_value_per_line(safe_gate: Callable[..., Ran]) -> None:
    words = " ".join(safe_gate("run", "--help").out.split())
    assert "rule packs (JSON): paths or globs." in words
    assert "these tags or archetypes. Reports name" in words
    assert words.count("one per line") == words.count("events, one per line") == 1


@pytest.mark.parametrize("words", [("run", "--own-cases", "c.jsonl"), ("own", "--own-cases", "c.jsonl")])
def test_a_refused_command_line_names_the_evaluator_that_cannot_be_used(
    safe_gate: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    problem = Problem(Place("evaluator own (own:IT)"), "has no title; correct or uninstall the package")
    monkeypatch.setattr("safe_gate.commands._parsing.PROBLEMS", (problem,))
    ran = safe_gate(*words)
    assert ran.code == 3
    assert "evaluator own (own:IT): has no title; correct or uninstall the package\n" in ran.err
    monkeypatch.undo()
    assert "own (own:IT)" not in safe_gate(*words).err
