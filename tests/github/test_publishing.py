"""Publishing to GitHub, against a GitHub in memory: the comment, and what may never change a verdict."""

import re
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cases import Patch
from tests.support.github import BOT, COMMENTS, HEAD, ONE_COMMENT, PERSONAL, TOKEN, Answer, Gate, GitHub, Step, says


def marker(gate: str = "evals.yml/gate") -> str:
    """Return the hidden line of an earlier comment."""
    return f"<!-- safe-gate gate={gate} head={HEAD} run=99.1 result=0123456789abcdef text= -->"


def test_the_first_run_creates_a_comment(gate: Gate, github: GitHub) -> None:
    step = gate("fail")
    (comment,) = github.comments
    assert (step.status, step.outputs["comment-url"], step.warnings) == ("created", comment["html_url"], [])
    line, _, body = comment["body"].partition("\n")
    assert re.fullmatch(
        rf"<!-- safe-gate gate=evals\.yml/gate head={HEAD} run=100\.1 result=\w+ text=\w+ pull -->", line
    )
    assert body == step.summary
    assert step.summary.startswith("### ❌ SAFE Gate")
    listing = ("GET", f"{COMMENTS}?per_page=100")
    assert github.requests == [listing, ("POST", COMMENTS), listing]
    assert f"https://github.com/Codertocat/Hello-World/blob/{HEAD}/cases.jsonl#L1" in comment["body"]
    for path in (f"commit/{HEAD})", "actions/runs/100#artifacts)"):
        assert f"https://github.com/Codertocat/Hello-World/{path}" in comment["body"]
        assert path not in Path("reports/safe-gate.md").read_text("utf-8"), "the report is the same whoever makes it"
    assert github.tokens == {f"Bearer {TOKEN}"}
    github.comments[0]["body"] = comment["body"].replace("\n", "\r\n").strip()  # line ends as a browser sends them
    assert gate("fail").status == "unchanged"


@pytest.mark.parametrize(
    ("author", "body"),
    [
        *((one, f"{marker()}\n### ✅ SAFE Gate · all is well") for one in ("octocat", "github-actions", None)),
        *((BOT, one) for one in ("### another action's report", f"> {marker()}\n> quoted", f"{marker('evals/other')}\nx", None)),
    ],
)  # fmt: skip
def test_a_comment_that_is_not_ours_or_of_another_gate_is_left_alone(
    gate: Gate, github: GitHub, author: str | None, body: str | None
) -> None:
    foreign = github.add("", "") | {"body": body, "user": author and {"login": author}}  # a ghost's account is null
    github.comments = [foreign]
    assert gate("fail").status == "created"
    assert (github.comments[0], len(github.comments)) == (dict(foreign), 2)


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


@pytest.mark.parametrize(
    ("flags", "token", "status"),
    [(("--comment", "never"), TOKEN, "skipped-off"), ((), "", "skipped-no-token"), ((), " ", "skipped-no-token")],
)
def test_no_comment_asks_nothing(gate: Gate, github: GitHub, flags: tuple[str, ...], token: str, status: str) -> None:
    step = gate("fail", *flags, **{"INPUT_GITHUB-TOKEN": token})
    assert (step.status, github.requests, step.warnings) == (status, [], [])


@pytest.mark.parametrize(
    ("payload", "is_broken"),
    [
        *((one, True) for one in (None, b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000)),
        *((one, False) for one in (b"{}", b'{"pull_request": null}', b'{"pull_request": {"number": true}}')),
        *((one, False) for one in (b'{"pull_request": {"number": "2"}}', b'{"pull_request": {"head": []}}')),
    ],
    ids=lambda value: ascii(value)[:30],
)
def test_a_broken_event_changes_no_verdict(gate: Gate, github: GitHub, payload: bytes | None, is_broken: bool) -> None:
    step = gate("fail", payload=payload)
    assert (step.status, github.requests) == ("skipped-no-pull-request", [])
    told = [one for one in step.warnings if "The comment was not posted: the event file" in one]
    assert (told, len(told)) == (step.warnings, is_broken)


def assert_only_warned(step: Step, status: str, words: str = "") -> None:
    assert (step.status, step.outputs["comment-url"]) == (status, "")
    (warning,) = step.warnings
    assert warning.startswith("::warning title=SAFE Gate::The comment was not posted: ")
    assert warning.endswith("The verdict does not depend on it.")
    assert words in warning
    assert TOKEN not in step.ran.log


SORRY = "(Sorry. Your account was suspended)"
BAD_TOKEN = "HTTP 401 (Bad credentials); the token is wrong or has expired: correct github-token."
ELSEWHERE = f"GET {COMMENTS}?per_page=100: redirected to an address on another host"
SIGN_IN = "<html>Sign in</html>"
# What is asked, what GitHub answers, what becomes of the comment, and words of the warning.
REFUSALS = [
    *(("POST", COMMENTS, Answer(one), "skipped-permissions", f"HTTP {one} {SORRY}") for one in (401, 403, 404)),
    *(("POST", COMMENTS, Answer(one), "failed", f"HTTP {one} {SORRY}") for one in (410, 422, 503)),
    ("POST", COMMENTS, Answer(429), "skipped-rate-limit", "HTTP 429"),
    ("GET", COMMENTS, Answer(403), "skipped-permissions", "HTTP 403"),
    ("GET", COMMENTS, Answer(500), "failed", "HTTP 500"),
    ("PATCH", ONE_COMMENT, Answer(404), "skipped-permissions", "HTTP 404"),
    ("PATCH", ONE_COMMENT, Answer(502, "<html>Bad Gateway</html>"), "failed", "HTTP 502."),
    ("GET", COMMENTS, says(401, "Bad credentials"), "skipped-permissions", BAD_TOKEN),
    ("GET", "/user", says(401, "Bad credentials"), "skipped-permissions", BAD_TOKEN),
    ("POST", COMMENTS, says(403, "Resource not accessible by integration"), "skipped-permissions", "read-only token"),
    ("POST", COMMENTS, says(404, "Not Found"), "skipped-permissions", "the token cannot access this pull request"),
    ("POST", COMMENTS, says(403, "Unable to create comment because issue is locked."), "skipped-locked", "the conversation is locked: unlock it"),
    *(("GET", "/user", Answer(200, body), "failed", "") for body in (SIGN_IN, "{}")),
    *(("GET", COMMENTS, Answer(200, body), "failed", "") for body in (SIGN_IN, "", '{"a": 1}', "[null]")),
    *(("POST", COMMENTS, Answer(200, body), "failed", "") for body in (SIGN_IN, "{}", "[]")),
    *(("GET", COMMENTS, Answer(302, "", {"Location": to}), "failed", ELSEWHERE) for to in ("https://[::1/x", "//[", "http://127.0.0.1:99999999/x", "http://127.0.0.1:x/")),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "answer", "status", "words"), REFUSALS)
def test_a_refusal_is_a_warning(
    gate: Gate, github: GitHub, method: str, path: str, answer: Answer, status: str, words: str
) -> None:
    before = [f"{marker()}\nold"] if method == "PATCH" else []
    for body in before:
        github.add(BOT, body)
    github.faults[(method, path)] = answer
    asks_whose = path == "/user" or answer.status == 200
    assert_only_warned(gate("fail", **(PERSONAL if asks_whose else {})), status, words)
    assert [comment["body"] for comment in github.comments] == before


def test_the_words_of_an_answer_cannot_act_in_the_log(gate: Gate, github: GitHub) -> None:
    github.faults[("POST", COMMENTS)] = says(403, "no\n::error::x\r::stop-commands::x\x1b[2J\u202e ##[error]y")
    step = gate("pass")
    assert_only_warned(step, "skipped-permissions")
    assert not re.search(r"^\s*::(error|stop-commands)|##\[|[\x1b\r\u202e]", step.ran.log, re.MULTILINE)


def test_a_refused_connection_and_a_server_without_tls_are_warnings(gate: Gate, github: GitHub) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # taken, but nobody listens
        step = gate("pass", GITHUB_API_URL=f"http://127.0.0.1:{free.getsockname()[1]}")
    assert_only_warned(step, "failed", f"GET {COMMENTS}?per_page=100: no connection.")
    step = gate("pass", GITHUB_API_URL=github.url.replace("http:", "https:"))
    assert_only_warned(step, "failed", "in REQUESTS_CA_BUNDLE")


_NO_ADDRESS = "the address is invalid, or neither http nor https: correct GITHUB_API_URL, sinks or HTTPS_PROXY"
_NO_TOKEN = "the token or a header contains an invalid character: correct github-token or OTEL_EXPORTER"
UNSENT = [
    *(("GITHUB_API_URL", url, _NO_ADDRESS) for url in ("not a url", "ftp://127.0.0.1", "http://[::1", "http://", f"http://{'a' * 64}.invalid")),
    *(("INPUT_GITHUB-TOKEN", TOKEN + more, _NO_TOKEN) for more in ("\u2013", "\nx")),
    ("REQUESTS_CA_BUNDLE", "nowhere.pem", "the certificate file cannot be read: correct REQUESTS_CA_BUNDLE"),
    ("HTTPS_PROXY", "http://127.0.0.1:1", "no connection to the proxy: correct HTTPS_PROXY or NO_PROXY"),
    ("HTTPS_PROXY", "http://", "the proxy's address is invalid: correct HTTPS_PROXY"),
    ("HTTPS_PROXY", "socks5://127.0.0.1:1", _NO_ADDRESS),
]  # fmt: skip


@pytest.mark.parametrize(("variable", "value", "words"), UNSENT)
def test_what_no_request_can_be_sent_with_is_a_warning(gate: Gate, variable: str, value: str, words: str) -> None:
    step = gate("fail", **({"GITHUB_API_URL": "https://github.invalid"} | {variable: value}))
    assert_only_warned(step, "failed", words)


def test_pages_that_never_end_and_those_on_another_host_are_warnings(
    gate: Gate, github: GitHub, start: Callable[[GitHub], GitHub]
) -> None:
    elsewhere = start(GitHub())
    for host, most in ((elsewhere, 1), (github, 110)):
        following = {"Link": f'<{host.url}{COMMENTS}?page=2>; rel="next"'}
        github.faults[("GET", COMMENTS)] = Answer(body="[]", headers=following)
        github.requests.clear()
        assert_only_warned(gate("fail"), "failed")
        assert len(github.requests) <= most
    assert (elsewhere.requests, elsewhere.tokens) == ([], set()), "which never sees the token"


@pytest.mark.parametrize("variable", ["HOME", "NETRC"])
def test_netrc_replaces_no_token(gate: Gate, github: GitHub, monkeypatch: Patch, tmp_path: Path, variable: str) -> None:
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine 127.0.0.1\nlogin mallory\npassword secret\n", "utf-8")
    netrc.chmod(0o600)
    monkeypatch.setenv(variable, str(tmp_path if variable == "HOME" else netrc))
    assert gate().status == "created"
    assert github.tokens == {f"Bearer {TOKEN}"}
