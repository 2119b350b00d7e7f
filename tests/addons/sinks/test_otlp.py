"""Results as OTLP."""

import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from socket import create_server

import pytest

from tests.support.cases import Patch, SafeGate, short_turn, write_cases
from tests.support.events_sent import AT, SECRET, run, to, warnings
from tests.support.github import HEAD, REPOSITORY, Gate
from tests.support.receivers import receiving, rejecting
from tests.support.weakening import configure


def test_otlp_has_an_evaluation_of_each_metric_check_batch_and_run(gate: Gate, monkeypatch: Patch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"api-key={SECRET}")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=staging")
    configure({"recordings": {"c.jsonl": ["b_1.json"]}, "stale-recordings": "fail"})
    with receiving() as receiver:
        step = gate("fail", "--batch", "b_*", *to(receiver, "otlp"), GITHUB_RUN_ID="7")
    assert step.outputs["sink-status"] == "sent"
    assert SECRET not in step.ran.log
    assert {post.headers["api-key"] for post in receiver.posts} == {SECRET}
    records = receiver.records
    at = str(int(datetime.fromisoformat(AT).timestamp()) * 10**9)
    assert {(one["eventName"], one["timeUnixNano"]) for one in records} == {("gen_ai.evaluation.result", at)}
    origin = {
        "service.name": "safe-gate",
        "deployment.environment.name": "staging",
        "cicd.pipeline.run.url.full": f"https://github.com/{REPOSITORY}/actions/runs/7/attempts/1",
    }
    assert records[0]["resource"].items() >= origin.items()
    told = [one["attributes"] for one in records]
    assert told[3] == {
        "gen_ai.evaluation.name": "safe_v0.CR",
        "gen_ai.evaluation.score.value": 0.0,
        "gen_ai.evaluation.score.label": "fail",
        "test.case.name": "S-2",
        "test.case.result.status": "fail",
        "test.suite.name": "b_1",
        "safe_gate.event.type": "safe.v0.result",
    }
    assert {one["gen_ai.evaluation.name"] for one in told} == {
        *("safe_v0.CR", "safe_v0.AH", "safe_v0.AC", "safe_v0.pass_rate", "safe_gate.verdict"),
        *("synthesis.agency_language", "synthesis.unverifiable_reassurance", "synthesis.topic_pivot"),
    }
    verdict = told[-1]
    assert (verdict["gen_ai.evaluation.score.label"], verdict["test.suite.run.status"]) == ("fail", "failure")
    assert verdict["vcs.ref.head.revision"] == HEAD
    why = verdict["gen_ai.evaluation.explanation"]
    assert "Pass rate 66.7% is below 80.0%" in why
    assert 'Recording "c.jsonl": has no entry in the lock' in why


def test_a_header_or_address_that_no_request_can_have_is_named(safe_gate: SafeGate, monkeypatch: Patch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"api-key=x%0A{SECRET}")
    (warning,) = warnings(run(safe_gate, "--sinks", "otlp:https://127.0.0.1:9", "https://a..b/"))
    assert "sink 1 (otlp): the token or a header contains an invalid character" in warning
    assert "or OTEL_EXPORTER_OTLP_HEADERS; 0 events" in warning
    assert "sink 2 (webhook): the address is invalid, or neither http nor https: correct" in warning
    assert SECRET not in warning


@pytest.mark.soak
def test_a_collector_takes_what_otlp_sends_and_passes_it_on(safe_gate: SafeGate) -> None:
    if not (command := os.environ.get("TESTS_COLLECTOR")):
        pytest.skip("TESTS_COLLECTOR names no collector")
    with receiving() as direct:
        run(safe_gate, *to(direct, "otlp"))
    with create_server(("127.0.0.1", 0)) as http, create_server(("127.0.0.1", 0)) as grpc:
        places = {name: f"127.0.0.1:{one.getsockname()[1]}" for name, one in (("http", http), ("grpc", grpc))}
    with receiving() as beyond:
        flags = [f"--otlp-{name}-endpoint={place}" for name, place in places.items()]
        flags += ["--exporter=otlp", "--otlp-exporter-protocol=http", f"--otlp-exporter-endpoint={beyond.url}"]
        with subprocess.Popen([command, "start", *flags], stdout=subprocess.PIPE, text=True) as collector:
            assert collector.stdout
            assert "Starting" in collector.stdout.readline()
            assert warnings(run(safe_gate, "--sinks", f"otlp:http://{places['http']}", "--allow", "plain-http")) == []
            collector.terminate()  # which sends what it still holds
    kept = ("eventName", "attributes", "timeUnixNano")
    told = [[{name: one[name] for name in kept} for one in some.records] for some in (direct, beyond)]
    assert told[0]
    assert told[0] == told[1]


def test_otlp_is_sent_in_bounded_requests(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), *(short_turn(f"{n}") for n in range(510)))
    with receiving() as receiver:
        run(safe_gate, *to(receiver, "otlp"))
    assert (len(receiver.posts), len(receiver.records)) == (2, 3 * 3 + 2 + 510 + 1)


def test_otlp_is_tried_again_by_the_sdk(safe_gate: SafeGate) -> None:
    with receiving((503, {"Retry-After": "0"}), (429, {"Retry-After": "0"})) as receiver:
        assert warnings(run(safe_gate, *to(receiver, "otlp"))) == []
    assert len(receiver.posts) == 3


@pytest.mark.parametrize(
    ("answer", "body", "words"),
    [(400, b"", "HTTP 400"), (302, b"", "HTTP 302"), (200, rejecting(2), "2 events rejected")],
)
def test_what_a_collector_refuses_is_one_warning(safe_gate: SafeGate, answer: int, body: bytes, words: str) -> None:
    with receiving((answer, {"Location": "/elsewhere"}), body=body) as receiver:
        (warning,) = warnings(ran := run(safe_gate, *to(receiver, "otlp")))
    assert f"sink 1 (otlp): {words}; 0 events sent before. The verdict" in warning
    assert receiver.url not in ran.log


def test_without_the_sdk_otlp_says_what_to_install(safe_gate: SafeGate, monkeypatch: Patch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http._log_exporter", None)
    (warning,) = warnings(run(safe_gate, "--sinks", "otlp:https://localhost:1"))
    assert "sink 1 (otlp): OpenTelemetry's SDK is not installed; install SAFE Gate with the extra `otel`" in warning
