"""SAFE v0 results added up (SAFE v0 spec sections 4.2, 4.3 and 5.1), and what the gate and a comparison read of them.

Pure. `Totals` is a value: totals of parts add up, in any order, to the totals of the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from heapq import nsmallest
from typing import Any, TypeVar

from safe_gate.core.case import Scored
from safe_gate.core.evaluator import ANY_SEVERITY, FAILING, Count, Rule, Share, always, no_reply
from safe_gate.core.figures import ExactSum, plural, share
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
    Vacuity,
    VacuousScores,
)
from safe_gate.evaluators.safe_v0.score import RANKS, UNUSED, Case, limits_of, recorded_policy
from safe_gate.model import record
from safe_gate.model.codec import JsonObject
from safe_gate.model.results import Failure, Interval, Metric, Outcome, Test

WORST = 5
_SCORES = (*METRICS, "composite")
Key = TypeVar("Key", str, tuple[str, str])


@record
class Tally:
    """Sums over a group of cases. `passes` counts those with each label, and those that pass each metric."""

    passes: Counter[str] = field(default_factory=Counter)
    sums: Mapping[str, ExactSum] = field(default_factory=lambda: dict.fromkeys(_SCORES, ExactSum()))

    @classmethod
    def of(cls, case: Result, policy: JsonObject) -> Tally:
        """Return the tally of a case."""
        passes = (metric for metric in METRICS if metric not in _below_pass(case, policy))
        sums = {name: ExactSum.of(case.figures[name]) for name in _SCORES}
        return cls(Counter((case.label.value, *passes)), sums)

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.passes + other.passes, {name: self.sums[name] + other.sums[name] for name in _SCORES})

    @property
    def count(self) -> int:
        """The number of cases."""
        return self.sums["composite"].count

    def rates(self) -> Rates:
        """Return the rates that the whole report and each batch have."""
        passes = {**{metric: self.passes[metric] for metric in METRICS}, "overall": self.passes[Label.PASS]}
        return Rates(
            means={name: total.mean() for name, total in self.sums.items()},
            passes={name: share(passed, self.count) for name, passed in passes.items()},
            intervals={name: Interval(*wilson(passed, self.count)) for name, passed in passes.items()},
            labels={label.value: self.passes[label] for label in Label},
        )


@record
class Totals:
    """Everything the batch report says about all cases together.

    `tallies` are by batch and archetype, `concerns` by batch and concern, and `misses` by metric and needle. `counts`
    has `violations`, `no_reply`, `near_misses`, the vacuous scores by metric, and the cases with a field of `UNUSED`.
    """

    tallies: Mapping[tuple[str, str], Tally] = field(default_factory=dict)
    concerns: Counter[tuple[str, str]] = field(default_factory=Counter)
    misses: Counter[tuple[str, str]] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    judged: Counter[CountedVerdict] = field(default_factory=Counter)
    worst: tuple[Result, ...] = ()

    @classmethod
    def of(cls, scored: Sequence[tuple[Case, Result]], policy: JsonObject) -> Totals:
        """Return the totals of scored cases."""
        results = [result for _, result in scored]
        counts = Counter(name for case, _ in scored for name in case.unused)
        counts.update(metric for case, _ in scored for metric, needles in case.needles.items() if not needles)
        counts["violations"] = sum(len(one.violations) for one in results)
        counts["no_reply"] = sum(bool(one.no_reply) for one in results)
        counts["near_misses"] = sum(bool(one.near) for one in results)
        return cls(
            _tallies(results, policy),
            Counter((case.batch_id, case.concern_id) for case, _ in scored),
            # A case counts once for a needle, however often its list repeats it.
            Counter((metric, text) for one in results for metric in METRICS for text in {*one.against[metric]}),
            counts,
            Counter(CountedVerdict(name, v.passed, v.expected) for one in results for name, v in one.judged.items()),
            _worst(results),
        )

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            _sums((*self.tallies.items(), *other.tallies.items())),
            self.concerns + other.concerns,
            self.misses + other.misses,
            self.counts + other.counts,
            self.judged + other.judged,
            _worst((*self.worst, *other.worst)),
        )


def _tallies(results: Iterable[Result], policy: JsonObject) -> dict[tuple[str, str], Tally]:
    return _sums(((one.batch, one.archetype), Tally.of(one, policy)) for one in results)


def _sums(pairs: Iterable[tuple[Key, Tally]]) -> dict[Key, Tally]:
    """Return the sum of the tallies of each key, sorted by it."""
    found: dict[Key, Tally] = {}
    for key, tally in pairs:
        found[key] = found[key] + tally if key in found else tally
    return dict(sorted(found.items()))


def _worst(results: Iterable[Result]) -> tuple[Result, ...]:
    return tuple(nsmallest(WORST, results, key=lambda one: (one.composite, one.id)))


def report(totals: Totals, results: Sequence[Result], policy: JsonObject, generated_at: str) -> Part:
    """Return the report of section 5.1 with everything of section 4.2, and the policy.

    `results` are in the report's order. Rates and means are fractions in [0, 1], not rounded.
    """
    tallies, counts = totals.tallies, totals.counts
    whole = sum(tallies.values(), Tally())
    by_metric = {metric: _vacuous(counts[metric], whole.count) for metric in METRICS}
    concerns: dict[str, set[str]] = {}
    for batch, concern in totals.concerns:
        concerns.setdefault(batch, set()).add(concern)
    by_batch = _sums((batch, tally) for (batch, _), tally in tallies.items())
    return Part(
        report_type="SAFE_v0",
        generated_at=generated_at,
        batch_id=",".join(by_batch),
        concern_id=",".join(sorted({concern for _, concern in totals.concerns})),
        policy=policy,
        total_cases=whole.count,
        summary=whole.rates().summary(),
        rates=whole.rates(),
        by_archetype=_by_archetype(tallies),
        by_batch={
            batch: Batch(",".join(sorted(concerns[batch])), tally.count, tally.rates())
            for batch, tally in by_batch.items()
        },
        vacuity=Vacuity(_vacuous(sum(counts[metric] for metric in METRICS), len(METRICS) * whole.count), by_metric),
        no_reply=counts["no_reply"],
        same_reply=same_replies(results),
        near_misses=counts["near_misses"],
        unused_expectations={name: counts[name] for name in UNUSED},
        results=results,
        failure_analysis=FailureAnalysis(
            worst=totals.worst,
            signals=_most_common(totals.misses, "CR", "signal", "miss_count"),
            terms=_most_common(totals.misses, "AH", "term", "count"),
            phrases=_most_common(totals.misses, "AC", "phrase", "miss_count"),
            violations=counts["violations"],
        ),
        judged=judged.judge_figures(totals.judged, (one.judged for one in results)),
    )


def _by_archetype(tallies: Mapping[tuple[str, str], Tally]) -> Mapping[str, Archetype]:
    found: dict[str, Archetype] = {}
    for archetype, tally in _sums((archetype, tally) for (_, archetype), tally in tallies.items()).items():
        rates, passed = tally.rates(), tally.passes[Label.PASS]
        means = rates.means["CR"], rates.means["AH"], rates.means["AC"]
        found[archetype] = Archetype(tally.count, *means, passed, rates.pass_rate, rates.intervals["overall"])
    return found


def _most_common(misses: Counter[tuple[str, str]], metric: str, needle: str, count: str) -> list[dict[str, Any]]:
    """Return the needles that count against cases, each with how many, the most common first, ties by code point."""
    found = sorted((-number, text) for (of, text), number in misses.items() if of == metric)
    return [{needle: text, count: -number} for number, text in found]


def _vacuous(number: int, total: int) -> VacuousScores:
    return VacuousScores(total, number, share(number, total))


def _passed(passed: int, total: int) -> Share:
    return Share("Pass rate", passed, total, f"{passed} of {plural(total, 'SAFE v0 case')} labelled Pass")


def _nothing_expected(part: Part) -> Share:
    total, vacuous = part.vacuity.scores.total, part.vacuity.scores.vacuous
    words = f"{vacuous} of {plural(total, 'score has', 'scores have')} nothing to look for"
    return Share("Share of vacuous scores", vacuous, total, words)


rules = (
    Rule(
        "min-pass-rate",
        "safe_v0",
        lambda part: _passed(part.rates.labels[Label.PASS], part.total_cases),
        forgives=always,
        finds=ANY_SEVERITY,
    ),
    Rule(
        "max-fail-labels",
        "safe_v0",
        lambda part: Count(part.rates.labels[Label.FAIL], "SAFE v0 case labelled Fail", "SAFE v0 cases labelled Fail"),
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

group_rules = (rules[0]._replace(measure=lambda group: _passed(group.passed, group.cases)),)
"""The rules on the cases of one archetype, on its figures in `by_archetype`."""

pass_counting_settings = ()


def own_rules(_limits: Mapping[str, Any]) -> Iterator[tuple[Rule, Any]]:
    """Yield nothing: no team defines a metric."""
    yield from ()


def failures(part: Part | Scored) -> Iterator[Failure]:
    """Yield the cases that are not labelled Pass, with the metrics below their threshold of Pass or failed verdicts."""
    for result in part.results:
        if not result.passed:
            yield Failure(result.id, _below_pass(result, part.policy).union(result.rejected), result)


def _below_pass(result: Result, policy: JsonObject) -> frozenset[str]:
    """Return the metrics of a result that are below their threshold of Pass."""
    limits = limits_of(policy, result.archetype)
    return frozenset(metric for metric in METRICS if result.figures[metric] < limits[metric]["pass"])


def restrict(part: Part, results: Sequence[Result]) -> Part:
    """Return a report with the rates over some of its results.

    Vacuous scores stay those of all: they follow from expectations, and fewer of these weaken the gate.
    """
    tallies = _tallies(results, part.policy)
    whole = sum(tallies.values(), Tally())
    return replace(
        part,
        total_cases=whole.count,
        rates=whole.rates(),
        by_archetype=_by_archetype(tallies),
        same_reply=same_replies(results),
        results=results,
    )


def is_excused(_group: str, _asks: JsonObject, _policy: JsonObject) -> bool:
    """Return False: no archetype is meant to fail."""
    return False


def allowed_misses(key: str, asks: Mapping[str, Any], settings: Mapping[str, Any]) -> Sequence[int]:
    """Return how many entries of a list of a case may be missed, or used, by each threshold of its metric.

    The threshold for review counts only if the gate limits failing labels.
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
    return Scored(recorded_policy(policy))
