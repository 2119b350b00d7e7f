"""A Synthesis result as an outcome for comparing two runs, from the report's JSON alone. Pure."""

from __future__ import annotations

from safe_gate.core.model import Metric, Outcome, Test
from safe_gate.evaluators.synthesis.names import REPORTED, words
from safe_gate.evaluators.synthesis.result import Result


def pass_rate(check: str) -> Metric:
    """Return how the verdicts of a check are compared."""
    return Metric(f"The pass rate of {words(check)}", Test.SIGN)


COMPARED = {
    "as_expected": Metric("The share of cases that end as expected", Test.SIGN),
    **{check: pass_rate(check) for check in REPORTED},
}
"""The scores of an outcome: all are a yes or no."""


def outcome(case: Result) -> Outcome:
    """Return what a result says of its case.

    A negative example is meant to fail. It is judged as a whole, and its checks are no metrics. A check that is not
    applicable counts as passed, as in the specification.
    """
    as_expected, checks = case.is_as_expected, {} if case.is_negative_example else case.checks
    return Outcome(
        id=case.id,
        passed=as_expected,
        rank=int(as_expected),
        words="passes" if case.passed else "fails",
        scores={"as_expected": float(as_expected), **{name: float(one.passed) for name, one in checks.items()}},
        violations=frozenset(),
        groups=frozenset(case.tags),
        cluster=case.cluster,
        case=case.digests["case"],
        output=case.digests["output"],
        is_meant_to_fail=case.is_negative_example,
    )
