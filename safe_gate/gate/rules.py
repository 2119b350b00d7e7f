"""The gate's judgement: a report and a policy in, an outcome for each rule and one verdict out.

Pure. Evaluators measure; this module says what is good enough. `drops` judges the comparison of two runs and
`weakening` a weaker gate; this module adds their outcomes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from safe_gate.core.figures import apart, plural
from safe_gate.core.lazy import View
from safe_gate.core.model import Failure, JsonObject, Parts, RuleOutcome, Verdict
from safe_gate.core.report import Found, Waivers
from safe_gate.core.rules import Rule
from safe_gate.evaluators import EVALUATORS, parts_of
from safe_gate.evaluators.results import count_of, results_of
from safe_gate.gate import drops, waivers, weakening
from safe_gate.gate.groups import Group, Limits, named

if TYPE_CHECKING:
    from safe_gate.core.comparison import Compared, ComparedParts


@dataclass(frozen=True, slots=True)
class Policy:
    """The limit of each rule by name, as in `LIMITS`; None switches a rule off. Shares are fractions from 0 to 1.

    `groups` are limits of rules on a group of cases. Those on rates count from `min_group` cases on. `guards`
    judge the comparison with a baseline.
    """

    limits: Mapping[str, float | int | None]
    min_group: int = 1
    groups: Limits = field(default_factory=dict)
    guards: drops.Guards = field(default_factory=drops.Guards)

    @classmethod
    def from_json(cls, policy: Mapping[str, Any]) -> Policy:
        """Return the policy that a report shows."""
        return cls(limits_of(policy), policy["min_group"], policy["groups"], drops.Guards.of(policy))

    def as_json(self) -> dict[str, Any]:
        """Return the policy as the report shows it, the guards among its limits."""
        return {**self.limits, "min_group": self.min_group, "groups": self.groups, **self.guards.as_json()}


_SHARED = ("max-no-reply", "max-same-reply", "max-vacuous")
"""The rules that several evaluators may have. They are reported last, by name."""

_EVERY = tuple(rule for evaluator in EVALUATORS.values() for rule in evaluator.rules)
RULES = tuple(sorted(_EVERY, key=lambda rule: _SHARED.index(rule.name) if rule.name in _SHARED else -1))
"""The rules in the order they are reported; each is named as its option."""

LIMITS = tuple(dict.fromkeys(rule.setting for rule in RULES))
"""The names of the limits, as options and the policy have them."""


def limits_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the limit of each rule by name, of settings as `limits.by_rule` returns them, or as a report has them.

    Those on what a team's files define are there only if they are set.
    """
    own = {name for evaluator in EVALUATORS.values() for name in settings if [*evaluator.own_rules({name: None})]}
    return {name: settings.get(name) for name in (*LIMITS, *sorted(own))}


def judge(found: Found, policy: Policy) -> tuple[RuleOutcome, ...]:
    """Return the outcome of every rule that is on and applies to the findings."""
    outcomes = _of_cases(found, policy)
    if found.comparison is not None:
        outcomes = [*_with_known_alone(outcomes, found, found.comparison.parts, policy)]
    if found.waivers:
        outcomes.append(_waivers_hold(found.waivers))
    if found.comparison is not None:
        outcomes += drops.judge(found.comparison.parts, policy.guards, waivers.let_pass(found))
    if found.weakened is not None:
        outcomes += weakening.judge(found.weakened)
    return tuple(outcomes)


def _of_cases(found: Found, policy: Policy) -> list[RuleOutcome]:
    """Return the outcomes of the rules that need no baseline."""
    waived = waivers.waived(found)
    read = {evaluator.name: evaluator.read(part) for evaluator, part in parts_of(found.parts)}
    outcomes = []
    own = (pair for evaluator in EVALUATORS.values() for pair in evaluator.own_rules(policy.limits))
    for rule, limit in (*((rule, policy.limits[rule.setting]) for rule in RULES), *own):
        part = read.get(rule.evaluator)
        if limit is not None and part is not None and rule.applies(part):
            outcome = rule.judge(part, limit, waived[rule.evaluator])
            outcomes.append(_named(rule, outcome, found.parts[rule.evaluator]))
    for group in named(found.parts, policy.groups):
        members = [failure for failure in waived[group.evaluator] if group.has(failure.result)]
        outcomes += _of_group(group, policy.min_group, members, found.parts[group.evaluator])
    return outcomes


def _with_known_alone(
    outcomes: Sequence[RuleOutcome], found: Found, compared: ComparedParts, policy: Policy
) -> Iterator[RuleOutcome]:
    """Yield the outcomes; of a rule on a rate that the known cases alone break, the outcome on those.

    Otherwise a change could hide failures behind new cases that pass.
    """
    known = replace(found, parts={name: _known(name, part, compared.get(name)) for name, part in found.parts.items()})
    broken = [one for one in _of_cases(known, policy) if not one.passed and isinstance(one.value, float)]
    alone = {(one.rule, one.evaluator, one.group): one for one in broken}
    all_cases, known_cases = (_sizes(one.parts, policy.groups) for one in (found, known))

    def hidden(one: RuleOutcome, then: str) -> RuleOutcome:
        scope = one.evaluator, one.group
        new = plural(all_cases[scope] - known_cases[scope], "new case")
        return replace(one, detail=f"{one.detail}, among cases that the baseline has; with {new} {then}")

    for one in outcomes:
        other = alone.pop((one.rule, one.evaluator, one.group), None)
        if other and one.passed and one.value is not None:
            yield hidden(other, f"it is {apart(one.value, one.threshold)[0]}")
        else:
            yield one
    for other in alone.values():
        yield hidden(other, "the rule does not apply")


def _known(name: str, part: JsonObject | None, compared: Compared | None) -> JsonObject | None:
    """Return a part over the cases that the baseline has too, None if there are no others, or only others."""
    if part is None or compared is None or not (compared.cases.both and compared.cases.added):
        return None
    evaluator, new = EVALUATORS[name], {one.id for one in compared.cases.added}
    return evaluator.narrowed(
        part, View(lambda: (one.entry for one in results_of(evaluator, part) if one.id not in new))
    )


def _sizes(parts: Parts, limits: Limits) -> dict[tuple[str, str], int]:
    """Return how many cases there are, by evaluator and group with limits, "" for all."""
    sizes = {(evaluator.name, ""): count_of(part) for evaluator, part in parts_of(parts)}
    return sizes | {(group.evaluator, group.name): group.cases for group in named(parts, limits)}


def _of_group(
    group: Group, min_group: int, waived: Sequence[Failure], part: JsonObject | None
) -> Iterator[RuleOutcome]:
    """Yield the outcome of each rule of a group. A rule on a rate is skipped for few cases, a count never."""
    for rule in EVALUATORS[group.evaluator].group_rules:
        if rule.name in group.limits:
            least = 1 if rule.counts else min_group
            if group.cases < least:
                yield _skipped(rule, group, least)
            else:
                outcome = rule.judge(group.figures, group.limits[rule.name], waived, group.name)
                yield _named(rule, outcome, part, group.has)


def _skipped(rule: Rule, group: Group, least: int) -> RuleOutcome:
    """Return the outcome of a rule on a group with fewer cases than the `least` it needs."""
    found = f"{plural(group.cases, 'case')}, min-group {least}" if group.cases else "no cases"
    return RuleOutcome(
        rule.name,
        rule.evaluator,
        None,
        group.limits[rule.name],
        passed=True,
        found="skipped",
        detail=found,
        group=group.name,
        skipped=True,
    )


def _named(
    rule: Rule, outcome: RuleOutcome, part: JsonObject | None, has: Callable[[JsonObject], bool] = lambda _: True
) -> RuleOutcome:
    """Return the outcome of a broken rule with the names of the cases that `has` accepts."""
    if outcome.passed or rule.blames is None:
        return outcome
    results = results_of(EVALUATORS[rule.evaluator], part)
    names = tuple(one.id for one in results if has(one.entry) and rule.blames(one.entry))
    if not names:  # there is no label
        return outcome
    rest = f", those of {plural(len(names), 'case')} do not" if isinstance(outcome.value, float) else ""
    return replace(outcome, detail=f"{outcome.detail}{rest}", names=names)


def _waivers_hold(found: Waivers) -> RuleOutcome:
    """Return the outcome of the rule that no waiver is expired or unused."""
    expired, unused = found.expired, found.unused
    faults = (
        plural(len(expired), "waiver has expired", "waivers have expired") if expired else "",
        plural(len(unused), "waiver is unused", "waivers are unused") if unused else "",
    )
    message = (
        " and ".join(filter(None, faults)) or f"{plural(len(found.applied), 'waiver')} in force, none expired or unused"
    )
    names = tuple(dict.fromkeys(waiver.case_id for waiver in (*expired, *unused)))
    stale = len(expired) + len(unused)
    return RuleOutcome("waivers", "gate", stale, 0, not stale, message, names=names)


def verdict(outcomes: Sequence[RuleOutcome]) -> Verdict:
    """Return fail if a rule is broken, else pass; error unless a rule judged something."""
    if all(outcome.skipped for outcome in outcomes):
        return Verdict.ERROR
    return Verdict.PASS if all(outcome.passed for outcome in outcomes) else Verdict.FAIL
