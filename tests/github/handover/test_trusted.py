"""The pair of workflows: a run without write access leaves a file behind, and a trusted run publishes it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.github import BOT, COMMENTS, HEAD, Gate, GitHub
from tests.support.handover import FILE, Publish, Untrusted, edit
from tests.support.workflow_run import LISTED, OTHER, workflow_run


@pytest.mark.parametrize(
    ("given", "gate_id", "named"), [((), "gate", ""), (("--gate-id", "small"), "small", " <code>small</code>")]
)
def test_a_trusted_run_posts_the_comment_that_the_untrusted_one_would_have(
    untrusted: Untrusted, publish: Publish, github: GitHub, gate: Gate, given: tuple[str, ...], gate_id: str, named: str
) -> None:
    Path(".git").mkdir()
    Path(".git/HEAD").write_text(OTHER, "utf-8")  # the merge, whose lines the comment links to
    untrusted("fail", *given, GITHUB_SHA=OTHER)
    Path(".git/HEAD").unlink()
    published = publish()
    (comment,) = github.comments
    assert (published.code, published.status, published.outputs["comment-url"]) == (0, "created", comment["html_url"])
    assert published.outputs["verdict"] == "fail"
    assert comment["body"] == json.loads(FILE.read_text("utf-8"))["body"]
    assert comment["body"].startswith(f"<!-- safe-gate gate=evals.yml/{gate_id} head={HEAD} run=77.1 ")
    assert f"### ❌ SAFE Gate{named} failed" in comment["body"]
    assert f"/blob/{OTHER}/cases.jsonl#L1" in comment["body"]
    assert len(github.requests) == 4
    assert publish().status == "unchanged"
    assert gate("fail", *given, GITHUB_RUN_ID="77").status == "unchanged"


@pytest.mark.parametrize("given", ["flag", "input"])
def test_a_dry_run_shows_the_comment_alone(untrusted: Untrusted, publish: Publish, github: GitHub, given: str) -> None:
    untrusted()
    by_mode: dict[str, Any] = {"command": "run", "INPUT_MODE": "publish", "INPUT_DRY-RUN": "true"}
    published = publish("--dry-run") if given == "flag" else publish(**by_mode)
    assert (published.code, published.status, github.requests) == (0, "skipped-dry-run", [])
    assert "bytes ---\n### ❌ SAFE Gate" in published.log
    edit(lambda file: file.update(run_id=78))
    published = publish("--dry-run")
    assert (published.code, published.status) == (3, "failed")
    assert "::error" not in published.log


def test_a_head_that_has_moved_on_is_not_commented(untrusted: Untrusted, publish: Publish, github: GitHub) -> None:
    untrusted()
    github.state = "closed"
    assert publish().status == "skipped-outdated"
    github.state, github.head = "open", OTHER
    for payload in (workflow_run([LISTED]), workflow_run(), workflow_run(head_repository=None)):
        published = publish(payload=payload)
        assert (published.code, published.status) == (0, "skipped-outdated")
        whose = "Codertocat/Hello-World" if payload["workflow_run"]["head_repository"] is None else "Codertocat:changes"
        assert f"No open pull request of {whose} has the head {HEAD}." in published.log
    assert github.comments == []


def test_no_other_result_is_overwritten_of_a_newer_run_or_of_the_same(
    untrusted: Untrusted, publish: Publish, github: GitHub
) -> None:
    untrusted("fail")
    assert publish().status == "created"
    untrusted("pass")
    published = publish()
    assert (published.code, published.status) == (3, "skipped-same-gate")
    github.comments[0]["body"] = github.comments[0]["body"].replace(" run=77.1 ", " run=78.1 ")
    published = publish()
    assert published.status == "skipped-outdated"
    assert "The comment shows a newer run, or a pull request's at this commit." in published.log


def test_the_file_of_an_earlier_attempt_is_published(untrusted: Untrusted, publish: Publish, github: GitHub) -> None:
    untrusted("fail")  # then another job of the run was run again, and this one was not
    again = workflow_run([LISTED], run_attempt=2)
    assert publish(payload=again).status == "created"
    assert " run=77.1 " in github.comments[0]["body"]
    untrusted("pass", GITHUB_RUN_ATTEMPT="2")
    assert publish(payload=again).status == "updated"
    untrusted("fail")
    assert publish(payload=again).status == "skipped-outdated"


def test_the_file_cannot_choose_the_pull_request_or_the_digest(
    untrusted: Untrusted, publish: Publish, github: GitHub
) -> None:
    untrusted()
    digests = json.loads(FILE.read_text("utf-8"))["report"]["provenance"]["digests"]
    edit(lambda file: file["report"]["provenance"].update(digests=dict.fromkeys(digests, "0" * 64)))
    edit(lambda file: file.update(pull_request=1))
    assert publish(payload=workflow_run()).status == "created"
    assert {path for method, path in github.requests if method == "POST"} == {COMMENTS}
    assert f"digest <code>{digests['all'][:12]}</code>" in github.comments[0]["body"]


def test_the_file_cannot_choose_another_workflows_gate(untrusted: Untrusted, publish: Publish, github: GitHub) -> None:
    theirs = github.add(BOT, f"<!-- safe-gate gate=trusted/gate head={HEAD} run=1.1 result=0 text=0 -->\ntrusted")
    untrusted()
    edit(lambda file: file.update(gate="../trusted/gate"))
    assert publish().status == "created"
    assert theirs["body"].endswith("trusted")
    edit(lambda file: file.update(gate="whatever"))
    assert publish("--gate-id", "../trusted/gate").status == "unchanged"  # the trusted workflow's own id counts
