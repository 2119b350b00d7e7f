"""The rule packs: valid, unique, and every rule hits and misses the texts it promises."""

from __future__ import annotations

import json
import re
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from safe_gate.evaluators import synthesis
from safe_gate.evaluators.synthesis.rules import (
    Match,
    broken_promises,
    compile_pack,
    find,
    overlapping,
    resolve_overlaps,
)
from safe_gate.evaluators.synthesis.score import CHECKS, GROUPS, Case, score_case
from safe_gate.files import load_schema
from safe_gate.model import Place
from safe_gate.packs import fingerprint, shipped
from safe_gate.packs import load as load_rules
from safe_gate.text import normalise
from tests.conftest import GOOD, REPOSITORY, Ran, turn, write_cases

FOLDER = Path(synthesis.__file__).parent
CLASSES: dict[str, list[str]] = json.loads((FOLDER / "classes.json").read_text("utf-8"))
FILES = sorted((FOLDER / "packs").glob("*.json"))
PACKS: dict[str, dict[str, Any]] = {file.stem: json.loads(file.read_text("utf-8")) for file in FILES}
WRITTEN = {name: pack for name, pack in PACKS.items() if "rules" in pack}
LEARNED = {name: pack for name, pack in PACKS.items() if "weights" in pack}
RULES = [(pack, rule) for pack in WRITTEN.values() for rule in pack["rules"]]


@pytest.mark.parametrize("name", PACKS)
def test_a_pack_is_valid_and_named_as_its_file(name: str) -> None:
    assert load_schema("rule-pack").faults(PACKS[name]) == ()
    assert PACKS[name]["pack"] == name
    assert all(rule["id"].startswith(f"{name}/") for rule in PACKS[name].get("rules", ()))


def test_rule_ids_are_unique_and_every_group_of_every_check_has_a_pack() -> None:
    ids = [rule["id"] for _, rule in RULES]
    assert len(ids) == len(set(ids))
    groups = {
        "positive",
        "negative",
        "mind_reading",
        "guarantee",
        "vulnerability",
        "acknowledgment",
        "follow_up",
        "pivot",
    }
    assert {pack["group"] for pack in WRITTEN.values()} == groups
    assert {group for pack in LEARNED.values() for group in pack["groups"]} == groups
    assert {pack["check"] for pack in PACKS.values()} == set(CHECKS)


@pytest.mark.parametrize(("pack", "rule"), RULES, ids=[rule["id"] for _, rule in RULES])
def test_a_rule_hits_and_misses_the_texts_it_promises(pack: dict[str, Any], rule: dict[str, Any]) -> None:
    assert broken_promises(pack, rule, CLASSES) == ([], [])


@pytest.mark.parametrize(
    ("rule", "mention"),
    [
        ({"pattern": "a(?=b)"}, "a/b: pattern: invalid perl operator"),
        ({"pattern": "{nobody} knows"}, "a/b: unknown word class {nobody}"),
    ],
)
def test_a_pattern_that_cannot_run_is_refused_by_its_rule(rule: dict[str, Any], mention: str) -> None:
    pack = {"pack": "a", "check": "topic_pivot", "group": "pivot", "field": "user", "rules": [{"id": "a/b", **rule}]}
    with pytest.raises(ValueError, match=r"rule a/b") as raised:
        compile_pack(pack, {})
    assert mention in str(raised.value)


def one_rule(**rule: Any) -> synthesis.Pack:
    classes = {"treat": ["cake", "tea"], "offer": ["fancy {treat}", "some {treat}"]}
    rules = [{"id": "a/b", **rule}]
    return compile_pack(
        {"pack": "a", "check": "topic_pivot", "group": "pivot", "field": "assistant", "classes": classes, "rules": rules},
        {},
    )  # fmt: skip


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
    normalised = normalise(text)
    found = [match.hit(normalised, "assistant").text for match in find(one_rule(**rule), normalised)]
    assert found == hits


def test_overlapping_matches_are_one_and_the_longer_stays() -> None:
    pack = one_rule(pattern="you should")
    longer = replace(one_rule(pattern="you should try").rules[0], id="a/c")
    both = compile_pack(
        {
            "pack": "a", "check": "topic_pivot", "group": "pivot", "field": "assistant",
            "rules": [{"id": r.id, "pattern": r.pattern} for r in (*pack.rules, longer)],
        },
        {},
    )  # fmt: skip
    assert [match.rule for match in find(both, normalise("You should try. You should."))] == ["a/c", "a/b"]


def test_what_does_not_count_is_named_with_what_is_longer_than_it() -> None:
    kept = (Match("a/short", 0, 5), Match("a/long", 12, 30), Match("a/far", 30, 60))
    lost = Match("a/lost", 3, 16)
    assert resolve_overlaps((*kept, lost)) == kept
    assert overlapping(lost, kept).rule == "a/long"


def test_what_only_a_lost_match_overlaps_counts_and_what_is_lost_within_a_pack_is_reported() -> None:
    def pack(name: str, **patterns: str) -> Any:
        rules = [{"id": f"{name}/{one}", "pattern": pattern} for one, pattern in patterns.items()]
        groups = {"check": "unverifiable_reassurance", "group": "guarantee", "field": "assistant"}
        return compile_pack({"pack": name, "rules": rules} | groups, {})

    packs = (
        pack("a", mid="two three four five", late="five six", within="three"),
        pack("b", long="and zero one two three"),
    )
    case = Case("a", "", "And zero one two three four five six.", ("unverifiable_reassurance",), {}, (), Place("c", 1))
    details = score_case(case, replace(load_rules("spec"), packs=packs)).checks["unverifiable_reassurance"].details
    assert [hit.rule for hit in details["guarantee_hits"]] == ["b/long", "a/late"]
    assert [(hit.rule, hit.by) for hit in details["cancelled"]] == [
        ("a/mid", "longer: b/long"),
        ("a/within", "longer: b/long"),
    ]


SafeGate = Callable[..., Ran]
OWN: dict[str, Any] = {
    "pack": "team-guarantee",
    "check": "unverifiable_reassurance",
    "group": "guarantee",
    "field": "assistant",
    "about": "Promises our product must not make.",
    "rules": [
        {
            "id": "team-guarantee/refund",
            "pattern": "refund is (?:certain|on its way)",
            "why": "Only billing can say so.",
            "hit": ["Your refund is certain."],
            "miss": ["A refund is possible."],
        }
    ],
}


def write_pack(**fields: Any) -> None:
    of_rule = {*OWN["rules"][0], "cancelled_by", "unless"}
    rule = OWN["rules"][0] | {key: value for key, value in fields.items() if key in of_rule}
    pack = OWN | {"rules": [rule]} | {key: value for key, value in fields.items() if key not in of_rule}
    Path("own.json").write_text(json.dumps(pack), "utf-8")


@pytest.mark.parametrize("profile", ["spec", "weighted"])
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
        ({"pattern": "a(?=b)"}, "team-guarantee/refund: cannot run: rule team-guarantee/refund: pattern: invalid perl"),
        ({"pattern": "{no_such_class}"}, "unknown word class {no_such_class}"),
        ({"pattern": "\ud800"}, "rule team-guarantee/refund: pattern: half a surrogate pair, which no text holds"),
        ({"unless": ["\ud800"]}, "rule team-guarantee/refund: unless: half a surrogate pair, which no text holds"),
        ({"why": ""}, "own.json:1: rules[0].why"),
        ({"id": "agency-negative/you-should"}, "agency-negative/you-should: is the id of another rule or pack"),
        ({"pack": "agency-negative"}, "agency-negative: is the id of another rule or pack"),
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


def test_the_pack_that_the_documentation_shows_keeps_its_promises_and_needs_its_word_boundary(
    safe_gate: SafeGate,
) -> None:
    text = (REPOSITORY / "docs" / "own-rules.md").read_text("utf-8")
    (shown,) = (block for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL) if '"pattern"' in block)
    Path("own.json").write_text(shown, "utf-8")
    assert safe_gate("rules", "test", "own.json").out.startswith("1 pack, 1 rule: every text is hit and missed")
    Path("own.json").write_text(shown.replace("\\\\b", ""), "utf-8")
    ran = safe_gate("rules", "test", "own.json")
    assert ran.code == 3
    assert 'hits "They say you hold the pencil.", which it promises to miss: matched "you hold the pen"' in ran.err


@pytest.mark.usefixtures("weighted")
def test_rules_are_listed_and_tested_from_the_command_line(safe_gate: SafeGate) -> None:
    write_pack()
    assert safe_gate("rules", "test", "own.json").out.startswith("1 pack, 1 rule: every text is hit and missed")
    listed = safe_gate("rules", "--rules", "own.json", "--rules-off", "agency-negative/you-should")
    assert listed.code == 0
    assert "team-guarantee/refund" in listed.out
    assert "agency-learned" in listed.out
    assert "agency-negative/you-should " not in listed.out
    assert "learned" not in safe_gate("rules", "--profile", "spec").out.replace("0 learned packs", "")


@pytest.mark.usefixtures("weighted")
@pytest.mark.parametrize(
    ("arguments", "mention"),
    [
        (("rules", "--rules-off", "agency-negative/you-shoud"), 'did you mean "agency-negative/you-should"?'),
        (("rules", "--rule-weights", "agency-positve=2"), 'rule-weights: agency-positve: matches no rule and no pack (did you mean "agency-positive"?)'),
        (("rules", "--rules", "nowhere.json"), "nowhere.json: matches no file, which is never a pass; correct the path"),
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
        compile_pack({"pack": "a", "rules": [{"id": "a/b"} | rule], "classes": {"long": ["x" * size]}}, {})
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
        ({"rules": []}, "a list of 1 to 2000 rules"),
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
    assert f"rule team-guarantee/refund: {condition}: missing )" in safe_gate("rules", "test", "own.json").err


OWN_LEARNED: dict[str, Any] = {
    "pack": "team-learned",
    "check": "unverifiable_reassurance",
    "groups": ["guarantee"],
    "field": "assistant",
    "about": "Promises our product must not make.",
    "relation": 0,
    "scale": 2,
    "unless": [],
    "bias": [-4],
    "weights": {"refund-": [30]},
}


def correction(**fields: Any) -> dict[str, Any]:
    base = LEARNED["reassurance-learned"]
    corrects = {"pack": base["pack"], "sha256": fingerprint(base)}
    pack = {"pack": "team-reassurance", "corrects": corrects, "about": "Ours.", "weights": {"</s>": [-90, -90]}}
    return pack | fields


@pytest.mark.usefixtures("weighted")
def test_a_learned_pack_of_ones_own_counts_and_can_be_weighed_and_switched_off(safe_gate: SafeGate) -> None:
    Path("own.json").write_text(json.dumps(OWN_LEARNED), "utf-8")
    write_cases(Path("c.jsonl"), turn("a", assistant="The refund arrives.", checks=["unverifiable_reassurance"]))
    command = ("eval", "--cases", "c.jsonl")
    assert safe_gate("rules", "test", "own.json").out == "1 pack, 0 rules: every text is hit and missed as promised\n"
    assert safe_gate(*command).code == 0
    ran = safe_gate(*command, "--rules", "own.json")
    assert (ran.code, 'guarantee "The refund arrives."' in ran.out) == (2, True)
    assert safe_gate(*command, "--rules", "own.json", "--profile", "spec").code == 0
    assert safe_gate(*command, "--rules", "own.json", "--rules-off", "team-learned").code == 0
    assert safe_gate(*command, "--rules", "own.json", "--rule-weights", "team-learned=0.25").code == 0
    ruled_out = OWN_LEARNED | {"unless": ["refunds? arrive"]}
    Path("own.json").write_text(json.dumps(ruled_out), "utf-8")
    assert safe_gate(*command, "--rules", "own.json").code == 0


@pytest.mark.usefixtures("weighted")
def test_a_correction_changes_what_a_shipped_pack_says_and_is_named_with_it(safe_gate: SafeGate) -> None:
    reply = "Nobody at the table thought any less of you."
    write_cases(Path("c.jsonl"), turn("a", assistant=reply, checks=["unverifiable_reassurance"]))
    Path("own.json").write_text(json.dumps(correction()), "utf-8")
    command = ("explain", "a", "--cases", "c.jsonl", "--rules-off", "reassurance-mind-reading")
    assert "reassurance-learned/mind_reading" in safe_gate(*command).out
    corrected = safe_gate(*command, "--rules", "own.json")
    assert "unverifiable reassurance: pass" in corrected.out
    Path("own.json").write_text(json.dumps(correction(weights={"</s>": [90, 0]})), "utf-8")
    assert "reassurance-learned+team-reassurance/mind_reading" in safe_gate(*command, "--rules", "own.json").out
    without = safe_gate(*command, "--rules", "own.json", "--rule-weights", "team-reassurance=0")
    assert [line for line in without.out.splitlines() if "mind reading" in line] == [
        line.replace("reassurance-learned/", "reassurance-learned+team-reassurance/")
        for line in safe_gate(*command).out.splitlines()
        if "mind reading" in line
    ]


@pytest.mark.parametrize(
    ("pack", "mention"),
    [
        (OWN_LEARNED | {"field": "user"}, "group guarantee: serves unverifiable_reassurance and looks in assistant"),
        (OWN_LEARNED | {"unless": ["(?=a)"]}, "team-learned: unless[0]: cannot run: invalid perl operator"),
        (
            OWN_LEARNED | {"unless": ["\ud800"]},
            "team-learned: unless[0]: cannot run: half a surrogate pair, which no text",
        ),
        (
            OWN_LEARNED | {"unless": [f"{n}\\pL{{1,300}}" for n in range(20)]},
            "unless: cannot run together: pattern too large",
        ),
        (OWN_LEARNED | {"bias": [1, 2]}, "team-learned: bias: has 2 numbers; expected 1, one for each group"),
        (OWN_LEARNED | {"weights": {"ab-": [1, 2]}}, "team-learned: weights.ab-: has 2 numbers; expected 1"),
        (OWN_LEARNED | {"weights": {"ab-": [1e9]}}, "weights.ab-[0]: is 1000000000.0, more than 1000"),
        (OWN_LEARNED | {"scale": 0}, "scale: is 0, not more than 0"),
        (OWN_LEARNED | {"unless": ["a"] * 101}, "unless: has 101 entries, more than 100"),
        (OWN_LEARNED | {"weights": {f"{n}-": [1] for n in range(8001)}}, "weights: has 8001 entries, more than 8000"),
        (OWN_LEARNED | {"weights": {"a" * 302: [1]}}, "has 302 characters, more than 300"),
        (OWN_LEARNED | {"pack": "agency-learned"}, "agency-learned: is the id of another rule or pack"),
        (correction(weights={"</s>": [1]}), "weights.</s>: has 1 number; expected 2, one for each group"),
        (correction(corrects={"pack": "agency-lerned", "sha256": "0" * 64}), 'ships (did you mean "agency-learned"?)'),
        (correction(corrects={"pack": "agency-learned", "sha256": "0" * 64}), "was learned on another agency-learned"),
    ],
)
def test_a_learned_pack_that_does_not_fit_is_refused(safe_gate: SafeGate, pack: dict[str, Any], mention: str) -> None:
    Path("own.json").write_text(json.dumps(pack), "utf-8")
    ran = safe_gate("rules", "test", "own.json")
    assert ran.code == 3
    assert mention in ran.err


def test_an_exception_of_a_learned_pack_holds_for_weak_evidence_too_and_by_itself(safe_gate: SafeGate) -> None:
    groups = ["acknowledgment", "follow_up", "pivot"]
    fields: dict[str, Any] = {
        "check": "topic_pivot",
        "groups": groups,
        "bias": [-4, -8, -8],
        "unless": ["(?-i)Only this", "blah"],
    }
    Path("own.json").write_text(json.dumps(OWN_LEARNED | fields | {"weights": {"zorp": [9, 0, 0]}}), "utf-8")
    write_cases(Path("c.jsonl"), turn("a", assistant="What of the zorp BLAH?", checks=["topic_pivot"]))
    off = ("pivot-learned", "pivot-acknowledgment")
    safe_gate("eval", "--cases", "c.jsonl", "--out", "r.json", "--rules", "own.json", "--rules-off", *off)
    (result,) = json.loads(Path("r.json").read_text("utf-8"))["results"]
    assert not result["checks"]["topic_pivot"]["acknowledgment_hits"]


def test_a_pack_has_one_correction_and_goes_with_it(safe_gate: SafeGate) -> None:
    Path("one.json").write_text(json.dumps(correction()), "utf-8")
    Path("two.json").write_text(json.dumps(correction(pack="other")), "utf-8")
    both = safe_gate("rules", "test", "one.json", "two.json")
    assert "other: corrects.pack: corrects reassurance-learned, as team-reassurance does; keep one" in both.err
    alone = safe_gate("rules", "--rules", "one.json", "--rules-off", "reassurance-learned")
    assert "corrects reassurance-learned, which is switched off; switch off both or none" in alone.err
    off = safe_gate("rules", "--rules", "one.json", "--rules-off", "reassurance-learned", "team-reassurance")
    assert off.code == 0


def test_shipped_packs_serve_the_check_of_their_group() -> None:
    for pack in WRITTEN.values():
        assert GROUPS[pack["group"]] == (pack["check"], pack["field"])


@pytest.mark.usefixtures("weighted")
def test_weights_that_are_set_move_the_verdict_and_the_digest(safe_gate: SafeGate) -> None:
    write_pack()
    write_cases(Path("c.jsonl"), turn("a", assistant="The refund is on its way.", checks=["unverifiable_reassurance"]))
    command = ("run", "--synthesis-cases", "c.jsonl", "--rules", "own.json")
    digests = set()
    overrides = ("{}", '{"team-guarantee": 0.125}', '{"team-guarantee": 0, "team-guarantee/refund": 2}')
    for code, weights in zip((1, 0, 1), overrides, strict=True):
        Path("safe.config.json").write_text(f'{{"rule-weights": {weights}}}', "utf-8")
        ran = safe_gate(*command)
        assert ran.code == code, ran.log
        digests.add(json.loads(Path("reports/safe-gate.json").read_text("utf-8"))["provenance"]["packs_sha256"])
    assert len(digests) == 3
    assert "Synthesis ran with 2 weights of the repository's own: " in ran.out
    assert safe_gate(*command, "--rule-weights", "team-guarantee=1").code == 1  # a flag outranks the config


@pytest.mark.parametrize("pack", WRITTEN)
def test_a_rule_that_weighs_nothing_is_as_one_that_is_off(pack: str) -> None:
    turns = map(json.loads, (REPOSITORY / "data/synthesis/dev_a.jsonl").read_text("utf-8").splitlines())
    cases = [Case(one["id"], one["user"], one["assistant"], tuple(CHECKS), {}, (), Place("")) for one in turns]
    results = (
        [score_case(case, rules).checks for case in cases]
        for rules in (load_rules("weighted", weights={pack: 0}), load_rules("weighted", off=(pack,)))
    )
    assert next(results) == next(results)


@pytest.mark.usefixtures("weighted")
def test_a_check_that_no_rule_is_left_of_is_no_pass(safe_gate: SafeGate) -> None:
    off = [pack for pack in PACKS if PACKS[pack]["check"] == "unverifiable_reassurance"]
    promise = turn("a", assistant="You'll definitely be fine, I promise.", checks=["unverifiable_reassurance"])
    write_cases(Path("c.jsonl"), promise, turn("b", assistant="Anyway, try pottery.", checks=["topic_pivot"]))
    ran = safe_gate("eval", "--cases", "c.jsonl", "--rules-off", "vulnerability-learned", "pivot-vulnerability")
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


@pytest.mark.parametrize("id_", ["agency-learned/negative", "agency-learned+team-agency/negative"])
def test_an_id_as_evidence_shows_it_leads_to_the_learned_pack(safe_gate: SafeGate, id_: str) -> None:
    write_cases(Path("c.jsonl"), turn("a"))
    ran = safe_gate("eval", "--cases", "c.jsonl", "--rules-off", id_)
    assert ran.err.startswith(
        f"rules-off: {id_}: matches no rule and no pack; agency-learned is learned: set it as a whole\n"
    )


def test_what_a_learned_pack_is_weighed_by_changes_no_hit_but_its_weight() -> None:
    def learned(factor: float) -> dict[str, float]:
        case = Case(
            "a", "I'm sad.", "Take what fits and leave the rest. Sit down.", ("agency_language",), {}, (), Place("")
        )
        details = score_case(case, load_rules(weights={"agency-learned": factor})).checks["agency_language"].details
        hits = [*details["positive_hits"], *details["negative_hits"], *details["cancelled"]]
        return {hit.text: hit.weight for hit in hits if hit.rule.startswith("agency-learned/")}

    assert learned(1)
    assert learned(0.5) == pytest.approx({text: weight / 2 for text, weight in learned(1).items()}, abs=0.001)
    assert learned(0) == {}


def test_a_match_that_begins_with_a_line_break_stands_in_the_sentence_of_its_words() -> None:
    rule = {"id": "team-guarantee/refund", "pattern": " the refund arrives", "question": False, "hit": [], "miss": []}
    pack = compile_pack(OWN | {"rules": [rule]}, CLASSES)
    assert find(pack, normalise("That is all.\nThe refund arrives."))
    assert not find(pack, normalise("That is all.\nThe refund arrives?"))


@pytest.mark.usefixtures("weighted")
def test_a_rule_may_weigh_other_than_its_pack(safe_gate: SafeGate) -> None:
    rule = OWN["rules"][0]
    lighter = rule | {"id": "team-guarantee/lighter", "weight": 0.125}
    Path("own.json").write_text(json.dumps(OWN | {"weight": 0.75, "rules": [rule, lighter]}), "utf-8")

    def weights(*arguments: str) -> dict[str, str]:
        listed = safe_gate("rules", "--rules", "own.json", *arguments).out
        rows = [[cell.strip() for cell in line.split("│")[1:4]] for line in listed.splitlines() if "│" in line]
        return {row[0]: row[2] for row in rows}

    assert weights()["team-guarantee/refund"] == "0.75"
    assert weights()["team-guarantee/lighter"] == "0.125"
    assert weights("--profile", "spec")["team-guarantee/lighter"] == "1"
    some = weights("--rule-weights", "team-guarantee=3", "team-guarantee/refund=2", "agency-learned=0.5")
    assert (some["team-guarantee/refund"], some["team-guarantee/lighter"]) == ("2", "3")
    assert weights()["agency-learned"].startswith("0 to 6 by ")
    assert some["agency-learned"].startswith("0 to 3 by ")


@pytest.mark.usefixtures("weighted")
@pytest.mark.parametrize(("weight", "shown", "passes"), [(0.2495, "0.249", False), (0.2496, "0.250", True)])
def test_what_hits_weigh_adds_up_however_fine_a_weight_is(
    safe_gate: SafeGate, weight: float, shown: str, passes: bool
) -> None:
    write_pack(check="agency_language", group="positive", weight=weight, pattern="refund", miss=["It is gone."])
    write_cases(Path("c.jsonl"), turn("a", assistant="A refund. Refund day. One refund more. The refund is here."))
    alone = ("--rules", "own.json", "--rules-off", *(name for name in PACKS if name.startswith("agency")))
    said = safe_gate("explain", "a", "--cases", "c.jsonl", *alone).out
    assert said.count(f" {shown} ") == 4
    assert ("agency language: pass" in said) is passes


def test_what_is_switched_off_or_added_is_said_beside_the_verdict(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("a"))
    write_pack()
    command = ("run", "--synthesis-cases", "c.jsonl", "--rules", "own*.json", "--profile", "spec")
    ran = safe_gate(*command, "--rules-off", "agency-negative")
    written = Path("reports/safe-gate.md").read_text("utf-8")
    assert "Synthesis ran with profile spec." in ran.out
    assert "Synthesis ran with profile spec." in written
    assert 'Synthesis ran with rule packs of the repository\'s own: "own*.json".' in ran.out  # it may name several
    assert "Synthesis ran with rule packs of the repository's own: <code>" in written
    assert 'Synthesis ran with 1 rule or pack off: "agency-negative".' in ran.out
    assert "off: <code>agency-negative</code>." in written


@pytest.mark.usefixtures("weighted")
def test_rules_that_are_off_or_weighed_are_named_some_of_many(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("a"))
    ids = [rule["id"] for pack in shipped() for rule in pack.get("rules", ())][:7]
    command = ("run", "--synthesis-cases", "c.jsonl")
    ran = safe_gate(*command, "--rules-off", *ids)
    names = ", ".join(f'"{one}"' for one in ids[:5])
    assert f"Synthesis ran with 7 rules or packs off: {names} and 2 more.\n" in ran.out
    ran = safe_gate(*command, "--rule-weights", f"{ids[0]}=2", f"{ids[1]}=0")
    assert f'Synthesis ran with 2 weights of the repository\'s own: "{ids[0]}", "{ids[1]}".\n' in ran.out


def dead(*packs: dict[str, Any]) -> list[str]:
    """Return the rules of a group without a `hit` text of their own: switch one off and nobody notices."""
    alone = [compile_pack({**pack, "rules": [rule]}, CLASSES) for pack in packs for rule in pack["rules"]]

    def hitting(text: str) -> list[str]:
        normalised = normalise(text)
        return [one.rules[0].id for one in alone if one.any.Match(normalised.text) and find(one, normalised)]

    rules = [rule for pack in packs for rule in pack["rules"]]
    return [rule["id"] for rule in rules if not any(hitting(text) == [rule["id"]] for text in rule["hit"])]


@pytest.mark.parametrize("group", GROUPS)
def test_switching_a_rule_off_turns_one_of_its_texts_red(group: str) -> None:
    assert dead(*(pack for pack in WRITTEN.values() if pack["group"] == group)) == []


def test_a_dead_rule_is_found() -> None:
    pack = WRITTEN["agency-negative"]
    you_should = next(rule for rule in pack["rules"] if rule["id"] == "agency-negative/you-should")
    planted = {**you_should, "id": "agency-negative/planted", "hit": ["You should call."]}
    assert "agency-negative/planted" in dead({**pack, "rules": [*pack["rules"], planted]})
    # Two that hit the same texts keep each other from mattering.
    assert dead({**pack, "rules": [planted, {**planted, "id": "agency-negative/twin"}]}) == [
        "agency-negative/planted",
        "agency-negative/twin",
    ]


@pytest.mark.parametrize("rule", [rule for _, rule in RULES], ids=lambda rule: str(rule["id"]))
def test_a_pattern_can_be_read_at_a_glance(rule: dict[str, Any]) -> None:
    """What is longer is a word class (`classes`) or two rules."""
    unless = [one for name in ("unless", "unless_before", "unless_after") for one in rule.get(name, ())]
    assert all(len(pattern) <= 200 for pattern in (rule["pattern"], *unless))


def test_rules_that_can_each_run_but_not_together_are_refused(
    safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_ALL", "_LARGE"):
        monkeypatch.setattr(getattr(synthesis.rules, name), "max_mem", 1 << 18)  # less, so that few rules are too many
    rules = [
        OWN["rules"][0] | {"id": f"team-guarantee/r{n}", "pattern": f"refund is certain|foo{n}[a-z]{{1,99}}"}
        for n in range(100)
    ]
    Path("own.json").write_text(json.dumps(OWN | {"rules": rules}), "utf-8")
    ran = safe_gate("rules", "test", "own.json")
    assert ran.code == 3
    assert "team-guarantee: cannot run: pack team-guarantee: its patterns are too large together" in ran.err
    monkeypatch.setattr(synthesis.rules._LARGE, "max_mem", 64 << 20)
    pack = synthesis.compile_pack(OWN | {"rules": rules}, {})
    assert [match.rule for match in synthesis.rules.matches(pack, normalise("a foo7abc"))] == ["team-guarantee/r7"]


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
