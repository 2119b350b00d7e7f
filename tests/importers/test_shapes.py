"""A file of another tool, given where cases are expected."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.cases import SafeGate, safe_case, turn, write_batch
from tests.support.examples import is_thorough
from tests.support.importing import (
    ASK,
    CSV,
    FIXTURES,
    OUTPUT,
    REPLY,
    TURNS,
    exchanges,
    imported,
    promptfoo,
    result,
    write,
)

CONVERT = "convert it: safe-gate import in.{suffix} --out cases.jsonl\n"
MISTAKEN: dict[str, tuple[str, str, str]] = {
    "prompt and response": ("jsonl", json.dumps({"prompt": ASK, "response": REPLY}), "JSON objects with named fields"),
    "input and output": ("jsonl", json.dumps({"input": ASK, "output": REPLY}), "JSON objects with named fields"),
    "messages": ("jsonl", json.dumps({"messages": TURNS}), "OpenAI chat messages"),
    "one JSON list": ("json", json.dumps([{"prompt": ASK, "response": REPLY}], indent=1), "JSON objects with named fields"),
    "CSV": ("csv", CSV.replace("\r\n", "\n"), "CSV"),
    "TSV": ("tsv", f"question\tanswer\n{ASK}\t{REPLY}\n", "TSV"),
    "promptfoo": ("json", json.dumps(promptfoo(result(1, "x", {"output": REPLY})), indent=1), "promptfoo results"),
    "promptfoo in one line": ("json", json.dumps(promptfoo(result(1, "x", {"output": REPLY}))), "promptfoo results"),
    "Inspect": ("json", (FIXTURES / "inspect.json").read_text("utf-8"), "an Inspect log"),
}  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("form", MISTAKEN)
@pytest.mark.parametrize("command", [("run", "--cases"), ("eval", "--cases"), ("validate",)], ids=lambda one: one[0])
def test_a_file_of_another_format_is_one_sentence_with_the_command_to_use(
    safe_gate: SafeGate, command: tuple[str, ...], form: str
) -> None:
    suffix, text, title = MISTAKEN[form]
    rows = 1 if suffix != "jsonl" else 5_000 if is_thorough() else 1_000
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


def test_cases_without_an_id_lack_only_that(safe_gate: SafeGate) -> None:
    for more in ({}, {"tags": ["x"]}):
        write("in.jsonl", {"user": ASK, "assistant": REPLY} | more)
        for command in (("run", "--cases"), ("eval", "--cases"), ("validate",)):
            assert "in.jsonl: id: is missing; " in safe_gate(*command, "in.jsonl").err
        assert exchanges(imported(safe_gate, "in.jsonl"))


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize(
    "flag", ["run --safe-batch", "score --batch", "validate", "eval --cases", "import --out o.jsonl"]
)
def test_a_bare_list_of_test_cases_is_answered_with_where_to_put_it(
    safe_gate: SafeGate, indent: int | None, flag: str
) -> None:
    case = {"test_id": "a", "concern_id": "c", "expectations": {}}
    for first in (case, case | {"output": OUTPUT})[: 1 if "import" in flag else 2]:
        Path("list_batch_1.json").write_text(json.dumps([first, case], indent=indent), "utf-8")
        ran = safe_gate(*flag.split(), "list_batch_1.json")
        assert ran.code == 3
        assert "list_batch_1.json: is a list of cases; put the list under `test_cases`: " in ran.err
        assert "1 problem;" in ran.err


POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12\n"
READS = [
    "run --cases in.jsonl", "run --cases in.parquet", "run --safe-batch in.json", "run --cases ok.jsonl --config in.json",
    "run --cases ok.jsonl --rules in.json", "run --cases ok.jsonl --baseline in.json", "run --cases ok.jsonl --waivers in.json",
    "eval --cases in.jsonl", "score --batch in.json", "validate in.jsonl", "validate in.json", "import in.csv --out o.jsonl",
    "import in.eval --out o.jsonl", "compare in.json in.json", "explain x --cases in.jsonl",
]  # fmt: skip


@pytest.mark.parametrize("command", READS)
def test_a_git_lfs_pointer_is_named_wherever_it_is_read(safe_gate: SafeGate, command: str) -> None:
    for suffix in ("jsonl", "json", "csv", "eval", "parquet"):
        Path(f"in.{suffix}").write_text(POINTER, "utf-8")
    write("ok.jsonl", {"id": "a", "user": ASK, "assistant": REPLY, "checks": ["topic_pivot"]})
    ran = safe_gate(*command.split())
    assert (ran.code, "cannot be read: it is a Git LFS pointer, not the file; run git lfs pull" in ran.err) == (3, True)


def test_import_replaces_a_file_that_is_not_empty_only_with_a_flag(safe_gate: SafeGate) -> None:
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


PAGE = {"data": [{"prompt": ASK, "response": REPLY}]}


def test_a_line_with_a_list_of_records_hides_no_later_line(safe_gate: SafeGate) -> None:
    row = {"prompt": ASK, "response": REPLY}
    write("in.jsonl", {**row, **PAGE}, row)
    assert "in.jsonl: JSON objects with named fields, 2 cases" in safe_gate("import", "in.jsonl", "--out", "-").err
    write("pages.jsonl", PAGE, PAGE, {"data": []})
    assert (
        "pages.jsonl: JSON objects with named fields, 2 cases" in safe_gate("import", "pages.jsonl", "--out", "-").err
    )


def test_a_later_document_without_a_list_of_records_is_an_error(safe_gate: SafeGate) -> None:
    write("in.jsonl", PAGE, PAGE, {"prompt": ASK, "response": REPLY})
    ran = safe_gate("import", "in.jsonl", "--out", "cases.jsonl")
    assert ran.code == 3
    assert "in.jsonl:3: has no list of records, as the document before it has" in ran.err
    assert not Path("cases.jsonl").exists()
