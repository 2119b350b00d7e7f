"""Many problems, gathered in bounded memory and shown in order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from safe_gate.core.model import Place, Problem


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Return problems by their place, then by case and field."""
    return sorted(problems, key=_order)


def _order(problem: Problem) -> tuple[Place, str, str, str]:
    return problem.place, problem.case_id, problem.field, problem.message


MOST_KEPT = 1_000
"""The number of problems that a file, and a report, keeps. The rest are counted."""

Kind = tuple[str, str, str]
_INDEX = re.compile(r"\[[0-9]+\]")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|:[0-9]++|(?<![0-9])(?<! of )[0-9]++(?! [a-z])')


class Problems:
    """Collects problems in any order. It keeps the first of each kind in each file by line, and counts all.

    >>> from safe_gate.core.model import Place
    >>> found = Problems()
    >>> for line in range(5_000, 0, -1):
    ...     found.add(Problem(Place("c.jsonl", line), "is blank"))
    >>> kept = found.kept()
    >>> len(kept), kept[0].place.line, kept[-1].place.line, number(kept)
    (1000, 1, 1000, 5000)
    """

    def __init__(self) -> None:
        self._by_file: dict[str, list[tuple[Problem, Kind]]] = {}

    def add(self, problem: Problem) -> None:
        """Add a problem."""
        some = self._by_file.setdefault(problem.place.path, [])
        some.append((problem, kind_of(problem)))
        if len(some) >= 2 * MOST_KEPT:
            some[:] = _first_of(some)

    def __bool__(self) -> bool:
        return bool(self._by_file)

    def kept(self) -> tuple[Problem, ...]:
        """Return the problems that are kept, in the order of their places within a file."""
        return tuple(problem for some in self._by_file.values() for problem, _ in _first_of(some))


def first_of(problems: Iterable[Problem]) -> list[Problem]:
    """Return as many problems as a report keeps, by their places: the first of each kind, then the first others.

    The last one of each kind counts for the rest of it too. If there are more kinds than a report keeps problems, the
    very last one counts for the rest of all.
    """
    return [one for one, _ in _first_of((one, kind_of(one)) for one in problems)]


def _first_of(found: Iterable[tuple[Problem, Kind]]) -> list[tuple[Problem, Kind]]:
    some = sorted(found, key=lambda one: _order(one[0]))
    rest: Counter[Kind] = Counter()
    firsts, others = list[int](), list[int]()
    for place, (one, kind) in enumerate(some):
        (others if kind in rest else firsts).append(place)
        rest[kind] += one.count
    kept = sorted((firsts + others)[:MOST_KEPT])
    last = {some[place][1]: index for index, place in enumerate(kept)}
    counts = [1] * len(kept)
    rest.subtract(some[place][1] for place in kept)
    for kind, more in rest.items():
        counts[last.get(kind, -1)] += more
    return [(replace(some[place][0], count=count), some[place][1]) for place, count in zip(kept, counts, strict=True)]


def kind_of(problem: Problem) -> Kind:
    """Return what problems of one kind share: the file, the field, and the words without quotes and numbers.

    A count, as in "3 fields" or "a list of 3", stays.
    """
    return problem.place.path, _INDEX.sub("[]", problem.field), _QUOTED.sub("", problem.message)


def number(problems: Iterable[Problem]) -> int:
    """Return the number of problems, including those that are only counted."""
    return sum(problem.count for problem in problems)
