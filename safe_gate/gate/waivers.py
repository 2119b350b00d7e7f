"""Known failures: the waivers that let a failing metric or check of one case pass, until a day.

Pure. A waiver changes no score and no result: it says which failures the gate's rules leave out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from safe_gate.core.model import Failure, JsonObject
from safe_gate.evaluators import EVALUATORS

FATES = ("expired", "unused", "applied")
"""The states of a waiver, the most urgent first."""

_FIELDS = ("id", "check", "metric", "reason", "owner", "expires")


class Waivable(NamedTuple):
    """What a waiver is about: a case and a metric or check that it fails, and the word `metric` or `check`."""

    case_id: str
    kind: str
    name: str

    @classmethod
    def of(cls, waiver: JsonObject) -> Waivable:
        """Return what a waiver is about."""
        kind = next(evaluator.measures for evaluator in EVALUATORS.values() if evaluator.measures in waiver)
        return cls(waiver["id"], kind, waiver[kind])


def twins(waivers: Sequence[JsonObject]) -> Iterator[tuple[int, int]]:
    """Yield the index of each waiver that repeats an earlier one, with the earlier one's index.

    >>> list(twins([{"id": "a", "metric": "CR"}, {"id": "a", "metric": "AC"}, {"id": "a", "metric": "CR"}]))
    [(2, 0)]
    """
    seen: dict[Waivable, int] = {}
    for place, waiver in enumerate(waivers):
        first = seen.setdefault(Waivable.of(waiver), place)
        if first != place:
            yield place, first


def sorted_out(waivers: Sequence[JsonObject], report: JsonObject, today: str) -> dict[str, list[dict[str, Any]]]:
    """Return waivers by their state on a day (YYYY-MM-DD), each list in the order of ids.

    `applied`: the case fails by what is waived. `unused`: it does not, is meant to fail, or is not in
    the run. `expired`: the waiver's last day has passed, whatever the case does.
    """
    failed = failing(report)
    found: dict[str, list[dict[str, Any]]] = {fate: [] for fate in FATES}
    for waiver in sorted(waivers, key=Waivable.of):
        fate = "expired" if waiver["expires"] < today else "applied" if Waivable.of(waiver) in failed else "unused"
        found[fate].append({name: waiver[name] for name in _FIELDS if name in waiver})
    return found


def failing(report: JsonObject) -> set[Waivable]:
    """Return the checks and metrics by which cases of a report fail unexpectedly, which waivers may waive."""
    return {one for name in EVALUATORS for failure in _failures(name, report) for one in _waivable(name, failure)}


def waived(report: JsonObject) -> Mapping[str, tuple[Failure, ...]]:
    """Return by evaluator the failing cases of a report whose failures are all waived."""
    applied = _applied(report)
    if not applied:  # nothing to look for in a report of very many cases
        return dict.fromkeys(EVALUATORS, ())
    return {
        name: tuple(
            failure for failure in _failures(name, report) if failure.by and _waivable(name, failure) <= applied
        )
        for name in EVALUATORS
    }


def left_over(report: JsonObject) -> Mapping[tuple[str, str], tuple[str, ...]]:
    """Return by `case_of` its waivers what a case fails by that none of them waives, if there is anything."""
    applied = _applied(report)
    cases = {one[:2] for one in applied}
    found = {
        (failure.case_id, EVALUATORS[name].measures): _waivable(name, failure) - applied
        for name in (EVALUATORS if applied else ())
        for failure in _failures(name, report)
    }
    return {case: tuple(sorted(by for *_, by in left)) for case, left in found.items() if left and case in cases}


def case_of(waiver: JsonObject) -> tuple[str, str]:
    """Return the case that a waiver is about: its id, and the word for what it fails by, a metric or a check."""
    return Waivable.of(waiver)[:2]


def let_pass(report: JsonObject) -> Mapping[str, frozenset[str]]:
    """Return by evaluator the ids of the cases that are `waived`."""
    return {name: frozenset(one.case_id for one in failures) for name, failures in waived(report).items()}


def _failures(name: str, report: JsonObject) -> Iterator[Failure]:
    """Yield the failing cases of an evaluator, none if it did not run."""
    if report[name] is not None:
        yield from EVALUATORS[name].failures(report[name])


def _waivable(name: str, failure: Failure) -> set[Waivable]:
    return {Waivable(failure.case_id, EVALUATORS[name].measures, by) for by in failure.by}


def _applied(report: JsonObject) -> set[Waivable]:
    return {Waivable.of(waiver) for waiver in (report.get("waivers") or {"applied": ()})["applied"]}
