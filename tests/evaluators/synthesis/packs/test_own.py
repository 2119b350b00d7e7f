"""Packs of a team's own: what they add, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import GOOD, REPOSITORY, SafeGate, turn, write_cases
from tests.support.pack_files import OWN, PACKS, write_pack


@pytest.mark.parametrize("profile", ["spec", "standard"])
def test_a_pack_of_ones_own_counts_and_is_part_of_the_digest(safe_gate: SafeGate, profile: str) -> None:
    write_pack()
    reply = "Would you like to talk? That sounds hard, tell me more about the exam. The refund is on its way."
    write_cases(Path("c.jsonl"), turn("a", assistant=reply, checks=["unverifiable_reassurance"]))
    command = ("run", "--synthesis-cases", "c.jsonl", "--profile", profile)
    assert safe_gate(*command).code == 0
    without = json.loads(Path("reports/safe-gate.json").read_text("utf-8"))["provenance"]
    ran = safe_gate(*command, "--rules", "own.json")
    assert ran.code == 1
    assert 'guarantee "refund is on its way"' in ran.out
    assert json.loads(Path("reports/safe-gate.json").read_text("utf-8"))["provenance"] != without
    assert safe_gate(*command, "--rules", "own.json", "--rules-off", "team-guarantee/refund").code == 0
    assert safe_gate(*command, "--rules", "own.json", "--rules-off", "team-guarantee").code == 0


@pytest.mark.parametrize(
    ("fields", "mention"),
    [
        ({"cancelled_by": ["nobody"]}, "unknown word class {nobody}"),
        ({"hit": ["Nothing of the kind."]}, 'team-guarantee/refund: hit: does not hit "Nothing of the kind."'),
        ({"miss": ["The refund is  certain."]}, 'team-guarantee/refund: miss: hits "The refund is  certain.", which it promises to miss: matched "refund is  certain"'),
        ({"pattern": "a(?=b)"}, "own.json:1: team-guarantee/refund: cannot run: pattern: RE2 refuses it: invalid perl operator: (?= (RE2 has no look-ahead and no look-behind); correct it, or write a phrase"),
        ({"pattern": r"(a)\1"}, "cannot run: pattern: RE2 refuses it: invalid escape sequence: \\1 (RE2 has no back-references); correct it"),
        ({"pattern": "a|" * 5_001}, "own.json:1: rules[0].pattern"),
        ({"unless": ["{no_such_class}"]}, "unknown word class {no_such_class}; add it to `classes` of the pack"),
        ({"pattern": "\ud800"}, "own.json:1: team-guarantee/refund: cannot run: pattern: RE2 refuses it: half a surrogate pair, which no text holds"),
        ({"unless": ["\ud800"]}, "own.json:1: team-guarantee/refund: cannot run: unless holds \\ud800, which is not a token"),
        ({"why": ""}, "own.json:1: rules[0].why"),
        ({"id": "agency-negative/you-should"}, "agency-negative/you-should: is the id of another rule, pack or check"),
        ({"pack": "agency-negative"}, "agency-negative: is the id of another rule, pack or check"),
    ],
)  # fmt: skip
def test_a_pack_that_does_not_keep_its_promises_is_refused_by_the_rule(
    safe_gate: SafeGate, fields: dict[str, Any], mention: str
) -> None:
    write_pack(**fields)
    write_cases(Path("c.jsonl"), turn("a"))
    for command in (("rules", "test", "own.json"), ("eval", "--cases", "c.jsonl", "--rules", "own.json")):
        ran = safe_gate(*command)
        assert ran.code == 3
        assert mention in ran.err


def test_a_problem_in_a_pack_is_reported_with_its_line(safe_gate: SafeGate) -> None:
    rule = OWN["rules"][0]
    broken = [rule, rule | {"id": "other/one"}, rule | {"id": "team-guarantee/two", "hit": [*rule["hit"], "Nothing."]}]
    broken += [rule, rule | {"id": "team-guarantee/three", "pattern": "("}]
    text = json.dumps(
        OWN | {"rules": broken, "defines": {"against": ["guarante"], "decides": "none_against"}}, indent=1
    )
    Path("own.json").write_text(text, "utf-8")
    ran = safe_gate("rules", "test", "own.json")
    assert ran.code == 3
    lines = [*enumerate(text.splitlines(), 1)]
    ids = [number for number, line in lines if '"id": ' in line]
    (text_line,) = (number for number, line in lines if "Nothing." in line)
    (defines,) = (number for number, line in lines if '"defines"' in line)
    assert [one.partition(": ")[0] for one in ran.err.splitlines()[:-1]] == [
        f"own.json:{number}" for number in (ids[1], text_line, ids[3], ids[4] - 1, defines, defines + 1)
    ]


def test_the_pack_that_the_documentation_shows_keeps_its_promises_and_needs_its_word_boundary(
    safe_gate: SafeGate,
) -> None:
    text = (REPOSITORY / "docs" / "own-rules.md").read_text("utf-8")
    (shown,) = (block for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL) if '"phrase"' in block)
    Path("own.json").write_text(shown, "utf-8")
    assert safe_gate("rules", "test", "own.json").out.startswith("1 pack, 1 rule: all texts hit and miss")
    shown = shown.replace(
        '"phrase": "you (are|) (hold|holding) the pen"', '"pattern": "you(?:\'re)? hold(?:ing)? the pen"'
    )
    Path("own.json").write_text(shown, "utf-8")
    ran = safe_gate("rules", "test", "own.json")
    assert ran.code == 3
    assert 'hits "They say you hold the pencil.", which it promises to miss: matched "you hold the pen"' in ran.err


def test_rules_are_listed_and_tested_from_the_command_line(safe_gate: SafeGate) -> None:
    write_pack()
    assert safe_gate("rules", "test", "own.json").out.startswith("1 pack, 1 rule: all texts hit and miss")
    listed = safe_gate("rules", "--rules", "own.json", "--rules-off", "agency-negative/you-should")
    assert listed.code == 0
    assert "team-guarantee/refund" in listed.out
    assert "agency-negative/you-should " not in listed.out
    assert safe_gate("rules", "--profile", "spec").out.endswith("\n263 rules, 0 of them learned\n")


@pytest.mark.parametrize(
    ("arguments", "mention"),
    [
        (("rules", "--rules-off", "agency-negative/you-shoud"), 'did you mean "agency-negative/you-should"?'),
        (("rules", "--rules", "nowhere.json"), "nowhere.json: matches no file; correct the path"),
        (("rules", "fly"), "expected: rules, rules test PACK"),
        (("rules", "test"), "expected: rules, rules test PACK"),
        (("rules", "--out", "x"), "--out: is for rules train"),
        (("rules", "train"), "or rules train CASES"),
    ],
)  # fmt: skip
def test_rules_that_are_not_there_are_named(safe_gate: SafeGate, arguments: tuple[str, ...], mention: str) -> None:
    ran = safe_gate(*arguments)
    assert ran.code == 3
    assert mention in ran.err


LEARNED_ROW: dict[str, Any] = {"id": "team-guarantee/fixed", "phrase": "zorped at", "origin": {"learned": [9, 10]}}


def test_phrases_of_ones_own_count_with_classes_and_conditions_of_their_own(safe_gate: SafeGate) -> None:
    phrase = {
        **OWN["rules"][0],
        "id": "team-guarantee/arrives",
        "phrase": "{parcel} (is|will be) {here}",
        "question": False,
        "unless_after": ["if"],
        "before": ["your"],
        "cancelled_by": ["doubt"],
        "hit": ["Your nice parcel will be at home.", "Your refund is here."],
        "miss": ["My parcel is here.", "Your parcel is here if you want it.", "I hope your refund is here."],
    }
    del phrase["pattern"]
    classes = {
        "parcel": ["parcel", "nice parcel", "refund"],
        "here": ["here", "at {place}"],
        "place": ["home"],
        "doubt": ["hope"],
    }
    pack = OWN | {"classes": classes, "rules": [OWN["rules"][0], phrase]}
    Path("own.json").write_text(json.dumps(pack), "utf-8")
    assert safe_gate("rules", "test", "own.json").out == "1 pack, 2 rules: all texts hit and miss as expected\n"
    write_cases(Path("c.jsonl"), turn("a", assistant="So your parcel is here.", checks=["unverifiable_reassurance"]))
    for profile in ("standard", "spec"):
        ran = safe_gate("eval", "--cases", "c.jsonl", "--rules", "own.json", "--profile", profile)
        assert (ran.code, 'guarantee "parcel is here"' in ran.out) == (2, True)
    phrase["phrase"] = "{parcel} is {nowhere}"
    Path("own.json").write_text(json.dumps(pack), "utf-8")
    ran = safe_gate("rules", "test", "own.json")
    assert ran.code == 3
    assert "own.json:1: team-guarantee/arrives: cannot run: phrases names the unknown word class {nowhere}" in ran.err


def test_a_learned_row_counts_by_its_precision_and_says_it(safe_gate: SafeGate) -> None:
    Path("own.json").write_text(json.dumps(OWN | {"rules": [LEARNED_ROW]}), "utf-8")
    write_cases(Path("c.jsonl"), turn("a", assistant="It is zorped at noon.", checks=["unverifiable_reassurance"]))
    command = ("eval", "--cases", "c.jsonl", "--rules", "own.json")
    ran = safe_gate(*command)
    assert ran.code == 2
    assert 'guarantee "zorped at" (learned: 9 of 10 marked clauses guarantee) by "team-guarantee/fixed"' in ran.out
    explained = safe_gate("explain", "a", "--cases", "c.jsonl", "--rules", "own.json").out
    assert '"zorped at"  team-guarantee/fixed (learned: 9 of 10 marked clauses guarantee)\n' in explained
    assert safe_gate(*command, "--profile", "spec").code == 0
    conditions = {"cancelled_by": ["hedged"], "question": False}
    Path("own.json").write_text(json.dumps(OWN | {"learned": conditions, "rules": [LEARNED_ROW]}), "utf-8")
    assert safe_gate(*command).code == 2
    write_cases(
        Path("c.jsonl"), turn("a", assistant="I hope it is zorped at noon.", checks=["unverifiable_reassurance"])
    )
    assert safe_gate(*command).code == 0


def test_a_check_that_no_rule_is_left_of_is_no_pass(safe_gate: SafeGate) -> None:
    off = [pack for pack in PACKS if PACKS[pack]["check"] == "unverifiable_reassurance"]
    promise = turn("a", assistant="You'll definitely be fine, I promise.", checks=["unverifiable_reassurance"])
    write_cases(Path("c.jsonl"), promise, turn("b", assistant="Anyway, try pottery.", checks=["topic_pivot"]))
    ran = safe_gate("eval", "--cases", "c.jsonl", "--rules-off", "pivot-vulnerability")
    assert ran.code == 3
    assert "switches off every rule of vulnerability, but cases use topic_pivot" in ran.err
    for command in (("eval", "--cases", "c.jsonl"), ("run", "--synthesis-cases", "c.jsonl")):
        ran = safe_gate(*command, "--rules-off", *off)
        assert ran.code == 3
        assert "switches off every rule of unverifiable_reassurance, but cases use unverifiable_reassurance" in ran.err
    write_cases(Path("c.jsonl"), turn("a", checks=["agency_language"]))
    assert safe_gate("eval", "--cases", "c.jsonl", "--rules-off", *off).code == 0


def test_rules_that_are_off_or_added_are_named_beside_the_verdict(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("a"))
    write_pack()
    command = ("run", "--synthesis-cases", "c.jsonl", "--rules", "own*.json", "--profile", "spec")
    ran = safe_gate(*command, "--rules-off", "agency-negative")
    written = Path("reports/safe-gate.md").read_text("utf-8")
    assert "Synthesis ran with profile spec." in ran.out
    assert "Synthesis ran with profile spec." in written
    assert 'Synthesis ran with rule packs from the repository: "own*.json".' in ran.out  # it may name several
    assert "Synthesis ran with rule packs from the repository: <code>" in written
    assert 'Synthesis ran with 1 rule or pack off: "agency-negative".' in ran.out
    assert "off: <code>agency-negative</code>." in written


def test_a_match_of_nothing_is_none(safe_gate: SafeGate) -> None:
    write_pack(pattern=r"refund is certain|7\b|\b$|(?:sure)?$")
    write_cases(Path("c.jsonl"), turn("a", assistant=GOOD.rstrip("?"), checks=["unverifiable_reassurance"]))
    assert safe_gate("rules", "test", "own.json").code == 0
    assert safe_gate("eval", "--cases", "c.jsonl", "--rules", "own.json").code == 0


@pytest.mark.parametrize("profile", ["standard", "spec"])
@pytest.mark.parametrize("group", ["positive", "negative"])
@pytest.mark.parametrize("kind", ["pattern", "phrase"])
def test_a_hit_of_ones_own_replaces_no_shipped_hit_against_the_reply(
    safe_gate: SafeGate, kind: str, group: str, profile: str
) -> None:
    reply = "You should stop that, and you must calm down. It is up to you. Would you like to talk about it?"
    write_cases(Path("c.jsonl"), turn("a", assistant=reply, checks=["agency_language"]))
    command = ("run", "--synthesis-cases", "c.jsonl", "--profile", profile, "--max-unexpected-failures", "9")
    groups = ("negative_hits", "positive_hits")

    def hits(*more: str) -> list[list[str]]:
        assert safe_gate(*command, *more).code != 3
        (result,) = json.loads(Path("reports/safe-gate.json").read_text("utf-8"))["synthesis"]["results"]
        return [[hit["rule"] for hit in result["checks"]["agency_language"][name]] for name in groups]

    negative, positive = hits()
    assert len(negative) >= 2
    spanning = {"pattern": "you should.*calm down", "phrase": "you should stop that , and you must calm down"}
    rule = {"id": "own/span", "why": "Spans two clauses.", "hit": [reply], "miss": ["Stop."], kind: spanning[kind]}
    pack = OWN | {"pack": "own", "check": "agency_language", "group": group, "rules": [rule]}
    Path("own.json").write_text(json.dumps(pack), "utf-8")
    against, favour = hits("--rules", "own.json")
    assert [rule for rule in against if rule != "own/span"] == negative
    assert [rule for rule in favour if rule != "own/span"] == positive
    assert ("own/span" in favour) is (group == "positive")
