"""What becomes of a record: its own fields, its id, its samples, its history, and a file that ends early."""

import csv
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.cases import SafeGate, write_json
from tests.support.importing import (
    ASK,
    EARLIER,
    LANGFUSE,
    REPLY,
    TURNS,
    cases_of,
    exchanges,
    imported,
    left_out,
    lm_eval,
    refusal,
    request,
    response,
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
CASE = {"id": "a", "user": ASK, "assistant": REPLY}
ROW = {"prompt": ASK, "response": REPLY}
MARKED = CASE | {"marks": {"leaves": ["left our shop"]}} | OWN
TALK = {"id": "c", "messages": [*EARLIER, *TURNS], "turns": "all", "context": 0} | OWN


@pytest.mark.parametrize("is_list", [False, True])
def test_our_own_cases_keep_all_their_fields(safe_gate: SafeGate, is_list: bool) -> None:
    assert imported(safe_gate, write("in.json", MARKED, TALK, is_list=is_list)) == [MARKED, TALK]


def test_columns_hold_checks_and_expectations(safe_gate: SafeGate) -> None:
    first = 'a,x,y,"topic_pivot, agency_language","{""topic_pivot"": true}",n'
    Path("in.csv").write_text(f"id,prompt,response,checks,expected,notes\n{first}\nb,x,y,,,\n", "utf-8")
    plain = {"user": "x", "assistant": "y"}
    own = {"checks": ["topic_pivot", "agency_language"], "expected": {"topic_pivot": True}, "notes": "n"}
    assert imported(safe_gate, "in.csv") == [{"id": "a"} | plain | own, {"id": "b"} | plain]


@pytest.mark.parametrize("expected", ["Paris", {"answer": "Paris"}, "{{name}} is greeted", "{bad"])
def test_fields_that_mean_another_thing_are_left_out(safe_gate: SafeGate, expected: Any) -> None:
    others = {"expected": expected, "context": "Text", "marks": 5, "judged": {"score": 4, "model": "m"}}
    asks_nothing = {"must_contain": [], "must_not_contain": " "}
    write("in.jsonl", {"id": "a", "question": ASK, "answer": REPLY} | others | asks_nothing)
    left = {f'the field "{name}" (1 record)' for name in others}
    assert left <= {*left_out(safe_gate, "in.jsonl")}
    assert cases_of("out.jsonl") == [CASE]


def test_records_of_one_line_are_told_apart_by_their_index(safe_gate: SafeGate) -> None:
    bad = {"prompt": ASK, "response": None}
    write_json("in.json", [ROW, bad, bad])
    assert "in.json:1: [1]: has no reply in response (2 times: also [2])\n" in refusal(safe_gate, "in.json")
    write_json("in.json", {"data": [ROW, bad]})
    assert "in.json:1: data[1]: has no reply in response\n" in refusal(safe_gate, "in.json")


def test_a_cell_holds_a_message_or_a_list_of_one(safe_gate: SafeGate) -> None:
    with Path("in.csv").open("w", encoding="utf-8", newline="") as file:
        others = ['{"role": "admin"}', '{"from": "user", "text": "Hi", "to": "bank"}', '{"type": "user", "value": 3}']
        rows = [[json.dumps(TURNS[:1]), json.dumps(TURNS[1])], [json.dumps(TURNS[0]), json.dumps(TURNS[1:])]]
        csv.writer(file).writerows([["user", "assistant"], *rows, *([ASK, other] for other in others)])
    assert [(case["user"], case["assistant"]) for case in imported(safe_gate, "in.csv")] == [
        *[(ASK, REPLY)] * 2,
        *((ASK, other) for other in others),
    ]


def test_fields_that_json_cannot_hold_are_left_out_and_listed(safe_gate: SafeGate) -> None:
    fields = '"x_score": NaN, "x_deep": {"a": [-1e999]}, "notes": Infinity, "must_contain": NaN, "tags": 5, "other": NaN, "x_kept": 1.5'
    Path("in.jsonl").write_text(f'{{"id": "a", "prompt": "x", "response": "y", {fields}}}\n', "utf-8")
    ran = safe_gate("import", "in.jsonl", "--out", "out.jsonl")
    assert cases_of("out.jsonl") == [{"id": "a", "user": "x", "assistant": "y", "x_kept": 1.5}]
    for name in ("x_score", "x_deep", "notes", "must_contain", "tags", "other"):
        assert f'Left out: the field "{name}" (1 record)\n' in ran.out


def test_columns_of_times_and_bytes_are_left_out_and_listed(safe_gate: SafeGate) -> None:
    at = datetime(2026, 1, 2, tzinfo=UTC)
    others = {"created": at, "image": {"bytes": b"\x00"}, "notes": at}
    pq.write_table(pa.Table.from_pylist([{"id": "a"} | ROW | others]), "in.parquet")
    assert left_out(safe_gate, "in.parquet") == [f'the field "{name}" (1 record)' for name in others]
    assert cases_of("out.jsonl") == [CASE]
    assert "1: a: has no text in created" in refusal(
        safe_gate, "in.parquet", "--map", "user=created,assistant=response"
    )


def test_a_first_line_of_many_megabytes_is_a_row(safe_gate: SafeGate) -> None:
    write("in.jsonl", {"log": "a " * (5 << 19)} | ROW, {"log": "", "prompt": "Hi.", "response": REPLY})
    assert [ask for _, ask, _ in exchanges(imported(safe_gate, "in.jsonl"))] == [ASK, "Hi."]


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (b'{"prompt": "x", "resp', "is not valid JSON: it breaks off, at column 17"),
        (b'{"prompt": "x", "response": "\xe2\x82', "is not UTF-8: it has the byte 0xe2"),
        (b'"x', "is not valid JSON: it breaks off, at column 1"),
    ],
)
def test_lines_that_end_early_are_never_skipped(safe_gate: SafeGate, end: bytes, words: str) -> None:
    good = b'{"id": "a", "prompt": "x", "response": "y"}\n'
    Path("in.jsonl").write_bytes(good * 25 + end)
    for flags in ([], ["--skip-invalid"]):
        assert f"in.jsonl:26: {words}" in refusal(safe_gate, "in.jsonl", *flags)
    Path("in.jsonl").write_bytes(good.rstrip())
    assert len(imported(safe_gate, "in.jsonl")) == 1


def test_a_prompt_of_lm_eval_with_a_chat_template_is_messages(safe_gate: SafeGate) -> None:
    arguments = {"gen_args_0": {"arg_0": json.dumps([*EARLIER, TURNS[0]]), "arg_1": {}}}
    (case,) = imported(safe_gate, write("in.jsonl", lm_eval(1, arguments=arguments, resps=[[REPLY]])))
    assert (case["id"], case["messages"]) == ("1", [*EARLIER, *TURNS])


# --- several replies to one prompt, and ids that stay unique --------------------------------------

OTHER = "Sorry, it is lost."
MESSAGES = [TURNS[1], {"role": "assistant", "content": OTHER}]
CHOICES = [{"index": place, "message": message} for place, message in enumerate(MESSAGES)]
ASKED = request("a", TURNS[0])


def generation(output: Any) -> dict[str, Any]:
    return LANGFUSE | {"id": "a", "type": "GENERATION", "input": json.dumps(TURNS[:1]), "output": json.dumps(output)}


def run(output: Any) -> dict[str, Any]:
    return {"id": "a", "run_type": "llm", "inputs": {"messages": [TURNS[:1]]}, "outputs": output}


def answered(*choices: Any) -> dict[str, Any]:
    found = response("a", "")
    found["response"]["body"] = {"choices": list(choices)}
    return found


SEVERAL: dict[str, list[dict[str, Any]]] = {
    "OpenAI Batch": [ASKED, answered(*CHOICES)],
    "OpenAI Batch of completions": [ASKED, answered({"text": REPLY}, {"text": OTHER})],
    "two responses of OpenAI Batch": [ASKED, response("a", REPLY), response("a", OTHER)],
    "LangSmith choices": [run({"choices": CHOICES})],
    "LangSmith generations": [run({"generations": [[{"text": REPLY}, {"text": OTHER}]]})],
    "LangSmith flat generations": [run({"generations": MESSAGES})],
    "LangSmith messages": [run({"generations": [[{"type": "ChatGeneration", "message": one} for one in MESSAGES]]})],
    "Langfuse choices": [generation({"choices": CHOICES})],
    "Langfuse texts": [generation("") | {"output": [REPLY, OTHER]}],
}


@pytest.mark.parametrize("form", SEVERAL)
def test_each_reply_to_a_prompt_is_a_sample(safe_gate: SafeGate, form: str) -> None:
    write("in.jsonl", *SEVERAL[form])
    assert exchanges(imported(safe_gate, "in.jsonl")) == [("a#1", ASK, REPLY), ("a#2", ASK, OTHER)]


@pytest.mark.parametrize(
    ("ids", "expected"),
    [(["a", "a#1", "a"], ["a#2", "a#1", "a#3"]), (["a", "a", "a#2", "a#2"], ["a#1", "a#3", "a#2#1", "a#2#2"])],
)
def test_samples_get_no_number_that_an_id_has(safe_gate: SafeGate, ids: list[str], expected: list[str]) -> None:
    write("in.jsonl", *({"id": id_} | ROW for id_ in ids))
    assert [case["id"] for case in imported(safe_gate, "in.jsonl")] == expected


CRITIC = [{"role": "critic", "content": "x"}]
RESULTS = f"""q,[a] Say: {{{{q}}}},[b] Say: {{{{q}}}},Status,Status
Why?,"[{{""role"":""user"",""content"":""x""}},{{""foo"":1}}]",{REPLY},PASS,PASS
"""


@pytest.mark.parametrize(
    ("name", "text", "ids"),
    [
        ("trl", json.dumps({"id": "a", "prompt": ASK, "chosen": CRITIC, "rejected": REPLY}), {"a#2"}),
        ("promptfoo", RESULTS, {"vars-e96fad9307d894d6#2"}),
        ("langsmith", json.dumps({"id": "m", "inputs": ASK, "outputs": {"message": TURNS[1], "choices": ["red"]}}), {"m"}),
        ("csv", f"id,user,assistant,context\nc,{ASK},{REPLY},{'9' * 5_000}\n", {"c"}),
        ("csv", f"id,user,assistant,must_contain\na,{ASK},{REPLY},\nb,x,y,988\n", {"a"}),
    ],
)  # fmt: skip
def test_a_reply_beside_what_is_refused_stays(safe_gate: SafeGate, name: str, text: str, ids: set[str]) -> None:
    Path("in").write_text(text, "utf-8")
    cases = imported(safe_gate, "in", "--from", name, "--skip-invalid")
    assert ({case["id"] for case in cases}, {case["assistant"] for case in cases}) == (ids, {REPLY})
