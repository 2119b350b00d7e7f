"""A text made uniform for matching, with a map back to the text as it was recorded. Pure."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, islice, pairwise

from safe_gate.core.text.patterns import later
from safe_gate.core.text.sentences import quotations, sentences
from safe_gate.core.text.similarity import WORD

_LONGEST_STRETCH = 10_000
_HALF_PAIR = later("[\ud800-\udfff]")
_CONTINUATION = re.compile(rb"[\x80-\xbf]")


@dataclass(frozen=True)
class Normalised:
    """A text made uniform for matching, and the way back to the text as it was recorded.

    `starts[i]` and `ends[i]` are where the i-th character of `text` comes from in `original`.
    `disguised` counts the letters that are ASCII ones in `text` alone.
    """

    original: str
    text: str
    starts: Sequence[int]
    ends: Sequence[int]
    disguised: int = 0

    def span(self, start: int, end: int) -> tuple[int, int]:
        r"""Return the span of `original` behind `text[start:end]`, in code points.

        >>> from safe_gate.core.text.normalising import normalise
        >>> n = normalise("It\u2019s   fine")
        >>> n.text, n.original[slice(*n.span(5, 9))]
        ("It's fine", 'fine')
        """
        if start >= end:
            raise ValueError("an empty span has no place in the original")
        return self.starts[start], self.ends[end - 1]

    @property
    def folded(self) -> str:
        """`text` without regard to case and to blanks around it: copies of a text have the same."""
        return self.text.strip().casefold()

    @cached_property
    def typed(self) -> Sequence[str]:
        """The parts of `text` between blanks."""
        return self.text.split(" ")

    @cached_property
    def sentences(self) -> tuple[tuple[int, int], ...]:
        """The sentences of `text` as spans, in order; one of more than 1,000 characters is cut."""
        return tuple(sentences(self.text)) or ((0, 0),)

    @cached_property
    def quotations(self) -> tuple[tuple[int, int], ...]:
        """The spans of `text` between pairs of double quotes on a line, the quotes included.

        An opening mark begins a new quotation. A closing mark, or one after a digit (6"), begins none. A quotation is
        doubtful if its mark may be either, or if it ends after a digit ("v2"). A doubtful quotation holds no end of a
        sentence, so a stray mark hides little. If at most one word is outside quotations, there are none.
        A reply recorded in quotes, whole or sentence by sentence, is no quotation.
        """
        found = tuple(quotations(self.text)) if '"' in self.text else ()
        if not found:
            return ()
        gaps = pairwise((0, *chain.from_iterable(found), len(self.text)))
        outside = chain.from_iterable(WORD.finditer(self.text, *gap) for gap in islice(gaps, 0, None, 2))
        return found if len([*islice(outside, 2)]) > 1 else ()

    def is_quoted(self, start: int, end: int) -> bool:
        """Return whether a span of `text` lies inside of a quotation."""
        first, last = self._quotes
        if not 0 <= first < start or last < end:
            return False
        index = bisect_right(self.quotations, (start, 0)) - 1
        return index >= 0 and end < self.quotations[index][1]

    @cached_property
    def _quotes(self) -> tuple[int, int]:
        """The places of the first and the last double quote in `text`, -1 without one."""
        return self.text.find('"'), self.text.rfind('"')

    @cached_property
    def encoded(self) -> bytes:
        """`text` in UTF-8, which patterns are matched against."""
        return self.text.encode()

    @cached_property
    def _continuations(self) -> Sequence[int]:
        """The places in `encoded` of all bytes that begin no character."""
        return () if self.text.isascii() else [byte.start() for byte in _CONTINUATION.finditer(self.encoded)]

    @cached_property
    def stretches(self) -> tuple[tuple[int, int], ...]:
        """The spans of `encoded` in which patterns are matched in turn: whole sentences, 10,000 characters.

        Finding all matches of a pattern may take quadratic time in the length of the text ("a.*z|a").
        """
        cuts = [0]
        for start, end in self.sentences:
            if end - cuts[-1] > _LONGEST_STRETCH:
                cuts.append(start)
        sizes = (len(self.text[start:end].encode()) for start, end in pairwise([*cuts, len(self.text)]))
        return tuple(pairwise(accumulate(sizes, initial=0)))

    def decoded(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of `text` that `encoded[start:end]` holds."""
        wide = self._continuations
        return (start - bisect_left(wide, start), end - bisect_left(wide, end)) if wide else (start, end)

    def sentence_at(self, position: int) -> tuple[int, int]:
        """Return the span of the sentence that holds a position of `text`."""
        index = bisect_right(self.sentences, (position, len(self.text) + 1)) - 1
        return self.sentences[max(index, 0)]


def as_typed(text: str) -> Normalised:
    """Return a text as it is, to match against; half a surrogate pair, which no engine takes, is replaced."""
    identity = range(len(text) + 1)
    return Normalised(text, text if text.isascii() else _HALF_PAIR.sub("\ufffd", text), identity[:-1], identity[1:])
