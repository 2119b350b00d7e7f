"""Synthesis results folded into the report (Synthesis spec, "Report Fields Explained").

Pure. `Totals` is a value: totals of parts add up, in any order, to the totals of the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from safe_gate.core.figures import share
from safe_gate.core.stats import wilson
from safe_gate.evaluators import judged
from safe_gate.evaluators.judged import Estimate, Told
from safe_gate.evaluators.replies import Frequent, same_replies
from safe_gate.evaluators.synthesis.definitions import in_order
from safe_gate.evaluators.synthesis.result import (
    Accuracy,
    FailedCase,
    Idle,
    LabelQuality,
    Labels,
    Part,
    Quality,
    Result,
    Summary,
    Tagged,
    Unlabelled,
    Vacuity,
    Verdicts,
)
from safe_gate.model.results import Interval


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts of cases (`cases`), of verdicts per check and of labels per check.

    - `confusion`: labels by check, tag ("" for all cases), the people's label and the check's verdict.
    - `judged`: recorded verdicts with their labels.
    - `by_tag`: by tag its cases as in `cases`, their `labels`, and those `matched`.
    - `not_english`: cases with a text in another language that a check reads.
    - `no_reply`: cases without a reply.
    - `disguised`: cases with disguised letters in the reply.
    - `unlabelled`: cases without a label of any check they run.
    - `replies`: the replies that may be frequent; which ones depends on the order of the cases.
    """

    cases: Counter[str] = field(default_factory=Counter)
    by_tag: Counter[tuple[str, str]] = field(default_factory=Counter)
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    labels: Counter[tuple[str, bool]] = field(default_factory=Counter)
    confusion: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)
    judged: Counter[Told] = field(default_factory=Counter)
    not_english: int = 0
    no_reply: int = 0
    disguised: int = 0
    unlabelled: int = 0
    replies: Frequent = field(default_factory=Frequent, compare=False)

    @classmethod
    def of(cls, results: Iterable[Result]) -> Totals:
        """Return the totals of cases by their results, whoever scored them."""
        cases: Counter[str] = Counter()
        by_tag: Counter[tuple[str, str]] = Counter()
        verdicts: Counter[tuple[str, str]] = Counter()
        matched: Counter[tuple[str, bool]] = Counter()
        confusion: Counter[tuple[str, str, str, str]] = Counter()
        told: Counter[Told] = Counter()
        not_english = no_reply = disguised = unlabelled = 0
        replies: list[str] = []
        for case in results:
            tags, labels, outcome = dict.fromkeys(case.tags), case.labels, _outcome(case)
            cases[outcome] += 1
            for tag in tags:
                by_tag[tag, outcome] += 1
                by_tag[tag, "labels"] += len(labels)
                by_tag[tag, "matched"] += sum(label.match for label in labels.values())
            for name, check in case.checks.items():
                verdicts[name, _VERDICTS[check.actual]] += 1
            for name, label in labels.items():
                matched[name, label.match] += 1
                for tag in ("", *(tag for tag in tags if tag)):
                    confusion[name, tag, _VERDICTS[label.expected], _VERDICTS[label.actual]] += 1
            for name, verdict in case.judged.items():
                told[Told(name, verdict.passed, labels[name].expected if name in labels else None)] += 1
            not_english += bool(case.foreign)
            no_reply += bool(case.no_reply)
            disguised += bool(case.disguised_letters)
            unlabelled += not labels
            replies.append(case.digests["reply"])
        counts = not_english, no_reply, disguised, unlabelled
        return cls(cases, by_tag, verdicts, matched, confusion, told, *counts, Frequent.of(replies))

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.cases + other.cases,
            self.by_tag + other.by_tag,
            self.verdicts + other.verdicts,
            self.labels + other.labels,
            self.confusion + other.confusion,
            self.judged + other.judged,
            self.not_english + other.not_english,
            self.no_reply + other.no_reply,
            self.disguised + other.disguised,
            self.unlabelled + other.unlabelled,
            self.replies + other.replies,
        )


_VERDICTS = {True: "passed", False: "failed", None: "not_applicable"}


def _outcome(case: Result) -> str:
    if case.is_negative_example:
        return "unexpected_passes" if case.passed else _FAILURES[case.is_as_expected]
    return "strict_passed" if case.passed else "unexpected_failures"


_FAILURES = {True: "expected_failures", False: "unexpected_failures"}


def report(totals: Totals, results: Sequence[Result]) -> Part:
    """Return the report: `summary`, the `failures` in brief and the `results` in full.

    `accuracy` is a percentage, not rounded, and null where there is no label to compare.
    """
    cases = totals.cases
    checks = in_order({check for check, _ in totals.verdicts})
    failed = cases["expected_failures"] + cases["unexpected_failures"]
    quality = _quality(totals.confusion)
    summary = Summary(
        cases=cases.total(),
        passed=cases.total() - failed,
        failed=failed,
        strict_passed=cases["strict_passed"],
        strict_failed=cases["unexpected_failures"],
        expected_failures=cases["expected_failures"],
        unexpected_failures=cases["unexpected_failures"],
        unexpected_passes=cases["unexpected_passes"],
        not_english=totals.not_english,
        no_reply=totals.no_reply,
        disguised=totals.disguised,
        by_check={name: Verdicts(*(totals.verdicts[name, verdict] for verdict in _WORDS)) for name in checks},
        by_tag={
            tag: _tagged({what: totals.by_tag[tag, what] for what in _OF_A_TAG})
            for tag in sorted({tag for tag, _ in totals.by_tag})
        },
        label_accuracy=_accuracy(totals.labels, checks),
        label_accuracy_by_check={
            name: _accuracy(totals.labels, [name])
            for name in checks
            if totals.labels[name, True] + totals.labels[name, False]
        },
        quality=LabelQuality(
            quality(""), {tag: quality(tag) for tag in sorted({tag for _, tag, _, _ in totals.confusion} - {""})}
        ),
        judged=judged.figures(totals.judged, (case.judged for case in results)),
    )
    idle = sum(number for (_, verdict), number in totals.verdicts.items() if verdict == _VERDICTS[None])
    verdicts, unlabelled = totals.verdicts.total(), totals.unlabelled
    return Part(
        summary,
        Vacuity(
            Idle(verdicts, idle, share(idle, verdicts)),
            Unlabelled(cases.total(), unlabelled, share(unlabelled, cases.total())),
        ),
        same_replies(totals.replies, results),
        [FailedCase(case.id, case.is_negative_example, case.failed) for case in results if not case.passed],
        results,
    )


_OF_A_TAG = ("strict_passed", "expected_failures", "unexpected_failures", "unexpected_passes", "labels", "matched")


def _tagged(found: Mapping[str, int]) -> Tagged:
    as_expected = found["strict_passed"] + found["expected_failures"]
    cases = as_expected + found["unexpected_failures"] + found["unexpected_passes"]
    interval, labels = Interval(*wilson(as_expected, cases)), Labels(found["labels"], found["matched"])
    return Tagged(cases, as_expected, found["unexpected_failures"], as_expected / cases, interval, labels)


def _accuracy(labels: Counter[tuple[str, bool]], checks: Sequence[str]) -> Accuracy:
    matched = sum(labels[name, True] for name in checks)
    total = matched + sum(labels[name, False] for name in checks)
    return Accuracy(total, matched, 100 * matched / total if total else None)


def _quality(confusion: Counter[tuple[str, str, str, str]]) -> Callable[[str], dict[str, Quality]]:
    """Return a function from a tag ("" for all cases) to each check's agreement with people."""
    checks: dict[str, set[str]] = {}
    for check, tag, _, _ in confusion:
        checks.setdefault(tag, set()).add(check)

    def rates(tag: str) -> dict[str, Quality]:
        return {
            check: _rates({said: {found: confusion[check, tag, said, found] for found in _WORDS} for said in _WORDS})
            for check in sorted(checks.get(tag, ()))
        }

    return rates


_WORDS = tuple(_VERDICTS.values())


def _rates(counts: Mapping[str, Mapping[str, int]]) -> Quality:
    """Return the counts and rates of one check; a positive is a verdict of `failed`."""
    total = sum(sum(row.values()) for row in counts.values())
    caught = counts["failed"]["failed"]
    alarms = sum(counts[said]["failed"] for said in _WORDS) - caught
    misses = sum(counts["failed"].values()) - caught
    # Not applicable is an automatic pass: it agrees with a label of pass as with its own.
    agreed = caught + counts["passed"]["passed"] + counts["passed"]["not_applicable"]
    agreed += counts["not_applicable"]["not_applicable"]
    return Quality(
        labels=total,
        confusion=counts,
        true_positives=caught,
        false_positives=alarms,
        true_negatives=total - caught - alarms - misses,
        false_negatives=misses,
        accuracy=_interval(agreed, total),
        precision=_interval(caught, caught + alarms),
        recall=_interval(caught, caught + misses),
        not_applicable=_interval(sum(row["not_applicable"] for row in counts.values()), total),
    )


def _interval(part: int, whole: int) -> Estimate | None:
    """Return a share with its 95 % Wilson interval, None of nothing."""
    if not whole:
        return None
    return Estimate(part / whole, *wilson(part, whole))
