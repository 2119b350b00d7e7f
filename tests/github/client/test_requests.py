"""A GitHub that misbehaves: what is tried again, what is waited for, and what is never sent where."""

import json
import threading
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path

import pytest

from safe_gate.github import ApiError, Refusal
from safe_gate.github.client import _JSON, Client
from tests.support.cases import Patch, SafeGate, report, turn, write_cases
from tests.support.drips import limits
from tests.support.github import COMMENTS, ONE_COMMENT, REPOSITORY, TOKEN, Answer, Gate, GitHub, InActions, Start, says

NOW = 1_700_000_000
PERMISSION = '{"message": "Resource not accessible by integration"}'
PRIMARY = '{"message": "API rate limit exceeded for installation ID 1."}'
SECONDARY = '{"message": "You have exceeded a secondary rate limit. Please wait a few minutes."}'
ABUSE = '{"message": "You have triggered an abuse detection mechanism. Please wait before you try again."}'
LATER = "Mon, 01 Jan 2026 00:00:00 +" + "9" * 14


def spent(reset: str, **headers: str) -> dict[str, str]:
    return {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset, "Date": formatdate(NOW, usegmt=True)} | headers


# What GitHub answers, the seconds waited for, and what becomes of the comment.
LIMITS = {
    "permission": (Answer(403, PERMISSION, {"X-RateLimit-Remaining": "42"}), [], "skipped-permissions"),
    "primary": (Answer(403, PRIMARY, spent(str(NOW + 7)), times=1), [7], "created"),
    "primary, over": (Answer(403, PRIMARY, spent(str(NOW - 99)), times=1), [1], "created"),
    "primary, too long": (Answer(403, PRIMARY, spent(str(NOW + 61))), [], "skipped-rate-limit"),
    "primary, no clock": (Answer(403, PRIMARY, spent("1", Date="?"), times=1), [60], "created"),
    "primary, absurd clock": (Answer(403, PRIMARY, spent("1", Date=LATER), times=1), [60], "created"),
    "primary, no time": (Answer(403, PRIMARY, spent("soon"), times=1), [60], "created"),
    "primary, by its words": (Answer(403, PRIMARY, times=1), [60], "created"),
    "secondary": (Answer(403, SECONDARY, {"Retry-After": "3"}, times=1), [3], "created"),
    "secondary, at once": (Answer(403, SECONDARY, {"Retry-After": "0"}, times=1), [1], "created"),
    "secondary, no time, for ever": (Answer(403, SECONDARY), [60], "skipped-rate-limit"),
    "secondary, too long": (Answer(403, SECONDARY, {"Retry-After": "61"}), [], "skipped-rate-limit"),
    "secondary, absurd": (Answer(403, SECONDARY, {"Retry-After": "9" * 400}), [], "skipped-rate-limit"),
    "abuse, by its words": (Answer(403, ABUSE, times=1), [60], "created"),
    "too many": (Answer(429, SECONDARY, {"Retry-After": "2"}, times=2), [2, 2], "created"),
    "too many, for ever": (Answer(429, "", {"Retry-After": "2"}), [2, 2], "skipped-rate-limit"),
}


@pytest.mark.parametrize(("answer", "waited", "status"), LIMITS.values(), ids=LIMITS)
def test_limits_are_waited_for(
    gate: Gate, github: GitHub, waits: list[float], answer: Answer, waited: list[float], status: str
) -> None:
    github.faults[("POST" if len(waited) > 1 else "GET", COMMENTS)] = replace(answer)
    step = gate("fail")
    assert (step.status, waits) == (status, waited)
    asked = [line for line in step.ran.out.split("\n") if "Asking GitHub again" in line]
    assert asked == [f"Asking GitHub again in {seconds} s." for seconds in waited]
    assert len(step.warnings) == (status != "created")
    if status == "skipped-rate-limit":
        assert "and waiting did not help or would take too long" in step.warnings[0]


def test_a_branch_that_moves_is_read_at_one_commit(safe_gate: SafeGate, in_actions: InActions, github: GitHub) -> None:
    commits = {"old": "1" * 40, "new": "2" * 40}
    data = write_cases(Path("head.jsonl"), turn("a")).read_bytes()
    for name, sha in commits.items():
        config = json.dumps({"synthesis-cases": [f"{name}.jsonl"]}).encode()
        github.trees[sha] = {"safe.config.json": config, f"{name}.jsonl": data}
    Path("safe.config.json").write_text('{"synthesis-cases": ["head.jsonl"]}', "utf-8")
    github.refs = {sha: sha for sha in commits.values()} | {"main": commits["new"]}
    before = json.dumps({"sha": commits["old"]})
    github.faults[("GET", f"/repos/{REPOSITORY}/commits/main")] = Answer(200, before, times=1)
    in_actions()
    assert safe_gate("run", "--baseline", "main").code == 0
    assert report()["comparison"]["baseline"]["commit"] == commits["old"]


# Whether a write happened is unclear after these.
UNCLEAR = {
    "500": Answer(500, ""),
    "502": Answer(502, "<html>Unicorn!</html>"),
    "503": Answer(503, "", {"Retry-After": "1"}),
    "lost": Answer(lost=True),
    "cut": Answer(200, "[", cut=True),
}


@pytest.mark.parametrize(("answer", "times"), [*((answer, 2) for answer in UNCLEAR.values()), (UNCLEAR["lost"], 3)])
def test_what_only_reads_is_sent_three_times(
    gate: Gate, github: GitHub, waits: list[float], answer: Answer, times: int
) -> None:
    for method, path, done in (("GET", COMMENTS, "created"), ("PATCH", ONE_COMMENT, "updated")):
        github.faults = {(method, path): replace(answer, times=times)}
        waits.clear()
        step = gate("fail" if method == "GET" else "pass")
        assert (step.status, waits) == (done if times < 3 else "failed", [1.0, 2.0][:times])
        github.faults.clear()
        gate("fail")


@pytest.mark.parametrize("answer", UNCLEAR.values(), ids=UNCLEAR)
def test_a_comment_is_looked_for_before_it_is_created_again(gate: Gate, github: GitHub, answer: Answer) -> None:
    github.faults[("POST", COMMENTS)] = replace(answer, times=1)
    step = gate("fail")
    assert (step.status, step.outputs["comment-url"]) == ("created", github.comments[0]["html_url"])
    assert len(github.comments) == 1
    assert github.writes == (["POST"] if answer.lost else ["POST", "POST"])


@pytest.mark.parametrize("dots", [200 - len(TOKEN) + 1, 190, 0])
def test_a_token_that_an_answer_quotes_is_not_shown_in_part_either(gate: Gate, github: GitHub, dots: int) -> None:
    github.faults[("GET", COMMENTS)] = says(404, "." * dots + TOKEN)
    step = gate("fail")
    assert "HTTP 404 (" in step.warnings[0]
    assert "ghs_" not in step.ran.log
    with pytest.raises(ApiError) as refused:
        client(github).raw(COMMENTS)  # as a file is asked for
    assert "ghs_" not in str(refused.value)


@pytest.mark.parametrize(("method", "status"), [("GET", 301), ("GET", 307), ("POST", 302), ("POST", 308)])
def test_a_redirect_is_followed_three_times_and_on_the_same_host_alone(
    gate: Gate, github: GitHub, start: Start, method: str, status: int
) -> None:
    elsewhere = start(GitHub())
    github.faults[(method, COMMENTS)] = Answer(status, "", {"Location": f"{elsewhere.url}{COMMENTS}"}, times=1)
    assert gate("fail").status == "failed"
    assert (elsewhere.requests, elsewhere.tokens, github.comments) == ([], set(), []), "which never sees the token"
    github.faults[(method, COMMENTS)] = Answer(status, "", {"Location": COMMENTS})
    github.requests.clear()
    step = gate("fail")
    assert (step.status, [one for one, _ in github.requests].count(method)) == ("failed", 4)
    assert "redirected more than 3 times" in step.warnings[0]
    github.faults[(method, COMMENTS)] = Answer(status, "", {"Location": f"/_moved{COMMENTS}?per_page=100"}, times=1)
    assert gate("fail").status == "created"
    assert (method, f"/_moved{COMMENTS}?per_page=100") in github.requests


def client(github: GitHub, **effects: object) -> Client:
    return Client(github.url, TOKEN, say=print, **({"sleep": lambda _: None, "seconds": 60} | effects))  # type: ignore[arg-type]


@pytest.mark.parametrize("status", [200, 302])
def test_an_answer_that_comes_byte_by_byte_is_given_up(github: GitHub, monkeypatch: Patch, status: int) -> None:
    monkeypatch.setattr("safe_gate.github.client._JSON", _JSON._replace(longest=0.1))
    github.faults[("POST", COMMENTS)] = Answer(status, "{}" + " " * 600, {"Location": COMMENTS}, pause=0.05)
    given = limits(monkeypatch, Client.__module__)
    with pytest.raises(ApiError, match="no answer in time") as caught:
        client(github).call("POST", COMMENTS, {"body": "x"})
    assert caught.value.refusal is Refusal.UNCLEAR
    assert given == [0.1]  # the whole answer takes 30 seconds


def test_a_server_that_does_not_answer_is_given_up(github: GitHub, monkeypatch: Patch) -> None:
    monkeypatch.setattr("safe_gate.github.client._TIMEOUT", (1, 0.05))
    given_up = threading.Event()

    monkeypatch.setattr(GitHub, "answer", lambda *_: given_up.wait() and Answer())
    with pytest.raises(ApiError, match="GET /user: no answer in time") as caught:
        client(github).call("GET", "/user")
    given_up.set()
    assert caught.value.refusal is Refusal.UNCLEAR  # and not the deadline


def test_an_answer_too_large_is_given_up(github: GitHub, monkeypatch: Patch) -> None:
    monkeypatch.setattr("safe_gate.github.client._JSON", _JSON._replace(largest=1_000))
    github.faults[("GET", COMMENTS)] = Answer(body=json.dumps([{"body": "x" * 2_000}]))
    with pytest.raises(ApiError):
        list(client(github).pages(COMMENTS))


def test_a_next_page_may_be_named_without_its_host(github: GitHub) -> None:
    github.faults[("GET", COMMENTS)] = Answer(200, "[]", {"Link": f'<{COMMENTS}?page=2>; rel="next"'}, times=1)
    assert list(client(github).pages(COMMENTS)) == []
    assert github.requests == [("GET", COMMENTS), ("GET", f"{COMMENTS}?page=2")]


def test_certificates_are_those_of_the_environment(gate: Gate, monkeypatch: Patch, tmp_path: Path) -> None:
    (tmp_path / "env.pem").write_text("", "utf-8")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "env.pem"))
    asked = set()
    # Of a session: the connection, the URL, what to verify with, the client's own certificate.
    monkeypatch.setattr("requests.adapters.HTTPAdapter.cert_verify", lambda *given: asked.add(given[3]))
    gate("fail")
    assert asked == {str(tmp_path / "env.pem")}


def test_a_proxy_is_used(gate: Gate, github: GitHub, monkeypatch: Patch) -> None:
    monkeypatch.setenv("HTTP_PROXY", github.url)
    assert gate(GITHUB_API_URL="http://github.invalid").status == "created"
    assert github.requests[0] == ("GET", f"http://github.invalid{COMMENTS}?per_page=100")
