"""Learning packs from scratch: what comes out fits its shape and explains the cases it saw."""

from __future__ import annotations

import json
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
