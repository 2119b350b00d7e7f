"""Batches and their outputs: every case has exactly one."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import SafeGate, bare_case, refused, safe_case, turn, write_batch, write_cases

OUTPUT = safe_case("x")["output"]
TWIN = "appears at {} too; expected ids that are unique in the run"
LACKS = "output: has no recorded output; expected one by this test_id in {}"


def lines(*ids: str) -> str:
    return "".join(json.dumps({"test_id": one, "output": OUTPUT}) + "\n" for one in ids)


INVALID = '{"test_id": "z", "output": {"signals": [], "summary": ""}}\n'
A_B = [bare_case("a"), bare_case("b")]
FILES: dict[str, tuple[dict[str, Any], str, list[str]]] = {
    "beside": ({"b": A_B, "b.outputs.jsonl": lines("b", "a")}, "b", []),
    "a list of files": ({"a": [bare_case("a")], "a.outputs.jsonl": lines("a"), "b": [safe_case("b")]}, "a.json a.outputs.jsonl b.json", []),
    "a case without": ({"b": A_B, "b.outputs.jsonl": lines("a")}, "b", [f"b.json:1: b: {LACKS.format('b.outputs.jsonl')}"]),
    "one too many": ({"b": A_B, "b.outputs.jsonl": lines("a", "b", "c")}, "b", ["b.outputs.jsonl:3: c: test_id: is the output of a case that b.json does not have"]),
    "one twice": ({"b": A_B, "b.outputs.jsonl": lines("a", "b", "a")}, "b", [f"b.outputs.jsonl:3: a: test_id: {TWIN.format('b.outputs.jsonl:1')}"]),
    "none": ({"b": A_B}, "b", [f"b.json:1: a: {LACKS.format('b.outputs.jsonl')}, or inline; --outputs or safe-outputs names another file (2"]),
    "an empty file": ({"b": [safe_case("a")], "b.outputs.jsonl": "\n"}, "b", ["b.outputs.jsonl: is empty: no outputs; expected one JSON object per line"]),
    "an empty file by name": ({"b": [safe_case("a")], "o.parquet": ""}, "b --outputs o.parquet", ["o.parquet: is empty: no outputs; expected one JSON object per line"]),
    "two of one": ({"b": [safe_case("a")], "b.outputs.jsonl": lines("a")}, "b", ["b.json:1: a: output: is recorded here and at b.outputs.jsonl:1; keep one"]),
    "an invalid one": ({"b": [bare_case("z")], "b.outputs.jsonl": INVALID}, "b", ["b.outputs.jsonl:1: z: output.followup_questions: is missing; expected a list of texts"]),
    "an invalid one twice": ({"b": [bare_case("z")], "b.outputs.jsonl": lines("z") + INVALID}, "b", [
        "b.outputs.jsonl:2: z: output.followup_questions: is missing; expected a list of texts",
        f"b.outputs.jsonl:2: z: test_id: {TWIN.format('b.outputs.jsonl:1')}",
    ]),
    "broken": ({"b": A_B, "b.outputs.jsonl": '{"test_id": \n'}, "b", ["b.outputs.jsonl:1: is not valid JSON: it breaks off"]),
    "a broken batch": ({"b": A_B, "b.json": '{"test_cases": [{}', "b.outputs.jsonl": lines("a")}, "b", ["b.json:1: is not valid JSON: it breaks off"]),
    "one file for all": ({"a": [bare_case("a")], "b": [bare_case("b")], "all.jsonl": lines("a", "b")}, "a b --outputs all.jsonl", []),
    "one file of more": ({"a": [bare_case("a")], "all.jsonl": lines("a", "b")}, "a --outputs all.jsonl", ["all.jsonl:2: b: test_id: is the output of a case that no batch has"]),
    "outputs of no batch": ({"a": [safe_case("a")], "b.outputs.jsonl": lines("b")}, "a b.outputs.jsonl", [
        "b.outputs.jsonl: is a file of recorded outputs whose batch, b.json, is not among the batches; name that too",
    ]),
    "outputs that a glob finds beside those by name": ({"a": [bare_case("a")], "a_all.outputs.jsonl": lines("a")}, "a* --outputs a_all.outputs.jsonl", []),
    "outputs by a wrong name": ({"a": [bare_case("a")]}, "a --outputs o.jsonl", ["o.jsonl: matches no file"]),
    "an output in another file": (
        {"a": [bare_case("a")], "b": [bare_case("b")], "a.outputs.jsonl": lines("a"), "b.outputs.jsonl": lines("b", "a")},
        "a b", ["b.outputs.jsonl:2: a: test_id: is the output of a case that b.json does not have"],
    ),
    "a case in two batches": (
        {"a": A_B, "b": [bare_case("a")], "a.outputs.jsonl": lines("a", "b"), "b.outputs.jsonl": lines("a")},
        "a b", [f"b.json:1: a: test_id: {TWIN.format('a.json:1')}"],
    ),
    "a case twice on a line": ({"b": [safe_case("a"), safe_case("a")]}, "b", [f"b.json:1: a: test_id: {TWIN.format('b.json:1')}"]),
    "two batches of one id": (
        {"a": [bare_case("1")], "d/a": [bare_case("2"), safe_case("3", typo=1)], "all.jsonl": lines("1", "2")},
        "a d/a --outputs all.jsonl",
        [
            "d/a.json: has the same batch id as a.json; rename one: a batch's id is its file's stem",
            "d/a.json:1: 3: typo: is not a known field; your own names start with x_",
        ],
    ),
    "a batch without an id, outputs of both": (
        {"a": [{}], "b": [bare_case("b")], "all.jsonl": lines("b", "a")},
        "a b --outputs all.jsonl",
        [
            "a.json:1: test_cases[0].concern_id: is missing",
            "a.json:1: test_cases[0].expectations: is missing",
            "a.json:1: test_cases[0].test_id: is missing",
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_every_case_has_one_output_and_every_output_one_case(safe_gate: SafeGate, name: str) -> None:
    files, words, problems = FILES[name]
    for path, content in files.items():
        Path(path).parent.mkdir(exist_ok=True)
        if isinstance(content, str):
            Path(path).write_text(content, "utf-8")
        else:
            write_batch(Path(f"{path}.json"), *content)
    ran = safe_gate("score", "--batch", *words.split(), "--format", "json")
    assert ran.code == (3 if problems else 0), ran.err
    found = ran.err.splitlines()[:-1]
    assert len(found) == len(problems), ran.err
    assert [line[: len(problem)] for line, problem in zip(found, problems, strict=True)] == problems
    if not problems:
        ids = [one["test_id"] for one in json.loads(ran.out)["results"]]
        assert ids == sorted(ids)


def test_problems_of_a_batch_name_case_field_and_line(safe_gate: SafeGate) -> None:
    case = safe_case("a")
    case["expectations"]["followup_questions"]["forbidden_terms"] = ["ok", " "]
    del case["expectations"]["event_summary"]
    Path("b.json").write_text(json.dumps({"test_cases": [case], "x_note": 1, "other": 2}, indent=1), "utf-8")
    refused(
        safe_gate("score", "--batch", "b"),
        "b.json:31: other: is not a known field; your own names start with x_",
        "b.json:6: a: expectations.event_summary: is missing; expected an object with must_contain_phrases",
        'b.json:15: a: expectations.followup_questions.forbidden_terms[1]: is " "; expected a text to look for that is',
    )


def test_an_id_stands_twice_even_where_one_of_its_cases_is_invalid(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("z"), turn("z", checks=["agency"], tags=3), turn("y"))
    write_cases(Path("d.jsonl"), turn("y"))
    for command in ("validate", "eval --cases", "eval --jobs 2 --cases"):
        said = refused(safe_gate(*command.split(), "c.jsonl", "d.jsonl"), "c.jsonl:2: z: checks")
        for words in ("c.jsonl:2: z: id: appears at c.jsonl:1 too", "d.jsonl:1: y: id: appears at c.jsonl:3 too"):
            assert said.count(words) == 1, said


def test_a_fault_of_one_case_hides_no_other_problem_and_makes_up_none(safe_gate: SafeGate) -> None:
    def said(*flags: str) -> list[str]:
        found = refused(safe_gate("score", "--batch", "a", "b", *flags)).splitlines()
        return [line for line in found if " problem" not in line]

    typo, no_output, no_case = bare_case("1") | {"typo": 1}, bare_case("4") | {"output": {}}, "no case"
    cases = [typo, bare_case("2"), bare_case("2"), bare_case("3"), no_output, no_case]
    Path("a.json").write_text(json.dumps({"test_cases": cases, "batch_plan": 3}), "utf-8")
    write_batch(Path("b.json"), bare_case("1"), bare_case("5"))
    Path("a.outputs.jsonl").write_text(lines("1", "9"), "utf-8")
    Path("b.outputs.jsonl").write_text(lines("1", "5", "8"), "utf-8")
    found = [
        "a.json:1: batch_plan: is 3; expected an object with scenarios",
        'a.json:1: test_cases[5]: is "no case"; expected an object with test_id, concern_id and expectations',
        "a.json:1: 1: typo: is not a known field; your own names start with x_",
        "a.json:1: 2: output: has no recorded output; expected one by this test_id in a.outputs.jsonl, or inline; --outputs or safe-outputs names another file (2 times: also 3)",
        "a.json:1: 2: test_id: appears at a.json:1 too; expected ids that are unique in the run",
        "b.json:1: 1: test_id: appears at a.json:1 too; expected ids that are unique in the run",
        "b.outputs.jsonl:3: 8: test_id: is the output of a case that b.json does not have",
    ]
    assert [line for line in said() if "a.json:1: 4: output." not in line] == found
    write_batch(Path("a.json"), typo, bare_case("2"), bare_case("2"), bare_case("3"))
    assert "a.outputs.jsonl:2: 9: test_id: is the output of a case that a.json does not have" in said()
    Path("all.jsonl").write_text(lines("1", "2", "3", "5", "7"), "utf-8")
    assert "all.jsonl:5: 7: test_id: is the output of a case that no batch has" in said("--outputs", "all.jsonl")
