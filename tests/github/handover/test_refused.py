"""Files that a trusted run refuses to publish, and what it says."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import Patch, SafeGate
from tests.support.github import COMMENTS, HEAD, PULL_REQUEST, Answer, Gate, GitHub, InActions
from tests.support.handover import FILE, FORBIDDEN, Publish, Untrusted, edit
from tests.support.workflow_run import OTHER

Change = Callable[[dict[str, Any]], Any]


def passing(file: dict[str, Any]) -> None:
    file["report"]["verdict"] = "pass"
    for rule in file["report"]["rules"]:
        rule["passed"] = True


def within(*path: str, **values: Any) -> Change:
    """Return what sets values in an object of the file's report."""

    def change(file: dict[str, Any]) -> None:
        inner = file["report"]
        for key in path:
            inner = inner[key]
        inner.update(values)

    return change


ONE_PROBLEM = dict.fromkeys(("path", "id", "field", "message"), "") | {"line": 0, "code": "usage"}
CHANGED: list[tuple[Change, str]] = [
    (lambda file: file.update(run_id=78), "is of run 78, attempt 1; expected run 77, attempt 1 or earlier"),
    (lambda file: file.update(run_attempt=2), "is of run 77, attempt 2; expected run 77, attempt 1 or earlier"),
    (lambda file: file.update(head_sha=OTHER), f"is of commit {OTHER}; expected {HEAD}"),
    (lambda file: file.update(head_sha="main"), "head_sha"),
    (lambda file: file.update(publication=1, new=1), "publication: was made by another version of safe-gate"),
    (lambda file: file.update(more=1), "more"),
    (lambda file: file.pop("report"), "report"),
    (within(schema_version=2, new=1), "was made by another version of safe-gate"),
    (within(more=1), "report.more"),
    (within("tool", version="1 [x](y)"), "report.tool.version"),
    (within("tool", version="1\n"), "report.tool.version"),
    (within("provenance", "policy", min_pass_rate="0"), "min_pass_rate"),
    (within("provenance", "policy", min_label_accuracy={"all": "0"}), "min_label_accuracy.all"),
    (within("provenance", "policy", min_label_accuracy={"<img src=x>": 1}), "min_label_accuracy"),
    (within("provenance", "policy", archetypes="x"), 'report.provenance.policy.archetypes: is "x"; expected an object'),
    (within("synthesis", "summary", "label_accuracy", total=1, matched=10**400), "has impossible figures"),
    (passing, "by the report's own figures it is 'fail'"),
    (within(problems=[ONE_PROBLEM]), "by the report's own figures it is 'error'"),
]


@pytest.mark.parametrize(("change", "words"), CHANGED)
def test_changed_files_are_refused(
    untrusted: Untrusted, publish: Publish, github: GitHub, change: Change, words: str
) -> None:
    untrusted()
    edit(change)
    published = publish()
    assert (published.code, published.status, published.outputs["verdict"]) == (3, "failed", "error")
    for one in (words, "::error title=SAFE Gate%3A cannot judge", f"\n{FILE}:"):
        assert one in published.log
    if "version of safe-gate" in words:
        assert "could not judge: 1 problem;" in published.log
    assert github.requests == []


def test_of_what_a_file_breaks_as_much_is_annotated_as_the_runner_shows(untrusted: Untrusted, publish: Publish) -> None:
    untrusted()
    edit(within(**{f"more{number}": 1 for number in range(30)}))
    errors = [line for line in publish().log.split("\n") if line.startswith("::error")]
    assert (len(errors), errors[-1]) == (10, "::error title=SAFE Gate::21 more problems: see the log")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, ": is missing; download the run's artifact, and set report-dir to its folder"),
        *((text, ":") for text in ("", "{", "[]", "\x00")),
        ("a loop of links", ": cannot be read: Too many levels of symbolic links"),
    ],
)
def test_a_file_that_is_none_is_refused(publish: Publish, github: GitHub, content: str | None, words: str) -> None:
    if content == "a loop of links":
        FILE.parent.symlink_to(FILE.parent.name)
    else:
        FILE.parent.mkdir()
        if content is not None:
            FILE.write_text(content, "utf-8")
    published = publish()
    assert (published.code, github.requests) == (3, [])
    assert f"{FILE}{words}" in published.log
    assert (published.status, published.outputs["verdict"]) == ("failed", "error")


def test_a_file_too_large_is_refused(gate: Gate, publish: Publish, monkeypatch: Patch) -> None:
    monkeypatch.setattr("safe_gate.inputs.disk.WHOLE_FILE", 100)
    words = f"{FILE} is longer than 32 MiB, the most that is read of a report or a shard; "
    step = gate("fail", "--comment", "never", GITHUB_RUN_ID="77")
    assert [words in one for one in step.warnings] == [True]
    assert words.replace(f"{FILE} ", f"{FILE}: ") in publish().log


NO_RUN = "does not name the run that started this workflow; expected a workflow_run event"


@pytest.mark.parametrize(
    ("event", "payload", "words"),
    [
        *((one, PULL_REQUEST, "expected workflow_run") for one in ("pull_request", "pull_request_target", "push", "")),
        *(("workflow_run", content, NO_RUN) for content in (b"{", b'{"workflow_run": null}')),
    ],
)
def test_only_a_workflow_run_publishes(
    untrusted: Untrusted, publish: Publish, github: GitHub, event: str, payload: Any, words: str
) -> None:
    untrusted()
    published = publish(event=event, payload=payload)
    assert (published.code, github.requests, words in published.log) == (3, [], True)


@pytest.mark.parametrize(
    ("method", "answer", "status"),
    [
        ("POST", FORBIDDEN, "skipped-permissions"),
        ("POST", Answer(500, ""), "failed"),
        ("GET", Answer(429, ""), "skipped-rate-limit"),
    ],
)
def test_a_comment_that_fails_is_an_error(
    untrusted: Untrusted, publish: Publish, github: GitHub, method: str, answer: Answer, status: str
) -> None:
    untrusted()
    github.faults[(method, COMMENTS)] = answer
    published = publish()
    assert (published.code, published.status) == (3, status)


def test_without_a_token_there_is_a_warning(untrusted: Untrusted, publish: Publish) -> None:
    untrusted()
    published = publish(**{"INPUT_GITHUB-TOKEN": ""})
    assert (published.code, published.status) == (3, "skipped-no-token")
    assert "::warning title=SAFE Gate::The comment was not posted: github-token is empty" in published.log


@pytest.mark.parametrize(
    ("arguments", "given", "words"),
    [
        ((), {"command": "run", "INPUT_MODE": "publish", "INPUT_COMENT": "always"}, "did you mean comment?"),
        (("--comment", "allways"), {}, "allways"),
        ((), {"INPUT_COMMENT": "allways"}, "allways"),
    ],
)
def test_wrong_settings_are_reported_and_nothing_is_posted(
    untrusted: Untrusted, publish: Publish, github: GitHub, arguments: tuple[str, ...], given: Any, words: str
) -> None:
    untrusted()
    before = sorted(Path("reports").iterdir())
    published = publish(*arguments, **given)
    assert (published.code, published.outputs["verdict"], published.status) == (3, "error", "failed")
    assert words in published.log
    assert "::error title=SAFE Gate%3A cannot judge::" in published.log
    assert (github.requests, sorted(Path("reports").iterdir())) == ([], before)


def test_a_run_without_a_verdict_is_published(
    safe_gate: SafeGate, in_actions: InActions, publish: Publish, github: GitHub
) -> None:
    in_actions(GITHUB_RUN_ID="77")
    assert safe_gate("run", "--cases", "missing.jsonl", "--comment", "never").code == 3
    published = publish()
    assert (published.code, published.status, published.outputs["verdict"]) == (0, "created", "error")
    assert "matches no file" in github.comments[0]["body"].replace("&#46;", ".")
