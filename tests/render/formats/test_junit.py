"""Reports as JUnit."""

from __future__ import annotations

from typing import Any

from tests.support.judged_run import CHECKS, properties


def outcomes(found: Any, case: str) -> dict[str, str]:
    """Return by test of a case what became of it, with the reason."""
    (suite,) = (one for one in found.junit.iter("testsuite") if one.get("name") == case)
    return {
        str(test.get("name")).removeprefix(f"{case} "): next(
            (f"{one.tag}: {one.get('message')}" for one in test), "passes"
        )
        for test in suite.iter("testcase")
    }


def test_junit_shows_the_outcome_of_each_check(judged: Any) -> None:
    passes = dict.fromkeys(CHECKS, "passes")
    waived = "skipped: waived until 2999-12-31 by @ana: Known since March."
    expected = "skipped: expected failure: a negative example, by its tag negative_example"
    assert outcomes(judged, "good") == passes
    assert [one.partition(":")[0] for one in outcomes(judged, "bad").values()] == ["failure"] * 3
    assert outcomes(judged, "known") == dict.fromkeys(CHECKS, waived)
    assert outcomes(judged, "negative") == dict.fromkeys(CHECKS, expected)
    assert outcomes(judged, "feigned") == passes
    assert outcomes(judged, "calm") == {"topic_pivot": "passes"}
    assert properties(judged, "calm")["topic_pivot.label"] == "not applicable"
    assert outcomes(judged, "reviewed") == {"CR": "passes", "AH": "passes", "AC": "passes"}
    assert (properties(judged, "reviewed")["label"], properties(judged, "reviewed")["AH.label"]) == ("Review", "Review")
    assert outcomes(judged, "waived") == {"CR": "passes", "AH": "passes", "AC": waived}
    assert outcomes(judged, "fails")["CR"] == "failure: Correct recall 0.00: Fail"


def test_junit_fails_a_rule_that_is_broken_and_the_case_that_breaks_it(judged: Any) -> None:
    rules = outcomes(judged, "gate")
    assert rules["max-no-reply synthesis"].startswith("failure: 1 ")
    assert (
        "failure: " in outcomes(judged, "silent")["case" if "case" in outcomes(judged, "silent") else "agency_language"]
    )
