"""The pair of workflows: a run without write access leaves a file behind, and a trusted run publishes it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from tests.support.cases import Ran, safe_case, turn, write_batch, write_cases
from tests.support.events import LISTED, OTHER, workflow_run
from tests.support.github import BOT, COMMENTS, HEAD, PULL_REQUEST, TOKEN, Answer, Gate, GitHub, outputs

FILE = Path("reports/safe-gate.comment.json")
FORBIDDEN = Answer(403, '{"message": "Resource not accessible by integration"}')
Publish = Callable[..., "Published"]


class Published:
    """What the trusted step left behind."""

    def __init__(self, ran: Ran, written: str) -> None:
        self.code, self.log = ran.code, ran.log
        self.outputs = outputs(written)

    @property
    def status(self) -> str:
        return self.outputs["comment-status"]


@pytest.fixture
def untrusted(gate: Gate, github: GitHub) -> Callable[..., None]:
    """Run the gate with a read-only token, as for a pull request from a fork."""

    def run(verdict: str = "fail", *arguments: str, **changed: str) -> None:
        github.faults = {(method, r".*/comments.*"): FORBIDDEN for method in ("POST", "PATCH")}
        step = gate(verdict, *arguments, GITHUB_RUN_ID="77", **changed)
        assert step.status.startswith("skipped-")
        assert step.outputs["comment-file"] == str(FILE)
        github.faults.clear()
        github.requests.clear()

    return run


@pytest.fixture
def publish(safe_gate: Callable[..., Ran], in_actions: Callable[..., None], tmp_path: Path) -> Publish:
    """Run `safe-gate publish` in a workflow_run."""

    def run(
        *arguments: str,
        command: str = "publish",
        event: str = "workflow_run",
        payload: Any = None,
        **changed: str,
    ) -> Published:
        facts = {"GITHUB_WORKFLOW": "publish", "GITHUB_JOB": "comment", "GITHUB_RUN_ID": "900"} | changed
        in_actions(event, payload or workflow_run([LISTED]), **facts)
        ran = safe_gate(command, *arguments)
        assert TOKEN not in ran.log
        return Published(ran, (tmp_path / "output").read_text("utf-8"))

    return run


def test_a_trusted_run_posts_what_an_untrusted_one_could_not(
    untrusted: Callable[..., None], publish: Publish, github: GitHub
) -> None:
    untrusted()
    published = publish()
    (comment,) = github.comments
    assert (published.code, published.status, published.outputs["comment-url"]) == (0, "created", comment["html_url"])
    assert published.outputs["verdict"] == "fail"
    assert comment["body"] == json.loads(FILE.read_text("utf-8"))["body"]
    assert comment["body"].startswith(f"<!-- safe-gate gate=evals/gate head={HEAD} run=77.1 ")
    assert len(github.requests) == 4
    assert publish().status == "unchanged"


def test_it_is_the_comment_that_the_run_itself_would_have_written(
    untrusted: Callable[..., None], publish: Publish, gate: Gate
) -> None:
    untrusted()
    publish()
    assert gate("fail", GITHUB_RUN_ID="77").status == "unchanged"


@pytest.mark.parametrize(
    ("given", "named"), [((), "SAFE Gate failed"), (("--gate-id", "small"), "SAFE Gate <code>small</code> failed")]
)
def test_a_gate_is_named_as_the_run_itself_would_have(
    untrusted: Callable[..., None], publish: Publish, github: GitHub, gate: Gate, given: tuple[str, ...], named: str
) -> None:
    untrusted("fail", *given)
    publish()
    assert f"### ❌ {named}" in github.comments[0]["body"]
    assert gate("fail", *given, GITHUB_RUN_ID="77").status == "unchanged"


def test_the_action_publishes_by_its_mode(untrusted: Callable[..., None], publish: Publish) -> None:
    untrusted()
    assert publish(command="run", INPUT_MODE="publish").status == "created"


@pytest.mark.parametrize("given", ["flag", "input"])
def test_a_dry_run_shows_the_comment_and_asks_nothing_of_github(
    untrusted: Callable[..., None], publish: Publish, github: GitHub, given: str
) -> None:
    untrusted()
    if given == "flag":
        published = publish("--dry-run")
    else:
        published = publish(command="run", **{"INPUT_MODE": "publish", "INPUT_DRY-RUN": "true"})
    assert (published.code, published.status, github.requests) == (0, "skipped-dry-run", [])
    assert "bytes ---\n### ❌ SAFE Gate" in published.log
    edit(lambda file: file.update(run_id=78))
    published = publish("--dry-run")
    assert (published.code, published.status) == (3, "failed")
    assert "::error" not in published.log


@pytest.mark.parametrize("payload", [workflow_run(), workflow_run(head_repository=None)], ids=["fork", "deleted-fork"])
def test_a_forks_pull_request_is_found_by_its_head(
    untrusted: Callable[..., None], publish: Publish, github: GitHub, payload: Mapping[str, Any]
) -> None:
    untrusted()
    assert publish(payload=payload).status == "created"
    assert len(github.requests) == 4


def test_a_head_that_has_moved_on_is_not_commented(
    untrusted: Callable[..., None], publish: Publish, github: GitHub
) -> None:
    untrusted()
    github.head = OTHER
    for payload in (workflow_run([LISTED]), workflow_run(), workflow_run(head_repository=None)):
        published = publish(payload=payload)
        assert (published.code, published.status) == (0, "skipped-outdated")
        whose = "Codertocat/Hello-World" if payload["workflow_run"]["head_repository"] is None else "Codertocat:changes"
        assert f"No open pull request of {whose} has the head {HEAD}." in published.log
    assert github.comments == []


def test_a_closed_pull_request_is_not_commented(
    untrusted: Callable[..., None], publish: Publish, github: GitHub
) -> None:
    untrusted()
    github.state = "closed"
    assert publish().status == "skipped-outdated"


def test_a_newer_comment_is_not_overwritten(untrusted: Callable[..., None], publish: Publish, github: GitHub) -> None:
    untrusted()
    github.add(BOT, f"<!-- safe-gate gate=evals/gate head={HEAD} run=78.1 result=0 text=0 -->\nnewer")
    published = publish()
    assert published.status == "skipped-outdated"
    assert "A newer run has written it." in published.log


def test_the_file_of_an_earlier_attempt_is_published_as_its(
    untrusted: Callable[..., None], publish: Publish, github: GitHub
) -> None:
    untrusted("fail")  # then another job of the run was run again, and this one was not
    again = workflow_run([LISTED], run_attempt=2)
    assert publish(payload=again).status == "created"
    assert " run=77.1 " in github.comments[0]["body"]
    untrusted("pass", GITHUB_RUN_ATTEMPT="2")
    assert publish(payload=again).status == "updated"
    untrusted("fail")
    assert publish(payload=again).status == "skipped-outdated"


def test_another_result_of_the_same_run_is_not_posted_over_the_first(
    untrusted: Callable[..., None], publish: Publish
) -> None:
    untrusted("fail")
    assert publish().status == "created"
    untrusted("pass")
    published = publish()
    assert (published.code, published.status) == (3, "skipped-same-gate")


def test_the_file_cannot_choose_the_pull_request(
    untrusted: Callable[..., None], publish: Publish, github: GitHub
) -> None:
    untrusted()
    edit(lambda file: file.update(pull_request=1))
    assert publish(payload=workflow_run()).status == "created"
    assert {path for method, path in github.requests if method == "POST"} == {COMMENTS}


def test_the_file_cannot_choose_the_digest(untrusted: Callable[..., None], publish: Publish, github: GitHub) -> None:
    untrusted()
    left = json.loads(FILE.read_text("utf-8"))
    digests = left["report"]["provenance"]["digests"]
    true, left["report"]["provenance"]["digests"] = digests["all"], dict.fromkeys(digests, "0" * 64)
    FILE.write_text(json.dumps(left), "utf-8")
    publish()
    assert f"digest <code>{true[:12]}</code>" in github.comments[0]["body"]


def test_the_file_cannot_choose_another_workflows_gate(
    untrusted: Callable[..., None], publish: Publish, github: GitHub
) -> None:
    theirs = github.add(BOT, f"<!-- safe-gate gate=trusted/gate head={HEAD} run=1.1 result=0 text=0 -->\ntrusted")
    untrusted()
    edit(lambda file: file.update(gate="../trusted/gate"))
    assert publish().status == "created"
    assert theirs["body"].endswith("trusted")
    edit(lambda file: file.update(gate="whatever"))
    assert publish("--gate-id", "../trusted/gate").status == "unchanged"  # the trusted workflow's own id counts


def edit(change: Callable[[dict[str, Any]], Any]) -> None:
    file = json.loads(FILE.read_text("utf-8"))
    change(file)
    FILE.write_text(json.dumps(file), "utf-8")


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
                problems=[dict.fromkeys(("path", "id", "field", "message"), "") | {"line": 0}]
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
        assert "expected the artifact that the run left behind, downloaded into report-dir" in published.log


def test_a_file_that_cannot_be_looked_for_is_not_said_to_be_missing(publish: Publish) -> None:
    FILE.parent.symlink_to(FILE.parent.name)
    published = publish()
    assert (published.code, published.status) == (3, "failed")
    assert f"{FILE}: cannot be read: Too many levels of symbolic links" in published.log


def test_a_file_too_large_is_refused(
    untrusted: Callable[..., None], publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    untrusted()
    monkeypatch.setattr("safe_gate.publish.handover._LARGEST", 100)
    assert "expected at most 100" in publish().log


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
    assert "names no run that started this workflow; expected the event of a workflow_run" in published.log


@pytest.mark.parametrize("event", ["workflow_run", "pull_request"])
@pytest.mark.parametrize("is_there", [True, False])
def test_the_doctor_refuses_what_publish_would_refuse_and_promises_no_more_than_it_does(
    untrusted: Callable[..., None], publish: Publish, github: GitHub, event: str, *, is_there: bool
) -> None:
    untrusted()
    if not is_there:
        FILE.unlink()
    payload = None if event == "workflow_run" else PULL_REQUEST
    seen = publish(command="doctor", event=event, payload=payload, INPUT_MODE="publish")
    assert github.requests == []
    assert seen.code == publish(event=event, payload=payload).code == (0 if is_there and payload is None else 3)
    promised = seen.log.partition("A run would publish:\n")[2].partition("\nNothing was scored")[0]
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


def test_settings_that_are_wrong_are_said_and_nothing_is_posted(
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


# --- waivers ------------------------------------------------------------------------------------


KNOWN = ("agency_language", "topic_pivot")


@pytest.fixture
def waived(untrusted: Callable[..., None]) -> Callable[..., None]:
    """Leave behind a run that passes because the failures of one of its cases are waived."""

    def run() -> None:
        write_cases(Path("known.jsonl"), turn("known", assistant="You should check the printer.", checks=list(KNOWN)))
        fields = {"id": "known", "reason": "vendor model", "owner": "pat", "expires": "2999-12-31"}
        listed = [fields | {"check": check} for check in KNOWN]
        Path("safe-gate.waivers.json").write_text(json.dumps({"waivers": listed}), "utf-8")
        untrusted("pass", "--cases", "known.jsonl")

    return run


def test_a_run_with_waivers_is_published_as_it_was_judged(
    waived: Callable[..., None], publish: Publish, github: GitHub
) -> None:
    Path("safe.config.json").write_text('{"tags": {"none": {"min-pass-rate": 1, "optional": true}}}', "utf-8")
    waived()
    published = publish()
    assert (published.code, published.status, published.outputs["verdict"]) == (0, "created", "pass")
    (comment,) = github.comments
    assert comment["body"] == json.loads(FILE.read_text("utf-8"))["body"]
    assert "more waived, 0 allowed" in comment["body"]
    assert "**Known failures** · " in comment["body"]
    assert "Tag <code>none</code>: skipped: no cases | ⏭️ |" in comment["body"]


def to_unused(waivers: dict[str, Any]) -> None:
    waivers["unused"], waivers["applied"] = waivers["applied"], []


def renamed(waivers: dict[str, Any]) -> None:
    waivers["applied"][0]["id"] = "somebody else"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda waivers: waivers["applied"][0].update(expires="2001-01-01"),
            "by the report's own figures it is 'fail'",
        ),
        (renamed, "by the report's own figures it is 'fail'"),
        (lambda waivers: waivers["applied"].clear(), "by the report's own figures it is 'fail'"),
        (lambda waivers: waivers["expired"].append(waivers["applied"][0]), "waives one failure twice"),
        (
            lambda waivers: waivers["applied"][0].update(expires="tomorrow"),
            'report.waivers.applied[0].expires: is "tomorrow"',
        ),
        (lambda waivers: waivers["applied"][0].update(metric="CR"), "does not have exactly one of the shapes"),
    ],
)
def test_what_a_file_says_became_of_its_waivers_does_not_count(
    waived: Callable[..., None], publish: Publish, github: GitHub, change: Callable[[Any], Any], words: str
) -> None:
    waived()
    edit(lambda file: change(file["report"]["waivers"]))
    published = publish()
    assert (published.code, github.comments) == (3, [])
    assert words in published.log


def test_waivers_in_the_wrong_list_are_sorted_out_anew(
    waived: Callable[..., None], publish: Publish, github: GitHub
) -> None:
    waived()
    edit(lambda file: to_unused(file["report"]["waivers"]))
    assert publish().code == 0
    assert "in force |" in github.comments[0]["body"]


# --- hostile reports ----------------------------------------------------------------------------

EVIL = "@octocat fixes #1 | <img src=x> <!-- safe-gate --> ![a](//e) https://evil.example\n\n# h\n```\n::error::x ##[error]y \u202e"


def places(
    value: Any, kinds: type | tuple[type, ...], path: tuple[str | int, ...] = ()
) -> Iterator[tuple[str | int, ...]]:
    """Yield a place of every kind of value in a report, once for all entries of a list."""
    if isinstance(value, kinds) and not isinstance(value, bool):
        yield path
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else [*enumerate(value)][:1]:
            yield from places(inner, kinds, (*path, key))


def replaced(report: Any, path: tuple[str | int, ...], change: Callable[[Any], Any]) -> Any:
    """Return a report with one value changed."""
    if not path:
        return change(report)
    copy: Any = dict(report) if isinstance(report, dict) else list(report)
    copy[path[0]] = replaced(report[path[0]], path[1:], change)
    return copy


@pytest.fixture
def file(untrusted: Callable[..., None]) -> dict[str, Any]:
    """Return what an untrusted run left behind, with a report of both evaluators and of what got worse."""
    write_batch(Path("b_batch_1.json"), safe_case("a"))
    untrusted("pass", "--safe-batch", "b_batch_1.json")
    baseline = Path("reports/safe-gate.json").rename("baseline.json")
    outputs = {"signals": ["x"], "summary": "y", "followup_questions": ["the policy"]}
    write_batch(Path("b_batch_1.json"), safe_case("a", output=outputs))
    untrusted("fail", "--safe-batch", "b_batch_1.json", "--baseline", str(baseline))
    found: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
    return found


@pytest.mark.untraced
@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.soak)])
def test_no_text_of_an_untrusted_report_can_act(
    file: dict[str, Any], publish: Publish, github: GitHub, step: int
) -> None:
    report = file["report"]
    variants = [(path, replaced(report, path, lambda _: EVIL)) for path in places(report, str)]
    variants += [
        (path, replaced(report, path, lambda inner: inner | {EVIL: next(iter(inner.values()), 1)}))
        for path in places(report, dict)
    ]
    refused = shown = 0
    for path, variant in variants[::step]:
        FILE.write_text(json.dumps(file | {"report": variant}), "utf-8")
        github.comments.clear()
        published = publish()
        assert not re.search(r"^\s*::(?!error title=SAFE Gate)|##\[|\u202e", published.log, re.MULTILINE), path
        assert "internal error" not in published.log, path
        if published.code:
            refused += 1
            assert (published.code, github.comments) == (3, []), path
            continue
        (body,) = (comment["body"] for comment in github.comments)
        shown += "octocat" in body
        html = MarkdownIt("commonmark", {"html": True, "linkify": True}).enable(["table", "linkify"]).render(body)
        links = rf'href="https://github.com/Codertocat/Hello-World/blob/{HEAD}/[\w%./-]*#L\d+"'  # to a line of the data
        outside = re.sub(rf"<code>.*?</code>|{links}", "", html, flags=re.DOTALL)
        for sign in ("octocat", "fixes", "evil.example", "<img", "\u202e"):
            assert sign not in outside, (path, sign)
        assert body.count("<!--") == 1, path
    assert min(refused, shown) > 5 / step, "some must be refused and some shown"


@pytest.mark.untraced
@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("number", [-1, 10**30])
def test_no_number_of_an_untrusted_report_breaks_the_trusted_run(
    file: dict[str, Any], publish: Publish, number: float, step: int
) -> None:
    for path in [*places(file["report"], (int, float))][::step]:
        FILE.write_text(json.dumps(file | {"report": replaced(file["report"], path, lambda _: number)}), "utf-8")
        published = publish("--comment", "never")
        assert published.code in (0, 3)
        assert "internal error" not in published.log, path
