"""Formats of other tools: each is detected by its content and becomes cases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from safe_gate.addons.importers import formats
from tests.support.cases import REPOSITORY, SafeGate
from tests.support.importing import (
    ASK,
    CSV,
    EARLIER,
    FIXTURES,
    LANGFUSE,
    REPLY,
    SYSTEM,
    TURNS,
    exchanges,
    imported,
    lm_eval,
    request,
    response,
    result,
    write,
)

FORMS: dict[str, tuple[str, list[Any], list[tuple[str, str, str]]]] = {
    "prompt and response": ("jsonl", [{"id": "a", "prompt": ASK, "response": REPLY}], [("a", ASK, REPLY)]),
    "input and output": ("jsonl", [{"id": 7, "input": ASK, "output": REPLY}], [("7", ASK, REPLY)]),
    "question and answer": ("jsonl", [{"id": "a", "Question": ASK, "Answer": REPLY}], [("a", ASK, REPLY)]),
    "instruction and completion": ("jsonl", [{"id": "a", "instruction": ASK, "completion": REPLY}], [("a", ASK, REPLY)]),
    "prompt and completion": ("jsonl", [{"id": "a", "prompt": ASK, "completion": REPLY}], [("a", ASK, REPLY)]),
    "exact text": (
        "jsonl",
        [{"id": "a", "prompt": " a\r\nb ", "response": "null"}, {"id": "b", "prompt": "7", "response": ""}, {"id": "c", "prompt": "\ud800", "response": "\u2028"}],
        [("a", " a\r\nb ", "null"), ("b", "7", ""), ("c", "\ud800", "\u2028")],
    ),
    "messages": (
        "messages",
        [{"id": "a", "messages": [{"role": "system", "content": "Be kind."}, *EARLIER, *TURNS]}],
        [("a", ASK, REPLY)],
    ),
    "messages of parts": (
        "messages",
        [{"id": "a", "messages": [{"role": "user", "content": [{"type": "text", "text": ASK}, {"type": "image_url", "image_url": {}}]}, TURNS[1]]}],
        [("a", ASK, REPLY)],
    ),
    "two messages of the user": (
        "messages",
        [{"id": "a", "messages": [*EARLIER, {"role": "user", "content": "Hm."}, *TURNS]}],
        [("a", f"Hm.\n\n{ASK}", REPLY)],
    ),
    "a call of a tool": (
        "messages",
        [{"id": "a", "messages": [TURNS[0], {"role": "assistant", "content": None, "tool_calls": [{}]}, {"role": "tool", "content": "x"}, TURNS[1]]}],
        [("a", ASK, REPLY)],
    ),
    "ShareGPT": (
        "sharegpt",
        [{"id": "a", "conversations": [{"from": "system", "value": "Be kind."}, {"from": "human", "value": ASK}, {"from": "gpt", "value": REPLY}]}],
        [("a", ASK, REPLY)],
    ),
    "TRL preferences": (
        "trl",
        [{"id": "a", "prompt": ASK, "chosen": REPLY, "rejected": "Wait."}],
        [("a#1", ASK, REPLY), ("a#2", ASK, "Wait.")],
    ),
    "TRL conversations": (
        "trl",
        [{"id": "a", "prompt": TURNS[:1], "completion": TURNS[1:]}, {"id": "b", "chosen": TURNS, "rejected": [TURNS[0], {"role": "assistant", "content": ""}]}],
        [("a", ASK, REPLY), ("b#1", ASK, REPLY), ("b#2", ASK, "")],
    ),
    "promptfoo lines": ("promptfoo", [result(1, "x", {"output": REPLY})], [("t1", "Where is parcel 1?", REPLY)]),
    "promptfoo chat": (
        "promptfoo",
        [result(1, "x", {"output": REPLY}, prompt={"raw": json.dumps([*EARLIER, TURNS[0]]), "label": "l"})],
        [("t1", ASK, REPLY)],
    ),
    "Langfuse": (
        "langfuse",
        [
            LANGFUSE | {"id": "s", "type": "SPAN", "input": "x", "output": "y"},
            LANGFUSE | {"id": "a", "type": "GENERATION", "input": json.dumps([*EARLIER, TURNS[0]]), "output": json.dumps(TURNS[1])},
            LANGFUSE | {"id": "b", "type": "GENERATION", "input": json.dumps({"messages": TURNS[:1]}), "output": "7"},
            LANGFUSE | {"id": "c", "type": "GENERATION", "input": "null", "output": '{"role": "assistant", "content": ""}'},
        ],
        [("a", ASK, REPLY), ("b", ASK, "7"), ("c", "null", "")],
    ),
    "LangSmith runs": (
        "langsmith",
        [
            {"id": "r", "run_type": "chain", "inputs": {"question": ASK}, "outputs": {"answer": REPLY}},
            {"id": "a", "run_type": "llm", "inputs": {"messages": TURNS[:1]}, "outputs": {"choices": [{"message": TURNS[1]}]}},
            {
                "id": "b",
                "run_type": "llm",
                "inputs": {"messages": [[{"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "HumanMessage"], "kwargs": {"content": ASK, "type": "human"}}]]},
                "outputs": {"generations": [[{"text": REPLY, "message": {"lc": 1, "type": "constructor", "id": ["AIMessage"], "kwargs": {"content": REPLY}}}]]},
            },
        ],
        [("a", ASK, REPLY), ("b", ASK, REPLY)],
    ),
    "LangSmith examples": (
        "langsmith",
        [{"id": "a", "inputs": {"question": ASK}, "outputs": {"answer": REPLY}}],
        [("a", ASK, REPLY)],
    ),
    "lm-eval": (
        "lm-eval",
        [lm_eval(0), lm_eval(1, resps=[["One.", "Two."]]), lm_eval(0, filter="strict")],
        [("0", "Question 0?", "Answer 0."), ("1#1", "Question 1?", "One."), ("1#2", "Question 1?", "Two.")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", ["lines", "list", "one line"])
def test_a_format_is_detected_by_its_content_and_becomes_cases(safe_gate: SafeGate, form: str, shape: str) -> None:
    format_, values, expected = FORMS[form]
    write("in.txt", *values, is_list=shape == "list")
    if shape == "one line":
        Path("in.txt").write_text(json.dumps(values), "utf-8")
    cases = imported(safe_gate, "in.txt")
    assert exchanges(cases) == expected
    assert not any("checks" in case for case in cases), "default-checks applies"
    assert (
        f"in.txt: {formats.FORMATS[format_].title}, {len(expected)} case"
        in safe_gate("import", "in.txt", "--out", "o.jsonl").out
    )
    assert exchanges(imported(safe_gate, "in.txt", "--from", format_)) == expected


TOOLS = [{"role": "assistant", "content": None, "tool_calls": [{}]}, {"role": "tool", "content": "x"}]
IMAGE = {"role": "user", "content": [{"type": "text", "text": "See."}, {"type": "image_url", "image_url": {}}]}


def test_a_conversation_of_several_turns_becomes_messages(safe_gate: SafeGate) -> None:
    write("in.jsonl", {"id": "a", "messages": [SYSTEM, IMAGE, *EARLIER[1:], *TOOLS, *TURNS], "tags": ["x"]})
    (case,) = imported(safe_gate, "in.jsonl")
    messages = [SYSTEM, {"role": "user", "content": "See."}, EARLIER[1], *TURNS]
    assert case == {"id": "a", "messages": messages, "tags": ["x"]}
    ran = safe_gate("import", "in.jsonl", "--out", "o.jsonl")
    assert [line for line in ran.out.splitlines() if line.startswith("Left out")] == [
        "Left out: calls and answers of tools (1 record)",
        "Left out: parts that are not text (1 record)",
    ]
    assert safe_gate("run", "--synthesis-cases", "out.jsonl", "--turns", "all").code == 0


@pytest.mark.parametrize("name", ["Id", "ID", "Case Id", "CaseId", "test_id"])
def test_an_id_is_known_however_it_is_spelt(safe_gate: SafeGate, name: str) -> None:
    Path("in.csv").write_text(f"{name};Question;Answer;tags\n7;why;because;grief, negative_example\n", "utf-8")
    (case,) = imported(safe_gate, "in.csv")
    assert (case["id"], case["tags"]) == ("7", ["grief", "negative_example"])


def test_csv_keeps_text_exactly(safe_gate: SafeGate) -> None:
    Path("in.csv").write_bytes(CSV.encode("utf-8"))
    cases = imported(safe_gate, "in.csv", "--tags", "own", "new", "--checks", "topic_pivot,agency_language")
    assert exchanges(cases) == [("a", 'late;\r\nagain " ', " sorry "), ("b", "null", "7"), ("c", "hello", "")]
    assert cases[0]["tags"] == ["own", "new"]
    assert cases[0]["checks"] == ["topic_pivot", "agency_language"]
    ran = safe_gate("import", "in.csv", "--out", "out.jsonl", "--force")
    assert ran.out.splitlines() == ["in.csv: CSV, 3 cases", 'Left out: the field "topic" (2 records)', "Written: out.jsonl, 3 cases"]  # fmt: skip


def test_tsv_and_parquet_are_read_too(safe_gate: SafeGate) -> None:
    Path("in.tsv").write_text(f"question\tanswer\n{ASK}\t{REPLY}\n", "utf-8")
    pq.write_table(
        pa.Table.from_pylist([{"id": 1, "input": ASK, "output": REPLY}, {"id": 2, "input": "x", "output": ""}]), "p"
    )
    (case,) = imported(safe_gate, "in.tsv")
    assert (case["user"], case["assistant"]) == (ASK, REPLY)
    assert exchanges(imported(safe_gate, "p")) == [("1", ASK, REPLY), ("2", "x", "")]
    assert "p: Parquet, 2 cases" in safe_gate("import", "p", "--from", "parquet", "--out", "out.jsonl", "--force").out


def test_langfuse_csv_holds_json(safe_gate: SafeGate) -> None:
    """Both ways of Langfuse: each text as JSON, without its quotes if it has no comma; and texts as they are."""
    header = "id,traceId,type,input,output\n"
    replies = ("One.\nTwo.", 'One, "two"\n', {"role": "assistant", "content": "a\nb"})
    cells = [json.dumps(one) for one in replies]
    cells[0] = cells[0].strip('"')
    rows = [
        f'"{n}","t","GENERATION","Hi {chr(92)}u00e9","{one.replace(chr(34), chr(34) * 2)}"\n'
        for n, one in enumerate(cells)
    ]
    Path("in.csv").write_text(header + "".join(rows), "utf-8")
    assert [one[1:] for one in exchanges(imported(safe_gate, "in.csv"))] == [
        ("Hi é", one) for one in ("One.\nTwo.", 'One, "two"\n', "a\nb")
    ]
    Path("in.csv").write_text(f'{header}a,t,GENERATION,"Hi, you","C:\\new"\nb,t,GENERATION,x,C:\\new\n', "utf-8")
    assert [one[2] for one in exchanges(imported(safe_gate, "in.csv"))] == ["C:\\new", "C:\\new"]


def test_langfuse_pages_of_the_api(safe_gate: SafeGate) -> None:
    call = {"traceId": "t", "startTime": "2026-01-01", "input": TURNS[:1], "level": "DEFAULT"}
    page: dict[str, Any] = {"meta": {"page": 1, "totalItems": 2}}
    page["data"] = [
        {"id": "s", "type": "SPAN", "output": "x"} | call,
        {"id": "a", "type": "GENERATION", "output": TURNS[1]} | call,
    ]
    Path("page.json").write_text(json.dumps(page), "utf-8")
    ran = safe_gate("import", "page.json", "--out", "o.jsonl")
    assert "a Langfuse export, 1 case\nLeft out: observations that are not generations (1 record)\n" in ran.out
    assert exchanges(imported(safe_gate, "page.json")) == [("a", ASK, REPLY)]
    trace = dict.fromkeys(("timestamp", "userId", "release")) | {"id": "b", "input": {"messages": TURNS[:1]}}
    Path("page.json").write_text(json.dumps({"data": [trace | {"output": REPLY}], "meta": {}}), "utf-8")
    assert exchanges(imported(safe_gate, "page.json")) == [("b", ASK, REPLY)]


@pytest.mark.parametrize("order", [("in.jsonl", "out-1.jsonl"), ("z.jsonl", "a.jsonl")])
def test_openai_batches_are_joined_by_custom_id(safe_gate: SafeGate, order: tuple[str, str]) -> None:
    write(
        order[0],
        request("a", *EARLIER, TURNS[0]),
        request("b", TURNS[0]),
        request("c", TURNS[0]),
        request("d", TURNS[0]),
    )
    write(order[1], response("b", ""), response("a", REPLY), response("c", "x", 500), response("e", REPLY))
    ran = safe_gate("import", *order, "--out", "out.jsonl", "--force")
    assert ran.code == 3
    for words in (": c: is an error: status 500", ": e: answers no request", ": d: has no response in these files"):
        assert words in ran.err
    assert exchanges(imported(safe_gate, *order, "--skip-invalid")) == [("b", ASK, ""), ("a", ASK, REPLY)]


def test_deepeval(safe_gate: SafeGate) -> None:
    ran = safe_gate("import", FIXTURES / "deepeval.json", "--out", "out.jsonl", "--force")
    assert ran.code == 3
    assert "parcel: has no reply; expected text in actual_output" in ran.err
    cases = imported(safe_gate, FIXTURES / "deepeval.json", "--skip-invalid")
    assert exchanges(cases) == [
        ("invoice", "Where is my invoice?", "It is under Billing."),
        ("visit", "And on Tuesday?", "At ten."),
    ]
    assert cases[0]["tags"] == ["billing"]
    (case,) = imported(safe_gate, FIXTURES / "deepeval-dataset.json")
    assert case["assistant"] == "It is under Billing."


def test_every_format_is_in_the_documents() -> None:
    text = (REPOSITORY / "docs/import.md").read_text("utf-8")
    for name in formats.FORMATS:
        assert f"`{name}`" in text
