"""Known failures: the waivers that let a failing metric or check of one case pass, until a day.

Pure. A waiver changes no score and no result: it says which failures the gate's rules leave out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from safe_gate.core.model import Failure, JsonObject, Parts
from safe_gate.evaluators import EVALUATORS

if TYPE_CHECKING:
    from safe_gate.core.report import Found, Waiver


class Waivable(NamedTuple):
    """The subject of a waiver: a case, the metric or check that it fails, and the word `metric` or `check`."""

    case_id: str
    kind: str
    name: str

    @classmethod
    def of(cls, waiver: Waiver) -> Waivable:
        """Return the subject of a waiver."""
        return cls(waiver.case_id, waiver.kind, waiver.name)

    @classmethod
    def read(cls, entry: JsonObject) -> Waivable:
        """Return what an entry of a file of waivers is about."""
        kind = next(evaluator.measures for evaluator in EVALUATORS.values() if evaluator.measures in entry)
        return cls(entry["id"], kind, entry[kind])


def twins(waivers: Iterable[Waivable]) -> Iterator[tuple[int, int]]:
    """Yield the index of each waiver that repeats an earlier one, with the earlier one's index.

    >>> list(twins(Waivable("a", "metric", name) for name in ("b", "c", "b")))
    [(2, 0)]
    """
    seen: dict[Waivable, int] = {}
    for place, waiver in enumerate(waivers):
        first = seen.setdefault(waiver, place)
        if first != place:
            yield place, first


Fates = tuple["tuple[Waiver, ...]", "tuple[Waiver, ...]", "tuple[Waiver, ...]"]
"""Waivers that are expired, unused and applied."""


def sorted_out(waivers: Iterable[Waiver], parts: Parts, today: str) -> Fates:
    """Return the waivers that are expired, unused and applied on a day (YYYY-MM-DD), each in the order of ids.

    `applied`: the case fails by what is waived. `unused`: it does not, is meant to fail, or is not in
    the run. `expired`: the waiver's last day has passed, whatever the case does.
    """
    failed, every = failing(parts), sorted(waivers, key=Waivable.of)
    current = [one for one in every if one.expires >= today]
    expired = tuple(one for one in every if one.expires < today)
    unused = tuple(one for one in current if Waivable.of(one) not in failed)
    return expired, unused, tuple(one for one in current if Waivable.of(one) in failed)


def failing(parts: Parts) -> set[Waivable]:
    """Return the checks and metrics by which cases fail unexpectedly, which waivers may waive."""
    return {one for name in EVALUATORS for failure in _failures(name, parts) for one in _waivable(name, failure)}


def waived(found: Found) -> Mapping[str, tuple[Failure, ...]]:
    """Return by evaluator the failing cases of a report whose failures are all waived."""
    applied = _applied(found)
    if not applied:  # nothing to look for in a report of very many cases
        return dict.fromkeys(EVALUATORS, ())
    return {
        name: tuple(
            failure for failure in _failures(name, found.parts) if failure.by and _waivable(name, failure) <= applied
        )
        for name in EVALUATORS
    }


def left_over(found: Found) -> Mapping[tuple[str, str], tuple[str, ...]]:
    """Return the failures of each case that its waivers do not cover, by `case_of`, if any."""
    applied = _applied(found)
    cases = {one[:2] for one in applied}
    unwaived = {
        (failure.case_id, EVALUATORS[name].measures): _waivable(name, failure) - applied
        for name in (EVALUATORS if applied else ())
        for failure in _failures(name, found.parts)
    }
    return {case: tuple(sorted(by for *_, by in left)) for case, left in unwaived.items() if left and case in cases}


def case_of(waiver: Waiver) -> tuple[str, str]:
    """Return the case of a waiver: its id, and the word `metric` or `check` for what it fails."""
    return waiver.case_id, waiver.kind


def let_pass(found: Found) -> Mapping[str, frozenset[str]]:
    """Return by evaluator the ids of the cases that are `waived`."""
    return {name: frozenset(one.case_id for one in failures) for name, failures in waived(found).items()}


def _failures(name: str, parts: Parts) -> Iterator[Failure]:
    """Yield the failing cases of an evaluator, none if it did not run."""
    part = parts[name]
    if part is not None:
        yield from EVALUATORS[name].failures(part)


def _waivable(name: str, failure: Failure) -> set[Waivable]:
    return {Waivable(failure.case_id, EVALUATORS[name].measures, by) for by in failure.by}


def _applied(found: Found) -> set[Waivable]:
    return {Waivable.of(waiver) for waiver in found.waivers.applied} if found.waivers else set()
