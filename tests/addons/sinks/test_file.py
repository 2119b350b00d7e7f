"""Events in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cases import SafeGate
from tests.support.events_sent import SECRET, run, warnings
from tests.support.github import Gate


def test_a_file_that_holds_something_else_is_not_replaced(safe_gate: SafeGate) -> None:
    before = Path("c.jsonl").read_bytes()
    ran = run(safe_gate, "--sinks", "file:c.jsonl")
    assert Path("c.jsonl").read_bytes() == before
    (warning,) = warnings(ran)
    words = "sink 1 (file): the file exists and does not hold events; name another file"
    assert warning == f"safe-gate: warning: Not all events were sent: {words}. The verdict does not depend on it."


def test_a_file_that_cannot_be_written_is_one_warning(gate: Gate) -> None:
    Path("events").mkdir()
    step = gate("pass", "--sinks", "file:events")
    assert step.outputs["sink-status"] == "failed"
    (warning,) = step.warnings
    assert "sink 1 (file): events: cannot be written: Not a regular file" in warning


def test_a_defect_of_a_sink_is_a_warning(safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError(SECRET)

    monkeypatch.setattr("safe_gate.addons.sinks.file.send", broken)
    (warning,) = warnings(run(safe_gate, "--sinks", "file:events.jsonl"))
    assert "sink 1 (file): RuntimeError" in warning
