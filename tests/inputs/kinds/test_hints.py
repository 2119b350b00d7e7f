"""A file of another format, or with other names, gets a sentence that names the `import` command."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.cases import SafeGate, safe_case, turn, write_batch
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

OTHER = {
    "prompt.jsonl": json.dumps({"id": "a", "checks": ["topic_pivot"], "prompt": ASK, "response": REPLY}),
    "messages.jsonl": json.dumps({"messages": TURNS}),
    "list.json": json.dumps([{"prompt": ASK, "response": REPLY}], indent=1),
    "ours.json": json.dumps([turn("a")]),
    "comma.csv": CSV.replace("\r\n", "\n"),
    "tab.tsv": f"question\tanswer\n{ASK}\t{REPLY}\n",
    "promptfoo.json": json.dumps(promptfoo(result(1, "x", {"output": REPLY})), indent=1),
    "in one line.json": json.dumps(promptfoo(result(1, "x", {"output": REPLY}))),
    "inspect.json": (FIXTURES / "inspect.json").read_text("utf-8"),
}


def _written(name: str) -> None:
    if name.endswith(".parquet"):
        pq.write_table(pa.Table.from_pylist([{"prompt": ASK, "response": REPLY}]), name)
    elif name.endswith(".eval"):
        Path(name).write_bytes((FIXTURES / "inspect.eval").read_bytes())
    else:
        Path(name).write_text(OTHER[name] + "\n", "utf-8")


@pytest.mark.parametrize("name", [*OTHER, "log.eval", "rows.parquet"])
def test_a_file_of_another_format_is_one_sentence_with_the_command_to_use(safe_gate: SafeGate, name: str) -> None:
    _written(name)
    quoted = f"'{name}'" if " " in name else name
    to_cases = f"is not a file of Synthesis cases; convert it: safe-gate import {quoted} --out cases.jsonl\n"
    to_outputs = f"safe-gate import {quoted} --out recorded.outputs.jsonl --evaluator safe_v0\n"
    commands: list[tuple[tuple[str, ...], str]] = [(("run", "--cases"), to_cases), (("eval", "--cases"), to_cases)]
    is_object = name.startswith(("promptfoo", "in one", "inspect"))
    if not is_object:  # an object of many lines may be a config
        commands.append((("validate",), to_cases))
    if not is_object and not name.endswith(".jsonl"):
        commands.append((("score", "--batch"), f"is not a SAFE v0 batch; convert it: {to_outputs}"))
    for command, words in commands:
        ran = safe_gate(*command, name)
        assert ran.code == 3
        assert ran.err == f"{name}: {words}safe-gate: could not judge: 1 problem; correct the input and run again\n"
    assert exchanges(imported(safe_gate, name))


def test_outputs_under_other_names_name_the_command(safe_gate: SafeGate) -> None:
    case = safe_case("a")
    del case["output"]
    write_batch(Path("b.json"), case)
    write("b.outputs.jsonl", {"id": "a"} | OUTPUT)
    words = "convert it: safe-gate import b.outputs.jsonl --out recorded.outputs.jsonl --evaluator safe_v0\n"
    for command in (("run", "--batch", "b.json"), ("validate", "b.json", "b.outputs.jsonl")):
        assert f"b.outputs.jsonl: is not a file of recorded outputs; {words}" in safe_gate(*command).err


def test_a_broken_batch_is_not_taken_for_another_format(safe_gate: SafeGate) -> None:
    write_batch(Path("b.json"), safe_case("a"))
    Path("b.json").write_text(Path("b.json").read_text("utf-8").rstrip().removesuffix("}"), "utf-8")
    ran = safe_gate("run", "--safe-batch", "b.json")
    assert "import" not in ran.err
    assert "breaks off" in ran.err
