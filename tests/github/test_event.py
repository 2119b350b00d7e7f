"""Every event that can start a run: which pull request and which commits it is about, and what it may read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import Ran, safe_case, turn, write_batch, write_cases
from tests.support.github import BASE, HEAD, PULL_REQUEST, REPOSITORY, Gate, GitHub
from tests.support.workflow_run import HERE, LISTED, OTHER, workflow_run

MERGE = PULL_REQUEST["pull_request"]["merge_commit_sha"]  # type: ignore[index]
GROUP = "2ffea6db159f6b6c47a24e778fb9ef40cf6b1c7d"


def forked(repo: Mapping[str, Any] | None) -> dict[str, Any]:
    head = {"sha": HEAD, "ref": "changes", "user": {"login": "mallory"}, "repo": repo}
    return {"number": 2, "pull_request": {"number": 2, "head": head, "base": {"sha": BASE, "repo": HERE}}}


BY_COMMIT = f"/repos/{REPOSITORY}/commits/{HEAD}/pulls?per_page=100"
BY_BRANCH = f"/repos/{REPOSITORY}/pulls?state=open&head=Codertocat:changes&per_page=100"
# The event, its payload, and what is asked of GitHub to find the pull request.
COMMENTED = [
    pytest.param("pull_request", PULL_REQUEST, "", id="pull_request"),
    pytest.param("pull_request_review", PULL_REQUEST, "", id="pull_request_review"),
    pytest.param("pull_request_review_comment", PULL_REQUEST, "", id="pull_request_review_comment"),
    pytest.param("pull_request", forked({"full_name": "mallory/Hello-World"}), "", id="fork"),
    pytest.param("pull_request", forked(None), "", id="deleted-fork"),
    pytest.param("pull_request_target", PULL_REQUEST, "", id="pull_request_target"),
    pytest.param("push", {"before": OTHER, "after": HEAD}, BY_COMMIT, id="push"),
    pytest.param("push", {"after": OTHER, "head_commit": {"id": HEAD}}, BY_COMMIT, id="push-of-an-annotated-tag"),
    pytest.param("workflow_dispatch", {"ref": "refs/heads/changes", "inputs": None}, BY_COMMIT, id="workflow_dispatch"),
    pytest.param("workflow_run", workflow_run([LISTED]), "", id="workflow_run"),
    pytest.param("workflow_run", workflow_run(), BY_BRANCH, id="workflow_run-unlisted"),
    pytest.param("workflow_run", workflow_run(head_repository=None), BY_COMMIT, id="workflow_run-deleted-fork"),
]
NOT_COMMENTED = [
    pytest.param("merge_group", {"merge_group": {"head_sha": GROUP, "base_sha": BASE}}, 0, id="merge_group"),
    pytest.param("schedule", {"schedule": "0 5 * * *"}, 0, id="schedule"),
    pytest.param("issue_comment", {"issue": {"number": 2, "pull_request": {}}}, 0, id="issue_comment"),
    pytest.param("push", {"before": HEAD, "after": OTHER}, 1, id="push-to-main"),
    pytest.param("push", {"before": HEAD, "after": "0" * 40}, 1, id="deleted-branch"),
    pytest.param("workflow_run", workflow_run(head_sha=OTHER), 1, id="workflow_run-of-an-older-head"),
    pytest.param("workflow_run", workflow_run(head_branch="\ud800"), 1, id="workflow_run-of-half-a-surrogate-pair"),
    pytest.param("workflow_run", workflow_run([]) | {"workflow_run": None}, 1, id="workflow_run-empty"),
]


@pytest.mark.parametrize(("event", "payload", "asked"), COMMENTED)
def test_the_pull_request_of_an_event_is_commented_at_its_head(
    gate: Gate, github: GitHub, event: str, payload: Mapping[str, Any], asked: str
) -> None:
    step = gate("fail", event=event, payload=payload, GITHUB_SHA=HEAD if event == "workflow_dispatch" else OTHER)
    assert step.status == "created"
    assert f"/blob/{HEAD}/cases.jsonl#L1" in step.summary
    assert f" head={HEAD} " in github.comments[0]["body"]
    assert [path for _, path in github.requests if "/pulls" in path] == ([asked] if asked else [])


@pytest.mark.parametrize(("event", "payload", "requests"), NOT_COMMENTED)
def test_an_event_without_an_open_pull_request_at_its_head_is_summarised_only(
    gate: Gate, github: GitHub, event: str, payload: Mapping[str, Any], requests: int
) -> None:
    step = gate("fail", event=event, payload=payload, GITHUB_SHA=OTHER)
    assert (step.status, len(github.requests), step.warnings) == ("skipped-no-pull-request", requests, [])
    assert "1 of 1 rule broken" in step.summary


@pytest.mark.parametrize("state", ["closed", "open"])
def test_a_closed_pull_request_is_not_commented_for_a_push(gate: Gate, github: GitHub, state: str) -> None:
    github.state = state
    step = gate("fail", event="push", payload={"after": HEAD})
    assert step.status == ("created" if state == "open" else "skipped-no-pull-request")


def test_a_fork_does_not_comment_on_its_parents_numbers(gate: Gate) -> None:
    upstream = LISTED | {"base": {"sha": BASE, "repo": {"id": 1}}}
    payload = workflow_run([upstream], head_sha=OTHER) | {"repository": HERE | {"fork": True}}
    assert gate("fail", event="workflow_run", payload=payload).status == "skipped-no-pull-request"


@pytest.mark.parametrize(
    ("setting", "said", "advised", "elsewhere"),
    [
        (("--baseline", "base"), "base: is", "name a ref, such as main", 0),
        (("--on-weakened", "fail"), "on-weakened: asks for", "set warn here, or name a commit as the baseline", 0),
        (("--policy-ref", "base"), "policy-ref: asks for", "set head here", 3),
    ],
)
def test_a_workflow_run_that_does_not_name_the_base_of_what_started_it_is_an_error(
    safe_gate: Callable[..., Ran],
    in_actions: Callable[..., None],
    tmp_path: Path,
    setting: tuple[str, str],
    said: str,
    advised: str,
    elsewhere: int,
) -> None:
    write_cases(tmp_path / "cases.jsonl", turn("a"))
    words = f"{said} the base commit of the event workflow_run, but the event file does not name it; {advised}\n"
    for event, code in (("pull_request", 3), ("push", 3), ("schedule", elsewhere)):
        in_actions("workflow_run", workflow_run(event=event))
        for command in (("run", "--comment", "never"), ("doctor",)):
            ran = safe_gate(*command, "--cases", "cases.jsonl", *setting)
            assert ran.code == code
            assert (words in ran.err) == (event != "schedule")


def left(event: str, payload: Mapping[str, Any], gate: Gate) -> tuple[object, ...]:
    gate("pass", "--comment", "never", event=event, payload=payload)
    file = json.loads(Path("reports/safe-gate.comment.json").read_text("utf-8"))
    return file["event"], file["pull_request"], file["head_sha"], file["base_sha"]


@pytest.mark.parametrize(
    ("event", "payload", "facts"),
    [
        ("pull_request", PULL_REQUEST, (2, HEAD, BASE)),
        ("pull_request", forked(None), (2, HEAD, BASE)),
        ("merge_group", {"merge_group": {"head_sha": GROUP, "base_sha": BASE}}, (None, GROUP, BASE)),
        ("merge_group", {"merge_group": {"head_sha": GROUP, "base_ref": "refs/heads/main"}}, (None, GROUP, "")),
        ("push", {"before": "0" * 40, "after": HEAD}, (None, HEAD, "")),
        ("push", {"before": BASE, "after": HEAD}, (None, HEAD, BASE)),
        ("workflow_run", workflow_run([LISTED]), (2, HEAD, BASE)),
        ("workflow_run", workflow_run(pull_requests=[None, LISTED]), (2, HEAD, BASE)),
        ("workflow_run", workflow_run(pull_requests=5), (None, HEAD, "")),
        ("workflow_dispatch", {}, (None, "0" * 40, "")),
    ],
)
def test_the_file_that_is_left_behind_names_the_commits(
    gate: Gate, event: str, payload: Mapping[str, Any], facts: tuple[object, ...]
) -> None:
    assert left(event, payload, gate) == (event, *facts)


def detached(folder: Path, sha: str) -> None:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text(f"{sha}\n", "utf-8")


def on_branch(folder: Path, sha: str) -> None:
    detached(folder, "ref: refs/heads/changes")
    (folder / ".git/refs/heads").mkdir(parents=True)
    (folder / ".git/refs/heads/changes").write_text(f"{sha}\n", "utf-8")


def packed(folder: Path, sha: str) -> None:
    detached(folder, "ref: refs/heads/changes")
    (folder / ".git/packed-refs").write_text(f"# pack-refs with: peeled\n{sha} refs/heads/changes\n", "utf-8")


def worktree(folder: Path, sha: str) -> None:
    detached(Path("main"), BASE)
    git = Path("main/.git/worktrees/w").absolute()
    git.mkdir(parents=True)
    (git / "HEAD").write_text(sha, "utf-8")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".git").write_text(f"gitdir: {git}\n", "utf-8")


def moved_on(folder: Path, _: str) -> None:
    on_branch(folder, OTHER)  # the branch has got another commit since the event
    (folder / ".git/packed-refs").write_text(f"{BASE} refs/heads/changes\n", "utf-8")  # where it once was


LAYOUTS = [detached, on_branch, packed, worktree]


@pytest.mark.parametrize(
    ("layout", "checkout", "working", "cases"),
    [
        *((layout, ".", ".", "cases.jsonl") for layout in (*LAYOUTS, moved_on)),
        (detached, ".", "evals", "cases.jsonl"),
        (detached, ".", "evals/deep", "../cases.jsonl"),
        (worktree, "pr", ".", "pr/cases.jsonl"),
        (on_branch, "a/b", ".", "**/cases.jsonl"),
        (packed, "a/b", "a", "b/evals/cases.jsonl"),
        (detached, "pr", "pr/evals", "../../cases.jsonl"),  # a config may lie in the working folder
    ],
)
def test_a_head_checkout_is_refused_under_pull_request_target(
    safe_gate: Callable[..., Ran],
    in_actions: Callable[..., None],
    github: GitHub,
    monkeypatch: pytest.MonkeyPatch,
    layout: Callable[[Path, str], None],
    checkout: str,
    working: str,
    cases: str,
) -> None:
    layout(Path(checkout), HEAD)
    Path(working).mkdir(parents=True, exist_ok=True)
    file = Path(working) / cases.replace("**", "a/b")
    file.parent.mkdir(parents=True, exist_ok=True)
    write_cases(file, turn("a"))
    in_actions("pull_request_target")
    monkeypatch.chdir(working)
    ran = safe_gate("run", "--cases", cases)
    assert ran.code == 3
    assert "so this event must not trust its files" in ran.err
    assert "set allow: head-checkout" in ran.err
    assert "No verdict" in github.comments[0]["body"]
    assert safe_gate("run", "--cases", cases, "--allow", "head-checkout").code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "--safe-batch", "pr/b_batch_*"),
        ("run", "--safe-batch", "b_batch_*", "--safe-test-dir", "pr"),
        ("run", "--safe-batch", "b_batch_1", "--safe-outputs", "pr/*.jsonl"),
        ("run", "--cases", "cases.jsonl", "--rules", "pr/*.json"),
        ("run", "--cases", "cases.jsonl", "--config", "pr/safe.config.json"),
        ("run", "--cases", "link.jsonl"),
        ("run", "--cases", "cases.jsonl", "--baseline", "pr/safe-gate.json"),
        ("run", "--safe-batch", "c_batch_1"),
        ("merge", "pr/*.json", "--cases", "cases.jsonl"),
    ],
)
def test_whatever_is_read_may_not_lie_in_a_head_checkout(
    safe_gate: Callable[..., Ran], in_actions: Callable[..., None], arguments: tuple[str, ...]
) -> None:
    detached(Path(), BASE)
    detached(Path("pr"), HEAD)
    for folder in (Path(), Path("pr")):
        write_cases(folder / "cases.jsonl", turn("a"))
        write_batch(folder / "b_batch_1.json", safe_case("a"))
    Path("pr/safe.config.json").write_text("{}", "utf-8")
    Path("link.jsonl").symlink_to("pr/cases.jsonl")
    write_batch(Path("c_batch_1.json"), safe_case("a"))
    Path("pr/c.outputs.jsonl").touch()
    Path("c_batch_1.outputs.jsonl").symlink_to("pr/c.outputs.jsonl")
    in_actions("pull_request_target")
    ran = safe_gate(*arguments)
    assert ran.code == 3
    assert "the checkout in 'pr' is not at the base's commit" in ran.err


def test_the_doctor_refuses_a_head_checkout_as_a_run_does(
    safe_gate: Callable[..., Ran], in_actions: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    detached(Path(), HEAD)
    write_cases(Path("cases.jsonl"), turn("a"))
    in_actions("pull_request_target")
    ran = safe_gate("doctor", "--cases", "cases.jsonl")
    assert (ran.code, ran.err) == (3, safe_gate("run", "--cases", "cases.jsonl").err)
    assert safe_gate("doctor", "--cases", "cases.jsonl", "--allow", "head-checkout").code == 0
    monkeypatch.setenv("INPUT_MODE", "publish")  # which reads no case
    assert "checkout" not in safe_gate("doctor", "--cases", "cases.jsonl").err


def test_a_loop_of_links_is_a_problem_under_pull_request_target_too(
    safe_gate: Callable[..., Ran], in_actions: Callable[..., None]
) -> None:
    Path("loop").symlink_to("loop")
    in_actions("pull_request_target")
    words = "loop/c.jsonl: cannot be read: Too many levels of symbolic links\n"
    assert safe_gate("run", "--cases", "loop/c.jsonl").err.startswith(words)


def test_a_checkout_that_is_not_read_may_be_of_anything(gate: Gate) -> None:
    detached(Path(), BASE)
    detached(Path("tools"), OTHER)
    assert gate("fail", event="pull_request_target").status == "created"


@pytest.mark.parametrize("sha", [MERGE, HEAD])
@pytest.mark.parametrize(("event", "code"), [("pull_request", 0), ("pull_request_target", 3)])
def test_only_pull_request_target_is_so_strict(
    safe_gate: Callable[..., Ran], in_actions: Callable[..., None], sha: str, event: str, code: int
) -> None:
    detached(Path(), sha)
    write_cases(Path("cases.jsonl"), turn("a"))
    in_actions(event)
    assert safe_gate("run", "--cases", "cases.jsonl").code == code


@pytest.mark.parametrize(("layout", "trusted"), [*((one, "base") for one in LAYOUTS), (packed, "GITHUB_SHA")])
def test_the_bases_own_files_are_judged_under_pull_request_target(
    gate: Gate, layout: Callable[[Path, str], None], trusted: str
) -> None:
    layout(Path(), BASE if trusted == "base" else OTHER)  # the base's branch has moved on since the event was made
    assert gate("fail", event="pull_request_target", GITHUB_SHA=OTHER).status == "created"


def test_a_config_in_the_checkout_cannot_allow_a_head_checkout(safe_gate: Callable[..., Ran]) -> None:
    Path("safe.config.json").write_text('{"allow": ["head-checkout"]}', "utf-8")
    write_cases(Path("cases.jsonl"), turn("a"))
    assert "cannot be set in the config file" in safe_gate("run", "--cases", "cases.jsonl").err
