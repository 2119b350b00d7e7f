"""Parquet of logs: a row is a case as a line of JSONL is, and nothing in a file ends in a traceback."""

import datetime
import decimal
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safe_gate.inputs import case_files, recorded
from safe_gate.model.problems import Problem
from safe_gate.scoring import sides
from safe_gate.settings import Settings
from tests.support.cases import REPOSITORY, SYNTHESIS, Patch, SafeGate, refused, turn, write_cases
from tests.support.git import commit, git

DATA = REPOSITORY / "examples" / "empathy.jsonl"
COLUMNS = pa.schema(
    [
        ("id", pa.string()),
        ("user", pa.large_string()),
        ("assistant", pa.dictionary(pa.int32(), pa.string())),
        ("checks", pa.list_(pa.string())),
        ("expected", pa.map_(pa.string(), pa.bool_())),
        ("tags", pa.list_(pa.string())),
        ("notes", pa.string()),
    ]
)


def write(path: str, cases: list[dict[str, Any]], schema: pa.Schema | None = None, **how: Any) -> None:
    """Write cases as Parquet, of the types that are found in them unless there is a schema."""
    pq.write_table(pa.Table.from_pylist(cases, schema), path, **how)


def read(path: str) -> list[Any]:
    """Return what is read of a file: cases and problems."""
    files = case_files.CaseFiles(SYNTHESIS, Settings().replace(synthesis_cases=(path,)))
    found = recorded.Found()
    cases = [*recorded.read_cases(files, sides.scoring_settings(Settings()), found)]
    return [*cases, *found.problems.kept()]


def told(path: str) -> list[str]:
    """Return the problems of a file as lines."""
    return [f"{p.place.line}: {p.case_id}: {p.field}: {p.message}" for p in read(path) if isinstance(p, Problem)]


def bare(report: str) -> Any:
    """Return a report without the places of its cases."""
    found = json.loads(Path(report).read_text("utf-8"))
    for result in found["results"]:
        assert result.pop("source")["line"] > 0
    return found


@pytest.mark.parametrize("rows", [7, 1_000])
def test_rows_score_as_the_same_lines_do(safe_gate: SafeGate, rows: int) -> None:
    cases = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]
    rowed = [{**case, "expected": list(case["expected"].items()) if "expected" in case else None} for case in cases]
    write("c.parquet", rowed, COLUMNS, row_group_size=rows, compression="zstd")
    lines = safe_gate("eval", "--cases", DATA, "--out", "lines.json")
    ran = safe_gate("eval", "--cases", "*.parquet", "--out", "rows.json")
    assert (ran.code, ran.err) == (lines.code, "")
    assert bare("rows.json") == bare("lines.json")
    assert safe_gate("validate", "c.parquet").out == f"1 file valid: {len(cases)} cases\n"


def test_a_run_on_rows_can_be_verified_and_be_a_baseline(safe_gate: SafeGate) -> None:
    verify = ("verify", "reports/safe-gate.json")
    git("init", "--quiet")
    write("c.parquet", [turn("a"), turn("b")])
    commit()
    assert safe_gate("run", "--synthesis-cases", "c.parquet").code == safe_gate(*verify).code == 0
    write("c.parquet", [turn("a"), turn("b", assistant="You must go.")])
    assert safe_gate(*verify).code != 0
    ran = safe_gate("compare", "HEAD", ".", "--synthesis-cases", "*.parquet")
    assert (ran.code, ran.err) == (0, "")
    assert "1 newly failing, 0 fixed, 0 still failing · 1 of 2 outputs changed" in ran.out


def test_a_null_is_a_field_that_is_not_there_but_for_a_label_of_a_map() -> None:
    cases = [
        turn("a", notes=None, tags=None, expected={"topic_pivot": None, "agency_language": True}),
        turn("b", notes="n", tags=["t"], expected={"topic_pivot": False, "agency_language": None}),
        turn("c", notes="n", tags=["t"], expected=None),
    ]
    write("struct.parquet", cases)
    assert [case.expected for case in read("struct.parquet")] == [{"agency_language": True}, {"topic_pivot": False}, {}]
    write("map.parquet", [turn("a", expected=[("topic_pivot", None)])], COLUMNS)
    assert [case.expected for case in read("map.parquet")] == [{"topic_pivot": None}]
    verdict = {"passed": True, "by": "judge", "why": None}
    struct = pa.struct({"passed": pa.bool_(), "by": pa.string(), "why": pa.string()})
    kinds = pa.schema([*COLUMNS, ("judged", pa.map_(pa.string(), struct))])
    write("judged.parquet", [turn("a", judged=[("tone", verdict)])], kinds)
    assert [case.id for case in read("judged.parquet")] == ["a"]


def test_every_row_is_validated_against_the_schema(safe_gate: SafeGate) -> None:
    wrong = turn("b", checks=["agency"]), turn("a"), turn("", user=None), turn("d", tags=[None])
    write("c.parquet", [turn("a", tags=["t"]), *wrong], row_group_size=2)
    refused(
        safe_gate("eval", "--cases", "c.parquet"),
        'c.parquet:2: b: checks[0]: "agency" is not allowed; expected one of',
        "c.parquet:3: a: id: appears at c.parquet:1 too",
        "c.parquet:4: user: is missing; expected text",
        "c.parquet:4: id: ",
        "c.parquet:5: d: tags[0]: is null; expected text",
        "could not judge: 5 problems",
    )


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("user", b"bytes", "is a row that JSON cannot represent: user: "),
        ("user", 3, "is 3; expected text"),
        ("x_when", datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC), "is a row that JSON cannot represent: x_when: "),
        ("x_price", decimal.Decimal("1.5"), "is a row that JSON cannot represent: "),
        ("x_score", float("nan"), "NaN is not a JSON number"),
        ("x_score", float("-inf"), "-Infinity is not a JSON number"),
        ("model", "m-1", "is not a known field"),
        ("checks", {"agency_language": True}, "is an object of 1; expected"),
        ("assistant", None, "is missing"),
        ("checks", [["agency_language"]], "is a list of 1; expected"),
        ("expected", {"topic_pivot": "yes"}, 'is "yes"; expected true (pass)'),
    ],
)
def test_a_value_of_another_kind_is_a_problem_of_its_row(column: str, value: Any, said: str) -> None:
    write("c.parquet", [turn("b") | {column: value}])
    assert any(said in line for line in told("c.parquet")), told("c.parquet")


def test_conversations_are_rows_too(safe_gate: SafeGate) -> None:
    reply = {"role": "assistant", "content": "Anyway.", "expected": {"topic_pivot": False}}
    cases: list[dict[str, Any]] = [
        {"id": "a", "messages": [{"role": "user", "content": "I feel awful."}, reply], "turns": "all"},
        {"id": "b", "user": "Hi.", "assistant": "Hello."},
    ]
    write("c.parquet", [dict.fromkeys(("messages", "turns", "user", "assistant")) | one for one in cases])
    write_cases(Path("c.jsonl"), *cases)
    for name in ("c.parquet", "c.jsonl"):
        assert safe_gate("eval", "--cases", name, "--out", f"{name}.json").code in (0, 2)
    assert bare("c.parquet.json") == bare("c.jsonl.json")


def test_what_arrow_allows_and_json_does_not_is_a_problem_of_its_row() -> None:
    base = {name: pa.array([value]) for name, value in turn("a").items()}
    twice = pa.Table.from_arrays([*base.values(), base["id"]], [*base, "id"])
    no_text = [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")]
    broken = pa.Table.from_pydict(base | {"user": pa.Array.from_buffers(pa.string(), 1, no_text)})
    pairs = [("topic_pivot", True), ("topic_pivot", False)]
    doubled = pa.Table.from_pydict(base | {"expected": pa.array([pairs], pa.map_(pa.string(), pa.bool_()))})
    for table, said in (
        (twice, 'is not valid JSON: the key "id" appears twice'),
        (broken, "is a row that JSON cannot represent: user: 'utf-8'"),
        (doubled, "is a row that JSON cannot represent: expected: "),
    ):
        pq.write_table(table, "c.parquet")
        (line,) = told("c.parquet")
        assert line.startswith(f"1: : : {said}"), line
    assert [problem.without_texts().message for problem in read("c.parquet")] == ["is a row that JSON cannot represent"]


@pytest.mark.parametrize(
    "content",
    [b"", b"PAR1", b"PAR1" + b"\0" * 40 + b"PAR1", b'{"id": "a"}\n', b"PAR1\xff\xff\xff\x7fPAR1"],
    ids=range(5),
)
def test_a_file_that_is_no_parquet_is_a_problem(safe_gate: SafeGate, content: bytes) -> None:
    Path("c.parquet").write_bytes(content)
    err = refused(safe_gate("eval", "--cases", "c.parquet"))
    assert err.startswith("c.parquet: is not a readable Parquet file: ")
    assert err.count("\n") == 2


@given(st.integers(0, 2**32), st.binary(min_size=1, max_size=4))
@settings(deadline=None, max_examples=60, derandomize=True)  # what is damaged is read by a library in C++
def test_a_damaged_file_is_read_or_refused(place: int, damage: bytes) -> None:
    write("c.parquet", [turn(f"c{number}") for number in range(5)])
    data = bytearray(Path("c.parquet").read_bytes())
    place %= len(data)
    data[place : place + len(damage)] = damage
    Path("c.parquet").write_bytes(bytes(data))
    assert read("c.parquet")


def test_a_file_without_rows_is_empty(safe_gate: SafeGate) -> None:
    pq.write_table(COLUMNS.empty_table(), "c.parquet")
    refused(safe_gate("eval", "--cases", "c.parquet"), "c.parquet: is empty: no cases; expected one case a row")


def test_without_the_extra_an_error_says_how_to_install(safe_gate: SafeGate, monkeypatch: Patch) -> None:
    write("a.parquet", [turn("a")])
    write_cases(Path("b.jsonl"), turn("b", checks=[]))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    refused(
        safe_gate("eval", "--cases", "a.parquet", "b.jsonl"),
        "a.parquet: is Parquet, which needs pyarrow, which is not installed",
        "instead of the action, whose image lacks it",
        "install SAFE Gate with the extra `dask`",
        "b.jsonl:1: b: checks",
    )


@pytest.mark.soak
def test_pages_that_expand_are_refused(safe_gate: SafeGate) -> None:
    rows = {"id": ["a", "b"], "user": ["Hi."] * 2, "assistant": ["Hello."] * 2, "x_a": ["a" * (70 << 20)] * 2}
    pq.write_table(pa.table(rows), "c.parquet", compression="zstd", use_dictionary=False)
    refused(safe_gate("eval", "--cases", "c.parquet"), "is not a readable Parquet file: it expands from ")
