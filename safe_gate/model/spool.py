"""Shell: lists of many items, pickled. Touches the temporary folder."""

from __future__ import annotations

import pickle
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from operator import eq
from tempfile import SpooledTemporaryFile
from typing import Any, Generic, NamedTuple, TypeVar, overload
from weakref import finalize

from safe_gate.model.problems import CannotJudge, Code, Place, Problem

T = TypeVar("T")

_IN_MEMORY = 4 << 20
"""Bytes of pickled items that are held in memory."""

_AT_ONCE = 200
"""So many items are pickled, and read again, together."""

_INSTEAD = "or name another folder with the variable TMPDIR"


class Batch(NamedTuple):
    """Items, pickled: they can go from one process to another, and into a spool, as they are."""

    size: int
    data: bytes

    @classmethod
    def of(cls, items: Sequence[Any]) -> Batch:
        """Return items as a batch."""
        return cls(len(items), pickle.dumps(items, pickle.HIGHEST_PROTOCOL))


class Spool(Sequence[T], Generic[T]):
    """Items in the order they were added, which can be pickled. Raises CannotJudge when there is no room for more.

    >>> squares = Spool(n * n for n in range(1000))
    >>> len(squares), squares[2], squares[2:4]
    (1000, 4, (4, 9))
    """

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._length = 0
        self._file = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - it is closed with the spool
        finalize(self, _close, self._file)
        self._firsts: list[int] = []  # of each batch, the index of its first item
        self._places: list[int] = []  # and where it begins
        self._last: tuple[int, Sequence[T]] = -1, ()  # the batch that was read last
        stream = iter(items)
        while some := list(islice(stream, _AT_ONCE)):
            self.add(Batch.of(some))

    def add(self, batch: Batch) -> None:
        """Add the items of a batch."""
        if not batch.size:
            return
        try:
            place = self._file.seek(0, 2)
            self._file.write(batch.data)
            self._file.flush()  # a full disk must fail here, not when reading
        except OSError as error:
            words = f"is full: {error.strerror or error}; free some space in it, {_INSTEAD}"
            raise CannotJudge(Problem(Place("the temporary folder"), words, code=Code.UNAVAILABLE)) from None
        self._firsts.append(self._length)
        self._places.append(place)
        self._length += batch.size

    def _batch(self, number: int) -> Sequence[T]:
        if self._last[0] != number:
            self._file.seek(self._places[number])
            self._last = number, pickle.load(self._file)  # noqa: S301 - only a process of ours can have written it
        return self._last[1]

    def __iter__(self) -> Iterator[T]:
        for number in range(len(self._places)):
            yield from self._batch(number)

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        if isinstance(index, slice):
            return tuple(self[one] for one in range(*index.indices(len(self))))
        place = range(len(self))[index]
        number = bisect_right(self._firsts, place) - 1
        return self._batch(number)[place - self._firsts[number]]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]


def _close(file: SpooledTemporaryFile[bytes]) -> None:
    with suppress(OSError):  # writers flush, so they already reported this error
        file.close()
