"""Formats of other tools: each is detected by its content and becomes cases."""

import csv
import json
import sys
import zipfile
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from safe_gate.addons.importers import formats
from tests.support.cases import REPOSITORY, Patch, SafeGate, write_json
from tests.support.importing import (
    ASK,
    CSV,
    EARLIER,
    FIXTURES,
    LANGFUSE,
    REPLY,
    SYSTEM,
    TURNS,
    cases_of,
    exchanges,
    imported,
    left_out,
    lm_eval,
    refusal,
    request,
    response,
    result,
    said,
    write,
)

EXACT = [(" a\r\nb ", "null"), ("7", ""), ("\ud800", "\u2028")]
ONE = [("a", ASK, REPLY)]
CALL: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [{}]}
TOOLS = [CALL, {"role": "tool", "content": "x"}]
IMAGE = {"type": "image_url", "image_url": {}}


def row(**fields: Any) -> dict[str, Any]:
    return {"id": "a"} | fields


def generation(id_: str, input_: Any, output: Any) -> dict[str, Any]:
    asked, said = (one if isinstance(one, str) else json.dumps(one) for one in (input_, output))
    return LANGFUSE | {"id": id_, "type": "GENERATION", "input": asked, "output": said}


def lc(name: str, **kwargs: Any) -> dict[str, Any]:
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": kwargs}


GENERATION = {"generations": [[{"text": REPLY, "message": lc("AIMessage", content=REPLY)}]]}
CHOICE = {"choices": [{"message": TURNS[1]}]}
FORMS: dict[str, tuple[str, list[Any], list[tuple[str, str, str]]]] = {
    "prompt and response": ("jsonl", [row(prompt=ASK, response=REPLY)], ONE),
    "input and output": ("jsonl", [row(id=7, input=ASK, output=REPLY)], [("7", ASK, REPLY)]),
    "question and answer": ("jsonl", [row(Question=ASK, Answer=REPLY)], ONE),
    "instruction and completion": ("jsonl", [row(instruction=ASK, completion=REPLY)], ONE),
    "prompt and completion": ("jsonl", [row(prompt=ASK, completion=REPLY)], ONE),
    "exact text": ("jsonl", [row(id=str(n), prompt=ask, response=reply) for n, (ask, reply) in enumerate(EXACT)], [(str(n), *one) for n, one in enumerate(EXACT)]),
    "messages": ("messages", [row(messages=[SYSTEM, *EARLIER, *TURNS])], ONE),
    "messages of parts": ("messages", [row(messages=[{"role": "user", "content": [{"type": "text", "text": ASK}, IMAGE]}, TURNS[1]])], ONE),
    "two messages of the user": ("messages", [row(messages=[*EARLIER, {"role": "user", "content": "Hm."}, *TURNS])], [("a", f"Hm.\n\n{ASK}", REPLY)]),
    "a call of a tool": ("messages", [row(messages=[TURNS[0], *TOOLS, TURNS[1]])], ONE),
    "ShareGPT": ("sharegpt", [row(conversations=[{"from": "system", "value": "Be kind."}, {"from": "human", "value": ASK}, {"from": "gpt", "value": REPLY}])], ONE),
    "TRL preferences": ("trl", [row(prompt=ASK, chosen=REPLY, rejected="Wait.")], [("a#1", ASK, REPLY), ("a#2", ASK, "Wait.")]),
    "TRL completions": ("trl", [row(prompt=TURNS[:1], completion=TURNS[1:])], ONE),
    "TRL conversations": ("trl", [row(chosen=TURNS, rejected=[TURNS[0], {"role": "assistant", "content": ""}])], [("a#1", ASK, REPLY), ("a#2", ASK, "")]),
    "promptfoo lines": ("promptfoo", [result(1, "x", {"output": REPLY})], [("t1", "Where is parcel 1?", REPLY)]),
    "promptfoo chat": ("promptfoo", [result(1, "x", {"output": REPLY}, prompt={"raw": json.dumps([*EARLIER, TURNS[0]]), "label": "l"})], [("t1", ASK, REPLY)]),
    "Langfuse": ("langfuse", [LANGFUSE | row(type="SPAN", input="x", output="y"), generation("a", [*EARLIER, TURNS[0]], TURNS[1])], ONE),
    "Langfuse texts": ("langfuse", [generation("a", {"messages": TURNS[:1]}, "7"), generation("b", "null", {"role": "assistant", "content": ""})], [("a", ASK, "7"), ("b", "null", "")]),
    "LangSmith runs": ("langsmith", [row(run_type="chain", inputs={"question": ASK}, outputs={"answer": REPLY}), row(run_type="llm", inputs={"messages": TURNS[:1]}, outputs=CHOICE)], ONE),
    "LangSmith messages": ("langsmith", [row(run_type="llm", inputs={"messages": [[lc("HumanMessage", content=ASK, type="human")]]}, outputs=GENERATION)], ONE),
    "LangSmith examples": ("langsmith", [row(inputs={"question": ASK}, outputs={"answer": REPLY})], ONE),
    "lm-eval": ("lm-eval", [lm_eval(0), lm_eval(1, resps=[["One.", "Two."]]), lm_eval(0, filter="strict")], [("0", "Question 0?", "Answer 0."), ("1#1", "Question 1?", "One."), ("1#2", "Question 1?", "Two.")]),
}  # fmt: skip


EACH = ("prompt and response", "messages", "ShareGPT", "TRL preferences", "promptfoo lines", "Langfuse", "lm-eval")
"""A form of each format."""


@pytest.mark.parametrize(
    ("form", "shape"), [*((form, "lines") for form in FORMS), *product(EACH, ("list", "one line"))]
)
def test_a_format_is_detected_by_its_content_and_becomes_cases(safe_gate: SafeGate, form: str, shape: str) -> None:
    format_, values, expected = FORMS[form]
    write("in.txt", *values, is_list=shape == "list")
    if shape == "one line":
        write_json("in.txt", values)
    cases = imported(safe_gate, "in.txt")
    assert exchanges(cases) == expected
    assert not any("checks" in case for case in cases), "default-checks applies"
    (read, *_) = said(safe_gate, "in.txt")
    assert read.startswith(f"in.txt: {formats.FORMATS[format_].title}, {len(expected)} case")
    assert exchanges(imported(safe_gate, "in.txt", "--from", format_)) == expected


def test_a_conversation_of_several_turns_becomes_messages(safe_gate: SafeGate) -> None:
    see = {"role": "user", "content": [{"type": "text", "text": "See."}, IMAGE]}
    write("in.jsonl", row(messages=[SYSTEM, see, *EARLIER[1:], *TOOLS, *TURNS], tags=["x"]))
    messages = [SYSTEM, {"role": "user", "content": "See."}, EARLIER[1], *TURNS]
    assert imported(safe_gate, "in.jsonl") == [row(messages=messages, tags=["x"])]
    expected = ["calls and answers of tools (1 record)", "parts that are not text (1 record)"]
    assert left_out(safe_gate, "in.jsonl") == expected
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
    assert (cases[0]["tags"], cases[0]["checks"]) == (["own", "new"], ["topic_pivot", "agency_language"])
    lines = ["in.csv: CSV, 3 cases", 'Left out: the field "topic" (2 records)', "Written: out.jsonl, 3 cases"]
    assert said(safe_gate, "in.csv") == lines


def test_tsv_and_parquet_are_read_too(safe_gate: SafeGate) -> None:
    Path("in.tsv").write_text(f"question\tanswer\n{ASK}\t{REPLY}\n", "utf-8")
    rows = [{"id": 1, "input": ASK, "output": REPLY}, {"id": 2, "input": "x", "output": ""}]
    pq.write_table(pa.Table.from_pylist(rows), "p")
    assert [one[1:] for one in exchanges(imported(safe_gate, "in.tsv"))] == [(ASK, REPLY)]
    assert exchanges(imported(safe_gate, "p")) == [("1", ASK, REPLY), ("2", "x", "")]
    assert said(safe_gate, "p", "--from", "parquet")[0] == "p: Parquet, 2 cases"


def write_table(name: str, *rows: list[str]) -> None:
    with Path(name).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["id", "traceId", "type", "level", "input", "output"], *rows])


@pytest.mark.parametrize("proof", ["Hello, you", "one\ntwo", "C:\\work", 'a "b"', '"Go," she said.'])
def test_a_cell_that_is_no_json_makes_all_cells_of_its_file_plain(safe_gate: SafeGate, proof: str) -> None:
    """In whichever row it is. A file whose texts are all JSON is decoded, also that the rows are no errors."""
    replies = ["C:\\new\\tools", '"Be kind."', "x"]
    write_table("plain.csv", *([str(n), "t", "GENERATION", "", proof, one] for n, one in enumerate(replies)))
    error, span = ["a", "t", "GENERATION", "ERROR", "x", "y"], ["b", "t", "SPAN", "", "x", "y"]
    rows = error, span, ["c", "t", "GENERATION", "", "x", proof]
    write_table("json.csv", *([json.dumps(cell) if cell else '[\n  {"a": 1}\n]' for cell in row] for row in rows))
    cases = exchanges(imported(safe_gate, "json.csv", "plain.csv", "--skip-invalid"))
    assert cases == [("c", "x", proof), *((str(n), proof, one) for n, one in enumerate(replies))]


def test_langfuse_csv_holds_json_without_its_quotes_if_there_is_no_comma(safe_gate: SafeGate) -> None:
    write_table("in.csv", ["a", "t", "GENERATION", "", "Hi \\u00e9", '{"role": "assistant", "content": "a\\nb"}'])
    assert exchanges(imported(safe_gate, "in.csv")) == [("a", "Hi é", "a\nb")]


def test_langfuse_pages_of_the_api(safe_gate: SafeGate) -> None:
    call = {"traceId": "t", "startTime": "2026-01-01", "input": TURNS[:1], "level": "DEFAULT"}
    observed = (("s", "SPAN", "x"), ("a", "GENERATION", TURNS[1]))
    data = [call | {"id": id_, "type": type_, "output": output} for id_, type_, output in observed]
    write_json("page.json", {"meta": {"page": 1, "totalItems": 2}, "data": data})
    assert "observations that are not generations (1 record)" in left_out(safe_gate, "page.json")
    assert exchanges(cases_of("out.jsonl")) == ONE
    trace = dict.fromkeys(("timestamp", "userId", "release")) | {"input": {"messages": TURNS[:1]}, "output": REPLY}
    write_json("page.json", {"data": [row(**trace)], "meta": {}})
    assert exchanges(imported(safe_gate, "page.json")) == ONE


@pytest.mark.parametrize(
    ("beside", "words"),
    [
        ({"meta": {"page": 1, "totalPages": 2}}, "is one of 2 pages, and the files have 1; import all of them"),
        *(({one: True}, f"is not the last page, as {one} says; import all pages") for one in ("has_more", "truncated")),
        ({"meta": {"cursor": "x"}}, "is not the last page, as meta.cursor says; import all pages"),
        ({"error": "partial export"}, "is an error: partial export"),
        ({"meta": {"page": 1, "totalPages": 1}, "has_more": False, "next_cursor": "x", "error": None}, ""),
        ({"total": 120}, ""),
        ({"next": "Review it on Friday"}, ""),
    ],
)
def test_a_page_is_refused_without_the_others(safe_gate: SafeGate, beside: dict[str, Any], words: str) -> None:
    last = {"meta": beside["meta"] | {"page": 2}} if "page" in beside.get("meta", {}) else {}
    for page, header in (("1", beside), ("1-again", beside), ("2", last)):
        write_json(f"page-{page}.json", {"data": [row(id=page[0], prompt=ASK, response=REPLY)]} | header)
    write("other.jsonl", row(id="other", prompt=ASK, response=REPLY))
    for files in (["page-1.json"], ["page-1*.json", "other.jsonl"]):
        if words:
            assert f"page-1.json:1: {words}\n" in refusal(safe_gate, *files)
        assert imported(safe_gate, *files, *["--skip-invalid"] * bool(words))
    if "error" not in beside or not words:
        assert len(imported(safe_gate, "page-1.json", "page-2.json", "other.jsonl")) == 3


def test_fewer_records_than_the_total_are_refused_and_what_is_beside_them_is_listed(safe_gate: SafeGate) -> None:
    page = {"data": [row(prompt=ASK, response=REPLY)], "total": 2, "page": 1, "failed": [{"id": "b"}]}
    for name in "ab":  # the same page again is no other one
        write_json(f"{name}.json", page)
        assert f"{name}.json:1: has total 2, and the files have 1; import all" in refusal(safe_gate, "?.json")
    write_json("b.json", page | {"page": 2, "data": [{"prompt": ASK, "response": REPLY}]})
    expected = [f'the field "{name}" beside the records (2 records)' for name in ("failed", "page", "total")]
    assert left_out(safe_gate, "a.json", "b.json") == expected
    write_json("a.json", page | {"data": [row(id="a", prompt=ASK, response=REPLY)] * 2})
    assert len(imported(safe_gate, "a.json")) == 2, "two samples of one page are two records"
    for name, ids in (("a", "ab"), ("b", "bc")):
        rows = [row(id=id_, prompt=ASK, response=REPLY) for id_ in ids]
        write_json(f"{name}.json", {"data": rows, "total": 4, "offset": ord(ids[0])})
    assert "a.json:1: has total 4, and the files have 3" in refusal(safe_gate, "?.json"), "one record is on both pages"
    for name in "ab":
        write_json(f"{name}.json", {"data": [row(id=name, prompt=ASK, response=REPLY)], "meta": {"totalPages": 2}})
    assert len(imported(safe_gate, "a.json", "b.json")) == 2, "pages may have no numbers"
    write_json("log.json", {"status": "success", "eval": {}, "samples": []})
    write_json("b.json", {"data": page["data"], "has_more": True})
    assert "b.json:1: is not the last page, as has_more says" in refusal(safe_gate, "b.json", "log.json")


@pytest.mark.parametrize("order", [("in.jsonl", "out-1.jsonl"), ("z.jsonl", "a.jsonl")])
def test_openai_batches_are_joined_by_custom_id(safe_gate: SafeGate, order: tuple[str, str]) -> None:
    write(order[0], request("a", *EARLIER, TURNS[0]), *(request(id_, TURNS[0]) for id_ in "bcd"))
    write(order[1], response("b", ""), response("a", REPLY), response("c", "x", 500), response("e", REPLY))
    err = refusal(safe_gate, *order)
    for words in (": c: is an error: status 500", ": e: answers no request", ": d: has no response in these files"):
        assert words in err
    assert exchanges(imported(safe_gate, *order, "--skip-invalid")) == [("b", ASK, ""), ("a", ASK, REPLY)]


def test_a_mapped_record_needs_no_other_record(safe_gate: SafeGate) -> None:
    write("in.jsonl", request("a", TURNS[0]) | response("a", REPLY))
    paths = "id=custom_id,user=body.messages,assistant=response.body.choices[0].message"
    assert exchanges(imported(safe_gate, "in.jsonl", "--map", paths)) == ONE


def test_a_format_is_detected_behind_many_lines_that_are_not_json(safe_gate: SafeGate) -> None:
    Path("in.jsonl").write_text("{}\n" + "{\n" * 20 + json.dumps({"id": "a", "messages": TURNS}) + "\n", "utf-8")
    assert exchanges(imported(safe_gate, "in.jsonl", "--skip-invalid")) == ONE


def test_two_batches_with_one_custom_id_make_no_case_of_it(safe_gate: SafeGate) -> None:
    write("1.jsonl", request("a", TURNS[0]), request("b", TURNS[0]), response("a", REPLY), response("b", "", 500))
    write("2.jsonl", request("a", EARLIER[0]), request("b", TURNS[0]), response("a", "Hi."), response("b", REPLY))
    words = "1: a: has a custom_id of requests that differ; give each its own, or import each batch by itself (2 times)"
    err = refusal(safe_gate, "?.jsonl")
    assert all(f"{file}.jsonl:{words}" in err for file in "12"), err
    assert exchanges(imported(safe_gate, "?.jsonl", "--skip-invalid")) == [("b#2", ASK, REPLY)], "a retry is the same"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"status": "failed", "error": {"code": "server_error", "message": "It broke."}}, "is an error: It broke.\n"),
        ({"status": "incomplete"}, "is an error: status incomplete\n"),
        ({"status": "completed", "output": []}, "has no reply; "),
    ],
)
def test_a_response_that_is_not_completed_is_an_error(safe_gate: SafeGate, body: dict[str, Any], words: str) -> None:
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": REPLY}]}
    body = {"object": "response", "error": None, "output": [said]} | body
    answer = {"custom_id": "a", "response": {"status_code": 200, "body": body}}
    assert f"a: {words}" in refusal(safe_gate, write("in.jsonl", request("a", TURNS[0]), answer))


def test_deepeval(safe_gate: SafeGate) -> None:
    err = refusal(safe_gate, FIXTURES / "deepeval.json")
    assert 'parcel: has no known pair of fields, but "name", "input", ' in err
    cases = imported(safe_gate, FIXTURES / "deepeval.json", "--skip-invalid")
    billing = "It is under Billing."
    expected = [("invoice", "Where is my invoice?", billing), ("visit", "And on Tuesday?", "At ten.")]
    assert (exchanges(cases), cases[0]["tags"]) == (expected, ["billing"])
    assert imported(safe_gate, FIXTURES / "deepeval-dataset.json")[0]["assistant"] == billing
    with Path("cells.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["scenario", "turns", "name"], ["Late", json.dumps([*EARLIER, *TURNS]), "a"]])
    assert exchanges(imported(safe_gate, "cells.csv")) == ONE


def test_every_format_is_in_the_documents() -> None:
    text = (REPOSITORY / "docs/import.md").read_text("utf-8")
    assert [name for name in formats.FORMATS if f"`{name}`" not in text] == []


# --- Inspect ---------------------------------------------------------------------------------------

INVOICE, LATE = "Where do I find my invoice?", "My parcel is late and I am upset."


def log() -> Any:
    return json.loads((FIXTURES / "inspect.json").read_text("utf-8"))


def inspect_log(*samples: dict[str, Any]) -> None:
    write("log.json", {"status": "success", "eval": {}, "samples": samples})


def archive(files: Mapping[str, Any]) -> None:
    with zipfile.ZipFile("log.eval", "w", zipfile.ZIP_DEFLATED) as opened:
        for name, one in files.items():
            opened.writestr(name, json.dumps(one))


def samples() -> dict[str, Any]:
    return {f"samples/{one['id']}_epoch_{one['epoch']}.json": one for one in log()["samples"]}


@pytest.mark.parametrize("name", ["inspect.json", "inspect.eval"])
def test_an_inspect_log_of_three_epochs(safe_gate: SafeGate, name: str) -> None:
    cases = imported(safe_gate, FIXTURES / name)
    expected = {
        (f"{id_}#{n}", ask, "" if (n, ask) == (2, INVOICE) else f"Reply {n} to: {ask}\r\n")
        for id_, ask in (("7", INVOICE), ("late-parcel", LATE))
        for n in (1, 2, 3)
    }
    assert {*exchanges(cases)} == expected
    assert all(case["id"].endswith(f"#{case['x_epoch']}") for case in cases)
    assert "an Inspect log, 6 cases" in said(safe_gate, FIXTURES / name)[0]


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("xl/workbook.xml", "is a spreadsheet; save its sheet as CSV UTF-8"),
        ("rows.jsonl", "is an archive without a log of Inspect; unpack it first"),
    ],
)
def test_another_archive_is_refused_with_what_to_do(safe_gate: SafeGate, file: str, words: str) -> None:
    archive({file: {"prompt": ASK, "response": REPLY}})
    assert f"log.eval: {words}\n" in refusal(safe_gate, "log.eval", "--skip-invalid")


def test_an_inspect_log_with_errors_and_attachments(safe_gate: SafeGate) -> None:
    whole = log()
    first, second, third = whole["samples"][:3]
    first |= {"input": "attachment://abc", "attachments": {"abc": ASK}}
    second |= {"error": {"message": "the model is busy", "traceback": "..."}}
    third |= {"output": {"model": "m", "choices": [], "completion": ""}}
    write("log.json", whole | {"status": "error", "samples": [first, second, third]}, indent=2)
    err = refusal(safe_gate, "log.json")
    for words in ('the status "error"', "late-parcel: is an error: the model is busy", "7: has no reply", "3 problems"):
        assert words in err
    assert [ask for _, ask, _ in exchanges(imported(safe_gate, "log.json", "--skip-invalid"))] == [ASK]


def test_an_input_that_is_json_stays_text(safe_gate: SafeGate) -> None:
    asked = json.dumps([{"role": "user", "content": ASK}])
    inspect_log({"id": "a", "epoch": 1, "input": asked, "output": {"completion": "Yes."}})
    assert exchanges(imported(safe_gate, "log.json")) == [("a", asked, "Yes.")]


def test_what_an_output_holds_besides_the_reply_is_left_out_and_listed(safe_gate: SafeGate) -> None:
    choice = {"message": {"role": "assistant", "content": "Yes."}, "stop_reason": "max_tokens"}
    sample = {"id": "a", "epoch": 1, "input": ASK, "output": {"completion": "Yes.", "choices": [choice], "note": "x"}}
    inspect_log(sample)
    expected = [f"the field {name} of the output (1 record)" for name in ('"note"', '"stop_reason"')]
    assert left_out(safe_gate, "log.json") == expected
    failed, refused = (sample | {"output": {"completion": one, "error": "It broke."}} for one in ("", "Sorry."))
    inspect_log(failed, refused)
    assert "log.json:1: a: is an error: It broke.\n" in refusal(safe_gate, "log.json")
    assert [one[2] for one in exchanges(imported(safe_gate, "log.json", "--skip-invalid"))] == ["Sorry."]


@pytest.mark.parametrize("ids", [[{"id": f"m{n}"} for n in range(4)], [{}] * 4])
def test_an_output_that_messages_follow_is_no_second_reply(safe_gate: SafeGate, ids: list[dict[str, str]]) -> None:
    talk = [one | id_ for one, id_ in zip((*EARLIER, *TURNS), ids, strict=True)]
    one = {"epoch": 1, "input": EARLIER[0]["content"], "output": {"choices": [{"message": talk[1]}]}}
    inspect_log(one | {"id": "goes-on", "messages": talk}, one | {"id": "asks", "messages": talk[:3]})
    assert "asks: ends with a message of the user; expected a reply" in refusal(safe_gate, "log.json")
    (case,) = imported(safe_gate, "log.json", "--skip-invalid")
    assert case == {"id": "goes-on", "messages": [*EARLIER, *TURNS], "x_epoch": 1}


def test_an_answer_that_an_agent_submits_is_its_reply(safe_gate: SafeGate) -> None:
    call = {"role": "assistant", "content": "", "tool_calls": [{"function": "submit"}]}
    outputs = [{"completion": "Yes.", "choices": [{"message": one}]} for one in (call, TURNS[1])]
    samples = [{"id": str(n), "epoch": 1, "input": ASK, "output": one} for n, one in enumerate(outputs)]
    samples[1]["messages"] = [TURNS[0], TURNS[1], {"role": "tool", "content": "Yes."}]
    inspect_log(*samples)
    assert exchanges(imported(safe_gate, "log.json")) == [("0", ASK, "Yes."), ("1", ASK, REPLY)]
    expected = ["calls and answers of tools (2 records)", 'the field "completion" of the output (1 record)']
    assert left_out(safe_gate, "log.json") == expected


def test_an_archive_without_zstd_needs_no_library(safe_gate: SafeGate, monkeypatch: Patch) -> None:
    archive(dict(reversed(samples().items())) | {"header.json": {"status": "success"}})
    monkeypatch.setitem(sys.modules, "backports", None)
    assert [case["id"] for case in imported(safe_gate, "log.eval")][:3] == ["7#1", "7#2", "7#3"]
    if not hasattr(zipfile, "ZIP_ZSTANDARD"):
        words = "is compressed with zstd, but its library is not installed; install SAFE Gate with the extra `zstd`"
        assert f"{words}: in a checkout, pip install '.[zstd]'\n" in refusal(safe_gate, FIXTURES / "inspect.eval")


EMPTY = "has no samples; write the log with its samples (log_samples)"


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ({}, "has no header with a status, as after a killed run, so samples may be missing"),
        ({"status": 5}, "has no header with a status"),
        ({"status": "started"}, 'has the status "started", so samples may be missing; expected "success"'),
        ({"status": "error", "error": {"message": "boom"}}, 'has the status "error"'),
        ({"status": "success", "results": {"total_samples": 7}}, "has 6 of 7 samples, as results.total_samples says"),
        ({"status": "success"}, ""),
        ({"status": "success", "plan": {}, "samples": None}, EMPTY),
        ({"status": "success", "plan": {}, "samples": []}, EMPTY),
    ],
)
def test_a_log_that_may_lack_samples_is_refused(safe_gate: SafeGate, header: dict[str, Any], words: str) -> None:
    known = [] if "samples" in header else log()["samples"]
    write("log.json", {"eval": {"task": "t"}, "samples": known} | header)
    start = {"_journal/start.json": {"version": 2, "eval": {"task": "t"}}}
    archive((samples() if known else {}) | start | ({"header.json": {"eval": {}} | header} if header else {}))
    for name in ("log.json", "log.eval"):
        if words:
            err = refusal(safe_gate, name)
            assert (f"{name}: {words}" in err, "1 problem;" in err) == (True, True), err
        if known:
            assert len(imported(safe_gate, name, *["--skip-invalid"] * bool(words))) == 6


@pytest.mark.parametrize("files", [{}, {"samples/1_epoch_1.json": {"messages": TURNS}}])
def test_a_header_that_is_no_object_is_refused_in_any_format(safe_gate: SafeGate, files: dict[str, Any]) -> None:
    archive({"header.json": [], **files})
    assert "log.eval: in header.json: is not an object" in refusal(safe_gate, "log.eval", "--from", "messages")


def test_an_archive_that_expands_too_far_is_refused(safe_gate: SafeGate) -> None:
    with (
        zipfile.ZipFile("log.eval", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("samples/1.json", "w", force_zip64=True) as file,
    ):
        for _ in range(140):
            file.write(b" " * (1 << 20))
    assert "log.eval: expands from " in refusal(safe_gate, "log.eval")
