"""What other tools recorded becomes cases: every format, exact text, samples of one prompt, what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from safe_gate.core.model import Place
from safe_gate.importers import formats, records
from safe_gate.importers.formats import Record
from safe_gate.scoring import asked
from safe_gate.settings.options import Options
from tests.support.cases import DATA, REPOSITORY, SYNTHESIS, Ran, safe_case, turn, write_batch

SafeGate = Callable[..., Ran]
FIXTURES = DATA / "import"
PLACE, SETTINGS = Place("out.jsonl", 1), asked.settings(Options())
ASK, REPLY = "My parcel is late.", "I am sorry. It left our shop on Monday."
EARLIER = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Good morning."}]
TURNS = [{"role": "user", "content": ASK}, {"role": "assistant", "content": REPLY}]


def imported(safe_gate: SafeGate, *arguments: str | Path) -> list[dict[str, Any]]:
    """Import, which succeeds, and return the lines written, which are valid."""
    ran = safe_gate("import", *arguments, "--out", "out.jsonl", "--force")
    assert ran.code == 0, ran.log
    cases = [json.loads(line) for line in Path("out.jsonl").read_bytes().decode("utf-8").split("\n")[:-1]]
    if "test_id" not in cases[0]:
        assert safe_gate("validate", "out.jsonl").code == 0
    return cases


def exchanges(cases: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Return the id of each case, and its last reply with what it answers."""
    found: Any = (case for one in cases for case in SYNTHESIS.cases(one, PLACE, "", SETTINGS))
    return [(case.id, case.user, case.assistant) for case in found]


def write(name: str, *values: Any, is_list: bool = False) -> str:
    text = json.dumps(values, indent=1) if is_list else "".join(json.dumps(value) + "\n" for value in values)
    Path(name).write_text(text, "utf-8")
    return name


def result(test: int, provider: str, response: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a promptfoo result."""
    return {
        "id": f"{test}-{provider}",
        "testIdx": test,
        "promptIdx": 0,
        "promptId": "p",
        "provider": {"id": provider, "label": ""},
        "prompt": {"raw": f"Where is parcel {test}?", "label": "Where is parcel {{n}}?"},
        "vars": {"n": test},
        "testCase": {"vars": {"n": test}, "assert": [], "metadata": {"testCaseId": f"t{test}"}},
        "response": response,
        "success": True,
        "failureReason": 0,
        "score": 1,
    } | fields


def promptfoo(*results: dict[str, Any]) -> dict[str, Any]:
    inner = {"version": 3, "timestamp": "t", "prompts": [{"raw": "x"}], "results": results, "stats": {"errors": 1}}
    return {"evalId": "e", "results": inner, "config": {"tests": [{"vars": {"n": ']}"{'}}]}, "shareableUrl": None}


def lm_eval(doc: int, **fields: Any) -> dict[str, Any]:
    arguments = {"gen_args_0": {"arg_0": f"Question {doc}?", "arg_1": {"until": ["\n"]}}}
    return {
        "doc_id": doc, "doc": {"q": 1}, "target": "x", "arguments": arguments, "resps": [[f"Answer {doc}."]],
        "filtered_resps": [f"Answer {doc}."], "filter": "none", "metrics": ["exact_match"], "exact_match": 1.0,
    } | fields  # fmt: skip


def request(id_: str, *messages: dict[str, Any]) -> dict[str, Any]:
    body = {"model": "m", "messages": list(messages)}
    return {"custom_id": id_, "method": "POST", "url": "/v1/chat/completions", "body": body}


def response(id_: str, text: str | None, status: int = 200) -> dict[str, Any]:
    body = {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]}
    return {"id": f"r-{id_}", "custom_id": id_, "response": {"status_code": status, "body": body}, "error": None}


LANGFUSE = {"trace_id": "t", "start_time": "2026-01-01", "environment": "default", "metadata": {}}
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
        f"in.txt: {formats.formats()[format_].title}, {len(expected)} case"
        in safe_gate("import", "in.txt", "--out", "o.jsonl").out
    )
    assert exchanges(imported(safe_gate, "in.txt", "--from", format_)) == expected


SYSTEM = {"role": "system", "content": "Be kind."}
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


def test_one_exchange_becomes_a_case_without_messages_and_says_what_is_left_out(safe_gate: SafeGate) -> None:
    write("in.jsonl", {"id": "a", "messages": [SYSTEM, *TURNS]})
    ran = safe_gate("import", "in.jsonl", "--out", "out.jsonl", "--force")
    assert "Left out: system messages (1 record)\n" in ran.out
    case = json.loads(Path("out.jsonl").read_text("utf-8"))
    assert (case["user"], case["assistant"]) == (ASK, REPLY)


CSV = '\ufeffid;"prompt";response;topic\r\na;"late;\r\nagain "" ";" sorry ";x\r\nb;null;7;\r\nc;hello;;y\r\n'


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
    assert ran.out.splitlines() == ["in.csv: CSV, 3 cases", 'Left out: the field "topic" (3 records)', "Written: out.jsonl, 3 cases"]  # fmt: skip


def test_tsv_and_parquet_are_read_too(safe_gate: SafeGate) -> None:
    Path("in.tsv").write_text(f"question\tanswer\n{ASK}\t{REPLY}\n", "utf-8")
    pq.write_table(
        pa.Table.from_pylist([{"id": 1, "input": ASK, "output": REPLY}, {"id": 2, "input": "x", "output": ""}]), "p"
    )
    (case,) = imported(safe_gate, "in.tsv")
    assert (case["user"], case["assistant"]) == (ASK, REPLY)
    assert exchanges(imported(safe_gate, "p")) == [("1", ASK, REPLY), ("2", "x", "")]
    assert "p: Parquet, 2 cases" in safe_gate("import", "p", "--from", "parquet", "--out", "out.jsonl", "--force").out


def test_langfuse_as_csv(safe_gate: SafeGate) -> None:
    Path("in.csv").write_text(
        f'id,traceId,type,name,input,output\ng,t,GENERATION,n,{ASK},"{REPLY}"\ns,t,SPAN,n,x,y\n', "utf-8"
    )
    assert exchanges(imported(safe_gate, "in.csv")) == [("g", ASK, REPLY)]
    out = safe_gate("import", "in.csv", "--out", "again.jsonl").out
    assert (
        "in.csv: a Langfuse export as CSV, 1 case\nLeft out: observations that are no generations (1 record)\n" in out
    )


INVOICE, LATE = "Where do I find my invoice?", "My parcel is late and I am upset."


@pytest.mark.parametrize("name", ["inspect.json", "inspect.eval"])
def test_an_inspect_log_of_three_epochs(safe_gate: SafeGate, name: str) -> None:
    cases = imported(safe_gate, FIXTURES / name)
    expected = {
        **{f"7#{n}": (INVOICE, "" if n == 2 else f"Reply {n} to: {INVOICE}\r\n") for n in (1, 2, 3)},
        **{f"late-parcel#{n}": (LATE, f"Reply {n} to: {LATE}\r\n") for n in (1, 2, 3)},
    }
    assert {id_: (user, reply) for id_, user, reply in exchanges(cases)} == expected
    assert all(case["id"].endswith(f"#{case['x_epoch']}") for case in cases)
    assert "an Inspect log, 6 cases" in safe_gate("import", FIXTURES / name, "--out", "out.jsonl", "--force").out


def test_an_inspect_log_with_errors_and_attachments(safe_gate: SafeGate) -> None:
    log = json.loads((FIXTURES / "inspect.json").read_text("utf-8"))
    log["status"] = "error"
    log["samples"] = log["samples"][:3]
    log["samples"][0]["input"], log["samples"][0]["attachments"] = "attachment://abc", {"abc": ASK}
    log["samples"][1]["error"] = {"message": "the model is busy", "traceback": "..."}
    log["samples"][2]["output"] = {"model": "m", "choices": [], "completion": ""}
    for name, text in (("log.json", json.dumps(log)), ("log2.json", json.dumps(log, indent=2))):
        Path(name).write_text(text, "utf-8")
        ran = safe_gate("import", name, "--out", "none.jsonl")
        assert ran.code == 3
        assert not Path("none.jsonl").exists()
        for words in ('has the status "error"', "late-parcel: is an error: the model is busy", "7: has no reply"):
            assert words in ran.err
        assert "3 problems" in ran.err
        ((_, user, _),) = exchanges(imported(safe_gate, name, "--skip-invalid"))
        assert user == ASK


def test_an_archive_without_zstd_needs_no_library(safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch) -> None:
    log = json.loads((FIXTURES / "inspect.json").read_text("utf-8"))
    with zipfile.ZipFile("log.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        for one in reversed(log["samples"]):
            archive.writestr(f"samples/{one['id']}_epoch_{one['epoch']}.json", json.dumps(one))
        archive.writestr("header.json", json.dumps({"status": "success"}))
    monkeypatch.setitem(sys.modules, "backports", None)
    assert [case["id"] for case in imported(safe_gate, "log.eval")][:3] == ["7#1", "7#2", "7#3"]
    if not hasattr(zipfile, "ZIP_ZSTANDARD"):
        ran = safe_gate("import", FIXTURES / "inspect.eval", "--out", "out.jsonl", "--force")
        assert ran.code == 3
        assert "is not installed; install SAFE Gate with the extra `zstd`" in ran.err


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
    for name in formats.formats():
        assert f"`{name}`" in text


def test_a_mapping_names_fields_and_nested_paths(safe_gate: SafeGate) -> None:
    row = {"row": 5, "said": {"by.user": ASK}, "calls": [{"reply": json.dumps({"text": REPLY})}], "kind": "billing"}
    write("in.jsonl", row)
    mapping = "user=said.by.user, assistant=calls[0].reply.text,id=row,tags=kind"
    ran = safe_gate("import", "in.jsonl", "--out", "out.jsonl", "--map", mapping)
    assert ran.code == 3
    assert "has no field said.by.user; correct --map" in ran.err
    write("in.jsonl", row | {"said": {"by": {"user": ASK}}})
    for map_ in (["--map", mapping], []):
        (case,) = imported(safe_gate, "in.jsonl", *map_)
        assert exchanges([case]) == [("5", ASK, REPLY)]
        assert case["tags"] == ["billing"]
        Path("safe.config.json").write_text(json.dumps({"import-map": mapping.split(",")}), "utf-8")


def test_a_mapping_gives_a_tools_rows_an_id(safe_gate: SafeGate) -> None:
    Path("r.json").write_text(
        json.dumps(promptfoo(result(1, "a", {"output": "One"}), result(2, "a", {"output": "Two"}))), "utf-8"
    )
    cases = imported(safe_gate, "r.json", "--map", "id=prompt.label,tags=provider.id")
    assert [(case["id"], case["tags"]) for case in cases] == [
        (f"Where is parcel {{{{n}}}}?#{n}", ["a"]) for n in (1, 2)
    ]


def test_rows_without_ids_are_named_by_what_the_user_wrote(safe_gate: SafeGate) -> None:
    rows = [{"prompt": ASK, "response": "1"}, {"prompt": "x", "response": "2"}, {"prompt": ASK, "response": "3"}]
    write("in.jsonl", *rows)
    first, other, again = (case["id"] for case in imported(safe_gate, "in.jsonl"))
    assert (first[:5], first[-2:], again) == ("user-", "#1", f"{first[:-2]}#2")
    write("in.jsonl", *rows[1:])
    assert [case["id"] for case in imported(safe_gate, "in.jsonl")] == [other, first[:-2]]


def test_samples_are_counted_over_all_files(safe_gate: SafeGate) -> None:
    for name in "ba":
        write(
            f"{name}.jsonl",
            {"id": "x", "prompt": ASK, "response": name},
            {"id": "i" * 300, "prompt": "x", "response": "y"},
        )
    cases = imported(safe_gate, "b.jsonl", "a.jsonl")
    assert [(case["id"], case["assistant"]) for case in cases][::2] == [("x#1", "a"), ("x#2", "b")]
    assert len(cases[1]["id"]) < 200


OUTPUT = {"signals": ["Fever"], "summary": "She went home.", "followup_questions": ["Who called?"]}


def test_recorded_outputs_of_safe_v0(safe_gate: SafeGate) -> None:
    case = safe_case("a")
    del case["output"]
    write_batch(Path("b.json"), case)
    expected = [{"test_id": "a", "output": OUTPUT}]
    forms: dict[str, tuple[dict[str, Any], list[str]]] = {
        "columns": ({"id": "a"} | OUTPUT, []),
        "an object": ({"test_id": "a", "output": OUTPUT}, []),
        "JSON in a text": ({"id": "a", "prompt": "x", "output": json.dumps(OUTPUT)}, []),
        "a mapped reply": ({"row": "a", "reply": {"json": OUTPUT}}, ["--map", "test_id=row,output=reply.json"]),
        "mapped columns": (
            {"id": "a", "found": OUTPUT["signals"], "note": OUTPUT["summary"], "ask": OUTPUT["followup_questions"]},
            ["--map", "signals=found,summary=note,followup_questions=ask"],
        ),
        "a promptfoo row": (result(1, "x", {"output": OUTPUT}, vars={"n": "a"}), ["--map", "id=vars.n"]),
    }
    for name, (row, flags) in forms.items():
        write("in.jsonl", row)
        cases = imported(safe_gate, "in.jsonl", "--evaluator", "safe_v0", *flags)
        assert [{key: one[key] for key in ("test_id", "output")} for one in cases] == expected, name
        assert safe_gate("score", "--batch", "b", "--outputs", "out.jsonl").code == 0
    Path("in.csv").write_text(
        'id,signals,summary,followup_questions\na,"[""Fever""]",She went home.,"[""Who called?""]"\n', "utf-8"
    )
    assert imported(safe_gate, "in.csv", "--evaluator", "safe_v0") == expected


@pytest.mark.parametrize(
    ("line", "flags", "words"),
    [
        ('{"prompt": "x"', [], "in.jsonl:1: breaks off"),
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
        (json.dumps(lm_eval(1, resps=[[[-1.5, False]]])), [], "has likelihoods in resps; expected text"),
        ('{"frage": "x", "antwort": "y"}', [], 'has no format that is known, but records with "frage", "antwort"; name the fields with --map'),
        ('{"prompt": "x", "response": "y"}', ["--map", "usr=prompt"], 'has "usr=prompt" (did you mean "user"?)'),
        ('{"prompt": "x", "response": "y"}', ["--map", "user=a,user=b"], "names user twice; keep one"),
        ('{"prompt": "x", "response": "y"}', ["--map", "id=row"], "in.jsonl:1: has no field row; correct --map"),
        ('{"prompt": "x", "response": "y"}', ["--from", "promptfo"], '--from: is "promptfo" (did you mean "promptfoo"?)'),
        ('{"prompt": "x", "response": "y"}', ["--checks", "topic-pivot"], '"topic-pivot" is not allowed'),
        ('{"prompt": "x", "response": "y"}', ["--evaluator", "safe_v0"], "has no id; name it: --map test_id=FIELD"),
        ('{"id": "q", "prompt": "x", "response": "y"}', ["--evaluator", "safe_v0"], 'q: output: is "y"; expected an object'),
        (json.dumps(OUTPUT), [], "it is a SAFE v0 output: set --evaluator safe_v0"),
        ("id,prompt,response\n1,x\n", [], "in.jsonl:2: has 2 fields; expected 3, as the header has"),
        ('id,prompt,response\n1,"x,y', [], "is not CSV: unexpected end of data"),
        ("prompt,prompt,response\n1,2,3\n", [], 'has the column "prompt" twice'),
        ("nothing", [], "does not look like JSON, CSV, TSV, Parquet or .eval"),
        ("", [], "in.jsonl: is empty: there is nothing to import"),
        ("id,prompt,response\nx\n", [], "in.jsonl:2: has 1 field; expected 3, as the header has"),
        ('[{"prompt": "x", "response": "y"}, {"prompt": }]', [], "in.jsonl:1: is not valid JSON"),
        ('[{"prompt": "x", "response": "y"}\n', [], "in.jsonl:2: breaks off"),
        ("PK\x03\x04 no archive", [], "is not a readable archive"),
        ('{"prompt": "x", "response": "y"}', ["--from", "parquet"], "is not Parquet; leave --from out to detect the format"),
        ("prompt,response\nx,y\n", ["--from", "jsonl"], "is not JSON objects with named fields; leave --from out"),
        ('[{"prompt": "x", "response": "y"}]', ["--from", "csv"], "is not CSV; leave --from out to detect the format"),
        ("PAR1 no table", [], "is not a readable Parquet file"),
    ],
)  # fmt: skip
def test_what_cannot_become_a_case_is_named(safe_gate: SafeGate, line: str, flags: list[str], words: str) -> None:
    Path("in.jsonl").write_text(line, "utf-8")
    ran = safe_gate("import", "in.jsonl", "--out", "out.jsonl", *flags)
    assert ran.code == 3
    assert words in ran.err
    assert "Traceback" not in ran.log
    assert "internal error" not in ran.log
    assert not Path("out.jsonl").exists()


def test_lines_that_cannot_become_cases_are_skipped_and_counted(safe_gate: SafeGate) -> None:
    good = '{"id": "a", "prompt": "x", "response": "y"}\n'
    Path("in.jsonl").write_bytes((good + "{\n" + '{"prompt": "x"}\n' * 3 + "[]\n").encode() + b'{"prompt": "\xff"}\n')
    ran = safe_gate("import", "in.jsonl", "--out", "out.jsonl", "--force")
    assert ran.code == 3
    assert "in.jsonl:2: is not valid JSON" in ran.err
    assert "in.jsonl:3: has no known pair of fields" in ran.err
    assert "(3 times: also line 4, line 5)" in ran.err
    assert "could not import: 6 problems; correct the input and run again\nNothing is written" in ran.err
    assert "in.jsonl:6: is not an object" in ran.err
    assert "in.jsonl:7: is not UTF-8" in ran.err
    ran = safe_gate("import", "in.jsonl", "--out", "out.jsonl", "--skip-invalid")
    assert ran.code == 0
    assert "Skipped: 6 records that cannot become a case" in ran.err
    assert len(Path("out.jsonl").read_text("utf-8").splitlines()) == 1


def test_a_file_that_breaks_off_is_never_skipped(safe_gate: SafeGate) -> None:
    Path("in.json").write_text('[{"id": "a", "prompt": "x", "response": "y"},\n', "utf-8")
    ran = safe_gate("import", "in.json", "nowhere.json", "--out", "out.jsonl", "--skip-invalid")
    assert ran.code == 3
    assert "in.json:2: breaks off; what follows is not read" in ran.err
    assert "nowhere.json: matches no file" in ran.err
    assert not Path("out.jsonl").exists()


def test_the_file_that_is_written_is_not_one_that_is_read(safe_gate: SafeGate) -> None:
    write("in.jsonl", {"prompt": "x", "response": "y"})
    ran = safe_gate("import", "in.jsonl", "--out", "./in.jsonl")
    assert ran.code == 3
    assert "--out: names ./in.jsonl, which is imported; name another file" in ran.err


def test_hostile_text_is_shown_escaped(safe_gate: SafeGate) -> None:
    write(
        "in.jsonl",
        {"prompt": "x", "response": "y", "a\n::error::x\x1b[31m": 1},
        {"prompt": "x", "response": "y", "error": "\n::error::x"},
    )
    ran = safe_gate("import", "in.jsonl", "--out", "out.jsonl", "--force")
    assert "\x1b" not in ran.log
    assert not any(line.startswith("::") for line in ran.log.splitlines())


def test_no_detector_takes_the_records_of_another_format() -> None:
    for name, (format_, values, _) in FORMS.items():
        for value in values:
            found = [one.name for one in formats.formats().values() if one.detects(Record(1, value)) and not one.shape]
            assert found == ([] if format_ == "jsonl" else [format_]), name


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(json_values, max_size=5), st.integers(1, 7), st.sampled_from([None, 1]), json_values)
@example([12], 1, None, "]}")
@settings(max_examples=150)
def test_a_list_is_read_alike_whole_and_in_chunks(items: list[Any], size: int, indent: int | None, other: Any) -> None:
    def read(text: str, paths: set[tuple[str, ...]]) -> list[Any]:
        chunks = (text[place : place + size] for place in range(0, len(text), size))
        found = list(records.document(chunks, paths))
        assert [one.line for one in found] == sorted(one.line for one in found)
        return [one.value for one in found]

    assert read(json.dumps(items, indent=indent), set()) == items
    inside = {"x": other, "results": {"before": other, "results": items, "after": other}, "y": other}
    assert read(json.dumps(inside, indent=indent), {("results", "results")}) == items


_PEAK = """
import resource, sys
from safe_gate.cli import main
code = main()
print(code, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@pytest.mark.parametrize("name", ["many.json", "many.csv"])
def test_memory_does_not_grow_with_the_file(name: str) -> None:
    def peak(rows: int) -> int:
        with Path(name).open("w", encoding="utf-8") as file:
            if name == "many.csv":
                file.write("id,prompt,response\n")
                file.writelines(f"{n},{text},{text}\n" for n in range(rows))
            else:
                file.write("[")
                file.writelines(
                    ("," if n else "") + json.dumps({"id": n, "prompt": text, "response": text}) for n in range(rows)
                )
                file.write("]")
        command = [sys.executable, "-I", "-c", _PEAK, "import", name, "--out", "out.jsonl", "--force"]
        ran = subprocess.run(command, capture_output=True, text=True, check=True)
        code, mebibytes = ran.stdout.splitlines()[-1].split()
        assert code == "0", ran.stderr
        return int(mebibytes)

    text = "I keep asking about the same parcel. " * 40
    assert peak(6_000) - peak(600) < 12  # of 18 MB


CONVERT = "convert it: safe-gate import in.{suffix} --out cases.jsonl\n"
MISTAKEN: dict[str, tuple[str, str, str]] = {
    "prompt and response": ("jsonl", json.dumps({"prompt": ASK, "response": REPLY}), "JSON objects with named fields"),
    "input and output": ("jsonl", json.dumps({"input": ASK, "output": REPLY}), "JSON objects with named fields"),
    "no id and no checks": ("jsonl", json.dumps({"user": ASK, "assistant": REPLY}), "JSON objects with named fields"),
    "messages": ("jsonl", json.dumps({"messages": TURNS}), "OpenAI chat messages"),
    "one JSON list": ("json", json.dumps([{"prompt": ASK, "response": REPLY}], indent=1), "JSON objects with named fields"),
    "CSV": ("csv", CSV.replace("\r\n", "\n"), "CSV"),
    "TSV": ("tsv", f"question\tanswer\n{ASK}\t{REPLY}\n", "TSV"),
    "promptfoo": ("json", json.dumps(promptfoo(result(1, "x", {"output": REPLY})), indent=1), "promptfoo results"),
    "promptfoo in one line": ("json", json.dumps(promptfoo(result(1, "x", {"output": REPLY}))), "promptfoo results"),
    "Inspect": ("json", (FIXTURES / "inspect.json").read_text("utf-8"), "an Inspect log"),
}  # fmt: skip


@pytest.mark.parametrize("form", MISTAKEN)
@pytest.mark.parametrize("command", [("run", "--cases"), ("eval", "--cases"), ("validate",)], ids=lambda one: one[0])
def test_a_file_of_another_format_is_one_sentence_with_the_command_to_use(
    safe_gate: SafeGate, command: tuple[str, ...], form: str
) -> None:
    suffix, text, title = MISTAKEN[form]
    rows = 1 if suffix != "jsonl" else 5_000
    Path(f"in.{suffix}").write_text((text + "\n") * rows, "utf-8")
    ran = safe_gate(*command, f"in.{suffix}")
    assert ran.code == 3
    assert ran.err.splitlines(keepends=True) == [
        f"in.{suffix}: looks like {title}, not Synthesis cases; {CONVERT.format(suffix=suffix)}",
        "safe-gate: could not judge: 1 problem; correct the input and run again\n",
    ]
    assert exchanges(imported(safe_gate, f"in.{suffix}"))


def test_the_hint_names_a_mapping_where_no_field_is_known(safe_gate: SafeGate) -> None:
    write("in put.jsonl", {"frage": ASK, "antwort": REPLY})
    ran = safe_gate("eval", "--cases", "in put.jsonl")
    command = "safe-gate import 'in put.jsonl' --out cases.jsonl --map user=FIELD,assistant=FIELD\n"
    assert f"in put.jsonl: has neither user nor assistant; say which fields they are: {command}" in ran.err
    ((_, user, _),) = exchanges(imported(safe_gate, "in put.jsonl", "--map", "user=frage,assistant=antwort"))
    assert user == ASK
    Path("in.csv").write_text("\ufeffNr;Frage;Antwort\r\n1;Hi.;Hello.\r\n", "utf-8")
    for command_line in (("eval", "--cases"), ("run", "--cases"), ("validate",)):
        words = "in.csv: has neither user nor assistant; say which fields they are: safe-gate import in.csv --out"
        assert safe_gate(*command_line, "in.csv").err.startswith(words)


def test_archives_and_parquet_get_the_hint_too(safe_gate: SafeGate) -> None:
    pq.write_table(pa.Table.from_pylist([{"prompt": ASK, "response": REPLY}]), "in.parquet")
    for command in (("eval", "--cases"), ("validate",)):
        assert (
            "looks like Parquet, not Synthesis cases; convert it: safe-gate import in.parquet"
            in safe_gate(*command, "in.parquet").err
        )
        err = safe_gate(*command, FIXTURES / "inspect.eval").err
        assert "looks like an Inspect log, not Synthesis cases; convert it: safe-gate import" in err
        assert "could not judge: 1 problem" in err


def test_outputs_and_batches_of_another_format_get_the_hint_too(safe_gate: SafeGate) -> None:
    case = safe_case("a")
    del case["output"]
    write_batch(Path("b.json"), case)
    write("b.outputs.jsonl", {"id": "a"} | OUTPUT)
    words = "convert it: safe-gate import b.outputs.jsonl --out recorded.outputs.jsonl --evaluator safe_v0\n"
    for command in (
        ("run", "--batch", "b.json"),
        ("score", "--batch", "b.json"),
        ("validate", "b.json", "b.outputs.jsonl"),
    ):
        assert (
            f"b.outputs.jsonl: looks like JSON objects with named fields, not recorded outputs of SAFE v0; {words}"
            in safe_gate(*command).err
        )
    Path("p.json").write_text(json.dumps(promptfoo(result(1, "x", {"output": OUTPUT}))), "utf-8")
    ran = safe_gate("score", "--batch", "p.json")
    assert "p.json: looks like promptfoo results, not a SAFE v0 batch; convert it: safe-gate import p.json" in ran.err
    assert "could not judge: 1 problem" in ran.err


@pytest.mark.parametrize(
    "line",
    [
        "{}",
        "nul",
        '{"id": 7}',
        '{"user": "a", "asistant": "b", "checks": []}',
        '{"user": "a", "assistant": 7, "checks": []}',
    ],
)
def test_faulty_cases_get_no_hint(safe_gate: SafeGate, line: str) -> None:
    Path("c.jsonl").write_text(f"{line}\n{json.dumps(turn('b'))}\n", "utf-8")
    ran = safe_gate("eval", "--cases", "c.jsonl")
    assert ran.code == 3
    assert "import" not in ran.err
    assert "c.jsonl:1" in ran.err


def test_import_replaces_no_file_that_holds_something_unless_told_to(safe_gate: SafeGate) -> None:
    write("in.jsonl", {"prompt": ASK, "response": REPLY})
    out = Path("cases.jsonl")
    out.touch()
    assert safe_gate("import", "in.jsonl", "--out", out).code == 0, "an empty file holds nothing to lose"
    labelled = out.read_text("utf-8").replace("{", '{"expected": {"topic_pivot": true}, ', 1)
    out.write_text(labelled, "utf-8")
    ran = safe_gate("import", "in.jsonl", "--out", out)
    assert ran.code == 3
    assert "--out: names cases.jsonl, which exists; set --force to replace it with all its labels" in ran.err
    assert out.read_text("utf-8") == labelled
    assert safe_gate("import", "in.jsonl", "--out", out, "--force").code == 0
    assert "expected" not in out.read_text("utf-8")
