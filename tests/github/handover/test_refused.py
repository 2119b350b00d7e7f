"""Files that a trusted run refuses to publish, and what it says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import Ran
from tests.support.github import COMMENTS, HEAD, PULL_REQUEST, Answer, GitHub
from tests.support.handover import FILE, FORBIDDEN, Publish, edit
from tests.support.workflow_run import OTHER


def passing(file: dict[str, Any]) -> None:
    file["report"]["verdict"] = "pass"
    for rule in file["report"]["rules"]:
        rule["passed"] = True


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda file: file.update(run_id=78), "is of run 78, attempt 1; expected run 77, attempt 1 or earlier"),
        (lambda file: file.update(run_id=76), "is of run 76, attempt 1; expected run 77, attempt 1 or earlier"),
        (lambda file: file.update(run_attempt=2), "is of run 77, attempt 2; expected run 77, attempt 1 or earlier"),
        (lambda file: file.update(head_sha=OTHER), f"is of commit {OTHER}; expected {HEAD}"),
        (lambda file: file.update(head_sha="main"), "head_sha"),
        (
            lambda file: file.update(publication=2, new=1, gate=3),
            "publication: was made by another version of safe-gate",
        ),
        (lambda file: file["report"].update(schema_version=2, new=1), "was made by another version of safe-gate"),
        (lambda file: file.update(more=1), "more"),
        (lambda file: file.pop("report"), "report"),
        (lambda file: file["report"].update(more=1), "report.more"),
        (lambda file: file["report"]["tool"].update(version="1 [x](y)"), "report.tool.version"),
        (lambda file: file["report"]["provenance"]["policy"].update(min_pass_rate="0"), "min_pass_rate"),
        (lambda file: file["report"]["tool"].update(version="1\n"), "report.tool.version"),
        (
            lambda file: file["report"]["provenance"]["policy"].update(archetypes="x"),
            'report.provenance.policy.archetypes: is "x"; expected an object',
        ),
        (
            lambda file: file["report"]["synthesis"]["summary"]["label_accuracy"].update(total=1, matched=10**400),
            "has impossible figures",
        ),
        (passing, "by the report's own figures it is 'fail'"),
        (
            lambda file: file["report"].update(
                problems=[dict.fromkeys(("path", "id", "field", "message"), "") | {"line": 0, "code": "usage"}]
            ),
            "by the report's own figures it is 'error'",
        ),
    ],
)
def test_a_file_that_is_not_what_it_should_be_is_refused(
    untrusted: Callable[..., None],
    publish: Publish,
    github: GitHub,
    change: Callable[[dict[str, Any]], Any],
    words: str,
) -> None:
    untrusted()
    edit(change)
    published = publish()
    assert (published.code, published.status, published.outputs["verdict"]) == (3, "failed", "error")
    assert words in published.log
    assert "::error title=SAFE Gate%3A cannot judge" in published.log
    assert f"\n{FILE}:" in published.log
    if "version of safe-gate" in words:
        assert "could not judge: 1 problem;" in published.log
    assert github.requests == []


def test_of_what_a_file_breaks_as_much_is_annotated_as_the_runner_shows(
    untrusted: Callable[..., None], publish: Publish
) -> None:
    untrusted()
    edit(lambda file: file["report"].update({f"more{number}": 1 for number in range(30)}))
    errors = [line for line in publish().log.split("\n") if line.startswith("::error")]
    assert (len(errors), errors[-1]) == (10, "::error title=SAFE Gate::21 more problems: see the log")


@pytest.mark.parametrize("content", [None, "", "{", "[]", "\x00"])
def test_a_file_that_is_none_is_refused(publish: Publish, github: GitHub, content: str | None) -> None:
    FILE.parent.mkdir()
    if content is not None:
        FILE.write_text(content, "utf-8")
    published = publish()
    assert (published.code, github.requests) == (3, [])
    assert "reports/safe-gate.comment.json" in published.log
    assert (published.status, published.outputs["verdict"]) == ("failed", "error")
    if content is None:
        assert "is missing; download the run's artifact into report-dir" in published.log


def test_a_path_that_cannot_be_read_is_not_reported_as_missing(publish: Publish) -> None:
    FILE.parent.symlink_to(FILE.parent.name)
    published = publish()
    assert (published.code, published.status) == (3, "failed")
    assert f"{FILE}: cannot be read: Too many levels of symbolic links" in published.log


def test_a_file_too_large_is_refused(
    untrusted: Callable[..., None], publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    untrusted()
    monkeypatch.setattr("safe_gate.inputs.disk.WHOLE_FILE", 100)
    assert "is longer than 100 bytes" in publish().log


@pytest.mark.parametrize("event", ["pull_request", "pull_request_target", "push", ""])
def test_only_a_workflow_run_publishes(untrusted: Callable[..., None], publish: Publish, event: str) -> None:
    untrusted()
    published = publish(event=event, payload=PULL_REQUEST)
    assert published.code == 3
    assert "expected workflow_run" in published.log


@pytest.mark.parametrize("content", [b"{", b'{"workflow_run": null}'])
def test_an_event_that_names_no_run_is_not_blamed_on_the_file(
    untrusted: Callable[..., None], publish: Publish, github: GitHub, content: bytes
) -> None:
    untrusted()
    published = publish(payload=content)
    assert (published.code, github.requests) == (3, [])
    assert "does not name the run that started this workflow; expected a workflow_run event" in published.log


@pytest.mark.parametrize("event", ["workflow_run", "pull_request"])
@pytest.mark.parametrize("is_there", [True, False])
def test_the_doctor_refuses_what_publish_would_refuse_and_promises_no_more_than_it_does(
    untrusted: Callable[..., None], publish: Publish, github: GitHub, event: str, *, is_there: bool
) -> None:
    untrusted()
    if not is_there:
        FILE.unlink()
    payload = None if event == "workflow_run" else PULL_REQUEST
    seen = publish("--all", command="doctor", event=event, payload=payload, INPUT_MODE="publish")
    assert github.requests == []
    assert seen.code == publish(event=event, payload=payload).code == (0 if is_there and payload is None else 3)
    promised = seen.log.partition("A run would publish:\n")[2].partition("\nNothing was judged")[0]
    assert promised == "  comment       always, on pull request #2\n  step outputs  yes"


@pytest.mark.parametrize(
    ("method", "answer", "status"),
    [
        ("POST", FORBIDDEN, "skipped-permissions"),
        ("POST", Answer(500, ""), "failed"),
        ("GET", Answer(429, ""), "skipped-rate-limit"),
    ],
)
def test_a_comment_that_could_not_be_posted_is_an_error_here(
    untrusted: Callable[..., None], publish: Publish, github: GitHub, method: str, answer: Answer, status: str
) -> None:
    untrusted()
    github.faults[(method, COMMENTS)] = answer
    published = publish()
    assert (published.code, published.status) == (3, status)


def test_wrong_settings_are_reported_and_nothing_is_posted(
    untrusted: Callable[..., None], publish: Publish, github: GitHub
) -> None:
    untrusted()
    published = publish(command="run", INPUT_MODE="publish", INPUT_COMENT="always")
    assert published.code == 3
    assert "did you mean comment?" in published.log
    assert "::error title=SAFE Gate%3A cannot judge::" in published.log
    assert (published.outputs["verdict"], published.status) == ("error", "failed")
    assert github.requests == []


@pytest.mark.parametrize(("arguments", "comment"), [(("--coment", "always"), ""), ((), "allways")])
def test_the_command_that_is_refused_says_in_its_step_outputs_that_nothing_is_posted(
    untrusted: Callable[..., None], publish: Publish, github: GitHub, arguments: tuple[str, ...], comment: str
) -> None:
    untrusted()
    before = sorted(Path("reports").iterdir())
    published = publish(*arguments, INPUT_COMMENT=comment)
    assert (published.code, published.outputs["verdict"], published.status) == (3, "error", "failed")
    assert "::error title=SAFE Gate%3A cannot judge::" in published.log
    assert (github.requests, sorted(Path("reports").iterdir())) == ([], before)


def test_a_run_that_could_not_judge_is_published_too(
    safe_gate: Callable[..., Ran], in_actions: Callable[..., None], publish: Publish, github: GitHub
) -> None:
    in_actions(GITHUB_RUN_ID="77")
    assert safe_gate("run", "--cases", "missing.jsonl", "--comment", "never").code == 3
    published = publish()
    assert (published.code, published.status, published.outputs["verdict"]) == (0, "created", "error")
    assert "matches no file" in github.comments[0]["body"].replace("&#46;", ".")
