"""What two runs are compared by: a Synthesis result as an outcome, from the report's JSON alone. Pure."""

from __future__ import annotations

from safe_gate.core.model import JsonObject, Metric, Outcome, Test
from safe_gate.evaluators.synthesis.names import REPORTED, words
from safe_gate.evaluators.synthesis.totals import is_as_expected


def pass_rate(check: str) -> Metric:
    """Return how the verdicts of a check are compared."""
    return Metric(f"The pass rate of {words(check)}", Test.SIGN)


COMPARED = {
    "as_expected": Metric("The share of cases that end as expected", Test.SIGN),
    **{check: pass_rate(check) for check in REPORTED},
}
"""The scores of an outcome: all are a yes or no."""


def outcome(result: JsonObject) -> Outcome:
    """Return what one entry of `results[]` says of its case.

    A negative example is meant to fail: it is held against that as a whole, and its checks are no
    metrics. A check that is not applicable counts as passed, as in the specification.
    """
    is_negative = result["is_negative_example"]
    as_expected = is_as_expected(result)
    checks = {} if is_negative else {name: float(check["pass"]) for name, check in result["checks"].items()}
    return Outcome(
        id=result["id"],
        passed=as_expected,
        rank=int(as_expected),
        words="passes" if result["pass"] else "fails",
        scores={"as_expected": float(as_expected), **checks},
        violations=frozenset(),
        groups=frozenset(result["tags"]),
        cluster=result.get("cluster", ""),
        case=result["digests"]["case"],
        output=result["digests"]["output"],
        is_meant_to_fail=is_negative,
    )
