"""Files that cannot be read, records wherever a document has its lists, and rows of named fields."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import SafeGate, refused
from tests.support.importing import ASK, REPLY, imported, left_out, said, write

POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12\n"
READS = [
    *("run --cases in.jsonl", "run --cases in.parquet", "run --safe-batch in.json"),
    *(f"run --cases ok.jsonl --{option} in.json" for option in ("config", "rules", "baseline", "waivers")),
    *("validate in.json", "import in.csv --out o.jsonl", "import in.eval --out o.jsonl", "compare in.json in.json"),
]


@pytest.mark.parametrize("command", READS)
def test_a_git_lfs_pointer_is_named_wherever_it_is_read(safe_gate: SafeGate, command: str) -> None:
    for suffix in ("jsonl", "json", "csv", "eval", "parquet"):
        Path(f"in.{suffix}").write_text(POINTER, "utf-8")
    write("ok.jsonl", {"id": "a", "user": ASK, "assistant": REPLY, "checks": ["topic_pivot"]})
    refused(safe_gate(*command.split()), "cannot be read: it is a Git LFS pointer, not the file; run git lfs pull")


def test_import_replaces_a_file_that_is_not_empty_only_with_a_flag(safe_gate: SafeGate) -> None:
    write("in.jsonl", {"prompt": ASK, "response": REPLY})
    out = Path("cases.jsonl")
    out.touch()
    assert safe_gate("import", "in.jsonl", "--out", out).code == 0, "an empty file holds nothing to lose"
    labelled = out.read_text("utf-8").replace("{", '{"expected": {"topic_pivot": true}, ', 1)
    out.write_text(labelled, "utf-8")
    ran = safe_gate("import", "in.jsonl", "--out", out)
    assert (ran.code, out.read_text("utf-8")) == (3, labelled)
    assert "--out: names cases.jsonl, which exists; set --force to replace it with all its labels" in ran.err
    assert safe_gate("import", "in.jsonl", "--out", out, "--force").code == 0
    assert "expected" not in out.read_text("utf-8")
    Path("folder").mkdir()
    refused(safe_gate("import", "in.jsonl", "--out", "folder"), "--out: names folder, which is a folder; name a file")


ROW = {"prompt": ASK, "response": REPLY}
PAGE = {"data": [ROW]}


@pytest.mark.parametrize(("values", "count"), [([ROW | PAGE, ROW], 2), ([PAGE, PAGE, {"data": []}, ROW], 3)])
def test_a_line_with_a_list_of_records_hides_no_later_line(safe_gate: SafeGate, values: list[Any], count: int) -> None:
    write("in.jsonl", *values)
    assert said(safe_gate, "in.jsonl")[0] == f"in.jsonl: JSON objects with named fields, {count} cases"


@pytest.mark.parametrize("key", ["data", "samples"])
@pytest.mark.parametrize("items", [[], ["x"], [{"q": "Hello", "a": {"text": "Hi."}}]])
def test_an_object_with_the_mapped_fields_is_a_record(safe_gate: SafeGate, key: str, items: list[Any]) -> None:
    """An object without them is a page. The answer of an API may have a field with the name of one."""
    call, mapping = {"q": ASK, "a": {"text": REPLY}}, ("--map", "user=q,assistant=a.text")
    write("in.json", call, call | {key: items})
    assert [case["user"] for case in imported(safe_gate, "in.json", *mapping)] == [ASK] * 2
    assert (f'the field "{key}" (1 record)' in left_out(safe_gate, "in.json", *mapping)) == bool(items)
    write("in.json", {"q": "success", key: [call]})
    assert [case["user"] for case in imported(safe_gate, "in.json", *mapping)] == [ASK]


@pytest.mark.parametrize("between", [",\n", "\n,", "\n,\n", ", "])
@pytest.mark.parametrize("start", ["\n", "", "\r\n \n"])
def test_a_document_is_one_whatever_its_line_breaks(safe_gate: SafeGate, start: str, between: str) -> None:
    rows = between.join(json.dumps({"id": one, **ROW}) for one in "abc")
    for text, code, words in (
        (f'{{"examples": [{start}{rows}\n]}}\n', 0, "in.json: JSON objects with named fields, 3 cases"),
        (
            f'{{"results":[{start}{rows}\n]}}\n',
            3,
            "records with \"results\"; take a list out with jq -c '.LIST[]', name ",
        ),
        (f'{{"examples": [{start}{rows}\n', 3, "is not valid JSON: it breaks off"),
    ):
        Path("in.json").write_text(text, "utf-8")
        ran = safe_gate("import", "in.json", "--out", "o.jsonl", "--force", "--skip-invalid")
        assert (ran.code, words in ran.log) == (code, True), ran.log


@pytest.mark.parametrize("again", ["id,user,assistant", "\ufeffid,user,assistant", "ID, User ,\tASSISTANT"])
def test_a_header_within_a_table_is_an_error_at_its_line(safe_gate: SafeGate, again: str) -> None:
    text = "".join(f"{header}\n{id_},{ASK},{REPLY}\n" for header, id_ in (("id,user,assistant", "a"), (again, "b")))
    Path("in.csv").write_text(text, "utf-8")
    refused(safe_gate("import", "in.csv", "--out", "o.jsonl"), "in.csv:3: is the header again, as where files are")
    assert [case["id"] for case in imported(safe_gate, "in.csv", "--skip-invalid")] == ["a", "b"]


@pytest.mark.parametrize("name", ["output", "response", "completion"])
def test_alpaca_asks_by_its_instruction_and_its_input(safe_gate: SafeGate, name: str) -> None:
    asked = {("What is 2+2?", ""): "What is 2+2?", ("Do.", "This"): "Do.\n\nThis", ("", "Say hi."): "Say hi."}
    write("in.jsonl", *({"instruction": task, "input": given, name: REPLY} for task, given in asked))
    assert [case["user"] for case in imported(safe_gate, "in.jsonl")] == [*asked.values()]
    mapping = ("--map", f"user=input,assistant={name}")
    assert [case["user"] for case in imported(safe_gate, "in.jsonl", *mapping)] == [given for _, given in asked]
    assert left_out(safe_gate, "in.jsonl", *mapping) == ['the field "instruction" (2 records)']
