"""Verdicts that a judge, such as a language model, gave on a reply, as a case records them. Pure.

The gate asks no judge. A verdict is a check of its own: that of `judged: {"tone": ...}` is called `judged/tone`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, NamedTuple

from safe_gate.core.figures import fixed, plural, share, with_interval
from safe_gate.core.stats import corrected, kappa, wilson
from safe_gate.core.validate import Fault
from safe_gate.model import record
from safe_gate.model.codec import JsonObject, key
from safe_gate.model.results import Explanation, Phrase, Untrusted

PREFIX = "judged/"
"""How the names of these checks begin."""

LEAST_LABELS = 50
"""The fewest labels from which a pass rate is corrected for the judge's errors."""


@record
class JudgeVerdict:
    """A recorded verdict, who gave it and why, "" for no reason. `expected` is the label of people, None for none."""

    passed: Annotated[bool, key("pass")]
    by: str
    reason: str = ""
    expected: bool | None = None

    @property
    def words(self) -> Phrase:
        """Who gave the verdict, and why."""
        return ("judged by ", Untrusted(self.by), *((": ", Untrusted(self.reason)) if self.reason else ()))


def recorded_verdicts(case: JsonObject) -> dict[str, JudgeVerdict]:
    """Return the verdicts of a case by the names of their checks, without labels."""
    return {
        PREFIX + name: JudgeVerdict(one["passed"], one["by"], one.get("why", ""))
        for name, one in case.get("judged", {}).items()
        if not name.startswith("x_")
    }


def label_faults(case: JsonObject, labels: JsonObject, *path: str | int) -> Iterator[Fault]:
    """Yield the problems of the labels at a path of a case: labels of verdicts that it lacks, and null."""
    known = recorded_verdicts(case)
    for name, label in labels.items():
        if name.startswith(PREFIX) and name not in known:
            words = "labels a verdict that is not recorded; add it under judged, or remove the label"
            yield Fault((*path, name), words)
        elif name in known and label is None:
            yield Fault((*path, name), "is null, but a judge's verdict always applies; expected true or false")


class CountedVerdict(NamedTuple):
    """A verdict reduced to what is counted: its check, whether it passes, and people's label, None for no label."""

    check: str
    passed: bool
    expected: bool | None


@record
class Estimate:
    """A figure with its 95 % interval."""

    value: float
    low: float
    high: float


@record
class JudgeFigures:
    """The verdicts of a check: how many pass and fail, the first judges by name, and how far people agree.

    `confusion` counts the labels by what people say and what the judge says. `agreement` is a share, `kappa` is
    Cohen's, and `corrected` is the pass rate from `LEAST_LABELS` labels on. Each is None if the labels do not give it.
    """

    passed: int
    failed: int
    judges: tuple[str, ...]
    confusion: Mapping[str, Mapping[str, int]]
    agreement: Estimate | None
    kappa: Estimate | None
    corrected: Annotated[Estimate | None, key("corrected_pass_rate")]


def judge_figures(
    counted: Counter[CountedVerdict], cases: Iterable[Mapping[str, JudgeVerdict]]
) -> dict[str, JudgeFigures]:
    """Return the figures of each check by name, from counted verdicts. `cases` name the judges."""
    judges: dict[str, set[str]] = {check: set() for check in sorted({one.check for one in counted})}
    for verdicts in cases if judges else ():
        for check, one in verdicts.items():
            judges[check].add(one.by)
    return {check: _figures(check, counted, tuple(sorted(named)[:20])) for check, named in judges.items()}


def _figures(check: str, counted: Counter[CountedVerdict], judges: tuple[str, ...]) -> JudgeFigures:
    good, bad, unlabelled = (
        (counted[CountedVerdict(check, True, said)], counted[CountedVerdict(check, False, said)])
        for said in (True, False, None)
    )
    passed, failed = map(sum, zip(good, bad, unlabelled, strict=True))
    agreed, labels = good[0] + bad[1], sum((*good, *bad))
    alike, rate = kappa(*good, *bad), None
    if labels >= LEAST_LABELS:
        rate = corrected(passed, passed + failed, (good[0], sum(good)), (bad[1], sum(bad)))
    return JudgeFigures(
        passed,
        failed,
        judges,
        {"passed": {"passed": good[0], "failed": good[1]}, "failed": {"passed": bad[0], "failed": bad[1]}},
        Estimate(agreed / labels, *wilson(agreed, labels)) if labels else None,
        Estimate(*alike) if alike else None,
        Estimate(*rate) if rate else None,
    )


def judge_sentences(figures_by_check: Mapping[str, JudgeFigures]) -> Iterator[str]:
    """Yield a sentence on each check: how many verdicts pass, and how far people agree with them."""
    for check, one in figures_by_check.items():
        verdicts = one.passed + one.failed
        passed = with_interval(share(one.passed, verdicts), *wilson(one.passed, verdicts))
        told = [f"{check}: {one.passed} of {plural(verdicts, 'verdict passes', 'verdicts pass')}, {passed}"]
        if one.agreement:
            labels = sum(number for said in one.confusion.values() for number in said.values())
            rate = with_interval(one.agreement.value, one.agreement.low, one.agreement.high)
            told.append(f"{plural(labels, 'label')}, agreement {rate}")
        if one.kappa:
            told.append(f"kappa {fixed(one.kappa.value)} ({fixed(one.kappa.low)} to {fixed(one.kappa.high)})")
        if one.corrected:
            rate = with_interval(one.corrected.value, one.corrected.low, one.corrected.high)
            told.append(f"pass rate corrected for the judge's errors {rate}")
        yield "; ".join(told)


def explanation_of(check: str) -> Explanation:
    """Return the explanation of a check."""
    asks = f"The judge that the team recorded says that the output passes {check.removeprefix(PREFIX)}."
    return Explanation(check, asks, "Read the reason. If the judge is wrong, label the case, and waive the failure.")
