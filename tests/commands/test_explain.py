"""`safe-gate explain` shows what decided cases: several, those that fail, of every evaluator, as text or JSON."""

import json
from pathlib import Path
from typing import Any

import pytest

from safe_gate.inputs.checked import load_schema
from tests.support.cases import BAD, Ran, SafeGate, refused, safe_case, turn, write_batch, write_cases, write_json
from tests.support.hostile import commands_in

NO_FEVER = {"output": {"signals": ["Cough"], "summary": "She went home.", "followup_questions": ["Which policy?"]}}


@pytest.fixture(autouse=True)
def _files() -> None:
    write_cases(Path("c.jsonl"), turn("good"), turn("bad", assistant=BAD))
    meant = turn("meant", assistant=BAD, tags=["negative_example"])
    write_cases(Path("d.jsonl"), turn("row#1"), turn("chat@3", assistant=BAD), meant)
    write_batch(Path("b.json"), safe_case("found"), safe_case("lost", **NO_FEVER))


def heads(ran: Ran) -> list[str]:
    """Return the first line of every explanation."""
    return [line for line in ran.out.splitlines() if "sonl:" in line or ".json:" in line]


CASES = ("--cases", "c.jsonl", "d.jsonl", "--batch", "b.json")


def test_a_case_of_safe_v0_shows_what_was_found_and_what_is_missing(safe_gate: SafeGate) -> None:
    out = safe_gate("explain", "lost", *CASES).out
    assert out.startswith("lost (b.json:")
    for words in (
        "Signals:\n  Cough\n",
        "Which [2 policy 2]?",
        '  is a required phrase  [1] "went home"\n',
        '  is a forbidden term  [2] "policy"\n',
        'Correct recall: Fail\n  missing signal "fever"\n',
        "0 of 1 required signal found: 0.00. Pass from 0.80, Review from 0.50.",
    ):
        assert words in out


def test_thresholds_of_the_run_and_of_an_archetype_decide_in_an_explanation(safe_gate: SafeGate) -> None:
    assert "Correct recall: Review" in safe_gate("explain", "lost", *CASES, "--thresholds", "CR.review=0").out
    write_batch(Path("b.json"), safe_case("lost", archetype="Delay", **NO_FEVER))
    own = {"safe-batch": ["b.json"], "archetypes": {"Delay": {"thresholds": {"CR": {"pass": 0, "review": 0}}}}}
    write_json("safe-gate.config.json", own)
    assert "Correct recall: Pass" in safe_gate("explain", "lost").out


def test_failed_explains_the_cases_that_fail_and_should_not(safe_gate: SafeGate) -> None:
    ran = safe_gate("explain", "--failed", *CASES)
    assert ran.code == 0
    assert [one.partition(" ")[0] for one in heads(ran)] == ["lost", "bad", "chat@3"]
    write_cases(Path("e.jsonl"), turn("good"))
    ran = safe_gate("explain", "--failed", "--cases", "e.jsonl")
    assert (ran.code, ran.out) == (0, "No case fails unexpectedly.\n")
    write_cases(Path("e.jsonl"), turn("good"), turn("broken", checks=[]))
    refused(safe_gate("explain", "--failed", "--cases", "e.jsonl"), "e.jsonl:2: broken: checks: is an empty list")
    assert safe_gate("explain", "good", "--cases", "e.jsonl").code == 0


def test_json_has_an_object_per_case_by_its_schema_and_the_same_bytes_twice(safe_gate: SafeGate) -> None:
    command = ("explain", "bad", "lost", "good", *CASES, "--json")
    ran = safe_gate(*command)
    assert ran.code == 0
    assert ran.out == safe_gate(*command).out
    told = json.loads(ran.out)
    assert (told["command"], told["exit_code"], told["problems"]) == ("explain", 0, [])
    found = told["cases"]
    schema = load_schema("explanation")
    assert [schema.faults(one) for one in found] == [(), (), ()]
    assert [(one["evaluator"], one["id"], one["passed"]) for one in found] == [
        ("safe_v0", "lost", False),
        ("synthesis", "good", True),
        ("synthesis", "bad", False),
    ]
    for one in found:
        for judgement in one["judgements"].values():
            assert judgement["decision"]
            for mark in judgement["marks"]:
                assert one["texts"][mark["field"]][mark["start"] : mark["end"]] == mark["text"]
    assert safe_gate("explain", "--failed", "--cases", "d.jsonl", "--json", "--profile", "spec").out


def test_ids_of_all_files_are_explained_and_an_id_that_no_case_has_names_near_ones(safe_gate: SafeGate) -> None:
    ids = ("lost", "chat@3", "row#1", "good")
    ran = safe_gate("explain", *ids, *CASES)
    assert (ran.code, ran.err) == (0, "")
    assert [one.partition(" ")[0] for one in heads(ran)] == ["lost", "good", "row#1", "chat@3"]
    write_cases(Path("c.jsonl"), turn("row-1#1"), turn("row-1#2"), turn("other"))
    ran = safe_gate("explain", "row-1", "other", "othr", "--cases", "c.jsonl")
    near = 'explain: row-1: no case in "c.jsonl" has this id (did you mean "row-1#1" or "row-1#2"?)\n'
    refused(ran, near, 'explain: othr: no case in "c.jsonl" has this id (did you mean "other"?)')
    assert [one.partition(" ")[0] for one in heads(ran)] == ["other"]
    ran = safe_gate("explain", "OTHER", "--cases", "c.jsonl", "d.jsonl", "--json")
    refused(ran, 'explain: OTHER: no case in "c.jsonl", "d.jsonl" has this id (did you mean "other"?)')
    assert json.loads(ran.out)["problems"][0]["fix"] == 'name a case of the files (did you mean "other"?)'


def test_a_command_line_that_names_no_case_is_refused(safe_gate: SafeGate) -> None:
    for arguments, words in (
        ("--cases c.jsonl", "explain: names no case; expected ids before flags, or --failed"),
        ("good --failed --cases c.jsonl", "explain: takes ids or --failed, not both"),
        ("good", "safe-batch or synthesis-cases: is not set"),
    ):
        ran = safe_gate("explain", *arguments.split())
        assert refused(ran, words)
        assert ran.out == ""


def test_recorded_text_is_escaped_in_every_form(safe_gate: SafeGate) -> None:
    evil: Any = "::error::x \x1b[2J ##[group]y \u202e"
    write_batch(Path("b.json"), safe_case("a", output={"signals": [evil], "summary": evil, "followup_questions": []}))
    for form in ((), ("--json",)):
        out = safe_gate("explain", "a", "--batch", "b.json", *form).out
        assert not {"\x1b", "\u202e"} & set(out)
        assert commands_in(out) == []


def test_a_second_hit_in_a_clause_is_shown_with_the_one_that_counts(safe_gate: SafeGate) -> None:
    phrases = {"acme/off": "half the price", "acme/house": "on the house"}
    rules = [{"id": one, "phrase": text, "why": "x", "hit": [text], "miss": ["a"]} for one, text in phrases.items()]
    pack = {"pack": "acme", "check": "acme/no-gifts", "group": "gift", "field": "assistant", "about": "x"}
    write_json("gifts.json", pack | {"defines": {"against": ["gift"], "decides": "none_against"}, "rules": rules})
    reply = "It is half the price and it is on the house."
    write_cases(Path("own.jsonl"), turn("own", assistant=reply, checks=["acme/no-gifts"]))
    out = safe_gate("explain", "own", "--cases", "own.jsonl", "--rules", "gifts.json").out
    assert (
        '  does not count  "on the house"  acme/house  its clause counts once, by "acme/off": "half the price"\n' in out
    )
    assert "1 clause against the reply" in out
