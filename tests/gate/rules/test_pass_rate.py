"""The rule on the share of Synthesis cases that pass or fail as expected, from the outside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cases import SafeGate, turn, write_cases

BAD = "You should stop. You must calm down."
RUN = ("run", "--synthesis-cases", "c.jsonl", "--max-unexpected-failures", "off")


@pytest.fixture(autouse=True)
def _cases() -> None:
    good = (turn(f"good {n}") for n in range(7))
    negative = {"tags": ["negative_example"]}
    meant, missed = turn("meant to fail", assistant=BAD, **negative), turn("meant and missed", **negative)
    write_cases(Path("c.jsonl"), *good, meant, turn("fails", assistant=BAD), missed)


@pytest.mark.parametrize(("limit", "code"), [("0.8", 0), ("0.81", 1)])
def test_the_rule_counts_cases_that_end_as_expected(safe_gate: SafeGate, limit: str, code: int) -> None:
    ran = safe_gate(*RUN, "--min-synthesis-pass-rate", limit)
    assert ran.code == code
    rules = json.loads(Path("reports/safe-gate.json").read_text("utf-8"))["rules"]
    (rule,) = (one for one in rules if one["rule"] == "min-synthesis-pass-rate")
    assert (rule["value"], rule["threshold"], rule["passed"]) == (0.8, float(limit), code == 0)
    assert "max-unexpected-failures" not in {one["rule"] for one in rules}
    assert safe_gate("verify", "reports/safe-gate.json").code == 0


def test_a_broken_rate_names_the_cases_behind_it(safe_gate: SafeGate) -> None:
    safe_gate(*RUN, "--min-synthesis-pass-rate", "0.9")
    comment = Path("reports/safe-gate.md").read_text("utf-8")
    assert "`min-synthesis-pass-rate`" in comment
    for case in ("fails", "meant and missed"):
        assert case in comment


def test_it_is_off_by_default_and_eval_may_allow_any_number_of_failures(safe_gate: SafeGate) -> None:
    safe_gate("run", "--synthesis-cases", "c.jsonl")
    assert "min-synthesis-pass-rate" not in Path("reports/safe-gate.md").read_text("utf-8")
    ran = safe_gate("eval", "--cases", "c.jsonl", "--fail-on", "off")
    assert (ran.code, "Eval: PASS (1 unexpected failure, any number allowed)" in ran.out) == (0, True)


def test_a_run_in_which_every_rule_is_off_says_why_it_has_no_verdict(safe_gate: SafeGate) -> None:
    ran = safe_gate(*RUN)
    words = "safe-gate: no rule judges these cases: each rule is off or has too few cases; set a limit, such as"
    assert (ran.code, words in ran.err) == (3, True)
    assert json.loads(Path("reports/safe-gate.json").read_text("utf-8"))["problems"][0]["message"].startswith("no rule")
