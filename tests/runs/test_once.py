"""A run fetches a commit once, and reads a config file of each side once, whatever asks for them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.support.git import commit, git

_RUN = """
import sys
from collections import Counter

started, opened = Counter(), Counter()

def seen(event, arguments):
    if event == "subprocess.Popen":
        started["ls-tree" in arguments[1]] += 1
    elif event == "open" and str(arguments[0]).endswith("safe-gate.config.json") and arguments[1] == "r":
        opened[str(arguments[0])] += 1

sys.addaudithook(seen)
from safe_gate.cli import main

code = main(["run", "--baseline", "base", "--policy-ref", "base", "--on-weakened", "fail"])
print(code, started[True], sorted(opened.values()), file=sys.stderr)
"""


def test_a_commit_that_judges_and_is_compared_with_is_fetched_once(tmp_path: Path) -> None:
    git("init", "--quiet", folder=tmp_path)
    case = {"id": "a", "user": "I lost my mother.", "assistant": "I am sorry. Tell me more?", "checks": ["topic_pivot"]}
    (tmp_path / "cases.jsonl").write_text(json.dumps(case) + "\n")
    (tmp_path / "safe-gate.config.json").write_text(json.dumps({"synthesis-cases": ["cases.jsonl"]}))
    base = commit(tmp_path)
    (tmp_path / "cases.jsonl").write_text(json.dumps({**case, "assistant": "I am so sorry. Tell me more?"}) + "\n")
    head = commit(tmp_path)
    pull = {"number": 1, "base": {"sha": base, "ref": "main"}, "head": {"sha": head, "ref": "change"}}
    (tmp_path / "event.json").write_text(json.dumps({"pull_request": pull}))
    environ = {
        "PATH": "/usr/bin:/bin",
        "GITHUB_ACTIONS": "true",
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": "event.json",
        "GITHUB_REPOSITORY": "o/r",
        "GITHUB_SHA": head,
        "GITHUB_WORKSPACE": str(tmp_path),
    }
    ran = subprocess.run(
        [sys.executable, "-c", _RUN], cwd=tmp_path, env=environ, capture_output=True, text=True, check=True
    )
    assert ran.stderr.splitlines()[-1] == "0 1 [1, 1]", ran.stdout + ran.stderr
