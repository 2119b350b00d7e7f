"""What tests share: the command line as a function, a clean environment, case files to write."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from safe_gate import cli
from safe_gate.inputs.files import load_schema
from tests.fake_github import gate, github, in_actions, start, waits  # noqa: F401 - fixtures for every test

DATA = Path(__file__).parent / "data"
REPOSITORY = Path(__file__).parent.parent

settings.register_profile("untimed", deadline=None)  # how fast a busy machine is proves nothing
settings.load_profile("untimed")


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def log(self) -> str:
        return self.out + self.err


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Run every test in an empty folder, without a runner's or a user's variables."""
    for name in list(os.environ):
        if name.startswith(("GITHUB_", "INPUT_", "SAFE_", "SOURCE_DATE_EPOCH")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def safe_gate(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run a command in this process."""

    def run(*arguments: str | Path) -> Ran:
        capsys.readouterr()
        try:
            code = cli.main([str(argument) for argument in arguments])
        except SystemExit as exit_:  # --help and --version leave through argparse
            code = int(exit_.code or 0)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run


GOOD = "That sounds so hard, and I'm sorry. Would you like to talk about what happened with the exam?"
BAD = "You should stop moping. You'll definitely be fine, I promise."
"""Replies that pass every check, and that fail every one."""
SILENT = {"signals": [], "summary": "Nothing was found.", "followup_questions": []}
"""A SAFE v0 output that finds nothing."""


def report() -> dict[str, Any]:
    """Return the report of the last run, which is valid."""
    found: dict[str, Any] = json.loads(Path("reports/safe-gate.json").read_text("utf-8"))
    assert load_schema("report").faults(found) == ()
    return found


def turn(id_: str, **fields: Any) -> dict[str, Any]:
    """Return a Synthesis case that passes every check, with fields replaced."""
    return {
        "id": id_,
        "user": "I failed my exam and I feel awful about it.",
        "assistant": GOOD,
        "checks": ["agency_language", "unverifiable_reassurance", "topic_pivot"],
    } | fields


def safe_case(id_: str, **fields: Any) -> dict[str, Any]:
    """Return a SAFE v0 test case that passes, its output inline, with fields replaced."""
    return {
        "test_id": id_,
        "concern_id": "I25",
        "expectations": {
            "signal_generation": {"must_find_signals": ["fever"]},
            "event_summary": {"must_contain_phrases": ["went home"]},
            "followup_questions": {"forbidden_terms": ["policy"]},
        },
        "output": {"signals": ["Fever"], "summary": "She went home.", "followup_questions": ["Who called?"]},
    } | fields


def write_cases(path: Path, *cases: dict[str, Any]) -> Path:
    """Write cases as JSONL."""
    path.write_text("".join(json.dumps(case) + "\n" for case in cases), "utf-8")
    return path


def write_batch(path: Path, *cases: dict[str, Any], **fields: Any) -> Path:
    """Write a SAFE v0 batch."""
    path.write_text(json.dumps({"test_cases": list(cases)} | fields), "utf-8")
    return path
