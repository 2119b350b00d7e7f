"""A text with a map back to its original, its words, sentences and quotations, and its language. Pure and linear.

Two questions decide whether a text is English: are most letters Latin, and do the small words that every sentence needs
belong to English or to other languages? Names, typos and slang are in no list and do not count. A few words are often
too few to decide.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import accumulate, chain, islice, pairwise
from operator import mul
from typing import Any, NamedTuple, TypeVar

from safe_gate.model.codec import JsonObject

_MOST, _LONGEST = 30_000, 40

K = TypeVar("K", bound=Sized)
T = TypeVar("T")


class Cache(dict[K, T]):
    """A cache of a function of texts or of tokens. It skips long ones, and keeps what it has when it is full."""

    def __init__(self, function: Callable[[K], T], most: int = _MOST) -> None:
        super().__init__()
        self._function, self._most = function, most

    def __missing__(self, key: K) -> T:
        found = self._function(key)
        if len(key) <= _LONGEST and len(self) < self._most:
            self[key] = found
        return found


WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


def words(text: str) -> list[str]:
    """Return the words of a normalised text, lower-cased, an apostrophe inside kept.

    >>> words("I don't know: 2 of us?")
    ['i', "don't", 'know', '2', 'of', 'us']
    """
    return [*chain.from_iterable(map(_WORDS.__getitem__, text.split(" ")))]


_WORDS = Cache[str, Sequence[str]](lambda typed: tuple(WORD.findall(typed.lower())))
"""The words of a part between two blanks."""


def similarity(first: str, second: str) -> float:
    """Return the cosine of the two texts' counts of words and word pairs, from 0.0 to 1.0.

    This is a token cosine similarity over unigrams and bigrams. A text without words is similar to nothing.

    >>> similarity("the exam", "the exam"), similarity("the exam", "")
    (1.0, 0.0)
    """
    a, b = (Counter[Any](chain(some, pairwise(some))) for some in (words(first), words(second)))
    common = a.keys() & b.keys()
    dot = sum(map(mul, map(a.__getitem__, common), map(b.__getitem__, common)))
    squares = (sum(map(mul, counts.values(), counts.values())) for counts in (a, b))
    return dot / math.sqrt(math.prod(squares)) if dot else 0.0


LONGEST_SENTENCE = 1_000
"""Rules look around a match within its sentence; a bound keeps that linear on text without full stops."""

# An address ends before what ends the sentence it is in.
_LINK = re.compile(r"(?:https?://|\bwww\.)[^\s\u2014\"<>]*[^\s\u2014\"<>?!.,;:)\]}']", re.IGNORECASE)
# A note may stand behind a stop, and a blank be forgotten; an emoji, :) or a kiss may stand for a stop.
# The look-behinds and the possessive quantifiers keep it linear on a megabyte of dots.
_EMOJI = "[\u2600-\u27bf\U0001f300-\U0001faff]"
_TYPED_EMOJI = "(?:x{1,3}|lol|haha|<3|[:;]-?[()DP])"
_NOTE = r"(?:[\[(<\u3010][^\[\]()<>\s\u3010\u3011]{1,40}[\])>\u3011]|[\u00b9\u00b2\u00b3\u2070-\u2079])"
_STOPPED = (
    rf"(?<![.!?])[.!?]++[\"')\]]*+(?:{_NOTE}*+(?=\s|$)|{_NOTE}++(?=[A-Z\"'(])|(?<=[a-z]{{2}}[.!?])(?=[A-Z][a-z']*+\s)"
    r"|(?:(?<=[!?])|(?<=[a-z]{2}\.))\d{1,3}(?=\s|$)|(?=[\[(<\u3010]))|\n"
)
_SENTENCE_END, _RARE_STOP = re.compile(_STOPPED), re.compile(f"\u3002|{_EMOJI}")
_MAY_BE_TYPED = re.compile(rf"\s{_TYPED_EMOJI}\s+[A-Z]")
_ANY_SENTENCE_END = re.compile(
    rf"{_STOPPED}|\u3002|(?:(?<!{_EMOJI}){_EMOJI}++|(?<!\S)(?<!\d ){_TYPED_EMOJI})(?=\s+[A-Z])"
)
_LINE = re.compile(r"[^\n]+")
# Double quotes, those that can only begin, those that begin nothing (6", `word" `), what no doubtful quotation holds.
_QUOTE = re.compile('"')
_BEGINNING = re.compile(r'(?:(?<=[\s(\[{\u2014])|(?<![\s\S]))"(?=\S)')
_NO_BEGINNING = re.compile(r'(?<=\d)"|(?<=[^\s(\[{\u2014:,=-])"(?=\s|$|[.,;:!?)\]}])')
STOP = re.compile(r"[.!?][\"')\]]*\s+[^\W\d]")
_ABBREVIATION = re.compile(r"(?:^|[\s(\"'])(?:mr|mrs|ms|dr|prof|st|vs|etc|e\.g|i\.e|a\.m|p\.m|no)\.$", re.IGNORECASE)


def without_links(text: str) -> str:
    """Return a text of the same length with blanks in place of addresses: addresses are not the writer's words.

    >>> without_links("See https://a.org/?b=c, now?")
    'See                   , now?'
    """
    return _LINK.sub(lambda link: " " * len(link[0]), text) if _may_hold_links(text) else text


def _may_hold_links(text: str) -> bool:
    return "://" in text or "w." in text or "W." in text


def sentence_ends(text: str) -> Iterator[int]:
    """Yield where sentences of a normalised text end, whatever their length. The last one may end with the text."""
    start = 0
    if _may_hold_links(text):
        text = _LINK.sub(lambda link: "_" * len(link[0]), text)  # no sentence ends within an address
    ends = _ANY_SENTENCE_END if may_end_at_emoji(text) else _SENTENCE_END
    for end in ends.finditer(text):
        if end[0] == "." and _ABBREVIATION.search(text, max(start, end.end() - 8), end.end()):
            continue
        if not text[start : end.end()].isspace():
            start = end.end()
            yield start


def may_end_at_emoji(text: str) -> bool:
    """Return whether a text may hold an emoji, which may end a sentence by what stands behind the next blank."""
    return bool(_MAY_BE_TYPED.search(text) or (not text.isascii() and _RARE_STOP.search(text)))


def quotations(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans between pairs of double quotes, as `Normalised.quotations` says."""
    bounds = len(text) - len(text.lstrip()), len(text.rstrip())
    stops = [stop.start() for stop in STOP.finditer(text)]
    for line in _LINE.finditer(text):
        opening, is_sure = -1, False
        for mark in _QUOTE.finditer(text, line.start(), line.end()):
            at, is_number = mark.start(), text[mark.start() - 1 : mark.start()].isdigit()
            if _BEGINNING.match(text, at):  # the earlier quotation never ended
                opening, is_sure = at, True
            elif opening < 0:
                opening, is_sure = -1 if _NO_BEGINNING.match(text, at) else at, False
            elif (is_sure and not is_number) or bisect_left(stops, opening) == bisect_left(stops, at):
                if (opening, at + 1) != bounds:
                    yield opening, at + 1
                opening = -1
            elif not is_number:
                opening = -1


_LONGEST_STRETCH = 10_000
_HALF_PAIR = re.compile("[\ud800-\udfff]")
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

        >>> from safe_gate.core.text import normalise
        >>> n = normalise("It\u2019s   fine")
        >>> n.text, n.original[slice(*n.span(5, 9))]
        ("It's fine", 'fine')
        """
        if start >= end:
            raise ValueError("an empty span has no place in the original")
        return self.starts[start], self.ends[end - 1]

    def recorded(self, start: int, end: int) -> str:
        """Return `text[start:end]` as it was recorded. Raises ValueError as `span` does."""
        return self.original[slice(*self.span(start, end))]

    @property
    def stripped(self) -> Normalised:
        """The same without blanks around `text`, which no page shows."""
        start, end = len(self.text) - len(self.text.lstrip()), len(self.text.rstrip())
        if end - start == len(self.text):
            return self
        return replace(self, text=self.text[start:end], starts=self.starts[start:end], ends=self.ends[start:end])

    @property
    def folded(self) -> str:
        """`text` without regard to case and to blanks around it: copies of a text have the same."""
        return self.text.strip().casefold()

    @cached_property
    def sentences(self) -> tuple[tuple[int, int], ...]:
        """The sentences of `text` as spans, in order; one of more than 1,000 characters is cut."""
        found = pairwise([0, *sentence_ends(self.text), len(self.text)])
        cuts = ((cut, end) for start, end in found for cut in range(start, end, LONGEST_SENTENCE))
        return tuple((cut, min(cut + LONGEST_SENTENCE, end)) for cut, end in cuts) or ((0, 0),)

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
        index = bisect_right(self.quotations, (start, 0)) - 1
        return index >= 0 and end < self.quotations[index][1]

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


class Language(StrEnum):
    """The language of a text, as the packs need it."""

    ENGLISH = "english"
    OTHER = "other"
    UNCLEAR = "unclear"


# Latin letters, and signs like letters, beyond U+02FF.
_NOT_FOREIGN = ("\u1d00", "\u1dbf"), ("\u1e00", "\u1eff"), ("\u2100", "\u218f"), ("\uff21", "\uff5a")
_LATIN_LETTER = r"[^\W\d_\u0300-\u1cff\u2c00-\ufeff]"  # slow to compile, and seldom asked for
# Words between blanks, without the marks around them: no links, no tags, no code.
_PLAIN_WORD = re.compile(r"(?<![^\s\u2014])[\"'([\xbf\xa1]*([^\W\d_]+(?:['-][^\W\d_]+)*)[\"')\].,;:!?]*(?![^\s\u2014])")
_WORD_PARTS = re.compile("['-]")
_SENTENCE_BEGIN = re.compile(r"(?:^|\n|\w{3}[.!?]) ?$")  # "Dr." ends no sentence
# So many small English words decide, unless they are a small share, or other languages have half as many.
_ENOUGH_SMALL_WORDS = 3
_FEWEST_WORDS = 8  # fewer different ones, without a small word of any language, may be a list or a cry
_LEAST_SHARE = 0.15  # the least share of words known as English


class Languages(NamedTuple):
    """Small words of English and of other languages, loans in English, and more words of English.

    A word of English that is one of another language too ("no", "me") is `shared`, and in no other list.
    """

    english: frozenset[str]
    other: frozenset[str]
    loans: frozenset[str]
    vocabulary: frozenset[str]
    shared: frozenset[str]

    @classmethod
    def of(cls, data: JsonObject, vocabulary: frozenset[str]) -> Languages:
        """Return what `languages.json` knows; `vocabulary` are words of English besides."""
        english, loans, shared = (frozenset(data[name].split()) for name in ("english", "loans", "shared"))
        other = frozenset(" ".join(data["other"].values()).split())
        return cls(english - shared, other, loans, vocabulary - english - shared, shared)

    def language(self, text: str) -> Language:
        """Return the language of a normalised text."""
        if not text.isascii():
            foreign = _foreign_letters(text)
            if foreign > 1 and foreign > len(re.findall(_LATIN_LETTER, text)):
                return Language.OTHER
        at_a_glance = {*text.lower().split()}
        least = max(_ENOUGH_SMALL_WORDS, _LEAST_SHARE * len(at_a_glance), 2 * len(self.other & at_a_glance))
        if len(self.english & at_a_glance) >= least:
            return Language.ENGLISH
        words = Counter(_words_without_names(text))
        total = words.total()
        english, more, shared = (
            sum(words[word] for word in words.keys() & known) for known in (self.english, self.vocabulary, self.shared)
        )
        other = sum(
            times for word, times in words.items() if word in self.other or not (word.isascii() or word in self.loans)
        )
        if other > english and (other > 1 or (not (english or more) and total > 1)):
            return Language.OTHER
        # Single letters and repeated words, as in a table of sizes, do not suggest another language.
        is_long = sum(len(word) > 1 for word in words) >= _FEWEST_WORDS
        if is_long and english + more + shared < _LEAST_SHARE * total:
            return Language.OTHER
        return Language.ENGLISH if english else Language.UNCLEAR


def _foreign_letters(text: str) -> int:
    """Return how many letters of a text are of other scripts than Latin; twice as many for those of syllables."""
    letters = (c for c in {*text} if c > "\u02ff" and c.isalnum() and not c.isdecimal())
    foreign = {c for c in letters if not any(first <= c <= last for first, last in _NOT_FOREIGN)}
    return sum(n * (1 + (c > "\u2e7f")) for c, n in Counter(text).items() if c in foreign) if foreign else 0


def _words_without_names(text: str) -> Iterator[str]:
    """Yield the words of a text in lower case, without those with a capital inside a sentence: they are names."""
    text = text.lower() if text.isupper() else text
    for found in _PLAIN_WORD.finditer(text):
        first, *rest = [found[1]] if found[1].isalpha() else _WORD_PARTS.split(found[1])
        if first[0].islower() or first == "I" or _SENTENCE_BEGIN.search(text, max(0, found.start() - 5), found.start()):
            yield first.lower()
        yield from (part.lower() for part in rest if part[0].islower())


def is_not_english(fields: Iterable[str], language: Mapping[str, str]) -> bool:
    """Return whether one of some fields is not English."""
    return Language.OTHER in map(language.__getitem__, fields)
