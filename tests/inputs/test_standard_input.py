"""Standard input in place of a file: `-`."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cases import BAD, Patch, Ran, SafeGate, refused, report, safe_case, turn, write_batch, write_cases
from tests.support.git import commit_here


@pytest.fixture
def piped(safe_gate: SafeGate, monkeypatch: Patch) -> Callable[..., Ran]:
    def run(text: str, *arguments: str) -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode("utf-8"))))
        return safe_gate(*arguments)

    return run


CASES = f"{json.dumps(turn('a'))}\n{json.dumps(turn('b', assistant=BAD))}\n"


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_cases_are_read_from_standard_input_as_from_a_file(piped: Callable[..., Ran], jobs: str) -> None:
    Path("c.jsonl").write_text(CASES, "utf-8")
    assert piped("", "run", "--synthesis-cases", "c.jsonl").code == 1
    whole = report()
    assert piped(CASES, "run", "--synthesis-cases", "-", "--jobs", jobs, "--reports", "json,html,sarif").code == 1
    found = report()
    assert found["provenance"]["inputs"] == [whole["provenance"]["inputs"][0] | {"path": "-"}]
    assert {one["source"]["path"] for one in found["synthesis"]["results"]} == {"-"}
    assert found["provenance"]["digests"] == whole["provenance"]["digests"]


def test_every_command_that_reads_cases_takes_it(piped: Callable[..., Ran]) -> None:
    assert piped(CASES, "eval", "--cases", "-").code == 2
    assert "b (-:2): fails" in piped(CASES, "explain", "b", "--cases", "-").out
    assert piped(CASES, "validate", "-").out == "1 file valid: 2 cases\n"
    assert piped(CASES, "power", "--synthesis-cases", "-").code == 0


def test_it_stands_beside_files_and_is_read_once(piped: Callable[..., Ran]) -> None:
    write_cases(Path("c.jsonl"), turn("c"))
    assert piped(CASES, "run", "--synthesis-cases", "c.jsonl", "-").code == 1
    assert [one["id"] for one in report()["synthesis"]["results"]] == ["a", "b", "c"]
    assert piped(CASES, "run", "--synthesis-cases", "-", "-").code == 1
    assert len(report()["synthesis"]["results"]) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "-: is empty: no cases; expected one JSON object per line"),
        ("{\n", "-:1: is not valid JSON: it breaks off"),
        (CASES + json.dumps(turn("a")), "-:3: a: id: appears at -:1 too"),
        ("prompt,response\nhi,hello\n", "-: is not a file of Synthesis cases; convert it: safe-gate import - --out"),
    ],
)
def test_what_is_wrong_with_it_is_named(piped: Callable[..., Ran], text: str, words: str) -> None:
    for command in ("eval", "run"):
        refused(piped(text, command, "--cases", "-"), words)


def test_a_commit_has_no_standard_input(piped: Callable[..., Ran]) -> None:
    write_cases(Path("c.jsonl"), turn("c"))
    base, words = commit_here(), "is a commit, which has no standard input (-), so its cases are unknown; name a file"
    for names in (("-",), ("c.jsonl", "-")):
        refused(piped(CASES, "run", "--synthesis-cases", *names, "--baseline", base), words)
    write_batch(Path("b.json"), safe_case("s"))
    assert (
        piped(CASES, "run", "--safe-batch", "b.json", "--synthesis-cases", "-", "--baseline", commit_here()).code == 1
    )
    assert report()["comparison"]["without_baseline"] == ["synthesis"]
    piped(CASES, "run", "--synthesis-cases", "-", "--report-dir", "old")
    piped(CASES, "run", "--synthesis-cases", "-", "--baseline", "old/safe-gate.json")
    assert report()["comparison"]["synthesis"]["cases"]["both"] == 2


def test_a_report_of_standard_input_cannot_be_verified(piped: Callable[..., Ran]) -> None:
    piped(CASES, "run", "--synthesis-cases", "-")
    ran = piped("", "verify", "reports/safe-gate.json")
    assert (ran.code, "NOT CHECKED" in ran.log) == (3, True)
    Path("-").write_text(CASES, "utf-8")
    assert piped("", "eval", "--cases", "./-").code == 2  # a file called dash has a path
    assert piped("prompt,response\nhi,hello\n", "import", "-", "--out", "c.jsonl").code == 0
