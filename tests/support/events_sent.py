"""Runs that send events."""

from typing import Any

from safe_gate.inputs.checked import load_schema
from tests.support.cases import Ran, SafeGate, read_lines
from tests.support.receivers import Receiver

AT = "2026-01-02T03:04:05Z"
SECRET = "whsec_C2FVsBQIhrscChlQIMV"
PATH = "/hooks/T024BE7LD-Ffa8vJqK"  # whoever knows it may post
QUOTE = "You'll definitely be fine"
RUN = ("run", "--batch", "b_*", "--cases", "c.jsonl")


def run(safe_gate: SafeGate, *arguments: str, code: int = 1) -> Ran:
    ran = safe_gate(*RUN, *arguments)
    assert ran.code == code, ran.log
    assert SECRET not in ran.log
    assert PATH not in ran.log
    return ran


def to(receiver: Receiver, sink: str = "webhook") -> tuple[str, ...]:
    entry = f"otlp:{receiver.url}" if sink == "otlp" else receiver.url + PATH
    return "--sinks", entry, "--allow", "plain-http"


def in_file(path: str = "events.jsonl") -> list[dict[str, Any]]:
    """Return the events of a file, each of which has its shape."""
    found = read_lines(path)
    for event in found:
        assert load_schema("event").faults(event) == ()
    return found


def warnings(ran: Ran) -> list[str]:
    return [line for line in ran.err.splitlines() if "warning" in line]
