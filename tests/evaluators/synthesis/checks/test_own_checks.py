"""Checks that a team's packs define, from the outside: the command in, reports and exit codes out."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import (
    REPOSITORY,
    SafeGate,
    bare_case,
    refused,
    report,
    safe_case,
    turn,
    write_batch,
    write_cases,
    write_json,
)
from tests.support.git import commit_here
from tests.support.synthesis import results, run

CHECK = "acme/no-discounts"
OFFER, NONE = "You get 10 percent off today.", "The price is the same online."


def rule(pack: str, phrase: str, hit: str, **more: Any) -> dict[str, Any]:
    return {"id": f"{pack}/one", "phrase": phrase, "why": "A test.", "hit": [hit], "miss": ["Nothing."], **more}


def pack(name: str = "acme-discount", check: str = CHECK, **fields: Any) -> dict[str, Any]:
    """Return a pack that forbids discounts, with fields replaced and those that are None left out."""
    found = {
        "pack": name,
        "check": check,
        "group": "discount",
        "field": "assistant",
        "about": "A lower price.",
        "defines": {"against": ["discount"], "decides": "none_against"},
        "rules": [rule(name, "percent off", "10 percent off.")],
    }
    return {key: value for key, value in (found | fields).items() if value is not None}


def write_packs(*packs: dict[str, Any]) -> None:
    Path("rules").mkdir(exist_ok=True)
    for one in packs:
        write_json(f"rules/{one['pack']}.json", one)


def shop(id_: str, reply: str = OFFER, **fields: Any) -> dict[str, Any]:
    return turn(id_, user="Is it cheaper online?", assistant=reply, checks=[CHECK], **fields)


RULES = ("--rules", "rules/*.json")


def test_the_worked_example_of_the_page_does_what_the_page_says(safe_gate: SafeGate) -> None:
    text = (REPOSITORY / "docs/own-checks.md").read_text("utf-8")
    blocks = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    discount, *others = [json.loads(block) for block in blocks if '"pack"' in block]
    Path("evals/rules").mkdir(parents=True)
    write_json("evals/rules/discount.json", discount)
    Path("evals/shop.jsonl").write_text(next(block for block in blocks if '"SHOP-1"' in block), "utf-8")
    for line in re.findall(r"^\$ safe-gate (.*--rules.*)$", text, re.MULTILINE):
        ran = safe_gate(*(word.strip("'") for word in line.split()))
        assert "acme/no-discounts" in ran.out
        assert ran.code == (2 if line.startswith("eval") else 0)
    (evidence,) = re.findall(r"the evidence is `(.*?)`", text)
    assert evidence in safe_gate("eval", "--cases", "evals/shop.jsonl", "--rules", "evals/rules/*.json").out
    for one in others:
        write_json(f"evals/rules/{one['pack']}.json", one)
    assert safe_gate("rules", "test", "evals/rules/*.json").code == 0
    left = turn("left", user="I want my money back.", assistant="That is a pity.", checks=["acme/offers-contact"])
    told, other = {"id": "told", "assistant": "I am sorry. Please call us."}, {"id": "other", "user": "Where is it?"}
    run(safe_gate, left, left | told, left | other, flags=("--rules", "evals/rules/*.json"))
    found = [one["checks"]["acme/offers-contact"] for one in results().values()]
    assert [(one["pass"], one["applicable"]) for one in found] == [(False, True), (True, True), (True, False)]


def test_a_pack_that_names_shipped_groups_alone_needs_no_rules(safe_gate: SafeGate) -> None:
    definition = {"applies": ["vulnerability"], "for": ["follow_up"], "against": ["guarantee"], "decides": "one_for"}
    write_packs(pack(check="acme/asks-back", group=None, field=None, rules=None, defines=definition))
    asked = {"checks": ["acme/asks-back"]}
    ran = run(safe_gate, turn("asks", **asked), turn("not", assistant=NONE, **asked), flags=RULES)
    assert "no clause of follow up" in ran.out
    assert [one["pass"] for one in results().values()] == [True, False]
    assert "1 pack, 0 rules" in safe_gate("rules", "test", "rules/*.json").out


def decided(by: str = "none_against", **groups: list[str]) -> dict[str, Any]:
    """Return a pack whose check decides by some groups; `for` is written `for_`."""
    return pack(defines={name.rstrip("_"): some for name, some in groups.items()} | {"decides": by})


DISCOUNT = ["discount"]
OF_MESSAGE = "asked_text of user, asked_steps of user, asked_verdict of user, "
TAKEN = rule("acme", "percent off", "percent off") | {"id": "acme/no-discounts"}
FRAMING = rule("acme-discount", "percent off", "percent off", only_if={"acknowledgment": True})
ALONE = rule("acme-discount", "percent off", "percent off", only_if={"discount": True})
MISSPELT = rule("acme-discount", "percent off", "percent off", only_if={"vulnerabilty": True})


@pytest.mark.parametrize(
    ("packs", "words"),
    [
        ([decided(against=["discounts"])], 'defines.against: "discounts" is no group that looks in assistant (did you mean "discount"?)'),
        ([decided(against=["follow-up"])], '"follow-up" is no group that looks in assistant (did you mean "follow_up"?); add its pack, or write one of'),
        ([decided(applies=DISCOUNT, against=DISCOUNT)], 'defines.applies: "discount" is no group that looks in user'),
        ([pack(), pack("acme-twin", group="twin")], "acme/no-discounts: is the id of another rule, pack or check (rules/acme-discount.json:1)"),
        ([pack(defines=None)], '"acme/no-discounts" is a check that no pack defines; add `defines` to one pack of it'),
        ([pack(check="topic_pivot", group="pivot")], 'check: is "topic_pivot"; expected a check of your own, with a slash, such as acme/no-discounts'),
        ([pack(check="message", defines=None)], f'"discount" of assistant is not a group of message; expected {OF_MESSAGE}'),
        ([pack(check="acme/No")], 'check: is "acme/No"; expected a check of your own: lower-case letters'),
        ([pack(check="topic_pivots")], 'check: "topic_pivots" is not allowed (did you mean "topic_pivot"?)'),
        ([pack(group="pivot")], '"pivot" of assistant is not a group of acme/no-discounts; expected a name of its own'),
        ([decided(for_=DISCOUNT)], "defines.against: is missing; expected a list of groups of the reply, which none_against needs"),
        ([decided(for_=DISCOUNT, against=DISCOUNT)], "defines.for: is not allowed here; expected no list, as none_against decides; remove it"),
        ([decided("none", against=DISCOUNT)], 'defines.decides: "none" is not allowed'),
        ([decided(against=[])], "defines.against: is an empty list"),
        ([pack(rules=None)], "rules: is missing; expected a list of 1 to 8000 rules"),
        ([pack(group=None, rules=None, defines=None)], "group: is missing; expected a group of clauses"),
        ([pack("acme", rules=[TAKEN])], "is the id of another rule, pack or check"),
        ([pack("acme", defines=None, rules=[TAKEN]), pack("acme-z")], "is the id of another rule, pack or check"),
        ([pack(check="topic_pivot", group="frame", defines=None, rules=[FRAMING])], 'only_if: "acknowledgment" is no group to ask for; expected a group of the message'),
        ([pack(defines=None), pack("acme-frame", check="topic_pivot", group="frame", defines=None)], '"acme/no-discounts" is a check that no pack defines'),
        ([pack(), pack("acme-more", group="discuont", defines=None)], 'acme-more: group: "discuont" is a group that no definition names (did you mean "discount"?); add it to `defines` of acme/no-discounts'),
        ([decided(not_in=["asked_text"], against=DISCOUNT)], "defines.not_in: is not allowed here; expected no list without applies; remove it, or add applies"),
        ([decided(only_crisis_after=["asked_text"], against=DISCOUNT)], "defines.only_crisis_after: is not allowed here; expected no list without applies"),
        ([decided("outweighs", for_=DISCOUNT, against=DISCOUNT)], 'defines.for: "discount" is in against, too; keep it in one of them'),
        ([pack(rules=[ALONE])], 'only_if: "discount" is no group to ask for; expected a group with a rule without only_if'),
        ([pack(rules=[MISSPELT])], 'only_if: "vulnerabilty" is no group to ask for (did you mean "vulnerability"?)'),
    ],
)  # fmt: skip
def test_a_problem_in_a_definition_is_reported_at_its_place(
    safe_gate: SafeGate, packs: list[dict[str, Any]], words: str
) -> None:
    write_packs(*packs)
    err = refused(run(safe_gate, shop("one"), flags=RULES), words, "rules/acme")
    assert "is not a check" not in err  # the cases may be right


UNKNOWN = 'c.jsonl:2: two: checks: "acme/no-discount" is not a check (did you mean "acme/no-discounts"?); expected'


def test_a_check_that_nothing_defines_is_a_problem_of_the_case(safe_gate: SafeGate) -> None:
    write_packs(pack())
    cases = shop("one"), turn("two", checks=["acme/no-discount"]), turn("three", checks=["other/x"])
    err = refused(run(safe_gate, *cases, flags=RULES), UNKNOWN, "c.jsonl:3: three:")
    assert re.search("crisis_support, .*acme/no-discounts, wording, or a check that a pack", err)
    refused(safe_gate("explain", "two", "--cases", "c.jsonl", *RULES), "is not a check")


def test_a_label_of_a_check_that_nothing_defines_is_a_problem_of_the_case(safe_gate: SafeGate) -> None:
    write_packs(pack())
    cases = turn("one", expected={CHECK: False}), shop("two", expected={"acme/no-discount": False})
    words = UNKNOWN.replace("checks:", "expected:")
    err = refused(run(safe_gate, *cases, flags=(*RULES, "--min-label-accuracy", "1")), words)
    assert "c.jsonl:1" not in err  # it does not run that check
    assert words in validated(safe_gate, "c.jsonl", "rules/acme-discount.json")


def test_a_limit_on_the_labels_of_an_unknown_check_is_a_problem(safe_gate: SafeGate) -> None:
    write_packs(pack())
    cases = shop("one", NONE, expected={CHECK: False})
    assert "did you mean" in run(safe_gate, cases, flags=(*RULES, "--min-label-accuracy", "acme/no-discount=1")).err
    assert run(safe_gate, flags=(*RULES, "--min-label-accuracy", f"{CHECK}=1")).code == 1
    assert f"min-label-accuracy.{CHECK}" in [one["rule"] for one in report()["rules"] if not one["passed"]]


def validated(safe_gate: SafeGate, *files: str) -> str:
    ran = safe_gate("validate", *files)
    assert ran.code == 3 * bool(ran.err), ran.err
    return ran.err


def test_validate_knows_the_checks_of_the_packs_that_are_given_or_set(safe_gate: SafeGate) -> None:
    write_packs(pack())
    write_cases(Path("c.jsonl"), shop("one"), turn("two", checks=["acme/no-discount"]))
    assert "c.jsonl:1: one: checks: " in validated(safe_gate, "c.jsonl")
    assert validated(safe_gate, "c.jsonl", "rules/acme-discount.json").startswith(UNKNOWN)
    for name, others in (("my.json", ["my.json"]), ("safe-gate.config.json", [])):
        Path(name).write_text('{"rules": ["rules/*.json"]}', "utf-8")
        assert validated(safe_gate, "c.jsonl", *others).startswith(UNKNOWN)
    write_cases(Path("c.jsonl"), shop("one"))
    assert safe_gate("validate", "c.jsonl", "rules/acme-discount.json").out == "2 files valid: 1 case, 1 rule pack\n"


def test_validate_checks_the_files_of_each_config_under_it(safe_gate: SafeGate) -> None:
    config = {"synthesis-cases": ["evals/*.jsonl"], "rules": ["../rules/*.json"]}
    config |= {"safe-batch": ["evals/*_batch_*"], "safe-outputs": ["out.jsonl"]}
    write_packs(pack())
    files = list[str]()
    for name in ("a", "b"):
        Path(name, "evals").mkdir(parents=True)
        write_json(f"{name}/safe-gate.config.json", config if name == "a" else config | {"rules": []})
        write_cases(Path(name, "evals/c.jsonl"), shop("one") if name == "a" else turn("one"))
        write_batch(Path(name, "evals/x_batch_1.json"), bare_case("one"))
        write_cases(Path(name, "out.jsonl"), {"test_id": "one", "output": safe_case("one")["output"]})
        files += (f"{name}/{file}" for file in ("safe-gate.config.json", "evals/c.jsonl", "evals/x_batch_1.json"))
    a, b = files[:3], files[3:]
    for some in (files, a, b, a[1:], a[1:] + b, a + b[1:], a[1:] + b[1:], [a[0], b[0], a[1]]):
        assert validated(safe_gate, *some) == ""
    assert "b/evals/c.jsonl" not in validated(safe_gate, *files, "rules/acme-discount.json")
    Path(b[1]).write_bytes(Path(a[1]).read_bytes())
    for some in (files, b, b[1:], a + b[1:]):
        assert validated(safe_gate, *some).startswith(f'b/evals/c.jsonl:1: one: checks: "{CHECK}" is not a check')
    assert validated(safe_gate, b[1], "rules/acme-discount.json") == "", "a pack that is given counts for all cases"
    write_json("my.json", {"rules": ["rules/*.json"]})
    Path(b[0]).unlink()
    assert validated(safe_gate, "my.json", *b[1:2]) == "", "and so does a config file for cases without their own"


def test_validate_checks_packs_together_with_those_that_are_set(safe_gate: SafeGate) -> None:
    names = pack("acme-names", group=None, field=None, rules=None, check="acme/other")
    other = pack(rules=[rule("acme-discount", "cheaper", "It is cheaper.")])
    for name, one in (("one", pack()), ("two", other), ("names", names)):
        write_json(f"{name}.json", one)
    write_cases(Path("c.jsonl"), shop("one"), turn("two", checks=["acme/other"]))
    twice = "is the id of another rule, pack or check (one.json:1)"
    assert validated(safe_gate, "one.json", "names.json", "c.jsonl") == ""
    assert twice in validated(safe_gate, "one.json", "two.json")
    Path("safe-gate.config.json").write_text('{"rules": ["one.json"]}', "utf-8")
    assert validated(safe_gate, "one.json") == validated(safe_gate, "names.json") == ""
    assert twice in validated(safe_gate, "two.json")


def test_a_pack_alone_says_that_the_other_packs_of_its_check_are_missing(safe_gate: SafeGate) -> None:
    complaint = pack("acme-complaint", group="complaint", field="user", defines=None)
    write_packs(decided(against=["discount"], applies=["complaint"]), complaint)
    one, two = "rules/acme-discount.json", "rules/acme-complaint.json"
    no_group = '"complaint" is no group that looks in user; add its pack, or write one of'
    undefined = "no pack defines; add `defines` to one pack of it, or add the pack that has"
    for command in (["validate"], ["rules", "test"]):
        for file, words in ((one, no_group), (two, undefined)):
            refused(safe_gate(*command, file), words)
        assert safe_gate(*command, one, two).code == 0
        Path("broken.json").write_text(Path(two).read_text("utf-8").replace('"field"', "field"), "utf-8")
        write_json("zop.json", pack("acme-zop", rules=[rule("acme-zop", "zop", "Zip.")], defines=None))
        err = refused(safe_gate(*command, one, "zop.json", "broken.json"), "broken.json:1: is not")
        assert 'acme-zop/one: hit: does not hit "Zip."' in err
        assert no_group not in err
        assert undefined not in err
    write_cases(Path("c.jsonl"), turn("one", checks=["acme/none"]))
    words = 'checks: "acme/none" is not a check'
    assert words not in refused(safe_gate("validate", one, two, "broken.json", "c.jsonl"), "broken.json:1: is not")
    assert words in refused(safe_gate("validate", one, two, "none.txt", "c.jsonl"), "none.txt")
    write_json("safe-gate.config.json", {"rules": ["rules/*.json"]})
    assert validated(safe_gate, one) == validated(safe_gate, two) == ""


@pytest.mark.parametrize("is_readable", [True, False])
def test_all_that_is_wrong_with_settings_of_rules_is_named_at_once(safe_gate: SafeGate, is_readable: bool) -> None:
    write_packs(decided(against=["discounts"]))
    Path("rules/other.json").write_text(json.dumps(pack("acme-other")) if is_readable else "{}", "utf-8")
    tags = {"grief": {"must_contain": [{"regex": "("}], "optional": True}}
    named = {"default-checks": [CHECK, "acme/none"], "rules-off": ["acme"], "tags": tags}
    Path("my.json").write_text(json.dumps({"rules": ["rules/*.json"], **named}, indent=1), "utf-8")
    write_cases(Path("c.jsonl"), shop("one"))
    for command in (("eval", "--cases", "c.jsonl", "--config", "my.json"), ("validate", "my.json")):
        err = refused(safe_gate(*command), "my.json:16: tags.grief.must_contain[0].regex: is not an RE2")
        for words in (  # what an unreadable pack may have
            'defines.against: "discounts" is ',
            "my.json:7: default-checks.acme/none: is not a check",
            "my.json:10: rules-off.acme: matches no rule",
        ):
            assert (words in err) == is_readable
        assert f'"{CHECK}" is not' not in err


def test_validate_leaves_names_of_checks_alone_where_the_settings_cannot_be_read(safe_gate: SafeGate) -> None:
    Path("safe-gate.config.json").write_text('{"rule": ["rules/*.json"]}', "utf-8")
    write_packs(pack(defines=None))
    write_cases(Path("c.jsonl"), shop("one"), turn("two", checks=[]))
    for files in (["c.jsonl", "rules/acme-discount.json"], ["c.jsonl", "safe-gate.config.json"]):
        err = validated(safe_gate, *files)
        assert "safe-gate.config.json:1: rule: is not a known field" in err
        assert "c.jsonl:2: two: checks: is an empty list" in err
        assert "could not judge: 2 problems;" in err


def test_a_baseline_without_the_check_is_still_one(safe_gate: SafeGate) -> None:
    write_packs(pack())
    run(safe_gate, turn("one"), flags=("--report-dir", "base"))
    cases = turn("one", checks=[CHECK, "topic_pivot"])
    assert run(safe_gate, cases, flags=(*RULES, "--baseline", "base/safe-gate.json")).code == 0
    assert CHECK not in [one["metric"] for one in report()["comparison"]["synthesis"]["metrics"]]


def weakened(safe_gate: SafeGate, *packs: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what a run finds weakened, with packs changed."""
    write_packs(*packs)
    run(safe_gate, flags=(*RULES, "--baseline", "HEAD"))
    return [(one["id"], one["what"]) for one in report()["weakened"]["findings"]]


def test_a_definition_that_asks_for_less_weakens_the_gate(safe_gate: SafeGate) -> None:
    both = ["discount", "guarantee"]
    write_packs(decided(against=both))
    write_cases(Path("c.jsonl"), shop("one", NONE))
    commit_here()
    for changed, found in (
        (decided(against=both), []),
        (decided(against=["discount"]), [(f"{CHECK} against guarantee", "dropped")]),
        (decided(against=both, void_after=["asked_text"]), [(f"{CHECK} void_after asked_text", "added")]),
        (decided(against=both, applies=["vulnerability"]), [(CHECK, "changed")]),
        (decided(against=[*both, "mind_reading"]), []),
    ):
        assert weakened(safe_gate, changed) == found


def test_another_reason_or_text_to_miss_weakens_nothing(safe_gate: SafeGate) -> None:
    (one,) = pack()["rules"]
    write_packs(pack())
    write_cases(Path("c.jsonl"), shop("one", NONE))
    commit_here()
    told = one | {"why": "Another reason.", "miss": ["Nothing.", "Percentages."]}
    assert weakened(safe_gate, pack(rules=[told], about="Another word for it.")) == []
    assert weakened(safe_gate, pack(rules=[one | {"question": False}])) == [("acme-discount/one", "changed")]


def test_a_definition_without_rules_is_compared_with_its_base(safe_gate: SafeGate) -> None:
    def defined(against: list[str]) -> dict[str, Any]:
        return pack(group=None, field=None, rules=None, defines={"against": against, "decides": "none_against"})

    write_packs(defined(["guarantee", "mind_reading"]))
    write_cases(Path("c.jsonl"), shop("one", NONE))
    commit_here()
    assert weakened(safe_gate, defined(["guarantee"])) == [(f"{CHECK} against mind_reading", "dropped")]


def test_a_rule_of_a_group_that_cancels_what_another_rule_finds_weakens_the_gate(safe_gate: SafeGate) -> None:
    write_json("safe-gate.config.json", {"synthesis-cases": ["c.jsonl"], "rules": ["rules/*.json"]})
    write_cases(Path("c.jsonl"), turn("one"))
    write_packs(pack())
    commit_here()
    danger = pack("acme-danger", defines=None, rules=[rule("acme-danger", "using this app", "I stop using this app.")])
    write_packs(danger | {"check": "crisis_support", "group": "danger", "field": "user"})
    safe_gate("run", "--baseline", "HEAD")
    assert ("acme-danger/one", "added") in [(one["id"], one["what"]) for one in report()["weakened"]["findings"]]


def test_a_new_check_weakens_nothing_and_a_later_rule_in_its_favour_does(safe_gate: SafeGate) -> None:
    write_json("safe-gate.config.json", {"synthesis-cases": ["c.jsonl"]})
    write_cases(Path("c.jsonl"), turn("one", assistant="Please call us."))
    commit_here()
    write_packs(decided("one_for", for_=["discount"], void_after=["asked_text"]))
    checks = ["unverifiable_reassurance", "topic_pivot", CHECK]
    write_json(
        "safe-gate.config.json", {"synthesis-cases": ["c.jsonl"], "rules": ["rules/*.json"], "default-checks": checks}
    )
    gate = ("run", "--baseline", "HEAD", "--on-weakened", "fail", "--max-unexpected-failures", "1")
    ran = safe_gate(*gate)
    assert (ran.code, report()["weakened"]["findings"]) == (0, []), ran.log
    commit_here()
    write_packs(pack("acme-contact", defines=None, rules=[rule("acme-contact", "call us", "Call us.")]))
    assert safe_gate(*gate).code == 1
    assert [one["id"] for one in report()["weakened"]["findings"]] == ["acme-contact/one"]


def test_a_check_that_a_change_removes_is_named_and_its_cases_are_compared(safe_gate: SafeGate) -> None:
    write_packs(pack())
    write_cases(Path("c.jsonl"), shop("one", NONE), turn("two"))
    commit_here()
    Path("rules/acme-discount.json").unlink()
    write_cases(Path("c.jsonl"), shop("one", NONE) | {"checks": ["topic_pivot"]}, turn("two"))
    found = weakened(safe_gate, pack("acme-other", "acme/other"))
    assert {(CHECK, "dropped"), ("one", "changed")} <= {*found}
    assert report()["comparison"]["synthesis"]["cases"]["both"] == 2


def test_a_condition_may_be_the_end_of_a_clause(safe_gate: SafeGate) -> None:
    write_packs(pack(rules=[rule("acme-discount", "percent off", "10 percent off today.", unless_after=["(sign|$)"])]))
    assert run(safe_gate, shop("a"), shop("b", "You get 10 percent off."), flags=RULES).code == 1
    (hit,) = results()["b"]["checks"][CHECK]["cancelled"]
    assert (hit["text"], hit["by"], hit.get("words", "")) == ("percent off", "unless", "")
