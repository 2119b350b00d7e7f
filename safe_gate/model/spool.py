"""Shell: a list that keeps its items in a temporary file once they are many. Touches the temporary folder."""

from __future__ import annotations

import pickle
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from operator import eq
from tempfile import TemporaryFile
from typing import IO, Generic, TypeVar, overload
from weakref import finalize

from safe_gate.model.problems import CannotJudge, Code, Place, Problem

T = TypeVar("T")

_IN_MEMORY = 4 << 20
"""Bytes, as pickled, of the items that are held in memory: they take a few times as much there."""

_AT_ONCE = 200
"""So many items are written, and read again, together."""


_INSTEAD = "or name another folder with the variable TMPDIR"


class Spool(Sequence[T], Generic[T]):
    """Items in the order they were added, which can be pickled. Raises CannotJudge when there is no room for more.

    >>> squares = Spool(n * n for n in range(1000))
    >>> len(squares), squares[2], squares[2:4]
    (1000, 4, (4, 9))
    """

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._held: list[T] = []
        self._size = self._length = 0
        self._file: IO[bytes] | None = None
        self._firsts: list[int] = []  # of each batch in the file, the index of its first item
        self._places: list[int] = []  # and where it begins
        self._last: tuple[int, list[T]] = -1, []  # the batch that was read last
        self.extend(items)

    def extend(self, items: Iterable[T]) -> None:
        """Add items."""
        stream = iter(items)
        while some := list(islice(stream, _AT_ONCE)):
            data = pickle.dumps(some, pickle.HIGHEST_PROTOCOL)
            if self._file is None and self._size + len(data) <= _IN_MEMORY:
                self._held += some
            else:
                self._write(data)
            self._size += len(data)
            self._length += len(some)

    def _write(self, data: bytes) -> None:
        try:
            if self._file is None:
                self._file = TemporaryFile()  # noqa: SIM115 - it is closed with the spool
                finalize(self, _close, self._file)
            place = self._file.seek(0, 2)
            self._file.write(data)
            self._file.flush()  # a full disk must fail here, not when reading
        except OSError as error:
            words = f"is full: {error.strerror or error}; free some space in it, {_INSTEAD}"
            raise CannotJudge(Problem(Place("the temporary folder"), words, code=Code.UNAVAILABLE)) from None
        self._firsts.append(self._length)
        self._places.append(place)

    def _batch(self, number: int) -> list[T]:
        if self._last[0] != number and self._file:
            self._file.seek(self._places[number])
            self._last = number, pickle.load(self._file)  # noqa: S301 - this process wrote it, and nobody else can
        return self._last[1]

    def __iter__(self) -> Iterator[T]:
        yield from self._held
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
        if place < len(self._held):
            return self._held[place]
        number = bisect_right(self._firsts, place) - 1
        return self._batch(number)[place - self._firsts[number]]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]


def _close(file: IO[bytes]) -> None:
    with suppress(OSError):  # writers flush, so they already reported this error
        file.close()
