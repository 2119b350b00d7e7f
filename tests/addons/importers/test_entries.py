"""Records as cases: mapped fields, their own fields, ids and samples, and records that cannot become one."""

import csv
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.cases import SafeGate, bare_case, write_batch, write_json
from tests.support.hostile import commands_in
from tests.support.importing import (
    ASK,
    EARLIER,
    LANGFUSE,
    OUTPUT,
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
    result,
    write,
)

RUN = {"id": "a", "run_type": "llm", "inputs": {"messages": [TURNS[:1]]}}


def test_a_mapping_names_fields_and_nested_paths(safe_gate: SafeGate) -> None:
    row = {"row": 5, "said": {"by user": ASK}, "calls": [{"reply": json.dumps({"text": REPLY})}], "kind": "billing"}
    mapping = ("--map", "user=said.by.user, assistant=calls[0].reply.text,id=row,tags=kind")
    assert "has no field said.by.user; correct --map" in refusal(safe_gate, write("in.jsonl", row), *mapping)
    for said in ({"by": {"user": ASK}}, {"by.user": ASK, "by": "x"}):
        write("in.jsonl", row | {"said": said})
        (case,) = imported(safe_gate, "in.jsonl", *mapping)
        assert (exchanges([case]), case["tags"]) == ([("5", ASK, REPLY)], ["billing"])


def test_a_reply_beside_the_messages_is_read_where_it_is_named(safe_gate: SafeGate) -> None:
    for reply, path in ((REPLY, ""), ({"choices": [{"message": TURNS[1]}]}, ".choices[0].message")):
        write("in.jsonl", {"id": "a", "messages": [*EARLIER, TURNS[0]], "response": reply})
        mapping = f"user=messages,assistant=response{path}"
        assert exchanges(imported(safe_gate, "in.jsonl", "--map", mapping)) == [("a", ASK, REPLY)]
    assert "a: has no known field for user, but" in refusal(safe_gate, "in.jsonl", "--map", "assistant=response")
    write("in.jsonl", {"id": "a", "log": {"chat": TURNS}})
    mapping = "user=log.chat,assistant=log.chat"
    assert exchanges(imported(safe_gate, "in.jsonl", "--map", mapping)) == [("a", ASK, REPLY)]


TALK = {"id": "a", "messages": [*EARLIER, *TURNS]}
WRONG = "Try pottery."


@pytest.mark.parametrize(
    ("beside", "refused"),
    [
        ({"user": "I miss him.", "assistant": WRONG}, "assistant"),
        ({"Response": WRONG}, "Response"),
        ({"output": {"choices": [{"message": {"role": "assistant", "content": WRONG}}]}}, "output"),
        ({"user": "u_77", "prompt": "chat-v1", "response": f"\n{REPLY}"}, ""),
        ({"response": f"<think>Hm.</think>{REPLY}", "output": {"choices": [{"message": TURNS[1]}]}}, ""),
        ({"instruction": "Hello", "response": EARLIER[1]["content"]}, ""),
        ({"response": "", "completion": None, "output": {"tokens": 7}, "answer": "42"}, ""),
    ],
)
def test_another_reply_beside_a_conversation_is_refused(
    safe_gate: SafeGate, beside: dict[str, Any], refused: str
) -> None:
    write("in.jsonl", TALK | beside)
    if refused:
        advice = f"name both sides: --map user=messages,assistant={refused} or assistant=messages\n"
        words = f'1: a: has a reply in "{refused}" that "messages" has not; {advice}'
        assert words in refusal(safe_gate, "in.jsonl")
    mapping = ("--map", "user=messages,assistant=messages") if refused else ()
    assert imported(safe_gate, "in.jsonl", *mapping) == [TALK]


def test_a_mapped_id_is_needed_only_where_a_reply_is(safe_gate: SafeGate) -> None:
    sample = {"id": "a", "epoch": 1, "uuid": "u", "input": ASK, "output": {"completion": REPLY}}
    write("log.json", {"status": "success", "eval": {}, "samples": [sample]})
    assert exchanges(imported(safe_gate, "log.json", "--map", "id=uuid")) == [("u", ASK, REPLY)]
    write("in.jsonl", request("a", TURNS[0]), response("a", REPLY) | {"id": "u"})
    assert exchanges(imported(safe_gate, "in.jsonl", "--map", "id=id")) == [("u", ASK, REPLY)]


@pytest.mark.parametrize(
    ("other", "words", "mapping"),
    [
        ({"user": "u_77"}, 'has both "user" and "prompt"; name the one to read: --map user=FIELD', "user=prompt"),
        ({"Answer": "x"}, 'has both "response" and "Answer"; name the one to read: --map assistant', "assistant=response"),
        ({"user": "a@b.c", "prompt": None, "Message": ASK}, 'has both "user" and "Message"; name the', "user=message"),
        ({"assistant": ""}, 'has both "assistant" and "response"', "assistant=response"),
        ({"prompt": None, "user": ASK, "text": ASK}, "", "user=text"),
        *(({"query": one}, "", "user=prompt") for one in (None, "", ASK)),
    ],
)  # fmt: skip
def test_two_fields_for_one_side_are_told_apart_by_a_mapping(
    safe_gate: SafeGate, other: dict[str, Any], words: str, mapping: str
) -> None:
    write("in.jsonl", {"id": "a", "prompt": ASK, "response": REPLY} | other)
    if words:
        assert f"in.jsonl:1: a: {words}" in refusal(safe_gate, "in.jsonl")
    for flags in (("--map", mapping), *[()] * (not words)):
        assert exchanges(imported(safe_gate, "in.jsonl", *flags)) == [("a", ASK, REPLY)]


def test_what_stands_beside_a_mapped_field_is_left_out_and_listed(safe_gate: SafeGate) -> None:
    choices = [{"message": {"role": "assistant", "content": one, "mood": "low"}} for one in (REPLY, "Another.")]
    row = {"id": "a", "q": json.dumps({"text": ASK, "lang": "en"}), "res": {"choices": choices, "n": 2}}
    write("in.jsonl", row, row | {"id": "b"})
    for path, more in ((".content", ()), ("", ['the field "mood" of messages (2 records)'])):
        mapping = ("--map", f"user=q.text,assistant=res.choices[0].message{path}")
        rest = [f'the rest of the field "{name}" (2 records)' for name in ("q", "res")]
        assert left_out(safe_gate, "in.jsonl", *mapping) == [*more, *rest]
    assert left_out(safe_gate, "in.jsonl", "--map", "user=q,assistant=res.choices[0].message,tags=res") == [
        'the field "mood" of messages (2 records)'
    ]


def test_rows_without_ids_are_named_by_what_the_user_wrote(safe_gate: SafeGate) -> None:
    rows = [{"prompt": ask, "response": str(n)} for n, ask in enumerate((ASK, "x", ASK))]
    first, other, again = (case["id"] for case in imported(safe_gate, write("in.jsonl", *rows)))
    assert (first[:5], first[-2:], again) == ("user-", "#1", f"{first[:-2]}#2")
    assert [case["id"] for case in imported(safe_gate, write("in.jsonl", *rows[1:]))] == [other, first[:-2]]


COLUMNS = {"found": OUTPUT["signals"], "note": OUTPUT["summary"], "ask": OUTPUT["followup_questions"]}


@pytest.mark.parametrize(
    ("row", "mapping"),
    [
        ({"id": "a"} | OUTPUT, ""),
        ({"test_id": "a", "output": OUTPUT}, ""),
        ({"id": "a", "prompt": "x", "output": json.dumps(OUTPUT)}, ""),
        ({"row": "a", "reply": {"json": OUTPUT}}, "test_id=row,output=reply.json"),
        ({"id": "a"} | COLUMNS, "signals=found,summary=note,followup_questions=ask"),
        (result(1, "x", {"output": OUTPUT}, vars={"n": "a"}), "id=vars.n"),
        ('id,signals,summary,followup_questions\na,"[""Fever""]",She went home.,"[""Who called?""]"\n', ""),
    ],
    ids=["columns", "an object", "JSON in a text", "a mapped reply", "mapped columns", "a promptfoo row", "CSV"],
)
def test_recorded_outputs_of_safe_v0(safe_gate: SafeGate, row: Any, mapping: str) -> None:
    Path("in").write_text(row if isinstance(row, str) else json.dumps(row) + "\n", "utf-8")
    cases = imported(safe_gate, "in", "--evaluator", "safe_v0", *["--map", mapping] * bool(mapping))
    assert [{key: one[key] for key in ("test_id", "output")} for one in cases] == [{"test_id": "a", "output": OUTPUT}]
    write_batch(Path("b.json"), bare_case("a"))
    assert safe_gate("score", "--batch", "b", "--outputs", "out.jsonl").code == 0


@pytest.mark.parametrize(
    ("line", "flags", "words"),
    [
        ('{"prompt": "x"', [], "in.jsonl:1: is not valid JSON: it breaks off"),
        ("id,prompt,response\n", [], "in.jsonl: has no records to import"),
        ('{"id": "q", "prompt": "x", "response": null}', [], "in.jsonl:1: q: has no reply in response"),
        ('{"id": "q", "prompt": 1, "response": "x"}', [], "in.jsonl:1: q: has no text in prompt"),
        ('{"prompt": "x", "response": {"a": 1}}', [], "has a reply that is an object; expected text"),
        ('{"prompt": "x", "response": "", "error": "timeout"}', [], "in.jsonl:1: is an error: timeout"),
        (json.dumps({"messages": TURNS[:1]}), [], "in.jsonl:1: ends with a message of the user; expected a reply"),
        (json.dumps({"messages": TURNS[1:]}), [], "has no message of the user before the last reply"),
        (json.dumps({"messages": [TURNS[0], {"role": "assistant", "content": None}]}), [], "ends with a message without text"),
        (json.dumps({"messages": [*TURNS, {"role": "judge"}]}), [], "has a message without a known role at index 2"),
        (json.dumps(LANGFUSE | {"type": "GENERATION", "input": "x", "output": ""}), [], "has no reply: its output is not set"),
        (json.dumps(LANGFUSE | {"type": "GENERATION", "level": "ERROR", "status_message": "down", "input": "x", "output": "y"}), [], "is an error: down"),
        (json.dumps(lm_eval(1, resps=[[[-1.5, False]]])), [], "has no text in resps; expected responses of a generate_until task"),
        ('{"frage": "x", "antwort": "y"}', [], 'has no format that is known, but records with "frage", "antwort"; take a list out with jq -c \'.LIST[]\', name the fields with --map'),
        ('{"frage": "x"}\n{"frage": "y"}\n', [], 'has no format that is known, but records with "frage"; name the fields with --map'),
        ('{"prompt": "x", "response": "y"}', ["--map", "usr=prompt"], 'has "usr=prompt" (did you mean "user"?)'),
        ('{"prompt": "x", "response": "y"}', ["--map", "user=a,user=b"], "names user twice; keep one"),
        ('{"role": "user", "content": "x"}', ["--map", "user=content,assistant=content"], "1: has no whole exchange in content; name two fields"),
        ('{"prompt": "x", "response": "y"}', ["--map", "id=row"], "in.jsonl:1: has no id in row; correct --map"),
        ('{"prompt": "x", "response": {"text": "y"}}', ["--map", "assistant=response.txt"], 'has no field response.txt; correct --map'),
        ('{"prompt": "x", "response": "y"}', ["--from", "promptfo"], "argument --from: invalid choice: 'promptfo'"),
        ('{"prompt": "x", "response": "y"}', ["--checks", "topic-pivot"], '"topic-pivot" is not allowed'),
        ('{"prompt": "x", "response": "y"}', ["--evaluator", "safe_v0"], "has no id; name it: --map test_id=FIELD"),
        ('{"id": "q", "prompt": "x", "response": "y"}', ["--evaluator", "safe_v0"], 'q: output: is "y"; expected an object'),
        ('{"id": "q", "output": "```json\\n{}"}', ["--evaluator", "safe_v0"], 'q: output: is "```json\\n{}"; expected an object'),
        ('{"id": "q", "output": ""}', [], 'has no format that is known, but records with "id", "output"'),
        (json.dumps(OUTPUT), [], "has a reply that is an object; expected text; name the text in it"),
        ('{"id": "q", "reply": null}', ["--evaluator", "safe_v0", "--map", "output=reply"], "in.jsonl:1: q: has no reply in reply"),
        ("id,prompt,response\n1,x\n", [], "in.jsonl:2: has 2 fields; expected 3, as the header has"),
        ("id,prompt,response\n1,x\0,y\n", ["--encoding", "utf-8"], "in.jsonl: has NUL bytes, as UTF-16 has; name it, such as --encoding utf-16-le, or remove them"),
        ("\ufeffsep=;\r\nid;prompt;response\r\n1;x;y\r\n", [], 'in.jsonl:1: begins with "sep=", which only Excel needs; remove this line'),
        ('id,prompt,response\n1,"x,y', [], "is not CSV: unexpected end of data"),
        ("prompt,prompt,response\n1,2,3\n", [], 'has both "prompt" and "prompt (column 2)"; name the one to read'),
        ('id,prompt,response,must_contain,must_contain\n1,x,y,,"[""z""]"\n', [], 'has the column "must_contain" twice'),
        ("nothing", [], "does not look like JSON, CSV, TSV, Parquet or .eval"),
        ("", [], "in.jsonl: is empty: there is nothing to import"),
        ('[{"prompt": "x", "response": "y"}, {"prompt": }]', [], "in.jsonl:1: is not valid JSON"),
        ("PK\x03\x04 no archive", [], "is not a readable archive"),
        ('{"prompt": "x", "response": "y"}', ["--from", "parquet"], "is not Parquet; leave --from out to detect the format"),
        ("prompt,response\nx,y\n", ["--from", "jsonl"], "is not JSON objects with named fields; leave --from out"),
        ('[{"prompt": "x", "response": "y"}]', ["--from", "csv"], "is not CSV; leave --from out to detect the format"),
        ('{"id": "a", "instruction": "Add.", "input": [2, 2], "output": "4"}', [], "1: a: has an instruction or an input that is not text; name one: --map user=FIELD"),
        (json.dumps({"id": "a", "messages": [TURNS[0], {"role": "assistant", "content": "", "tool_calls": [{}]}]}), [], "1: a: ends with a message without text"),
        (json.dumps({"id": "a", "messages": [*TURNS, {"role": "user", "content": ""}]}), [], "1: a: ends with a message without text; expected a reply"),
        ('{"id": "a", "messages": 5}', ["--from", "messages"], "1: a: has no messages; expected a list of messages"),
        (json.dumps(RUN | {"outputs": {"role": "tool", "content": "x"}}), [], "1: a: has no reply; if another field has it, name it"),
        (json.dumps(RUN | {"outputs": {"messages": [TURNS[0]]}}), [], "1: a: has no reply; if another field has it, name it"),
        (json.dumps(RUN | {"outputs": {"generations": [[{"text": "x"}], [{"text": "y"}]]}}), [], "1: a: has answers to 2 prompts"),
        (json.dumps(RUN | {"run_type": "chain", "outputs": {}}), [], "has no record that can become a case; nothing is written; name the fields with --map\n"),
        (json.dumps(LANGFUSE | {"type": "GENERATION", "input": {"args": ["x"]}, "output": "y"}), [], "has no message of a user in its input; name both sides: --map"),
        (json.dumps(RUN | {"inputs": {"messages": [TURNS[:1], TURNS[:1]]}, "outputs": {"text": "x"}}), [], "1: a: has 2 prompts in its input"),
        (json.dumps(response("a", "x")), [], "1: a: answers no request of these files; name the file of requests too\n"),
        (json.dumps(request("a", TURNS[0])), [], "1: a: has no response in these files; name the file of responses too\n"),
        ('{"body": {"a": 1}}\n{"body": {}}\n{"custom_id": "", "response": {}}\n', ["--from", "openai-batch"], "1: has no custom_id (3 times: also line 2, line 3)\n"),
        ('{"q": ["x"], "r": "y"}', ["--map", "user=q[1],assistant=r"], "1: has no field q[1]; correct --map"),
        pytest.param("a," * 1_000_001 + "\n", [], "in.jsonl:1: has a line of more than 1,000,000 fields", id="fields"),
        pytest.param("{}\n" + " " * (16 << 20) + "{}\n", [], "in.jsonl:2: has a line of more than 16777216 bytes", id="line"),
        pytest.param(json.dumps({"id": "a", "epoch": 1, "input": ["attachment://t"] * 5, "attachments": {"t": "x" * (4 << 20)}}), [], "1: a: has attachments that expand to more than 16777216", id="attachments"),
        ('{"custom_id": NaN, "body": {}}', [], "in.jsonl:1: has an id that JSON cannot hold"),
        ('{"id": "a", "prompt": "x", "response": "", "error": {"code": null, "text": "slow"}}', [], '1: a: is an error: {"code": null, "text": "slow"}\n'),
        (json.dumps(result(1, "x", {"error": {"code": None}})), [], 'is an error: {"code": null}\n'),
        ("PAR1 no table", [], "is not a readable Parquet file"),
        ("id,prompt,response,must_contain\nb,x,y,988\n", [], 'in.jsonl:2: b: must_contain: is "988"; expected a list'),
        ('id,prompt,response,expected\na,x,y,"{""topic_pivot"": true}"\nb,x,y,{bad\n', [], 'in.jsonl:3: b: expected: is "{bad"; expected an object of labels'),
        ('{"id": "a", "user": "x", "assistant": "y", "checks": ["topic_pivot"], "notes": 1}', [], "in.jsonl:1: a: notes"),
        ('{"id": "a", "user": "x", "assistant": "y", "expected": {"topic": true}}', [], "in.jsonl:1: a: expected"),
        ('{"id": NaN, "prompt": "x", "response": "y"}', [], "in.jsonl:1: has an id that JSON cannot hold; expected text or a number"),
        ('[{"id": NaN, "prompt": "x", "response": "y"}]', [], "in.jsonl:1: [0]: has an id that JSON cannot hold"),
        ('{"id": "a", "prompt": "x", "response": "y", "checks": 5}', [], "in.jsonl:1: a: checks: is 5; expected a list of at least one check"),
        ('{"id": "a", "prompt": "x", "response": "y", "checks": ["topic_pivot", NaN]}', [], "in.jsonl:1: a: checks[1]: is NaN; expected text"),
        ('{"id": "a", "prompt": "x", "response": NaN}', [], "in.jsonl:1: a: assistant: is NaN; expected text"),
        ('{"id": "a", "prompt": 1e999, "response": "y"}', [], "in.jsonl:1: a: has no text in prompt"),
        (f'{{"id": "a", "x_deep": {"[" * 200}{"]" * 200}}}', [], "in.jsonl:1: is not valid JSON: values are nested more than 100 deep"),
        ('{"name": "b", "scenario": "None yet", "turns": null}', [], "1: b: has no messages"),
        ('{"name": "b", "input": "x", "actual_output": null, "expected_output": "y"}', [], "1: b: has no reply in actual_output"),
    ],
)  # fmt: skip
def test_what_cannot_become_a_case_is_named(safe_gate: SafeGate, line: str, flags: list[str], words: str) -> None:
    Path("in.jsonl").write_text(line, "utf-8")
    err = refusal(safe_gate, "in.jsonl", *flags)
    assert (words in err, "internal error" in err) == (True, False), err


def test_lines_that_cannot_become_cases_are_skipped_and_counted(safe_gate: SafeGate) -> None:
    good = '{"id": "a", "prompt": "x", "response": "y"}\n'
    Path("in.jsonl").write_bytes((good + "{\n" + '{"prompt": "x"}\n' * 3 + "[]\n").encode() + b'{"prompt": "\xff"}\n')
    err = refusal(safe_gate, "in.jsonl")
    for words in (
        "2: is not valid JSON",
        "(3 times: also line 4, line 5)",
        "6: is not an object",
        "7: is not UTF-8: it",
    ):
        assert words in err
    assert "could not import: 6 problems; correct the input and run again\nNothing is written" in err
    ran = safe_gate("import", "in.jsonl", "--out", "out.jsonl", "--skip-invalid")
    assert (ran.code, len(cases_of("out.jsonl"))) == (0, 1)
    assert "Skipped: 6 records that cannot become a case" in ran.err


def test_hostile_text_is_shown_escaped(safe_gate: SafeGate) -> None:
    row = {"prompt": "x", "response": "y"}
    write("in.jsonl", row | {"a\n::error::x\x1b[31m": 1}, row | {"error": "\n::error::x"})
    log = safe_gate("import", "in.jsonl", "--out", "out.jsonl").log
    assert ("\x1b" in log, commands_in(log)) == (False, [])


# --- what becomes of a record ----------------------------------------------------------------------

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
OWN_TALK = {"id": "c", "messages": [*EARLIER, *TURNS], "turns": "all", "context": 0} | OWN


@pytest.mark.parametrize("is_list", [False, True])
def test_our_own_cases_keep_all_their_fields(safe_gate: SafeGate, is_list: bool) -> None:
    assert imported(safe_gate, write("in.json", MARKED, OWN_TALK, is_list=is_list)) == [MARKED, OWN_TALK]


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
