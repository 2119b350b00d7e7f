"""The words of a text, and how alike two texts are by them. Pure."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, pairwise
from operator import mul
from typing import Any, TypeVar

_MOST, _LONGEST = 30_000, 40

T = TypeVar("T")


class Cache(dict[str, T]):
    """A cache of a function of texts. It skips long texts, and keeps what it has when it is full."""

    def __init__(self, function: Callable[[str], T]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, text: str) -> T:
        found = self._function(text)
        if len(text) <= _LONGEST and len(self) < _MOST:
            self[text] = found
        return found


WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


def words(text: str) -> list[str]:
    """Return the words of a normalised text, lower-cased, an apostrophe inside kept.

    >>> words("I don't know: 2 of us?")
    ['i', "don't", 'know', '2', 'of', 'us']
    """
    return _words(text.split(" "))


def _words(typed: Iterable[str]) -> list[str]:
    return [*chain.from_iterable(map(_WORDS.__getitem__, typed))]


_WORDS = Cache[Sequence[str]](lambda typed: tuple(WORD.findall(typed.lower())))
"""The words of a part between two blanks."""


def similarity(first: str, second: str) -> float:
    """Return the cosine of the two texts' counts of words and word pairs, from 0.0 to 1.0.

    This is a token cosine similarity over unigrams and bigrams. A text without words is similar to nothing.

    >>> similarity("the exam", "the exam"), similarity("the exam", "")
    (1.0, 0.0)
    """
    return likeness(first.split(" "), second.split(" "))


def likeness(first: Iterable[str], second: Iterable[str]) -> float:
    """Return the `similarity` of two texts, given as what stands between their blanks."""
    a, b = _ngram_counts(_words(first)), _ngram_counts(_words(second))
    common = a.keys() & b.keys()
    dot = sum(map(mul, map(a.__getitem__, common), map(b.__getitem__, common)))
    return dot / math.sqrt(_norm(a) * _norm(b)) if dot else 0.0


def _norm(counts: Mapping[Any, int]) -> int:
    return sum(map(mul, counts.values(), counts.values()))


def _ngram_counts(words: Sequence[str]) -> Counter[str | tuple[str, str]]:
    return Counter(chain(words, pairwise(words)))
