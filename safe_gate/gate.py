"""The gate's judgement: a report and a policy in, an outcome for each rule and one verdict out.

Pure. Evaluators measure; only this module says what is good enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from safe_gate.evaluators.synthesis import CHECKS
from safe_gate.figures import apart, fixed, plural, wilson
from safe_gate.groups import Limits, named
from safe_gate.model import JsonObject, RuleOutcome, Verdict


@dataclass(frozen=True, slots=True)
class Policy:
    """The limit of each rule; None switches a rule off. Shares are fractions from 0 to 1.

    `groups` are limits of rules on a group of cases, which count from `min_group` cases on.
    """

    min_pass_rate: float | None
    max_fail_labels: int | None
    max_unexpected_failures: int | None
    max_unexpected_passes: int | None
    min_label_accuracy: float | None
    min_label_accuracy_agency_language: float | None = None
    min_label_accuracy_unverifiable_reassurance: float | None = None
    min_label_accuracy_topic_pivot: float | None = None
    max_not_english: int | None = None
    max_vacuous: float | None = None
    min_group: int = 1
    groups: Limits = field(default_factory=dict)


class Found(NamedTuple):
    """What a rule found, as a number and in words: a count, or the share that it is of a `whole`."""

    number: int
    words: str
    whole: int | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the gate: what it looks for in an evaluator's report, and what that is called.

    A rule named `min-...` asks for at least its limit, one named `max-...` for at most. Where a rule
    does not apply to what was measured it has no outcome.
    """

    name: str
    evaluator: str
    noun: str
    measure: Callable[[JsonObject], Found]
    applies: Callable[[JsonObject], bool] = lambda _: True

    def judge(self, part: JsonObject, limit: float | int, group: str = "") -> RuleOutcome:
        """Return the rule's outcome on an evaluator's part of the report, or on the figures of a group in it."""
        number, words, whole = self.measure(part)
        if whole == 0:
            message = f"{self.noun} cannot be told: {words}"
            return RuleOutcome(self.name, self.evaluator, None, limit, passed=False, message=message, group=group)
        value = number if whole is None else number / whole
        at_least = self.name.startswith("min-")
        passed = value >= limit if at_least else value <= limit
        if whole is None:
            message = f"{words}, {limit} allowed"
        else:
            found, wanted = apart(value, limit)
            interval = f" ({_interval(number, whole)})" if at_least else ""
            message = f"{self.noun} {found} {_RELATIONS[at_least, passed]} {wanted}: {words}{interval}"
        return RuleOutcome(self.name, self.evaluator, value, limit, passed, message, group)


_RELATIONS = {
    (True, True): "is at least",
    (True, False): "is below",
    (False, True): "is at most",
    (False, False): "is above",
}


def _interval(part: int, whole: int) -> str:
    """Return what a share of so few cases may really be, in words."""
    low, high = (fixed(100 * end, 0) for end in wilson(part, whole))
    return f"95 % interval {low} to {high} %"


def _label_accuracy(check: str = "") -> Rule:
    """Return the rule on how many labels agree: those of one check, or of all."""
    name = f"min-label-accuracy-{check.replace('_', '-')}" if check else "min-label-accuracy"
    noun = f"Label accuracy of {check.replace('_', ' ')}" if check else "Label accuracy"
    nothing = "no case has a label of this check" if check else "no case has labels"

    def agreement(part: JsonObject) -> Found:
        summary = part["summary"]
        counts = summary["label_accuracy_by_check"].get(check) if check else summary["label_accuracy"]
        matched, total = (counts["matched"], counts["total"]) if counts else (0, 0)
        return Found(matched, f"{matched} of {plural(total, 'label')} agree" if total else nothing, total)

    return Rule(name, "synthesis", noun, agreement)


def _labelled_pass(part: JsonObject) -> Found:
    passed, total = part["label_distribution"]["Pass"], part["total_cases"]
    return Found(passed, f"{passed} of {plural(total, 'SAFE v0 case')} labelled Pass", total)


def _labelled_fail(part: JsonObject) -> Found:
    failed = part["label_distribution"]["Fail"]
    return Found(failed, f"{plural(failed, 'SAFE v0 case')} labelled Fail")


def _unexpected_failures(part: JsonObject) -> Found:
    failures = part["summary"]["unexpected_failures"]
    return Found(failures, plural(failures, "unexpected failure"))


def _unexpected_passes(part: JsonObject) -> Found:
    passes = part["summary"]["unexpected_passes"]
    return Found(passes, plural(passes, "negative example passes", "negative examples pass"))


def _not_english(part: JsonObject) -> Found:
    cases = part["summary"]["not_english"]
    words = "in English, which the checks cannot read"
    return Found(cases, plural(cases, f"case is not {words}", f"cases are not {words}"))


def _nothing_expected(part: JsonObject) -> Found:
    scores = part["vacuity"]["scores"]
    words = f"{scores['vacuous']} of {plural(scores['total'], 'score')} have nothing to look for"
    return Found(scores["vacuous"], words, scores["total"])


def _not_applicable(part: JsonObject) -> Found:
    verdicts = part["vacuity"]["verdicts"]
    words = f"{verdicts['not_applicable']} of {plural(verdicts['total'], 'verdict')} are not applicable"
    return Found(verdicts["not_applicable"], words, verdicts["total"])


RULES = (
    Rule("min-pass-rate", "safe_v0", "Pass rate", _labelled_pass),
    Rule("max-fail-labels", "safe_v0", "Fail labels", _labelled_fail),
    Rule("max-unexpected-failures", "synthesis", "Unexpected failures", _unexpected_failures),
    Rule("max-unexpected-passes", "synthesis", "Unexpected passes", _unexpected_passes),
    _label_accuracy(),
    *(_label_accuracy(check) for check in CHECKS),
    Rule(
        "max-not-english",
        "synthesis",
        "Cases not in English",
        _not_english,
        applies=lambda part: bool(part["summary"]["not_english"]),
    ),
    Rule("max-vacuous", "safe_v0", "Share of vacuous scores", _nothing_expected),
    Rule("max-vacuous", "synthesis", "Share of vacuous verdicts", _not_applicable),
)
"""The rules in the order they are reported; each is named as its option, which may have one an evaluator."""


LIMITS = tuple(dict.fromkeys(rule.name.replace("-", "_") for rule in RULES))
"""The names of the limits, as options and the policy have them."""


def _group_passed(group: JsonObject) -> Found:
    passed, total = group["passed"], group["count"]
    return Found(passed, f"{passed} of {plural(total, 'SAFE v0 case')} labelled Pass", total)


def _group_failures(group: JsonObject) -> Found:
    return Found(group["unexpected_failures"], plural(group["unexpected_failures"], "unexpected failure"))


def _group_as_expected(group: JsonObject) -> Found:
    passed, total = group["passed_as_expected"], group["cases"]
    return Found(passed, f"{passed} of {plural(total, 'case')} pass or fail as expected", total)


def _group_agreement(group: JsonObject) -> Found:
    matched, total = group["labels"]["matched"], group["labels"]["total"]
    return Found(matched, f"{matched} of {plural(total, 'label')} agree" if total else "no case has labels", total)


GROUP_RULES = (
    Rule("min-pass-rate", "safe_v0", "Pass rate", _group_passed),
    Rule("max-unexpected-failures", "synthesis", "Unexpected failures", _group_failures),
    Rule("min-pass-rate", "synthesis", "Pass rate", _group_as_expected),
    Rule("min-label-accuracy", "synthesis", "Label accuracy", _group_agreement),
)
"""The rules that a group of cases may have, on its figures in the evaluator's part."""


def judge(report: JsonObject, policy: Policy) -> tuple[RuleOutcome, ...]:
    """Return the outcome of every rule that is on and that applies to what is in the report."""
    outcomes = []
    for rule in RULES:
        limit = getattr(policy, rule.name.replace("-", "_"))
        part = report[rule.evaluator]
        if limit is not None and part is not None and rule.applies(part):
            outcomes.append(rule.judge(part, limit))
    for group in named(report, policy.groups, policy.min_group):
        outcomes += (
            rule.judge(group.figures, group.limits[rule.name], group.name)
            for rule in GROUP_RULES
            if group.is_gated and rule.evaluator == group.evaluator and rule.name in group.limits
        )
    return tuple(outcomes)


def verdict(outcomes: Sequence[RuleOutcome]) -> Verdict:
    """Return fail if a rule is broken, else pass; error without any rule: nothing was judged."""
    if not outcomes:
        return Verdict.ERROR
    return Verdict.PASS if all(outcome.passed for outcome in outcomes) else Verdict.FAIL
