"""Results are values: what is read from a report and written again is the same, over all reports that there are."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from safe_gate.evaluators import EVALUATORS
from safe_gate.evaluators.stored import read_result
from safe_gate.evaluators.synthesis.checks.check_result import CheckResult
from safe_gate.evaluators.synthesis.checks.score import Case
from safe_gate.model import codec
from safe_gate.model.problems import Place
from tests.support import packs
from tests.support.cases import DATA, REPOSITORY, SafeGate, report, turn
from tests.support.examples import is_thorough

CASES = {
    "examples": (REPOSITORY / "examples").glob("*.jsonl"),
    "regressed": (REPOSITORY / "examples/regressed").glob("empathy.jsonl"),
    "labelled": [REPOSITORY / "data/synthesis/dev.jsonl"],
    "hostile": (DATA / "hostile").glob("synthesis_*.jsonl"),
}
LINES = {
    name: [line for path in sorted(paths) for line in path.read_bytes().splitlines(keepends=True)]
    for name, paths in CASES.items()
}


def assert_same(name: str, entries: list[dict[str, Any]]) -> None:
    for entry in entries:
        assert json.dumps(codec.to_json(read_result(name, entry))) == json.dumps(entry)


@pytest.mark.untraced
@pytest.mark.thorough
@pytest.mark.parametrize("settings", [(), ("--profile", "spec"), ("--text", "none")], ids=["standard", "spec", "none"])
@pytest.mark.parametrize("name", LINES)
def test_results_of_cases_are_written_as_they_are_read(
    safe_gate: SafeGate, name: str, settings: tuple[str, ...]
) -> None:
    some = LINES[name][:: max(1, len(LINES[name]) // (150 if is_thorough() else 50))]
    Path("c.jsonl").write_bytes(b"".join(some))
    assert safe_gate("run", "--synthesis-cases", "c.jsonl", *settings).code != 3
    found = report()["synthesis"]["results"]
    assert len(found) >= len(some) > 0
    assert_same("synthesis", found)


@pytest.mark.parametrize("settings", [(), ("--safe-match", "normalised"), ("--text", "none", "--strict-ah")], ids=str)
def test_results_of_batches_are_written_as_they_are_read(safe_gate: SafeGate, settings: tuple[str, ...]) -> None:
    found = []
    for pattern in (REPOSITORY / "examples/clinical/*.json", DATA / "safe_v0/**/*.json"):
        if safe_gate("run", "--safe-batch", pattern, *settings).code != 3:
            found += report()["safe_v0"]["results"]
    assert len(found) > 10
    assert_same("safe_v0", found)
    assert {len(read_result("safe_v0", one).asks) for one in found} == {0}, "no archetype is meant to fail"


def test_a_result_answers_by_name() -> None:
    hit = {"rule": "p/r", "text": "x", "field": "assistant", "start": 0, "end": 1, "learned": [9, 10]}
    check = {"pass": False, "score": -1, "positive_hits": [], "negative_hits": [hit], "cancelled": [{**hit, "by": "z"}]}
    entry = {
        "id": "a",
        "pass": False,
        "is_negative_example": False,
        "tags": ["t"],
        "language": {"user": "english", "assistant": "unclear"},
        "checks": {"agency_language": check},
        "label_comparison": {"agency_language": {"expected": True, "actual": False, "match": False}},
        "source": {"path": "c.jsonl", "line": 3},
        "digests": {"case": "1", "output": "2"},
        "cluster": "k",
        "no_reply": "stack trace",
        "disguised_letters": 4,
    }
    found = read_result("synthesis", entry)
    agency = found.checks["agency_language"]
    assert [hit.rule for hit in agency.hits["negative"]] == ["p/r"]
    assert (agency.hits["positive"], agency.cancelled[0].by, agency.hits["negative"][0].learned) == ((), "z", (9, 10))
    assert not found.labels["agency_language"].match
    assert (found.place.line, found.no_reply, found.disguised_letters) == (3, "stack trace", 4)
    assert codec.to_json(found) == entry


def test_a_check_that_counts_has_its_hits_by_group() -> None:
    hit = {"rule": "p/r", "text": "x", "field": "assistant", "start": 0, "end": 1}
    sides = {"applies": {}, "for": {"good": []}, "against": {"acme/bad": [hit]}}
    check = {"pass": False, "applicable": True, "decides": "one_for", **sides, "cancelled": []}
    found = codec.from_json(CheckResult, check)
    assert [one.rule for one in found.hits["acme/bad"]] == ["p/r"]
    assert found.hits["good"] == ()
    assert codec.to_json(found) == check


def test_the_check_of_wording_has_its_hits_by_what_it_asks_for(safe_gate: SafeGate) -> None:
    asked = {"must_contain": ["hard"], "must_not_contain": ["sorry"]}
    Path("c.jsonl").write_text(json.dumps(turn("a", **asked)) + "\n", "utf-8")
    safe_gate("run", "--synthesis-cases", "c.jsonl")
    (entry,) = report()["synthesis"]["results"]
    assert_same("synthesis", [entry])
    hits = read_result("synthesis", entry).checks["wording"].hits
    assert {kind: [hit.text for hit in some] for kind, some in hits.items()} == {
        "must_contain": ["hard"],
        "must_not_contain": ["sorry"],
    }


SYNTHESIS = EVALUATORS["synthesis"]


def test_a_check_that_an_entry_lacks_is_not_passed() -> None:
    case = Case("a", "I am sad.", "It's up to you.", ("agency_language", "topic_pivot"), {}, (), Place("c.jsonl", 1))
    entry = SYNTHESIS.score(case, packs.load())
    assert SYNTHESIS.recounted(entry, case, packs.load()) == entry
    lacking = replace(entry, checks={"topic_pivot": entry.checks["topic_pivot"]})
    found = SYNTHESIS.recounted(lacking, case, packs.load())
    assert found is not None
    assert found.checks["agency_language"].passed is False
