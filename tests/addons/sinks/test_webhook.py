"""Events to a webhook, and what happens when a receiver misbehaves."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from safe_gate.addons import sinks
from safe_gate.github import Given, within
from tests.support.cases import Patch, SafeGate, short_turn, write_cases
from tests.support.drips import DRIPS, LONG_ENOUGH, dripping, limits
from tests.support.events_sent import PATH, SECRET, in_file, run, to, warnings
from tests.support.github import Gate
from tests.support.receivers import DROP, Receiver, receiving


def test_a_webhook_gets_signed_batches_of_the_events(safe_gate: SafeGate, webhook: Receiver) -> None:
    started = int(time.time())
    run(safe_gate, *to(webhook), "--sinks", "file:events.jsonl")
    (post,) = webhook.posts
    assert post.path == PATH
    assert post.headers["Content-Type"] == "application/cloudevents-batch+json"
    assert post.is_signed(SECRET)
    assert not post.is_signed("another")
    assert started <= int(post.headers["SAFE-Gate-Timestamp"]) <= time.time()
    assert post.events == in_file()


def test_without_a_secret_a_webhook_gets_unsigned_batches(safe_gate: SafeGate) -> None:
    with receiving() as receiver:
        run(safe_gate, *to(receiver))
    assert ["SAFE-Gate-Signature" in post.headers for post in receiver.posts] == [False]


@pytest.mark.untraced
def test_batches_are_bounded_in_order_and_each_has_a_key_of_its_own(safe_gate: SafeGate, webhook: Receiver) -> None:
    write_cases(Path("c.jsonl"), *(short_turn(f"{n:0200}") for n in range(600)))
    run(safe_gate, *to(webhook))
    assert len(webhook.posts) > 1
    assert all(len(post.body) <= 262_144 + 2 and len(post.events) <= 500 for post in webhook.posts)
    ids = [one["data"]["id"] for one in webhook.events if one["type"] == "safe.synthesis.result"]
    assert ids == [f"{n:0200}" for n in range(600)]
    assert len({post.headers["Idempotency-Key"] for post in webhook.posts}) == len(webhook.posts)
    webhook.answers += [(200, {}), (413, {})]
    before = len(webhook.posts)
    (warning,) = warnings(run(safe_gate, *to(webhook)))
    first, _refused = webhook.posts[before:]  # which ends the sending
    assert f"sink 1 (webhook): HTTP 413 (1 try); {len(first.events)} events sent before." in warning


@pytest.mark.parametrize(
    ("answers", "waited"),
    [
        *([[(fault, {})] * 2, [1.0, 2.0]] for fault in (500, 503, 429, 408, DROP)),
        ([(429, {"Retry-After": "7"})], [7.0]),
    ],
)
def test_what_may_pass_is_tried_again_with_the_same_key(
    safe_gate: SafeGate, webhook: Receiver, waits: list[float], answers: list[Any], waited: list[float]
) -> None:
    webhook.answers += answers
    assert warnings(run(safe_gate, *to(webhook))) == []
    assert (waits, len(webhook.posts)) == (waited, len(waited) + 1)
    assert len({(post.headers["Idempotency-Key"], post.body) for post in webhook.posts}) == 1
    assert all(post.is_signed(SECRET) for post in webhook.posts)


@pytest.mark.parametrize(
    ("answers", "words", "tries"),
    [
        ([(500, {})] * 5, "HTTP 500 (5 tries)", 5),
        ([(DROP, {})] * 5, "no connection (5 tries)", 5),
        ([(429, {"Retry-After": "3600"})], "HTTP 429 (1 try)", 1),
        ([(401, {})], "HTTP 401 (1 try)", 1),
        ([(302, {"Location": "/elsewhere"})], "HTTP 302 (1 try)", 1),
        ([(600, {})], "HTTP 600 (1 try)", 1),
    ],
)
def test_what_does_not_pass_is_one_warning_and_the_verdict_stands(
    gate: Gate, webhook: Receiver, answers: list[tuple[int, dict[str, str]]], words: str, tries: int
) -> None:
    webhook.answers += answers
    webhook.body = f"your secret is {SECRET}".encode()
    step = gate("fail", *to(webhook))
    assert step.outputs["sink-status"] == "failed"
    (warning,) = step.warnings
    assert f"Not all events were sent: sink 1 (webhook): {words}; 0 events sent before. The verdict does not" in warning
    assert [post.path for post in webhook.posts] == [PATH] * tries
    assert not any(hidden in step.ran.log + json.dumps(step.report) for hidden in (SECRET, PATH, webhook.url))


def test_a_server_gone_or_untrusted_is_one_warning(safe_gate: SafeGate, webhook: Receiver, waits: list[float]) -> None:
    with receiving() as gone:
        pass
    (warning,) = warnings(run(safe_gate, *to(gone)))
    assert "sink 1 (webhook): no connection (5 tries)" in warning
    (warning,) = warnings(run(safe_gate, "--sinks", f"https{webhook.url.removeprefix('http')}"))
    untrusted = (
        "the server's certificate is not trusted: set the PEM file of its authority in REQUESTS_CA_BUNDLE (1 try)"
    )
    assert f"sink 1 (webhook): {untrusted}; 0 events" in warning


TELLING = ("nothing", "headers", "chunk sizes", "body")  # a client waits for each in code of its own


@pytest.mark.parametrize(("part", "sink"), [*((part, "webhook") for part in TELLING), ("body", "otlp")])
def test_a_slow_server_is_left_in_time(safe_gate: SafeGate, monkeypatch: Patch, part: str, sink: str) -> None:
    given = limits(monkeypatch, sinks.__name__)
    with dripping(*DRIPS[part]) as url:
        to_url = ("--sinks", f"otlp:{url}" if sink == "otlp" else url, "--allow", "plain-http")
        (warning,) = warnings(run(safe_gate, *to_url, "--timeouts", f"sinks={LONG_ENOUGH}"))
    (most,) = given
    assert most <= LONG_ENOUGH
    assert f"sink 1 ({sink}): no answer in time" in warning


def test_a_slow_sink_leaves_time_for_another(safe_gate: SafeGate, webhook: Receiver, monkeypatch: Patch) -> None:
    """Only the slow sink advances the clock: what the other one takes depends on the machine."""
    given: list[float] = []
    now = [0.0]

    def timed(seconds: float, action: Callable[[], Given]) -> Given:
        given.append(seconds)
        try:
            return within(seconds if len(given) == 1 else 60, action)
        except TimeoutError:
            now[0] += seconds
            raise

    monkeypatch.setattr(sinks, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(sinks, "within", timed)
    with dripping(b"", b"") as url:
        ran = run(safe_gate, "--sinks", f"otlp:{url}", *to(webhook), "--timeouts", "sinks=1")
    assert given == [0.5, 0.5]
    assert len(webhook.events) == 8
    (warning,) = warnings(ran)
    assert "sink 1 (otlp): no answer in time" in warning
    assert "webhook" not in warning
