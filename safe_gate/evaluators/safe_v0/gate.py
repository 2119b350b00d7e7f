"""SAFE v0 results added up (SAFE v0 spec sections 4.2, 4.3 and 5.1), and what the gate and a comparison read of them.

Pure. `Totals` is a value: totals of parts add up, in any order, to the totals of the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from heapq import nsmallest
from typing import Annotated, Any, TypeVar

from pydantic import Field

from safe_gate.core.case import Scored
from safe_gate.core.evaluator import ANY_SEVERITY, FAILING, Count, Rule, Share, always, no_reply
from safe_gate.core.figures import ExactSum, plural, share
from safe_gate.core.setting import Group, Names, Number, WholeOrOff
from safe_gate.core.stats import wilson
from safe_gate.evaluators import judged
from safe_gate.evaluators.judged import CountedVerdict
from safe_gate.evaluators.replies import same_replies, same_reply_rule
from safe_gate.evaluators.safe_v0.result import (
    METRICS,
    Archetype,
    Batch,
    FailureAnalysis,
    Label,
    Part,
    Rates,
    Result,
    Summary,
    Vacuity,
    VacuousScores,
)
from safe_gate.evaluators.safe_v0.score import RANKS, UNUSED, Case, Policy, Threshold
from safe_gate.model import record
from safe_gate.model.codec import JsonObject
from safe_gate.model.results import Failure, Interval, Metric, Outcome, Test

WORST = 5
_SCORES = (*METRICS, "composite")
Addable = TypeVar("Addable", "Tally", Counter[str])


@record
class Tally:
    """Counts and sums over a group of cases."""

    labels: Counter[str] = field(default_factory=Counter)
    passes: Counter[str] = field(default_factory=Counter)
    sums: Mapping[str, ExactSum] = field(default_factory=lambda: dict.fromkeys(_SCORES, ExactSum()))

    @classmethod
    def of(cls, cases: Sequence[Result], thresholds: Mapping[str, Threshold]) -> Tally:
        """Return the tally of cases that have the same thresholds, by their results."""
        scores = {name: [case.figures[name] for case in cases] for name in _SCORES}
        return cls(
            Counter(case.label.value for case in cases),
            Counter(m for m in METRICS for score in scores[m] if thresholds[m].label(score) is Label.PASS),
            {name: ExactSum.of(*values) for name, values in scores.items()},
        )

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.labels + other.labels,
            self.passes + other.passes,
            {name: self.sums[name] + other.sums[name] for name in _SCORES},
        )

    @property
    def count(self) -> int:
        """The number of cases."""
        return self.labels.total()

    def rates(self) -> Rates:
        """Return the rates that the whole report and each batch have."""
        passes = {**{metric: self.passes[metric] for metric in METRICS}, "overall": self.labels[Label.PASS]}
        return Rates(
            means={name: total.mean() for name, total in self.sums.items()},
            passes={name: share(passed, self.count) for name, passed in passes.items()},
            intervals={name: Interval(*wilson(passed, self.count)) for name, passed in passes.items()},
            labels={label.value: self.labels[label] for label in Label},
        )

    def archetype(self) -> Archetype:
        """Return the figures of an archetype."""
        rates = self.rates()
        return Archetype(
            cases=self.count,
            mean_CR=rates.means["CR"],
            mean_AH=rates.means["AH"],
            mean_AC=rates.means["AC"],
            passed=self.labels[Label.PASS],
            pass_rate=rates.pass_rate,
            interval=rates.intervals["overall"],
        )


@record
class Totals:
    """Everything the batch report says about all cases together."""

    all: Tally = field(default_factory=Tally)
    by_batch: Mapping[str, Tally] = field(default_factory=dict)
    by_archetype: Mapping[str, Tally] = field(default_factory=dict)
    concerns: Mapping[str, Counter[str]] = field(default_factory=dict)
    misses: Mapping[str, Counter[str]] = field(default_factory=lambda: {metric: Counter() for metric in METRICS})
    violations: int = 0
    vacuous: Counter[str] = field(default_factory=Counter)
    no_reply: int = 0
    near_misses: int = 0
    unused: Counter[str] = field(default_factory=Counter)
    judged: Counter[CountedVerdict] = field(default_factory=Counter)
    worst: tuple[Result, ...] = ()

    @classmethod
    def of(cls, scored: Sequence[tuple[Case, Result]], policy: Policy) -> Totals:
        """Return the totals of scored cases."""
        results = [result for _, result in scored]
        groups: dict[tuple[str, str], list[Result]] = {}
        for one in results:
            groups.setdefault((one.batch, one.archetype), []).append(one)
        tallies = {group: Tally.of(found, policy.thresholds_for(group[1])) for group, found in groups.items()}
        concerns: dict[str, Counter[str]] = {}
        for case, result in scored:
            concerns.setdefault(result.batch, Counter())[case.concern_id] += 1
        return cls(
            sum(tallies.values(), Tally()),
            _sums((batch, tally) for (batch, _), tally in tallies.items()),
            _sums((archetype, tally) for (_, archetype), tally in tallies.items()),
            concerns,
            # A case counts once for a needle, however often its list repeats it.
            {metric: Counter(text for one in results for text in set(one.against[metric])) for metric in METRICS},
            sum(len(one.violations) for one in results),
            Counter(metric for case, _ in scored for metric, texts in case.needles().items() if not texts),
            sum(bool(one.no_reply) for one in results),
            sum(bool(one.near) for one in results),
            Counter(name for case, _ in scored for name in case.unused),
            Counter(CountedVerdict(name, v.passed, v.expected) for one in results for name, v in one.judged.items()),
            _worst(results),
        )

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.all + other.all,
            _sums((*self.by_batch.items(), *other.by_batch.items())),
            _sums((*self.by_archetype.items(), *other.by_archetype.items())),
            _sums((*self.concerns.items(), *other.concerns.items())),
            _sums((*self.misses.items(), *other.misses.items())),
            self.violations + other.violations,
            self.vacuous + other.vacuous,
            self.no_reply + other.no_reply,
            self.near_misses + other.near_misses,
            self.unused + other.unused,
            self.judged + other.judged,
            _worst((*self.worst, *other.worst)),
        )


def _sums(pairs: Iterable[tuple[str, Addable]]) -> dict[str, Addable]:
    found: dict[str, Addable] = {}
    for key, value in pairs:
        found[key] = found[key] + value if key in found else value
    return found


def _worst(results: Iterable[Result]) -> tuple[Result, ...]:
    return tuple(nsmallest(WORST, results, key=lambda one: (one.composite, one.id)))


def report(totals: Totals, results: Sequence[Result], policy: Policy, generated_at: str) -> Part:
    """Return the report of section 5.1 with everything of section 4.2, and the policy.

    `results` are in the report's order. Rates and means are fractions in [0, 1], not rounded.
    """
    whole, rates = totals.all, totals.all.rates()
    by_metric = {metric: _vacuous(totals.vacuous.get(metric, 0), whole.count) for metric in METRICS}
    return Part(
        report_type="SAFE_v0",
        generated_at=generated_at,
        batch_id=",".join(sorted(totals.by_batch)),
        concern_id=",".join(sorted({one for some in totals.concerns.values() for one in some})),
        policy=policy.recorded,
        total_cases=whole.count,
        summary=Summary.of(whole.count, rates),
        rates=rates,
        by_archetype={name: tally.archetype() for name, tally in sorted(totals.by_archetype.items())},
        by_batch={
            batch: Batch(",".join(sorted(totals.concerns[batch])), tally.count, tally.rates())
            for batch, tally in sorted(totals.by_batch.items())
        },
        vacuity=Vacuity(_vacuous(sum(totals.vacuous.values()), len(METRICS) * whole.count), by_metric),
        no_reply=totals.no_reply,
        same_reply=same_replies(results),
        near_misses=totals.near_misses,
        unused_expectations={name: totals.unused[name] for name in UNUSED},
        results=results,
        failure_analysis=FailureAnalysis(
            worst=totals.worst,
            # The most common first, ties by code point.
            common={
                metric: sorted(needles.items(), key=lambda item: (-item[1], item[0]))
                for metric, needles in totals.misses.items()
            },
            violations=totals.violations,
        ),
        judged=judged.judge_figures(totals.judged, (one.judged for one in results)),
    )


def _vacuous(number: int, total: int) -> VacuousScores:
    return VacuousScores(total, number, share(number, total))


def _min_pass_rate(measure: Callable[[Any], Share]) -> Rule:
    return Rule("min-pass-rate", "safe_v0", measure, forgives=always, finds=ANY_SEVERITY)


def _passed(passed: int, total: int) -> Share:
    return Share("Pass rate", passed, total, f"{passed} of {plural(total, 'SAFE v0 case')} labelled Pass")


def _labelled_fail(part: Part) -> Count:
    return Count(part.rates.labels[Label.FAIL], "SAFE v0 case labelled Fail", "SAFE v0 cases labelled Fail")


def _nothing_expected(part: Part) -> Share:
    total, vacuous = part.vacuity.scores.total, part.vacuity.scores.vacuous
    words = f"{vacuous} of {plural(total, 'score has', 'scores have')} nothing to look for"
    return Share("Share of vacuous scores", vacuous, total, words)


class Limits(Group):
    """The settings of the rules: the limit of each, by its name."""

    min_pass_rate: Annotated[Number, Names("gate", usual=True)] = Field(
        0.8, ge=0, le=1, description="Rule: the share of SAFE v0 cases labelled Pass is at least this (0 to 1)."
    )
    max_fail_labels: Annotated[WholeOrOff, Names("gate")] = Field(
        None, ge=0, description="Rule: at most this many SAFE v0 cases are labelled Fail. Off unless set."
    )


rules = (
    _min_pass_rate(lambda part: _passed(part.rates.labels[Label.PASS], part.total_cases)),
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

group_rules = (_min_pass_rate(lambda group: _passed(group.passed, group.cases)),)
"""The rules on the cases of one archetype, on its figures in `by_archetype`."""

pass_counting_settings = ()


def own_rules(_limits: Mapping[str, Any]) -> Iterator[tuple[Rule, Any]]:
    """Yield nothing: no team defines a metric."""
    yield from ()


def failures(part: Part | Scored) -> Iterator[Failure]:
    """Yield the cases that are not labelled Pass, with the metrics below their threshold of Pass or failed verdicts."""
    policy = Policy(part.policy)
    for result in part.results:
        if not result.passed:
            thresholds = policy.thresholds_for(result.archetype)
            low = frozenset(metric for metric in METRICS if result.scores[metric] < thresholds[metric].pass_)
            yield Failure(result.id, low.union(result.rejected), result)


def restrict(part: Part, results: Sequence[Result]) -> Part:
    """Return a report with the rates over some of its results.

    Vacuous scores stay those of all: they follow from expectations, and fewer of these weaken the gate.
    """
    policy = Policy(part.policy)
    tallies = _sums((one.archetype, Tally.of([one], policy.thresholds_for(one.archetype))) for one in results)
    whole = sum(tallies.values(), Tally())
    return replace(
        part,
        total_cases=whole.count,
        rates=whole.rates(),
        by_archetype={name: tally.archetype() for name, tally in tallies.items()},
        same_reply=same_replies(results),
        results=results,
    )


def is_excused(_group: str, _asks: JsonObject, _policy: JsonObject) -> bool:
    """Return False: no archetype is meant to fail."""
    return False


def allowed_misses(key: str, asks: Mapping[str, Any], settings: Mapping[str, Any]) -> Sequence[int]:
    """Return how many entries of a list of a case may be missed, or used, by each threshold of its metric.

    The threshold for review counts only if the gate limits failing labels.

    >>> [allowed_misses("CR", {"CR": ["fever"] * count}, {"thresholds": {"CR": {"pass": 0.8}}}) for count in (1, 4, 5)]
    [(0,), (0,), (1,)]
    >>> thresholds = {"AH": {"pass": 1.0, "review": 0.5}}
    >>> allowed_misses("AH", {"AH": ["fault", "zebra"]}, {"thresholds": thresholds, "max_fail_labels": 0})
    (0, 1)
    """
    if key not in METRICS or (key == "AH" and settings.get("strict_ah")):
        return ()
    count, archetype = len(asks[key] or ()), (settings.get("archetypes") or {}).get(asks.get("archetype"), {})
    limits = {**settings.get("thresholds", {}).get(key, {}), **archetype.get("thresholds", {}).get(key, {})}
    levels = ("pass",) if settings.get("max_fail_labels") is None else ("pass", "review")
    shares = [(count - missed) / count for missed in range(1, count + 1)]
    return tuple(sum(share >= limit for share in shares) for limit in map(limits.get, levels) if limit is not None)


metrics = {
    "pass": Metric("The share of cases that pass", Test.SIGN),
    **{metric: Metric(metric, Test.SIGN_FLIP) for metric in METRICS},
}
"""The scores of an outcome: whether the case passes as a yes or no, CR, AH and AC as they are."""


def outcome(result: Result) -> Outcome:
    """Return the outcome of a result, for a comparison. A case without a reply does not pass, whatever its label."""
    passed = result.passed and not result.no_reply
    return Outcome(
        id=result.id,
        passed=passed,
        rank=RANKS[Label.FAIL if result.no_reply else result.label],
        words="no reply" if result.no_reply else result.label.value,
        scores={
            "pass": float(passed),
            **result.scores,
            **{name: float(one.passed) for name, one in result.judged.items()},
        },
        violations=frozenset(result.violations),
        groups=frozenset([result.archetype]),
        cluster=result.cluster,
        case=result.digests["case"],
        output=result.digests["output"],
        judges={name: one.by for name, one in result.judged.items()},
        has_no_reply=bool(result.no_reply),
    )


guards = {
    "new-violations": ("newly uses a forbidden term", "newly use a forbidden term"),
    "label-drops": ("falls from Pass to Fail or no reply", "fall from Pass to Fail or no reply"),
}
compared_cases = ""


def metric(name: str) -> Metric:
    """Return how results are compared by a score, also by recorded verdicts."""
    return metrics.get(name) or Metric(f"The pass rate of {name}", Test.SIGN)


def scoring_terms(part: Part | Scored | None, _policy: JsonObject) -> Any:
    """Return the policy that a report records."""
    return part.policy if part else None


def recorded_settings(policy: JsonObject) -> Scored:
    """Return what a report records of its settings."""
    return Scored(Policy.of(policy).recorded)
