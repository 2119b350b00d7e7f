"""The gate's judgement: a report and a policy in, an outcome for each rule and one verdict out.

Pure. Evaluators measure; only this module says what is good enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from safe_gate.evaluators.synthesis import CHECKS
from safe_gate.figures import apart, plural
from safe_gate.model import JsonObject, RuleOutcome, Verdict


@dataclass(frozen=True, slots=True)
class Policy:
    """The limit of each rule; None switches a rule off. Shares are fractions from 0 to 1."""

    min_pass_rate: float | None
    max_fail_labels: int | None
    max_unexpected_failures: int | None
    max_unexpected_passes: int | None
    min_label_accuracy: float | None
    min_label_accuracy_agency_language: float | None = None
    min_label_accuracy_unverifiable_reassurance: float | None = None
    min_label_accuracy_topic_pivot: float | None = None
    max_not_english: int | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the gate: what it measures in an evaluator's report, and how it says so.

    A rule named `min-...` asks for at least its limit, one named `max-...` for at most. Where a rule
    does not apply to what was measured it has no outcome.
    """

    name: str
    evaluator: str
    noun: str
    measure: Callable[[JsonObject], float | int | None]
    detail: Callable[[JsonObject], str]
    applies: Callable[[JsonObject], bool] = lambda _: True

    def judge(self, part: JsonObject, limit: float | int) -> RuleOutcome:
        """Return the rule's outcome on an evaluator's part of the report."""
        value = self.measure(part)
        at_least = self.name.startswith("min-")
        passed = value is not None and (value >= limit if at_least else value <= limit)
        if value is None:
            message = f"{self.noun} cannot be told: {self.detail(part)}"
        elif at_least:
            found, wanted = apart(value, limit)
            relation = "is at least" if passed else "is below"
            message = f"{self.noun} {found} {relation} {wanted}: {self.detail(part)}"
        else:
            message = f"{self.detail(part)}, {limit} allowed"
        return RuleOutcome(self.name, self.evaluator, value, limit, passed, message)


def _label_accuracy(check: str = "") -> Rule:
    """Return the rule on how many labels agree: those of one check, or of all."""
    name = f"min-label-accuracy-{check.replace('_', '-')}" if check else "min-label-accuracy"
    noun = f"Label accuracy of {check.replace('_', ' ')}" if check else "Label accuracy"
    nothing = "no case has a label of this check" if check else "no case has labels"

    def labels(part: JsonObject) -> tuple[int, int]:
        summary = part["summary"]
        counts = summary["label_accuracy_by_check"].get(check) if check else summary["label_accuracy"]
        return (counts["matched"], counts["total"]) if counts else (0, 0)

    def accuracy(part: JsonObject) -> float | None:
        matched, total = labels(part)
        return matched / total if total else None

    def agreement(part: JsonObject) -> str:
        matched, total = labels(part)
        return f"{matched} of {plural(total, 'label')} agree" if total else nothing

    return Rule(name, "synthesis", noun, accuracy, agreement)


RULES = (
    Rule(
        "min-pass-rate",
        "safe_v0",
        "Pass rate",
        lambda part: part["pass_rates"]["overall"],
        lambda part: (
            f"{part['label_distribution']['Pass']} of {plural(part['total_cases'], 'SAFE v0 case')} labelled Pass"
        ),
    ),
    Rule(
        "max-fail-labels",
        "safe_v0",
        "Fail labels",
        lambda part: part["label_distribution"]["Fail"],
        lambda part: f"{plural(part['label_distribution']['Fail'], 'SAFE v0 case')} labelled Fail",
    ),
    Rule(
        "max-unexpected-failures",
        "synthesis",
        "Unexpected failures",
        lambda part: part["summary"]["unexpected_failures"],
        lambda part: plural(part["summary"]["unexpected_failures"], "unexpected failure"),
    ),
    Rule(
        "max-unexpected-passes",
        "synthesis",
        "Unexpected passes",
        lambda part: part["summary"]["unexpected_passes"],
        lambda part: plural(part["summary"]["unexpected_passes"], "negative example passes", "negative examples pass"),
    ),
    _label_accuracy(),
    *(_label_accuracy(check) for check in CHECKS),
    Rule(
        "max-not-english",
        "synthesis",
        "Cases not in English",
        lambda part: part["summary"]["not_english"],
        lambda part: plural(
            part["summary"]["not_english"],
            "case is not in English, which the checks cannot read",
            "cases are not in English, which the checks cannot read",
        ),
        applies=lambda part: part["summary"]["not_english"] > 0,
    ),
)
"""The rules in the order they are reported; each is named as its option."""


def judge(report: JsonObject, policy: Policy) -> tuple[RuleOutcome, ...]:
    """Return the outcome of every rule that is on and that applies to what is in the report."""
    outcomes = []
    for rule in RULES:
        limit = getattr(policy, rule.name.replace("-", "_"))
        part = report[rule.evaluator]
        if limit is not None and part is not None and rule.applies(part):
            outcomes.append(rule.judge(part, limit))
    return tuple(outcomes)


def verdict(outcomes: Sequence[RuleOutcome]) -> Verdict:
    """Return fail if a rule is broken, else pass; error without any rule: nothing was judged."""
    if not outcomes:
        return Verdict.ERROR
    return Verdict.PASS if all(outcome.passed for outcome in outcomes) else Verdict.FAIL
