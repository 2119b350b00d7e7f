"""Conversations in the rest of a run: explained, waived, compared, verified, shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safe_gate.addons.training import split_cases
from safe_gate.core.case import CaseAt
from safe_gate.model.problems import Place
from tests.support.cases import BAD, GOOD, REPOSITORY, SYNTHESIS, SafeGate, report, turn, write_cases
from tests.support.conversations import AWAY, SETTINGS, TOLD, evaluated, talk
from tests.support.git import commit_here
from tests.support.synthesis import run


def test_explain_shows_one_turn_or_all_of_a_conversation(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), talk("a", TOLD, GOOD, "Yes.", AWAY), turn("b"))
    shown = safe_gate("explain", "a", "--cases", "c.jsonl", "--turns", "all").out
    assert [line for line in shown.splitlines() if "(c.jsonl:1)" in line] == [
        "a@1 (c.jsonl:1): passes",
        "a@3 (c.jsonl:1): fails",
    ]
    one = safe_gate("explain", "a@3", "--cases", "c.jsonl", "--turns", "all").out
    assert "a@1" not in one
    assert "Message (messages[0]):" in one


def test_turns_of_a_conversation_are_one_cluster(safe_gate: SafeGate) -> None:
    old, new = ([talk("a", *([TOLD, reply] * 8), turns="all", checks=["topic_pivot"])] for reply in (GOOD, AWAY))
    run(safe_gate, *old, flags=("--report-dir", "old"))
    run(safe_gate, *new, flags=("--baseline", "old/safe-gate.json"))
    (metric, *_) = report()["comparison"]["synthesis"]["metrics"]
    assert (metric["cases"], metric["units"]) == (8, 1)


def test_judging_fewer_turns_or_asking_for_less_is_named(safe_gate: SafeGate) -> None:
    Path("safe.config.json").write_text('{"turns": "all", "context": 3, "synthesis-cases": ["c.jsonl"]}', "utf-8")
    write_cases(Path("c.jsonl"), talk("a", TOLD, GOOD, "Yes.", GOOD), talk("b", TOLD, GOOD, context=4))
    commit_here()
    weaker = '{"turns": "last", "context": 1, "default-checks": ["topic_pivot"], "synthesis-cases": ["c.jsonl"]}'
    Path("safe.config.json").write_text(weaker, "utf-8")
    write_cases(Path("c.jsonl"), talk("a", TOLD, GOOD, "Yes.", GOOD), talk("b", TOLD, GOOD, context=4))
    ran = safe_gate("run", "--baseline", "main", "--policy-ref", "head")
    assert ran.code == 1
    found = {(one["id"], one["field"], one["what"]) for one in report()["weakened"]["findings"]}
    assert {
        ("turns", "", "looser"),
        ("context", "", "looser"),
        ("default-checks", "unverifiable_reassurance", "dropped"),
        ("a@1", "", "dropped"),
        ("a@3", "", "dropped"),
    } <= found
    assert [one["id"] for one in report()["comparison"]["synthesis"]["cases"]["removed"]] == ["a@1", "a@3", "b@1"]


def test_a_changed_earlier_message_changes_the_case_and_a_changed_reply_does_not(safe_gate: SafeGate) -> None:
    def case(*texts: str, **fields: Any) -> str:
        (found,) = evaluated(safe_gate, talk("a", *texts, **fields)).values()
        return str(found["digests"]["case"])

    base = case(TOLD, GOOD, "Yes.", GOOD)
    assert case(TOLD, BAD, "Yes.", AWAY) == base
    assert case("Hello.", GOOD, "Yes.", GOOD) != base
    assert case(TOLD, GOOD, "Yes.", GOOD, system="Be kind.") != base
    assert case(TOLD, GOOD, "Yes.", GOOD, context=0) != base


def test_the_page_shows_the_messages_that_were_read(safe_gate: SafeGate) -> None:
    run(safe_gate, talk("a", "Unread words.", GOOD, TOLD, GOOD, "Yes.", AWAY), turn("b"), flags=("--reports", "html"))
    page = Path("reports/safe-gate.html").read_text("utf-8")
    start = page.index('{"evaluator": "synthesis", "id": "a"')
    case = json.loads(page[start : page.index("\n", start)])
    assert case["fields"] == {
        "messages[2]": "Message (messages[2])",
        "messages[4]": "Message (messages[4])",
        "messages[5]": "Reply (messages[5])",
    }
    assert case["texts"] == {"messages[2]": TOLD, "messages[4]": "Yes.", "messages[5]": AWAY}
    assert "Unread words" not in page


def test_the_example_runs(safe_gate: SafeGate) -> None:
    ran = safe_gate("run", "--synthesis-cases", REPOSITORY / "examples/conversations.jsonl")
    assert ran.code == 0
    assert [one["id"] for one in report()["synthesis"]["results"]] == ["CONV-001@2", "CONV-001@4", "CONV-002"]
    assert report()["synthesis"]["summary"]["label_accuracy"] == {"total": 2, "matched": 2, "accuracy": 100.0}


def test_turns_of_a_conversation_are_left_out_together_when_rules_are_learned() -> None:
    texts = [text for n in range(12) for text in (f"Message {n} about boats.", f"Reply {n} about trains.")]
    cases: list[Any] = list(SYNTHESIS.parse(talk("a", *texts, turns="all"), CaseAt(Place("c.jsonl", 1), ""), SETTINGS))
    assert len(split_cases(cases)) == 1
