"""`rules train`: marked cases in, rows with their counts out, and what they gain."""

import json
from pathlib import Path
from typing import Any

import pytest

from safe_gate.addons.training import learn_rows, split_cases
from safe_gate.evaluators.synthesis.case import Case
from safe_gate.model.problems import Place
from tests.support import packs
from tests.support.cases import SafeGate, read_json, refused, turn, write_cases, write_json

THINGS = ("parcel", "refund", "answer", "ticket", "letter", "key", "badge", "report", "lamp", "grant", "loan", "sofa")
CHECK = "unverifiable_reassurance"
TRAIN = ("rules", "train", "c.jsonl")
LEARNED = Path("own/team-learned-guarantee.json")


def marked(plain: str = "left the desk on Monday") -> list[dict[str, Any]]:
    """Return cases that promise in a wording that no rule knows, and cases that say something else."""
    found = []
    for thing in THINGS:
        win = f"Your {thing} lands before the weekend"
        promise = {"expected": {CHECK: False}, "marks": {"guarantee": [win]}}
        for id_, said, own in (
            ("win", f"{win}, rain or shine", promise),
            ("plain", f"Your {thing} {plain}", {"expected": {CHECK: True}}),
        ):
            reply, user = f"We looked at it today. {said}.", f"Where is my {thing}? It is {id_}."
            found.append(turn(f"{id_}-{thing}", assistant=reply, user=user, checks=[CHECK], **own))
    return found


def test_marked_clauses_teach_rows_that_are_shown_measured_written_and_used(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), *marked())
    shown = safe_gate(*TRAIN)
    assert shown.code == 0, shown.log
    for words in ("12 of 12", "rule learned", "Nothing is written without --out FOLDER."):
        assert words in shown.out
    (gained,) = (line for line in shown.out.splitlines() if CHECK in line)
    assert "│ +50.0 │    12 │      0 │ gain beyond chance" in gained
    assert not Path("own").exists()
    assert f"Written: {LEARNED}\n" in safe_gate(*TRAIN, "--out", "own").out
    first = LEARNED.read_bytes()
    assert safe_gate(*TRAIN, "--out", "own").code == 0
    assert LEARNED.read_bytes() == first
    assert safe_gate("rules", "test", LEARNED).code == 0
    (row,) = json.loads(first)["rules"]
    assert row["origin"] == {"learned": [12, 12]}
    write_cases(Path("n.jsonl"), turn("n", assistant="Your boat lands before the weekend.", user="And my boat?"))
    assert "team-learned-guarantee" not in safe_gate("eval", "--cases", "n.jsonl").out
    assert row["id"] in safe_gate("eval", "--cases", "n.jsonl", "--rules", "own/*.json").out
    known = safe_gate(*TRAIN, "--rules", "own/*.json")
    assert known.out.startswith("0 rules learned\n")
    assert "Nothing is written: no rule is learned." in known.out


def test_no_gain_is_measured_of_cases_of_one_part(safe_gate: SafeGate) -> None:
    found = {case["assistant"]: case for case in marked()}
    parts = split_cases([Case(reply, "", reply, (CHECK,), {}, (), Place("c")) for reply in found])
    write_cases(Path("c.jsonl"), *(found[one.id] for one in max(parts, key=len)))
    out = safe_gate(*TRAIN).out
    assert "1 rule learned\nThe gain cannot be measured: all cases share a reply, or are too few; add cases" in out
    assert [words for words in ("Gain", "do not use") if words in out] == []


def test_what_stands_outside_of_marks_speaks_against_a_phrase(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), *marked("lands before the weekend"))
    assert safe_gate(*TRAIN).out.startswith("0 rules learned\n")


def test_the_start_of_a_clause_and_one_word_are_no_phrase(safe_gate: SafeGate) -> None:
    cases = []
    for thing in THINGS:
        promise = {"assistant": f"Trust the process. It is {thing} day.", "marks": {"guarantee": ["Trust the process"]}}
        cases.append(turn(f"bad {thing}", **promise, expected={CHECK: False}))
        cases.append(turn(f"good {thing}", assistant=f"Mind the step. It is {thing} day.", expected={CHECK: True}))
    write_cases(Path("c.jsonl"), *cases)
    assert '"^ trust"' not in safe_gate(*TRAIN, "--out", "own").out
    rows = read_json(LEARNED)["rules"]
    assert min(len(row["phrase"].replace("^", "").split()) for row in rows) > 1


def test_training_on_cases_without_marks_says_what_is_missing(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("a", expected={"agency_language": True}), turn("b", user="Hm."))
    ran = safe_gate(*TRAIN)
    assert (ran.code, "No case has marks: quote the clauses that decide in `marks`" in ran.out) == (0, True)
    assert "2 cases, 1 distinct reply: a copy counts once" in ran.out


def test_a_pack_of_rules_that_are_no_longer_learned_is_named(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), *marked())
    assert "Not learned this time" not in safe_gate(*TRAIN, "--out", "own").out
    write_cases(Path("c.jsonl"), turn("a", expected={CHECK: False}))
    Path("own/team-learned-mine.json").write_text("{}", "utf-8")  # no training wrote it
    out = safe_gate(*TRAIN, "--out", "own").out
    write_cases(Path("c.jsonl"), *marked())
    LEARNED.write_text("{}", "utf-8")
    refused(safe_gate(*TRAIN, "--out", "own"), "exists and is not a learned pack")
    assert LEARNED.read_text("utf-8") == "{}"
    assert out.count("Not learned this time") == out.count(f"Not learned this time: {LEARNED}; delete it") == 1


def test_a_learned_pack_in_use_is_not_learned_over_itself(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), *marked())
    safe_gate(*TRAIN, "--out", "own")
    pack = read_json(LEARNED)
    pack["rules"][0]["phrase"] = "zorp"
    write_json(LEARNED, pack)
    refused(safe_gate(*TRAIN, "--rules", "own/*.json"), "team-learned-guarantee: is the id that a learned pack gets")


@pytest.mark.parametrize(
    ("case", "arguments", "mention"),
    [
        ({}, ("--profile", "spec"), "profile: is spec, which uses no learned rules; expected standard"),
        ({}, ("--rules", "nowhere.json"), "nowhere.json: matches no file"),
        ({"checks": []}, (), "c.jsonl:1: a: checks: is an empty list"),
        ({"marks": {"nice": ["x"]}}, (), "c.jsonl:1: a: marks.nice"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(safe_gate: SafeGate, case: Any, arguments: Any, mention: str) -> None:
    write_cases(Path("c.jsonl"), turn("a", **case))
    refused(safe_gate(*TRAIN, *arguments), mention)


def test_a_reply_teaches_nothing_about_its_copies_in_conversations(safe_gate: SafeGate) -> None:
    win = "Your parcel lands before the weekend"
    own = {"expected": {CHECK: False}, "marks": {"guarantee": [win]}}
    said = [{"role": "user", "content": "Where is it?"}, {"role": "assistant", "content": f"{win}."}]
    copies = [{"id": f"c{n}", "messages": said, "checks": [CHECK], **own} for n in range(20)]
    write_cases(Path("c.jsonl"), *copies, *(one for one in marked() if one["id"].startswith("plain")))
    out = safe_gate(*TRAIN).out
    (gained,) = (line for line in out.splitlines() if CHECK in line)
    assert "│ +0.0 │     0 │      0 │" in gained


def test_a_row_covers_what_the_rows_before_it_leave() -> None:
    texts = ("green boat", "green boat", "green boat red car", "green boat red car", "red car", "red car")
    cases = [Case("a", "", text, (CHECK,), {}, (), Place("c"), marks={"guarantee": [text]}) for text in texts]
    found = learn_rows(cases, packs.load(), {}, ["guarantee"])
    assert [(row.inside, "red" in row.phrase) for row in found] == [(4, False), (4, True)]
