"""Files that cannot be read, and documents of records in a file of lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cases import SafeGate
from tests.support.importing import (
    ASK,
    REPLY,
    write,
)

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
