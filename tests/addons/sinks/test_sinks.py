"""Where the settings of a sink may come from, and events in a file."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import Patch, SafeGate, report, write_json
from tests.support.events_sent import PATH, RUN, SECRET, in_file, run, to, warnings
from tests.support.github import Gate, outputs
from tests.support.receivers import Receiver


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sinks", ["file:events.jsonl"]),
        ("sink-secret", SECRET),
        ("sink_secret", SECRET),
        ("timeouts", {"sinks": 5}),
        ("allow", ["plain-http"]),
    ],
)
def test_a_config_file_cannot_set_a_sink(safe_gate: SafeGate, name: str, value: Any) -> None:
    write_json("safe.config.json", {name: value})
    ran = run(safe_gate, code=3)
    assert f"safe.config.json:1: {name}: cannot be set in the config file; use " in ran.err
    assert not Path("events.jsonl").exists()


def test_flags_inputs_and_variables_set_a_sink(safe_gate: SafeGate, monkeypatch: Patch) -> None:
    for name in ("SAFE_GATE_SINKS", "INPUT_SINKS"):
        monkeypatch.setenv(name, f"file:{name}.1.jsonl\nfile:{name}.2.jsonl")
        run(safe_gate)
        assert in_file(f"{name}.1.jsonl") == in_file(f"{name}.2.jsonl") != []


NO_SINK = "is no sink; expected file:PATH, https://HOST/PATH or otlp:https://HOST"


@pytest.mark.parametrize("kind", ["", "otlp:"])
@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("http://example.com", "is plain http, which anyone on the network can read; use https"),
        ("ftp://example.com", NO_SINK),
        ("example.com", NO_SINK),
        ("https://[", NO_SINK),
        ("https://example.com:port", NO_SINK),
    ],
)
def test_an_invalid_or_unsafe_address_is_not_quoted(safe_gate: SafeGate, kind: str, address: str, words: str) -> None:
    ran = run(safe_gate, "--sinks", "file:events.jsonl", f"{kind}{address}{PATH}", code=3)
    assert f"--sinks: entry 2 {words}" in ran.err
    assert "example.com" not in ran.log + json.dumps(report())


def test_a_secret_on_the_command_line_is_not_quoted(safe_gate: SafeGate) -> None:
    ran = run(safe_gate, "--sink-secret", SECRET, code=3)
    assert "unrecognized arguments: --sink-secret; see" in ran.err
    assert SECRET not in ran.log
    ran = run(safe_gate, "--sink", f"https://example.com{PATH}", code=3)
    assert "--sink (did you mean --sinks?)" in ran.err


def test_doctor_shows_where_events_go_and_no_secret(safe_gate: SafeGate, webhook: Receiver) -> None:
    ran = safe_gate("doctor", "--all", *RUN[1:], "--sinks", "file:events.jsonl", *to(webhook))
    assert ran.code == 0
    (row,) = (line for line in ran.out.splitlines() if line.strip().startswith("events"))
    assert row.split(maxsplit=1)[1] == "to events.jsonl, a webhook; without recorded text"
    assert webhook.url not in ran.log
    assert SECRET not in ran.log
    assert webhook.posts == []


def test_a_dry_run_and_a_shard_send_nothing_merge_all(safe_gate: SafeGate, monkeypatch: Patch) -> None:
    monkeypatch.setenv("SAFE_GATE_SINKS", "file:events.jsonl")
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


def test_a_file_that_holds_something_else_or_cannot_be_written_is_one_warning(gate: Gate, webhook: Receiver) -> None:
    before = Path("c.jsonl").read_bytes()
    Path("events").mkdir()
    webhook.answers += [(400, {})]
    step = gate("pass", *to(webhook), "--sinks", "file:c.jsonl", "file:events")
    (warning,) = step.warnings
    assert Path("c.jsonl").read_bytes() == before
    for words in (
        "Not all events were sent: sink 1 (webhook): HTTP 400 (1 try); 0 events sent before; ",
        "sink 2 (file): the file exists and does not hold events; name another file; ",
        "sink 3 (file): events: cannot be written: it is a folder, and a file is needed there",
    ):
        assert words in warning
    assert step.outputs["sink-status"] == "failed"


def test_a_defect_of_a_sink_is_a_warning(safe_gate: SafeGate, monkeypatch: Patch) -> None:
    monkeypatch.setattr("safe_gate.addons.sinks.to_file", lambda *_: [][len(SECRET)])
    (warning,) = warnings(run(safe_gate, "--sinks", "file:events.jsonl"))
    assert "sink 1 (file): IndexError" in warning
