"""A run fetches a commit once and opens each file of either side once, whatever asks for them. So do other commands."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import BAD, GOOD, safe_case, turn, write_batch, write_cases
from tests.support.git import commit, git

_RUN = """
import json, os, sys
from collections import Counter

started, opened = Counter(), Counter()

def seen(event, arguments):
    if event == "subprocess.Popen":
        started["ls-tree" in arguments[1]] += 1
    elif event == "open" and arguments[1] == "r" and str(arguments[0]).endswith((".json", ".jsonl")):
        opened[os.path.realpath(arguments[0])] += 1

sys.addaudithook(seen)
from safe_gate.cli import main

code = main(sys.argv[1:])
print(json.dumps([code, started[True], opened]), file=sys.stderr)
"""
_FILES = {
    "safe-gate.config.json",
    "safe-gate.waivers.json",
    "cases/one.jsonl",
    "cases/two.jsonl",
    "clinical/I1_batch_1.json",
    "clinical/I1_batch_1.outputs.jsonl",
    "packs/own.json",
}
_SETTINGS = {
    "synthesis-cases": ["cases/*.jsonl"],
    "safe-batch": ["clinical/*_batch_*"],
    "rules": ["packs/*.json"],
    "max-unexpected-failures": 9,
}


def _write(path: str, content: Any) -> None:
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text(json.dumps(content) + "\n")


def _side(phrase: str, reply: str, **settings: Any) -> str:
    """Commit one side, with a phrase of its pack, a reply of a case and settings of its config; return the commit."""
    rule = {"id": "own/phrase", "phrase": phrase, "why": "Gives an order.", "hit": ["cheer up"], "miss": ["an order"]}
    pack = {"pack": "own", "check": "agency_language", "group": "negative", "field": "assistant", "about": "Orders."}
    _write("packs/own.json", {**pack, "rules": [rule]})
    waiver = {"id": "a", "check": "agency_language", "reason": "known", "owner": "us", "expires": "2099-01-01"}
    _write("safe-gate.waivers.json", {"waivers": [waiver]})
    _write("safe-gate.config.json", _SETTINGS | settings)
    Path("cases").mkdir(exist_ok=True)
    Path("clinical").mkdir(exist_ok=True)
    write_cases(Path("cases/one.jsonl"), turn("a", assistant=BAD))
    write_cases(Path("cases/two.jsonl"), turn("b", assistant=reply))
    case = safe_case("c")
    output = case.pop("output")
    write_batch(Path("clinical/I1_batch_1.json"), case)
    _write("clinical/I1_batch_1.outputs.jsonl", {"test_id": "c", "output": output})
    return commit()


def _opened(*arguments: str, **environ: str) -> tuple[int, Counter[str], Counter[str]]:
    """Run a command; return how many commits it fetched, and how often it opened files of the head and of the base."""
    command = [sys.executable, "-c", _RUN, *arguments]
    ran = subprocess.run(command, env={"PATH": "/usr/bin:/bin"} | environ, capture_output=True, text=True, check=True)
    code, fetched, opened = json.loads(ran.stderr.splitlines()[-1])
    assert code in (0, 1), ran.stderr[:2000]
    head, base = Counter[str](), Counter[str]()
    for path, times in opened.items():
        side = head if Path(path).is_relative_to(Path.cwd()) else base
        side.update({name: times for name in _FILES if path.endswith(f"/{name}")})
    return fetched, head, base


@pytest.fixture
def pull_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Commit a base and a change that has another pack and another output; return the environment of its run."""
    monkeypatch.chdir(tmp_path)
    git("init", "--quiet")
    base = _side("cheer up", GOOD)
    head = _side("(cheer|buck) up", f"{GOOD} Take your time.")
    pull = {"number": 1, "base": {"sha": base, "ref": "main"}, "head": {"sha": head, "ref": "change"}}
    _write("event.json", {"pull_request": pull})
    return {
        "GITHUB_ACTIONS": "true",
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": "event.json",
        "GITHUB_REPOSITORY": "o/r",
        "GITHUB_SHA": head,
        "GITHUB_WORKSPACE": str(tmp_path),
    }


_ONCE = Counter(_FILES)


def test_a_run_without_a_baseline_opens_each_file_once(pull_request: dict[str, str]) -> None:
    assert _opened("run", **pull_request) == (0, _ONCE, Counter())


@pytest.mark.parametrize(
    "flags",
    [
        (),
        ("--on-weakened", "fail"),
        ("--policy-ref", "base"),
        ("--reports", "json,html"),
        ("--jobs", "2"),
        ("--not-tag", "slow"),
    ],
    ids=["compared", "weakened", "base's policy", "texts shown", "processes", "filters"],
)
def test_a_run_with_a_baseline_opens_each_file_of_both_sides_once(
    pull_request: dict[str, str], flags: tuple[str, ...]
) -> None:
    assert _opened("run", "--baseline", "base", *flags, **pull_request) == (1, _ONCE, _ONCE)


def test_a_comparison_of_two_commits_opens_each_file_of_both_once(pull_request: dict[str, str]) -> None:
    fetched, _, both = _opened("compare", "HEAD~1", "HEAD", **pull_request)
    assert (fetched, both) == (2, _ONCE + _ONCE)


@pytest.mark.parametrize("command", ["explain a b c", "validate safe-gate.config.json", "validate cases/one.jsonl"])
def test_a_command_for_cases_and_files_opens_a_teams_rules_once(command: str, pull_request: dict[str, str]) -> None:
    _, opened, _ = _opened(*command.split(), **pull_request)
    assert opened["packs/own.json"] == 1


_CHANGED = """
import os, sys

opened = []

def seen(event, arguments):
    if event == "open" and arguments[1] == "r" and str(arguments[0]) == "cases/two.jsonl":
        opened.append(arguments[0])
        if len(opened) == 2:
            with open(arguments[0], "a") as file:
                file.write(chr(10))

sys.addaudithook(seen)
from safe_gate.cli import main

sys.exit(main(["run", "--baseline", "base", "--policy-ref", "base"]))
"""


def test_a_file_that_changes_before_it_is_read_by_other_settings_gives_no_verdict(
    pull_request: dict[str, str],
) -> None:
    head = _side("cheer up", GOOD, **{"default-checks": ["topic_pivot"]})
    Path("event.json").write_text(Path("event.json").read_text().replace(pull_request["GITHUB_SHA"], head))
    environ = {"PATH": "/usr/bin:/bin"} | pull_request | {"GITHUB_SHA": head}
    ran = subprocess.run([sys.executable, "-c", _CHANGED], env=environ, capture_output=True, text=True, check=False)
    assert ran.returncode == 3
    assert "cases/two.jsonl: was changed while it was read; run again" in ran.stdout + ran.stderr
