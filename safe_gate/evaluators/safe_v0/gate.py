"""What the gate judges SAFE v0 by, and how two runs of it are compared: by its part of the report. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from safe_gate.core.evaluator import ANY_SEVERITY, FAILING, Count, Rule, Share, anything, no_reply
from safe_gate.core.figures import add_up, plural
from safe_gate.core.given import Scored
from safe_gate.evaluators.replies import Frequent, same_replies, same_reply_rule
from safe_gate.evaluators.safe_v0.result import METRICS, Archetype, Label, Part, Result
from safe_gate.evaluators.safe_v0.score import RANKS, Policy, RecordedPolicy
from safe_gate.evaluators.safe_v0.totals import Tally, archetype_of
from safe_gate.model.codec import JsonObject
from safe_gate.model.results import Failure, Metric, Outcome, Test


def _labelled_pass(part: Part) -> Share:
    return _passed(part.rates.labels[Label.PASS], part.total_cases)


def _passed(passed: int, total: int) -> Share:
    return Share("Pass rate", passed, total, f"{passed} of {plural(total, 'SAFE v0 case')} labelled Pass")


def _labelled_fail(part: Part) -> Count:
    return Count(part.rates.labels[Label.FAIL], "SAFE v0 case labelled Fail", "SAFE v0 cases labelled Fail")


def _nothing_expected(part: Part) -> Share:
    total, vacuous = part.vacuity.scores.total, part.vacuity.scores.vacuous
    words = f"{vacuous} of {plural(total, 'score has', 'scores have')} nothing to look for"
    return Share("Share of vacuous scores", vacuous, total, words)


def _group_passed(group: Archetype) -> Share:
    return _passed(group.passed, group.cases)


rules = (
    Rule("min-pass-rate", "safe_v0", _labelled_pass, forgives=anything, finds=ANY_SEVERITY),
    Rule(
        "max-fail-labels",
        "safe_v0",
        _labelled_fail,
        forgives=lambda result: result.label == Label.FAIL,
        finds=FAILING,
    ),
    Rule(
        "max-no-reply",
        "safe_v0",
        lambda part: no_reply(part.no_reply),
        applies=lambda part: part.no_reply > 0,
        blames=lambda result: bool(result.no_reply),
    ),
    same_reply_rule("safe_v0"),
    Rule("max-vacuous", "safe_v0", _nothing_expected),
)
"""The rules on all cases; each is named as its option."""

group_rules = (Rule("min-pass-rate", "safe_v0", _group_passed, forgives=anything, finds=ANY_SEVERITY),)
"""The rules on the cases of one archetype, on its figures in `by_archetype`."""

counting_passes = ()


def own_rules(_limits: Mapping[str, Any]) -> Iterator[tuple[Rule, Any]]:
    """Yield nothing: no team defines a metric."""
    yield from ()


def failures(part: Part | Scored) -> Iterator[Failure]:
    """Yield the cases that are not labelled Pass, with the metrics below their threshold of Pass or failed verdicts."""
    policy = RecordedPolicy(part.policy)
    for result in part.results:
        if not result.passed:
            thresholds = policy.thresholds_for(result.archetype)
            low = frozenset(metric for metric in METRICS if result.scores[metric] < thresholds[metric].pass_)
            yield Failure(result.id, low.union(result.rejected), result)


def narrowed(part: Part, results: Sequence[Result]) -> Part:
    """Return a report with the rates over some of its results.

    Vacuous scores stay those of all: they follow from expectations, and fewer of these weaken the gate.
    """
    policy, replies = RecordedPolicy(part.policy), Frequent()
    by_archetype: dict[str, Tally] = {}
    for one in results:
        replies += Frequent.of([one.digests["reply"]])
        tally = Tally.of([one], policy.thresholds_for(one.archetype))
        by_archetype[one.archetype] = by_archetype.get(one.archetype, Tally()) + tally
    whole = add_up(by_archetype.values(), Tally())
    return replace(
        part,
        total_cases=whole.count,
        rates=whole.rates(),
        by_archetype={name: archetype_of(tally) for name, tally in by_archetype.items()},
        same_reply=same_replies(replies, results),
        results=results,
    )


def is_excused(_group: str, _asks: JsonObject, _policy: JsonObject) -> bool:
    """Return False: no archetype is meant to fail."""
    return False


def missable(key: str, asks: Mapping[str, Any], settings: Mapping[str, Any]) -> Sequence[int]:
    """Return how many entries of a list of a case may be missed, or used, by each threshold of its metric.

    The threshold for review counts only if the gate limits failing labels.

    >>> [missable("CR", {"CR": ["fever"] * count}, {"thresholds": {"CR": {"pass": 0.8}}}) for count in (1, 4, 5)]
    [(0,), (0,), (1,)]
    >>> thresholds = {"AH": {"pass": 1.0, "review": 0.5}}
    >>> missable("AH", {"AH": ["fault", "zebra"]}, {"thresholds": thresholds, "max_fail_labels": 0})
    (0, 1)
    """
    if key not in METRICS or (key == "AH" and settings.get("strict_ah")):
        return ()
    count, archetype = len(asks[key] or ()), (settings.get("archetypes") or {}).get(asks.get("archetype"), {})
    own = archetype.get("thresholds", {}).get(key, {})
    levels = ("pass",) if settings.get("max_fail_labels") is None else ("pass", "review")
    general = settings.get("thresholds", {}).get(key, {})
    limits = (own.get(level, general.get(level)) for level in levels)
    shares = [1 - missed / count if key == "AH" else (count - missed) / count for missed in range(1, count + 1)]
    return tuple(sum(share >= limit for share in shares) for limit in limits if limit is not None)


metrics = {
    "pass": Metric("The share of cases labelled Pass", Test.SIGN),
    **{metric: Metric(metric, Test.SIGN_FLIP) for metric in METRICS},
}
"""The scores of an outcome: the label Pass as a yes or no, CR, AH and AC as they are."""


def outcome(result: Result) -> Outcome:
    """Return what a result says of its case."""
    label = result.label
    return Outcome(
        id=result.id,
        passed=result.passed,
        rank=RANKS[label],
        words=label.value,
        scores={
            "pass": float(result.passed),
            **result.scores,
            **{name: float(one.passed) for name, one in result.judged.items()},
        },
        violations=frozenset(result.violations),
        groups=frozenset([result.archetype]),
        cluster=result.cluster,
        case=result.digests["case"],
        output=result.digests["output"],
        judges={name: one.by for name, one in result.judged.items()},
    )


guards = {
    "new-violations": ("newly uses a forbidden term", "newly use a forbidden term"),
    "label-drops": ("falls from Pass to Fail", "fall from Pass to Fail"),
}
compared_on = ""


def metric(name: str) -> Metric:
    """Return how results are compared by a score, also by recorded verdicts."""
    return metrics.get(name) or Metric(f"The pass rate of {name}", Test.SIGN)


def scored_by(part: Part | Scored | None, _policy: JsonObject) -> Any:
    """Return the policy that a report records."""
    return part.policy if part else None


def recorded(policy: JsonObject) -> Scored:
    """Return what a report records of its settings."""
    return Scored(Policy.of(policy).to_json())
