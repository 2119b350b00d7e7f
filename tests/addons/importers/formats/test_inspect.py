"""Logs of Inspect."""

import json
import sys
import zipfile
from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.cases import Patch, SafeGate
from tests.support.importing import (
    ASK,
    EARLIER,
    FIXTURES,
    REPLY,
    TURNS,
    exchanges,
    imported,
    left_out,
    refusal,
    said,
    write,
)

INVOICE, LATE = "Where do I find my invoice?", "My parcel is late and I am upset."


def log() -> Any:
    return json.loads((FIXTURES / "inspect.json").read_text("utf-8"))


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


@pytest.mark.parametrize("indent", [None, 2])
def test_an_inspect_log_with_errors_and_attachments(safe_gate: SafeGate, indent: int | None) -> None:
    whole = log()
    first, second, third = whole["samples"][:3]
    first |= {"input": "attachment://abc", "attachments": {"abc": ASK}}
    second |= {"error": {"message": "the model is busy", "traceback": "..."}}
    third |= {"output": {"model": "m", "choices": [], "completion": ""}}
    write("log.json", whole | {"status": "error", "samples": [first, second, third]}, indent=indent)
    err = refusal(safe_gate, "log.json")
    for words in ('the status "error"', "late-parcel: is an error: the model is busy", "7: has no reply", "3 problems"):
        assert words in err
    assert [ask for _, ask, _ in exchanges(imported(safe_gate, "log.json", "--skip-invalid"))] == [ASK]


def test_an_input_that_is_json_stays_text(safe_gate: SafeGate) -> None:
    asked = json.dumps([{"role": "user", "content": ASK}])
    samples = [{"id": "a", "epoch": 1, "input": asked, "output": {"completion": "Yes."}}]
    write("log.json", {"status": "success", "eval": {}, "samples": samples})
    assert exchanges(imported(safe_gate, "log.json")) == [("a", asked, "Yes.")]


def test_what_an_output_holds_besides_the_reply_is_left_out_and_listed(safe_gate: SafeGate) -> None:
    choice = {"message": {"role": "assistant", "content": "Yes."}, "stop_reason": "max_tokens"}
    sample = {"id": "a", "epoch": 1, "input": ASK, "output": {"completion": "Yes.", "choices": [choice], "note": "x"}}
    write("log.json", {"status": "success", "eval": {}, "samples": [sample]})
    expected = [f"the field {name} of the output (1 record)" for name in ('"note"', '"stop_reason"')]
    assert left_out(safe_gate, "log.json") == expected
    failed, refused = (sample | {"output": {"completion": one, "error": "It broke."}} for one in ("", "Sorry."))
    write("log.json", {"status": "success", "eval": {}, "samples": [failed, refused]})
    assert "log.json:1: a: is an error: It broke.\n" in refusal(safe_gate, "log.json")
    assert [one[2] for one in exchanges(imported(safe_gate, "log.json", "--skip-invalid"))] == ["Sorry."]


@pytest.mark.parametrize("ids", [("m0", "m1", "m2", "m3"), ()])
def test_an_output_that_messages_follow_is_no_second_reply(safe_gate: SafeGate, ids: tuple[str, ...]) -> None:
    talk = [one | {"id": id_} for one, id_ in zip((*EARLIER, *TURNS), ids, strict=True)] if ids else [*EARLIER, *TURNS]
    output = {"choices": [{"message": talk[1]}]}
    one = {"epoch": 1, "input": EARLIER[0]["content"], "output": output}
    samples = [one | {"id": "goes-on", "messages": talk}, one | {"id": "asks", "messages": talk[:3]}]
    write("log.json", {"status": "success", "eval": {}, "samples": samples})
    assert "asks: ends with a message of the user; expected a reply" in refusal(safe_gate, "log.json")
    (case,) = imported(safe_gate, "log.json", "--skip-invalid")
    assert case == {"id": "goes-on", "messages": [*EARLIER, *TURNS], "x_epoch": 1}


def test_an_answer_that_an_agent_submits_is_its_reply(safe_gate: SafeGate) -> None:
    call = {"role": "assistant", "content": "", "tool_calls": [{"function": "submit"}]}
    outputs = [{"completion": "Yes.", "choices": [{"message": one}]} for one in (call, TURNS[1])]
    samples = [{"id": str(n), "epoch": 1, "input": ASK, "output": one} for n, one in enumerate(outputs)]
    samples[1]["messages"] = [TURNS[0], TURNS[1], {"role": "tool", "content": "Yes."}]
    write("log.json", {"status": "success", "eval": {}, "samples": samples})
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


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize(
    ("status", "words"),
    [
        (None, "has no header with a status, as after a killed run, so samples may be missing"),
        (5, "has no header with a status"),
        ("started", 'has the status "started", so samples may be missing; expected "success"'),
        ("cancelled", 'has the status "cancelled"'),
        ("success", ""),
    ],
)
def test_a_log_of_an_unfinished_run_is_refused(safe_gate: SafeGate, status: Any, words: str, indent: Any) -> None:
    known = {"status": status} if status else {}
    write("log.json", {name: one for name, one in log().items() if name != "status"} | known, indent=indent)
    start = {"_journal/start.json": {"version": 2, "eval": {"task": "t"}}}
    archive(samples() | start | ({"header.json": known} if status else {}))
    for name in ("log.json", "log.eval"):
        if words:
            assert f"{name}: {words}" in refusal(safe_gate, name)
        assert len(imported(safe_gate, name, *["--skip-invalid"] * bool(words))) == 6


@pytest.mark.parametrize("lacking", [{}, {"samples": None}, {"samples": []}])
def test_a_log_without_samples_is_named_as_such(safe_gate: SafeGate, lacking: dict[str, Any]) -> None:
    header = {"version": 2, "status": "success", "eval": {"task": "t", "dataset": {}}, "plan": {}}
    write("log.json", header | lacking)
    archive({"header.json": header, "summaries.json": []})
    for name in ("log.json", "log.eval"):
        assert f"{name}: has no samples; write" in refusal(safe_gate, name)


def test_a_log_that_lacks_some_samples_is_refused(safe_gate: SafeGate) -> None:
    header = {"status": "success", "eval": {}, "results": {"total_samples": 7}}
    write("log.json", header | {"samples": log()["samples"]})
    archive(samples() | {"header.json": header})
    for name in ("log.json", "log.eval"):
        assert f"{name}: has 6 of 7 samples, as results.total_samples says; import" in refusal(safe_gate, name)
        assert len(imported(safe_gate, name, "--skip-invalid")) == 6


def test_a_log_of_a_run_that_broke_off_has_one_problem(safe_gate: SafeGate) -> None:
    header = {"status": "error", "eval": {}, "error": {"message": "boom", "traceback": "..."}}
    write("log.json", header | {"samples": log()["samples"]})
    archive(samples() | {"header.json": header})
    for name in ("log.json", "log.eval"):
        err = refusal(safe_gate, name)
        assert f'{name}: has the status "error", so samples may be missing; expected "success"' in err
        assert "1 problem;" in err


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
