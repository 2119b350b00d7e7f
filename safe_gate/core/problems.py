"""Many problems, gathered in bounded memory and shown in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from safe_gate.core.model import Problem
from safe_gate.core.records import replace


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Return problems by their place, then by case and field."""
    return sorted(problems, key=lambda p: (p.place, p.case_id, p.field, p.message))


MOST_KEPT = 1_000
"""The number of problems that a file, and a report, keeps. The rest are counted."""


class Problems:
    """Problems as they are found, in any order: the first of each file by their places, and how many there are.

    >>> from safe_gate.core.model import Place
    >>> found = Problems()
    >>> for line in range(5_000, 0, -1):
    ...     found.add(Problem(Place("c.jsonl", line), "is blank"))
    >>> kept = found.kept()
    >>> len(kept), kept[0].place.line, kept[-1].place.line, number(kept)
    (1000, 1, 1000, 5000)
    """

    def __init__(self) -> None:
        self._by_file: dict[str, list[Problem]] = {}
        self._more: dict[str, int] = {}

    def add(self, problem: Problem) -> None:
        """Add a problem."""
        some = self._by_file.setdefault(problem.place.path, [])
        some.append(problem)
        if len(some) >= 2 * MOST_KEPT:
            self._cut(problem.place.path)

    def _cut(self, path: str) -> None:
        some = in_order(self._by_file[path])
        self._by_file[path] = some[:MOST_KEPT]
        self._more[path] = self._more.get(path, 0) + number(some[MOST_KEPT:])

    def __bool__(self) -> bool:
        return bool(self._by_file)

    def kept(self) -> tuple[Problem, ...]:
        """Return the problems that are kept, in the order of their places within a file."""
        for path in self._by_file:
            self._cut(path)
        return tuple(problem for path, some in self._by_file.items() for problem in _standing(some, self._more[path]))


def _standing(some: Sequence[Problem], more: int) -> Iterator[Problem]:
    """Yield problems. The last one counts for so many more."""
    yield from some[:-1]
    yield replace(some[-1], count=some[-1].count + more)


def first_of(problems: Iterable[Problem]) -> list[Problem]:
    """Return the first problems by their places, as many as a report keeps. The last one counts for the rest too."""
    ordered = in_order(problems)
    return list(_standing(ordered[:MOST_KEPT], number(ordered[MOST_KEPT:]))) if ordered else []


def number(problems: Iterable[Problem]) -> int:
    """Return the number of problems, including those that are only counted."""
    return sum(problem.count for problem in problems)
