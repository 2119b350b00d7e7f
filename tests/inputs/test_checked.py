"""The kind of a file, and the message for a file of another kind than expected."""

import gzip
import json
import shlex
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from safe_gate.core.figures import plural
from tests.support.cases import Ran, SafeGate, bare_case, refused, safe_case, turn, write_batch, write_cases, write_json
from tests.support.importing import ASK, CSV, FIXTURES, OUTPUT, REPLY, TURNS, exchanges, imported, promptfoo, result
from tests.support.synthesis import run


def batches() -> None:
    write_batch(Path("b.json"), bare_case("a"), bare_case("b"))
    write_cases(Path("b.outputs.jsonl"), *({"test_id": test_id, "output": OUTPUT} for test_id in "ab"))


OTHER = {
    "prompt.jsonl": json.dumps({"id": "a", "checks": ["topic_pivot"], "prompt": ASK, "response": REPLY}),
    "messages.jsonl": json.dumps({"messages": TURNS}),
    "list.json": json.dumps([{"prompt": ASK, "response": REPLY}], indent=1),
    "ours.json": json.dumps([turn("a")]),
    "comma.csv": CSV.replace("\r\n", "\n"),
    "tab.tsv": f"question\tanswer\n{ASK}\t{REPLY}\n",
    "promptfoo.json": json.dumps(promptfoo(result(1, "x", {"output": REPLY})), indent=1),
    "in one line.json": json.dumps(promptfoo(result(1, "x", {"output": REPLY}))),
    "lines over many.jsonl": json.dumps([turn("a"), turn("b")], indent=1),
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
    convert = f"convert it: safe-gate import {shlex.quote(name)} --out"
    to_cases = f"is not a file of Synthesis cases; {convert} cases.jsonl"
    to_outputs = f"is not a SAFE v0 batch; {convert} recorded.outputs.jsonl --evaluator safe_v0"
    commands = {"run --cases": to_cases, "eval --cases": to_cases}
    is_object = name.startswith(("promptfoo", "in one", "inspect"))
    if not is_object:  # an object of many lines may be a config
        commands["validate"] = to_cases
    if not is_object and not name.endswith(".jsonl"):
        commands["score --batch"] = to_outputs
    for command, words in commands.items():
        said = refused(safe_gate(*command.split(), name))
        assert said == f"{name}: {words}\nsafe-gate: could not judge: 1 problem; correct the input and run again\n"
    assert exchanges(imported(safe_gate, name))


def test_a_bare_list_of_test_cases_is_to_be_wrapped_not_imported(safe_gate: SafeGate) -> None:
    Path("b.json").write_text(json.dumps([safe_case("a")], indent=1), "utf-8")
    words = 'b.json: is a bare list of cases; wrap it in an object: {"test_cases": [...]}\n'
    for command in ("run --safe-batch", "score --batch", "validate"):
        assert "import" not in refused(safe_gate(*command.split(), "b.json"), words)


_CONFLICT = ":1: is not valid JSON: there is a marker of a merge conflict (resolve the conflict), at column 1"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'<<<<<<< HEAD, ours\n{"id": "a"}\n', _CONFLICT),
        (b"some text\n", ':1: is not valid JSON: "s" is not expected here, at column 1'),
        (b"- id: a\n  user: x\n", ':1: is not valid JSON: "-" is not expected here, at column 1'),
        (gzip.compress(b"{}", mtime=0), ": is compressed with gzip; unpack it first"),
    ],
)
def test_a_file_that_import_does_not_read_is_not_sent_there(safe_gate: SafeGate, content: bytes, words: str) -> None:
    Path("in.json").write_bytes(content)
    for command in ("run --synthesis-cases", "eval --cases", "run --safe-batch", "score --batch", "validate"):
        refused(safe_gate(*command.split(), "in.json"), f"in.json{words}")
    Path("in.json").write_text('"text"', "utf-8")
    for command in ("eval --cases", "score --batch", "validate"):
        assert "import" not in refused(safe_gate(*command.split(), "in.json"), "; expected a")


def test_validate_knows_every_kind_of_file(safe_gate: SafeGate) -> None:
    batches()
    Path("safe.config.json").write_text("{} // nothing", "utf-8")
    assert run(safe_gate, turn("a")).code == 0
    by_name = ("c.jsonl", "b.json", "b.outputs.jsonl", "safe.config.json", "reports/safe-gate.json")
    for names in (by_name, ("*.json", "b.json", "*.jsonl", "reports/*.json")):
        ran = safe_gate("validate", *names)
        assert (ran.code, ran.out) == (0, "5 files valid: 3 cases, 1 report, 1 config file\n")
    refused(safe_gate("validate", "c.jsonl", "x*"), "x*: matches no file; correct the path or the pattern\n")
    assert safe_gate("validate", "b.outputs.jsonl").out == "1 file valid: 2 outputs\n"
    write_cases(Path("b.outputs.jsonl"), {"id": "a"} | OUTPUT)
    words = "b.outputs.jsonl: is not a file of recorded outputs; convert it: safe-gate import b.outputs.jsonl --out"
    for command in (("run", "--batch", "b.json"), ("validate", "b.json", "b.outputs.jsonl")):
        refused(safe_gate(*command), f"{words} recorded.outputs.jsonl --evaluator safe_v0\n")
    Path("own.json").write_text('{"rules": [], "weights": {"CR": 2}}', "utf-8")
    assert safe_gate("validate", "own.json").out == "1 file valid: 1 config file\n"


def test_validate_joins_a_batch_with_the_outputs_that_the_config_names(safe_gate: SafeGate) -> None:
    for name in ("a", "b"):
        write_batch(Path(f"{name}.json"), bare_case(name))
    outputs = [{"test_id": name, "output": safe_case(name)["output"]} for name in ("a", "b")]
    write_cases(Path("recorded.jsonl"), *outputs)
    write_json("safe.config.json", {"safe-batch": ["?.json"], "safe-outputs": ["recorded.jsonl"]})
    for names, cases in (("a.json", "b.json", "safe.config.json"), "2 cases"), (("a.json",), "1 case"):
        assert cases in safe_gate("validate", *names).out
    write_cases(Path("recorded.jsonl"), *outputs[:1])
    refused(safe_gate("validate", "a.json", "b.json"), "b.json:1: b: output: has no recorded output")


@pytest.mark.parametrize("spelt", ["{}", "./{}", "s/../{}"])
def test_validate_joins_the_batches_that_are_given_and_no_others(safe_gate: SafeGate, spelt: str) -> None:
    Path("s").mkdir()
    for name in "ab":
        write_cases(Path(f"{name}.outputs.jsonl"), {"test_id": name, "output": OUTPUT})
        write_batch(Path(f"{name}.json"), bare_case(name))

    def validated(names: str) -> Ran:
        return safe_gate("validate", *(spelt.format(name) for name in names.split()))

    assert safe_gate("score", "--batch", "a.json", "a.outputs.jsonl").code == 0  # as a shell expands a*
    for names, said in {
        "a.json b.json": "2 files valid: 2 cases\n",
        "a.json a.outputs.jsonl b.json": "3 files valid: 2 cases\n",
        "a.json b.outputs.jsonl": "2 files valid: 1 case",
        "a.json a.outputs.jsonl b.outputs.jsonl": "3 files valid: 1 case",
        "b.outputs.jsonl a.outputs.jsonl": "2 files valid: 2 outputs\n",
    }.items():
        ran = validated(names)
        assert (ran.code, ran.out.startswith(said)) == (0, True), ran.log
    with Path("b.outputs.jsonl").open("a") as file:
        file.write("{}\n")
    assert "b.outputs.jsonl:2: output: is missing" in validated("a.json b.outputs.jsonl").err
    Path("b.outputs.jsonl").write_bytes(Path("a.outputs.jsonl").read_bytes())
    ran = validated("a.json a.outputs.jsonl b.json b.outputs.jsonl")
    assert "b.outputs.jsonl:1: a: test_id: is the output of a case that " in ran.err
    assert "1: b: output: has no recorded output" in ran.err


@pytest.mark.parametrize(("name", "ids"), [("c.JSONL", "t"), ("c.ndjson", "tu"), ("cases", "tu")])
def test_validate_reads_lines_whatever_the_suffix(safe_gate: SafeGate, name: str, ids: str) -> None:
    write_cases(Path(name), *map(turn, ids))
    assert safe_gate("eval", "--cases", name).code == 0
    assert safe_gate("validate", name).out == f"1 file valid: {plural(len(ids), 'case')}\n"
    batches()
    Path("b.outputs.jsonl").rename("all.txt")
    assert safe_gate("validate", "b.json", "all.txt").out == "2 files valid: 2 cases\n"
    Path("lines.json").write_text(f'{{"test_cases": [\n{json.dumps(safe_case("c"))}\n]}}', "utf-8")
    assert safe_gate("validate", "lines.json").out == "1 file valid: 1 case\n"


def test_cases_given_to_the_other_evaluator_name_the_setting_for_them(safe_gate: SafeGate) -> None:
    write_cases(Path("cases.jsonl"), turn("a"))
    write_cases(Path("one.json"), turn("a"))
    write_batch(Path("batch.json"), safe_case("b"))
    write_cases(Path("o.jsonl"), *({"test_id": f"t{n}", "output": OUTPUT} for n in range(300)))
    words = "is a file of Synthesis cases, not a SAFE v0 batch; name the file with --synthesis-cases or synthesis-cases"
    for name in ("cases.jsonl", "one.json"):
        assert f"{name}: {words}\n" in safe_gate("run", "--safe-batch", name).err
    words = "is a SAFE v0 batch, not a file of Synthesis cases; name the file with --safe-batch or safe-batch"
    assert f"batch.json: {words}\n" in safe_gate("run", "--synthesis-cases", "batch.json").err
    words = "o.jsonl: is a file of recorded outputs, not a file of Synthesis cases; name"
    refused(safe_gate("eval", "--cases", "o.jsonl"), words, "could not judge: 1 problem;")


def test_what_names_no_file_is_answered_with_what_would(safe_gate: SafeGate) -> None:
    Path("evals").mkdir()
    write_cases(Path("evals/more.jsonl"), turn("a"))
    write_batch(Path("evals/batch.json"), safe_case("a"))
    for flags, words in (
        ("--safe-batch evals", "evals: is a folder; name the files in it, such as evals/*.json\n"),
        ("--cases evals", "evals: is a folder; name the files in it, such as evals/*.jsonl\n"),
        ("--cases evals/more.jsonl --rules evals", "name the files in it, such as evals/*.json\n"),
        ("--safe-batch evals/*.jsonl", "evals/*.jsonl: matches no batch: a glob finds .json files"),
        ("--cases evals/mroe.jsonl", 'matches no file (did you mean "evals/more.jsonl"?)'),
        ("--cases evals/e.jsonl", "matches no file; correct the path"),
        ("--cases evals/mor.jsonl", 'matches no file (did you mean "evals/more.jsonl"?)'),
        ("--safe-batch evals/batsh.json", 'matches no file (did you mean "evals/batch.json"?)'),
        *((f"{flag} {'x' * 5000}", ": matches no file; correct the path") for flag in ("--cases", "--safe-batch")),
    ):
        refused(safe_gate("run", *flags.split()), words)
