"""What becomes of a record: its own fields, its id, its history, and a file that ends early."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.cases import SafeGate
from tests.support.importing import (
    ASK,
    EARLIER,
    FIXTURES,
    REPLY,
    SYSTEM,
    TURNS,
    exchanges,
    imported,
    lm_eval,
    result,
    write,
)

OWN: dict[str, Any] = {
    "checks": ["agency_language"],
    "expected": {"agency_language": False},
    "tags": ["billing"],
    "notes": "from a call",
    "must_contain": ["Monday"],
    "x_row": 7,
}


@pytest.mark.parametrize("is_list", [False, True])
def test_our_own_cases_keep_all_their_fields(safe_gate: SafeGate, is_list: bool) -> None:
    case = {"id": "a", "user": ASK, "assistant": REPLY, "marks": {"leaves": ["left our shop"]}} | OWN
    talk = {"id": "b", "messages": [SYSTEM, *TURNS], "turns": "all", "context": 2} | OWN
    long = {"id": "c", "messages": [*EARLIER, *TURNS], "turns": "all", "context": 0} | OWN
    write("in.json", case, is_list=is_list)
    assert imported(safe_gate, "in.json") == [case]
    write("in.json", talk, long, is_list=is_list)
    assert imported(safe_gate, "in.json") == [talk, long]


def test_columns_hold_checks_and_expectations(safe_gate: SafeGate) -> None:
    Path("in.csv").write_text(
        'id,prompt,response,checks,expected,notes\na,x,y,"topic_pivot, agency_language","{""topic_pivot"": true}",n\nb,x,y,,,\n',
        "utf-8",
    )
    first, second = imported(safe_gate, "in.csv")
    assert (first["checks"], first["expected"]) == (["topic_pivot", "agency_language"], {"topic_pivot": True})
    assert (first["notes"], {*second}) == ("n", {"id", "user", "assistant"})


def test_fields_that_mean_another_thing_are_left_out(safe_gate: SafeGate) -> None:
    write("in.jsonl", {"id": "a", "question": ASK, "answer": REPLY, "expected": "Paris", "context": "Text", "marks": 5})
    ran = safe_gate("import", "in.jsonl", "--out", "out.jsonl")
    assert ran.code == 0
    assert json.loads(Path("out.jsonl").read_text("utf-8")) == {"id": "a", "user": ASK, "assistant": REPLY}
    for name in ("context", "expected", "marks"):
        assert f'Left out: the field "{name}" (1 record)\n' in ran.out


def test_a_fault_in_a_field_of_our_own_case_is_an_error(safe_gate: SafeGate) -> None:
    case = {"id": "a", "user": ASK, "assistant": REPLY}
    faulty: tuple[dict[str, Any], ...] = (
        {"checks": ["topic_pivot"], "notes": 1},
        {"expected": {"topic": True}},
        {"marks": {"leaves": ["not there"]}},
    )
    for fields in faulty:
        write("in.jsonl", case | fields)
        ran = safe_gate("import", "in.jsonl", "--out", "out.jsonl")
        assert ran.code == 3
        assert f"in.jsonl:1: a: {[*fields][-1]}" in ran.err


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ('"id": NaN', "in.jsonl:1: has an id that JSON cannot hold; expected text or a number"),
        ('"id": "a", "checks": 5', "in.jsonl:1: a: checks: is 5; expected a list of at least one check"),
        ('"id": "a", "checks": ["topic_pivot", NaN]', "in.jsonl:1: a: checks[1]: is NaN; expected text"),
        ('"id": "a", "response": NaN', "in.jsonl:1: a: assistant: is NaN; expected text"),
        ('"id": "a", "prompt": 1e999', "in.jsonl:1: a: has no text in prompt"),
        (f'"id": "a", "x_deep": {"[" * 200}{"]" * 200}', "in.jsonl:1: is nested too deep"),
    ],
)
def test_what_json_cannot_hold_is_a_problem_with_its_place(safe_gate: SafeGate, fields: str, words: str) -> None:
    row = {"prompt": ASK, "response": REPLY}
    rest = "".join(f', "{name}": {json.dumps(one)}' for name, one in row.items() if f'"{name}"' not in fields)
    Path("in.jsonl").write_text(f"{{{fields}{rest}}}\n", "utf-8")
    ran = safe_gate("import", "in.jsonl", "--out", "none.jsonl")
    assert (ran.code, words in ran.err) == (3, True), ran.log
    Path("in.json").write_text(f"[{{{fields}{rest}}}]", "utf-8")
    ran = safe_gate("import", "in.json", "--out", "none.jsonl")
    assert (ran.code, words.replace(".jsonl", ".json") in ran.err) == (3, True), ran.log


def test_fields_that_json_cannot_hold_are_left_out_and_listed(safe_gate: SafeGate) -> None:
    fields = '"x_score": NaN, "x_deep": {"a": [-1e999]}, "notes": Infinity, "tags": 5, "other": NaN, "x_kept": 1.5'
    Path("in.jsonl").write_text(f'{{"id": "a", "prompt": "x", "response": "y", {fields}}}\n', "utf-8")
    ran = safe_gate("import", "in.jsonl", "--out", "-")
    assert json.loads(ran.out) == {"id": "a", "user": "x", "assistant": "y", "x_kept": 1.5}
    for name in ("x_score", "x_deep", "notes", "tags", "other"):
        assert f'Left out: the field "{name}" (1 record)\n' in ran.err


def test_columns_of_times_and_bytes_are_left_out_and_listed(safe_gate: SafeGate) -> None:
    at = datetime(2026, 1, 2, tzinfo=UTC)
    rows = [{"id": "a", "prompt": "x", "response": "y", "created": at, "notes": at, "image": {"bytes": b"\x00"}}]
    pq.write_table(pa.Table.from_pylist(rows), "in.parquet")
    ran = safe_gate("import", "in.parquet", "--out", "-")
    assert json.loads(ran.out) == {"id": "a", "user": "x", "assistant": "y"}
    for name in ("created", "notes", "image"):
        assert f'Left out: the field "{name}" (1 record)\n' in ran.err
    ran = safe_gate("import", "in.parquet", "--out", "-", "--map", "user=created,assistant=response")
    assert (ran.code, "in.parquet:1: a: has no text in created" in ran.err) == (3, True), ran.log


def test_a_first_line_of_many_megabytes_is_a_row(safe_gate: SafeGate) -> None:
    log = "a " * (5 << 19)
    write("in.jsonl", {"log": log, "prompt": ASK, "response": REPLY}, {"log": "", "prompt": "Hi.", "response": REPLY})
    assert [ask for _, ask, _ in exchanges(imported(safe_gate, "in.jsonl"))] == [ASK, "Hi."]
    result = {"prompt": {"raw": ASK}, "vars": {"log": log}, "testCase": {}, "success": True}
    write("in.jsonl", {"results": {"results": [result | {"response": {"output": REPLY}}]}})
    assert [ask for _, ask, _ in exchanges(imported(safe_gate, "in.jsonl"))] == [ASK]


@pytest.mark.parametrize("end", [b'{"prompt": "x", "resp', b'{"prompt": "x", "response": "\xe2\x82', b'"x'])
def test_lines_that_end_early_are_never_skipped(safe_gate: SafeGate, end: bytes) -> None:
    good = b'{"id": "a", "prompt": "x", "response": "y"}\n'
    Path("in.jsonl").write_bytes(good * 25 + end)
    for flags in ([], ["--skip-invalid"]):
        ran = safe_gate("import", "in.jsonl", "--out", "out.jsonl", *flags)
        assert ran.code == 3
        assert "in.jsonl:26: breaks off; what follows is not read" in ran.err
        assert not Path("out.jsonl").exists()
    Path("in.jsonl").write_bytes(good.rstrip())
    assert len(imported(safe_gate, "in.jsonl")) == 1


def test_a_prompt_of_lm_eval_with_a_chat_template_is_messages(safe_gate: SafeGate) -> None:
    def sample(doc: int, *messages: dict[str, Any]) -> dict[str, Any]:
        return lm_eval(doc, arguments={"gen_args_0": {"arg_0": json.dumps(messages), "arg_1": {}}}, resps=[[REPLY]])

    write("in.jsonl", sample(0, SYSTEM, TURNS[0]), sample(1, *EARLIER, TURNS[0]))
    first, second = imported(safe_gate, "in.jsonl")
    assert (first["user"], first["assistant"]) == (ASK, REPLY)
    assert second["messages"] == [*EARLIER, *TURNS]
    assert exchanges([first, second]) == [("0", ASK, REPLY), ("1", ASK, REPLY)]


def test_promptfoo_tests_of_one_description_are_other_cases(safe_gate: SafeGate) -> None:
    def row(animal: str, provider: str) -> dict[str, Any]:
        given = {"vars": {"animal": animal}}
        return result(1, provider, {"output": REPLY}, testCase=given | {"description": "same"}, **given)

    write("in.jsonl", *(row(animal, provider) for animal in ("dog", "cat") for provider in ("one", "two")))
    ids = [case["id"] for case in imported(safe_gate, "in.jsonl")]
    assert ids[:2] == ["same#1", "same#2"]
    assert [id_[:10] + id_[-2:] for id_ in ids[2:]] == ["same/vars-#1", "same/vars-#2"]


def test_goldens_of_deepeval_in_every_file_type(safe_gate: SafeGate) -> None:
    rows: list[dict[str, Any]] = [
        {"input": ASK, "actual_output": REPLY, "expected_output": "", "name": "a"},
        {"input": "x", "actual_output": None, "expected_output": "y", "name": "b"},
    ]
    talk: list[dict[str, Any]] = [
        {"scenario": "A late parcel", "turns": [*EARLIER, *TURNS], "expected_outcome": "x", "name": "c"},
        {"scenario": "None yet", "turns": None, "expected_outcome": "x", "name": "d"},
    ]
    for records, expected in ((rows, ("a", "b: has no reply")), (talk, ("c", "d: has no messages"))):
        write("list.json", *records, is_list=True)
        write("lines.jsonl", *records)
        with Path("cells.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(records[0])
            cells = [
                [one if isinstance(one, str | None) else json.dumps(one) for one in row.values()] for row in records
            ]
            writer.writerows(cells)
        for name in ("list.json", "lines.jsonl", "cells.csv"):
            ran = safe_gate("import", name, "--out", "none.jsonl")
            assert (ran.code, "DeepEval test cases" in ran.out, expected[1] in ran.err) == (3, True, True), ran.log
            found = exchanges(imported(safe_gate, name, "--skip-invalid"))
            assert found == [(expected[0], ASK, REPLY)]


def test_what_promptfoo_itself_writes(safe_gate: SafeGate) -> None:
    """Made with promptfoo 0.121: its JSON without metrics and grading, and its CSV."""
    ran = safe_gate("import", FIXTURES / "promptfoo.json", "--out", "none.jsonl")
    assert ran.code == 3
    assert "is an error: The line is busy. (2 times" in ran.err
    cases = imported(safe_gate, FIXTURES / "promptfoo.json", "--skip-invalid")
    found = [(case["id"].partition("#")[0], case["x_provider"]) for case in cases if "messages" not in case]
    other, last = found[2][0], found[4][0]
    assert (other[:10], last[:5]) == ("same/vars-", "vars-")
    providers = ("first", "second")
    assert found == [*(("same", one) for one in providers), *((other, one) for one in providers), (last, "first")]
    replies = {(user, reply) for _, user, reply in exchanges(cases) if "parcel" in user}
    assert replies == {("Where is my parcel?", f"It comes on Monday, says {one}.") for one in providers}
    mapping = "user=thing,assistant=[first] plain"
    (first, *_) = imported(safe_gate, FIXTURES / "promptfoo.csv", "--map", mapping)
    assert (first["user"], first["assistant"]) == ("my parcel", "It comes on Monday, says first.")
