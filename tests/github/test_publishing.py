"""Publishing to GitHub, against a GitHub in memory: the comment, the outputs, and what may never change a verdict."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cases import Ran, turn, write_cases
from tests.support.github import (
    BOT,
    COMMENTS,
    HEAD,
    ONE_COMMENT,
    PERSONAL,
    TOKEN,
    Answer,
    Gate,
    GitHub,
    Step,
    ok,
    outputs,
)

MARKER = re.compile(r"<!-- safe-gate gate=(\S+) head=(\w*) run=(\d+)\.(\d+) result=(\w+) text=(\w+) -->\n")


def marker(gate: str = "evals/gate", **fields: str) -> str:
    """Return the hidden line of an earlier comment."""
    facts = {"gate": gate, "head": HEAD, "run": "99.1", "result": "0123456789abcdef", "text": ""} | fields
    return f"<!-- safe-gate {' '.join(f'{name}={value}' for name, value in facts.items())} -->"


# --- the comment --------------------------------------------------------------------------------


def test_the_first_run_creates_a_comment(gate: Gate, github: GitHub) -> None:
    step = gate("fail")
    (comment,) = github.comments
    assert (step.status, step.outputs["comment-url"]) == ("created", comment["html_url"])
    found = MARKER.match(comment["body"])
    assert found
    assert found.groups()[:4] == ("evals/gate", HEAD, "100", "1")
    assert comment["body"][found.end() :] == step.summary
    assert step.summary.startswith("### ❌ SAFE Gate")
    listing = ("GET", f"{COMMENTS}?per_page=100")
    assert github.requests == [listing, ("POST", COMMENTS), listing]
    assert f"https://github.com/Codertocat/Hello-World/blob/{HEAD}/cases.jsonl#L1" in comment["body"]
    for path in (f"commit/{HEAD})", "actions/runs/100#artifacts)"):
        assert f"https://github.com/Codertocat/Hello-World/{path}" in comment["body"]
        assert path not in Path("reports/safe-gate.md").read_text("utf-8"), "the report is the same whoever makes it"
    assert github.tokens == {f"Bearer {TOKEN}"}
    assert step.warnings == []


def test_a_comment_with_line_ends_as_a_browser_sends_them_is_unchanged(gate: Gate, github: GitHub) -> None:
    gate()
    github.comments[0]["body"] = github.comments[0]["body"].replace("\n", "\r\n").strip()
    assert gate().status == "unchanged"


@pytest.mark.parametrize("author", ["octocat", "github-actions", None])
def test_a_foreign_comment_with_our_marker_is_never_edited(gate: Gate, github: GitHub, author: str | None) -> None:
    foreign = github.add("", f"{marker()}\n### ✅ SAFE Gate · all is well")
    foreign["user"] = author and {"login": author}  # the account of a ghost is null
    before = dict(foreign)
    assert gate("fail").status == "created"
    assert github.comments[0] == before
    assert len(github.comments) == 2


@pytest.mark.parametrize(
    "body", ["### another action's report", f"> {marker()}\n> quoted", f"{marker('evals/other')}\nx", "", None]
)
def test_another_comment_of_the_same_bot_is_left_alone(gate: Gate, github: GitHub, body: str | None) -> None:
    github.add(BOT, "")["body"] = body
    assert gate().status == "created"
    assert github.comments[0]["body"] == body


def test_our_comment_is_found_on_a_later_page(gate: Gate, github: GitHub) -> None:
    for number in range(5):
        github.add("octocat", f"comment {number}")
    ours = github.add(BOT, f"{marker()}\nold")
    github.add("octocat", "the last word")
    github.page_size = 2
    step = gate()
    assert (step.status, step.outputs["comment-url"]) == ("updated", ours["html_url"])
    assert [path for _, path in github.requests if "page=3" in path]
    assert github.writes == ["PATCH"]


def test_a_personal_token_updates_its_owners_comment(gate: Gate, github: GitHub) -> None:
    github.login = "octocat"
    github.add(BOT, f"{marker()}\nof the workflow's own token")
    ours = github.add("octocat", f"{marker()}\nold")
    assert gate(**PERSONAL).status == "updated"
    assert len(github.requests) == 4
    assert "\n### ✅ SAFE Gate" in ours["body"]
    assert github.comments[0]["body"].endswith("own token")


def test_a_server_of_ones_own_may_have_a_path(gate: Gate, github: GitHub) -> None:
    github.url += "/api/v3"
    assert gate(GITHUB_API_URL=f"{github.url}/").status == "created"
    assert {path.startswith("/api/v3/") for _, path in github.requests} == {True}


# --- no comment ---------------------------------------------------------------------------------


def test_comment_never_asks_nothing_of_github(gate: Gate, github: GitHub) -> None:
    step = gate("fail", "--comment", "never")
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
        b'{"pull_request": {"number": true}}',
    ],
    ids=lambda payload: ascii(payload)[:30],
)
def test_a_missing_or_broken_event_file_leaves_the_verdict_alone(
    gate: Gate, github: GitHub, payload: bytes | None
) -> None:
    step = gate("fail", payload=payload)
    assert (step.status, github.requests) == ("skipped-no-pull-request", [])
    is_broken = payload is None or payload[:1] != b"{" or len(payload) == 1
    told = [one for one in step.warnings if "The comment was not posted: the event file" in one]
    assert (told, len(told)) == (step.warnings, is_broken)


# --- a GitHub that refuses, breaks or is not there ----------------------------------------------


def assert_only_warned(step: Step, status: str) -> None:
    assert (step.status, step.outputs["comment-url"]) == (status, "")
    (warning,) = step.warnings
    assert warning.startswith("::warning title=SAFE Gate::The comment was not posted: ")
    assert warning.endswith("The verdict does not depend on it.")


@pytest.mark.parametrize(
    ("method", "path", "status", "expected"),
    [
        *(("POST", COMMENTS, status, "skipped-permissions") for status in (401, 403, 404)),
        *(("POST", COMMENTS, status, "failed") for status in (410, 422, 500, 503)),
        *(("POST", COMMENTS, 429, "skipped-rate-limit"),),
        *(("GET", COMMENTS, *found) for found in ((403, "skipped-permissions"), (500, "failed"))),
        *(("PATCH", ONE_COMMENT, *found) for found in ((404, "skipped-permissions"), (502, "failed"))),
    ],
)
def test_a_refusal_is_a_warning(gate: Gate, github: GitHub, method: str, path: str, status: int, expected: str) -> None:
    if method == "PATCH":
        github.add(BOT, f"{marker()}\nold")
    github.faults[(method, path)] = Answer(status)
    step = gate("fail")
    assert_only_warned(step, expected)
    assert f"HTTP {status} (Sorry. Your account was suspended)" in step.warnings[0]
    assert [comment["body"] for comment in github.comments] == ([f"{marker()}\nold"] if method == "PATCH" else [])


@pytest.mark.parametrize("token", [{}, PERSONAL], ids=["job", "personal"])
def test_a_token_that_github_does_not_know_is_a_warning(gate: Gate, github: GitHub, token: dict[str, str]) -> None:
    bad = Answer(401, '{"message": "Bad credentials"}')
    github.faults = {("GET", "/user"): bad, ("GET", COMMENTS): bad}
    step = gate(**token)
    assert_only_warned(step, "skipped-permissions")
    assert "HTTP 401 (Bad credentials); the token is wrong or has expired: correct github-token." in step.warnings[0]
    assert "read-only" not in step.warnings[0]


@pytest.mark.parametrize(
    ("answer", "status", "advice"),
    [
        (
            Answer(403, '{"message": "Resource not accessible by integration"}'),
            "skipped-permissions",
            "read-only token",
        ),
        (Answer(404, '{"message": "Not Found"}'), "skipped-permissions", "the token cannot access this pull request"),
        (
            Answer(403, '{"message": "Unable to create comment because issue is locked."}'),
            "skipped-locked",
            "the conversation is locked: unlock it",
        ),
    ],
    ids=["permission", "not-found", "locked"],
)
def test_every_refusal_has_its_own_advice(gate: Gate, github: GitHub, answer: Answer, status: str, advice: str) -> None:
    github.faults[("POST", COMMENTS)] = answer
    step = gate("fail")
    assert_only_warned(step, status)
    assert advice in step.warnings[0]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        *(("GET", "/user", body) for body in ("<html>Sign in</html>", "{}")),
        *(("GET", COMMENTS, body) for body in ("<html>Sign in</html>", "", '{"a": 1}', "[null]")),
        *(("POST", COMMENTS, body) for body in ("<html>Sign in</html>", "{}", "[]")),
    ],
)
def test_an_answer_that_is_not_githubs_is_a_warning(
    gate: Gate, github: GitHub, method: str, path: str, body: str
) -> None:
    github.faults[(method, path)] = Answer(200, body)
    assert_only_warned(gate("fail", **PERSONAL), "failed")


def test_a_refusal_without_json_is_named_by_its_status(gate: Gate, github: GitHub) -> None:
    github.faults[("POST", COMMENTS)] = Answer(502, "<html>Bad Gateway</html>")
    assert f"POST {COMMENTS}: HTTP 502." in gate().warnings[0]


def test_the_words_of_an_answer_cannot_act_in_the_log(gate: Gate, github: GitHub) -> None:
    words = "no\n::error::forged\r::stop-commands::x\x1b[2J\u202e ##[error]y"
    github.faults[("POST", COMMENTS)] = Answer(403, json.dumps({"message": words}))
    step = gate("pass")
    assert_only_warned(step, "skipped-permissions")
    assert not re.search(r"^\s*::(error|stop-commands)|##\[|[\x1b\r\u202e]", step.ran.log, re.MULTILINE)


def test_a_refused_connection_is_a_warning(gate: Gate) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # taken, but nobody listens
        step = gate("pass", GITHUB_API_URL=f"http://127.0.0.1:{free.getsockname()[1]}")
    assert_only_warned(step, "failed")
    assert f"GET {COMMENTS}?per_page=100: no connection." in step.warnings[0]


_NO_ADDRESS = "is neither http nor https: correct GITHUB_API_URL"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        *(
            ({"GITHUB_API_URL": url}, _NO_ADDRESS)
            for url in ("not a url", "ftp://127.0.0.1", "http://[::1", "http://", f"http://{'a' * 64}.invalid")
        ),
        *(
            ({"INPUT_GITHUB-TOKEN": TOKEN + more}, "the token contains an invalid character: correct github-token")
            for more in ("\u2013", "\nx")
        ),
        ({"REQUESTS_CA_BUNDLE": "nowhere.pem"}, "the certificate file cannot be read: correct REQUESTS_CA_BUNDLE"),
        ({"HTTPS_PROXY": "http://127.0.0.1:1"}, "no connection to the proxy: correct HTTPS_PROXY or NO_PROXY"),
        ({"HTTPS_PROXY": "http://"}, "the proxy's address is invalid: correct HTTPS_PROXY"),
        ({"HTTPS_PROXY": "socks5://127.0.0.1:1"}, f"or of a proxy {_NO_ADDRESS} or HTTPS_PROXY"),
    ],
    ids=lambda value: ascii(value)[:40],
)
def test_what_no_request_can_be_sent_with_is_a_warning(gate: Gate, changed: dict[str, str], words: str) -> None:
    step = gate("fail", **({"GITHUB_API_URL": "https://github.invalid"} | changed))
    assert_only_warned(step, "failed")
    assert words in step.warnings[0]
    assert TOKEN not in step.ran.log


def test_a_server_that_speaks_no_tls_is_a_warning(gate: Gate, github: GitHub) -> None:
    step = gate("fail", GITHUB_API_URL=github.url.replace("http:", "https:"))
    assert_only_warned(step, "failed")
    assert "in REQUESTS_CA_BUNDLE" in step.warnings[0]


@pytest.mark.parametrize("location", ["https://[::1/x", "//[", "http://127.0.0.1:99999999/x", "http://127.0.0.1:x/"])
def test_a_redirect_to_an_invalid_address_is_a_warning(gate: Gate, github: GitHub, location: str) -> None:
    github.faults[("GET", COMMENTS)] = Answer(302, "", {"Location": location})
    step = gate("fail")
    assert_only_warned(step, "failed")
    assert f"GET {COMMENTS}?per_page=100: redirected to an address on another host" in step.warnings[0]


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


@pytest.mark.parametrize(
    ("variable", "what", "place"),
    [("GITHUB_OUTPUT", "the step outputs", "."), ("GITHUB_STEP_SUMMARY", "the job summary", "missing/file")],
)
def test_a_file_of_the_runner_that_cannot_be_written_is_a_warning(
    gate: Gate, github: GitHub, tmp_path: Path, place: str, variable: str, what: str
) -> None:
    step = gate("fail", **{variable: str(tmp_path / place)})
    (warning,) = step.warnings
    assert warning.startswith(f"::warning title=SAFE Gate::Could not write {what}: ")
    assert len(github.comments) == 1


@pytest.mark.parametrize("end", ["\n", ""])
def test_outputs_and_summary_are_added_to_what_was_written_before(gate: Gate, tmp_path: Path, end: str) -> None:
    output, summary = tmp_path / "earlier_output", tmp_path / "earlier_summary"
    for file in (output, summary):
        file.write_text(f"earlier=1{end}", "utf-8")
    gate(GITHUB_OUTPUT=str(output), GITHUB_STEP_SUMMARY=str(summary))
    assert summary.read_text("utf-8").startswith("earlier=1\n### ✅ SAFE Gate")
    assert output.read_text("utf-8").startswith("earlier=1\nverdict<<")
    assert outputs(output.read_text("utf-8"))["comment-status"] == "created"


def test_outside_of_actions_a_warning_is_a_sentence(
    safe_gate: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    ran = safe_gate("run", "--cases", write_cases(tmp_path / "cases.jsonl", turn("a")))
    assert ran.code == 0
    assert ran.err.startswith("safe-gate: warning: Could not write the job summary: ")
