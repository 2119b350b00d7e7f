"""A file of another format, or with other names, gets a sentence that names the `import` command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.cases import SafeGate, safe_case, turn, write_batch
from tests.support.importing import ASK, FIXTURES, REPLY, TURNS, exchanges, imported, write
from tests.support.memory import on_linux, peak

TO_CASES = "safe-gate import in.jsonl --out cases.jsonl"
TO_OUTPUTS = "--out recorded.outputs.jsonl --evaluator safe_v0\n"
CHECKED = {"id": "a", "checks": ["topic_pivot"]}


@pytest.mark.parametrize("pair", [("prompt", "response"), ("prompt", "assistant"), ("Question", "Answer")])
def test_rows_with_checks_get_one_sentence(safe_gate: SafeGate, pair: tuple[str, str]) -> None:
    write("in.jsonl", CHECKED | dict(zip(pair, (ASK, REPLY), strict=True)))
    ran = safe_gate("eval", "--cases", "in.jsonl")
    words = f"in.jsonl: looks like JSON objects with named fields, not Synthesis cases; convert it: {TO_CASES}\n"
    assert (ran.code, ran.err.splitlines(keepends=True)[0]) == (3, words)
    assert "1 problem;" in ran.err
    assert exchanges(imported(safe_gate, "in.jsonl")) == [("a", ASK, REPLY)]


def test_rows_with_checks_and_unknown_names_get_a_mapping(safe_gate: SafeGate) -> None:
    write("in.jsonl", CHECKED | {"usr": ASK, "assistent": REPLY})
    ran = safe_gate("eval", "--cases", "in.jsonl")
    mapping = f"{TO_CASES} --map user=FIELD,assistant=FIELD\n"
    assert f"in.jsonl: has neither user nor assistant; say which fields they are: {mapping}" in ran.err
    assert "1 problem;" in ran.err


def test_later_rows_of_other_names_are_one_kind_of_problem(safe_gate: SafeGate) -> None:
    later = [CHECKED | {"id": f"p{n}", "prompt": ASK, "response": REPLY} for n in range(60)]
    write("in.jsonl", turn("a"), *later, {"id": "q", "question": ASK, "answer": REPLY})
    for command in (("eval", "--cases"), ("validate",)):
        ran = safe_gate(*command, "in.jsonl")
        assert ran.code == 3
        words = f'has "prompt" and "response", not user and assistant; convert the file: {TO_CASES}'
        assert f"in.jsonl:2: p0: {words}" in ran.err
        assert len(ran.err.splitlines()) == 2
        assert "61 problems;" in ran.err
    assert len(imported(safe_gate, "in.jsonl")) == 62


def test_a_list_of_our_own_cases_names_the_command(safe_gate: SafeGate) -> None:
    for indent in (None, 1):
        for case in (turn("a"), {"id": "a", "messages": TURNS}):
            Path("in.json").write_text(json.dumps([case], indent=indent) + "\n", "utf-8")
            for command in (("eval", "--cases"), ("run", "--cases"), ("validate",)):
                ran = safe_gate(*command, "in.json")
                what = "is one JSON document over many lines" if indent else "has Synthesis cases in a JSON list"
                words = f"in.json: {what}; expected one object per line (JSONL); convert it: "
                assert ran.err.startswith(f"{words}safe-gate import in.json --out cases.jsonl\n"), ran.err


def test_a_list_of_unknown_names_gets_a_mapping(safe_gate: SafeGate) -> None:
    for indent in (None, 1):
        Path("in.json").write_text(json.dumps([{"frage": ASK, "antwort": REPLY}], indent=indent), "utf-8")
        for command in (("eval", "--cases"), ("validate",)):
            err = safe_gate(*command, "in.json").err
            assert err.startswith(
                "in.json: has neither user nor assistant; say which fields they are: safe-gate import"
            )


def test_our_own_columns_in_csv_name_the_command(safe_gate: SafeGate) -> None:
    Path("in.csv").write_text("id,user,assistant,checks\na,x,y,topic_pivot\n", "utf-8")
    err = safe_gate("eval", "--cases", "in.csv").err
    assert err.startswith("in.csv: looks like CSV, not Synthesis cases; convert it: safe-gate import in.csv")


@on_linux
def test_a_large_table_is_not_read_to_its_end() -> None:
    Path("in.csv").write_text("prompt,response\n" + f"{ASK * 100},{REPLY}\n" * 20_000, "utf-8")
    size = Path("in.csv").stat().st_size
    assert size > 30 << 20
    for command in (("validate",), ("eval", "--cases")):
        code, most = peak(*command, "in.csv")
        assert code == "3"
        assert most < 2 * size >> 10


def test_a_document_in_one_line_over_the_limit_names_the_command(safe_gate: SafeGate) -> None:
    results = [
        {"prompt": {"raw": ASK}, "vars": {}, "testCase": {}, "success": True, "response": {"output": REPLY * 50}}
    ] * 50
    Path("in.json").write_text(json.dumps({"results": {"results": results}}), "utf-8")
    ran = safe_gate("eval", "--cases", "in.json", "--max-line", "9000")
    words = "in.json: looks like promptfoo results, not Synthesis cases; convert it: safe-gate import in.json --out"
    assert (ran.code, ran.err.startswith(words)) == (3, True), ran.err
    write("in.jsonl", turn("a", assistant=REPLY * 1_000))
    assert "in.jsonl:1: is longer than 9000 bytes" in safe_gate("eval", "--cases", "in.jsonl", "--max-line", "9000").err


def test_a_batch_of_any_format_names_the_command(safe_gate: SafeGate) -> None:
    Path("a.csv").write_text("id,prompt,response\n1,x,y\n", "utf-8")
    write("msg.jsonl", {"messages": TURNS}, {"messages": TURNS})
    pq.write_table(pa.Table.from_pylist([{"prompt": ASK, "response": REPLY}]), "a.parquet")
    Path("log.eval").write_bytes((FIXTURES / "inspect.eval").read_bytes())
    titles = {"a.csv": "CSV", "msg.jsonl": "OpenAI chat messages", "a.parquet": "Parquet", "log.eval": "an Inspect log"}
    for name, title in titles.items():
        ran = safe_gate("run", "--safe-batch", name)
        words = f"{name}: looks like {title}, not a SAFE v0 batch; convert it: safe-gate import {name} {TO_OUTPUTS}"
        assert (ran.code, ran.err.splitlines(keepends=True)[0]) == (3, words)
        assert "1 problem;" in ran.err
    Path("f.csv").write_text("fall,antwort\n1,x\n", "utf-8")
    assert "f.csv: has neither test_id nor output; say which" in safe_gate("run", "--safe-batch", "f.csv").err


def test_outputs_under_other_names_name_the_command(safe_gate: SafeGate) -> None:
    case = safe_case("a")
    output = case.pop("output")
    write_batch(Path("b.json"), case)
    write("o.jsonl", {"case": "a", "reply": output})
    ran = safe_gate("run", "--safe-batch", "b.json", "--safe-outputs", "o.jsonl")
    mapping = "--map test_id=FIELD,output=FIELD --evaluator safe_v0\n"
    words = "has neither test_id nor output; say which fields they are: safe-gate import o.jsonl"
    assert f"o.jsonl: {words} --out recorded.outputs.jsonl {mapping}" in ran.err
    assert "1 problem;" in ran.err
    flags = ("--evaluator", "safe_v0", "--map", "test_id=case,output=reply")
    assert imported(safe_gate, "o.jsonl", *flags) == [{"test_id": "a", "output": output}]


def test_a_broken_batch_is_not_taken_for_another_format(safe_gate: SafeGate) -> None:
    case: dict[str, Any] = safe_case("a")
    write_batch(Path("b.json"), case)
    Path("b.json").write_text(Path("b.json").read_text("utf-8").rstrip().removesuffix("}"), "utf-8")
    ran = safe_gate("run", "--safe-batch", "b.json")
    assert "import" not in ran.err
    assert "breaks off" in ran.err
