"""Packs of a team's own: what they add, and what is refused."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import GOOD, REPOSITORY, SafeGate, refused, report, turn, write_cases, write_json
from tests.support.pack_files import OWN, PACKS, write_pack
from tests.support.reports import scorecard
from tests.support.synthesis import RUN, results, run

EVAL = ("eval", "--cases", "c.jsonl")
CHECKED = {"checks": ["unverifiable_reassurance"]}


def write(*rules: dict[str, Any], **fields: Any) -> None:
    """Write a pack with rules of its own."""
    write_json("own.json", OWN | {"rules": [*rules]} | fields)


@pytest.mark.parametrize("profile", ["spec", "standard"])
def test_a_pack_of_ones_own_counts_and_is_part_of_the_digest(safe_gate: SafeGate, profile: str) -> None:
    write_pack()
    reply = "Would you like to talk? That sounds hard, tell me more about the exam. The refund is on its way."
    assert run(safe_gate, turn("a", assistant=reply, **CHECKED), flags=("--profile", profile)).code == 0
    without = report()["provenance"]
    flags = ("--profile", profile, "--rules", "own.json")
    ran = run(safe_gate, flags=flags)
    assert (ran.code, 'guarantee "refund is on its way"' in ran.out) == (1, True)
    assert report()["provenance"] != without
    for off in ("team-guarantee/refund", "team-guarantee"):
        assert run(safe_gate, flags=(*flags, "--rules-off", off)).code == 0


@pytest.mark.parametrize("profile", ["spec", "standard"])
@pytest.mark.parametrize("origin", ["spec", "hand"])
def test_a_rule_of_ones_own_counts_under_both_profiles_whatever_its_origin(
    safe_gate: SafeGate, origin: str, profile: str
) -> None:
    write(OWN["rules"][0] | {"origin": origin})
    write_cases(Path("c.jsonl"), turn("a", assistant="The refund is on its way.", **CHECKED))
    assert 'by "team-guarantee/refund"' in safe_gate(*EVAL, "--rules", "own.json", "--profile", profile).out


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
        ({"id": "agency-negative/you-should"}, "agency-negative/you-should: is the id of another rule, pack or check (one that ships); choose"),
        ({"pack": "agency-negative"}, "agency-negative: is the id of another rule, pack or check"),
    ],
)  # fmt: skip
def test_a_pack_that_does_not_keep_its_promises_is_refused_by_the_rule(
    safe_gate: SafeGate, fields: dict[str, Any], mention: str
) -> None:
    write_pack(**fields)
    write_cases(Path("c.jsonl"), turn("a"))
    for command in (("rules", "test", "own.json"), (*EVAL, "--rules", "own.json")):
        refused(safe_gate(*command), mention)


def test_what_is_wrong_with_a_rule_is_named_as_it_is_written(safe_gate: SafeGate) -> None:
    rule = {name: one for name, one in OWN["rules"][0].items() if name != "pattern"}
    for fields, mention in (
        ({"phrase": "<number> percent"}, "phrase holds <number>, which is not a token; expected lower-case"),
        ({"phrases": ["<number>"]}, "phrases holds <number>, which is not a token"),
        ({"phrase": "(refund|)"}, "phrase also matches an empty text; add a token that is not optional"),
    ):
        write(rule | fields)
        refused(safe_gate("rules", "test", "own.json"), f"cannot run: {mention}")
    for several, there in ((), "none"), (("pattern", "phrase", "number"), "pattern, phrase and number"):
        write(rule | dict.fromkeys(several, "a"))
        mention = f"rules[0]: has {there}; expected exactly one of pattern, phrase, phrases and number\n"
        refused(safe_gate("rules", "test", "own.json"), mention)
    write({"id": rule["id"], "phrase": "refund"})
    refused(
        safe_gate("rules", "test", "own.json"),
        "own.json:1: rules[0].hit: is missing; expected a list of at least one text that the rule must hit, alone\n",
        "own.json:1: rules[0].miss: is missing; expected a list of at least one text that the rule must not hit\n",
        "own.json:1: rules[0].why: is missing; expected text: why this wording is evidence, in a sentence\n",
    )


def test_a_problem_in_a_pack_is_reported_with_its_line(safe_gate: SafeGate) -> None:
    rule = OWN["rules"][0]
    broken = [rule, rule | {"id": "other/one"}, rule | {"id": "team-guarantee/two", "hit": [*rule["hit"], "Nothing."]}]
    broken += [rule, rule | {"id": "team-guarantee/three", "pattern": "("}]
    definition = {"against": ["promises", "guarante"], "decides": "none_against"}
    pack = OWN | {"rules": broken, "check": "team/promises", "group": "promises", "defines": definition}
    text = json.dumps(pack, indent=1)
    Path("own.json").write_text(text, "utf-8")
    err = refused(safe_gate("rules", "test", "own.json"))
    lines = [*enumerate(text.splitlines(), 1)]
    ids = [number for number, line in lines if '"id": ' in line]
    (text_line,) = (number for number, line in lines if "Nothing." in line)
    (defines,) = (number for number, line in lines if '"defines"' in line)
    assert f"is the id of another rule, pack or check (own.json:{ids[0]}); choose one of its own" in err
    places = (ids[1], text_line, ids[3], ids[4] - 1, defines + 1)
    assert [one.partition(": ")[0] for one in err.splitlines()[:-1]] == [f"own.json:{number}" for number in places]


def test_the_packs_of_the_documentation_keep_their_promises_and_need_their_word_boundary(safe_gate: SafeGate) -> None:
    text = (REPOSITORY / "docs" / "own-rules.md").read_text("utf-8")
    shown, *others = (block for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL) if '"pack"' in block)
    for name, block in zip(("own", "framed", "hedge"), (shown, *others), strict=True):
        Path(f"{name}.json").write_text(block, "utf-8")
    ran = safe_gate("rules", "test", "own.json", "framed.json", "hedge.json")
    assert ran.out.startswith("3 packs, 3 rules: all texts hit and miss")
    replies = re.findall(r'"([^"]*in our experience\.|In our experience, you[^"]*)"', text, re.IGNORECASE)[-3:]
    cases = (turn(f"h{number}", assistant=reply, **CHECKED) for number, reply in enumerate(replies))
    assert run(safe_gate, *cases, flags=("--rules", "hedge.json")).code == 1
    assert [one["pass"] for one in results().values()] == [True, True, False]
    pattern = '"pattern": "you(?:\'re)? hold(?:ing)? the pen"'
    Path("own.json").write_text(shown.replace('"phrase": "you (are|) (hold|holding) the pen"', pattern), "utf-8")
    words = 'hits "They say you hold the pencil.", which it promises to miss: matched "you hold the pen"'
    refused(safe_gate("rules", "test", "own.json"), words)


def test_rules_are_listed_with_ones_own_and_without_those_that_are_off(safe_gate: SafeGate) -> None:
    write_pack()
    listed = safe_gate("rules", "--rules", "own.json", "--rules-off", "agency-negative/you-should")
    assert (listed.code, "team-guarantee/refund" in listed.out) == (0, True)
    assert "agency-negative/you-should " not in listed.out
    assert safe_gate("rules", "--profile", "spec").out.endswith("\n263 rules, 0 of them learned\n")


@pytest.mark.parametrize(
    ("arguments", "mention"),
    [
        (("rules", "--rules-off", "agency-negative/you-shoud"), 'did you mean "agency-negative/you-should"?'),
        (("rules", "--rules", "nowhere.json"), "nowhere.json: matches no file; correct the path"),
        (("rules", "tst"), 'command line: "tst" is unknown (did you mean test?); expected rules, rules test PACK'),
        (("rules", "test"), "command line: rules test names no file; expected rules, rules test PACK"),
        (("rules", "--out", "x"), "--out: is for rules train"),
        (("rules", "train"), "or rules train CASES"),
    ],
)  # fmt: skip
def test_rules_that_are_not_there_are_named(safe_gate: SafeGate, arguments: tuple[str, ...], mention: str) -> None:
    refused(safe_gate(*arguments), mention)


LEARNED_ROW: dict[str, Any] = {"id": "team-guarantee/fixed", "phrase": "zorped at", "origin": {"learned": [9, 10]}}


def test_phrases_of_ones_own_count_with_classes_and_conditions_of_their_own(safe_gate: SafeGate) -> None:
    phrase = {
        "id": "team-guarantee/arrives",
        "phrase": "{parcel} (is|will be) {here}",
        "question": False,
        "unless_after": ["if"],
        "before": ["your"],
        "cancelled_by": ["doubt"],
        "why": "Only billing can say so.",
        "hit": ["Your nice parcel will be at home.", "Your refund is here."],
        "miss": ["My parcel is here.", "Your parcel is here if you want it.", "I hope your refund is here."],
    }
    parcel, here = ["parcel", "nice parcel", "refund"], ["here", "at {place}"]
    classes = {"parcel": parcel, "here": here, "place": ["home"], "doubt": ["hope"]}
    write(OWN["rules"][0], phrase, classes=classes)
    assert safe_gate("rules", "test", "own.json").out == "1 pack, 2 rules: all texts hit and miss as expected\n"
    write_cases(Path("c.jsonl"), turn("a", assistant="So your parcel is here.", **CHECKED))
    for profile in ("standard", "spec"):
        ran = safe_gate(*EVAL, "--rules", "own.json", "--profile", profile)
        assert (ran.code, 'guarantee "parcel is here"' in ran.out) == (2, True)
    write(phrase | {"phrase": "{parcel} is {nowhere}"}, classes=classes)
    words = "own.json:1: team-guarantee/arrives: cannot run: phrase names the unknown word class {nowhere}"
    refused(safe_gate("rules", "test", "own.json"), words)


@pytest.mark.parametrize("word", ["café", "naïve", "привет"])
def test_words_with_accents_are_found_as_they_are_read(safe_gate: SafeGate, word: str) -> None:
    texts = {"hit": [f"We said {word} to all.", f"Say {word.upper()}!"], "miss": ["We said tea."]}
    written = {"phrase": [word, f"{word}*", "{loan}"], "pattern": [word, f"(?i){word}[^é-ü]"]}
    rules = [
        {"id": f"team-guarantee/{kind}{number}", kind: one, "why": "A test.", **texts}
        for kind, some in written.items()
        for number, one in enumerate(some)
    ]
    write(*rules, classes={"loan": ["latte", word]})
    assert safe_gate("rules", "test", "own.json").out.startswith("1 pack, 5 rules: all texts hit and miss")


def test_a_learned_row_counts_by_its_precision_and_says_it(safe_gate: SafeGate) -> None:
    command = (*EVAL, "--rules", "own.json")
    write(LEARNED_ROW)
    write_cases(Path("c.jsonl"), turn("a", assistant="It is zorped at noon.", **CHECKED))
    ran = safe_gate(*command)
    assert ran.code == 2
    assert 'guarantee "zorped at" (learned: 9 of 10 marked clauses guarantee) by "team-guarantee/fixed"' in ran.out
    explained = safe_gate("explain", "a", *command[1:]).out
    assert '"zorped at"  team-guarantee/fixed (learned: 9 of 10 marked clauses guarantee)\n' in explained
    assert safe_gate(*command, "--profile", "spec").code == 0
    write(LEARNED_ROW, learned={"cancelled_by": ["hedged"], "question": False})
    assert safe_gate(*command).code == 2
    write_cases(Path("c.jsonl"), turn("a", assistant="I hope it is zorped at noon.", **CHECKED))
    assert safe_gate(*command).code == 0


def test_a_check_that_no_rule_is_left_of_is_no_pass(safe_gate: SafeGate) -> None:
    off = [pack for pack in PACKS if PACKS[pack]["check"] == "unverifiable_reassurance"]
    promise = turn("a", assistant="You'll definitely be fine, I promise.", **CHECKED)
    write_cases(Path("c.jsonl"), promise, turn("b", assistant="Anyway, try pottery.", checks=["topic_pivot"]))
    of_pivot = "switches off every rule of vulnerability, but cases use topic_pivot"
    of_check = "switches off every rule of unverifiable_reassurance, but cases use unverifiable_reassurance"
    refused(safe_gate(*EVAL, "--rules-off", "pivot-vulnerability"), of_pivot)
    for command in (EVAL, RUN):
        refused(safe_gate(*command, "--rules-off", *off), of_check)
    write_cases(Path("c.jsonl"), turn("a", checks=["agency_language"]))
    assert safe_gate(*EVAL, "--rules-off", *off).code == 0


def test_rules_that_are_off_or_added_are_named_beside_the_verdict(safe_gate: SafeGate) -> None:
    write_pack()
    flags = ("--rules", "own*.json", "--profile", "spec", "--rules-off", "agency-negative")
    said = "Synthesis ran with "
    told = run(safe_gate, turn("a"), flags=flags).out + scorecard()
    assert told.count(f"{said}profile spec.") == 2
    for words in ("rule packs from the repository: ", "1 rule or pack off: "):
        assert (f'{said}{words}"' in told, f"{said}{words}<code>" in told) == (True, True)


def test_a_match_of_nothing_is_none(safe_gate: SafeGate) -> None:
    write_pack(pattern=r"refund is certain|7\b|\b$|(?:sure)?$")
    write_cases(Path("c.jsonl"), turn("a", assistant=GOOD.rstrip("?"), **CHECKED))
    assert safe_gate("rules", "test", "own.json").code == 0
    assert safe_gate(*EVAL, "--rules", "own.json").code == 0


@pytest.mark.parametrize("profile", ["standard", "spec"])
@pytest.mark.parametrize("group", ["positive", "negative"])
@pytest.mark.parametrize("kind", ["pattern", "phrase"])
def test_a_hit_of_ones_own_replaces_no_shipped_hit_against_the_reply(
    safe_gate: SafeGate, kind: str, group: str, profile: str
) -> None:
    reply = "You should stop that, and you must calm down. It is up to you. Would you like to talk about it?"
    write_cases(Path("c.jsonl"), turn("a", assistant=reply, checks=["agency_language"]))

    def hits(*flags: str) -> list[list[str]]:
        assert run(safe_gate, flags=("--profile", profile, *flags)).code != 3
        check = results()["a"]["checks"]["agency_language"]
        return [[hit["rule"] for hit in check[name]] for name in ("negative_hits", "positive_hits")]

    negative, positive = hits()
    assert len(negative) >= 2
    spanning = {"pattern": "you should.*calm down", "phrase": "you should stop that , and you must calm down"}
    rule = {"id": "own/span", "why": "Spans two clauses.", "hit": [reply], "miss": ["Stop."], kind: spanning[kind]}
    write(rule, pack="own", check="agency_language", group=group)
    against, favour = hits("--rules", "own.json")
    assert [rule for rule in against if rule != "own/span"] == negative
    assert [rule for rule in favour if rule != "own/span"] == positive
    assert ("own/span" in favour) is (group == "positive")
