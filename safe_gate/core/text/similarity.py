"""The words of a text, and how alike two texts are by them. Pure."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain, pairwise
from operator import mul
from typing import Any

from safe_gate.core.text.characters import LONGEST_SEGMENT

_MOST_PARTS = 8_000
_LONGEST_PART, _BLANK = 100_000, re.compile(r"\s")
WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


def words(text: str) -> list[str]:
    """Return the words of a normalised text, lower-cased, an apostrophe inside kept.

    >>> words("I don't know: 2 of us?")
    ['i', "don't", 'know', '2', 'of', 'us']
    """
    return [*chain.from_iterable(map(_WORDS.__getitem__, text.split(" ")))]


class _Words(dict[str, tuple[str, ...]]):
    """The words of what stands between two blanks. Holds what was asked for, up to a bound."""

    def __missing__(self, part: str) -> tuple[str, ...]:
        found = tuple(WORD.findall(part.lower()))
        if len(part) <= LONGEST_SEGMENT:
            if len(self) >= _MOST_PARTS:
                self.clear()
            self[part] = found
        return found


_WORDS = _Words()


def parts(text: str) -> Iterator[str]:
    """Yield a text in parts that end at blanks: a list of all its words takes ten times its room."""
    start = 0
    while len(text) - start > _LONGEST_PART:
        blank = _BLANK.search(text, start + _LONGEST_PART)
        end = blank.start() if blank else len(text)
        yield text[start:end]
        start = end
    yield text[start:]


def similarity(first: str, second: str) -> float:
    """Return the cosine of the two texts' counts of words and word pairs, from 0.0 to 1.0.

    This is a token cosine similarity over unigrams and bigrams. A text without words is similar to nothing.

    >>> similarity("the exam", "the exam"), similarity("the exam", "")
    (1.0, 0.0)
    """
    a, b = _ngram_counts(first), _ngram_counts(second)
    dot = sum(a[ngram] * b[ngram] for ngram in a.keys() & b.keys())
    return dot / math.sqrt(_norm(a) * _norm(b)) if dot else 0.0


def _norm(counts: Mapping[Any, int]) -> int:
    return sum(map(mul, counts.values(), counts.values()))


def _ngram_counts(text: str) -> Counter[str | tuple[str, str]]:
    if len(text) <= _LONGEST_PART:
        tokens = words(text)
        return Counter(chain(tokens, pairwise(tokens)))
    counts: Counter[str | tuple[str, str]] = Counter()
    before: list[str] = []
    for part in parts(text):
        tokens = words(part)
        counts.update(chain(tokens, pairwise(before + tokens)))
        before = tokens[-1:] or before
    return counts
