"""What an input may be: how long a line and a text, how many tags; and how many of its problems are told."""

import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import Patch, SafeGate, refused, report, safe_case, turn, write_batch, write_cases, write_json
from tests.support.synthesis import run

LONG = "x" * 2001
SHORTEN = "the limit of bounds.line; shorten it, or raise bounds.line"
CASE = safe_case("s")
BARE = {name: value for name, value in CASE.items() if name != "output"}
OUTPUT = CASE["output"] | {"signals": ["Fever", LONG]}
SIGNALS = CASE["expectations"] | {"signal_generation": {"must_find_signals": ["a"] * 10_001}}
BOUNDED: dict[str, tuple[dict[str, Any], str, str]] = {
    "a line": ({"c.jsonl": [turn("a"), turn("b", notes=LONG)]}, "line", "c.jsonl:2: is longer than 2000 bytes"),
    "the first line": ({"c.jsonl": [turn("a", notes=LONG)]}, "line", "c.jsonl:1: is longer than 2000 bytes"),
    "a line by default": ({"c.jsonl": [turn("a", x="x" * (16 << 20))]}, "", "c.jsonl:1: is longer than 16777216 bytes"),
    "a line of outputs": ({"b.json": [BARE], "b.outputs.jsonl": [{"test_id": "s", "output": CASE["output"], "x_pad": LONG}]}, "line", "b.outputs.jsonl:1: is longer than 2000 bytes"),
    "a batch": ({"b.json": [CASE | {"x_pad": LONG}]}, "line", "b.json: is longer than 2000 bytes"),
    "the user's text": ({"c.jsonl": [turn("a", user=LONG)]}, "text", "c.jsonl:1: a: user: is longer than 2000 bytes"),
    "the reply": ({"c.jsonl": [turn("a", assistant=LONG)]}, "text", "c.jsonl:1: a: assistant: is longer than 2000"),
    "its bytes": ({"c.jsonl": [turn("a", user="\u00e9" * 1001)]}, "text", "c.jsonl:1: a: user: is longer than 2000"),
    "an output": ({"b.json": [CASE | {"output": OUTPUT}]}, "text", "s: output.signals[1]: is longer than 2000 bytes"),
    "an output elsewhere": ({"b.json": [BARE], "b.outputs.jsonl": [{"test_id": "s", "output": OUTPUT}]}, "text", "b.outputs.jsonl:1: s: output.signals[1]: is longer than 2000 bytes"),
    "expectations": ({"b.json": [CASE | {"expectations": SIGNALS}]}, "", "has 10001 entries, more than 10000; expected"),
}  # fmt: skip


@pytest.mark.parametrize("name", BOUNDED)
def test_what_is_longer_than_a_bound_exits_3_and_names_the_setting(safe_gate: SafeGate, name: str) -> None:
    files, bound, words = BOUNDED[name]
    for path, objects in files.items():
        (write_batch if path == "b.json" else write_cases)(Path(path), *objects)
    command = ("run", "--cases", "c.jsonl") if "c.jsonl" in files else ("run", "--safe-batch", "b.json")
    write_json("bounds.json", {"bounds": {bound: 2000}} if bound else {})
    said = refused(safe_gate(*command, "--config", "bounds.json"), words)
    assert report()["verdict"] == "error"
    if bound:
        assert f", {SHORTEN.replace('line', bound)}" in said
        assert safe_gate(*command).code != 3


def test_what_is_as_long_as_a_bound_is_read(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("a", user="x" * 2000, notes="x" * 3000, x_more=["y" * 3000]))
    data = Path("c.jsonl").read_bytes()
    for text in (data, data.rstrip(b"\n")):
        Path("c.jsonl").write_bytes(text)
        assert safe_gate("run", "--cases", "c.jsonl", "--bounds", f"line={len(data)}", "text=2000").code != 3


def test_the_lines_after_those_that_are_too_long_are_checked(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), turn("a"), turn("b", notes=LONG * 3), turn("c", user=1), turn("d", notes=LONG))
    said = refused(safe_gate("run", "--cases", "c.jsonl", "--bounds", "line=2000")).splitlines()
    assert said[:-1] == [
        f"c.jsonl:2: is longer than 2000 bytes, {SHORTEN} (2 times: also line 4)",
        "c.jsonl:3: c: user: is 1; expected text: what the person wrote",
    ]
    (made,) = report()["provenance"]["inputs"]
    assert made["sha256"] == sha256(Path("c.jsonl").read_bytes()).hexdigest()


@pytest.mark.untraced
def test_a_line_of_more_than_a_million_values_exits_3(safe_gate: SafeGate) -> None:
    brackets = "[," * 1_000_001  # in a text they are none
    write_cases(Path("c.jsonl"), turn("a", x_empty=[[]] * 250_000 + [{}] * 240_000, x_text=brackets))
    assert safe_gate("eval", "--cases", "c.jsonl").code == 0
    words = "holds more than 1,000,000 values; split it"
    most: list[Any] = [[]] * 1_000_000
    refused(run(safe_gate, turn("a"), turn("b", x_empty=most)), f"c.jsonl:2: {words}")
    refused(run(safe_gate, turn("b", x_empty=most)), f"c.jsonl:1: {words}")
    write_batch(Path("b.json"), safe_case("s", x_empty=most))
    refused(safe_gate("run", "--safe-batch", "b.json"), f"b.json:1: {words}")


TOO_LONG = (
    "is longer than 32 MiB, the most that is read of a report or a shard; compare with a commit, use more shards, or"
    " divide the cases among several gates\n"
)


def test_what_is_too_long_to_be_read_again_is_told_by_the_run_that_writes_it(
    safe_gate: SafeGate, monkeypatch: Patch
) -> None:
    monkeypatch.setattr("safe_gate.inputs.disk.WHOLE_FILE", 100)
    path, shard = "reports/safe-gate.json", "reports/safe-gate.shard-1-of-1.json"
    done = run(safe_gate, turn("a"), flags=("--quiet",))
    assert (done.code, done.err) == (0, f"safe-gate: warning: {path} {TOO_LONG}")
    refused(safe_gate("verify", path), f"{path}: {TOO_LONG}")
    assert run(safe_gate, turn("a"), flags=("--reports", "html")).err == ""
    refused(run(safe_gate, turn("a"), flags=("--shard", "1/1")), f"{shard}: {TOO_LONG}")
    assert report()["verdict"] == "error"
    refused(safe_gate("merge", shard, "--cases", "c.jsonl"), f"{shard}: {TOO_LONG}")


_NAMED = {"--config": "safe.config.json", "--waivers": "w.json", "--rules": "p.json", "--baseline": "b.json"}


@pytest.mark.untraced
@pytest.mark.parametrize("flag", _NAMED)
def test_a_document_that_a_change_may_fill_is_refused_before_it_is_parsed(safe_gate: SafeGate, flag: str) -> None:
    write_cases(Path("c.jsonl"), turn("a"))
    most = 33554432 if flag == "--baseline" else 2097152
    filled = '{"x_a":[' + "[]," * (most // 3) + "[]]}"
    Path(_NAMED[flag]).write_text(filled, "utf-8")
    started = time.process_time()
    ran = safe_gate("run", "--cases", "c.jsonl", flag, _NAMED[flag])
    words = TOO_LONG if flag == "--baseline" else "is longer than 2 MiB; expected a shorter file"
    refused(ran, f"{_NAMED[flag]}: {words}")
    assert time.process_time() - started < 5
    Path(_NAMED[flag]).write_text(filled[: most - 10] + "[]]}", "utf-8")
    assert safe_gate("run", "--cases", "c.jsonl", flag, _NAMED[flag]).code == 3
    assert time.process_time() - started < 10


def test_too_many_tags_exit_3_and_name_the_setting(safe_gate: SafeGate) -> None:
    words = "--bounds: tags: the cases have more than 120 distinct tags"
    for cases in (
        [turn("a", tags=[f"t{n}" for n in range(121)])],
        [turn(f"c{n}", tags=[f"t{n}", "all"]) for n in range(120)],
    ):
        refused(run(safe_gate, *cases, flags=("--bounds", "tags=120")), words)
        assert run(safe_gate, flags=("--bounds", "tags=121")).code == 0


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_report_keeps_a_thousand_problems_and_the_log_each_kind_of_a_file(safe_gate: SafeGate, jobs: str) -> None:
    Path("a.jsonl").write_text('{"checks": []}\n' * 700, "utf-8")  # each has four faults
    write_cases(Path("b.jsonl"), *(turn(f"b{n}", user=1) for n in range(30)))
    said = refused(safe_gate("run", "--synthesis-cases", "a.jsonl", "b.jsonl", "--jobs", jobs))
    each = "(700 times: also line 2, line 3, line 4, ...)"
    assert said.splitlines() == [
        f"a.jsonl:1: assistant: is missing; expected text: the reply to judge {each}",
        f"a.jsonl:1: checks: is an empty list; expected a list of at least one check, each once {each}",
        f"a.jsonl:1: id: is missing; expected text of 1 to 200 characters, unique in the run {each}",
        f"a.jsonl:1: user: is missing; expected text: what the person wrote {each}",
        "b.jsonl:1: b0: user: is 1; expected text: what the person wrote (30 times: also b1, b2, b3, ...)",
        "safe-gate: could not judge: 2830 problems; correct the input and run again",
    ]
    found = report()
    assert (len(found["problems"]), found["problem_count"]) == (1000, 2830)
    assert [one["line"] for one in found["problems"][::4]] == [*range(1, 251)]
    assert "and 2630 more: see the JSON report" in Path("reports/safe-gate.md").read_text("utf-8")


def test_only_the_first_problems_of_a_line_are_reported(safe_gate: SafeGate) -> None:
    refused(run(safe_gate, turn("a") | {f"field_{n}": n for n in range(2_000)}))
    assert len(report()["problems"]) == 1000
    Path("a.jsonl").write_text('{"checks": []}\n' * 250, "utf-8")
    refused(safe_gate("run", "--synthesis-cases", "a.jsonl"))
    assert (len(report()["problems"]), "problem_count" in report()) == (1000, False)


@pytest.mark.untraced
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_kind_of_problem_is_named_however_many_of_another_kind_come_first(safe_gate: SafeGate, jobs: str) -> None:
    many = [turn(f"c{n}", foo=1) for n in range(1_020)]
    write_cases(Path("a.jsonl"), *many, turn("x", checks=["nope"]), turn("c1"))
    write_cases(Path("b.jsonl"), *(turn(f"b{n}", user=1, assistant=2, one=1, two=2) for n in range(60)))
    for command in (("run", "--jobs", jobs, "--synthesis-cases"), ("validate",))[: 3 - int(jobs)]:
        lines = refused(safe_gate(*command, "a.jsonl", "b.jsonl")).splitlines()
        assert lines[0].startswith("a.jsonl:1: c0: foo: is not a known field")
        assert lines[0].endswith(" (1020 times: also c1, c2, c3, ...)")
        assert lines[1].startswith('a.jsonl:1021: x: checks[0]: "nope" is not allowed')
        assert lines[2].startswith("a.jsonl:1022: c1: id: appears at a.jsonl:2 too")
        assert [line.endswith(" (60 times: also b1, b2, b3, ...)") for line in lines[3:7]] == [True] * 4
        assert lines[7:] == ["safe-gate: could not judge: 1262 problems; correct the input and run again"]
    kept = report()["problems"]
    assert len(kept) == 1_000
    assert {one["field"] for one in kept} == {"foo", "checks[0]", "id", "user", "assistant", "one", "two"}
