"""Shards in a workflow: a matrix of jobs, and the job that merges."""

import html
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import BAD, GOOD, Patch, SafeGate, turn, write_cases
from tests.support.git import commit, git
from tests.support.github import GitHub, InActions, outputs
from tests.support.shards import scored, written
from tests.support.weakening import configure, pull_request

Told = Callable[..., dict[str, Any]]


@pytest.fixture
def told(safe_gate: SafeGate, github: GitHub) -> Told:
    """Run a command as a step; return all that GitHub gets of it."""

    def run(*arguments: str) -> dict[str, Any]:
        github.comments.clear()
        github.requests.clear()
        return {
            "ran": safe_gate(*arguments),
            "comments": [comment["body"] for comment in github.comments],
            "writes": github.writes,
            "summary": Path("summary").read_text("utf-8"),
            "outputs": {k: v for k, v in outputs(Path("output").read_text("utf-8")).items() if k != "comment-url"},
        }

    return run


def test_the_matrix_posts_nothing_and_the_merging_job_what_one_run_would(
    told: Told, inputs: tuple[str, ...], in_actions: InActions, github: GitHub, monkeypatch: Patch
) -> None:
    in_actions()
    whole = told("run", *inputs)
    assert (whole["ran"].code, whole["outputs"]["verdict"], len(whole["comments"])) == (1, "fail", 1)
    reports = written()
    for index in (1, 2):
        in_actions(GITHUB_JOB="score")
        monkeypatch.setenv("INPUT_SHARD", f"{index}/2")
        shard = told("run", "--report-dir", "shards", *inputs)
        assert (shard["ran"].code, shard["comments"], github.requests) == (0, [], [])
        assert shard["summary"].startswith(f"Shard {index} of 2: ")
        assert "Nothing is judged yet" in shard["summary"]
        assert "::" not in shard["ran"].log
        filled = {name: value for name, value in shard["outputs"].items() if value}
        file = f"shards/safe-gate.shard-{index}-of-2.json"
        status = {"verdict": "unjudged", "comment-status": "skipped-shard"}
        assert filled == status | dict.fromkeys(("report-json", "reports"), file)
    monkeypatch.delenv("INPUT_SHARD")
    in_actions(INPUT_MODE="merge", INPUT_SHARDS="shards/*.json")
    assert told("run", *inputs) == whole
    assert written() == reports


def test_shards_are_judged_by_the_base_commit_as_one_run_is(
    safe_gate: SafeGate, told: Told, inputs: tuple[str, ...], in_actions: InActions
) -> None:
    git("init", "--quiet")
    Path(".gitignore").write_text("/*\n!*.json*\nsafe-gate*\nevent.json\n", "utf-8")
    configure({"min-pass-rate": 0.3, "turns": "all"})
    base = commit()
    payload = pull_request(base)
    configure({"min-pass-rate": 0.1, "protect": ["T-1"]})
    write_cases(Path("c.jsonl"), *(turn(f"T-{i}", assistant=BAD if i < 2 else GOOD) for i in range(9)))
    flags = (*inputs, "--policy-ref", "base", "--baseline", "base", "--on-weakened", "fail")
    in_actions(payload=payload)
    whole = told("run", *flags)
    reports = written()
    held = json.loads(reports["safe-gate.json"])
    assert (whole["ran"].code, held["provenance"]["policy_commit"]) == (1, base)
    assert held["weakened"]["findings"]
    assert held["comparison"]["synthesis"]["changes"]
    in_actions(payload=payload)
    files = scored(safe_gate, 3, *flags)
    in_actions(payload=payload)
    assert told("merge", *files, *flags) == whole
    assert written() == reports
    elsewhere = safe_gate("merge", *files, *inputs, "--baseline", "base", "--on-weakened", "fail")
    assert f"{files[0]}: commit of the policy: differs from" in elsewhere.err


@pytest.mark.parametrize("wrong", [("--shard", "9/2"), ("--shard", "1/2", "--min-pass-rate", "x"), ("--shard", "1/2")])
def test_a_shard_that_cannot_score_posts_no_comment_either(
    told: Told, inputs: tuple[str, ...], in_actions: InActions, github: GitHub, wrong: tuple[str, ...]
) -> None:
    Path("c.jsonl").write_text("{}\n", "utf-8")
    in_actions(GITHUB_JOB="score")
    shard = told("run", *inputs, *wrong)
    assert (shard["ran"].code, github.requests) == (3, [])
    expected = {"verdict": "error", "comment-status": "skipped-shard", "comment-file": ""}
    assert shard["outputs"].items() >= expected.items()


def test_the_comment_names_a_missing_shard(
    safe_gate: SafeGate, told: Told, inputs: tuple[str, ...], in_actions: InActions
) -> None:
    files = scored(safe_gate, 2, *inputs)
    in_actions()
    merged = told("merge", files[0], *inputs)
    assert (merged["ran"].code, merged["outputs"]["verdict"], len(merged["comments"])) == (3, "error", 1)
    assert "1 shard of 2 missing (2)" in html.unescape(merged["comments"][0])
