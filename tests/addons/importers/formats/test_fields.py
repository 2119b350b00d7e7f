"""Rows of named fields: prompts in more than one field, ids, and conversations beside them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cases import SafeGate
from tests.support.importing import ASK, EARLIER, REPLY, TURNS, imported, write


@pytest.mark.parametrize("name", ["output", "response", "completion"])
def test_alpaca_asks_by_its_instruction_and_its_input(safe_gate: SafeGate, name: str) -> None:
    rows = [
        {"instruction": "What is 2+2?", "input": "", name: "4"},
        {"instruction": "Translate.", "input": "Guten Tag", name: "Good day"},
        {"instruction": "", "input": "Say hi.", name: "Hi."},
    ]
    write("in.json", *rows, is_list=True)
    ran = safe_gate("import", "in.json", "--out", "out.jsonl")
    assert (ran.code, "Left out" in ran.out) == (0, False)
    cases = [json.loads(line) for line in Path("out.jsonl").read_text("utf-8").splitlines()]
    assert [case["user"] for case in cases] == ["What is 2+2?", "Translate.\n\nGuten Tag", "Say hi."]
    mapped = imported(safe_gate, "in.json", "--map", f"user=input,assistant={name}")
    assert [case["user"] for case in mapped] == ["", "Guten Tag", "Say hi."]


@pytest.mark.parametrize("turn", [1, -1])
def test_a_file_of_cases_with_and_without_conversations_is_imported(safe_gate: SafeGate, turn: int) -> None:
    case = {"id": "a", "user": ASK, "assistant": REPLY}
    talk = {"id": "b", "messages": [*EARLIER, *TURNS]}
    write("cases.jsonl", *[case, talk][::turn])
    assert imported(safe_gate, "cases.jsonl") == [case, talk][::turn]


@pytest.mark.parametrize("wrong", [True, [1], {"$oid": "a"}])
def test_an_id_of_another_type_is_left_out_and_listed(safe_gate: SafeGate, wrong: object) -> None:
    write("rows.jsonl", {"id": wrong, "user": ASK, "assistant": REPLY})
    ran = safe_gate("import", "rows.jsonl", "--out", "out.jsonl")
    assert ran.code == 0
    assert 'Left out: the field "id" (1 record)' in ran.log
