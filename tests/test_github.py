"""Publishing to GitHub, against a GitHub in memory: the comment, the outputs, and what may never change a verdict."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.conftest import Ran, turn, write_cases

BOT = "github-actions[bot]"
TOKEN = "ghs_16C7e42F292c6912E7710c838347Ae178B4a"
MARKER = "<!-- safe-gate:main -->"
COMMENTS = "/repos/Codertocat/Hello-World/issues/2/comments"
# The fields that matter of GitHub's own example payloads.
HEAD = "ec26c3e57ca3a959ca5aad62de7213c562f8c821"
PULL_REQUEST = {"action": "opened", "number": 2, "pull_request": {"number": 2, "head": {"sha": HEAD}}}
PUSH = {"ref": "refs/heads/master", "after": "6113728f27ae82c7b1a177c8d03f9e96e0adf246"}
MERGE_GROUP = {
    "action": "checks_requested",
    "merge_group": {"head_sha": "2ffea6db159f6b6c47a24e778fb9ef40cf6b1c7d", "base_ref": "refs/heads/main"},
}
ISSUE_COMMENT = {"action": "created", "issue": {"number": 1}, "comment": {"body": "/safe-gate"}}


@dataclass
class Answer:
    """What GitHub says instead of doing its work."""

    status: int
    body: str = '{"message": "Sorry. Your account was suspended"}'
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class GitHub:
    """A GitHub with one pull request: its comments, who asked for what, and the answers that replace its own."""

    url: str = ""
    login: str = ""  # of the token; a workflow's own token may not ask for it
    page_size: int = 100
    comments: list[dict[str, Any]] = field(default_factory=list)
    requests: list[tuple[str, str]] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    faults: dict[tuple[str, str], Answer] = field(default_factory=dict)  # by method and a pattern of the path

    def add(self, login: str, body: str) -> dict[str, Any]:
        id_ = len(self.comments) + 1
        url = f"https://github.com/Codertocat/Hello-World/pull/2#issuecomment-{id_}"
        self.comments.append({"id": id_, "user": {"login": login}, "body": body, "html_url": url})
        return self.comments[-1]

    @property
    def writes(self) -> list[str]:
        return [method for method, _ in self.requests if method != "GET"]

    def answer(self, method: str, target: str, body: dict[str, Any]) -> Answer:
        path = urlsplit(target).path
        for (wanted, pattern), fault in self.faults.items():
            if wanted == method and re.fullmatch(pattern, path):
                return fault
        if (method, path) == ("GET", "/user"):
            return ok({"login": self.login}) if self.login else Answer(403, '{"message": "Resource not accessible"}')
        if (method, path) == ("GET", COMMENTS):
            return self._page(parse_qs(urlsplit(target).query))
        if (method, path) == ("POST", COMMENTS):
            return ok(self.add(self.login or BOT, body["body"]), 201)
        own = re.fullmatch(r"/repos/Codertocat/Hello-World/issues/comments/(\d+)", path)
        if method == "PATCH" and own:
            self.comments[int(own[1]) - 1]["body"] = body["body"]
            return ok(self.comments[int(own[1]) - 1])
        return Answer(404, '{"message": "Not Found"}')

    def _page(self, query: Mapping[str, list[str]]) -> Answer:
        size = min(int(query.get("per_page", ["30"])[0]), self.page_size)
        page = int(query.get("page", ["1"])[0])
        more = page * size < len(self.comments)
        following = f'<{self.url}{COMMENTS}?per_page={size}&page={page + 1}>; rel="next"'
        return ok(self.comments[(page - 1) * size : page * size], headers={"Link": following} if more else {})


def ok(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    return Answer(status, json.dumps(value), headers or {})


def serve(github: GitHub) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            github.requests.append((self.command, self.path))
            github.tokens.add(self.headers.get("Authorization", ""))
            answer = github.answer(self.command, self.path, json.loads(data or b"{}"))
            self.send_response(answer.status)
            for name, value in ({"Content-Type": "application/json"} | dict(answer.headers)).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.body.encode())

        do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = _answer  # noqa: N815 - the names are http.server's

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's parameter
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    github.url = f"http://127.0.0.1:{server.server_address[1]}"
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    return server


@pytest.fixture
def start() -> Iterator[Callable[[GitHub], GitHub]]:
    """Start a GitHub; it stops when the test ends."""
    servers = []

    def run(github: GitHub) -> GitHub:
        servers.append(serve(github))
        return github

    yield run
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def github(start: Callable[[GitHub], GitHub]) -> GitHub:
    return start(GitHub())


@dataclass(frozen=True)
class Step:
    """What a step of a workflow left behind."""

    ran: Ran
    outputs: Mapping[str, str]
    summary: str
    report: Mapping[str, Any]

    @property
    def status(self) -> str:
        return self.outputs["comment-status"]

    @property
    def warnings(self) -> list[str]:
        return [line for line in self.ran.log.split("\n") if line.startswith("::warning")]


Gate = Callable[..., Step]


@pytest.fixture
def gate(safe_gate: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, github: GitHub) -> Gate:
    """Run the gate as a step of a pull request's workflow; a verdict is asked for by its name."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NETRC"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)

    def run(
        verdict: str = "pass", *arguments: str, event: str = "pull_request", payload: Any = PULL_REQUEST, **changed: str
    ) -> Step:
        output, summary, event_file = tmp_path / "output", tmp_path / "summary", tmp_path / "event.json"
        for file in (output, summary):
            file.write_bytes(b"")
        if payload is not None:
            event_file.write_bytes(payload if isinstance(payload, bytes) else json.dumps(payload).encode())
        environ = {
            "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": github.url,
            "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_REPOSITORY": "Codertocat/Hello-World",
            "GITHUB_SHA": "0" * 40,
            "GITHUB_EVENT_NAME": event,
            "GITHUB_EVENT_PATH": str(event_file),
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(summary),
            "INPUT_GITHUB-TOKEN": TOKEN,
        }
        for name, value in (environ | changed).items():
            monkeypatch.setenv(name, value)
        cases = write_cases(tmp_path / "cases.jsonl", turn("a", **({} if verdict == "pass" else FAILS)))
        ran = safe_gate("run", "--cases", cases.name, *arguments)
        report = Path("reports/safe-gate.json").read_text("utf-8")
        written = output.read_text("utf-8", "replace")
        step = Step(ran, outputs(written), summary.read_text("utf-8"), json.loads(report))
        assert TOKEN not in ran.log + written + step.summary + report
        assert TOKEN not in Path("reports/safe-gate.md").read_text("utf-8")
        assert TOKEN not in json.dumps(github.comments)
        # Whatever becomes of publishing, the verdict is the cases'.
        assert (ran.code, step.report["verdict"]) == ({"pass": 0, "fail": 1}[verdict], verdict)
        assert step.outputs.get("verdict", verdict) == verdict
        assert f"Gate: {verdict.upper()}" in ran.out
        return step

    return run


FAILS = {"assistant": "You should get over it. I know exactly how you feel."}


def outputs(text: str) -> dict[str, str]:
    """Return the step outputs as the runner reads them: heredocs, each under its own delimiter."""
    found = re.findall(r"^([a-z-]+)<<(\S+)\n(.*?)\n?^\2\n", text, re.MULTILINE | re.DOTALL)
    delimiters = [delimiter for _, delimiter, _ in found]
    assert len(set(delimiters)) == len(delimiters)
    return {name: value for name, _, value in found}


# --- the comment --------------------------------------------------------------------------------


def test_the_first_run_creates_a_comment(gate: Gate, github: GitHub) -> None:
    step = gate("fail")
    (comment,) = github.comments
    assert (step.status, step.outputs["comment-url"]) == ("created", comment["html_url"])
    assert comment["body"].startswith(f"{MARKER}\n### ❌ SAFE Gate")
    assert comment["body"].removeprefix(f"{MARKER}\n") == step.summary
    assert f"https://github.com/Codertocat/Hello-World/blob/{HEAD}/cases.jsonl#L1" in comment["body"]
    assert github.tokens == {f"Bearer {TOKEN}"}
    assert step.warnings == []


def test_the_same_result_again_leaves_the_comment_alone(gate: Gate, github: GitHub) -> None:
    gate("fail")
    step = gate("fail")
    assert (step.status, step.outputs["comment-url"]) == ("unchanged", github.comments[0]["html_url"])
    assert github.writes == ["POST"]


def test_a_comment_with_line_ends_as_a_browser_sends_them_is_unchanged(gate: Gate, github: GitHub) -> None:
    gate()
    github.comments[0]["body"] = github.comments[0]["body"].replace("\n", "\r\n").strip()
    assert gate().status == "unchanged"


def test_another_result_updates_the_comment_in_place(gate: Gate, github: GitHub) -> None:
    gate("fail")
    step = gate("pass")
    assert (step.status, step.outputs["comment-url"]) == ("updated", github.comments[0]["html_url"])
    assert github.writes == ["POST", "PATCH"]
    assert github.comments[0]["body"].startswith(f"{MARKER}\n### ✅ SAFE Gate")


@pytest.mark.parametrize("author", ["octocat", "github-actions", None])
def test_a_foreign_comment_with_our_marker_is_never_edited(gate: Gate, github: GitHub, author: str | None) -> None:
    foreign = github.add("", f"{MARKER}\n### ✅ SAFE Gate · all is well")
    foreign["user"] = author and {"login": author}  # the account of a ghost is null
    before = dict(foreign)
    assert gate("fail").status == "created"
    assert github.comments[0] == before
    assert len(github.comments) == 2


@pytest.mark.parametrize("body", ["### another action's report", f"> {MARKER}\n> quoted", "", None])
def test_another_comment_of_the_same_bot_is_left_alone(gate: Gate, github: GitHub, body: str | None) -> None:
    github.add(BOT, "")["body"] = body
    assert gate().status == "created"
    assert github.comments[0]["body"] == body


def test_our_comment_is_found_on_a_later_page(gate: Gate, github: GitHub) -> None:
    for number in range(5):
        github.add("octocat", f"comment {number}")
    ours = github.add(BOT, f"{MARKER}\nold")
    github.add("octocat", "the last word")
    github.page_size = 2
    step = gate()
    assert (step.status, step.outputs["comment-url"]) == ("updated", ours["html_url"])
    assert [path for _, path in github.requests if "page=3" in path]
    assert github.writes == ["PATCH"]


def test_a_personal_token_updates_its_owners_comment(gate: Gate, github: GitHub) -> None:
    github.login = "octocat"
    github.add(BOT, f"{MARKER}\nof the workflow's own token")
    ours = github.add("octocat", f"{MARKER}\nold")
    assert gate().status == "updated"
    assert ours["body"].startswith(f"{MARKER}\n### ✅ SAFE Gate")
    assert github.comments[0]["body"].endswith("own token")


def test_the_event_pull_request_target_is_commented_too(gate: Gate, github: GitHub) -> None:
    assert gate("fail", event="pull_request_target").status == "created"
    assert f"/blob/{HEAD}/" in github.comments[0]["body"]


def test_a_server_of_ones_own_may_have_a_path(gate: Gate, github: GitHub, monkeypatch: pytest.MonkeyPatch) -> None:
    github.url += "/api/v3/"
    github.faults[("GET", "/api/v3/user")] = ok({"login": "octocat"})
    github.faults[("GET", f"/api/v3{COMMENTS}")] = ok([])
    github.faults[("POST", f"/api/v3{COMMENTS}")] = ok({"html_url": "https://ghe.example/1"}, 201)
    step = gate()
    assert (step.status, step.outputs["comment-url"]) == ("created", "https://ghe.example/1")


# --- no comment ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "payload"),
    [("push", PUSH), ("merge_group", MERGE_GROUP), ("issue_comment", ISSUE_COMMENT), ("workflow_dispatch", {})],
)
def test_an_event_without_one_pull_request_is_not_commented(
    gate: Gate, github: GitHub, event: str, payload: Mapping[str, Any]
) -> None:
    step = gate("fail", event=event, payload=payload)
    assert (step.status, step.outputs["comment-url"]) == ("skipped-no-pull-request", "")
    assert github.requests == []
    assert "1 of 1 rule broken" in step.summary


def test_a_merge_group_is_judged_at_its_own_commit(gate: Gate) -> None:
    assert (
        "/blob/2ffea6db159f6b6c47a24e778fb9ef40cf6b1c7d/"
        in gate("fail", event="merge_group", payload=MERGE_GROUP).summary
    )


@pytest.mark.parametrize("verdict", ["pass", "fail"])
def test_comment_never_asks_nothing_of_github(gate: Gate, github: GitHub, verdict: str) -> None:
    step = gate(verdict, "--comment", "never")
    assert (step.status, github.requests, step.warnings) == ("skipped-off", [], [])


@pytest.mark.parametrize("token", ["", " "])
def test_without_a_token_there_is_no_comment(gate: Gate, github: GitHub, token: str) -> None:
    step = gate("fail", **{"INPUT_GITHUB-TOKEN": token})
    assert (step.status, github.requests, step.warnings) == ("skipped-no-token", [], [])


@pytest.mark.parametrize(
    "payload",
    [
        *(None, b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000),
        *(b"{}", b'{"pull_request": null}', b'{"pull_request": {"number": "2"}}', b'{"pull_request": {"head": []}}'),
    ],
    ids=lambda payload: ascii(payload)[:30],
)
def test_a_missing_or_broken_event_file_leaves_the_verdict_alone(
    gate: Gate, github: GitHub, payload: bytes | None
) -> None:
    step = gate("fail", payload=payload)
    assert (step.status, github.requests) == ("skipped-no-pull-request", [])


def test_a_folder_for_an_event_file_leaves_the_verdict_alone(gate: Gate, tmp_path: Path) -> None:
    assert gate(GITHUB_EVENT_PATH=str(tmp_path)).status == "skipped-no-pull-request"


# --- a GitHub that refuses, breaks or is not there ----------------------------------------------

ONE_COMMENT = r"/repos/Codertocat/Hello-World/issues/comments/\d+"


def assert_only_warned(step: Step, status: str) -> None:
    assert (step.status, step.outputs["comment-url"]) == (status, "")
    (warning,) = step.warnings
    assert warning.startswith("::warning title=SAFE Gate::The comment was not posted: ")
    assert warning.endswith("The verdict does not depend on it.")


@pytest.mark.parametrize(
    ("method", "path", "status", "expected"),
    [
        *(("POST", COMMENTS, status, "skipped-permissions") for status in (401, 403, 404)),
        *(("POST", COMMENTS, status, "failed") for status in (410, 422, 429, 500, 503)),
        *(("GET", COMMENTS, *found) for found in ((403, "skipped-permissions"), (500, "failed"))),
        *(("PATCH", ONE_COMMENT, *found) for found in ((404, "skipped-permissions"), (502, "failed"))),
    ],
)
def test_a_refusal_is_a_warning(gate: Gate, github: GitHub, method: str, path: str, status: int, expected: str) -> None:
    if method == "PATCH":
        github.add(BOT, f"{MARKER}\nold")
    github.faults[(method, path)] = Answer(status)
    step = gate("fail")
    assert_only_warned(step, expected)
    assert f"HTTP {status} (Sorry. Your account was suspended)" in step.warnings[0]
    assert [comment["body"] for comment in github.comments] == ([f"{MARKER}\nold"] if method == "PATCH" else [])


def test_a_token_that_github_does_not_know_is_a_warning(gate: Gate, github: GitHub) -> None:
    bad = Answer(401, '{"message": "Bad credentials"}')
    github.faults = {("GET", "/user"): bad, ("GET", COMMENTS): bad}
    assert_only_warned(gate(), "skipped-permissions")


def test_a_broken_answer_about_who_we_are_is_a_warning(gate: Gate, github: GitHub) -> None:
    github.faults[("GET", "/user")] = Answer(500, "")
    assert_only_warned(gate(), "failed")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        *(("GET", "/user", body) for body in ("<html>Sign in</html>", "[]", "{}")),
        *(("GET", COMMENTS, body) for body in ("<html>Sign in</html>", "", "null", '{"a": 1}', "[null]", '["a"]')),
        *(("POST", COMMENTS, body) for body in ("<html>Sign in</html>", "", "null", "{}", "[]")),
    ],
)
def test_an_answer_that_is_not_githubs_is_a_warning(
    gate: Gate, github: GitHub, method: str, path: str, body: str
) -> None:
    github.faults[(method, path)] = Answer(200, body)
    assert_only_warned(gate("fail"), "failed")


def test_a_refusal_without_json_is_named_by_its_status(gate: Gate, github: GitHub) -> None:
    github.faults[("POST", COMMENTS)] = Answer(502, "<html>Bad Gateway</html>")
    assert f"POST {COMMENTS}: HTTP 502." in gate().warnings[0]


def test_the_words_of_an_answer_cannot_act_in_the_log(gate: Gate, github: GitHub) -> None:
    words = "no\n::error::forged\r::stop-commands::x\x1b[2J\u202e ##[error]y"
    github.faults[("POST", COMMENTS)] = Answer(403, json.dumps({"message": words}))
    step = gate("pass")
    assert_only_warned(step, "skipped-permissions")
    assert not re.search(r"^\s*::(error|stop-commands)|##\[|[\x1b\r\u202e]", step.ran.log, re.MULTILINE)


@pytest.mark.parametrize("verdict", ["pass", "fail"])
def test_nobody_listening_is_a_warning(gate: Gate, verdict: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # taken, but nobody listens
        step = gate(verdict, GITHUB_API_URL=f"http://127.0.0.1:{free.getsockname()[1]}")
    assert_only_warned(step, "failed")


@pytest.mark.parametrize("url", ["not a url", "ftp://127.0.0.1", "http://[::1", "http://"])
def test_an_address_that_is_none_is_a_warning(gate: Gate, url: str) -> None:
    assert_only_warned(gate(GITHUB_API_URL=url), "failed")


def test_a_token_that_no_header_can_hold_is_a_warning(gate: Gate, github: GitHub) -> None:
    step = gate("fail", **{"INPUT_GITHUB-TOKEN": f"{TOKEN}\u2013"})
    assert_only_warned(step, "failed")


def test_a_certificate_bundle_that_is_not_there_is_a_warning(
    gate: Gate, github: GitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "nowhere.pem")
    step = gate("fail", GITHUB_API_URL="https://127.0.0.1:1")
    assert_only_warned(step, "failed")


def test_a_token_with_a_line_break_is_a_warning_and_not_shown(gate: Gate, github: GitHub) -> None:
    step = gate("fail", **{"INPUT_GITHUB-TOKEN": f"{TOKEN}\nx"})
    assert_only_warned(step, "failed")
    assert TOKEN not in step.ran.log


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_and_its_host_never_sees_the_token(
    gate: Gate, github: GitHub, start: Callable[[GitHub], GitHub], status: int
) -> None:
    elsewhere = start(GitHub())
    to = {"Location": f"{elsewhere.url}{COMMENTS}"}
    github.faults = {(method, COMMENTS): Answer(status, "", to) for method in ("GET", "POST")}
    assert_only_warned(gate("fail"), "failed")
    assert (elsewhere.requests, elsewhere.tokens) == ([], set())


def test_a_next_page_on_another_host_never_sees_the_token(
    gate: Gate, github: GitHub, start: Callable[[GitHub], GitHub]
) -> None:
    elsewhere = start(GitHub())
    following = {"Link": f'<{elsewhere.url}{COMMENTS}?page=2>; rel="next"'}
    github.faults[("GET", COMMENTS)] = ok([], headers=following)
    assert_only_warned(gate("fail"), "failed")
    assert (elsewhere.requests, elsewhere.tokens) == ([], set())


def test_pages_that_never_end_are_a_warning(gate: Gate, github: GitHub) -> None:
    following = {"Link": f'<{github.url}{COMMENTS}>; rel="next"'}
    github.faults[("GET", COMMENTS)] = ok([], headers=following)
    assert_only_warned(gate("fail"), "failed")
    assert len(github.requests) < 110


@pytest.mark.parametrize("variable", ["HOME", "NETRC"])
def test_a_netrc_does_not_replace_the_token(
    gate: Gate, github: GitHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str
) -> None:
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine 127.0.0.1\nlogin mallory\npassword secret\n", "utf-8")
    netrc.chmod(0o600)
    monkeypatch.setenv(variable, str(tmp_path if variable == "HOME" else netrc))
    assert gate().status == "created"
    assert github.tokens == {f"Bearer {TOKEN}"}


# --- the runner's files -------------------------------------------------------------------------


@pytest.mark.parametrize("verdict", ["pass", "fail"])
@pytest.mark.parametrize(
    ("variable", "what"), [("GITHUB_OUTPUT", "the step outputs"), ("GITHUB_STEP_SUMMARY", "the job summary")]
)
@pytest.mark.parametrize("place", [".", "missing/file"])
def test_a_file_of_the_runner_that_cannot_be_written_is_a_warning(
    gate: Gate, github: GitHub, tmp_path: Path, place: str, variable: str, what: str, verdict: str
) -> None:
    step = gate(verdict, **{variable: str(tmp_path / place)})
    (warning,) = step.warnings
    assert warning.startswith(f"::warning title=SAFE Gate::Could not write {what}: ")
    assert len(github.comments) == 1


def test_outputs_and_summary_are_added_to_what_earlier_steps_wrote(gate: Gate, tmp_path: Path) -> None:
    output, summary = tmp_path / "earlier_output", tmp_path / "earlier_summary"
    for file in (output, summary):
        file.write_text("earlier=1\n", "utf-8")
    gate(GITHUB_OUTPUT=str(output), GITHUB_STEP_SUMMARY=str(summary))
    assert summary.read_text("utf-8").startswith("earlier=1\n### ✅ SAFE Gate")
    assert output.read_text("utf-8").startswith("earlier=1\nverdict<<")
    assert outputs(output.read_text("utf-8"))["comment-status"] == "created"


def test_every_output_says_what_the_report_says(gate: Gate) -> None:
    step = gate("fail")
    assert {name: value for name, value in step.outputs.items() if not name.startswith("comment-")} == {
        "verdict": "fail",
        "pass-rate": "",
        "unexpected-failures": "1",
        "label-accuracy": "",
        "total-cases": "1",
        "report-json": "reports/safe-gate.json",
        "report-markdown": "reports/safe-gate.md",
    }


def test_a_report_folder_whose_name_is_not_utf_8_leaves_the_verdict_alone(
    gate: Gate, github: GitHub, tmp_path: Path
) -> None:
    (tmp_path / "reports").symlink_to("caf\udce9")
    step = gate("pass", "--report-dir", "caf\udce9")
    assert len(github.comments) == 1
    assert step.summary.startswith("### ✅ SAFE Gate")


def test_a_broken_rule_is_an_error_annotation_on_github_alone(gate: Gate, safe_gate: Callable[..., Ran]) -> None:
    error = "::error title=SAFE Gate%3A max-unexpected-failures::1 unexpected failure, 0 allowed"
    assert error in gate("fail").ran.out.split("\n")
    with pytest.MonkeyPatch.context() as outside:
        outside.delenv("GITHUB_ACTIONS")
        assert "::" not in safe_gate("run", "--cases", "cases.jsonl").log


def test_outside_of_actions_a_warning_is_a_sentence(
    safe_gate: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    ran = safe_gate("run", "--cases", write_cases(tmp_path / "cases.jsonl", turn("a")))
    assert ran.code == 0
    assert ran.err.startswith("safe-gate: warning: Could not write the job summary: ")
