"""`rules train`: marked cases in, rows with their counts out, and what they gain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from safe_gate.addons.training import learn_rows, split_cases
from safe_gate.evaluators.synthesis.checks.score import Case
from safe_gate.model.problems import Place
from tests.support import packs
from tests.support.cases import SafeGate, turn, write_cases

THINGS = ("parcel", "refund", "answer", "ticket", "letter", "key", "badge", "report", "lamp", "grant", "loan", "sofa")


def marked() -> list[dict[str, Any]]:
    """Return cases that promise in a wording that no rule knows, and cases that do not."""
    wins = [
        turn(
            f"win-{thing}",
            assistant=f"We looked at it today. Your {thing} lands before the weekend, rain or shine.",
            user=f"Where is my {thing}?",
            checks=["unverifiable_reassurance"],
            expected={"unverifiable_reassurance": False},
            marks={"guarantee": [f"Your {thing} lands before the weekend"]},
        )
        for thing in THINGS
    ]
    plain = [
        turn(
            f"plain-{thing}",
            assistant=f"We looked at it today. Your {thing} left the desk on Monday.",
            user=f"And my {thing}?",
            checks=["unverifiable_reassurance"],
            expected={"unverifiable_reassurance": True},
        )
        for thing in THINGS
    ]
    return [*wins, *plain]


def test_marked_clauses_teach_rows_that_are_shown_measured_written_and_used(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), *marked())
    command = ("rules", "train", "c.jsonl")
    shown = safe_gate(*command)
    assert shown.code == 0, shown.log
    assert "12 of 12" in shown.out
    assert "rule learned" in shown.out
    assert "Nothing is written without --out FOLDER." in shown.out
    (gained,) = (line for line in shown.out.splitlines() if "unverifiable_reassurance" in line)
    assert "│ +50.0 │    12 │      0 │ gain" in gained
    assert not Path("own").exists()
    written = safe_gate(*command, "--out", "own")
    assert "Written: own/team-learned-guarantee.json\n" in written.out
    first = Path("own/team-learned-guarantee.json").read_bytes()
    assert safe_gate(*command, "--out", "own").code == 0
    assert Path("own/team-learned-guarantee.json").read_bytes() == first
    assert safe_gate("rules", "test", "own/team-learned-guarantee.json").code == 0
    (row,) = json.loads(first)["rules"]
    assert row["origin"] == {"learned": [12, 12]}
    write_cases(Path("n.jsonl"), turn("n", assistant="Your boat lands before the weekend.", user="And my boat?"))
    assert "team-learned-guarantee" not in safe_gate("eval", "--cases", "n.jsonl").out
    assert row["id"] in safe_gate("eval", "--cases", "n.jsonl", "--rules", "own/*.json").out
    known = safe_gate(*command, "--rules", "own/*.json")
    assert known.out.startswith("0 rules learned\n")
    assert "Nothing is written: no rule is learned." in known.out


def test_what_stands_outside_of_marks_speaks_against_a_phrase(safe_gate: SafeGate) -> None:
    cases = marked()
    for case in cases:
        case["assistant"] = case["assistant"].replace("left the desk on Monday", "lands before the weekend")
    write_cases(Path("c.jsonl"), *cases)
    assert safe_gate("rules", "train", "c.jsonl").out.startswith("0 rules learned\n")


def test_training_on_cases_without_marks_says_what_is_missing(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("a", expected={"agency_language": True}), turn("b", user="Hm."))
    ran = safe_gate("rules", "train", "c.jsonl")
    assert ran.code == 0
    assert "No case has marks: quote the clauses that decide in `marks`" in ran.out
    assert "2 cases, 1 distinct reply: a copy counts once" in ran.out


def test_what_is_in_the_place_of_learned_rows_is_kept(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), *marked())
    Path("own").mkdir()
    Path("own/team-learned-guarantee.json").write_text("{}", "utf-8")
    ran = safe_gate("rules", "train", "c.jsonl", "--out", "own")
    assert ran.code == 3
    assert "exists and is not a learned pack" in ran.err
    assert Path("own/team-learned-guarantee.json").read_text("utf-8") == "{}"


@pytest.mark.parametrize(
    ("lines", "arguments", "mention"),
    [
        (marked(), ("--profile", "spec"), "profile: is spec, which uses no learned rules; expected standard"),
        (marked(), ("--rules", "nowhere.json"), "nowhere.json: matches no file"),
        ([turn("a", checks=[])], (), "c.jsonl:1: a: checks: is an empty list"),
        ([turn("a", marks={"nice": ["x"]})], (), "c.jsonl:1: a: marks.nice"),
    ],
)
def test_what_cannot_be_learned_from_is_refused_in_a_sentence(
    safe_gate: SafeGate, lines: list[dict[str, Any]], arguments: tuple[str, ...], mention: str
) -> None:
    write_cases(Path("c.jsonl"), *lines)
    ran = safe_gate("rules", "train", "c.jsonl", *arguments)
    assert ran.code == 3
    assert mention in ran.err


def test_a_learned_pack_in_use_is_not_learned_over_itself(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), *marked())
    safe_gate("rules", "train", "c.jsonl", "--out", "own")
    pack = json.loads(Path("own/team-learned-guarantee.json").read_text("utf-8"))
    pack["rules"][0]["phrase"] = "zorp"
    Path("own/team-learned-guarantee.json").write_text(json.dumps(pack), "utf-8")
    ran = safe_gate("rules", "train", "c.jsonl", "--rules", "own/*.json")
    assert ran.code == 3
    assert "team-learned-guarantee: is the id that a learned pack gets" in ran.err


def case(id_: str, reply: str, message: str = "", file: str = "c.jsonl") -> Case:
    return Case(id_, message or id_, reply, ("agency_language",), {"agency_language": True}, (), Place(file))


@pytest.mark.parametrize("files", [1, 3, 12])
def test_copies_are_left_out_together(files: int) -> None:
    cases = [case(f"{n}", f"Reply {n // 2}", file=f"{n % files}.jsonl") for n in range(48)]
    found = split_cases(cases, ("agency_language",))
    assert sorted(one.id for part in found for one in part) == sorted(one.id for one in cases)
    texts = [{one.assistant for one in part} for part in found]
    assert all(a.isdisjoint(b) for number, a in enumerate(texts) for b in texts[:number])


def test_a_phrase_may_be_worth_a_row_in_questions_alone(safe_gate: SafeGate) -> None:
    def asked(thing: str) -> dict[str, Any]:
        reply = f"Noted. Your tune carries the {thing} tonight?"
        marks = {"positive": [reply.removeprefix("Noted. ")]}
        return turn(
            f"asked-{thing}", assistant=reply, user=f"I sing to my {thing}.", checks=["agency_language"], marks=marks
        )

    def told(thing: str) -> dict[str, Any]:
        reply = f"Noted. Your tune carries the {thing} tonight."
        marks = {"positive": [], "negative": ["Noted"]}
        return turn(
            f"told-{thing}", assistant=reply, user=f"I hum to my {thing}.", checks=["agency_language"], marks=marks
        )

    write_cases(Path("c.jsonl"), *map(asked, THINGS), *map(told, THINGS))
    assert safe_gate("rules", "train", "c.jsonl", "--out", "own").code == 0
    rows = json.loads(Path("own/team-learned-positive.json").read_text("utf-8"))["rules"]
    assert [(row["question"], row["origin"]) for row in rows] == [(True, {"learned": [12, 12]})]
    assert safe_gate("rules", "test", "own/team-learned-positive.json").code == 0
    write_cases(
        Path("n.jsonl"),
        turn("q", assistant="Your tune carries the boat?"),
        turn("s", assistant="Your tune carries the boat."),
    )
    shown = safe_gate("eval", "--cases", "n.jsonl", "--rules", "own/*.json", "--out", "n.json")
    assert shown.code in {0, 2}
    first, second = json.loads(Path("n.json").read_text("utf-8"))["results"]
    assert [hit["rule"] for hit in first["checks"]["agency_language"]["positive_hits"]] == [rows[0]["id"]]
    assert second["checks"]["agency_language"]["positive_hits"] == []


def test_a_row_covers_what_the_rows_before_it_leave() -> None:
    texts = ("green boat", "green boat", "green boat red car", "green boat red car", "red car", "red car")
    check = "unverifiable_reassurance"
    cases = [Case("a", "", text, (check,), {}, (), Place("c"), marks={"guarantee": [text]}) for text in texts]
    found = learn_rows(cases, packs.load(), {}, ["guarantee"])
    assert [(row.inside, "red" in row.phrase) for row in found] == [(4, False), (4, True)]
