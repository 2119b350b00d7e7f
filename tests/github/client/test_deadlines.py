"""A GitHub that drips: each part of an answer byte by byte, without end. The verdict and the job do not wait for it."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from safe_gate.github import client, comment
from tests.support.cases import Patch, SafeGate, refused, turn, write_cases
from tests.support.drips import DRIPS, LONG_ENOUGH, dripping, limits
from tests.support.github import COMMENTS, REPOSITORY, TOKEN, Answer, Gate, GitHub, InActions, outputs


@pytest.mark.parametrize(("part", "verdict"), [*((part, "fail") for part in DRIPS), ("body", "pass")])
def test_late_publishing_is_a_warning(gate: Gate, monkeypatch: Patch, part: str, verdict: str) -> None:
    given = limits(monkeypatch, client.__name__)
    with dripping(*DRIPS[part]) as url:
        step = gate(verdict, "--timeouts", f"publish={LONG_ENOUGH}", GITHUB_API_URL=url)
    assert given == [LONG_ENOUGH]
    assert (step.status, step.outputs["comment-url"]) == ("failed", "")
    (warning,) = step.warnings
    assert "no answer in time; GitHub is slow: run again, or raise timeouts.publish." in warning


@pytest.mark.parametrize(("part", "command"), [*((part, "run") for part in DRIPS), ("body", "compare")])
def test_reading_a_commit_that_misses_its_deadline_gives_no_verdict(
    safe_gate: SafeGate, in_actions: InActions, monkeypatch: Patch, command: str, part: str
) -> None:
    write_cases(Path("c.jsonl"), turn("a"))
    specs = ("--baseline", "main") if command == "run" else ("main", ".")
    given = limits(monkeypatch, client.__name__)
    with dripping(*DRIPS[part]) as url:
        in_actions(GITHUB_API_URL=url, GITHUB_EVENT_NAME="schedule", SAFE_GATE_TIMEOUTS=f"fetch={LONG_ENOUGH}")
        ran = safe_gate(command, *specs, "--cases", "c.jsonl")
    assert given == [LONG_ENOUGH]
    words = f"GET /repos/{REPOSITORY}/commits/heads%2Fmain?per_page=1: no answer in time; "
    refused(ran, words, "raise timeouts.fetch")


def test_requests_share_one_deadline(gate: Gate, github: GitHub, monkeypatch: Patch) -> None:
    """No request is slow by itself: what ends is the time of them all. Each answer advances the clock."""
    answer, now = GitHub.answer, [0.0]

    def slow(self: GitHub, *request: Any) -> Answer:
        now[0] += 25
        return answer(self, *request)

    monkeypatch.setattr(GitHub, "answer", slow)
    monkeypatch.setattr(client, "Client", partial(client.Client, clock=lambda: now[0]))
    given = limits(monkeypatch, client.__name__)
    asked = gate("fail", "--timeouts", "publish=80")
    assert (asked.status, len(github.requests), given) == ("created", 3, [30, 30, 30])
    github.comments.clear()
    github.requests.clear()
    given.clear()
    late = gate("fail", "--timeouts", "publish=25")
    assert (late.status, len(github.requests), given) == ("failed", 1, [25, 0])
    assert "raise timeouts.publish." in late.warnings[0]


def test_no_wait_outlasts_the_deadline(gate: Gate, github: GitHub, waits: list[float], monkeypatch: Patch) -> None:
    monkeypatch.setattr(client, "Client", partial(client.Client, clock=lambda: 0.0))
    github.faults[("GET", ".*")] = Answer(429, "", {"Retry-After": "30"})
    assert gate("fail", "--timeouts", "publish=60").status == "skipped-rate-limit"
    assert waits == [30.0]


def test_reading_and_publishing_have_a_deadline_each(gate: Gate, github: GitHub) -> None:
    asks_less = write_cases(Path("c.jsonl"), turn("a", user="x", assistant="y", checks=["agency_language"]))
    github.refs, github.trees = {"main": "c" * 40}, {"c" * 40: {"cases.jsonl": asks_less.read_bytes()}}
    for path in (f"/repos/{REPOSITORY}/commits/main", COMMENTS):
        github.faults[("GET", path)] = Answer(429, "", {"Retry-After": "50"}, times=1)
    assert gate("pass", "--baseline", "main", "--timeouts", "publish=99", "fetch=99").status == "created"


def test_the_comment_is_the_last_thing_that_is_written(gate: Gate, tmp_path: Path, monkeypatch: Patch) -> None:
    seen: dict[str, str] = {}

    def killed(*_: Any, **__: Any) -> comment.Posted:
        seen.update({name: (tmp_path / name).read_text("utf-8") for name in ("output", "summary")})
        return comment.Posted("created", "https://x/1")

    monkeypatch.setattr(comment, "post", killed)
    step = gate("fail", "--report-dir", "reports")
    assert seen["summary"] == step.summary
    before, later = outputs(seen["output"]), ("comment-status", "comment-url", "sink-status")
    assert before == {name: value for name, value in step.outputs.items() if name not in later}
    assert (before["verdict"], before["report-json"]) == ("fail", "reports/safe-gate.json")
    assert TOKEN not in seen["output"]


@pytest.mark.parametrize("value", ["0", "-1", "nan", "86400", "soon"])
def test_a_deadline_is_a_number_of_seconds_and_cannot_come_with_the_change(safe_gate: SafeGate, value: str) -> None:
    for entry in ("publish", "fetch", "sinks"):
        refused(safe_gate("doctor", "--timeouts", f"{entry}={value}"), "expected a number above 0 and below 86400")
    Path("safe.config.json").write_text('{"timeouts": {"publish": 1}}', "utf-8")
    refused(safe_gate("doctor"), "timeouts: cannot be set in the config file; use --timeouts")
