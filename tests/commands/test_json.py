"""`--json`: one object on standard output whatever happens, with problems by code, place and fix."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from safe_gate.model.problems import Code
from tests.support.cases import BAD, REPOSITORY, Patch, SafeGate, bare_case, turn, write_batch, write_cases

PAGE = (REPOSITORY / "docs/json.md").read_text("utf-8")


@pytest.fixture(autouse=True)
def _inputs() -> None:
    write_cases(Path("c.jsonl"), turn("good"), turn("bad", assistant=BAD))
    write_cases(Path("g.jsonl"), turn("good"), turn("bad"))


def told(safe_gate: SafeGate, *words: str) -> dict[str, Any]:
    """Return what a command prints on standard output, which is one object on a line."""
    ran = safe_gate(*words)
    assert ran.out.count("\n") == 1
    found: dict[str, Any] = json.loads(ran.out)
    assert (found["command"], found["exit_code"]) == (words[0], ran.code)
    for name in found:
        assert f"`{name}`" in PAGE, name
    return found


def codes(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the codes, places and ids of problems, each of which says what to do."""
    assert all(one["fix"] and one["message"] for one in found["problems"])
    return [
        (one["code"], f"{one['path']}:{one['line']}{':' * bool(one['id'])}{one['id']}") for one in found["problems"]
    ]


def test_a_run_tells_its_verdict_its_cases_and_what_to_do_next(safe_gate: SafeGate) -> None:
    found = told(safe_gate, "run", "--cases", "g.jsonl", "--report-dir", "old", "--json")
    assert (found["verdict"], found["exit_code"], found["cases"], found["problems"]) == ("pass", 0, [], [])
    against = ("--baseline", "old/safe-gate.json")
    found = told(safe_gate, "run", "--cases", "c.jsonl", *against, "--json")
    assert (found["verdict"], found["exit_code"], found["case_count"]) == ("fail", 1, 1)
    (case,) = found["cases"]
    assert (case["id"], case["path"], case["line"], case["since_baseline"]) == ("bad", "c.jsonl", 2, "newly failing")
    assert any('"You should"' in one for one in case["evidence"])
    assert case["baseline_evidence"] == ["passes"]
    assert found["reports"] == ["reports/safe-gate.json", "reports/safe-gate.md"]
    assert found["next"] == "safe-gate explain bad --cases c.jsonl"
    assert safe_gate(*found["next"].split()[1:]).out.startswith("bad (c.jsonl:2): fails")
    assert "Gate: FAIL" in safe_gate("run", "--cases", "c.jsonl", "--json").err
    found = told(safe_gate, "run", "--cases", "c.jsonl", "--json", "--shard", "1/2")
    assert found["reports"] == ["reports/safe-gate.shard-1-of-2.json"]


def test_explain_compare_doctor_and_validate_tell_what_they_show(safe_gate: SafeGate) -> None:
    for name in ("g", "c"):
        safe_gate("run", "--cases", f"{name}.jsonl", "--report-dir", name)
    (case,) = told(safe_gate, "explain", "bad", "--cases", "c.jsonl", "--json")["cases"]
    assert (case["id"], case["passed"]) == ("bad", False)
    found = told(safe_gate, "compare", "g/safe-gate.json", "--json", "c/safe-gate.json")
    assert (found["verdict"], found["exit_code"]) == ("pass", 0)
    assert [one["change"] for one in found["comparison"]["synthesis"]["changes"]] == ["newly failing"]
    found = told(safe_gate, "doctor", "--cases", "c.jsonl", "--json")
    given = [one for one in found["settings"] if one["from"] != "default"]
    assert given == [{"name": "synthesis-cases", "value": "c.jsonl", "from": "flag", "name_there": "--synthesis-cases"}]
    assert found["reads"]["Synthesis cases"] == "2"
    assert found["github"]["event"] == "none"
    assert told(safe_gate, "validate", "c.jsonl", "g.jsonl", "--json")["cases"] == 4


@pytest.mark.parametrize(
    ("words", "code", "place"),
    [
        ("run", "no-input", "safe-batch or synthesis-cases:0"),
        ("run --cases missing.jsonl", "unreadable-file", "missing.jsonl:0"),
        ("run --cases c.jsonl --nonsense", "usage", "command line:0"),
        ("run --cases c.jsonl --min-pass-rate 2", "invalid-setting", "--min-pass-rate:0"),
        ("run --cases c.jsonl --config wrong.json", "invalid-setting", "wrong.json:1"),
        ("run --cases broken.jsonl", "invalid-input", "broken.jsonl:2"),
        ("run --cases twice.jsonl", "duplicate-id", "twice.jsonl:2:a"),
        ("run --batch lacking.json", "missing-output", "lacking.json:1:s"),
        ("run --cases c.jsonl --baseline no.json", "base-unavailable", "no.json:0"),
        ("run --cases c.jsonl --report-dir c.jsonl", "unwritable-file", "c.jsonl/safe-gate.json:0"),
        ("run --cases c.jsonl --jobs tcp://127.0.0.1:1", "unavailable", "--jobs:0"),
        ("validate broken.jsonl", "invalid-input", "broken.jsonl:2"),
        ("validate nowhere.json", "unreadable-file", "nowhere.json:0"),
        ("explain nobody --cases c.jsonl", "unknown-case", "explain:0:nobody"),
        ("compare", "usage", "command line:0"),
        ("compare nowhere.json --cases c.jsonl", "base-unavailable", "nowhere.json:0"),
    ],
)
def test_a_command_that_cannot_judge_tells_why_by_code_and_place(
    safe_gate: SafeGate, monkeypatch: Patch, words: str, code: str, place: str
) -> None:
    monkeypatch.setattr("safe_gate.addons.scale.cluster.PATIENCE", 0.2)
    Path("wrong.json").write_text('{"no-such-key": 1}')
    Path("broken.jsonl").write_text(f"{json.dumps(turn('a'))}\n{{}}\n")
    write_cases(Path("twice.jsonl"), turn("a"), turn("a"))
    write_batch(Path("lacking.json"), bare_case("s"))
    found = told(safe_gate, *words.split(), "--json")
    assert found["exit_code"] == 3
    assert (code, place) in codes(found)
    assert found["problem_count"] == len(found["problems"])


def test_an_internal_error_is_told_too(safe_gate: SafeGate, monkeypatch: Patch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("secret text")

    monkeypatch.setattr("safe_gate.one_run.judge", broken)
    monkeypatch.setattr("safe_gate.commands.validate._checked", broken)
    for command in ("run", "validate c.jsonl"):
        found = told(safe_gate, *command.split(), *(["--cases", "c.jsonl"] if command == "run" else []), "--json")
        assert codes(found) == [("internal-error", "safe-gate:0")]


def test_what_is_recorded_is_only_ever_text_in_the_object(safe_gate: SafeGate) -> None:
    evil = '::error::x \x1b[2J ##[group]y \u202e"}'
    write_cases(Path("e.jsonl"), turn(evil, assistant=f"You should stop. {evil}"))
    for command in (("run",), ("explain", "--failed"), ("doctor",)):
        ran = safe_gate(*command, "--cases", "e.jsonl", "--json")
        assert json.loads(ran.out)
        assert ran.out.isascii()
        assert "##[" not in ran.out
        assert "\x1b" not in ran.out + ran.err


def test_the_page_names_every_code_and_no_other() -> None:
    named = re.findall(r"^\| `([a-z-]+)` \|", PAGE.partition("## Codes")[2], re.MULTILINE)
    assert named == [code.value for code in Code]


def test_the_next_command_can_be_pasted_whatever_the_ids_are(safe_gate: SafeGate) -> None:
    ids = ["-x; rm -rf /", "a b'c\x1b[2J$HOME", "::error::x"]
    write_cases(Path("h.jsonl"), *(turn(one, assistant=BAD) for one in ids))
    out = safe_gate("run", "--cases", "h.jsonl").out
    command = out.splitlines()[-1].removeprefix("Next: ")
    assert "\x1b" not in command
    assert command == told(safe_gate, "run", "--cases", "h.jsonl", "--json")["next"]
    words = shlex.split(command)
    assert words[:2] == ["safe-gate", "explain"]
    found = told(safe_gate, *words[1:2], "--json", *words[2:])
    assert [one["id"] for one in found["cases"]] == ids


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
def test_an_object_that_is_lost_leaves_no_command_with_exit_code_0() -> None:
    run = ["run", "--cases"]
    for words, code in (([*run, "c.jsonl"], 1), ([*run, "g.jsonl"], 3), (["validate", "c.jsonl"], 3)):
        with Path("/dev/full").open("w") as full:
            command = [sys.executable, "-I", "-m", "safe_gate", *words, "--json"]
            ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert ran.returncode == code
        assert ran.stderr.endswith("standard output: cannot be written: No space left on device\n")
