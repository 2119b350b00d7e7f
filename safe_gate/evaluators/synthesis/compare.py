"""A Synthesis result as an outcome for comparing two runs, from the report's JSON alone. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from safe_gate.core.given import Scored
from safe_gate.evaluators.synthesis.names import REPORTED, wording_of_tags, words
from safe_gate.evaluators.synthesis.result import Result
from safe_gate.model.codec import JsonObject
from safe_gate.model.results import Metric, Outcome, Test


def _pass_rate(check: str) -> Metric:
    """Return how the verdicts of a check are compared."""
    return Metric(f"The pass rate of {words(check)}", Test.SIGN)


metrics = {
    "as_expected": Metric("The share of cases that end as expected", Test.SIGN),
    **{check: _pass_rate(check) for check in REPORTED},
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


guards: Mapping[str, tuple[str, str]] = {}
compared_on = "Checks: without negative examples; a check that does not apply passes."


def metric(name: str) -> Metric:
    """Return how results are compared by a score, also by a check that a pack defines."""
    return metrics.get(name) or _pass_rate(name)


def scored_by(_part: object, policy: JsonObject) -> Any:
    """Return the settings that scores follow from."""
    context = policy["context"]
    words = wording_of_tags(policy.get("tags"))
    more = ([] if context == 1 else [context], [words] if words else [])
    return [policy["profile"], *(one for some in more for one in some)]


def recorded(_policy: JsonObject) -> Scored:
    """Return no settings: a report records none of its own."""
    return Scored({})
