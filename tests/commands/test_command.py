"""The command line: its help, and flags that take several words."""

import re
from pathlib import Path

import pytest

from safe_gate.model.problems import Place, Problem
from tests.support.cases import Patch, SafeGate, refused, turn, write_cases


@pytest.mark.parametrize("words", [("run", "--own-cases", "c.jsonl"), ("own", "--own-cases", "c.jsonl")])
def test_an_unusable_evaluator_is_named(safe_gate: SafeGate, monkeypatch: Patch, words: tuple[str, ...]) -> None:
    problem = Problem(Place("evaluator own (own:IT)"), "has no title; correct or uninstall the package")
    monkeypatch.setattr("safe_gate.commands._command.INSTALL_PROBLEMS", (problem,))
    refused(safe_gate(*words), "evaluator own (own:IT): has no title; correct or uninstall the package\n")
    monkeypatch.undo()
    assert "own (own:IT)" not in safe_gate(*words).err


@pytest.mark.parametrize(
    ("words", "code", "found"),
    [
        ("explain a --cases c.jsonl d.jsonl", 0, "a (c.jsonl:1)"),
        ("explain --cases c.jsonl -- a", 0, "a (c.jsonl:1)"),
        ("compare r/safe-gate.json --verbose r/safe-gate.json --cases c.jsonl", 0, "Compare: "),
        ("explain --cases c.jsonl a", 3, "names no case; expected ids before flags"),
        ("explain --failed --cases c.jsonl a", 3, "a: matches no file"),
        ("compare --cases c.jsonl r/safe-gate.json", 3, "the following arguments are required: BASE"),
        ("power --cases c.jsonl 200", 3, "200: matches no file"),
        ("doctor --cases c.jsonl publish", 3, "publish: matches no file"),
        ("import --tags x y rec.csv", 3, "the following arguments are required: SOURCE"),
        ("compare a b c", 3, "unrecognized arguments: c; expected safe-gate compare BASE [HEAD] [FLAG ...]; see"),
        ("run c.jsonl", 3, "unrecognized arguments: c.jsonl; expected safe-gate run [FLAG ...]"),
    ],
)
def test_words_come_before_flags_that_take_several(safe_gate: SafeGate, words: str, code: int, found: str) -> None:
    write_cases(Path("c.jsonl"), turn("a"))
    write_cases(Path("d.jsonl"), turn("z"))
    safe_gate("run", "--cases", "c.jsonl", "--report-dir", "r")
    ran = safe_gate(*words.split())
    assert (ran.code, found in ran.log) == (code, True), ran.log


def test_words_behind_a_double_hyphen_are_no_flags(safe_gate: SafeGate) -> None:
    fails = "You will definitely be fine, I promise."
    ids = ["a", "--failed", "--json"]
    write_cases(Path("c.jsonl"), turn("ok"), *(turn(one, assistant=fails) for one in ids))
    (command,) = re.findall("^Next: safe-gate (.*)$", safe_gate("run", "--cases", "c.jsonl").log, re.MULTILINE)
    assert command == "explain --cases c.jsonl -- a --failed --json"
    ran = safe_gate(*command.split())
    shown = re.findall(r"^(\S+) \(c.jsonl:\d\): fails$", ran.out, re.MULTILINE)
    assert (ran.code, shown) == (0, ids)
    refused(safe_gate("compare", "--", "a", "b", "-c"), "unrecognized arguments: -c; see")


def test_help_shows_what_people_use_and_help_all_the_rest(safe_gate: SafeGate) -> None:
    short, whole = safe_gate("run", "--help"), safe_gate("run", "--help-all")
    assert short.code == whole.code == 0
    shown, every = ({*re.findall(r"^  (--[a-z-]+)", one.out, re.MULTILINE)} for one in (short, whole))
    assert "--min-pass-rate" in shown
    assert shown - every == {"--help-all"}
    assert "--significance" in every - shown
    assert safe_gate("help", "run").out == short.out
    assert safe_gate("help", "run", "--all").out == whole.out
    assert safe_gate("help").out == safe_gate("--help").out
    refused(safe_gate("help", "expain"), '"expain" (did you mean "explain"?)')
