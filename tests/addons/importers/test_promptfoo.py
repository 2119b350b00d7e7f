"""Results of promptfoo."""

import csv
import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import SafeGate
from tests.support.importing import (
    ASK,
    FIXTURES,
    REPLY,
    TURNS,
    exchanges,
    imported,
    left_out,
    promptfoo,
    refusal,
    result,
    said,
    write,
)


@pytest.mark.parametrize("indent", [None, 1])
def test_promptfoo_with_two_providers_and_an_error_row(safe_gate: SafeGate, indent: int | None) -> None:
    failed = {"success": False, "failureReason": 1, "error": "Expected output to contain Monday"}
    broken = {"success": False, "failureReason": 2, "error": "Timed out after 10 s"}
    results = [
        result(1, "echo:a", {"output": "One", "finishReason": "length"}),
        result(1, "echo:b", {"output": "Two"}, **failed),
        result(2, "echo:a", {"output": "partial"}, **broken),
        result(2, "echo:b", {"output": ""}),
    ]
    write("r.json", promptfoo(*results), indent=indent)
    assert "t2: is an error: Timed out after 10 s\n" in refusal(safe_gate, "r.json")
    cases = imported(safe_gate, "r.json", "--skip-invalid")
    ask = "Where is parcel {}?".format
    # The sample that is missing keeps its number, so that each provider keeps its own.
    assert exchanges(cases) == [("t1#1", ask(1), "One"), ("t1#2", ask(1), "Two"), ("t2#2", ask(2), "")]
    assert [case["x_provider"] for case in cases] == ["echo:a", "echo:b", "echo:b"]
    lost = left_out(safe_gate, "r.json", "--skip-invalid")
    assert 'the field "finishReason" of the response (1 record)' in lost
    assert not any("failureReason" in one for one in lost), "it decides what is an error"


def test_providers_are_samples_and_prompts_are_not(safe_gate: SafeGate) -> None:
    def row(place: int, provider: str, prompt: str) -> dict[str, Any]:
        raw = {"raw": f"{prompt}: dog", "label": f"{prompt}: {{{{animal}}}}"}
        case = {"vars": {"animal": "dog"}, "description": "dog"}
        reply = {"output": f"{provider} {prompt}"}
        return result(1, provider, reply, promptIdx=place, promptId=prompt, prompt=raw, testCase=case)

    write("r.json", promptfoo(row(0, "one", "Describe"), row(1, "two", "Describe")))
    expected = [("dog#1", "Describe: dog", "one Describe"), ("dog#2", "Describe: dog", "two Describe")]
    assert exchanges(imported(safe_gate, "r.json")) == expected
    pairs = [*product(("one", "two"), ("Describe", "Name"))]
    rows = [row(place, *pair) for place, pair in enumerate(pairs)]
    ids = ("dog#1", "dog/prompt-1#1", "dog#2", "dog/prompt-1#2")
    for kept in (rows, [{name: one[name] for name in one if name != "promptId"} for one in rows]):
        write("r.jsonl", *kept)
        found = [(case["id"], case["assistant"]) for case in imported(safe_gate, "r.jsonl")]
        assert found == [*zip(ids, map(" ".join, pairs), strict=True)]


@pytest.mark.parametrize(
    "named", [lambda name: {"id": name}, lambda name: {"id": "same", "label": name}, lambda name: name]
)
def test_the_order_of_results_is_that_of_their_tests(safe_gate: SafeGate, named: Callable[[str], Any]) -> None:
    given = {"testCase": {"description": "same"}, "prompt": {"raw": "Hi", "label": ""}}
    rows = [
        result(test, name, {"output": f"{test} {place} {name}"}, promptIdx=place, vars={"n": test}, **given)
        | {"provider": named(name)}
        for test, place, name in product((1, 2), (0, 1), "ab")
    ]
    found = []
    for some in (rows, rows[::-1]):
        write("r.json", promptfoo(*some))
        found.append(imported(safe_gate, "r.json"))
    assert found[0] == found[1]
    assert [case["assistant"] for case in found[0]][:3] == ["1 0 a", "1 0 b", "1 1 a"]


def test_what_a_test_holds_besides_its_variables_is_left_out_and_listed(safe_gate: SafeGate) -> None:
    case = {"vars": {"a": "b"}, "assert": [{"type": "contains"}], "options": {}}
    for data, names in (({}, ("assert",)), ({"note": "x"}, ("assert", "metadata"))):
        test = case | {"metadata": {"testCaseId": "t"} | data}
        write("in.jsonl", result(1, "one", {"output": REPLY}, testCase=test))
        found = [one for one in left_out(safe_gate, "in.jsonl") if "of the test" in one]
        assert found == [f'the field "{name}" of the test (1 record)' for name in names]


def test_what_promptfoo_itself_writes(safe_gate: SafeGate) -> None:
    """Made with promptfoo 0.121: its JSON without metrics and grading, and its CSV."""
    assert "is an error: The line is busy. (2 times" in refusal(safe_gate, FIXTURES / "promptfoo.json")
    cases = imported(safe_gate, FIXTURES / "promptfoo.json", "--skip-invalid")
    found = [(case["id"].partition("#")[0], case["x_provider"]) for case in cases if "messages" not in case]
    other, last = found[2][0], found[4][0]
    assert (other[:10], last[:5]) == ("same/vars-", "vars-")
    assert found == [*product(("same", other), ("first", "second")), (last, "first")]
    replies = {(user, reply) for _, user, reply in exchanges(cases) if "parcel" in user}
    assert replies == {("Where is my parcel?", f"It comes on Monday, says {one}.") for one in ("first", "second")}
    mapping = "user=thing,assistant=[first] plain"
    (first, *_) = imported(safe_gate, FIXTURES / "promptfoo.csv", "--map", mapping)
    assert (first["user"], first["assistant"]) == ("my parcel", "It comes on Monday, says first.")


GRADES = "Status,Score,Named Scores,Grader Reason,Comment"


def test_csv_of_two_prompts_and_providers(safe_gate: SafeGate) -> None:
    prompt, chat = "Be kind: {{ask}}", '[{"role": "system", "content": "x"}, {"role": "user", "content": "{{ask}}!"}]'
    columns = ["Description", "ask", f"[a] {prompt}", *GRADES.split(","), f"[a] {chat}", *GRADES.split(",")]
    columns += [f"[b] {prompt}!", *GRADES.split(",")]
    grades = ["FAIL", "0.00", "", "no", ""]
    rows = [
        ["late", 'Is it "late"?', "Yes.\r\n", *grades, "", "PASS", "1", "", "", "", "Busy", "ERROR", "0", "", "", ""],
        ["", "Where?", " [PASS] ", *grades, "", "", "", "", "", "", "Here.", *grades],
        ["lost", "Who?", "", "ERROR", "0", "", "API error: 500", "", "", "", "", "", "", "", "Me.", *grades],
    ]
    with Path("r.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    err = refusal(safe_gate, "r.csv")
    assert "r.csv:2: late/prompt-2: is an error: Busy\n" in err
    assert "r.csv:5: lost: is an error: API error: 500\n" in err
    cases = imported(safe_gate, "r.csv", "--skip-invalid")
    other = cases[2]["id"]
    assert exchanges(cases) == [
        ("late", 'Be kind: Is it "late"?', "Yes.\r\n"),
        ("late/prompt-1", 'Is it "late"?!', ""),
        (other, "Be kind: Where?", " [PASS] "),
        (f"{other}/prompt-2", "Be kind: Where?!", "Here."),
        ("lost/prompt-2", "Be kind: Who?!", "Me."),
    ]
    assert [case["x_provider"] for case in cases] == ["a", "a", "a", "b", "b"]
    first, left, *_ = said(safe_gate, "r.csv", "--skip-invalid")
    assert "promptfoo results" in first
    assert left == "Left out: cells without a result (2 records)"


def test_a_csv_without_grades_is_told_what_a_csv_lacks(safe_gate: SafeGate) -> None:
    Path("r.csv").write_text("ask,[a] {{ask}}\nWho?,[PASS] Me.\n", "utf-8")
    err = refusal(safe_gate, "r.csv", "--from", "promptfoo")
    assert "r.csv:2: has no column Status after each column of replies, [provider] prompt, as a CSV of" in err


CUT = [
    'a,message,"[x] p.md: Say {{a}}, and then..."',
    'a,message,"[x] [{""role"":""user"",""content"":""{{a}}"',
    'a,b,"[x] - role: user\n  content: {{a}}"',
]


@pytest.mark.parametrize("columns", ["a,message,[x] named", "a,b,[x] {{ a | upper }} {{b}}", "a,b,[x] {{c}}", *CUT])
def test_a_prompt_that_the_csv_does_not_hold_is_not_made_up(safe_gate: SafeGate, columns: str) -> None:
    Path("r.csv").write_text(f"{columns},{GRADES}\n1,2,Yes.,PASS,1,,,\n", "utf-8")
    assert "import the JSON of promptfoo" in refusal(safe_gate, "r.csv")


def test_a_prompt_that_is_the_body_of_a_request_is_its_messages(safe_gate: SafeGate) -> None:
    parts = [{"role": "user", "parts": [{"text": ASK}]}]
    bodies = {"system": "Be kind.", "messages": TURNS[:1]}, {"contents": parts, "generationConfig": {}}
    raws = *map(json.dumps, bodies), '{"a": 1} is what?', "- role: system\n  content: Be kind.\n"
    write("r.json", promptfoo(*(result(n, "a", {"output": REPLY}, prompt={"raw": raw}) for n, raw in enumerate(raws))))
    err = refusal(safe_gate, "r.json")
    assert "t3: has a chat in YAML in its prompt; write it as JSON, or name both sides with --map\n" in err
    assert [case["user"] for case in imported(safe_gate, "r.json", "--skip-invalid")] == [ASK, ASK, raws[2]]
    assert 'the field "system" of the input (1 record)' in left_out(safe_gate, "r.json", "--skip-invalid")


def test_what_promptfoo_strips_is_missing(safe_gate: SafeGate) -> None:
    prompt, output = {"prompt": {"raw": "[prompt stripped]"}}, {"output": "[output stripped]"}
    write("r.json", promptfoo(result(1, "a", {"output": REPLY}, **prompt), result(2, "a", output)))
    err = refusal(safe_gate, "r.json")
    assert "t1: has no prompt; expected text in prompt.raw\n" in err
    assert "t2: has no reply; if another field has it" in err


def test_version_2_has_no_test_case(safe_gate: SafeGate) -> None:
    results = [
        {"provider": {"id": provider}, "prompt": {"raw": f"{label} Hello", "display": label}, "vars": {"a": "Hello"}, "response": {"output": f"{label}, {provider}."}, "success": True}
        for label, provider in product("pq", "ab")
    ]  # fmt: skip
    write("r.json", {"results": {"version": 2, "results": results}, "stats": {}, "table": {"head": {}}})
    found = [(id_.split("/", 1)[-1][-10:], *one) for id_, *one in exchanges(imported(safe_gate, "r.json"))]
    assert found[2:] == [("prompt-1#1", "q Hello", "q, a."), ("prompt-1#2", "q Hello", "q, b.")]
