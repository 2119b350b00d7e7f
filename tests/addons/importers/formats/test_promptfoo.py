"""Results of promptfoo."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import SafeGate
from tests.support.importing import exchanges, imported, promptfoo, result


@pytest.mark.parametrize("indent", [None, 1])
def test_promptfoo_with_two_providers_and_an_error_row(safe_gate: SafeGate, indent: int | None) -> None:
    failed = {"success": False, "failureReason": 1, "error": "Expected output to contain Monday"}
    broken = {"success": False, "failureReason": 2, "error": "API call error: 429"}
    results = [
        result(1, "echo:a", {"output": "One"}),
        result(1, "echo:b", {"output": "Two"}, **failed),
        result(2, "echo:a", {"error": "API call error: 429"}, **broken),
        result(2, "echo:b", {"output": ""}),
    ]
    Path("r.json").write_text(json.dumps(promptfoo(*results), indent=indent), "utf-8")
    ran = safe_gate("import", "r.json", "--out", "out.jsonl", "--force")
    assert ran.code == 3
    assert "t2: is an error: API call error: 429\n" in ran.err
    assert "Nothing is written; set --skip-invalid" in ran.err
    assert not Path("out.jsonl").exists()
    cases = imported(safe_gate, "r.json", "--skip-invalid")
    ask = "Where is parcel {}?".format
    # The sample that is missing keeps its number, so that each provider keeps its own.
    assert exchanges(cases) == [("t1#1", ask(1), "One"), ("t1#2", ask(1), "Two"), ("t2#2", ask(2), "")]
    assert [case["x_provider"] for case in cases] == ["echo:a", "echo:b", "echo:b"]
    assert "Skipped: 1 record" in safe_gate("import", "r.json", "--out", "o.jsonl", "--skip-invalid").err


GRADES = "Status,Score,Named Scores,Grader Reason,Comment"


def test_csv_of_two_prompts_and_providers(safe_gate: SafeGate) -> None:
    prompt, chat = (
        "Be kind: {{ask}}",
        json.dumps([{"role": "system", "content": "x"}, {"role": "user", "content": "{{ask}}!"}]),
    )
    columns = ["Description", "ask", f"[a] {prompt}", *GRADES.split(","), f"[a] {chat}", *GRADES.split(",")]
    columns += [f"[b] p.txt: {prompt}", *GRADES.split(",")]
    grades = ["FAIL", "0.00", "", "no", ""]
    rows = [
        ["late", 'Is it "late"?', "Yes.\r\n", *grades, "", "PASS", "1", "", "", "", "Busy", "ERROR", "0", "", "", ""],
        ["", "Where?", " [PASS] ", *grades, "", "", "", "", "", "", "Here.", *grades],
    ]
    with Path("r.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    ran = safe_gate("import", "r.csv", "--out", "none.jsonl")
    assert (ran.code, "r.csv:2: late/prompt-2: is an error: Busy\n" in ran.err) == (3, True), ran.log
    assert "promptfoo results as CSV" in ran.out
    assert "Left out: cells without a result (1 record)" in ran.out
    cases = imported(safe_gate, "r.csv", "--skip-invalid")
    other = cases[2]["id"]
    assert exchanges(cases) == [
        ("late", 'Be kind: Is it "late"?', "Yes.\r\n"),
        ("late/prompt-1", 'Is it "late"?!', ""),
        (other, "Be kind: Where?", " [PASS] "),
        (f"{other}/prompt-2", "Be kind: Where?", "Here."),
    ]
    assert [case["x_provider"] for case in cases] == ["a", "a", "a", "b"]


def test_a_prompt_that_the_csv_does_not_hold_is_not_made_up(safe_gate: SafeGate) -> None:
    for columns in ("a,b,[x] named", "a,b,[x] {{ a | upper }} {{b}}", "a,b,[x] {{c}}"):
        Path("r.csv").write_text(f"{columns},{GRADES}\n1,2,Yes.,PASS,1,,,\n", "utf-8")
        ran = safe_gate("import", "r.csv", "--out", "none.jsonl")
        assert (ran.code, "import the JSON of promptfoo" in ran.err) == (3, True), ran.log


def test_version_2_has_no_test_case(safe_gate: SafeGate) -> None:
    def one(provider: str, label: str) -> dict[str, Any]:
        return {
            "provider": {"id": provider}, "prompt": {"raw": f"{label} Hello", "display": label}, "vars": {"a": "Hello"},
            "response": {"output": f"{label}, {provider}."}, "success": True, "score": 1, "latencyMs": 1,
        }  # fmt: skip

    results = [one(provider, label) for label in "pq" for provider in "ab"]
    whole = {"results": {"version": 2, "results": results, "stats": {}, "table": {"head": {}, "body": []}}}
    Path("r.json").write_text(json.dumps(whole), "utf-8")
    found = exchanges(imported(safe_gate, "r.json"))
    assert [(id_.split("/", 1)[-1][-10:], user, reply) for id_, user, reply in found][2:] == [
        ("prompt-1#1", "q Hello", "q, a."),
        ("prompt-1#2", "q Hello", "q, b."),
    ]
    assert "promptfoo results, 4 cases" in safe_gate("import", "r.json", "--out", "-").err
