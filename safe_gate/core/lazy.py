"""Sequences and mappings that compute their items when asked, to save memory. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import eq
from typing import Generic, TypeVar, overload

T = TypeVar("T")


HELD = 200
"""So many of a view's items are held, the first ones: as many as tables show."""


class View(Sequence[T], Generic[T]):
    """The items that a function yields. It is called again for items beyond the first, so memory holds few.

    >>> squares = View(lambda: (n * n for n in range(1000)))
    >>> len(squares), squares[2], squares[2:4]
    (1000, 4, (4, 9))
    """

    def __init__(self, items: Callable[[], Iterable[T]]) -> None:
        self._items = items
        self._first: tuple[T, ...] = ()
        self._length: int | None = None

    def __iter__(self) -> Iterator[T]:
        return iter(self._items() if self._length is None or self._length > len(self._first) else self._first)

    def __len__(self) -> int:
        if self._length is None:
            items = iter(self._items())
            self._first = tuple(islice(items, HELD))
            self._length = len(self._first) + sum(1 for _ in items)
        return self._length

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        if isinstance(index, slice):
            wanted = range(*index.indices(len(self)))
            last = max(wanted, default=-1)
            held = islice(self._first if last < len(self._first) else self, min(wanted, default=0), last + 1)
            return tuple(held)[:: wanted.step]
        place = range(len(self))[index]
        return next(islice(self._first if place < len(self._first) else self, place, None))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]


class Lookup(Mapping[str, T], Generic[T]):
    """A mapping that computes the value of a key when asked, and holds only the keys.

    >>> squares = Lookup(["2", "3"], lambda key: int(key) ** 2)
    >>> squares["3"], squares.get("4"), dict(squares)
    (9, None, {'2': 4, '3': 9})
    """

    def __init__(self, keys: Iterable[str], value: Callable[[str], T]) -> None:
        self._keys = dict.fromkeys(keys)
        self._value = value

    def __getitem__(self, key: str) -> T:
        if key not in self._keys:
            raise KeyError(key)
        return self._value(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)
