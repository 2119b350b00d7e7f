"""Text as the checks see it: normalised with a map back to the original, sentences, similarity.

Pure functions over `str`; positions are code points. Nothing here depends on a locale.
"""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

_STAND_IN = re.compile("sha256:[0-9a-f]{12}")

_REPLACEMENTS = (
    dict.fromkeys(map(ord, "‘’‚‛ʼ＇´`′ʹˈ"), "'")  # noqa: RUF001 - the point is that they look alike
    | dict.fromkeys(map(ord, "“”„‟«»″＂"), '"')  # noqa: RUF001
    | dict.fromkeys(map(ord, "‐‑⁃﹣－"), "-")  # noqa: RUF001
    | dict.fromkeys(map(ord, "–—―‒"), "—")  # noqa: RUF001
    | {ord("…"): "..."}
    | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")  # half a surrogate pair: no engine takes it
    | {code + 0xFEE0: chr(code) for code in range(0x21, 0x7F) if chr(code) not in "'\"-"}
)
_INVISIBLE = frozenset("\u00ad\u034f\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u2060\ufeff")
_LINE_BREAKS = frozenset("\n\r\x0b\x0c\x85\u2028\u2029")
# Printable ASCII without anything that normalising would change: by far the most common text.
_PLAIN = re.compile(r"(?:[!-)+-^a-z{-~]|[ \n](?![ \n]))*")
# Canonical ordering is quadratic in a run of combining marks; UAX #15 (stream-safe text) allows 30.
_LONGEST_SEGMENT = 32
# Rules look around a match within its sentence; a bound keeps that linear on text without full stops.
_LONGEST_SENTENCE = 1_000

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
# The look-behind and the possessive quantifiers keep it linear on a megabyte of dots.
_SENTENCE_END = re.compile(r"(?<![.!?])[.!?]++[\"')\]]*+(?=\s|$)|\n")
_ABBREVIATION = re.compile(r"(?:^|[\s(\"'])(?:mr|mrs|ms|dr|prof|st|vs|etc|e\.g|i\.e|a\.m|p\.m|no)\.$", re.IGNORECASE)


@dataclass(frozen=True)
class Normalised:
    """A text made uniform for matching, and the way back to the text as it was recorded.

    `starts[i]` and `ends[i]` are where the i-th character of `text` comes from in `original`.
    """

    original: str
    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        r"""Return the span of `original` behind `text[start:end]`, in code points.

        >>> n = normalise("It\u2019s   fine")
        >>> n.text, n.original[slice(*n.span(5, 9))]
        ("It's fine", 'fine')
        """
        if start >= end:
            raise ValueError("an empty span has no place in the original")
        return self.starts[start], self.ends[end - 1]

    @cached_property
    def sentences(self) -> tuple[tuple[int, int], ...]:
        """The sentences of `text` as spans, in order; one of more than 1,000 characters is cut."""
        return tuple(_sentences(self.text)) or ((0, 0),)

    def sentence_at(self, position: int) -> tuple[int, int]:
        """Return the span of the sentence that holds a position of `text`."""
        index = bisect_right(self.sentences, (position, len(self.text) + 1)) - 1
        return self.sentences[max(index, 0)]


def normalise(text: str) -> Normalised:
    """Return `text` with look-alike characters made one, and a map back to every code point.

    Curly and full-width quotes become straight, long dashes `—`, `…` three dots; runs of white
    space one blank (one newline if they hold a line break); invisible characters and Markdown's
    `*` and `_` emphasis vanish; the rest is composed (NFC, UAX #15).
    """
    if _PLAIN.fullmatch(text):
        identity = range(len(text) + 1)
        return Normalised(text, text, identity[:-1], identity[1:])
    out: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    before = ""  # the visible characters of the segment before
    for start, end in _segments(text):
        visible = "".join(c for c in text[start:end] if c not in _INVISIBLE)
        if visible.isspace():
            pieces = " " if _LINE_BREAKS.isdisjoint(visible) else "\n"
            if out and out[-1] in " \n":
                out[-1] = max(out[-1], pieces, key=" \n".index)
                ends[-1] = end
                continue
        elif visible in ("*", "_") and _is_emphasis(visible, before, text[end : end + 1]):
            continue
        else:
            pieces = unicodedata.normalize("NFC", visible).translate(_REPLACEMENTS)
        before = visible or before
        for piece in pieces:
            out.append(piece)
            starts.append(start)
            ends.append(end)
    return Normalised(text, "".join(out), starts, ends)


def words(text: str) -> list[str]:
    """Return the words of a normalised text, lower-cased, an apostrophe inside kept.

    >>> words("I don't know: 2 of us?")
    ['i', "don't", 'know', '2', 'of', 'us']
    """
    return _WORD.findall(text.lower())


def similarity(first: str, second: str) -> float:
    """Return the cosine of the two texts' counts of words and word pairs, from 0.0 to 1.0.

    This is the token cosine similarity of the Synthesis spec, over unigrams and bigrams. A text
    without words is similar to nothing.

    >>> similarity("the exam", "the exam"), similarity("the exam", "")
    (1.0, 0.0)
    """
    a, b = _ngram_counts(first), _ngram_counts(second)
    if len(a) > len(b):
        a, b = b, a
    dot = sum(count * b[ngram] for ngram, count in a.items() if ngram in b)
    if not dot:
        return 0.0
    norms = sum(n * n for n in a.values()) * sum(n * n for n in b.values())
    return dot / math.sqrt(norms)


def _ngram_counts(text: str) -> Counter[str | tuple[str, str]]:
    tokens = words(text)
    counts: Counter[str | tuple[str, str]] = Counter(tokens)
    counts.update(pairwise(tokens))
    return counts


def _segments(text: str) -> Iterator[tuple[int, int]]:
    """Yield spans that normalise on their own: a character and what composes with it."""
    start = 0
    for index in range(1, len(text)):
        if index - start >= _LONGEST_SEGMENT or not _joins_previous(text[index]):
            yield start, index
            start = index
    if text:
        yield start, len(text)


def _joins_previous(char: str) -> bool:
    if char < "\u00ad":
        return False
    # Marks, invisible characters and Hangul vowels and finals: all else starts a segment of its own.
    return char in _INVISIBLE or "\u1160" <= char <= "\u11ff" or unicodedata.category(char)[0] == "M"


def _is_emphasis(sign: str, before: str, after: str) -> bool:
    """Tell `*` and `_` that mark words up from bullets, arithmetic and names with underscores."""
    if sign == "_":
        return not (before.isalnum() and after.isalnum())
    return bool((before and not before.isspace()) or (after and not after.isspace()))


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for end in _SENTENCE_END.finditer(text):
        if end[0] == "." and _ABBREVIATION.search(text, max(start, end.end() - 8), end.end()):
            continue
        if not text[start : end.end()].isspace():
            yield from _bounded(start, end.end())
            start = end.end()
    yield from _bounded(start, len(text))


def _bounded(start: int, end: int) -> Iterator[tuple[int, int]]:
    for cut in range(start, end, _LONGEST_SENTENCE):
        yield cut, min(cut + _LONGEST_SENTENCE, end)


def stand_in(text: str) -> str:
    """Return what is shown of a text that is withheld: the start of the SHA-256 of its UTF-8.

    It tells equal texts from unequal ones; whoever can guess a short text can find it again.

    >>> stand_in("policy")
    'sha256:823412d1eacb'
    """
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def is_stand_in(text: str) -> bool:
    """Tell whether a text is a stand-in, or looks like one."""
    return _STAND_IN.fullmatch(text) is not None
