"""Learning packs from scratch: what comes out fits its shape and explains the cases it saw."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from safe_gate import packs
from safe_gate.evaluators.synthesis import Case, score_case
from safe_gate.evaluators.synthesis.report import matches
from safe_gate.files import load_schema, synthesis_cases
from safe_gate.fit import TASKS, Task, Turn, train
from safe_gate.text import normalise
from tests.conftest import REPOSITORY

DATA = REPOSITORY / "data" / "synthesis"
CASES = [case for case in synthesis_cases([str(DATA / "dev_a.jsonl")]) if isinstance(case, Case)][:70]


def learned(task: Task) -> dict[str, Any]:
    lines = (DATA / f"bank_{task.banks[0]}.jsonl").read_text("utf-8").splitlines()[::6]
    bank = [
        {**entry, **{key: normalise(entry[key]) for key in ("text", "context") if key in entry}}
        for entry in map(json.loads, lines)
    ]
    return train(task, [Turn.of(case) for case in CASES], bank, packs.lexicon())


def test_packs_learned_from_scratch_are_valid_and_explain_the_cases_they_saw() -> None:
    found = [learned(task) for task in TASKS]
    for task, pack in zip(TASKS, found, strict=True):
        assert load_schema("rule-pack").faults(pack) == ()
        assert (pack["pack"], pack["groups"]) == (task.pack, list(task.groups))
    assert learned(TASKS[0]) == found[0]
    rules = packs.rules(found)
    agrees = [
        matches(result.checks[check], case.expected[check])
        for case in CASES
        for result in [score_case(case, rules)]
        for check in result.checks.keys() & case.expected.keys()
    ]
    assert sum(agrees) / len(agrees) >= 0.9


def test_of_what_stands_in_the_same_sentences_a_pack_has_one_feature() -> None:
    said = ["take the quiet road home", "take the quiet road slowly", "leave the house", "leave the road"]
    bank = [{"text": normalise(text), "label": "directive"} for text in said]
    weights = train(replace(TASKS[0], case_weight=0.0), [Turn.of(CASES[0])], bank, packs.lexicon())["weights"]
    assert {"road", "quiet"} <= weights.keys()
    assert not {"quiet road", "the quiet", "the quiet road"} & weights.keys()


def test_a_pack_is_pruned_to_its_size() -> None:
    task = replace(TASKS[0], sizes=(400, 100))
    found = learned(task)
    assert len(found["weights"]) == 100
    assert learned(task) == found


def test_each_twin_is_a_case_with_another_reply_and_the_other_label() -> None:
    for path in sorted(DATA.glob("twin_*.jsonl")):
        voice = path.with_name(path.name.replace("twin", "voice"))
        pairs = zip(*(map(json.loads, file.read_text("utf-8").splitlines()) for file in (voice, path)), strict=True)
        for case, twin in pairs:
            assert case["id"].replace("VOICE", "TWIN") == twin["id"]
            assert case["user"] == twin["user"]
            assert case["assistant"] != twin["assistant"]
            assert twin["expected"] == {"unverifiable_reassurance": not case["expected"]["unverifiable_reassurance"]}
