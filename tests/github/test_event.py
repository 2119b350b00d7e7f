"""Every event that can start a run: which pull request and which commits it is about, and what it may read."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import Patch, SafeGate, read_json, refused, safe_case, turn, write_batch, write_cases
from tests.support.github import BASE, HEAD, PULL_REQUEST, REPOSITORY, Gate, GitHub, InActions
from tests.support.workflow_run import HERE, LISTED, OTHER, workflow_run

MERGE = PULL_REQUEST["pull_request"]["merge_commit_sha"]  # type: ignore[index]
GROUP = "2ffea6db159f6b6c47a24e778fb9ef40cf6b1c7d"


def forked(repo: dict[str, str] | None) -> dict[str, Any]:
    head = {"sha": HEAD, "ref": "changes", "user": {"login": "mallory"}, "repo": repo}
    return {"number": 2, "pull_request": {"number": 2, "head": head, "base": {"sha": BASE, "repo": HERE}}}


FORK, DELETED = forked({"full_name": "mallory/Hello-World"}), forked(None)
MERGED = {"merge_group": {"head_sha": GROUP, "base_sha": BASE}}
UPSTREAM = LISTED | {"base": {"sha": BASE, "repo": {"id": 1}}}
IN_FORK = workflow_run([UPSTREAM], head_sha=OTHER) | {"repository": HERE | {"fork": True}}
BY_COMMIT = f"/repos/{REPOSITORY}/commits/{HEAD}/pulls?per_page=100"
BY_BRANCH = f"/repos/{REPOSITORY}/pulls?state=open&head=Codertocat:changes&per_page=100"
# The event, its payload, and what is asked of GitHub to find the pull request.
COMMENTED = {
    "pull_request": ("pull_request", PULL_REQUEST, ""),
    "review": ("pull_request_review", PULL_REQUEST, ""),
    "review comment": ("pull_request_review_comment", PULL_REQUEST, ""),
    "fork": ("pull_request", FORK, ""),
    "deleted fork": ("pull_request", DELETED, ""),
    "target": ("pull_request_target", PULL_REQUEST, ""),
    "push": ("push", {"before": OTHER, "after": HEAD}, BY_COMMIT),
    "push of an annotated tag": ("push", {"after": OTHER, "head_commit": {"id": HEAD}}, BY_COMMIT),
    "dispatch": ("workflow_dispatch", {"ref": "refs/heads/changes", "inputs": None}, BY_COMMIT),
    "run": ("workflow_run", workflow_run([LISTED]), ""),
    "run, unlisted": ("workflow_run", workflow_run(), BY_BRANCH),
    "run, deleted fork": ("workflow_run", workflow_run(head_repository=None), BY_COMMIT),
}
# The event, its payload, and how many requests are sent.
NOT_COMMENTED = {
    "merge group": ("merge_group", MERGED, 0),
    "schedule": ("schedule", {"schedule": "0 5 * * *"}, 0),
    "issue comment": ("issue_comment", {"issue": {"number": 2, "pull_request": {}}}, 0),
    "push to main": ("push", {"before": HEAD, "after": OTHER}, 1),
    "deleted branch": ("push", {"before": HEAD, "after": "0" * 40}, 1),
    "run of an older head": ("workflow_run", workflow_run(head_sha=OTHER), 1),
    "run of half a surrogate pair": ("workflow_run", workflow_run(head_branch="\ud800"), 1),
    "run, empty": ("workflow_run", workflow_run([]) | {"workflow_run": None}, 1),
    "run in a fork, which has other numbers than its parent": ("workflow_run", IN_FORK, 1),
}


@pytest.mark.parametrize(("event", "payload", "asked"), COMMENTED.values(), ids=COMMENTED)
def test_pull_requests_are_commented(gate: Gate, github: GitHub, event: str, payload: Any, asked: str) -> None:
    step = gate("fail", event=event, payload=payload, GITHUB_SHA=HEAD if event == "workflow_dispatch" else OTHER)
    assert step.status == "created"
    assert f"/blob/{HEAD}/cases.jsonl#L1" in step.summary
    assert f" head={HEAD} " in github.comments[0]["body"]
    assert [path for _, path in github.requests if "/pulls" in path] == ([asked] if asked else [])


@pytest.mark.parametrize(("event", "payload", "requests"), NOT_COMMENTED.values(), ids=NOT_COMMENTED)
def test_other_events_are_only_summarised(gate: Gate, github: GitHub, event: str, payload: Any, requests: int) -> None:
    step = gate("fail", event=event, payload=payload, GITHUB_SHA=OTHER)
    assert (step.status, len(github.requests), step.warnings) == ("skipped-no-pull-request", requests, [])
    assert "1 of 1 rule broken" in step.summary


@pytest.mark.parametrize(("sha", "linked"), [(MERGE, MERGE), (BASE, BASE), (HEAD, HEAD), (OTHER, HEAD)])
def test_cases_are_linked_at_the_commit_that_is_checked_out(gate: Gate, github: GitHub, sha: str, linked: str) -> None:
    """GitHub merges a head into its base before it is checked out, so the lines are those of the merge."""
    check_out("detached", ".", sha)
    step = gate("fail", GITHUB_SHA=MERGE)
    for text in (step.summary, github.comments[0]["body"]):
        assert f"/blob/{linked}/cases.jsonl#L1" in text
        assert f"/commit/{HEAD})" in text


def test_a_closed_pull_request_is_not_commented_for_a_push(gate: Gate, github: GitHub) -> None:
    github.state = "closed"
    assert gate("fail", event="push", payload={"after": HEAD}).status == "skipped-no-pull-request"


@pytest.mark.parametrize(
    ("setting", "said", "advised", "elsewhere"),
    [
        (("--baseline", "base"), "base: is", "name a ref, such as main", 0),
        (("--on-weakened", "fail"), "on-weakened: asks for", "set warn here, or name a commit as the baseline", 0),
        (("--policy-ref", "base"), "policy-ref: asks for", "set head here", 3),
    ],
)
def test_a_workflow_run_that_does_not_name_the_base_of_what_started_it_is_an_error(
    safe_gate: SafeGate, in_actions: InActions, setting: tuple[str, str], said: str, advised: str, elsewhere: int
) -> None:
    write_cases(Path("cases.jsonl"), turn("a"))
    words = f"{said} the base commit of the event workflow_run, but the event file does not name it; {advised}\n"
    for event, code in (("pull_request", 3), ("push", 3), ("schedule", elsewhere)):
        in_actions("workflow_run", workflow_run(event=event))
        for command in (("run", "--comment", "never"), ("doctor",)):
            ran = safe_gate(*command, "--cases", "cases.jsonl", *setting)
            assert (ran.code, words in ran.err) == (code, event != "schedule")


@pytest.mark.parametrize("setting", ["--baseline=base", "--on-weakened=fail", "--policy-ref=base"])
def test_an_event_file_that_cannot_be_read_is_why_the_base_is_unknown(
    safe_gate: SafeGate, in_actions: InActions, setting: str
) -> None:
    write_cases(Path("cases.jsonl"), turn("a"))
    in_actions(payload=None, GITHUB_EVENT_PATH="/nope.json")
    words = "GITHUB_EVENT_PATH: names /nope.json, which cannot be read as a JSON object; correct it\n"
    for command in ("run", "doctor"):
        refused(safe_gate(command, "--cases", "cases.jsonl", setting), words)


@pytest.mark.parametrize(
    ("event", "payload", "facts"),
    [
        ("pull_request", PULL_REQUEST, (2, HEAD, BASE)),
        ("pull_request", DELETED, (2, HEAD, BASE)),
        ("merge_group", MERGED, (None, GROUP, BASE)),
        ("merge_group", {"merge_group": {"head_sha": GROUP, "base_ref": "refs/heads/main"}}, (None, GROUP, "")),
        ("push", {"before": "0" * 40, "after": HEAD}, (None, HEAD, "")),
        ("push", {"before": BASE, "after": HEAD}, (None, HEAD, BASE)),
        ("workflow_run", workflow_run([LISTED]), (2, HEAD, BASE)),
        ("workflow_run", workflow_run(pull_requests=[None, LISTED]), (2, HEAD, BASE)),
        ("workflow_run", workflow_run(pull_requests=5), (None, HEAD, "")),
        ("workflow_dispatch", {}, (None, "0" * 40, "")),
    ],
)
def test_the_file_that_is_left_behind_names_the_commits(gate: Gate, event: str, payload: Any, facts: Any) -> None:
    gate("pass", "--comment", "never", event=event, payload=payload)
    file = read_json("reports/safe-gate.comment.json")
    assert tuple(file[name] for name in ("event", "pull_request", "head_sha", "base_sha")) == (event, *facts)


HEAD_OF_BRANCH = {".git/HEAD": "ref: refs/heads/changes\n"}
# The files below a checkout's folder by which git knows the commit that it is at.
LAYOUTS = {
    "detached": {".git/HEAD": "{sha}\n"},
    "on branch": HEAD_OF_BRANCH | {".git/refs/heads/changes": "{sha}\n"},
    "packed": HEAD_OF_BRANCH | {".git/packed-refs": "# pack-refs with: peeled\n{sha} refs/heads/changes\n"},
    "worktree": {
        ".git": "gitdir: {main}/worktrees/w\n",
        "{main}/worktrees/w/HEAD": "ref: refs/heads/changes\n",
        "{main}/worktrees/w/commondir": "../..\n",
        "{main}/refs/heads/changes": "{sha}\n",
        "{main}/HEAD": f"{BASE}\n",
    },
    # The branch has got another commit since the event, and was packed before.
    "moved on": HEAD_OF_BRANCH
    | {".git/refs/heads/changes": f"{OTHER}\n", ".git/packed-refs": f"{BASE} refs/heads/changes\n"},
}


def check_out(layout: str, folder: str, sha: str) -> None:
    places = {"sha": sha, "main": Path("main/.git").absolute()}
    for name, text in LAYOUTS[layout].items():
        file = Path(folder, name.format_map(places))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.format_map(places), "utf-8")


@pytest.mark.parametrize(
    ("layout", "place"),
    [
        *((layout, (".", ".", "cases.jsonl")) for layout in LAYOUTS),
        ("detached", (".", "evals/deep", "../cases.jsonl")),
        ("worktree", ("pr", ".", "pr/cases.jsonl")),
        ("on branch", ("a/b", ".", "**/cases.jsonl")),
        ("packed", ("a/b", "a", "b/evals/cases.jsonl")),
        ("detached", ("pr", "pr/evals", "../../cases.jsonl")),  # a config may lie in the working folder
    ],
)
def test_a_head_checkout_is_refused_under_pull_request_target(
    safe_gate: SafeGate, in_actions: InActions, github: GitHub, monkeypatch: Patch, layout: str, place: Any
) -> None:
    checkout, working, cases = place
    check_out(layout, checkout, HEAD)
    file = Path(working) / cases.replace("**", "a/b")
    for folder in (Path(working), file.parent):
        folder.mkdir(parents=True, exist_ok=True)
    write_cases(file, turn("a"))
    in_actions("pull_request_target")
    monkeypatch.chdir(working)
    ran = safe_gate("run", "--cases", cases)
    refused(ran, "so this event must not trust its files", "set allow: head-checkout")
    assert "No verdict" in github.comments[0]["body"]
    assert safe_gate("doctor", "--cases", cases).err == ran.err
    for command in ("run", "doctor"):
        assert safe_gate(command, "--cases", cases, "--allow", "head-checkout").code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        "run --safe-batch pr/b_batch_*",
        "run --safe-batch b_batch_* --safe-test-dir pr",
        "run --safe-batch b_batch_1 --safe-outputs pr/*.jsonl",
        "run --cases cases.jsonl --rules pr/*.json",
        "run --cases cases.jsonl --config pr/safe.config.json",
        "run --cases link.jsonl",
        "run --cases cases.jsonl --baseline pr/safe-gate.json",
        "run --safe-batch c_batch_1",
        "merge pr/*.json --cases cases.jsonl",
    ],
)
def test_nothing_is_read_of_a_head_checkout(safe_gate: SafeGate, in_actions: InActions, arguments: str) -> None:
    check_out("detached", ".", BASE)
    check_out("detached", "pr", HEAD)
    for folder in (Path(), Path("pr")):
        write_cases(folder / "cases.jsonl", turn("a"))
        write_batch(folder / "b_batch_1.json", safe_case("a"))
    Path("pr/safe.config.json").write_text("{}", "utf-8")
    Path("link.jsonl").symlink_to("pr/cases.jsonl")
    write_batch(Path("c_batch_1.json"), safe_case("a"))
    Path("pr/c.outputs.jsonl").touch()
    Path("c_batch_1.outputs.jsonl").symlink_to("pr/c.outputs.jsonl")
    in_actions("pull_request_target")
    refused(safe_gate(*arguments.split()), "the checkout in 'pr' is not at the base's commit")


def test_a_loop_of_links_is_a_problem_under_pull_request_target_too(safe_gate: SafeGate, in_actions: InActions) -> None:
    Path("loop").symlink_to("loop")
    in_actions("pull_request_target")
    words = "loop/c.jsonl: cannot be read: Too many levels of symbolic links\n"
    assert safe_gate("run", "--cases", "loop/c.jsonl").err.startswith(words)


@pytest.mark.parametrize(
    ("layout", "trusted"), [*((one, BASE) for one in LAYOUTS if one != "moved on"), ("packed", OTHER)]
)
def test_the_bases_own_files_are_judged_under_pull_request_target(gate: Gate, layout: str, trusted: str) -> None:
    check_out(layout, ".", trusted)  # OTHER where the base's branch has moved on since the event was made
    check_out("detached", "tools", HEAD)
    assert gate("fail", event="pull_request_target", GITHUB_SHA=OTHER).status == "created"


MOVED = "3" * 40  # where `ref: main` leads when main has moved on
ANY = PULL_REQUEST | {"before": BASE, "after": HEAD, "merge_group": {"head_sha": HEAD}}
ELSEWHERE = [
    *((event, PULL_REQUEST, BASE) for event in ("pull_request", "pull_request_target")),
    *(("workflow_run", workflow_run([LISTED]), sha) for sha in (BASE, OTHER)),
    *((event, ANY, MOVED) for event in ("pull_request", "push", "merge_group")),
]


@pytest.mark.parametrize(("event", "payload", "sha"), ELSEWHERE)
@pytest.mark.parametrize("verdict", ["pass", "fail"])
def test_files_of_another_commit_are_not_taken_for_those_of_the_head(
    gate: Gate, github: GitHub, event: str, payload: Any, sha: str, verdict: str
) -> None:
    check_out("detached", ".", sha)
    step = gate(verdict, event=event, payload=payload, GITHUB_SHA=OTHER)
    assert step.report["provenance"]["commit"] == sha
    words = f"The judged files are checked out at {sha[:7]}, not at {HEAD[:7]}. Unless a step wrote them, they are not"
    words += " the change's: use actions/checkout without ref, under pull_request, merge_group or push."
    assert bool(github.comments) is (event != "merge_group")
    for text in (step.summary, *(one["body"] for one in github.comments), *step.warnings):
        assert words in re.sub(r"</?code>|\"", "", text)
    assert len(step.warnings) == 1


@pytest.mark.parametrize("mode", ["always", "changes"])
def test_a_comment_is_rewritten_where_only_the_commit_of_the_judged_files_differs(
    gate: Gate, github: GitHub, mode: str
) -> None:
    for sha, status in ((HEAD, "created"), (BASE, "updated"), (HEAD, "updated")):
        check_out("detached", ".", sha)
        assert gate("pass", "--comment", mode).status == status
        assert ("checked out at" in github.comments[0]["body"]) is (sha == BASE)


@pytest.mark.parametrize(("commit", "folder"), [(HEAD, "."), (MERGE, "."), (BASE, "tools")])
def test_files_of_the_head_its_merge_and_no_known_checkout_are_those_of_the_head(
    gate: Gate, commit: str, folder: str
) -> None:
    check_out("detached", folder, commit)
    step = gate("fail", GITHUB_SHA=MERGE)
    assert (step.report["provenance"]["commit"], step.warnings, "checked out" in step.summary) == (HEAD, [], False)


@pytest.mark.parametrize("at", [".", "pr"])
def test_files_of_a_submodule_are_those_of_the_head(
    safe_gate: SafeGate, in_actions: InActions, monkeypatch: Patch, at: str
) -> None:
    for folder, sha in ((".", HEAD), ("pr", OTHER)):
        check_out("detached", folder, sha)
    write_cases(Path("pr/cases.jsonl"), turn("a"))
    in_actions()
    monkeypatch.chdir(at)
    assert "checked out at" not in safe_gate("run", "--cases", "cases.jsonl" if at == "pr" else "pr/cases.jsonl").log
    assert read_json("reports/safe-gate.json")["provenance"]["commit"] == HEAD
