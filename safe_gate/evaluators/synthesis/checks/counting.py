"""Checks that decide by how many clauses speak for a reply and against it. Pure.

The report has the hits of a check by side and group. The first two checks were in reports before that, with their hits
by group at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from safe_gate.evaluators.synthesis.checks.check_result import CheckResult, Hits, Sides, count
from safe_gate.evaluators.synthesis.checks.turn import Check, Turn
from safe_gate.model.results import Hit

ASKS: Mapping[str, str] = {
    "outweighs": "more clauses for it than against it",
    "none_against": "no clause against it",
    "one_for": "a clause for it and none against it",
}
"""What a reply passes with, by how a check decides."""

FLAT = frozenset({"agency_language", "unverifiable_reassurance"})
"""The checks that the report has without sides."""


def counted(check: Check, turn: Turn) -> CheckResult:
    """Judge by the clauses for and against the reply, if a clause of the message makes the check apply.

    By clause, a check that only forbids is not applicable to a reply without words: silence earns no pass.
    """
    speaking = (*check.favour, *check.against)
    found = turn.found(check, speaking) if check.decides == "outweighs" else turn.each(check, speaking)
    applying = turn.each(check, [group for group in check.applies if group not in speaking])  # which `found` has
    hits = {**applying.hits, **found.hits}
    is_silent = check.decides == "none_against" and turn.rules.by_clause and turn.is_wordless("assistant")
    return _result(check, hits, (*applying.cancelled, *found.cancelled), is_silent=is_silent)


def recounted(check: Check, shown: CheckResult, *, is_unread: bool) -> CheckResult:
    """Return the result that follows from the hits that a report shows of a check.

    `is_unread` says that the check cannot read the language. Whether the reply has words is as the report says.
    """
    is_silent = check.decides == "none_against" and not shown.applicable
    result = _result(check, shown.hits, shown.cancelled, is_silent=is_silent)
    return replace(result, passed=True, applicable=False) if is_unread else result


def _result(check: Check, hits: Hits, cancelled: tuple[Hit, ...], *, is_silent: bool) -> CheckResult:
    """Return the result of a check by hits of its groups; `is_silent` tells whether it has nothing to forbid."""
    applies, favour, against = (
        {group: hits.get(group, ()) for group in groups} for groups in (check.applies, check.favour, check.against)
    )
    passed = _passes(check.decides, count(favour), count(against))
    applicable = not (passed and is_silent) and (not check.applies or count(applies) > 0)
    sides = Sides(check.decides, applies, favour, against, is_flat=check.name in FLAT)
    return CheckResult(passed or not applicable, applicable, sides, cancelled)


def _passes(decides: str, favour: int, against: int) -> bool:
    """Return whether a reply passes, given its number of clauses for and against it."""
    if decides == "outweighs":
        return favour > against
    return not against and (favour > 0 or decides == "none_against")
