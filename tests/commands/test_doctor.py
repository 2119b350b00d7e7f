"""`doctor` and `--dry-run`: what a run would do, said without doing it."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from safe_gate.settings import settings
from tests.support.cases import (
    BAD,
    Patch,
    SafeGate,
    refused,
    report,
    safe_case,
    turn,
    write_batch,
    write_cases,
    write_json,
)
from tests.support.git import commit_here as commit
from tests.support.git import git
from tests.support.github import BASE, HEAD, PULL_REQUEST, REPOSITORY, TOKEN, GitHub, InActions


def payload(head: str | None) -> dict[str, Any]:
    """Return a pull request's event with the repository of its head, None if that was deleted."""
    repo = None if head is None else {"full_name": head}
    sides = {"head": {"sha": HEAD, "repo": repo}, "base": {"sha": BASE, "repo": {"full_name": REPOSITORY}}}
    return {"pull_request": {"number": 2, **sides}}


@pytest.fixture
def job(in_actions: InActions, github: GitHub) -> Iterator[InActions]:
    """Set what the runner sets for a job, which may not ask GitHub anything."""
    yield partial(in_actions, GITHUB_ACTOR="octocat")
    assert github.requests == []


def rows(out: str) -> dict[str, tuple[str, str]]:
    """Return the settings of the doctor's table: value, and where it comes from."""
    cells = [[cell.strip() for cell in line.strip("│").split("│")] for line in out.split("\n") if line[:1] == "│"]
    return {name: (value, where) for name, value, where in cells}


def facts(out: str) -> dict[str, str]:
    return dict(re.findall(r"^  ([a-zA-Z][a-zA-Z0-9 ]*?)  +(.+)$", out, re.MULTILINE))


def test_the_doctor_names_each_source(safe_gate: SafeGate, monkeypatch: Patch, job: InActions) -> None:
    job()
    Path("my.json").write_text(
        '{"min-pass-rate": 0.9, "thresholds": {"CR": {"pass": 0.7}}, "min-label-accuracy": {"topic_pivot": 0.9}}',
        "utf-8",
    )
    monkeypatch.setenv("INPUT_THRESHOLDS", "CR.review=0.4")
    monkeypatch.setenv("SAFE_V0_AH_PASS", "0.9")
    monkeypatch.setenv("SAFE_GATE_MIN_LABEL_ACCURACY", "0.6")
    monkeypatch.setenv("INPUT_MAX-FAIL-LABELS", "3")
    monkeypatch.setenv("SAFE_V0_AH_STRICT", "true")
    monkeypatch.setenv("SAFE_GATE_MIN_PASS_RATE", "0.5")
    for name in ("a.jsonl", "b.jsonl"):
        write_cases(Path(name), turn(name))
    ran = safe_gate("doctor", "--all", "--config", "my.json", "--cases", "a.jsonl", "b.jsonl", "--min-pass-rate", "0.6")
    assert (ran.code, ran.err) == (0, "")
    found = rows(ran.out)
    assert {name.partition(".")[0] for name in found} == {"Setting", *(setting.input for setting in settings())}
    assert found["min-pass-rate"] == ("0.6", "--min-pass-rate")
    assert found["synthesis-cases"] == ("a.jsonl b.jsonl", "--synthesis-cases")
    assert found["max-fail-labels"] == ("3", "INPUT_MAX-FAIL-LABELS (input max-fail-labels)")
    assert found["strict-ah"] == ("true", "SAFE_V0_AH_STRICT")
    assert found["thresholds.CR.pass"] == ("0.7", "my.json: thresholds.CR.pass")
    assert found["thresholds.CR.review"] == ("0.4", "INPUT_THRESHOLDS (input thresholds): CR.review")
    assert found["thresholds.AH.pass"] == ("0.9", "SAFE_V0_AH_PASS")
    assert found["thresholds.AC.pass"] == ("0.8", "default")
    assert found["min-label-accuracy.all"] == ("0.6", "SAFE_GATE_MIN_LABEL_ACCURACY")
    assert found["min-label-accuracy.topic_pivot"] == ("0.9", "my.json: min-label-accuracy.topic_pivot")
    assert found["max-unexpected-failures"] == ("0", "default")
    assert found["max-age"] == ("off", "default")
    assert found["github-token"] == ("(not shown)", "INPUT_GITHUB-TOKEN (input github-token)")
    assert TOKEN not in ran.log
    assert "Nothing was written or sent." in ran.out
    assert not Path("reports").exists()
    assert Path("output").read_text("utf-8") == ""


SHOWN, READ_ONLY = "given; it needs pull-requests: write", "read-only (the job's default token)"
BY_HEAD = "not in the event; the open pull request with this head"
PUSH = {"after": HEAD}


@pytest.mark.parametrize(
    ("event", "content", "actor", "number", "token"),
    [
        ("pull_request", PULL_REQUEST, "octocat", "#2", SHOWN),
        ("pull_request", payload("fork/app"), "octocat", "#2, from a fork", READ_ONLY),
        ("pull_request", payload(None), "octocat", "#2, from a fork", READ_ONLY),
        ("pull_request", PULL_REQUEST, "dependabot[bot]", "#2", READ_ONLY),
        ("pull_request_target", payload("fork/app"), "octocat", "#2, from a fork", SHOWN),
        ("push", PUSH, "octocat", BY_HEAD, SHOWN),
    ],
    ids=["same", "fork", "deleted fork", "dependabot", "target", "push"],
)
def test_the_doctor_shows_what_is_known_of_the_tokens_permissions(
    safe_gate: SafeGate, job: InActions, event: str, content: Any, actor: str, number: str, token: str
) -> None:
    job(event, content, GITHUB_ACTOR=actor)
    found = facts(safe_gate("doctor", "--all").out)
    assert (found["event"], found["pull request"], found["token"]) == (event, number, token)
    assert (found["commit"], found["base commit"]) == (HEAD, "unknown" if event == "push" else f"{BASE}, of the event")
    assert ("GitHub will refuse it" in found["comment"]) is (token == READ_ONLY)
    assert found["working folder"] == "the repository's root, or in no repository"
    if event == "push":
        assert found["comment"] == "always, on the open pull request with this head, if any"


@pytest.mark.parametrize(
    ("arguments", "token", "comment"),
    [
        ((), TOKEN, "always, on pull request #2"),
        (("--comment", "never"), TOKEN, "no: comment is never"),
        ((), "", "no: there is no token"),
        (("--dry-run",), TOKEN, "no: this is a dry run"),
    ],
)
def test_the_doctor_says_what_is_posted(
    safe_gate: SafeGate, job: InActions, arguments: tuple[str, ...], token: str, comment: str
) -> None:
    job(**{"INPUT_GITHUB-TOKEN": token})
    found = facts(safe_gate("doctor", "--all", *arguments).out)
    summary = "no: this is a dry run" if "--dry-run" in arguments else "yes"
    assert (found["comment"], found["job summary"], found["recorded text"]) == (comment, summary, "shown")


def test_the_doctor_outside_of_actions_needs_nothing_and_counts_what_a_run_would_read(safe_gate: SafeGate) -> None:
    for name in "ab":
        write_batch(Path(f"{name}_batch.json"), safe_case(name))
    write_cases(Path("c.jsonl"), turn("a", tags=["grief"]), turn("b"))
    flags = ("--safe-batch", "*_batch", "--cases", "c.jsonl", "--tag", "!grief", "--text", "none")
    ran = safe_gate("doctor", "--all", *flags)
    assert (ran.code, ran.err) == (0, "")
    files = dict(re.findall(r"^  (\S+) +(\d+ files? of \S+)$", ran.out, re.MULTILINE))
    assert files == {"safe-batch": "2 files of *_batch", "synthesis-cases": "1 file of c.jsonl"}
    found = facts(ran.out)
    assert (found["Synthesis cases"], found["SAFE v0 cases"]) == ("1", "2")
    assert found["event"] == found["repository"] == found["pull request"] == found["token"] == "none"
    assert found["annotations"] == "no: this is not a GitHub Actions job"
    assert found["recorded text"] == "hidden: hashes replace it"


@pytest.mark.parametrize(
    "flags",
    [
        *("", "--safe-batch nowhere*", "--cases c.jsonl no.jsonl", "--batch b --rules no.json", "--cases unfit.jsonl"),
        *("--cases c.jsonl --config misspelt.json", "--cases unfit.jsonl --config misspelt.json"),
        *("--cases c.jsonl --tag grief", "--batch nowhere --rules-off no-such-rule"),
        *(f"--cases c.jsonl --rules{more}" for more in (" no.json", " broken.json", "-off no-such-rule")),
        *(f"--cases c.jsonl --baseline {name}" for name in (".", "known.json", "no-such-branch", "gone.json", "base")),
        *(f"--cases c.jsonl --policy-ref base{more}" for more in ("", " --on-weakened fail")),
        *(f"--cases c.jsonl --on-weakened fail{more}" for more in ("", " --baseline gone.json --allow-missing baseline")),
        *(f"--cases c.jsonl --waivers {name}" for name in ("no.json", "c.jsonl")),
        *(f"--cases c.jsonl --report-dir c.jsonl/below{more}" for more in ("", " --reports json")),
        *(f"--cases c.jsonl --baseline {name}" for name in ("r/safe-gate.json --report-dir r", "reports/safe-gate.json --allow-missing baseline")),
        "--cases c.jsonl --config recorded.json",
    ],
)  # fmt: skip
def test_the_doctor_refuses_what_a_run_would(safe_gate: SafeGate, flags: str) -> None:
    write_cases(Path("c.jsonl"), turn("a"))
    write_batch(Path("b.json"), safe_case("a"))
    write_cases(Path("unfit.jsonl"), turn("a", checks=["acme/none"]), turn("b", checks=[]), turn("c", tags=["a"]))
    Path("broken.json").write_text('{"pack": }', "utf-8")
    write_json("misspelt.json", {"tags": {"grief": {"min-pass-rate": 1}}, "min-label-accuracy": {"acme/no": 1}})
    write_json("known.json", {"waivers": []})
    write_json("recorded.json", {"recordings": {"gone.jsonl": ["c.jsonl"]}, "stale-recordings": "fail"})
    arguments = flags.split()
    if "r/" in flags:
        safe_gate("run", "--cases", "c.jsonl", "--report-dir", "r")
    assert refused(safe_gate("doctor", "--all", *arguments)) == safe_gate("run", *arguments).err


@pytest.mark.parametrize("limits", ["", "--max-unexpected-failures off --max-no-reply off --max-regressions 0"])
def test_the_doctor_does_not_ask_github_for_the_baseline(safe_gate: SafeGate, job: InActions, limits: str) -> None:
    job()
    write_cases(Path("c.jsonl"), turn("a"))
    ran = safe_gate("doctor", "--all", "--cases", "c.jsonl", "--baseline", "base", *limits.split())
    assert (ran.code, ran.err) == (0, "")
    assert facts(ran.out)["from GitHub"] == "a run would ask it for a commit that is not in the clone"


@pytest.mark.parametrize("given", ["flag", "input"])
def test_dry_runs_publish_nothing(safe_gate: SafeGate, monkeypatch: Patch, job: InActions, given: str) -> None:
    job()
    write_cases(Path("c.jsonl"), turn("t", assistant=BAD))
    if given == "input":
        monkeypatch.setenv("INPUT_DRY-RUN", "true")
    ran = safe_gate("run", "--cases", "c.jsonl", *(["--dry-run"] if given == "flag" else []))
    assert ran.code == 1
    assert report()["verdict"] == "fail"
    assert Path("summary").read_text("utf-8") == ""
    assert "skipped-dry-run" in Path("output").read_text("utf-8")
    assert not re.search(r"^\s*::", ran.log, re.MULTILINE)
    assert "Dry run: reports and step outputs are written; comment, annotations and summary are not." in ran.out
    assert facts(ran.out)["comment"] == "always, on pull request #2"
    assert "\nerror c.jsonl:1: SAFE Gate: t: fails agency language, " in ran.out
    body = ran.out.partition(" bytes ---\n")[2].partition("--- end of the comment ---")[0]
    assert body.startswith("### ❌ SAFE Gate failed · 1 of 1 rule broken")
    assert f"https://github.com/{REPOSITORY}/blob/{HEAD}/c.jsonl#L1" in body
    assert TOKEN not in ran.log


def test_the_doctor_shows_what_is_set_and_checked_out(safe_gate: SafeGate, job: InActions, monkeypatch: Patch) -> None:
    Path("evals").mkdir()
    write_cases(Path("evals/c.jsonl"), turn("a"))
    doctor = ("doctor", "--cases", "evals/c.jsonl")
    assert "  commit           unknown: no commit is checked out here\n" in safe_gate(*doctor).out
    sha = commit()
    ran = safe_gate(*doctor)
    assert re.findall(r"^│ ([a-z-]+)", ran.out, re.MULTILINE) == ["synthesis-cases"]
    assert f"  commit           {sha}, of the checkout\n" in ran.out
    assert "GitHub" not in ran.out.partition("Nothing was written")[0]
    Path("below").mkdir()
    git("pack-refs", "--all")
    git("worktree", "add", "--quiet", "--detach", "other")
    for folder in ("below", "other"):
        with monkeypatch.context() as patch:
            patch.chdir(folder)
            assert f"{sha}, of the checkout" in safe_gate("doctor").out
    assert "Nothing is set: every setting has its default." in safe_gate("doctor").out
    job(GITHUB_SHA="d" * 40)
    assert f"{HEAD}, of the event; the checkout is at {sha}" in safe_gate(*doctor).out
