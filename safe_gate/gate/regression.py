"""Two runs over the same cases compared: what changed, by what, whether it is real, and what of it is allowed.

Pure, and from reports alone. Three runs tell a change of the outputs from one of the rules: the baseline as
it was judged (`baseline`), the baseline's outputs under today's rules (`today`), and the run at hand
(`head`). From the first to the second only rules differ, from the second to the third only outputs and what
is asked of them. Scores follow from recorded text alone, so a difference is a fact; a test says whether it
is more than as many changes without a direction would show by chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

from safe_gate.core import stats
from safe_gate.core.digests import digest
from safe_gate.core.figures import apart, fixed, plural
from safe_gate.core.model import JsonObject, Outcome, RuleOutcome, Test
from safe_gate.evaluators import EVALUATORS, outcomes_of, present


@dataclass(frozen=True, slots=True)
class Guards:
    """What of a comparison breaks a run; None switches a guard off. Shares are fractions from 0 to 1.

    `protect` names cases that must not newly fail, by id, tag or archetype. A drop is real where its
    p-value, after Holm's correction over all metrics, is at most `alpha`; it matters from `min_drop` on.
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
        return cls(**{**{field.name: policy[field.name] for field in fields(cls)}, "protect": tuple(policy["protect"])})

    def as_json(self) -> dict[str, Any]:
        """Return the guards as the report shows them."""
        return {**asdict(self), "protect": list(self.protect)}


_EXACT = 12  # decimals of a mean that doubles keep
_STEPS = 2  # a label that drops so many steps breaks a run: from Pass to Fail


class Status(StrEnum):
    """What a comparison says.

    `none`: there is nothing to compare with yet. `fail`: a guard is broken. `warn`: a drop that matters
    but is not proven, or one that is proven but is smaller than matters. `inconclusive`: no such drop
    was seen, but the cases are too few to see one.
    """

    NONE = "none"
    FAIL = "fail"
    WARN = "warn"
    INCONCLUSIVE = "inconclusive"
    PASS = "pass"


def compare(
    baseline: Mapping[str, JsonObject | None],
    today: Mapping[str, JsonObject | None] | None,
    head: Mapping[str, JsonObject | None],
    guards: Guards,
    same_rules: Mapping[str, bool],
    *,
    same_clusters: bool = True,
) -> dict[str, Any]:
    """Return the comparison of each evaluator that either run has, in the shape of the report.

    The three runs are evaluators' parts of reports by name. `today` is None, or an evaluator's part of it,
    where the baseline's outputs are not at hand: then a case stands today where the baseline had it under the
    `same_rules`, else where head stands if its digests are the same; any other only seems to stand where it was.
    Unless both are clustered by the same field (`same_clusters`) those of head count.
    """
    parts: dict[str, Any] = dict.fromkeys(EVALUATORS)
    for name in EVALUATORS:
        if baseline[name] or head[name]:  # without the one all cases are added, without the other all are gone
            again = today[name] if today else None
            runs = baseline[name], again, head[name]
            parts[name] = _compared(name, *runs, guards, same_rules=same_rules[name], same_clusters=same_clusters)
    metrics = _metrics(parts)
    adjusted = stats.holm([metric["p"] for metric in metrics])
    for metric, p in zip(metrics, adjusted, strict=True):
        metric["p_adjusted"] = p
        share = guards.alpha / len(metrics)
        metric["smallest_drop"] = stats.smallest_drop(metric["units"], share)
    return parts


@dataclass(frozen=True, slots=True)
class _Triple:
    """One case in three runs, and the cluster that it counts with, "" for none."""

    baseline: Outcome
    today: Outcome
    head: Outcome
    cluster: str

    @property
    def change(self) -> str:
        """What became of the case under today's rules: of its verdict, else of its scores."""
        if self.today.passed != self.head.passed:
            return "fixed" if self.head.passed else "newly failing"
        shared = self.today.scores.keys() & self.head.scores.keys()
        moves = {_sign(self.head.scores[name] - self.today.scores[name]) for name in shared} - {0}
        if self.head.passed:
            return {(-1,): "worse", (1,): "better", (): "still passing"}.get(tuple(moves), "mixed")
        return "still failing"

    @property
    def is_news(self) -> bool:
        """Whether the case is to be told of: all but those that pass as before, and say nothing newly forbidden."""
        drifted = self.baseline.passed != self.today.passed
        return drifted or self.change != "still passing" or bool(self.new_violations)

    @property
    def new_violations(self) -> list[str]:
        """The forbidden terms that the output uses and the baseline's did not: the same output uses the same."""
        if self.baseline.output == self.head.output:
            return []
        known = {term.casefold() for term in self.today.violations}
        return sorted(term for term in self.head.violations if term.casefold() not in known)

    @property
    def because(self) -> list[str]:
        """What differs between the runs: rules where the verdict of the same output does."""
        return [
            *["rules"] * (self.baseline.passed != self.today.passed or self.baseline.scores != self.today.scores),
            *["output"] * (self.baseline.output != self.head.output),
            *["expectations"] * (self.baseline.case != self.head.case),
        ]


def _compared(
    name: str,
    old: JsonObject | None,
    again: JsonObject | None,
    new: JsonObject | None,
    guards: Guards,
    *,
    same_rules: bool,
    same_clusters: bool,
) -> dict[str, Any]:
    evaluator = EVALUATORS[name]
    before, rescored, after = ({one.id: one for one in outcomes_of(name, part)} for part in (old, again, new))
    results = {result[evaluator.id_key]: result for result in old["results"]} if old else {}
    triples, unseparated = [], 0
    for case_id in sorted(before.keys() & after.keys()):
        was, now = before[case_id], after[case_id]
        is_same = (was.case, was.output) == (now.case, now.output)
        today = rescored.get(case_id) or (now if is_same and not same_rules else was)
        unseparated += not (rescored or is_same or same_rules)
        cluster = _shared_cluster(was, now) if same_clusters else now.cluster
        triples.append(_Triple(was, today, now, cluster))
    added, removed = sorted(after.keys() - before.keys()), sorted(before.keys() - after.keys())
    return {
        "cases": {
            "baseline": len(before),
            "head": len(after),
            "both": len(triples),
            "changed_outputs": [t.head.id for t in triples if t.baseline.output != t.head.output],
            "changed_expectations": [t.head.id for t in triples if t.baseline.case != t.head.case],
            "unseparated": unseparated,
            "added": [{"id": i, "passed": after[i].passed} for i in added],
            "removed": [{"id": i, "protected": _is_protected(before[i], guards)} for i in removed],
        },
        "metrics": [one for metric, (_, test) in evaluator.metrics.items() for one in _metric(metric, test, triples)],
        "changes": [_change(t, results[t.head.id], guards) for t in triples if t.is_news],
    }


def _shared_cluster(was: Outcome, now: Outcome) -> str:
    """Return a cluster of the cases that both runs put together: a change must not merge what it makes worse."""
    return digest([was.cluster, now.cluster]) if was.cluster and now.cluster else ""


def _is_protected(outcome: Outcome, guards: Guards) -> bool:
    return not {outcome.id, *outcome.groups}.isdisjoint(guards.protect)


def _change(triple: _Triple, result: JsonObject, guards: Guards) -> dict[str, Any]:
    """Return what became of a case, with the baseline's result; that of head is in the report anyway."""
    runs = triple.baseline, triple.today, triple.head
    moved = sorted({name for run in runs for name in run.scores if len({r.scores.get(name) for r in runs}) > 1})
    return {
        "id": triple.head.id,
        "change": triple.change,
        "because": triple.because,
        "protected": any(_is_protected(run, guards) for run in (triple.baseline, triple.head)),
        "labels": [run.words for run in runs],
        "passed": [run.passed for run in runs],
        "scores": {name: [run.scores.get(name) for run in runs] for name in moved},
        "steps": max(0, triple.today.rank - triple.head.rank),
        "new_violations": triple.new_violations,
        **({"before": result} if moved or "output" in triple.because else {}),
    }


def _metric(name: str, test: Test, triples: Sequence[_Triple]) -> Iterator[dict[str, Any]]:
    """Yield how a metric stands in three runs over the cases that have it in all, if there is any."""
    read = [t for t in triples if all(name in run.scores for run in (t.baseline, t.today, t.head))]
    if not read:
        return
    pairs = [(t.cluster, t.head.scores[name] - t.today.scores[name]) for t in read]
    folded = stats.by_cluster(pairs)
    worse, better = (sum(difference * sign > 0 for _, difference in pairs) for sign in (-1, 1))
    interval = None
    if test is Test.SIGN:
        p = stats.sign_test(sum(d < 0 for d in folded), sum(d > 0 for d in folded))
        both = sum(t.today.scores[name] == t.head.scores[name] == 1 for t in read)
        low, high = stats.newcombe(both, worse, better, len(read) - both - worse - better)
        interval = {"low": low, "high": high}
    else:
        p = stats.sign_flip(folded)
    means = {
        run: math.fsum(getattr(t, run).scores[name] for t in read) / len(read)  # fsum: exact, so free of order
        for run in ("baseline", "today", "head")
    }
    yield {
        "metric": name,
        "test": test.value,
        "cases": len(read),
        "units": len(folded),
        **means,
        "worse": worse,
        "better": better,
        "interval": interval,
        "p": p,
    }


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


# --- judging ------------------------------------------------------------------------------------


def judge(
    comparison: JsonObject, guards: Guards, waived: Mapping[str, Set[str]] | None = None
) -> tuple[RuleOutcome, ...]:
    """Return the outcome of every guard that is on, for each evaluator that was compared.

    The cases that are `waived`, by evaluator and id, break no guard on single cases but `protect`.
    """
    return tuple(
        outcome
        for name in present(comparison)
        for outcome in _outcomes(name, comparison[name], guards, (waived or {}).get(name, frozenset()))
    )


def status(comparison: JsonObject, outcomes: Sequence[RuleOutcome], guards: Guards) -> Status:
    """Return what a comparison says as a whole, given the outcomes of its guards."""
    metrics = _metrics(comparison)
    if not all(outcome.passed for outcome in outcomes):
        return Status.FAIL
    if not metrics and any(comparison[name]["cases"]["baseline"] for name in present(comparison)):
        return Status.INCONCLUSIVE  # nothing is in both runs
    if any((_matters(metric, guards) or _is_real(metric, guards)) and _drop(metric) > 0 for metric in metrics):
        return Status.WARN
    changed = any(comparison[name]["cases"]["changed_outputs"] for name in present(comparison))
    if changed and any(_is_blind(metric, guards) for metric in metrics):
        return Status.INCONCLUSIVE
    return Status.PASS


def smallest_visible(comparison: JsonObject) -> float | None:
    """Return the smallest drop that every yes-or-no metric can show, as a share; None if one can show none."""
    metrics = _metrics(comparison)
    drops = [metric["smallest_drop"] for metric in metrics if metric["test"] == Test.SIGN]
    return None if None in drops else max(drops, default=None)


def _metrics(comparison: JsonObject) -> list[dict[str, Any]]:
    """Return the metrics of all evaluators that were compared."""
    return [metric for name in present(comparison) for metric in comparison[name]["metrics"]]


def _outcomes(name: str, part: JsonObject, guards: Guards, waived: Set[str]) -> Iterator[RuleOutcome]:
    cases, changes, metrics = part["cases"], part["changes"], part["metrics"]
    removed, title = [one["id"] for one in cases["removed"]], EVALUATORS[name].title
    case = f"{title} case"
    if not guards.allow_removed:
        one, many = f"{case} of the baseline is gone", f"{case}s of the baseline are gone"
        yield _count("no-removed-cases", name, removed, one, many)
    newly = [change for change in changes if change["change"] == "newly failing"]
    if guards.protect:
        lost = [one["id"] for one in (*newly, *cases["removed"]) if one["protected"]]
        one, many = f"protected {case} newly fails or is gone", f"protected {case}s newly fail or are gone"
        yield _count("protect", name, lost, one, many)
    if "new-violations" in EVALUATORS[name].guards:
        violating = [change["id"] for change in changes if change["new_violations"]]
        one, many = f"{case} newly uses a forbidden term", f"{case}s newly use a forbidden term"
        yield _count("new-violations", name, violating, one, many, waived=waived)
    if "label-drops" in EVALUATORS[name].guards:
        falls = [change["id"] for change in changes if change["steps"] >= _STEPS]
        one, many = f"{case} falls from Pass to Fail", f"{case}s fall from Pass to Fail"
        yield _count("label-drops", name, falls, one, many, waived=waived)
    if guards.max_regressions is not None:
        lost, allowed = [one["id"] for one in newly], guards.max_regressions
        one, many = f"{case} newly fails", f"{case}s newly fail"
        yield _count("max-regressions", name, lost, one, many, allowed, waived=waived)
    worst = max(metrics, key=_drop, default=None)
    if worst is None:
        return
    if guards.max_score_drop is not None:
        drop = max(0.0, _drop(worst))
        holds = not _is_below(guards.max_score_drop, drop)
        fall, most = apart(round(drop, _EXACT), guards.max_score_drop, _points)
        words = f"{_title(name, worst)} falls by {fall} on average" if drop else f"No {title} metric falls"
        message = f"{words}, {most} allowed"
        yield RuleOutcome("max-score-drop", name, drop, guards.max_score_drop, holds, message)
    yield _significance(name, metrics, guards)


def _significance(name: str, metrics: Sequence[JsonObject], guards: Guards) -> RuleOutcome:
    """Return the outcome of the tests of an evaluator's metrics: whether a drop is real and matters."""
    mattering = [metric for metric in metrics if _matters(metric, guards)]
    proven = [metric for metric in mattering if _is_real(metric, guards) and _is_enough(metric)]
    if worst := max(proven or mattering, key=_drop, default=None):
        fall = f"{_title(name, worst)} falls by {_points(_drop(worst))} ({_changed(worst)})"
        few = f"fewer than {stats.LEAST_CASES} cases net"
        unproven = "which may be chance" if _is_enough(worst) else few
        relation = "more than chance" if proven else unproven
        message = f"{fall}, {relation} (p {_p(worst, guards)})"
    else:
        message = f"No {EVALUATORS[name].title} metric falls by {_points(guards.min_drop)} or more"
    drop = max((_drop(metric) for metric in proven), default=0.0)
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
    """Return the outcome of a rule on how many are `found` but `waived`, named where they are too many, each once."""
    counted = [case_id for case_id in found if case_id not in waived]
    more = f", {len(found) - len(counted)} more waived" if len(counted) < len(found) else ""
    holds, message = len(counted) <= allowed, f"{plural(len(counted), one, many)}{more}, {allowed} allowed"
    names = () if holds else tuple(dict.fromkeys(counted))
    return RuleOutcome(rule, name, len(counted), allowed, holds, message, names=names)


def _drop(metric: JsonObject) -> float:
    """Return by how much a metric's mean falls from the baseline under today's rules to head."""
    drop: float = metric["today"] - metric["head"]
    return drop


def _matters(metric: JsonObject, guards: Guards) -> bool:
    """Tell whether a drop is worth stopping for, in size."""
    return _drop(metric) > 0 and not _is_below(_drop(metric), guards.min_drop)


def _is_enough(metric: JsonObject) -> bool:
    """Tell whether a drop of a yes or no is more than that of a case or two."""
    net: int = metric["worse"] - metric["better"]
    return metric["test"] != Test.SIGN or net >= stats.LEAST_CASES


def _is_below(drop: float, limit: float) -> bool:
    """Tell whether a difference of means is below a limit, but for what doubles lose."""
    return round(drop - limit, _EXACT) < 0


def _is_real(metric: JsonObject, guards: Guards) -> bool:
    return bool(metric["p_adjusted"] <= guards.alpha)


def _is_blind(metric: JsonObject, guards: Guards) -> bool:
    """Tell a metric whose cases are too few to show a drop that would matter."""
    smallest = metric["smallest_drop"]
    return metric["test"] == Test.SIGN and (smallest is None or smallest > guards.min_drop)


def _title(name: str, metric: JsonObject) -> str:
    return EVALUATORS[name].metrics[metric["metric"]].title


def _changed(metric: JsonObject) -> str:
    return f"{plural(metric['worse'], 'case')} worse, {metric['better']} better"


def _points(share: float, digits: int = 1) -> str:
    return f"{fixed(100 * share, digits)} points"


def _p(metric: JsonObject, guards: Guards) -> str:
    return apart(metric["p_adjusted"], guards.alpha, lambda value, digits: f"{value:.{digits}g}", 2)[0]
