"""With a baseline, rates of the cases that it has are judged by themselves too: new cases hide no failure."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import BAD, SafeGate, report, safe_case, turn, write_batch, write_cases
from tests.support.git import commit_here
from tests.support.safe_v0 import asking
from tests.support.weakening import configure

REVIEW = {"signals": ["Fever"], "summary": "She left.", "followup_questions": ["Who called?"]}
"""A SAFE v0 output that is for review where a second phrase is asked for and found."""


def safe(failing: int, new: int = 0) -> None:
    """Write a batch of ten cases of which some are for review, and new cases that expect nothing."""
    asked = {"expectations": asking(["fever"], ["she", "went home"]), "archetype": "A"}
    known = [safe_case(f"k{n}", **asked, **({"output": REVIEW} if n < failing else {})) for n in range(10)]
    others = [safe_case(f"n{n}", expectations=asking(forbidden=()), archetype="A") for n in range(new)]
    write_batch(Path("b.json"), *known, *others)


def synthesis(failing: int, new: int = 0) -> None:
    """Write ten labelled cases of which some fail, and new ones that pass."""
    agency: dict[str, Any] = {"tags": ["t"], "checks": ["agency_language"], "expected": {"agency_language": True}}
    known = [turn(f"k{n}", **agency, **({"assistant": BAD} if n < failing else {})) for n in range(10)]
    write_cases(Path("c.jsonl"), *known, *(turn(f"n{n}", **agency) for n in range(new)))


def config(settings: dict[str, Any]) -> None:
    configure({"synthesis-cases": ["c.jsonl"], "max-unexpected-failures": "off"} | settings)


def broken() -> list[dict[str, Any]]:
    return [rule for rule in report()["rules"] if not rule["passed"]]


@pytest.mark.parametrize("kind", ["commit", "report"])
@pytest.mark.parametrize("rule", ["min-synthesis-pass-rate", "min-label-accuracy"])
def test_new_cases_that_pass_do_not_hide_known_ones_that_fail(safe_gate: SafeGate, rule: str, kind: str) -> None:
    config({rule: 0.8})
    synthesis(0)
    base = commit_here()
    if kind == "report":
        assert safe_gate("run", "--report-dir", "old").code == 0
        base = "old/safe-gate.json"
    synthesis(4, 20)
    assert safe_gate("run").code == 0  # 26 of 30
    ran = safe_gate("run", "--baseline", base)
    (found,) = broken()
    assert (ran.code, found["rule"]) == (1, rule)
    assert found["message"].endswith(", among cases that the baseline has; with 20 new cases it is 86.7%")
    assert "with 20 new cases it is 86.7%" in " ".join(ran.out.split())
    assert safe_gate("verify", "reports/safe-gate.json").code == 0
    waiver = {"check": "agency_language", "reason": "Known.", "owner": "us", "expires": "9999-12-31"}
    configure({"waivers": [waiver | {"id": f"k{n}"} for n in range(2)]}, "safe-gate.waivers.json")
    assert safe_gate("run", "--baseline", base).code == (0 if "pass-rate" in rule else 1)  # as in all cases


@pytest.mark.parametrize("group", ["A", ""])
def test_so_do_those_of_safe_v0_and_of_groups(safe_gate: SafeGate, group: str) -> None:
    limits: dict[str, Any] = {"min-pass-rate": 0.8}
    if group:
        limits = {"min-pass-rate": 0, "archetypes": {group: limits}, "min-group": 5}
    config({"safe-batch": ["b.json"], "synthesis-cases": []} | limits)
    safe(0)
    base = commit_here()
    safe(4, 20)
    assert safe_gate("run").code == 0
    assert safe_gate("run", "--baseline", base).code == 1
    (found,) = broken()
    assert (found["rule"], found["value"], found.get("group", "")) == ("min-pass-rate", 0.6, group)
    assert found["message"].endswith("with 20 new cases it is 86.7%")


def test_vacuous_verdicts_of_known_cases_are_not_hidden_either(safe_gate: SafeGate) -> None:
    config({"max-vacuous": 0.2})
    synthesis(0)
    base = commit_here()
    known = [turn(f"k{n}", checks=["topic_pivot"], user="What time is it?") for n in range(10)]
    write_cases(Path("c.jsonl"), *known, *(turn(f"n{n}") for n in range(20)))
    assert safe_gate("run").code == 0
    assert safe_gate("run", "--baseline", base).code == 1
    assert "max-vacuous" in {one["rule"] for one in broken()}


@pytest.mark.parametrize("new", [5, 100])
def test_one_reply_to_all_known_cases_is_not_hidden_either(safe_gate: SafeGate, new: int) -> None:
    config({"safe-batch": ["b.json"], "min-pass-rate": 0})

    def record(count: int, *, is_same: bool = False) -> None:
        turns, batch = [], []
        for n in range(count):
            said = "Who called?" if is_same and n < 6 else f"Who called {n}?"
            asked = f"I failed exam {n} and I feel awful about it."
            turns.append(turn(f"k{n}", user=asked, assistant=said, checks=["agency_language"]))
            output = {"signals": ["Fever"], "summary": "She went home.", "followup_questions": [said]}
            batch.append(safe_case(f"s{n}", patient_payload={"age": n}, output=output))
        write_cases(Path("c.jsonl"), *turns)
        write_batch(Path("b.json"), *batch)

    record(6)
    base = commit_here()
    record(6 + new, is_same=True)
    assert safe_gate("run", "--baseline", base).code == 1
    found = [one for one in report()["rules"] if one["rule"] == "max-same-reply"]
    ending = "with 100 new cases the rule does not apply"
    assert [(one["passed"], one["message"].endswith(ending)) for one in found] == [(False, new == 100)] * 2


@pytest.mark.parametrize(("before", "after", "new"), [(2, 2, 20), (2, 2, 0), (4, 2, 3), (0, 2, 1)])
def test_known_cases_within_the_limit_pass(safe_gate: SafeGate, before: int, after: int, new: int) -> None:
    config({"safe-batch": ["b.json"], "min-synthesis-pass-rate": 0.8, "min-label-accuracy": 0.8})
    safe(before)
    synthesis(before)
    base = commit_here()
    safe(after, new)
    synthesis(after, new)
    ran = safe_gate("run", "--baseline", base)
    assert (ran.code, "new cases it is" in ran.log) == (0, False), ran.log


def test_labels_and_groups_that_only_new_cases_have_are_judged_with_all(safe_gate: SafeGate) -> None:
    config({})
    write_cases(Path("c.jsonl"), turn("k"))
    base = commit_here()
    config({"min-label-accuracy": 0.8, "tags": {"t": {"min-pass-rate": 1}}})
    write_cases(Path("c.jsonl"), turn("k"), turn("n", tags=["t"], expected={"agency_language": True}))
    assert safe_gate("run", "--baseline", base).code == 0
