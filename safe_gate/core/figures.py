"""Exact sums of scores, and figures as people read them.

Pure. Sums of doubles depend on their order; these do not. So a run that is split and merged
gives the same bytes as one run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from itertools import islice
from typing import Generic, Protocol, Self, TypeVar

from safe_gate.model import record
from safe_gate.model.results import Phrase, Untrusted

_NAMED = 5  # names that a sentence lists of many
_MOST_DIGITS = 12  # decimals: what is equal in so many differs by what doubles lose
_SCALE = 1074  # every finite double is a whole multiple of 2**-1074


@record
class ExactSum:
    """The exact sum of `count` doubles; adding sums is associative and free of order."""

    scaled: int = 0
    count: int = 0

    @classmethod
    def of(cls, *values: float) -> ExactSum:
        """Return the sum of values. Raises ValueError or OverflowError unless they are finite."""
        ratios = [value.as_integer_ratio() for value in values]
        return cls(sum(n << (_SCALE - d.bit_length() + 1) for n, d in ratios), len(values))

    def __add__(self, other: ExactSum) -> ExactSum:
        return ExactSum(self.scaled + other.scaled, self.count + other.count)

    def mean(self) -> float:
        """Return the mean, correctly rounded once; 0.0 of nothing.

        >>> (ExactSum.of(0.1, 0.2) + ExactSum.of(0.3)).mean()
        0.2
        """
        return self.scaled / (self.count << _SCALE) if self.count else 0.0  # Python divides whole numbers exactly


def share(part: int, whole: int) -> float:
    """Return `part / whole` as a fraction from 0.0 to 1.0; 0.0 of nothing."""
    return part / whole if whole else 0.0


def with_interval(value: float, low: float, high: float) -> str:
    """Return a share with the ends of its interval, in percent.

    >>> with_interval(0.5, 0.25, 0.75)
    '50.0% (25.0 to 75.0)'
    """
    return f"{percent(value, 1)} ({fixed(100 * low, 1)} to {fixed(100 * high, 1)})"


def fixed(value: float, digits: int = 2) -> str:
    """Return a figure with a fixed number of decimals, ties away from zero as JavaScript's toFixed.

    >>> fixed(0.625), fixed(2 / 3), format(0.625, ".2f")
    ('0.63', '0.67', '0.62')
    """
    return f"{Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP):f}"


def percent(fraction: float, digits: int = 0) -> str:
    """Return a fraction as a percentage, ties away from zero: 0 % only of none, 100 % only of all.

    >>> percent(0.6), percent(0.4, 1), percent(0.997), percent(1)
    ('60%', '40.0%', '99.7%', '100%')
    """
    return f"{_within(Decimal(fraction).scaleb(2), 100, digits):f}%"


def score(value: float) -> str:
    """Return a score from 0 to 1 with two decimals, or more if it would wrongly read as 0 or 1.

    >>> score(2 / 3), score(1), score(0.996), score(0.9996)
    ('0.67', '1.00', '0.996', '0.9996')
    """
    return f"{_within(Decimal(value), 1, 2):f}"


def _within(value: Decimal, most: int, digits: int) -> Decimal:
    """Return a figure rounded, with more decimals where these tell it from the ends of its range."""
    rounded = value.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    if 0 < rounded < most or value in (0, most):
        return rounded
    finer = (value.quantize(Decimal(1).scaleb(-more), ROUND_HALF_UP) for more in range(digits + 1, _MOST_DIGITS))
    return next((one for one in finer if 0 < one < most), rounded)


def format_distinct(
    value: float, limit: float, show: Callable[[float, int], str] = percent, digits: int = 1
) -> tuple[str, str]:
    """Return both figures with just enough decimals, `digits` at least, that unequal ones differ.

    >>> format_distinct(0.7996, 0.8), format_distinct(0.4, 0.8), format_distinct(0.4452, 0.45, fixed, 2)
    (('79.96%', '80.00%'), ('40.0%', '80.0%'), ('0.445', '0.450'))
    """
    for more in range(digits, _MOST_DIGITS):
        shown = show(value, more), show(limit, more)
        if value == limit or shown[0] != shown[1]:
            break
    return shown


def plural(count: int, noun: str, plural_noun: str = "") -> str:
    """Return a count with its noun.

    >>> plural(1, "case"), plural(2, "case"), plural(0, "pass", "passes")
    ('1 case', '2 cases', '0 passes')
    """
    return f"{count} {noun if count == 1 else plural_noun or noun + 's'}"


def enumerated(words: Sequence[str]) -> str:
    """Return words as a sentence lists them.

    >>> enumerated(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def first_few(names: Iterable[str], count: int, most: int = _NAMED) -> Phrase:
    """Return the first of `count` recorded names, `most` at most, and how many more there are.

    >>> first_few(["a", "b"], 2), first_few("abcdef", 6)[-2:]
    ((Untrusted(text='a'), ', ', Untrusted(text='b'), ''), (Untrusted(text='e'), ' and 1 more'))
    """
    words = [word for name in islice(names, most) for word in (Untrusted(name), ", ")]
    return (*words[:-1], f" and {count - most} more" if count > most else "")


class Addable(Protocol):
    """A value that adds up associatively: `a + b`."""

    def __add__(self, other: Self, /) -> Self: ...


A = TypeVar("A", bound=Addable)


class Sum(Generic[A]):
    """Parts added up, neighbours first, so that large values are added few times.

    Adding one by one would copy a growing total for every part. Holds O(log n) values.
    """

    def __init__(self, empty: A) -> None:
        self._empty = empty
        self._stack: list[tuple[int, A]] = []

    def add(self, part: A) -> None:
        """Add one more part."""
        size, value = 1, part
        while self._stack and self._stack[-1][0] == size:
            value = self._stack.pop()[1] + value
            size *= 2
        self._stack.append((size, value))

    def total(self) -> A:
        """Return the sum of all parts."""
        total = self._empty
        for _, value in reversed(self._stack):
            total = value + total
        return total
