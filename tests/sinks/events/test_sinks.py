"""Results as events, to a file, a webhook and OTLP: what they hold, what happens when a receiver misbehaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from socket import socket
from typing import Any

import pytest

from safe_gate.inputs.schemas import load_schema
from tests.support.cases import BAD, SILENT, Ran, report, safe_case, turn, write_batch, write_cases
from tests.support.drips import DRIPS, LONG_ENOUGH, TOO_LONG, dripping
from tests.support.github import HEAD, REPOSITORY, Gate, outputs
from tests.support.memory import on_linux, peak
from tests.support.receivers import DROP, Receiver, receiving, rejecting

SafeGate = Callable[..., Ran]

AT = "2026-01-02T03:04:05Z"
SECRET = "whsec_C2FVsBQIhrscChlQIMV"
PATH = "/hooks/T024BE7LD-Ffa8vJqK"  # whoever knows it may post
QUOTE = "You'll definitely be fine"
RUN = ("run", "--batch", "b_*", "--cases", "c.jsonl")


@pytest.fixture(autouse=True)
def _inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NETRC", "REQUESTS_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(int(datetime.fromisoformat(AT).timestamp())))
    write_batch(Path("b_1.json"), safe_case("S-1"), safe_case("S-2", output=SILENT, concern_id="I26"))
    write_batch(Path("b_2.json"), safe_case("S-3", archetype="Auditor"))
    write_cases(Path("c.jsonl"), turn("good", tags=["x"]), turn("bad", assistant=BAD))


@pytest.fixture
def webhook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.setenv("SAFE_GATE_SINK_SECRET", SECRET)
    with receiving() as receiver:
        yield receiver


def run(safe_gate: SafeGate, *arguments: str, code: int = 1) -> Ran:
    ran = safe_gate(*RUN, *arguments)
    assert ran.code == code, ran.log
    assert SECRET not in ran.log
    assert PATH not in ran.log
    return ran


def to(receiver: Receiver, sink: str = "webhook") -> tuple[str, ...]:
    path = PATH if sink == "webhook" else ""
    return f"--sink-{sink}", receiver.url + path, "--allow-insecure"


def in_file(path: str = "events.jsonl") -> list[dict[str, Any]]:
    """Return the events of a file, each of which has its shape."""
    found = [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]
    for event in found:
        assert load_schema("event").faults(event) == ()
    return found


def warnings(ran: Ran) -> list[str]:
    return [line for line in ran.err.splitlines() if "warning" in line]


# --- what is told -------------------------------------------------------------------------------


def test_a_file_gets_an_event_for_each_case_and_batch_and_for_the_run(safe_gate: SafeGate) -> None:
    run(safe_gate, "--sink-file", "out/events.jsonl")
    told = in_file("out/events.jsonl")
    assert [(one["type"], one.get("subject")) for one in told] == [
        ("safe.v0.result", "S-1"),
        ("safe.v0.result", "S-2"),
        ("safe.v0.result", "S-3"),
        ("safe.v0.batch", "b_1"),
        ("safe.v0.batch", "b_2"),
        ("safe.synthesis.result", "good"),
        ("safe.synthesis.result", "bad"),
        ("safe.gate.verdict", None),
    ]
    assert {(one["specversion"], one["source"], one["time"]) for one in told} == {("1.0", "safe-gate", AT)}
    assert len({one["id"] for one in told}) == len(told)


def test_events_have_the_fields_of_the_specification(safe_gate: SafeGate) -> None:
    run(safe_gate, "--sink-file", "events.jsonl")
    told = {one.get("subject"): one["data"] for one in in_file()}
    fields = {"test_id": "S-2", "scores": {"CR": 0.0, "AH": 1.0, "AC": 0.0}, "label": "Fail", "timestamp": AT}
    assert told["S-2"] == {**fields, "batch_id": "b_1", "archetype": "Unknown"}
    summary = {"total_cases": 2, "pass": 1, "review": 0, "fail": 1, "overall_pass_rate": 0.5}
    assert told["b_1"] == {"concern_id": "I25,I26", "batch_id": "b_1", "summary": summary, "timestamp": AT}
    assert told["b_2"]["summary"]["overall_pass_rate"] == 1.0
    assert (told["good"]["pass"], told["good"]["as_expected"], told["good"]["tags"]) == (True, True, ["x"])
    assert told["bad"]["checks"]["unverifiable_reassurance"]["verdict"] == "fail"
    assert told["bad"]["checks"]["unverifiable_reassurance"]["rules"] == ["reassurance-guarantee/will-be-fine"]
    verdict, made = told[None], report()
    assert (verdict["verdict"], verdict["rules"]) == ("fail", made["rules"])
    assert verdict["summaries"]["safe_v0"] == made["safe_v0"]["summary"]
    assert verdict["summaries"]["synthesis"]["unexpected_failures"] == 1
    assert verdict["digest"] == made["provenance"]["digests"]["all"]


def test_the_same_run_tells_the_same_and_another_time_tells_it_under_other_ids(
    safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(safe_gate, "--sink-file", "events.jsonl")
    first, ids = Path("events.jsonl").read_bytes(), {one["id"] for one in in_file()}
    run(safe_gate, "--sink-file", "events.jsonl")
    assert Path("events.jsonl").read_bytes() == first
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    run(safe_gate, "--sink-file", "events.jsonl")
    assert not ids & {one["id"] for one in in_file()}


def test_recorded_text_is_left_out_unless_asked_for(safe_gate: SafeGate) -> None:
    run(safe_gate, "--sink-file", "events.jsonl")
    bare = Path("events.jsonl").read_text("utf-8")
    run(safe_gate, "--sink-file", "events.jsonl", "--sink-text", "full")
    full = Path("events.jsonl").read_text("utf-8")
    assert in_file()
    for text in (QUOTE, "went home", "fever"):
        assert text not in bare
        assert text in full


def test_text_none_outranks_sink_text_full(safe_gate: SafeGate) -> None:
    run(safe_gate, "--sink-file", "events.jsonl", "--sink-text", "full", "--text", "none")
    told = Path("events.jsonl").read_text("utf-8")
    assert "sha256:" in told
    for text in (QUOTE, "went home", "fever"):
        assert text not in told


def test_names_that_no_subject_may_hold_are_escaped(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("a\u0007\u202eb\ud800"))
    with receiving() as otlp:
        run(safe_gate, "--sink-file", "events.jsonl", *to(otlp, "otlp"))
        names = {one["attributes"].get("test.case.name") for one in otlp.records}
    (event,) = (one for one in in_file() if one["type"] == "safe.synthesis.result")
    assert event["subject"] == "a\\x07\\u202eb\\ud800"
    assert event["data"]["id"] == "a\u0007\u202eb\ud800"
    assert event["subject"] in names


def test_a_run_without_a_verdict_says_so(safe_gate: SafeGate, webhook: Receiver) -> None:
    Path("c.jsonl").write_text("{}\n[]\n", "utf-8")
    run(safe_gate, "--sink-file", "events.jsonl", *to(webhook), code=3)
    assert [(one["data"]["verdict"], one["data"]["problems"]) for one in in_file()] == [
        ("error", len(report()["problems"]))
    ]
    assert [one["data"]["verdict"] for one in webhook.events] == ["error"]


def test_a_run_with_wrong_settings_says_so(safe_gate: SafeGate, webhook: Receiver) -> None:
    run(safe_gate, "--min-pass-rate", "high", *to(webhook), code=3)
    assert [one["data"]["verdict"] for one in webhook.events] == ["error"]


def test_in_a_workflow_events_name_the_run_and_the_status_is_a_step_output(gate: Gate, webhook: Receiver) -> None:
    step = gate("fail", *to(webhook), GITHUB_RUN_ID="7", GITHUB_RUN_ATTEMPT="2", GITHUB_JOB="my gate")
    url = f"https://github.com/{REPOSITORY}/actions/runs/7/attempts/2"
    assert {one["source"] for one in webhook.events} == {f"{url}#my%20gate"}
    data = webhook.events[-1]["data"]
    assert (data["run"], data["gate"], data["repository"]) == (url, "my gate", f"https://github.com/{REPOSITORY}")
    assert data["commit"] == HEAD
    assert (step.outputs["sink-status"], step.warnings) == ("sent", [])
    assert gate("pass").outputs["sink-status"] == ""


# --- where settings may come from ---------------------------------------------------------------

_SETTINGS: dict[str, Any] = {
    "sink-file": "events.jsonl",
    "sink-webhook": "https://example.com",
    "sink-secret": SECRET,
    "sink-otlp": "https://example.com",
    "sink-text": "full",
    "sink-timeout": 5,
    "allow-insecure": True,
}


@pytest.mark.parametrize("name", _SETTINGS)
@pytest.mark.parametrize("spell", [str, lambda name: name.replace("-", "_")], ids=["kebab", "snake"])
def test_a_config_file_cannot_set_a_sink(safe_gate: SafeGate, name: str, spell: Callable[[str], str]) -> None:
    Path("safe.config.json").write_text(json.dumps({spell(name): _SETTINGS[name]}), "utf-8")
    ran = run(safe_gate, code=3)
    assert f"safe.config.json:1: {spell(name)}: cannot be set in the config file; use " in ran.err
    assert not Path("events.jsonl").exists()


def test_flags_inputs_and_variables_set_a_sink(safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SAFE_GATE_SINK_FILE", "INPUT_SINK-FILE"):
        monkeypatch.setenv(name, f"{name}.jsonl")
        run(safe_gate)
        assert in_file(f"{name}.jsonl")


@pytest.mark.parametrize("sink", ["webhook", "otlp"])
@pytest.mark.parametrize(
    ("address", "words"),
    [
        (f"http://example.com{PATH}", "is plain http, which anyone on the network can read; use https"),
        (f"ftp://example.com{PATH}", "is not an address of a server; expected https://HOST"),
        (f"example.com{PATH}", "is not an address of a server; expected https://HOST"),
        (f"https://[{PATH}", "is not an address of a server; expected https://HOST"),
        (f"https://example.com:port{PATH}", "is not an address of a server; expected https://HOST"),
    ],
)
def test_an_address_that_is_none_or_is_not_safe_is_an_error_that_does_not_quote_it(
    safe_gate: SafeGate, sink: str, address: str, words: str
) -> None:
    ran = run(safe_gate, f"--sink-{sink}", address, code=3)
    assert f"--sink-{sink}: {words}" in ran.err
    assert "example.com" not in ran.log + json.dumps(report())


def test_a_secret_on_the_command_line_is_an_error_that_does_not_quote_it(
    safe_gate: SafeGate, in_actions: Callable[..., None]
) -> None:
    in_actions()
    ran = run(safe_gate, "--sink-secret", SECRET, code=3)
    assert "--sink-secret; secrets are set by the variables" in ran.err
    assert SECRET not in json.dumps(report())
    ran = run(safe_gate, "--sink-webhok", f"https://example.com{PATH}", code=3)
    assert "--sink-webhok (did you mean --sink-webhook?)" in ran.err


def test_doctor_shows_where_events_go_and_no_secret(safe_gate: SafeGate, webhook: Receiver) -> None:
    ran = safe_gate("doctor", *RUN[1:], *to(webhook), "--sink-file", "events.jsonl")
    assert ran.code == 0
    (row,) = (line for line in ran.out.splitlines() if line.strip().startswith("events"))
    assert row.split(maxsplit=1)[1] == "to events.jsonl, a webhook; without recorded text"
    assert webhook.url not in ran.log
    assert SECRET not in ran.log
    assert webhook.posts == []


def test_a_dry_run_and_a_shard_send_nothing_and_merge_sends_all(
    safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAFE_GATE_SINK_FILE", "events.jsonl")
    monkeypatch.setenv("GITHUB_OUTPUT", "output")

    def status() -> str:
        return outputs(Path("output").read_text("utf-8"))["sink-status"]

    run(safe_gate, "--dry-run")
    assert (Path("events.jsonl").exists(), status()) == (False, "skipped-dry-run")
    for part in ("1/2", "2/2"):
        run(safe_gate, "--shard", part, "--report-dir", part, code=0)
    assert (Path("events.jsonl").exists(), status()) == (False, "skipped-shard")
    ran = safe_gate("merge", "1/2/*.json", "2/2/*.json", *RUN[1:])
    assert (ran.code, status(), len(in_file())) == (1, "sent", 8)


# --- the file -----------------------------------------------------------------------------------


def test_a_file_that_holds_something_else_is_not_replaced(safe_gate: SafeGate) -> None:
    before = Path("c.jsonl").read_bytes()
    ran = run(safe_gate, "--sink-file", "c.jsonl")
    assert Path("c.jsonl").read_bytes() == before
    (warning,) = warnings(ran)
    words = "sink-file: the file exists and holds something else than events; name another file"
    assert warning == f"safe-gate: warning: Not all events were sent: {words}. The verdict does not depend on it."


def test_a_file_that_cannot_be_written_is_one_warning(gate: Gate) -> None:
    Path("events").mkdir()
    step = gate("pass", "--sink-file", "events")
    assert step.outputs["sink-status"] == "failed"
    (warning,) = step.warnings
    assert "sink-file: events: cannot be written: Not a regular file" in warning


def test_a_defect_of_a_sink_is_a_warning(safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError(SECRET)

    monkeypatch.setattr("safe_gate.sinks.file.send", broken)
    (warning,) = warnings(run(safe_gate, "--sink-file", "events.jsonl"))
    assert "sink-file: RuntimeError" in warning


# --- the webhook --------------------------------------------------------------------------------


def test_a_webhook_gets_signed_batches_of_the_events(safe_gate: SafeGate, webhook: Receiver) -> None:
    started = int(time.time())
    run(safe_gate, *to(webhook), "--sink-file", "events.jsonl")
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
    (post,) = receiver.posts
    assert "SAFE-Gate-Signature" not in post.headers


def test_batches_are_bounded_in_order_and_each_has_a_key_of_its_own(safe_gate: SafeGate, webhook: Receiver) -> None:
    write_cases(Path("c.jsonl"), *(turn(f"{n:0200}") for n in range(600)))
    run(safe_gate, *to(webhook))
    assert len(webhook.posts) > 1
    assert all(len(post.body) <= 262_144 + 2 and len(post.events) <= 500 for post in webhook.posts)
    ids = [one["data"]["id"] for one in webhook.events if one["type"] == "safe.synthesis.result"]
    assert ids == [f"{n:0200}" for n in range(600)]
    assert len({post.headers["Idempotency-Key"] for post in webhook.posts}) == len(webhook.posts)


@pytest.mark.parametrize("fault", [500, 503, 429, 408, DROP])
def test_what_may_pass_is_tried_again_with_the_same_key(
    safe_gate: SafeGate, webhook: Receiver, waits: list[float], fault: int
) -> None:
    webhook.answers += [(fault, {}), (fault, {})]
    ran = run(safe_gate, *to(webhook))
    assert warnings(ran) == []
    assert waits == [1.0, 2.0]
    assert len(webhook.posts) == 3
    assert len({(post.headers["Idempotency-Key"], post.body) for post in webhook.posts}) == 1
    assert all(post.is_signed(SECRET) for post in webhook.posts)


def test_a_wait_that_is_asked_for_is_kept(safe_gate: SafeGate, webhook: Receiver, waits: list[float]) -> None:
    webhook.answers += [(429, {"Retry-After": "7"})]
    run(safe_gate, *to(webhook))
    assert (waits, len(webhook.posts)) == ([7.0], 2)


@pytest.mark.parametrize(
    ("answers", "words", "tries"),
    [
        ([(500, {})] * 5, "HTTP 500 after 5 tries; 0 events sent before", 5),
        ([(DROP, {})] * 5, "no connection after 5 tries; 0 events sent before", 5),
        ([(429, {"Retry-After": "3600"})], "HTTP 429 after 1 try; 0 events sent before", 1),
        ([(401, {})], "HTTP 401 after 1 try; 0 events sent before", 1),
        ([(302, {"Location": "/elsewhere"})], "HTTP 302 after 1 try; 0 events sent before", 1),
    ],
    ids=["500", "drops", "429", "401", "302"],
)
def test_what_does_not_pass_is_one_warning_and_the_verdict_stands(
    gate: Gate, webhook: Receiver, answers: list[tuple[int, dict[str, str]]], words: str, tries: int
) -> None:
    webhook.answers += answers
    webhook.body = f"your secret is {SECRET}".encode()
    step = gate("fail", *to(webhook))
    assert step.outputs["sink-status"] == "failed"
    (warning,) = step.warnings
    assert f"Not all events were sent: sink-webhook: {words}. The verdict does not depend on it." in warning
    assert [post.path for post in webhook.posts] == [PATH] * tries
    assert not any(hidden in step.ran.log + json.dumps(step.report) for hidden in (SECRET, PATH, webhook.url))


def test_the_first_batch_that_is_not_taken_ends_the_sending_and_the_warning_counts_what_came_before(
    safe_gate: SafeGate, webhook: Receiver
) -> None:
    write_cases(Path("c.jsonl"), *(turn(f"{n}") for n in range(1_200)))
    webhook.answers += [(200, {}), (413, {})]
    (warning,) = warnings(run(safe_gate, *to(webhook)))
    first, _refused = webhook.posts
    assert f"sink-webhook: HTTP 413 after 1 try; {len(first.events)} events sent before." in warning


def test_a_server_that_is_not_there_or_not_trusted_is_one_warning(
    safe_gate: SafeGate, webhook: Receiver, waits: list[float]
) -> None:
    with receiving() as gone:
        pass
    (warning,) = warnings(run(safe_gate, *to(gone)))
    assert "sink-webhook: no connection after 5 tries" in warning
    (warning,) = warnings(run(safe_gate, "--sink-webhook", f"https{webhook.url.removeprefix('http')}"))
    assert "sink-webhook: the server's certificate is not trusted: name its authority's PEM file" in warning


@pytest.mark.parametrize("part", DRIPS)
@pytest.mark.parametrize("sink", ["webhook", "otlp"])
def test_a_slow_server_is_left_at_the_deadline(safe_gate: SafeGate, part: str, sink: str) -> None:
    started = time.monotonic()
    with dripping(*DRIPS[part]) as url:
        ran = run(safe_gate, f"--sink-{sink}", url, "--allow-insecure", "--sink-timeout", str(LONG_ENOUGH))
    assert time.monotonic() - started < TOO_LONG
    (warning,) = warnings(ran)
    assert f"sink-{sink}: no answer in time" in warning


def test_a_slow_sink_leaves_time_for_the_next_one(safe_gate: SafeGate, webhook: Receiver) -> None:
    with dripping(b"", b"") as url:
        ran = run(safe_gate, "--sink-otlp", url, *to(webhook), "--sink-timeout", "1")
    assert len(webhook.events) == 8
    (warning,) = warnings(ran)
    assert "sink-otlp: no answer in time" in warning
    assert "sink-webhook" not in warning


def test_two_sinks_that_fail_are_one_warning(safe_gate: SafeGate, webhook: Receiver) -> None:
    webhook.answers += [(400, {})]
    (warning,) = warnings(run(safe_gate, *to(webhook), "--sink-file", "c.jsonl"))
    assert "sink-file: the file exists" in warning
    assert "; sink-webhook: HTTP 400" in warning


@pytest.mark.soak
@on_linux
def test_ten_times_the_cases_take_no_more_memory(webhook: Receiver) -> None:
    most = []
    for count in (300, 3_000):
        write_cases(Path("c.jsonl"), *(turn(f"{n}") for n in range(count)))
        sinks = ("--sink-file", "events.jsonl", *to(webhook), "--sink-otlp", webhook.url)
        code, peaked = peak(*RUN, *sinks)
        assert code == "1"
        most.append(peaked)
    assert len(webhook.posts) > 3_000 / 500
    assert most[1] < most[0] + 4096


# --- OTLP ---------------------------------------------------------------------------------------


def test_otlp_gets_an_evaluation_for_each_metric_check_batch_and_verdict(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"api-key={SECRET}")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=staging")
    with receiving() as receiver:
        step = gate("fail", "--batch", "b_*", *to(receiver, "otlp"), GITHUB_RUN_ID="7")
    assert step.outputs["sink-status"] == "sent"
    assert SECRET not in step.ran.log
    assert {post.headers["api-key"] for post in receiver.posts} == {SECRET}
    records = receiver.records
    assert {one["eventName"] for one in records} == {"gen_ai.evaluation.result"}
    assert {one["timeUnixNano"] for one in records} == {str(int(datetime.fromisoformat(AT).timestamp()) * 10**9)}
    resource = records[0]["resource"]
    assert resource["service.name"] == "safe-gate"
    assert resource["deployment.environment.name"] == "staging"
    assert resource["cicd.pipeline.run.url.full"] == f"https://github.com/{REPOSITORY}/actions/runs/7/attempts/1"
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
    assert "Pass rate 66.7% is below 80.0%" in verdict["gen_ai.evaluation.explanation"]


@pytest.mark.soak
def test_a_collector_takes_what_otlp_sends_and_passes_it_on(safe_gate: SafeGate) -> None:
    if not (command := os.environ.get("TESTS_COLLECTOR")):
        pytest.skip("TESTS_COLLECTOR names no collector")
    with receiving() as direct:
        run(safe_gate, *to(direct, "otlp"))
    ports = {name: socket() for name in ("http", "grpc")}
    for one in ports.values():
        one.bind(("127.0.0.1", 0))
    places = {name: f"127.0.0.1:{one.getsockname()[1]}" for name, one in ports.items()}
    for one in ports.values():
        one.close()
    with receiving() as beyond:
        flags = [f"--otlp-{name}-endpoint={place}" for name, place in places.items()]
        flags += ["--exporter=otlp", "--otlp-exporter-protocol=http", f"--otlp-exporter-endpoint={beyond.url}"]
        with subprocess.Popen([command, "start", *flags], stdout=subprocess.PIPE, text=True) as collector:
            assert collector.stdout
            assert "Starting" in collector.stdout.readline()
            assert warnings(run(safe_gate, "--sink-otlp", f"http://{places['http']}", "--allow-insecure")) == []
            collector.terminate()  # which sends what it still holds
    kept = ("eventName", "attributes", "timeUnixNano")
    told = [[{name: one[name] for name in kept} for one in some.records] for some in (direct, beyond)]
    assert told[0]
    assert told[0] == told[1]


def test_otlp_explains_in_recorded_words_only_if_asked(safe_gate: SafeGate) -> None:
    for text, is_told in (("none", False), ("full", True)):
        with receiving() as receiver:
            run(safe_gate, *to(receiver, "otlp"), "--sink-text", text)
        assert any(QUOTE.encode() in post.body for post in receiver.posts) is is_told


def test_the_whole_address_of_the_logs_is_taken_too(safe_gate: SafeGate) -> None:
    with receiving() as receiver:
        run(safe_gate, "--sink-otlp", f"{receiver.url}/v1/logs", "--allow-insecure")
    assert receiver.records


def test_otlp_is_sent_in_bounded_requests(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), *(turn(f"{n}") for n in range(200)))
    with receiving() as receiver:
        run(safe_gate, *to(receiver, "otlp"))
    assert len(receiver.posts) == 2
    assert len(receiver.records) == 3 * 3 + 2 + 3 * 200 + 1


def test_otlp_is_tried_again_by_the_sdk(safe_gate: SafeGate) -> None:
    with receiving((503, {"Retry-After": "0"}), (429, {"Retry-After": "0"})) as receiver:
        assert warnings(run(safe_gate, *to(receiver, "otlp"))) == []
    assert len(receiver.posts) == 3


@pytest.mark.parametrize(
    ("answer", "body", "words"),
    [
        (400, b"", "HTTP 400; 0 events sent before"),
        (302, b"", "HTTP 302; 0 events sent before"),
        (200, rejecting(2), "2 events rejected; 0 events sent before"),
    ],
)
def test_what_a_collector_does_not_take_is_one_warning(
    safe_gate: SafeGate, answer: int, body: bytes, words: str
) -> None:
    with receiving((answer, {"Location": "/elsewhere"}), body=body) as receiver:
        (warning,) = warnings(ran := run(safe_gate, *to(receiver, "otlp")))
    assert f"sink-otlp: {words}. The verdict" in warning
    assert receiver.url not in ran.log


def test_without_the_sdk_otlp_says_what_to_install(safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http._log_exporter", None)
    (warning,) = warnings(run(safe_gate, "--sink-otlp", "https://localhost:1"))
    assert "sink-otlp: OpenTelemetry's SDK is not installed; install SAFE Gate with the extra `otel`" in warning
