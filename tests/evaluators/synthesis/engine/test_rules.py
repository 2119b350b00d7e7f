"""Rules: the conditions under which a match counts."""

from typing import Any

import pytest

from safe_gate.evaluators.synthesis.checks.turn import Turn
from safe_gate.evaluators.synthesis.engine.rules import Rule
from tests.support.cases import DATA, read_lines
from tests.support.packs import SPEC, shipped
from tests.support.packs import rules as rules_of
from tests.support.synthesis import score

CHECK = "unverifiable_reassurance"
TREATS = {"treat": ["cake", "tea"], "offer": ["fancy {treat}", "some {treat}"]}


def found(text: str, *rules: dict[str, Any]) -> list[str]:
    """Return what rules hit in a text that counts, in reading order."""
    pack = {"pack": "a", "check": "topic_pivot", "group": "pivot", "field": "assistant", "classes": TREATS}
    some = [{"id": f"a/r{number}", **rule} for number, rule in enumerate(rules)]
    alone = rules_of([{**pack, "rules": some}], SPEC)
    counted = Turn("", text, alone).counted_hits(alone.checks["topic_pivot"], ("pivot",))
    return [hit.text for hit in counted.hits["pivot"]]


@pytest.mark.parametrize("kind", ["pattern", "phrase", "phrases"])
def test_a_condition_decides_what_counts(kind: str) -> None:
    for row in (row for row in read_lines(DATA / "rules.jsonl") if kind in row["rule"]):
        assert found(row["text"], row["rule"]) == row["hits"], row


@pytest.mark.parametrize("kind", ["pattern", "phrase"])
def test_overlapping_matches_are_one_and_the_longer_stays(kind: str) -> None:
    rules = ({kind: "you should"}, {kind: "you should try"})
    assert found("You should try. You should.", *rules) == ["You should try", "You should"]


def test_what_only_a_lost_match_overlaps_counts_and_what_is_lost_within_a_pack_is_reported() -> None:
    def pack(name: str, **phrases: str) -> Any:
        rules = [{"id": f"{name}/{one}", "phrase": phrase} for one, phrase in phrases.items()]
        return {"pack": name, "check": CHECK, "group": "guarantee", "field": "assistant", "rules": rules}

    first = pack("a", mid="two three four five", late="five six", within="three")
    by = rules_of([*shipped(), first, pack("b", long="and zero one two three")], SPEC)
    result = score("", "And zero one two three four five six.", CHECK, by=by).checks[CHECK]
    assert [hit.rule for hit in result.hits["guarantee"]] == ["b/long", "a/late"]
    lost = [(hit.rule, hit.by) for hit in result.cancelled]
    assert lost == [("a/mid", "longer: b/long"), ("a/within", "longer: b/long")]


def test_a_match_that_begins_with_a_line_break_stands_in_the_sentence_of_its_words() -> None:
    rule = {"id": "team-guarantee/refund", "pattern": " the refund arrives", "question": False}
    assert found("That is all.\nThe refund arrives.", rule)
    assert not found("That is all.\nThe refund arrives?", rule)


@pytest.mark.parametrize(
    ("members", "why"), [(["{a}"], "name each other"), (["x {a}"], "name each other"), (["{a} " * 10], "characters")]
)
def test_a_class_that_names_itself_is_refused(members: list[str], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Rule.of(
            {"id": "own/a", "phrase": "{a} b"}, {"group": "pivot", "classes": {"a": [one.strip() for one in members]}}
        )


def test_a_class_of_a_pack_may_hold_the_start_of_a_clause() -> None:
    rule = Rule.of({"id": "own/a", "phrase": "{a}"}, {"group": "pivot", "classes": {"a": ["^ zebra", "horse"]}})
    assert rule.phrases == ("^ zebra", "horse")
