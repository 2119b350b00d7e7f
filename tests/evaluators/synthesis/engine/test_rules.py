"""Rules: the conditions under which a match counts."""

from __future__ import annotations

from typing import Any

import pytest

from safe_gate.evaluators.synthesis.checks.score import Case, score_case
from safe_gate.evaluators.synthesis.checks.turn import Turn
from safe_gate.evaluators.synthesis.engine.rules import Rule
from safe_gate.model.problems import Place
from tests.support.packs import SPEC, shipped
from tests.support.packs import rules as rules_of

TREATS = {"treat": ["cake", "tea"], "offer": ["fancy {treat}", "some {treat}"]}


def found(text: str, *rules: dict[str, Any], **fields: Any) -> list[str]:
    """Return what rules hit in a text that counts, in reading order."""
    pack = {"pack": "a", "check": "topic_pivot", "group": "pivot", "field": "assistant", "classes": TREATS} | fields
    some = [{"id": f"a/r{number}", **rule} for number, rule in enumerate(rules)]
    alone = rules_of([{**pack, "rules": some}], SPEC)
    return [
        hit.text for hit in Turn("", text, alone).counted_hits(alone.checks["topic_pivot"], ("pivot",)).hits["pivot"]
    ]


@pytest.mark.parametrize(
    ("rule", "text", "hits"),
    [
        ({"pattern": r"\QA b\E"}, "A b or a\nb.", ["A b"]),
        ({"pattern": r"a[[:digit:] ]b"}, "a1b, a b or a\nb.", ["a1b", "a b"]),
        ({"pattern": "want", "question": True}, "You want it. Do you want it?", ["want"]),
        ({"pattern": "want", "question": False}, "You want it. Do you want it?", ["want"]),
        ({"pattern": "fine"}, 'She said "you are fine" to me. It is fine.', ["fine"]),
        ({"pattern": "fine"}, ' "It is fine." ', ["fine"]),
        ({"pattern": "fine"}, 'It is 6" and fine, 9" or so.', ["fine"]),
        ({"pattern": "fine", "quoted": True}, 'She said "you are fine".', ["fine"]),
        ({"pattern": "fine", "cancelled_by": ["treat"]}, "Tea is fine. After tea, fine. Fine tea.", ["fine", "Fine"]),
        ({"pattern": "fine", "unless": ["maybe"]}, "Maybe fine. All fine.", ["fine"]),
        ({"pattern": "fine", "unless_before": ["not"]}, "It is not fine, but fine.", ["fine"]),
        ({"pattern": "fine", "unless_after": [", but"]}, "It is fine, but so. Fine.", ["Fine"]),
        ({"pattern": "so it is"}, "So it is. So it is. So it is.", ["So it is"]),
        ({"pattern": r"\s+ok\s+"}, "is  ok   now", ["ok"]),
        ({"pattern": r"\s+|ok"}, "is  ok   now", ["ok"]),
        ({"pattern": "g.*n"}, "Go on. Go on", ["Go on. Go on"]),
        ({"pattern": "\U0001f49b"}, "So. \U0001f49b", ["\U0001f49b"]),
    ],
)
def test_a_condition_decides_what_counts(rule: dict[str, Any], text: str, hits: list[str]) -> None:
    assert found(text, rule) == hits


@pytest.mark.parametrize(
    ("rule", "text", "hits"),
    [
        ({"phrase": "{offer}"}, "Fancy cake, or some tea?", ["Fancy cake", "some tea"]),
        ({"phrase": "^ go"}, "Go on. I go. And go!", ["Go", "go"]),
        ({"phrase": "^^ go"}, "Go on. I go. And go!", ["Go"]),
        ({"phrases": ["go", "went"]}, "I go. I went.", ["go", "went"]),
        ({"phrase": "want", "question": True}, "You want it. Do you want it?", ["want"]),
        ({"phrase": "want", "question": False}, "You want it. Do you want it?", ["want"]),
        ({"phrase": "want", "question": False}, "See https://example.org/?a and want it.", ["want"]),
        ({"phrase": "fine"}, 'She said "you are fine" to me. It is fine.', ["fine"]),
        ({"phrase": "fine"}, ' "It is fine." ', ["fine"]),
        ({"phrase": "fine", "quoted": True}, 'She said "you are fine".', ["fine"]),
        ({"phrase": "fine", "cancelled_by": ["treat"]}, "Tea is fine. After tea, fine. Fine tea.", ["fine", "Fine"]),
        ({"phrase": "fine", "unless": ["maybe"]}, "Maybe fine. All fine.", ["fine"]),
        ({"phrase": "fine", "unless_before": ["not _0-1"]}, "It is not so fine, but fine.", ["fine"]),
        ({"phrase": "fine", "unless_after": [", but"]}, "It is fine, but so. Fine.", ["Fine"]),
        ({"phrase": "fine", "before": ["is _*"]}, "It is quite fine. All fine.", ["fine"]),
        ({"phrase": "fine", "after": ["by me"]}, "It is fine by you. All fine by me.", ["fine"]),
        ({"phrase": "so it is"}, "So it is. So it is. So it is.", ["So it is"]),
        ({"phrase": "do not you will"}, "Dont youll, don't you'll.", ["Dont youll", "don't you'll"]),
        ({"phrase": "you will"}, "Youll see, you'll see, u will see.", ["Youll", "you'll", "u will"]),
        ({"phrase": "go _0-20 home"}, "Go " + "on " * 15 + "home.", ["Go " + "on " * 11]),
    ],
)
def test_a_condition_of_a_phrase_decides_what_counts(rule: dict[str, Any], text: str, hits: list[str]) -> None:
    assert found(text, rule) == [hit.strip() for hit in hits]


@pytest.mark.parametrize("kind", ["pattern", "phrase"])
def test_overlapping_matches_are_one_and_the_longer_stays(kind: str) -> None:
    rules = ({kind: "you should"}, {kind: "you should try"})
    assert found("You should try. You should.", *rules) == ["You should try", "You should"]


def test_what_only_a_lost_match_overlaps_counts_and_what_is_lost_within_a_pack_is_reported() -> None:
    def pack(name: str, **phrases: str) -> Any:
        rules = [{"id": f"{name}/{one}", "phrase": phrase} for one, phrase in phrases.items()]
        groups = {"check": "unverifiable_reassurance", "group": "guarantee", "field": "assistant"}
        return {"pack": name, "rules": rules} | groups

    packs = [
        pack("a", mid="two three four five", late="five six", within="three"),
        pack("b", long="and zero one two three"),
    ]
    rules = rules_of([*shipped(), *packs], SPEC)
    case = Case("a", "", "And zero one two three four five six.", ("unverifiable_reassurance",), {}, (), Place("c", 1))
    result = score_case(case, rules).checks["unverifiable_reassurance"]
    assert [hit.rule for hit in result.hits["guarantee"]] == ["b/long", "a/late"]
    assert [(hit.rule, hit.by) for hit in result.cancelled] == [
        ("a/mid", "longer: b/long"),
        ("a/within", "longer: b/long"),
    ]


def test_a_match_that_begins_with_a_line_break_stands_in_the_sentence_of_its_words() -> None:
    rule = {"id": "team-guarantee/refund", "pattern": " the refund arrives", "question": False}
    assert found("That is all.\nThe refund arrives.", rule)
    assert not found("That is all.\nThe refund arrives?", rule)


def test_a_class_that_names_itself_ends() -> None:
    rule = Rule.of({"id": "own/a", "phrase": "{a}"}, {"group": "pivot", "classes": {"a": ["{a}"]}})
    assert [phrase.strip("()") for phrase in rule.phrases] == ["{a}"]
