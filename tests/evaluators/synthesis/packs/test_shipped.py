"""The rule packs that ship: valid, unique, and every rule hits and misses the texts it promises."""

import json

import pytest

from safe_gate.evaluators.synthesis import packs
from safe_gate.evaluators.synthesis.checks.turn import Turn
from safe_gate.evaluators.synthesis.definitions import CHECKS, GROUPS
from safe_gate.evaluators.synthesis.engine.rules import Vocabulary
from safe_gate.inputs.checked import load_schema
from tests.support.pack_files import PACKS
from tests.support.packs import SPEC, broken_promises
from tests.support.packs import rules as rules_of

RULES = [(pack, rule) for pack in PACKS.values() for rule in pack["rules"]]
WRITTEN = [(pack, rule) for pack, rule in RULES if not isinstance(rule["origin"], dict)]


def test_packs_are_valid_sorted_and_named_as_their_files_and_their_groups() -> None:
    for name, pack in PACKS.items():
        assert load_schema("rule-pack").faults(pack) == (), name
        assert pack["pack"] == name
        assert GROUPS[pack["group"]] == (pack["check"], pack["field"])
        ids = [rule["id"] for rule in pack["rules"]]
        assert ids == sorted(ids), "so that a rule is found by its id"
        assert all(id_.startswith(f"{name}/") for id_ in ids)
    ids = [rule["id"] for _, rule in RULES]
    assert len(ids) == len(set(ids))
    assert {group for group, (check, _) in GROUPS.items() if check in CHECKS} <= {
        one["group"] for one in PACKS.values()
    }
    origins = [rule["origin"] for _, rule in RULES]
    assert origins.count("spec") == 263, "all rules of the specification"
    assert sum(isinstance(origin, dict) for origin in origins) <= 8_000


@pytest.mark.untraced
@pytest.mark.parametrize("group", GROUPS)
def test_every_rule_hits_and_misses_the_texts_it_promises(group: str) -> None:
    broken = {rule["id"]: broken_promises(pack, rule) for pack, rule in WRITTEN if pack["group"] == group}
    assert {id_: found for id_, found in broken.items() if found != ([], [])} == {}


@pytest.mark.parametrize("group", GROUPS)
def test_a_rule_of_the_specification_has_a_text_that_no_other_of_them_hits(group: str) -> None:
    check, field = GROUPS[group]
    rules = [rule for pack, rule in WRITTEN if pack["group"] == group and rule["origin"] == SPEC]
    every = rules_of([{"pack": "all", "check": check, "group": group, "field": field, "rules": rules}], SPEC)

    def hitting(text: str) -> set[str]:
        return {match.rule.id for match in Turn(text, text, every).matches(group) if not match.by}

    assert [rule["id"] for rule in rules if not any(hitting(text) == {rule["id"]} for text in rule["hit"])] == []


def test_every_shared_list_is_used_by_two_rules() -> None:
    written = "".join(packs.read_file(name).decode() for name in packs.pack_files())
    lists = json.loads(packs.read_file(packs.LISTS))
    assert {name: written.count(f'"@{name}"') for name in lists} == dict.fromkeys(lists, 2)


def test_the_words_of_rules_are_those_of_phrases_and_of_texts_they_hit() -> None:
    rule = {"phrases": ["Quit (it|calm*)"], "hit": ["Don't, caf\u00e9!"], "unless": ["{you} \\bat"], "pattern": "x\\sy"}
    words = {"quit", "it", "calm", "don", "t", "caf", "at", "x", "y", "all"}
    others = {"", "s", "you", "qui", "uit", "b", "bat", "sy", "caf\u00e9", "Quit", "d", 1}
    vocabulary = Vocabulary([{"rules": [rule]}], {"you": ["all"]})
    assert {word for word in words | others if word in vocabulary} == words
