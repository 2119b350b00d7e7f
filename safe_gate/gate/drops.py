"""Judges a comparison: the guards on single cases, and whether a drop is real and matters. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from enum import StrEnum
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from safe_gate.core import stats
from safe_gate.core.figures import apart, fixed, plural
from safe_gate.core.model import RuleOutcome, Test
from safe_gate.evaluators import EVALUATORS, parts_of

if TYPE_CHECKING:
    from safe_gate.core.comparison import Change, Compared, ComparedParts, MetricChange
    from safe_gate.core.evaluator import Evaluator


class Guards(NamedTuple):
    """The guards: the changes that break a run. None switches a guard off. Shares are fractions from 0 to 1.

    `protect` names cases that must not newly fail, by id, tag or archetype. A drop is real if its p-value, after
    Holm's correction over all metrics, is at most `alpha`. It matters from `min_drop` on.
    """

    protect: tuple[str, ...] = ()
    allow_removed: bool = False
    max_regressions: int | None = None
    max_score_drop: float | None = None
    min_drop: float = 0.02
    alpha: float = 0.05

    @classmethod
    def of(cls, policy: Mapping[str, Any]) -> Guards:
        """Return the guards of a policy as the report shows it."""
        return cls(**{**{name: policy[name] for name in cls._fields}, "protect": tuple(policy["protect"])})

    def as_json(self) -> dict[str, Any]:
        """Return the guards as the report shows them."""
        return self._asdict() | {"protect": list(self.protect)}


_DROP = attrgetter("drop")
_EXACT = 12  # decimals of a mean that doubles represent
_STEPS = 2  # a label that drops this many steps breaks a run
_SINGLE: Mapping[str, Callable[[Change], bool]] = {
    "new-violations": lambda change: bool(change.new_violations),
    "label-drops": lambda change: change.steps >= _STEPS,
}
"""The guards on single cases that not every evaluator has: which cases break them."""


class Status(StrEnum):
    """The result of a comparison.

    `none`: there is nothing to compare with yet. `fail`: a guard is broken. `warn`: a drop that matters
    but is not proven, or one that is proven but is smaller than matters. `inconclusive`: no such drop
    was seen, but the cases are too few to see one.
    """

    NONE = "none"
    FAIL = "fail"
    WARN = "warn"
    INCONCLUSIVE = "inconclusive"
    PASS = "pass"


def judge(
    compared: ComparedParts, guards: Guards, waived: Mapping[str, Set[str]] | None = None
) -> tuple[RuleOutcome, ...]:
    """Return the outcome of every guard that is on, for each evaluator that was compared.

    Cases that are `waived`, by evaluator and id, break no guard on single cases except `protect`.
    """
    return tuple(
        outcome
        for evaluator, part in parts_of(compared)
        for outcome in _outcomes(evaluator, part, guards, (waived or {}).get(evaluator.name, frozenset()))
    )


def status(compared: ComparedParts, outcomes: Sequence[RuleOutcome], guards: Guards) -> Status:
    """Return the result of a comparison as a whole, given the outcomes of its guards."""
    metrics = metrics_of(compared)
    if not all(outcome.passed for outcome in outcomes):
        return Status.FAIL
    if not metrics and any(part.cases.baseline for _, part in parts_of(compared)):
        return Status.INCONCLUSIVE  # nothing is in both runs
    if any((_matters(metric, guards) or _is_real(metric, guards)) and metric.drop > 0 for metric in metrics):
        return Status.WARN
    changed = any(part.cases.changed_outputs for _, part in parts_of(compared))
    if changed and any(_is_blind(metric, guards) for metric in metrics):
        return Status.INCONCLUSIVE
    return Status.PASS


def smallest_visible(compared: ComparedParts) -> float | None:
    """Return the smallest drop that every yes-or-no metric can show, as a share; None if one can show none."""
    metrics = metrics_of(compared)
    drops = [metric.smallest_drop for metric in metrics if metric.test is Test.SIGN]
    seen = [drop for drop in drops if drop is not None]
    return None if len(seen) < len(drops) else max(seen, default=None)


def metrics_of(compared: ComparedParts) -> list[MetricChange]:
    """Return the metrics of all evaluators that were compared."""
    return [metric for _, part in parts_of(compared) for metric in part.metrics]


def _outcomes(evaluator: Evaluator, part: Compared, guards: Guards, waived: Set[str]) -> Iterator[RuleOutcome]:
    cases, changes, metrics = part.cases, part.changes, part.metrics
    removed, name, title = [one.id for one in cases.removed], evaluator.name, evaluator.title
    case = f"{title} case"
    if not guards.allow_removed:
        one, many = f"{case} of the baseline is gone", f"{case}s of the baseline are gone"
        yield _count("no-removed-cases", name, removed, one, many)
    newly = [change for change in changes if change.change == "newly failing"]
    if guards.protect:
        protected = [(one.id, one.protected) for one in newly] + [(one.id, one.protected) for one in cases.removed]
        lost = [case_id for case_id, is_protected in protected if is_protected]
        one, many = f"protected {case} newly fails or is gone", f"protected {case}s newly fail or are gone"
        yield _count("protect", name, lost, one, many)
    for guard, breaks in _SINGLE.items():
        if guard in evaluator.guards:
            one, many = evaluator.guards[guard]
            found = [change.id for change in changes if breaks(change)]
            yield _count(guard, name, found, f"{case} {one}", f"{case}s {many}", waived=waived)
    if guards.max_regressions is not None:
        lost, allowed = [one.id for one in newly], guards.max_regressions
        one, many = f"{case} newly fails", f"{case}s newly fail"
        yield _count("max-regressions", name, lost, one, many, allowed, waived=waived)
    worst = max(metrics, key=_DROP, default=None)
    if worst is None:
        return
    if guards.max_score_drop is not None:
        drop = max(0.0, worst.drop)
        holds = not _is_below(guards.max_score_drop, drop)
        fall, most = apart(round(drop, _EXACT), guards.max_score_drop, _points)
        words = f"{_title(name, worst)} falls by {fall} on average" if drop else f"No {title} metric falls"
        message = f"{words}, {most} allowed"
        yield RuleOutcome("max-score-drop", name, drop, guards.max_score_drop, holds, message)
    yield _significance(name, metrics, guards)


def _significance(name: str, metrics: Sequence[MetricChange], guards: Guards) -> RuleOutcome:
    """Return the outcome of the tests of an evaluator's metrics: whether a drop is real and matters."""
    mattering = [metric for metric in metrics if _matters(metric, guards)]
    proven = [metric for metric in mattering if _is_real(metric, guards) and _is_enough(metric)]
    if worst := max(proven or mattering, key=_DROP, default=None):
        changed = f"{plural(worst.worse, 'case')} worse, {worst.better} better"
        fall = f"{_title(name, worst)} falls by {_points(worst.drop)} ({changed})"
        few = f"fewer than {stats.LEAST_CASES} cases net"
        unproven = "which may be chance" if _is_enough(worst) else few
        relation = "more than chance" if proven else unproven
        p, _ = apart(worst.p_adjusted, guards.alpha, lambda value, digits: f"{value:.{digits}g}", 2)
        message = f"{fall}, {relation} (p {p})"
    else:
        message = f"No {EVALUATORS[name].title} metric falls by {_points(guards.min_drop)} or more"
    drop = max((metric.drop for metric in proven), default=0.0)
    return RuleOutcome("min-drop", name, drop, guards.min_drop, not proven, message)


def _count(
    rule: str,
    name: str,
    found: Sequence[str],
    one: str,
    many: str,
    allowed: int = 0,
    waived: Set[str] = frozenset(),
) -> RuleOutcome:
    """Return the outcome of a rule on the number `found` without those `waived`. Too many are named, each once."""
    counted = [case_id for case_id in found if case_id not in waived]
    more = f", {len(found) - len(counted)} more waived" if len(counted) < len(found) else ""
    holds, message = len(counted) <= allowed, f"{plural(len(counted), one, many)}{more}, {allowed} allowed"
    names = () if holds else tuple(dict.fromkeys(counted))
    return RuleOutcome(rule, name, len(counted), allowed, holds, message, names=names)


def _matters(metric: MetricChange, guards: Guards) -> bool:
    """Return whether a drop is large enough to matter."""
    return metric.drop > 0 and not _is_below(metric.drop, guards.min_drop)


def _is_enough(metric: MetricChange) -> bool:
    """Return whether a drop of a yes-or-no metric is more than one or two cases."""
    return metric.test is not Test.SIGN or metric.worse - metric.better >= stats.LEAST_CASES


def _is_below(drop: float, limit: float) -> bool:
    """Return whether a difference of means is below a limit, up to rounding."""
    return round(drop - limit, _EXACT) < 0


def _is_real(metric: MetricChange, guards: Guards) -> bool:
    return metric.p_adjusted <= guards.alpha


def _is_blind(metric: MetricChange, guards: Guards) -> bool:
    """Return whether a metric has too few cases to show a drop that would matter."""
    smallest = metric.smallest_drop
    return metric.test is Test.SIGN and (smallest is None or smallest > guards.min_drop)


def _title(name: str, metric: MetricChange) -> str:
    return EVALUATORS[name].metric(metric.metric).title


def _points(share: float, digits: int = 1) -> str:
    return f"{fixed(100 * share, digits)} points"
