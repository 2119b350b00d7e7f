"""The events of a run: which there are, and what they hold."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import Patch, SafeGate, report, safe_case, turn, write_batch, write_cases
from tests.support.events_sent import AT, QUOTE, in_file, run, to
from tests.support.github import HEAD, REPOSITORY, Gate
from tests.support.receivers import Receiver, receiving


def test_a_file_gets_an_event_for_each_case_and_batch_and_for_the_run(safe_gate: SafeGate) -> None:
    run(safe_gate, "--sinks", "file:out/events.jsonl")
    told = in_file("out/events.jsonl")
    types = ["safe.v0.result"] * 3 + ["safe.v0.batch"] * 2 + ["safe.synthesis.result"] * 2 + ["safe.gate.verdict"]
    assert [one["type"] for one in told] == types
    assert [one.get("subject") for one in told] == ["S-1", "S-2", "S-3", "b_1", "b_2", "good", "bad", None]
    assert {(one["specversion"], one["source"], one["time"]) for one in told} == {("1.0", "safe-gate", AT)}
    assert len({one["id"] for one in told}) == len(told)


def events_of(safe_gate: SafeGate, *flags: str) -> list[dict[str, Any]]:
    run(safe_gate, "--sinks", "file:events.jsonl", *flags)
    return in_file()


def test_events_have_the_fields_of_the_specification(safe_gate: SafeGate) -> None:
    told = {one.get("subject"): one["data"] for one in events_of(safe_gate)}
    fields = {"test_id": "S-2", "scores": {"CR": 0.0, "AH": 1.0, "AC": 0.0}, "label": "Fail", "timestamp": AT}
    assert told["S-2"] == {**fields, "batch_id": "b_1", "archetype": "Unknown"}
    summary = {"total_cases": 2, "pass": 1, "review": 0, "fail": 1, "overall_pass_rate": 0.5}
    assert told["b_1"] == {"concern_id": "I25,I26", "batch_id": "b_1", "summary": summary, "timestamp": AT}
    assert told["b_2"]["summary"]["overall_pass_rate"] == 1.0
    assert (told["good"]["pass"], told["good"]["as_expected"], told["good"]["tags"]) == (True, True, ["x"])
    assert told["bad"]["checks"]["unverifiable_reassurance"]["verdict"] == "fail"
    assert told["bad"]["checks"]["unverifiable_reassurance"]["rules"] == ["reassurance-guarantee/good-will-come"]
    verdict, made = told[None], report()
    assert (verdict["verdict"], verdict["rules"]) == ("fail", made["rules"])
    assert verdict["summaries"]["safe_v0"] == made["safe_v0"]["summary"]
    assert verdict["summaries"]["synthesis"]["unexpected_failures"] == 1
    assert verdict["digest"] == made["provenance"]["digests"]["all"]


def test_an_event_says_why_there_is_no_reply_and_what_a_judge_said(safe_gate: SafeGate) -> None:
    said = {"tone": {"passed": True, "by": "j1"}}
    nothing = {"signals": [], "summary": "", "followup_questions": []}
    write_batch(Path("b_1.json"), safe_case("S-1", output=nothing, judged=said), safe_case("S-2"))
    write_cases(Path("c.jsonl"), turn("a", assistant="502 Bad Gateway"))
    told = {one.get("subject"): one["data"] for one in events_of(safe_gate)}
    assert (told["S-1"]["no_reply"], told["S-1"]["judged"]) == ("empty", {"judged/tone": True})
    assert {"no_reply", "judged"}.isdisjoint(told["S-2"])
    assert (told["a"]["no_reply"], "no_reply" in told[None]) == ("error message", False)


def test_a_run_sends_equal_events_but_at_another_time_other_ids(safe_gate: SafeGate, monkeypatch: Patch) -> None:
    told = [events_of(safe_gate) for _ in range(2)]
    assert told[0] == told[1]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    assert not {one["id"] for one in told[0]} & {one["id"] for one in events_of(safe_gate)}


@pytest.mark.parametrize(
    ("flags", "is_shown"),
    [((), False), (("--allow", "text-in-events"), True), (("--allow", "text-in-events", "--text", "none"), False)],
)
def test_recorded_text_is_left_out_by_default(safe_gate: SafeGate, flags: tuple[str, ...], is_shown: bool) -> None:
    assert events_of(safe_gate, *flags)
    text = Path("events.jsonl").read_text("utf-8")
    assert [one in text for one in (QUOTE, "went home", "fever")] == [is_shown] * 3
    assert ("sha256:" in text) == ("none" in flags)


def test_names_that_no_subject_may_hold_are_escaped(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("a\u0007\u202eb\ud800"))
    with receiving() as otlp:
        run(safe_gate, "--sinks", "file:events.jsonl", *to(otlp, "otlp"))
        names = {one["attributes"].get("test.case.name") for one in otlp.records}
    (event,) = (one for one in in_file() if one["type"] == "safe.synthesis.result")
    assert event["subject"] == "a\\x07\\u202eb\\ud800"
    assert event["data"]["id"] == "a\u0007\u202eb\ud800"
    assert event["subject"] in names


def test_a_run_without_a_verdict_says_so(safe_gate: SafeGate, webhook: Receiver) -> None:
    Path("c.jsonl").write_text("{}\n[]\n", "utf-8")
    run(safe_gate, "--sinks", "file:events.jsonl", *to(webhook), code=3)
    for events in (in_file(), webhook.events):
        (told,) = [one["data"] for one in events]
        assert (told["verdict"], told["problems"]) == ("error", len(report()["problems"]))


def test_in_a_workflow_events_name_the_run_and_the_status_is_a_step_output(gate: Gate, webhook: Receiver) -> None:
    step = gate("fail", *to(webhook), GITHUB_RUN_ID="7", GITHUB_RUN_ATTEMPT="2", GITHUB_JOB="my gate")
    url = f"https://github.com/{REPOSITORY}/actions/runs/7/attempts/2"
    assert {one["source"] for one in webhook.events} == {f"{url}#my%20gate"}
    data = webhook.events[-1]["data"]
    assert (data["run"], data["gate"], data["repository"]) == (url, "my gate", f"https://github.com/{REPOSITORY}")
    assert data["commit"] == HEAD
    assert (step.outputs["sink-status"], step.warnings) == ("sent", [])
    assert gate("pass").outputs["sink-status"] == ""
