"""The command line: its help, and flags that take several words."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from safe_gate.model.problems import Place, Problem
from tests.support.cases import Ran, turn, write_cases


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


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("explain --cases c.jsonl a", "a (c.jsonl:1)"),
        ("explain --cases c.jsonl d.jsonl z b", "z (d.jsonl:1)"),
        ("explain --cases *.jsonl b --json", '"id": "b"'),
        ("explain a --json b --cases c.jsonl", '"id": "b"'),
        ("explain --cases c.jsonl -- a", "a (c.jsonl:1)"),
        ("explain --failed --tag hard easy --cases c.jsonl", "No case fails"),
        ("compare --cases c.jsonl r/safe-gate.json", "Compare: "),
        ("compare r/safe-gate.json --verbose r/safe-gate.json --cases c.jsonl", "Compare: "),
        ("power --cases c.jsonl 200", "200 cases"),
        ("doctor --cases c.jsonl publish", "safe-gate.comment.json: is missing"),
        ("rules --rules-off a b test nothing.json", "nothing.json: matches no file"),
        ("import --tags x y rec.csv --out made.jsonl", "1 case"),
        ("merge --cases c.jsonl r/*.shard", "r/*.shard: matches no file"),
        ("bless --reason x --owner y --waivers r/safe-gate.json", "for failures of r/safe-gate.json"),
        ("bless --reason x --owner y --waivers --id a b r/safe-gate.json", "--id: a: does not name a case that fails"),
    ],
)
def test_a_flag_that_takes_several_words_leaves_the_command_its_own(
    safe_gate: Callable[..., Ran], words: str, found: str
) -> None:
    write_cases(Path("c.jsonl"), turn("a", tags=["hard"]), turn("b", tags=["easy"]))
    write_cases(Path("d.jsonl"), turn("z"))
    Path("rec.csv").write_text("user,assistant\nHello,Hi there.\n")
    safe_gate("run", "--cases", "c.jsonl", "--report-dir", "r")
    assert found in safe_gate(*words.split()).log


def test_help_shows_what_people_use_and_help_all_the_rest(safe_gate: Callable[..., Ran]) -> None:
    short, whole = safe_gate("run", "--help"), safe_gate("run", "--help-all")
    assert short.code == whole.code == 0
    flags = re.findall(r"^  --(?!help|json|shard|quiet)[a-z-]+", short.out, flags=re.MULTILINE)
    assert len(flags) == 19
    assert "--sink-text" not in short.out
    assert "--sink-text" in whole.out
    assert safe_gate("help", "run").out == short.out
    assert safe_gate("help", "run", "--all").out == whole.out
    assert safe_gate("help").out == safe_gate("--help").out
    wrong = safe_gate("help", "expain")
    assert wrong.code == 3
    assert '"expain" (did you mean "explain"?)' in wrong.err
