"""A rule of the gate on an evaluator's measurements: its metric, its limit, and its outcome in words. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from safe_gate.core.figures import apart, fixed, plural
from safe_gate.core.stats import wilson
from safe_gate.model.report import RuleOutcome
from safe_gate.model.results import Failure, Severity


class Count(NamedTuple):
    """A count of something, with its noun in the singular and in the plural."""

    number: int
    one: str
    many: str = ""

    def against(self, limit: float, waived: int = 0) -> str:
        """Return in words how many there are without those waived, and how many are allowed."""
        more = f", {waived} more waived" if waived else ""
        return f"{plural(self.number - waived, self.one, self.many)}{more}, {limit} allowed"


class Share(NamedTuple):
    """A part of a whole: the name of the share, words with both numbers, and perhaps the cases of the part by id."""

    noun: str
    part: int
    whole: int
    words: str
    names: Iterable[str] = ()


def anything(_: Any) -> bool:
    """Return True: the rule applies to all parts, or forgives all failing cases."""
    return True


FAILING, REVIEW, ANY_SEVERITY = frozenset({Severity.FAILING}), frozenset({Severity.REVIEW}), frozenset(Severity)
"""The findings that a rule may count, by severity."""


class Rule(NamedTuple):
    """A rule of the gate, and what it looks for in an evaluator's part of the report.

    `measure` and `applies` get the part, a rule on a group gets the group's figures. A
    rule named `min-...` asks for at least its limit, one named `max-...` for at most. A rule that does not apply to
    the measurements has no outcome. `forgives(result)`: whether the rule lets a failing case pass under a waiver.
    `blames(result)`: whether a broken rule names the case, because no finding reports it. A rule that names no case
    counts the findings of the severities `finds`. A rule that `counts` cases applies from the first case. A rule on a
    rate needs `min_group` cases.
    """

    name: str
    evaluator: str
    measure: Callable[[Any], Count | Share]
    applies: Callable[[Any], bool] = anything
    forgives: Callable[[Any], bool] = lambda _: False
    blames: Callable[[Any], bool] | None = None
    counts: bool = False
    finds: frozenset[Severity] = frozenset()

    @property
    def setting(self) -> str:
        """The name of the setting that holds the limit."""
        return self.name.replace("-", "_")

    def judge(self, part: Any, limit: float | int, waived: Sequence[Failure] = (), group: str = "") -> RuleOutcome:
        """Return the rule's outcome on what it measures.

        `waived` are the cases, of all or of the group, with every failure waived.
        """
        found = self.measure(part)
        forgiven = sum(self.forgives(failure.result) for failure in waived)
        outcome = partial(RuleOutcome, self.name, self.evaluator, threshold=limit, group=group)
        if isinstance(found, Count):
            number = found.number - forgiven
            return outcome(value=number, passed=number <= limit, found=found.against(limit, forgiven))
        if not found.whole:
            return outcome(value=None, passed=False, found=f"{found.noun} is unknown", detail=found.words)
        count = found.part + forgiven
        value = count / found.whole
        at_least = self.name.startswith("min-")
        passed = value >= limit if at_least else value <= limit
        shown, wanted = apart(value, limit)
        more = f", {forgiven} more waived" if forgiven else ""
        low, high = (fixed(100 * end, 0) for end in wilson(count, found.whole))
        interval = f" (95 % interval {low} to {high} %)" if at_least else ""
        return outcome(
            value=value,
            passed=passed,
            found=f"{found.noun} {shown} {_RELATIONS[at_least, passed]} {wanted}",
            detail=f"{found.words}{more}{interval}",
            names=() if passed else tuple(found.names),
        )


_RELATIONS = {
    (True, True): "is at least",
    (True, False): "is below",
    (False, True): "is at most",
    (False, False): "is above",
}


def no_reply(number: int) -> Count:
    """Return how many cases have no reply: what the rule `max-no-reply` looks for."""
    words = "no reply, so the recording is broken"
    return Count(number, f"case has {words}", f"cases have {words}")
