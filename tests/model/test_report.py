"""The report as values: what is written is read again, and written the same."""

import json
from pathlib import Path

import pytest

from safe_gate.core.jsontext import to_json
from safe_gate.gate.stored import read_report, report_json, streamed
from safe_gate.inputs.checked import load_schema
from safe_gate.model.report import Report, Verdict
from tests.support.cases import BAD, DATA, REPOSITORY, SafeGate, turn, write_cases, write_json
from tests.support.git import commit_here

EXAMPLES = REPOSITORY / "examples"


def assert_read_and_written_alike(path: Path) -> Report:
    """Check that a report fits the schema, and that what is read of it is written byte for byte the same."""
    text = path.read_text("utf-8")
    value = json.loads(text)
    assert load_schema("report").faults(value) == ()
    held = read_report(value)
    assert report_json(held) == value
    assert to_json(report_json(held, streamed)) == text
    return held


BOTH = ("--safe-batch", str(EXAMPLES / "clinical/*_batch_*"), "--synthesis-cases", str(EXAMPLES / "empathy.jsonl"))


@pytest.mark.parametrize(
    "arguments",
    [
        BOTH,
        BOTH[:2],
        BOTH[2:],
        (*BOTH, "--text", "none", "--profile", "spec"),
        (*BOTH[2:], "--tag", "negative_example"),
        ("--safe-batch", str(DATA / "safe_v0/*_batch_*")),
        ("--synthesis-cases", str(DATA / "hostile/synthesis_*.jsonl"), "--max-regressions", "0"),
    ],
)
def test_a_report_is_read_as_it_was_written(safe_gate: SafeGate, arguments: tuple[str, ...]) -> None:
    assert safe_gate("run", *arguments).code in (0, 1)
    held = assert_read_and_written_alike(Path("reports/safe-gate.json"))
    assert held.provenance.digests
    assert held.rules
    assert not held.problems


@pytest.mark.parametrize("path", sorted((DATA / "malformed").iterdir()), ids=lambda path: path.name)
def test_a_report_without_a_verdict_is_read_as_it_was_written(safe_gate: SafeGate, path: Path) -> None:
    kind = "--config" if "config" in path.name else "--synthesis-cases" if "syn" in path.name else "--safe-batch"
    ran = safe_gate("run", *(BOTH[2:] if kind == "--config" else ()), kind, path)
    held = assert_read_and_written_alike(Path("reports/safe-gate.json"))
    assert (held.verdict is Verdict.ERROR) == bool(held.problems) == (ran.code == 3)


def test_what_an_earlier_state_adds_is_read_as_it_was_written(safe_gate: SafeGate) -> None:
    """A comparison, a weaker gate, waivers of each state, groups and the base commit's policy."""
    waiver = {"id": "a", "check": "agency_language", "reason": "known", "owner": "pat", "expires": "2999-12-31"}
    waivers = [waiver, waiver | {"id": "gone"}, waiver | {"id": "late", "expires": "2020-01-01"}]
    write_json("waivers.json", {"waivers": waivers})
    limits = {"synthesis-cases": ["c.jsonl"], "waivers": "waivers.json", "tags": {"t": {"min-pass-rate": 0.5}}}
    write_json("safe.config.json", limits | {"min-synthesis-pass-rate": 0.9})
    write_cases(Path("c.jsonl"), *(turn(name, tags=["t"]) for name in "abcd"))
    base = commit_here()
    write_cases(Path("c.jsonl"), turn("a", tags=["t"], assistant=BAD), turn("b", assistant=BAD), turn("new"))
    write_json("safe.config.json", limits)
    assert safe_gate("run", "--baseline", base, "--protect", "b").code == 1
    held = assert_read_and_written_alike(Path("reports/safe-gate.json"))
    assert held.comparison
    assert held.weakened
    assert held.waivers
    assert [fate for fate, _ in held.waivers.each()] == ["expired", "unused", "applied"]
    assert {rule.rule for rule in held.broken()} >= {"protect", "no-removed-cases", "waivers"}
    assert any(rule.group for rule in held.rules)
