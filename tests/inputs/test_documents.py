"""Batches and their outputs: every case has exactly one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cases import SafeGate, safe_case, turn, write_batch, write_cases
from tests.support.refused_inputs import batches


def test_outputs_are_found_beside_the_batch(safe_gate: SafeGate) -> None:
    batches(ids=("b", "a"))
    ran = safe_gate("score", "--batch", "b", "--format", "json")
    assert [r["test_id"] for r in json.loads(ran.out)["results"]] == ["a", "b"]


@pytest.mark.parametrize(
    ("ids", "mentions"),
    [
        (("a",), ["b.json:1: b: output: has no recorded output"]),
        (("a", "b", "c"), ["b.outputs.jsonl:3: c: test_id: is the output of a case that b.json does not have"]),
        (("a", "b", "a"), ["b.outputs.jsonl:3: a: test_id: appears at b.outputs.jsonl:1 too"]),
        ((), ["b.json: has no recorded outputs (for a, b)", "expected them in b.outputs.jsonl"]),
    ],
)
def test_a_case_without_output_and_an_output_without_case_are_errors(
    safe_gate: SafeGate, ids: tuple[str, ...], mentions: list[str]
) -> None:
    batches(ids=ids)
    ran = safe_gate("score", "--batch", "b")
    assert ran.code == 3
    for mention in mentions:
        assert mention in ran.err


@pytest.mark.parametrize("named", [True, False])
def test_an_empty_file_of_outputs_is_an_error_although_the_cases_have_outputs(safe_gate: SafeGate, named: bool) -> None:
    write_batch(Path("b.json"), safe_case("a"))
    file = Path("o.jsonl" if named else "b.outputs.jsonl")
    file.write_text("\n", "utf-8")
    ran = safe_gate("run", "--batch", "b.json", *(("--outputs", file) if named else ()))
    assert ran.code == 3
    assert ran.err.startswith(f"{file}: is empty: no outputs; expected one JSON object per line\n")


def test_an_output_that_is_invalid_is_reported_once(safe_gate: SafeGate) -> None:
    batches(ids=("a",))
    with Path("b.outputs.jsonl").open("a") as file:
        file.write('{"test_id": "b", "output": {"signals": [], "summary": ""}}\n')
    ran = safe_gate("score", "--batch", "b")
    assert "b.outputs.jsonl:2: b: output.followup_questions: is missing; expected a list of texts" in ran.err
    assert ran.err.count("problem;") == 1
    assert "1 problem" in ran.err


def test_an_output_given_twice_names_both_sides(safe_gate: SafeGate) -> None:
    batches(ids=("a",))
    write_batch(Path("b.json"), safe_case("a"))
    ran = safe_gate("score", "--batch", "b")
    assert "b.json:1: a: output: has an output here and at b.outputs.jsonl:1; keep one" in ran.err


def test_one_file_of_outputs_may_serve_several_batches(safe_gate: SafeGate) -> None:
    batches(ids=("a", "b"))
    Path("b.outputs.jsonl").rename("all.jsonl")
    cases = json.loads(Path("b.json").read_text("utf-8"))["test_cases"]
    write_batch(Path("b1.json"), cases[0])
    write_batch(Path("b2.json"), cases[1])
    assert safe_gate("score", "--batch", "b1", "b2", "--outputs", "all.jsonl").code == 0
    ran = safe_gate("score", "--batch", "b1", "--outputs", "all.jsonl")
    assert "all.jsonl:2: b: test_id: is the output of a case that no batch has" in ran.err


def test_ids_are_unique_over_all_files_and_so_are_batch_ids(safe_gate: SafeGate) -> None:
    write_batch(Path("b1.json"), safe_case("a"))
    write_batch(Path("b2.json"), safe_case("a"))
    assert "b2.json:1: a: test_id: appears at b1.json:1 too" in safe_gate("score", "--batch", "b?").err
    Path("d").mkdir()
    write_batch(Path("d/b1.json"), safe_case("z"))
    assert "d/b1.json: has the same batch id as b1.json" in safe_gate("score", "--batch", "b1", "d/b1").err
    write_cases(Path("c1.jsonl"), turn("a"))
    write_cases(Path("c2.jsonl"), turn("a"))
    assert "c2.jsonl:1: a: id: appears at c1.jsonl:1 too" in safe_gate("eval", "--cases", "c*.jsonl").err


def test_problems_of_a_batch_name_case_field_and_line(safe_gate: SafeGate) -> None:
    case = safe_case("a")
    case["expectations"]["followup_questions"]["forbidden_terms"] = ["ok", " "]
    del case["expectations"]["event_summary"]
    Path("b.json").write_text(json.dumps({"test_cases": [case], "x_note": 1, "other": 2}, indent=1), "utf-8")
    err = safe_gate("score", "--batch", "b").err
    assert "b.json:31: other: is not a known field; your own names start with x_" in err
    assert "b.json:6: a: expectations.event_summary: is missing; expected an object with must_contain_phrases" in err
    assert (
        'b.json:15: a: expectations.followup_questions.forbidden_terms[1]: is " "; expected a text to look for that is not blank'
        in err
    )


def test_an_output_is_taken_by_the_case_of_its_own_batch_alone(safe_gate: SafeGate) -> None:
    output = safe_case("x")["output"]
    for name in ("a", "b"):
        case = safe_case(name)
        del case["output"]
        write_batch(Path(f"{name}.json"), case)
    write_cases(Path("a.outputs.jsonl"), {"test_id": "a", "output": output})
    write_cases(Path("b.outputs.jsonl"), {"test_id": "b", "output": output}, {"test_id": "a", "output": output})
    ran = safe_gate("score", "--batch", "a", "b")
    assert ran.code == 3
    assert "b.outputs.jsonl:2: a: test_id: is the output of a case that b.json does not have" in ran.err


def test_a_broken_batch_makes_up_no_problems_in_another(safe_gate: SafeGate) -> None:
    case = safe_case("b")
    output = case.pop("output")
    write_batch(Path("a.json"), {})
    write_batch(Path("b.json"), case)
    write_cases(Path("all.jsonl"), {"test_id": "b", "output": output}, {"test_id": "a", "output": output})
    ran = safe_gate("score", "--batch", "a", "b", "--outputs", "all.jsonl")
    assert ran.code == 3
    assert {line.partition(":")[0] for line in ran.err.splitlines()[:-1]} == {"a.json"}
    assert "another value" not in ran.err
