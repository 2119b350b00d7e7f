"""The rule packs: valid, unique, and every rule hits and misses the texts it promises."""

from __future__ import annotations

import json
import re
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from safe_gate.core.model import Place
from safe_gate.evaluators.synthesis.deciding.score import Case, score_case
from safe_gate.evaluators.synthesis.deciding.turn import Turn
from safe_gate.evaluators.synthesis.matching import patterns, rules
from safe_gate.evaluators.synthesis.names import CHECKS, GROUPS
from safe_gate.inputs.schemas import load_schema
from tests.support.cases import GOOD, REPOSITORY, Ran, turn, write_cases
from tests.support.examples import is_thorough
from tests.support.own_pack import OWN
from tests.support.packs import SPEC, broken_promises, selected, shipped
from tests.support.packs import load as load_rules
from tests.support.packs import rules as rules_of

FOLDER = REPOSITORY / "safe_gate" / "evaluators" / "synthesis"
FILES = sorted((FOLDER / "packs").glob("*/*.json"))
PACKS: dict[str, dict[str, Any]] = {file.stem: json.loads(file.read_text("utf-8")) for file in FILES}
RULES = [(pack, rule) for pack in PACKS.values() for rule in pack["rules"]]
WRITTEN = [(pack, rule) for pack, rule in RULES if not isinstance(rule["origin"], dict)]


@pytest.mark.parametrize("name", PACKS)
def test_a_pack_is_valid_and_named_as_its_file(name: str) -> None:
    assert load_schema("rule-pack").faults(PACKS[name]) == ()
    assert PACKS[name]["pack"] == name
    assert all(rule["id"].startswith(f"{name}/") for rule in PACKS[name].get("rules", ()))


def test_rule_ids_are_unique_and_every_group_of_every_check_has_a_pack() -> None:
    ids = [rule["id"] for _, rule in RULES]
    assert len(ids) == len(set(ids))
    assert {pack["group"] for pack in PACKS.values()} <= set(GROUPS)
    assert {pack["group"] for pack in PACKS.values()} >= {
        group for group, (check, _) in GROUPS.items() if check in CHECKS
    }
    assert {pack["check"] for pack in PACKS.values()} >= set(CHECKS)


def test_the_rules_of_the_specification_are_all_there() -> None:
    origins = [rule["origin"] for _, rule in RULES]
    assert origins.count("spec") == 261
    assert sum(isinstance(origin, dict) for origin in origins) <= 8_000


def test_packs_are_sorted_so_that_a_rule_is_found_by_its_id() -> None:
    for pack in PACKS.values():
        ids = [rule["id"] for rule in pack["rules"]]
        assert ids == sorted(ids)


@pytest.mark.untraced
@pytest.mark.parametrize(("pack", "rule"), WRITTEN, ids=[rule["id"] for _, rule in WRITTEN])
def test_a_rule_hits_and_misses_the_texts_it_promises(pack: dict[str, Any], rule: dict[str, Any]) -> None:
    assert broken_promises(pack, rule) == ([], [])


@pytest.mark.parametrize(
    ("rule", "mention"),
    [
        ({"pattern": "a(?=b)"}, "a/b: pattern: RE2 refuses it: invalid perl operator: (?= (RE2 has no look-ahead"),
        (
            {"pattern": r"(a)\1"},
            r"a/b: pattern: RE2 refuses it: invalid escape sequence: \1 (RE2 has no back-references)",
        ),
        ({"pattern": "{nobody} knows"}, "a/b: unknown word class {nobody}"),
    ],
)
def test_a_pattern_that_cannot_run_is_refused_by_its_rule(rule: dict[str, Any], mention: str) -> None:
    pack = {"pack": "a", "check": "topic_pivot", "group": "pivot", "field": "user", "rules": [{"id": "a/b", **rule}]}
    with pytest.raises(ValueError, match=r"rule a/b") as raised:
        patterns.compile_pack(pack, {})
    assert mention in str(raised.value)


TREATS = {"treat": ["cake", "tea"], "offer": ["fancy {treat}", "some {treat}"]}


def found(text: str, *rules: dict[str, Any], **fields: Any) -> list[str]:
    """Return what rules hit in a text that counts, in reading order."""
    pack = {"pack": "a", "check": "topic_pivot", "group": "pivot", "field": "assistant", "classes": TREATS} | fields
    some = [{"id": f"a/r{number}", **rule} for number, rule in enumerate(rules)]
    alone = rules_of([{**pack, "rules": some}], SPEC)
    return [hit.text for hit in Turn("", text, alone).found(alone.checks["topic_pivot"], ("pivot",)).hits["pivot"]]


@pytest.mark.parametrize(
    ("rule", "text", "hits"),
    [
        ({"pattern": "{offer}"}, "Fancy\ncake, or some tea?", ["Fancy\ncake", "some tea"]),
        ({"pattern": "go", "start": True}, "Go on. I go. And go!", ["Go", "go"]),
        ({"pattern": "want", "question": True}, "You want it. Do you want it?", ["want"]),
        ({"pattern": "want", "question": False}, "You want it. Do you want it?", ["want"]),
        ({"pattern": "fine"}, 'She said "you are fine" to me. It is fine.', ["fine"]),
        ({"pattern": "fine"}, ' "It is fine." ', ["fine"]),
        ({"pattern": "fine"}, 'It is 6" and fine, 9" or so.', ["fine"]),
        ({"pattern": "fine", "quoted": True}, 'She said "you are fine".', ["fine"]),
        ({"pattern": "fine", "cancelled_by": ["treat"]}, "Tea is fine. After tea, fine. Fine tea.", ["fine", "Fine"]),
        ({"pattern": "fine", "unless": ["maybe"]}, "Maybe fine. All fine.", ["fine"]),
        ({"pattern": "fine", "unless_before": [r"not $"]}, "It is not fine, but fine.", ["fine"]),
        ({"pattern": "fine", "unless_after": [r"^, but"]}, "It is fine, but so. Fine.", ["Fine"]),
        ({"pattern": "so it is"}, "So it is. So it is. So it is.", ["So it is"]),
        ({"pattern": r"\s+ok\s+"}, "is  ok   now", ["ok"]),
        (
            {"pattern": "don't|['a] you'?ll"},
            "Dont, don't; a youll, ' you'll.",
            ["Dont", "don't", "a youll", "' you'll"],
        ),
        ({"pattern": "go", "start": True}, "On. \U0001f49b Go, (go) we go", ["Go", "go"]),
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
    details = score_case(case, rules).checks["unverifiable_reassurance"].details
    assert [hit.rule for hit in details["guarantee_hits"]] == ["b/long", "a/late"]
    assert [(hit.rule, hit.by) for hit in details["cancelled"]] == [
        ("a/mid", "longer: b/long"),
        ("a/within", "longer: b/long"),
    ]


SafeGate = Callable[..., Ran]


def write_pack(**fields: Any) -> None:
    of_rule = {*OWN["rules"][0], "cancelled_by", "unless"}
    rule = OWN["rules"][0] | {key: value for key, value in fields.items() if key in of_rule}
    pack = OWN | {"rules": [rule]} | {key: value for key, value in fields.items() if key not in of_rule}
    Path("own.json").write_text(json.dumps(pack), "utf-8")


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
        ({"pattern": "a(?=b)"}, "own.json:1: team-guarantee/refund: cannot run: pattern: RE2 refuses it: "),
        ({"pattern": "{no_such_class}"}, "unknown word class {no_such_class}"),
        ({"pattern": "\ud800"}, "own.json:1: team-guarantee/refund: cannot run: pattern: half a surrogate pair, which no text holds"),
        ({"unless": ["\ud800"]}, "own.json:1: team-guarantee/refund: cannot run: unless: half a surrogate pair, which no text holds"),
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


def test_what_is_wrong_with_a_pack_is_said_with_its_line(safe_gate: SafeGate) -> None:
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
    assert safe_gate("rules", "--profile", "spec").out.endswith("\n261 rules, 0 of them learned\n")


@pytest.mark.parametrize(
    ("arguments", "mention"),
    [
        (("rules", "--rules-off", "agency-negative/you-shoud"), 'did you mean "agency-negative/you-should"?'),
        (("rules", "--rule-weights", "agency-positve=2"), 'rule-weights: agency-positve: matches no rule and no pack (did you mean "agency-positive"?)'),
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


@pytest.mark.parametrize(
    ("classes", "condition", "mention"),
    [
        ({"loop": ["{loop}"]}, {"pattern": "{loop}"}, "word classes name each other more than 8 deep"),
        ({"long": ["x" * 6_000, "y" * 6_000]}, {"pattern": "{long}"}, "is longer than 10,000 characters"),
        ({}, {"pattern": "|".join(f"w{n}[a-z]{{1,30}}" for n in range(4_000))}, "is longer than 10,000 characters"),
        ({}, {"unless": ["x" * 6_000, "y" * 6_000]}, "is longer than 10,000 characters"),
    ],
)
def test_no_pattern_takes_long_to_compile(
    safe_gate: SafeGate, classes: dict[str, Any], condition: dict[str, Any], mention: str
) -> None:
    write_pack(classes=classes, **condition)
    started = time.process_time()
    ran = safe_gate("rules", "test", "own.json")
    assert ran.code == 3
    assert mention in ran.err
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("size", "rule"),
    [(100_000, {"pattern": "{long}" * 1_000}), (9_000, {"pattern": "a", "unless": ["{long}"] * 9_000})],
)
def test_a_large_class_that_is_named_often_fills_no_memory(size: int, rule: dict[str, Any]) -> None:
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"is longer than 10,000 characters"):
        patterns.compile_pack(
            {"pack": "a", "group": "pivot", "rules": [{"id": "a/b"} | rule], "classes": {"long": ["x" * size]}}, {}
        )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


@pytest.mark.parametrize(
    ("fields", "mention"),
    [
        ({"field": "user"}, "serves unverifiable_reassurance and looks in assistant"),
        ({"group": "positive"}, "serves agency_language"),
    ],
)
def test_a_pack_must_serve_the_check_of_its_group(safe_gate: SafeGate, fields: dict[str, Any], mention: str) -> None:
    write_pack(**fields)
    assert mention in safe_gate("rules", "test", "own.json").err


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"pack": "Team-2"},
            "an id of lower-case words without digits joined by hyphens, such as team-agency-positive",
        ),
        ({"id": "Team/2"}, "the pack's id, a slash and a name of lower-case letters, digits and hyphens"),
        ({"weight": -1}, "a number from 0 to 1000"),
        ({"miss": []}, "a list of at least one text, each once"),
        ({"rules": []}, "a list of 1 to 8000 rules"),
        ({"field": "text"}, "user or assistant"),
        ({"classes": {"a": []}}, "a list of at least one alternative, each once"),
    ],
)
def test_a_pack_of_another_shape_is_told_what_was_expected(
    safe_gate: SafeGate, fields: dict[str, Any], expected: str
) -> None:
    write_pack(**fields)
    assert f"; expected {expected}" in safe_gate("rules", "test", "own.json").err


@pytest.mark.parametrize("condition", ["unless", "unless_before", "unless_after"])
def test_a_broken_condition_is_refused_by_its_name(safe_gate: SafeGate, condition: str) -> None:
    rule = OWN["rules"][0] | {condition: ["("]}
    Path("own.json").write_text(json.dumps(OWN | {"rules": [rule]}), "utf-8")
    assert (
        f"own.json:1: team-guarantee/refund: cannot run: {condition}: missing )"
        in safe_gate("rules", "test", "own.json").err
    )


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
    codes = {}
    for inside in (7, 8, 9):
        row = LEARNED_ROW | {"origin": {"learned": [inside, 10]}}
        Path("own.json").write_text(json.dumps(OWN | {"rules": [row]}), "utf-8")
        ran_by = {
            level: safe_gate(*command, "--sensitivity", level).code for level in ("strict", "balanced", "lenient")
        }
        codes[inside] = tuple(ran_by.values())
    assert codes == {7: (2, 0, 0), 8: (2, 2, 0), 9: (2, 2, 2)}
    conditions = {"cancelled_by": ["hedged"], "question": False}
    Path("own.json").write_text(json.dumps(OWN | {"learned": conditions, "rules": [LEARNED_ROW]}), "utf-8")
    assert safe_gate(*command).code == 2
    write_cases(
        Path("c.jsonl"), turn("a", assistant="I hope it is zorped at noon.", checks=["unverifiable_reassurance"])
    )
    assert safe_gate(*command).code == 0


def test_shipped_packs_serve_the_check_of_their_group() -> None:
    for pack in PACKS.values():
        assert GROUPS[pack["group"]] == (pack["check"], pack["field"])


def test_a_weight_is_on_or_off_and_another_one_is_told(safe_gate: SafeGate) -> None:
    write_pack()
    write_cases(Path("c.jsonl"), turn("a", assistant="The refund is on its way.", checks=["unverifiable_reassurance"]))
    command = ("run", "--synthesis-cases", "c.jsonl", "--rules", "own.json")
    digests = set()
    overrides = ("{}", '{"team-guarantee": 0}', '{"team-guarantee": 0, "team-guarantee/refund": 0.5}')
    for code, weights in zip((1, 0, 1), overrides, strict=True):
        Path("safe.config.json").write_text(f'{{"rule-weights": {weights}}}', "utf-8")
        ran = safe_gate(*command)
        assert ran.code == code, ran.log
        digests.add(json.loads(Path("reports/safe-gate.json").read_text("utf-8"))["provenance"]["packs_sha256"])
    assert len(digests) == 3
    assert "Synthesis ran with 2 weights of the repository's own: " in ran.out
    told = 'Rules are on or off: a weight other than 0 counts as 1 (rule-weights: "team-guarantee/refund").'
    assert told in ran.out
    assert safe_gate(*command, "--rule-weights", "team-guarantee=1").code == 1  # a flag outranks the config
    assert safe_gate(*command, "--rule-weights", "team-guarantee=0", "--profile", "spec").code == 0
    write_pack(weight=0)
    assert safe_gate(*command, "--rule-weights", "agency-positive=1").code == 0


@pytest.mark.parametrize("pack", PACKS)
def test_a_pack_that_weighs_nothing_is_left_out_as_one_that_is_off(pack: str) -> None:
    assert selected(weights={pack: 0}) == selected(off=[pack]) == [one for one in shipped() if one["pack"] != pack]


@pytest.mark.untraced
@pytest.mark.thorough
@pytest.mark.parametrize(
    "pack",
    ["agency-negative", *(pytest.param(one, marks=pytest.mark.soak) for one in PACKS if one != "agency-negative")],
)
def test_a_rule_that_weighs_nothing_is_as_one_that_is_off(pack: str) -> None:
    lines = (REPOSITORY / "data/synthesis/dev_a.jsonl").read_text("utf-8").splitlines()
    turns = map(json.loads, lines if is_thorough() else lines[::4])
    cases = [Case(one["id"], one["user"], one["assistant"], tuple(CHECKS), {}, (), Place("")) for one in turns]
    results = (
        [score_case(case, rules).checks for case in cases]
        for rules in (load_rules(rule_weights={pack: 0}), load_rules(rules_off=(pack,)))
    )
    assert next(results) == next(results)


def test_a_check_that_no_rule_is_left_of_is_no_pass(safe_gate: SafeGate) -> None:
    off = [pack for pack in PACKS if PACKS[pack]["check"] == "unverifiable_reassurance"]
    promise = turn("a", assistant="You'll definitely be fine, I promise.", checks=["unverifiable_reassurance"])
    write_cases(Path("c.jsonl"), promise, turn("b", assistant="Anyway, try pottery.", checks=["topic_pivot"]))
    ran = safe_gate("eval", "--cases", "c.jsonl", "--rules-off", "pivot-vulnerability")
    assert ran.code == 3
    assert "leave no rule of vulnerability that counts, and cases ask for topic_pivot" in ran.err
    for command in (("eval", "--cases", "c.jsonl"), ("run", "--synthesis-cases", "c.jsonl")):
        for switched in (("--rules-off", *off), ("--rule-weights", *(f"{pack}=0" for pack in off))):
            ran = safe_gate(*command, *switched)
            assert ran.code == 3
            assert (
                "leave no rule of unverifiable_reassurance that counts, and cases ask for unverifiable_reassurance"
                in ran.err
            )
    write_cases(Path("c.jsonl"), turn("a", checks=["agency_language"]))
    assert safe_gate("eval", "--cases", "c.jsonl", "--rules-off", *off).code == 0


def test_a_match_that_begins_with_a_line_break_stands_in_the_sentence_of_its_words() -> None:
    rule = {"id": "team-guarantee/refund", "pattern": " the refund arrives", "question": False}
    assert found("That is all.\nThe refund arrives.", rule)
    assert not found("That is all.\nThe refund arrives?", rule)


def test_what_is_switched_off_or_added_is_said_beside_the_verdict(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("a"))
    write_pack()
    command = ("run", "--synthesis-cases", "c.jsonl", "--rules", "own*.json", "--profile", "spec")
    ran = safe_gate(*command, "--rules-off", "agency-negative")
    written = Path("reports/safe-gate.md").read_text("utf-8")
    assert "Synthesis ran with profile spec." in ran.out
    assert "Synthesis ran with profile spec." in written
    assert 'Synthesis ran with the repository\'s own rule packs: "own*.json".' in ran.out  # it may name several
    assert "Synthesis ran with the repository's own rule packs: <code>" in written
    assert 'Synthesis ran with 1 rule or pack off: "agency-negative".' in ran.out
    assert "off: <code>agency-negative</code>." in written


def test_rules_that_are_off_or_weighed_are_named_some_of_many(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("a"))
    ids = [rule["id"] for pack in shipped() for rule in pack.get("rules", ())][:7]
    command = ("run", "--synthesis-cases", "c.jsonl")
    ran = safe_gate(*command, "--rules-off", *ids)
    names = ", ".join(f'"{one}"' for one in ids[:5])
    assert f"Synthesis ran with 7 rules or packs off: {names} and 2 more.\n" in ran.out
    ran = safe_gate(*command, "--rule-weights", f"{ids[0]}=2", f"{ids[1]}=0")
    assert f'Synthesis ran with 2 weights of the repository\'s own: "{ids[0]}", "{ids[1]}".\n' in ran.out


def dead(group: str, *rules: dict[str, Any]) -> list[str]:
    """Return the rules of a group without a `hit` text of their own: switch one off and nobody notices."""
    check, field = GROUPS[group]
    pack = {"pack": "all", "check": check, "group": group, "field": field, "rules": [*rules]}
    every = rules_of([pack], SPEC)

    def hitting(text: str) -> set[str]:
        return {match.rule.id for match in Turn(text, text, every).matches(group) if not match.by}

    return [rule["id"] for rule in rules if not any(hitting(text) == {rule["id"]} for text in rule["hit"])]


@pytest.mark.parametrize("group", GROUPS)
def test_switching_a_rule_off_turns_one_of_its_texts_red(group: str) -> None:
    """Rules of the specification among themselves: what is added later may know the same wordings."""
    assert dead(group, *(rule for pack, rule in WRITTEN if pack["group"] == group and rule["origin"] == SPEC)) == []


def test_a_dead_rule_is_found() -> None:
    rules = [rule for pack, rule in WRITTEN if pack["group"] == "negative" and rule["origin"] == SPEC]
    you_should = next(rule for rule in rules if rule["id"] == "agency-negative/you-should")
    planted = {**you_should, "id": "agency-negative/planted", "hit": ["You should call."]}
    assert "agency-negative/planted" in dead("negative", *rules, planted)
    # Two that hit the same texts keep each other from mattering.
    assert dead("negative", planted, {**planted, "id": "agency-negative/twin"}) == [
        "agency-negative/planted",
        "agency-negative/twin",
    ]


def test_a_phrase_can_be_read_at_a_glance() -> None:
    """What is longer is a word class (`classes.json`) or two rules."""
    lists = ("phrases", "unless", "unless_before", "unless_after")
    phrases = [
        (rule["id"], phrase)
        for _, rule in RULES
        for phrase in (rule.get("phrase", ""), *(one for name in lists for one in rule.get(name, ())))
    ]
    assert [(id_, phrase) for id_, phrase in phrases if len(phrase) > 1_500] == []


def test_rules_that_can_each_run_but_not_together_are_refused(
    safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_ALL", "_LARGE"):
        monkeypatch.setattr(getattr(patterns, name), "max_mem", 1 << 18)  # less, so that few rules are too many
    rules = [
        OWN["rules"][0] | {"id": f"team-guarantee/r{n}", "pattern": f"refund is certain|foo{n}[a-z]{{1,99}}"}
        for n in range(100)
    ]
    Path("own.json").write_text(json.dumps(OWN | {"rules": rules}), "utf-8")
    ran = safe_gate("rules", "test", "own.json")
    assert ran.code == 3
    assert "own.json:1: team-guarantee: cannot run: its patterns are too large together" in ran.err
    monkeypatch.setattr(patterns._LARGE, "max_mem", 64 << 20)
    assert safe_gate("rules", "test", "own.json").code == 0


@pytest.mark.parametrize(
    ("id_", "mention"),
    [
        ("agency-negative/mine", "expected an id that begins with its pack's: team-guarantee/..."),
        ("team-guarantee/mine\n", "rules[0].id"),
    ],
)
def test_an_id_that_does_not_lead_to_its_pack_is_refused(safe_gate: SafeGate, id_: str, mention: str) -> None:
    Path("own.json").write_text(json.dumps(OWN | {"rules": [OWN["rules"][0] | {"id": id_}]}), "utf-8")
    ran = safe_gate("rules", "test", "own.json")
    assert ran.code == 3
    assert mention in ran.err


def test_a_match_of_nothing_is_none(safe_gate: SafeGate) -> None:
    write_pack(pattern=r"refund is certain|7\b|\b$|(?:sure)?$")
    write_cases(Path("c.jsonl"), turn("a", assistant=GOOD.rstrip("?"), checks=["unverifiable_reassurance"]))
    assert safe_gate("rules", "test", "own.json").code == 0
    assert safe_gate("eval", "--cases", "c.jsonl", "--rules", "own.json").code == 0


def test_a_rule_that_is_off_twice_is_off_once(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("a"))
    reports = []
    for ids in (["agency-negative"], ["agency-negative", "agency-negative"]):
        ran = safe_gate("run", "--synthesis-cases", "c.jsonl", "--rules-off", *ids)
        assert 'Synthesis ran with 1 rule or pack off: "agency-negative".' in ran.out
        reports.append(json.loads(Path("reports/safe-gate.json").read_text("utf-8"))["provenance"]["packs_sha256"])
    assert reports[0] == reports[1]


def test_a_sensitivity_that_means_nothing_is_not_said_to_have_counted(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("a"))
    ran = safe_gate("run", "--synthesis-cases", "c.jsonl", "--profile", "spec", "--sensitivity", "strict")
    assert "Synthesis ran with profile spec, which knows no sensitivity (strict)." in ran.out


def test_the_words_of_rules_are_those_of_phrases_and_of_texts_they_hit(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = {"phrases": ["Quit (it|calm*)"], "hit": ["Don't, caf\u00e9!"], "unless": ["{you} \\bat"], "pattern": "x\\sy"}
    words = {"quit", "it", "calm", "don", "t", "caf", "at", "x", "y", "all"}
    others = {"", "s", "you", "qui", "uit", "b", "bat", "sy", "caf\u00e9", "Quit", "d", 1}
    for most in (1000, 0):  # searched for one by one, then listed
        monkeypatch.setattr(rules, "_MOST_SEARCHED", most)
        vocabulary = rules.Vocabulary([{"rules": [rule]}], {"you": ["all"]})
        assert {word for word in words | others if word in vocabulary} == words
