"""The gate's judgement: a report and a policy in, an outcome for each rule and one verdict out.

Pure. Evaluators measure; what is good enough is said here, but for two runs compared and for a gate that got
weaker, whose rules `regression` and `weakening` judge and this module adds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from safe_gate.core.figures import apart, fixed, plural
from safe_gate.core.model import Failure, JsonObject, Label, RuleOutcome, Verdict
from safe_gate.core.stats import wilson
from safe_gate.evaluators import EVALUATORS
from safe_gate.evaluators.synthesis import CHECKS
from safe_gate.gate import regression, waivers, weakening
from safe_gate.gate.groups import Group, Limits, named


@dataclass(frozen=True, slots=True)
class Policy:
    """The limit of each rule by name, as in `LIMITS`; None switches a rule off. Shares are fractions from 0 to 1.

    `groups` are limits of rules on a group of cases. Those on rates count from `min_group` cases on. `guards`
    are what of a comparison with a baseline breaks a run.
    """

    limits: Mapping[str, float | int | None]
    min_group: int = 1
    groups: Limits = field(default_factory=dict)
    guards: regression.Guards = field(default_factory=regression.Guards)

    def as_json(self) -> dict[str, Any]:
        """Return the policy as the report shows it, the guards among its limits."""
        return {**self.limits, "min_group": self.min_group, "groups": self.groups, **self.guards.as_json()}


class Count(NamedTuple):
    """So many of something, named as it is for one and for many."""

    number: int
    one: str
    many: str = ""


class Share(NamedTuple):
    """A part of a whole: what that share is called, and words that tell both."""

    noun: str
    part: int
    whole: int
    words: str


def _nothing(_: JsonObject) -> bool:
    return False


def _anything(_: JsonObject) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the gate, and what it looks for in an evaluator's report.

    A rule named `min-...` asks for at least its limit, one named `max-...` for at most. Where a rule
    does not apply to what was measured it has no outcome. `forgives` tells of a failing case's result
    whether the rule lets it pass when a waiver does, `blames` of any case's whether it is to be named
    where the rule is broken: no finding tells of it. A rule that `counts` cases applies from the
    first case on; a rule on a rate needs `min_group` cases.
    """

    name: str
    evaluator: str
    measure: Callable[[JsonObject], Count | Share]
    applies: Callable[[JsonObject], bool] = _anything
    forgives: Callable[[JsonObject], bool] = _nothing
    blames: Callable[[JsonObject], bool] | None = None
    counts: bool = False

    def judge(
        self, part: JsonObject, limit: float | int, waived: Sequence[Failure] = (), group: str = ""
    ) -> RuleOutcome:
        """Return the rule's outcome on an evaluator's part of the report, or on the figures of a group in it.

        `waived` are the cases, of all or of the group, of which every failure is waived.
        """
        found = self.measure(part)
        forgiven = sum(self.forgives(failure.result) for failure in waived)
        more = f", {forgiven} more waived" if forgiven else ""
        value: float | int | None
        if isinstance(found, Count):
            value = found.number - forgiven
            message = f"{plural(value, found.one, found.many)}{more}, {limit} allowed"
            return RuleOutcome(self.name, self.evaluator, value, limit, value <= limit, message, group)
        if not found.whole:
            message = f"{found.noun} is unknown: {found.words}"
            return RuleOutcome(self.name, self.evaluator, None, limit, passed=False, message=message, group=group)
        count = found.part + forgiven
        value = count / found.whole
        at_least = self.name.startswith("min-")
        passed = value >= limit if at_least else value <= limit
        shown, wanted = apart(value, limit)
        interval = f" ({_interval(count, found.whole)})" if at_least else ""
        message = f"{found.noun} {shown} {_RELATIONS[at_least, passed]} {wanted}: {found.words}{more}{interval}"
        return RuleOutcome(self.name, self.evaluator, value, limit, passed, message, group)

    def skip(self, group: Group, least: int) -> RuleOutcome:
        """Return the outcome of the rule on a group with fewer cases than the `least` it needs."""
        found = f"{plural(group.cases, 'case')}, min-group {least}" if group.cases else "no cases"
        limit = group.limits[self.name]
        return RuleOutcome(
            self.name,
            self.evaluator,
            None,
            limit,
            passed=True,
            message=f"skipped: {found}",
            group=group.name,
            skipped=True,
        )


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

    def agreement(part: JsonObject) -> Share:
        summary = part["summary"]
        counts = summary["label_accuracy_by_check"].get(check) if check else summary["label_accuracy"]
        matched, total = (counts["matched"], counts["total"]) if counts else (0, 0)
        return _agreement(noun, matched, total, nothing)

    return Rule(name, "synthesis", agreement, blames=lambda result: _disagrees(result, check))


def _disagrees(result: JsonObject, check: str = "") -> bool:
    """Tell whether a case's verdicts disagree with a label: that of one check, or any."""
    return not all(label["match"] for name, label in result["label_comparison"].items() if check in ("", name))


def _agreement(noun: str, matched: int, total: int, nothing: str) -> Share:
    words = f"{matched} of {plural(total, 'label agrees', 'labels agree')}"
    return Share(noun, matched, total, words if total else nothing)


def _labelled_pass(part: JsonObject) -> Share:
    return _passed(part["label_distribution"]["Pass"], part["total_cases"])


def _passed(passed: int, total: int) -> Share:
    return Share("Pass rate", passed, total, f"{passed} of {plural(total, 'SAFE v0 case')} labelled Pass")


def _labelled_fail(part: JsonObject) -> Count:
    return Count(part["label_distribution"]["Fail"], "SAFE v0 case labelled Fail", "SAFE v0 cases labelled Fail")


def _unexpected_failures(figures: JsonObject) -> Count:
    return Count(figures["unexpected_failures"], "unexpected failure")


def _unexpected_passes(part: JsonObject) -> Count:
    return Count(part["summary"]["unexpected_passes"], "negative example passes", "negative examples pass")


def _not_english(part: JsonObject) -> Count:
    words = "in English, which the checks cannot read"
    return Count(part["summary"]["not_english"], f"case is not {words}", f"cases are not {words}")


def _no_reply(figures: JsonObject) -> Count:
    words = "no reply, so the recording is broken"
    return Count(figures["no_reply"], f"case has {words}", f"cases have {words}")


def _has_none(result: JsonObject) -> bool:
    """Return whether a case has no reply, by its entry of `results[]`."""
    return "no_reply" in result


def _disguised(part: JsonObject) -> Count:
    return Count(part["summary"]["disguised"], "reply has disguised letters", "replies have disguised letters")


def _nothing_expected(part: JsonObject) -> Share:
    vacuous, total = part["vacuity"]["scores"]["vacuous"], part["vacuity"]["scores"]["total"]
    words = f"{vacuous} of {plural(total, 'score has', 'scores have')} nothing to look for"
    return Share("Share of vacuous scores", vacuous, total, words)


def _not_applicable(part: JsonObject) -> Share:
    idle, total = part["vacuity"]["verdicts"]["not_applicable"], part["vacuity"]["verdicts"]["total"]
    words = f"{idle} of {plural(total, 'verdict is', 'verdicts are')} not applicable"
    return Share("Share of vacuous verdicts", idle, total, words)


RULES = (
    Rule("min-pass-rate", "safe_v0", _labelled_pass, forgives=_anything),
    Rule(
        "max-fail-labels",
        "safe_v0",
        _labelled_fail,
        forgives=lambda result: bool(result["label"] == Label.FAIL),
    ),
    Rule(
        "max-unexpected-failures",
        "synthesis",
        lambda part: _unexpected_failures(part["summary"]),
        forgives=_anything,
    ),
    Rule("max-unexpected-passes", "synthesis", _unexpected_passes),
    _label_accuracy(),
    *(_label_accuracy(check) for check in CHECKS),
    Rule(
        "max-not-english",
        "synthesis",
        _not_english,
        applies=lambda part: bool(part["summary"]["not_english"]),
    ),
    Rule("max-no-reply", "safe_v0", _no_reply, applies=lambda part: bool(part["no_reply"]), blames=_has_none),
    Rule(
        "max-no-reply",
        "synthesis",
        lambda part: _no_reply(part["summary"]),
        applies=lambda part: bool(part["summary"]["no_reply"]),
        blames=_has_none,
    ),
    Rule("max-disguised", "synthesis", _disguised, blames=lambda result: "disguised_letters" in result),
    Rule("max-vacuous", "safe_v0", _nothing_expected),
    Rule("max-vacuous", "synthesis", _not_applicable),
)
"""The rules in the order they are reported; each is named as its option, which may have one an evaluator."""


LIMITS = tuple(dict.fromkeys(rule.name.replace("-", "_") for rule in RULES))
"""The names of the limits, as options and the policy have them."""


def _group_passed(group: JsonObject) -> Share:
    return _passed(group["passed"], group["count"])


def _group_as_expected(group: JsonObject) -> Share:
    passed, total = group["passed_as_expected"], group["cases"]
    return Share("Pass rate", passed, total, f"{passed} of {plural(total, 'case')} pass or fail as expected")


def _group_agreement(group: JsonObject) -> Share:
    matched, total = group["labels"]["matched"], group["labels"]["total"]
    return _agreement("Label accuracy", matched, total, "no case has labels")


GROUP_RULES = (
    Rule("min-pass-rate", "safe_v0", _group_passed, forgives=_anything),
    Rule("max-unexpected-failures", "synthesis", _unexpected_failures, forgives=_anything, counts=True),
    Rule("min-pass-rate", "synthesis", _group_as_expected, forgives=_anything),
    Rule("min-label-accuracy", "synthesis", _group_agreement, blames=_disagrees),
)
"""The rules that a group of cases may have, on its figures in the evaluator's part."""


def judge(report: JsonObject, policy: Policy) -> tuple[RuleOutcome, ...]:
    """Return the outcome of every rule that is on and that applies to what is in the report."""
    waived = waivers.waived(report)
    outcomes = []
    for rule in RULES:
        limit = policy.limits[rule.name.replace("-", "_")]
        part = report[rule.evaluator]
        if limit is not None and part is not None and rule.applies(part):
            outcomes.append(_named(rule, rule.judge(part, limit, waived[rule.evaluator]), part["results"]))
    for group in named(report, policy.groups):
        members = [failure for failure in waived[group.evaluator] if group.has(failure.result)]
        outcomes += _of_group(group, policy.min_group, members, report[group.evaluator]["results"])
    if report.get("waivers") is not None:
        outcomes.append(_waivers_hold(report["waivers"]))
    if "comparison" in report:
        outcomes += regression.judge(report["comparison"], policy.guards, waivers.let_pass(report))
    if "weakened" in report:
        outcomes += weakening.judge(report["weakened"])
    return tuple(outcomes)


def _of_group(
    group: Group, min_group: int, waived: Sequence[Failure], results: Iterable[JsonObject]
) -> Iterator[RuleOutcome]:
    """Yield the outcome of each rule of a group: a rate of few cases is skipped, a number of failures never."""
    for rule in GROUP_RULES:
        if rule.evaluator == group.evaluator and rule.name in group.limits:
            least = 1 if rule.counts else min_group
            if group.cases < least:
                yield rule.skip(group, least)
            else:
                outcome = rule.judge(group.figures, group.limits[rule.name], waived, group.name)
                yield _named(rule, outcome, filter(group.has, results))


def _named(rule: Rule, outcome: RuleOutcome, results: Iterable[JsonObject]) -> RuleOutcome:
    """Return the outcome of a broken rule with the cases it blames, by name."""
    if outcome.passed or rule.blames is None:
        return outcome
    key = EVALUATORS[rule.evaluator].id_key
    names = tuple(result[key] for result in filter(rule.blames, results))
    if not names:  # there is no label
        return outcome
    rest = f", those of {plural(len(names), 'case')} do not" if isinstance(outcome.value, float) else ""
    return replace(outcome, message=f"{outcome.message}{rest}", names=names)


def _waivers_hold(found: JsonObject) -> RuleOutcome:
    """Return the outcome of the rule that no waiver outlives its day or its failure."""
    expired, unused = found["expired"], found["unused"]
    faults = (
        plural(len(expired), "waiver has expired", "waivers have expired") if expired else "",
        plural(len(unused), "waiver is unused", "waivers are unused") if unused else "",
    )
    message = (
        " and ".join(filter(None, faults))
        or f"{plural(len(found['applied']), 'waiver')} in force, none expired or unused"
    )
    names = tuple(dict.fromkeys(waiver["id"] for waiver in (*expired, *unused)))
    stale = len(expired) + len(unused)
    return RuleOutcome("waivers", "gate", stale, 0, not stale, message, names=names)


def verdict(outcomes: Sequence[RuleOutcome]) -> Verdict:
    """Return fail if a rule is broken, else pass; error unless a rule judged something."""
    if all(outcome.skipped for outcome in outcomes):
        return Verdict.ERROR
    return Verdict.PASS if all(outcome.passed for outcome in outcomes) else Verdict.FAIL
