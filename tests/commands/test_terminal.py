"""What a terminal is shown and nothing else is: colours, tables that fit, how far a run is; and `--quiet`."""

import io
import os
import pty
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from safe_gate import cli
from safe_gate.commands import _command
from tests.support.cases import BAD, SILENT, Patch, SafeGate, safe_case, turn, write_batch, write_cases

RUN = ("run", "--cases", "c.jsonl", "--batch", "b.json")
_SGR = re.compile(r"\x1b\[\d*m")
_PROGRESS = re.compile(r"\r[\d,]+ cases scored \.\.\.|\r\x1b\[K")  # on a machine where the run takes long
_TABLE = tuple("┌│├└╔║╠╚")


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _inputs(monkeypatch: Patch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    write_cases(Path("c.jsonl"), *(turn(f"t{i}", assistant=BAD) for i in range(4)), turn("good"))
    write_batch(Path("b.json"), safe_case("s1"), safe_case("s2", output=SILENT, archetype="Delay_Driver_Profiler"))


def shown(monkeypatch: Patch, *arguments: str, **environ: str) -> tuple[str, str]:
    """Return what a run writes to the two streams of a terminal. By its clock, the run takes no time."""
    with monkeypatch.context() as patch:
        patch.setattr(_command, "Progress", partial(_command.Progress, clock=lambda: 0))
        for name, value in environ.items():
            patch.setenv(name, value)
        out, err = Terminal(), Terminal()
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        assert cli.main([*RUN, *arguments]) == 1
    return out.getvalue(), err.getvalue()


@pytest.mark.parametrize(
    ("environ", "is_coloured"),
    [
        *((one, True) for one in ({}, {"NO_COLOR": ""}, {"TERM": "dumb", "FORCE_COLOR": "1"})),
        *((one, False) for one in ({"NO_COLOR": "1"}, {"FORCE_COLOR": "0"}, {"TERM": "dumb"})),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
    ],
    ids=str,
)
def test_colours_can_be_turned_off(monkeypatch: Patch, environ: dict[str, str], is_coloured: bool) -> None:
    out, err = shown(monkeypatch, **environ)
    assert ("Gate: \x1b[31mFAIL\x1b[0m (2 of 2 rules broken)" in out) is is_coloured
    assert ("│ \x1b[31mBROKEN\x1b[0m " in out) is is_coloured
    assert ("│ \x1b[32mPASS\x1b[0m " in out) is is_coloured
    assert ("\x1b" in out) is is_coloured
    assert err == ""


def test_a_real_terminal_shows_what_a_log_does_in_colour(safe_gate: SafeGate, monkeypatch: Patch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    plain = safe_gate(*RUN).out
    assert "\x1b" not in plain
    master, slave = pty.openpty()
    command = [sys.executable, "-I", "-m", "safe_gate", *RUN]
    with subprocess.Popen(command, stdout=slave, stderr=slave, env=os.environ) as process:
        os.close(slave)
        read = b""
        try:
            while some := os.read(master, 65_536):
                read += some
        except OSError:  # the other end is closed
            pass
    os.close(master)
    assert process.returncode == 1
    monkeypatch.setenv("FORCE_COLOR", "1")
    for text in (read.decode("utf-8").replace("\r\n", "\n"), safe_gate(*RUN).out):
        assert "\x1b[31mFAIL\x1b[0m" in text
        assert _SGR.sub("", _PROGRESS.sub("", text)) == plain


@pytest.mark.parametrize("columns", [68, 80, 100])
def test_tables_fit_the_terminal(safe_gate: SafeGate, monkeypatch: Patch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    plain = safe_gate(*RUN).out
    out = _SGR.sub("", shown(monkeypatch, COLUMNS=str(columns))[0])
    tables = [line for line in out.splitlines() if line.startswith(_TABLE)]
    assert tables
    assert max(map(len, tables)) <= columns
    assert max(len(line) for line in plain.splitlines() if line.startswith(_TABLE)) > 100

    def letters(text: str) -> list[str]:
        return sorted(re.findall(r"\w", text))

    assert letters(out) == letters(plain)


def test_a_comparison_in_a_log_is_80_columns_wide_and_shows_the_evidence_of_a_case_once(safe_gate: SafeGate) -> None:
    write_cases(Path("old.jsonl"), *(turn(f"t{i}") for i in range(5)))
    assert safe_gate("run", "--cases", "old.jsonl", "--report-dir", "old").code == 0
    compared = (*RUN[:3], "--baseline", "old/safe-gate.json")
    for command in (
        compared,
        ("compare", "old/safe-gate.json", "--cases", "c.jsonl"),
        ("doctor", "--all", *RUN[1:]),
        ("eval", "--cases", "c.jsonl", "--verbose"),
        ("score", "--batch", "b.json", "--verbose"),
        ("power", "200"),
    ):
        tables = [line for line in safe_gate(*command).out.splitlines() if line.strip().startswith(_TABLE)]
        assert max(map(len, tables)) <= 80, command
    out = safe_gate(*compared).out
    assert out.count("  t1 (c.jsonl:2) fails") == 1
    assert len(re.findall(r"│ Baseline +│ This run +│", out)) == 4
    assert re.search(r'│ passes +│ directive "You should"', out)
    assert out.count('directive "You should"') == 4
    assert out.endswith("\nNext: safe-gate explain t0 t1 t2 --cases c.jsonl\n")


def test_a_run_shows_how_far_it_is_from_two_seconds_on() -> None:
    seconds = iter([0.0, 1.9, 2.0, 2.05, 2.2])
    stream = io.StringIO()
    progress = _command.Progress(stream, lambda: next(seconds))
    for cases in (1_000, 234, 1, 1):
        progress.add(cases)
    assert stream.getvalue() == "\r1,234 cases scored ...\r1,236 cases scored ..."
    progress.clear()
    progress.clear()
    assert stream.getvalue().endswith("1,236 cases scored ...\r\x1b[K")


def test_a_long_run_shows_on_a_terminal_how_far_it_is(safe_gate: SafeGate, monkeypatch: Patch) -> None:
    monkeypatch.setattr(_command, "_PATIENCE", 0)
    out, err = shown(monkeypatch)
    assert err == "\r2 cases scored ...\r\x1b[K"  # those after it come at the same moment
    assert "cases scored" not in out
    assert shown(monkeypatch, "--quiet")[1] == ""
    assert safe_gate(*RUN).err == ""


def test_a_quiet_run_prints_its_verdict_alone_and_writes_all_reports(safe_gate: SafeGate) -> None:
    ran = safe_gate(*RUN, "--quiet")
    verdict = "Gate: FAIL (2 of 2 rules broken: min-pass-rate, max-unexpected-failures)\n"
    assert (ran.code, ran.out, ran.err) == (1, verdict, "")
    assert {file.name for file in Path("reports").iterdir()} == {"safe-gate.json", "safe-gate.md"}
    assert safe_gate("eval", "--cases", "c.jsonl", "--quiet").out == "Eval: FAIL (4 unexpected failures, 0 allowed)\n"
    ran = safe_gate("compare", "reports/safe-gate.json", "reports/safe-gate.json", "--quiet")
    assert ran.out.startswith("Compare: ")
    assert ran.out.count("\n") == 1


@pytest.mark.parametrize("flags", [("--max-vacuous", "0"), ("--min-label-accuracy", "0.9")])
def test_no_next_command_where_none_shows_what_broke_a_rule(safe_gate: SafeGate, flags: tuple[str, str]) -> None:
    write_cases(Path("c.jsonl"), turn("a", user="Hello.", assistant="Hello, how are you?", checks=["topic_pivot"]))
    safe_gate("run", "--cases", "c.jsonl", "--report-dir", "old")
    for more in ((), ("--baseline", "old/safe-gate.json")):
        ran = safe_gate("run", "--cases", "c.jsonl", *flags, *more)
        assert (ran.code, "Next:" in ran.out) == (1, False), ran.log


SAME = [turn(f"s{i}", user=f"Question {i}?", assistant="Thank you for writing to us.") for i in range(4)]
HARMLESS = turn("negative", tags=["negative_example"])
"""A negative example that passes, which is to review, and breaks no rule that is on by default."""


@pytest.mark.parametrize(
    ("cases", "flags", "command"),
    [
        (SAME, (), "explain s0 s1 s2 --cases"),
        ([HARMLESS, *SAME], (), "explain s0 s1 s2 --cases"),
        ([HARMLESS, turn("g", expected={"topic_pivot": False})], ("--min-label-accuracy", "0.9"), "explain g --cases"),
        ([HARMLESS], ("--baseline", "old.json"), "compare old.json --verbose --synthesis-cases"),
    ],
)
def test_the_next_command_shows_what_broke_a_rule(safe_gate: SafeGate, cases: Any, flags: Any, command: str) -> None:
    write_cases(Path("c.jsonl"), turn("gone"), HARMLESS)
    assert safe_gate("run", "--cases", "c.jsonl").code == 0
    Path("reports/safe-gate.json").rename("old.json")
    write_cases(Path("c.jsonl"), *cases)
    assert f"\nNext: safe-gate {command} c.jsonl\n" in safe_gate("run", "--cases", "c.jsonl", *flags).out
