"""With a baseline, rates of the cases that it has are judged by themselves too: new cases hide no failure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import BAD, SafeGate, report, safe_case, turn, write_batch, write_cases
from tests.support.git import commit_here

REVIEW = {"signals": ["Fever"], "summary": "She left.", "followup_questions": ["Who called?"]}
"""A SAFE v0 output that is for review where a second phrase is asked for and found."""
ASKS = {
    "signal_generation": {"must_find_signals": ["fever"]},
    "event_summary": {"must_contain_phrases": ["she", "went home"]},
    "followup_questions": {"forbidden_terms": ["policy"]},
}
NOTHING: dict[str, Any] = {
    "signal_generation": {"must_find_signals": []},
    "event_summary": {"must_contain_phrases": []},
    "followup_questions": {"forbidden_terms": []},
}


def safe(failing: int, new: int = 0, **fields: Any) -> None:
    """Write a batch of ten cases of which some are for review, and new cases that expect nothing."""
    known = [safe_case(f"k{n}", expectations=ASKS, archetype="A", **fields) for n in range(10)]
    for case in known[:failing]:
        case["output"] = REVIEW
    write_batch(Path("b.json"), *known, *(safe_case(f"n{n}", expectations=NOTHING, archetype="A") for n in range(new)))


def synthesis(failing: int, new: int = 0) -> None:
    """Write ten labelled cases of which some fail, and new ones that pass."""
    agency: dict[str, Any] = {"tags": ["t"], "checks": ["agency_language"], "expected": {"agency_language": True}}
    known = [turn(f"k{n}", **agency) for n in range(10)]
    for case in known[:failing]:
        case["assistant"] = BAD
    write_cases(Path("c.jsonl"), *known, *(turn(f"n{n}", **agency) for n in range(new)))


def config(**settings: Any) -> None:
    given = {"synthesis-cases": ["c.jsonl"], "max-unexpected-failures": "off"} | settings
    Path("safe.config.json").write_text(json.dumps(given), "utf-8")


def broken() -> dict[str, str]:
    return {rule["rule"]: rule["message"] for rule in report()["rules"] if not rule["passed"]}


@pytest.mark.parametrize("kind", ["commit", "report"])
@pytest.mark.parametrize("rule", ["min-synthesis-pass-rate", "min-label-accuracy"])
def test_new_cases_that_pass_do_not_hide_known_ones_that_fail(safe_gate: SafeGate, rule: str, kind: str) -> None:
    config(**{rule: 0.8})
    synthesis(0)
    base = commit_here()
    if kind == "report":
        assert safe_gate("run", "--report-dir", "old").code == 0
        base = "old/safe-gate.json"
    synthesis(4, 20)
    assert safe_gate("run").code == 0  # 26 of 30
    ran = safe_gate("run", "--baseline", base)
    assert ran.code == 1
    ((name, message),) = broken().items()
    assert name == rule
    assert message.endswith(", among cases that the baseline has; with 20 new cases it is 86.7%")
    assert "with 20 new cases it is 86.7%" in " ".join(ran.out.split())
    assert safe_gate("verify", "reports/safe-gate.json").code == 0


@pytest.mark.parametrize("is_group", [True, False])
def test_so_do_those_of_safe_v0_and_of_groups(safe_gate: SafeGate, *, is_group: bool) -> None:
    limits: dict[str, Any] = {"min-pass-rate": 0.8}
    if is_group:
        limits = {"min-pass-rate": 0, "archetypes": {"A": limits}, "min-group": 5}
    config(**{"safe-batch": ["b.json"], "synthesis-cases": []}, **limits)
    safe(0)
    base = commit_here()
    safe(4, 20)
    assert safe_gate("run").code == 0
    assert safe_gate("run", "--baseline", base).code == 1
    (found,) = [rule for rule in report()["rules"] if not rule["passed"]]
    assert (found["rule"], found["value"], found.get("group", "")) == ("min-pass-rate", 0.6, "A" * is_group)
    assert found["message"].endswith("with 20 new cases it is 86.7%")


def test_vacuous_verdicts_of_known_cases_are_not_hidden_either(safe_gate: SafeGate) -> None:
    config(**{"max-vacuous": 0.2})
    synthesis(0)
    base = commit_here()
    known = [turn(f"k{n}", checks=["topic_pivot"], user="What time is it?") for n in range(10)]
    write_cases(Path("c.jsonl"), *known, *(turn(f"n{n}") for n in range(20)))
    assert safe_gate("run").code == 0
    assert safe_gate("run", "--baseline", base).code == 1
    assert "max-vacuous" in broken()


@pytest.mark.parametrize("new", [5, 100])
def test_one_reply_to_all_known_cases_is_not_hidden_either(safe_gate: SafeGate, new: int) -> None:
    config(**{"safe-batch": ["b.json"], "min-pass-rate": 0})

    def record(count: int, *, is_same: bool = False) -> None:
        said = ["Who called?" if is_same and n < 6 else f"Who called {n}?" for n in range(count)]
        asked = [f"I failed exam {n} and I feel awful about it." for n in range(count)]
        write_cases(
            Path("c.jsonl"),
            *(turn(f"k{n}", user=asked[n], assistant=said[n], checks=["agency_language"]) for n in range(count)),
        )
        outputs = [{"signals": ["Fever"], "summary": "She went home.", "followup_questions": [one]} for one in said]
        write_batch(
            Path("b.json"), *(safe_case(f"s{n}", patient_payload={"age": n}, output=outputs[n]) for n in range(count))
        )

    record(6)
    base = commit_here()
    record(6 + new, is_same=True)
    ran = safe_gate("run", "--baseline", base)
    assert ran.code == 1, ran.log
    found = [rule for rule in report()["rules"] if rule["rule"] == "max-same-reply"]
    assert [rule["passed"] for rule in found] == [False, False]
    ending = "with 100 new cases the rule does not apply"
    assert [rule["message"].endswith(ending) for rule in found] == [new == 100] * 2


@pytest.mark.parametrize(("before", "after", "new"), [(2, 2, 20), (2, 2, 0), (4, 2, 3), (0, 2, 1)])
def test_a_change_that_keeps_known_cases_within_the_limit_passes(
    safe_gate: SafeGate, before: int, after: int, new: int
) -> None:
    config(**{"safe-batch": ["b.json"], "min-synthesis-pass-rate": 0.8, "min-label-accuracy": 0.8})
    safe(before)
    synthesis(before)
    base = commit_here()
    safe(after, new)
    synthesis(after, new)
    ran = safe_gate("run", "--baseline", base)
    assert ran.code == 0, ran.log
    assert "new cases it is" not in ran.log


def test_labels_and_groups_that_only_new_cases_have_are_judged_with_all(safe_gate: SafeGate) -> None:
    config()
    write_cases(Path("c.jsonl"), turn("k"))
    base = commit_here()
    config(**{"min-label-accuracy": 0.8, "tags": {"t": {"min-pass-rate": 1}}})
    write_cases(Path("c.jsonl"), turn("k"), turn("n", tags=["t"], expected={"agency_language": True}))
    ran = safe_gate("run", "--baseline", base)
    assert ran.code == 0, ran.log


def test_a_waived_case_counts_as_in_all(safe_gate: SafeGate) -> None:
    config(**{"min-synthesis-pass-rate": 0.8})
    synthesis(0)
    base = commit_here()
    synthesis(4, 20)
    waivers = [
        {"id": f"k{n}", "check": "agency_language", "reason": "Known.", "owner": "us", "expires": "9999-12-31"}
        for n in range(2)
    ]
    Path("safe-gate.waivers.json").write_text(json.dumps({"waivers": waivers}), "utf-8")
    ran = safe_gate("run", "--baseline", base)
    assert ran.code == 0, ran.log
