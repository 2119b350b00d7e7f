"""`--tag`: what it leaves in, what the report says of it, and what it cannot hide."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from safe_gate.gate.weakening import Terms, weakenings
from tests.support.cases import GOOD, Patch, SafeGate, refused, report, safe_case, turn, write_batch, write_cases
from tests.support.git import commit_here
from tests.support.judged_run import waive
from tests.support.reports import scorecard
from tests.support.synthesis import RUN
from tests.support.weakening import DEFAULTS

BAD = "You should stop. You must calm down."
GROUPS = {"a": ["grief"], "b": ["grief", "slow"], "c": ["work"]}
"""The tags of three cases, of which the last one fails."""


def cases(*left_out: str, **changed: dict[str, Any]) -> None:
    """Write the cases, without some of them or with fields changed."""
    every = (
        turn(id_, tags=GROUPS[id_], assistant=BAD if id_ == "c" else GOOD) for id_ in GROUPS if id_ not in left_out
    )
    write_cases(Path("c.jsonl"), *(one | changed.get(one["id"], {}) for one in every))


@pytest.fixture(autouse=True)
def _every_case() -> None:
    cases()


def batch() -> None:
    """Write two cases of SAFE v0."""
    write_batch(Path("b.json"), safe_case("s", archetype="Safety"), safe_case("t", archetype="Other"))


def judged() -> list[str]:
    return [result["id"] for result in report()["synthesis"]["results"]]


@pytest.mark.parametrize(
    ("filters", "ids", "words"),
    [
        (["--tag", "grief"], ["a", "b"], 'with "grief"; 1 Synthesis case is left out.'),
        (["--tag", "grief", "work"], ["a", "b", "c"], 'with "grief" or "work".'),
        (["--tag", "!slow", "!work"], ["a"], 'without "slow" or "work"; 2 Synthesis cases are left out.'),
        (["--tag", "grief", "!slow"], ["a"], 'with "grief" and without "slow"; 2 Synthesis cases are'),
    ],
)
def test_every_report_names_its_filter(safe_gate: SafeGate, filters: list[str], ids: list[str], words: str) -> None:
    ran = safe_gate(*RUN, *filters, "--jobs", str(len(ids)), "--reports", "json", "markdown", "html", "junit", "sarif")
    assert (ran.code, judged()) == (int("c" in ids), ids)
    assert f"Filtered: only cases {words}" in ran.out
    for name in ("safe-gate.md", "safe-gate.html"):
        assert "Filtered: only cases with" in Path("reports", name).read_text("utf-8")
    (run,) = json.loads(Path("reports/safe-gate.sarif").read_text("utf-8"))["runs"]
    suites = ElementTree.parse("reports/safe-gate.junit.xml").getroot()
    (of_suite,) = suites.findall("testsuite/properties/property[@name='filter']")
    for said in (run["properties"]["filter"], of_suite.attrib["value"]):
        assert said.startswith(f"Filtered: only cases {words}")
    provenance = report()["provenance"]
    assert provenance.get("left_out", {}) == ({"synthesis": 3 - len(ids)} if len(ids) < 3 else {})
    assert "HOLDS" in safe_gate("verify", "reports/safe-gate.json").out
    assert "Filtered" not in safe_gate(*RUN).out


@pytest.mark.parametrize(
    ("filters", "words"),
    [
        ("greif", '--tag: leaves no Synthesis case to judge: no case has "greif" (did you mean "grief"?)'),
        ("grief wrok", '--tag: no case has "wrok" (did you mean "work"?); correct the name'),
        ("slow !grief", "--tag: leaves no Synthesis case to judge; correct it"),
        ("!grief !work", "--tag: leaves no Synthesis case to judge; correct it"),
        ("!", '--tag: is "!"; expected tags or archetypes, with ! before each to leave out'),
        ("!!work", '--tag: is "!!work"; expected tags or archetypes'),
    ],
)
def test_an_empty_selection_and_a_misspelt_tag_exit_3(safe_gate: SafeGate, filters: str, words: str) -> None:
    Path("safe.config.json").write_text('{"tag": ["slow"]}', "utf-8")  # which is not where it is misspelt
    for command in (RUN, ("eval", "--cases", "c.jsonl")):
        assert refused(safe_gate(*command, "--tag", *filters.split())).startswith(words)


def test_an_evaluator_that_is_left_without_a_case_does_not_pass(safe_gate: SafeGate) -> None:
    batch()
    words = 'tag: leaves no SAFE v0 case to judge: no case has "grief"; correct it, or run without these files'
    refused(safe_gate(*RUN, "--safe-batch", "b.json", "--tag", "grief"), words)
    assert safe_gate(*RUN, "--safe-batch", "b.json", "--tag", "grief", "Safety").code == 0
    assert [result["test_id"] for result in report()["safe_v0"]["results"]] == ["s"]
    assert report()["provenance"]["left_out"] == {"safe_v0": 1, "synthesis": 1}


def test_every_command_that_scores_has_the_filters(safe_gate: SafeGate) -> None:
    batch()
    assert safe_gate("eval", "--cases", "c.jsonl").code == 2
    ran = safe_gate("eval", "--cases", "c.jsonl", "--tag", "!work")
    assert (ran.code, 'Filtered: only cases without "work"; 1 Synthesis case is left out.' in ran.out) == (0, True)
    scored = json.loads(safe_gate("score", "--batch", "b", "--format", "json", "--tag", "Safety").out)
    assert scored["total_cases"] == 1
    assert "No case fails" in safe_gate("explain", "--failed", "--cases", "c.jsonl", "--tag", "grief").out
    assert "c (c.jsonl:3): fails" in safe_gate("explain", "c", "--cases", "c.jsonl", "--tag", "grief").out
    power = ("power", "--cases", "c.jsonl")
    assert safe_gate(*power, "--tag", "grief").out != safe_gate(*power).out


def test_shards_of_a_filtered_run_make_the_same_report(safe_gate: SafeGate, monkeypatch: Patch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    safe_gate(*RUN, "--tag", "grief")
    whole = Path("reports/safe-gate.json").read_bytes()
    for index in "12":
        assert safe_gate(*RUN, "--tag", "grief", "--shard", f"{index}/2").code == 0
    shards = "reports/safe-gate.shard-*.json"
    assert safe_gate("merge", shards, *RUN[1:], "--tag", "grief").code == 0
    assert Path("reports/safe-gate.json").read_bytes() == whole
    assert safe_gate("merge", shards, *RUN[1:]).code == 3, "they were scored under another filter"


def test_waivers_of_cases_that_are_left_out_are_not_unused(safe_gate: SafeGate) -> None:
    waive({"id": "c", "check": "agency_language"})
    assert safe_gate(*RUN, "--tag", "grief").code == 0
    assert report()["waivers"]["unused"] == []
    assert safe_gate(*RUN, "--tag", "grief", "work").code in (0, 1)
    assert [one["id"] for one in report()["waivers"]["applied"]] == ["c"]
    write_batch(Path("b.json"), safe_case("c", archetype="Other"), safe_case("s", archetype="Safety"))
    safe_gate(*RUN, "--safe-batch", "b.json", "--tag", "!Other")  # which leaves out another case c
    assert [one["id"] for one in report()["waivers"]["applied"]] == ["c"]


def test_a_concern_is_a_filter_like_a_tag(safe_gate: SafeGate) -> None:
    good, bad = (safe_case(one, concern_id=one) for one in ("I1", "I2"))
    write_batch(Path("b.json"), good, bad)
    commit_here()
    write_batch(Path("b.json"), good, bad | {"output": safe_case("x")["output"] | {"summary": "", "signals": ["?"]}})
    run = ("run", "--safe-batch", "b.json", "--baseline", "main", "--on-weakened", "fail")
    assert safe_gate(*run).code == 1
    Path("safe-gate.config.json").write_text('{"safe-concern": "I1"}', "utf-8")
    waive({"id": "I2", "metric": "CR"})
    ran = safe_gate(*run)
    words = 'Filtered: only cases of safe-concern "I1"; 1 SAFE v0 case is left out.'
    assert (ran.code, words in ran.out, report()["provenance"]["left_out"]) == (1, True, {"safe_v0": 1})
    found = [(one["kind"], one["id"], one["what"]) for one in report()["weakened"]["findings"]]
    assert found == [("setting", "safe-concern", "looser"), ("waiver", "I2", "added")]
    assert report()["comparison"]["safe_v0"]["cases"]["removed"] == report()["waivers"]["unused"] == []
    ran = safe_gate(*run[:3], "--tag", "Unknown", "--safe-concern", "I2")
    assert 'with "Unknown" and of safe-concern "I2"; 1 SAFE v0 case is' in ran.out
    both = ("--tag", "!Unknown", "--safe-concern", "I2")
    refused(safe_gate(*run[:3], *both), "safe-concern: 'I2' matches no case that tag leaves in; correct it")
    assert "I2 (b.json:1): Fail" in safe_gate("explain", "I2", "--batch", "b").out


@pytest.fixture
def baseline(safe_gate: SafeGate) -> None:
    """Commit the cases, and keep the report of all of them."""
    commit_here()
    safe_gate(*RUN)
    Path("reports/safe-gate.json").rename("before.json")


@pytest.mark.usefixtures("baseline")
@pytest.mark.parametrize("base", ["main", "before.json"])
def test_cases_that_are_left_out_are_not_removed(safe_gate: SafeGate, base: str) -> None:
    compare = (*RUN, "--tag", "grief", "--baseline", base)
    assert safe_gate(*compare, "--protect", "c").code == 0
    found = report()["comparison"]["synthesis"]["cases"]
    assert (found["baseline"], found["head"], found["both"], found["removed"]) == (2, 2, 2, [])
    cases("c")
    assert safe_gate(*compare).code == 0, "a case that both runs leave out may go"
    if base == "main":
        assert safe_gate(*compare, "--on-weakened", "fail").code == 1, "but it makes the gate weaker"
        weaker = [(one["kind"], one["id"], one["what"]) for one in report()["weakened"]["findings"]]
        assert weaker == [("synthesis", "c", "dropped")]
    cases("b")
    assert safe_gate(*compare).code == 1
    assert [one["id"] for one in report()["comparison"]["synthesis"]["cases"]["removed"]] == ["b"]
    cases(b={"tags": ["slow"]})
    assert safe_gate(*compare).code == 1, "a case that loses its tag is removed from what is judged"
    assert "no-removed-cases" in {rule["rule"] for rule in report()["rules"] if not rule["passed"]}
    cases(a={"tags": ["new"]})
    assert safe_gate(*RUN, "--tag", "new", "--baseline", base).code == 0
    if base == "main":
        assert report()["comparison"]["status"] == "none", "a tag that is new has nothing to compare with"


@pytest.mark.usefixtures("baseline")
def test_a_change_that_adds_a_filter_makes_the_gate_weaker(safe_gate: SafeGate) -> None:
    Path("safe-gate.config.json").write_text('{"tag": ["grief", "!slow"]}', "utf-8")
    assert safe_gate(*RUN, "--baseline", "main", "--on-weakened", "fail").code == 1
    found = [(one["kind"], one["id"], one["field"], one["what"]) for one in report()["weakened"]["findings"]]
    assert found == [("setting", "tag", "", "looser")]
    assert report()["comparison"]["synthesis"]["cases"]["removed"] == []
    assert "<code>tag</code> | looser | off | <code>&#33;slow, grief</code>" in scorecard()


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (["--tag", "grief"], [], 'tag "grief"'),
        (["--tag", "grief", "!slow"], ["--tag", "grief"], 'tag "grief" "!slow"'),
        (["--tag", "grief"], ["--tag", "grief", "work"], 'tag "grief"'),
        (["--safe-concern", "one"], [], 'safe-concern "one"'),
        (["--tag", "grief"], ["--tag", "grief", "!slow"], ""),
        (["--tag", "grief", "!slow"], ["--tag", "!slow", "grief"], ""),
        (["--safe-concern", "one"], ["--safe-concern", "one"], ""),
    ],
)
def test_a_baseline_lacks_no_case_by_a_filter_that_the_run_has_not(
    safe_gate: SafeGate, before: list[str], after: list[str], said: str
) -> None:
    cases(c={"assistant": GOOD})
    write_batch(Path("b.json"), *(safe_case(one, concern_id=one, archetype="grief") for one in ("one", "two")))
    run = (*RUN, "--safe-batch", "b.json", "--max-unexpected-failures", "9")
    assert safe_gate(*run, *before).code == 0
    Path("reports/safe-gate.json").rename("before.json")
    cases()  # one fails now, which would look new if the baseline had left it out
    for command in (
        (*run, *after, "--baseline", "before.json", "--max-regressions", "0"),
        ("doctor", *run[1:], *after, "--baseline", "before.json"),
        ("compare", "before.json", ".", *run[1:], *after),
    ):
        ran = safe_gate(*command)
        assert (ran.code == 3) == bool(said), ran.log
        words = f"before.json: was written with {said}, which may leave out cases that this run judges; set the same"
        assert (words in ran.err) == bool(said)


MORE = [("", "x"), ("", "!x"), ("x", "x !y"), ("x y", "x")]
OTHERS = [("x", "y"), ("!x", "!y"), ("x !y", "y")]
"""Filters before and after a change, which leaves out more cases, or others."""


@pytest.mark.parametrize(("before", "after"), MORE + OTHERS)
def test_a_filter_that_leaves_out_more_is_weaker(before: str, after: str) -> None:
    base, head = (Terms(DEFAULTS | {"tag": one.split()}, {}, {}) for one in (before, after))
    for pair, expected in (((base, head), True), ((head, base), (before, after) in OTHERS)):
        assert [(one.id, one.field, one.what) for one in weakenings(*pair)] == [("tag", "", "looser")] * expected
