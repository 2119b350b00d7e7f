"""Whether a text is English, the only language that the packs can read. Pure and linear.

Two questions decide: are most letters Latin, and do the small words that every sentence needs belong to English or to
other languages (`languages.json`)? Names, typos and slang are in no list and do not count. A few words are often too
few to decide.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from safe_gate.model.codec import JsonObject


class Language(StrEnum):
    """The language of a text, as the packs need it."""

    ENGLISH = "english"
    OTHER = "other"
    UNCLEAR = "unclear"


# Latin letters, and signs like letters, beyond U+02FF.
_NOT_FOREIGN = ("\u1d00", "\u1dbf"), ("\u1e00", "\u1eff"), ("\u2100", "\u218f"), ("\uff21", "\uff5a")
_LATIN_LETTER = r"[^\W\d_\u0300-\u1cff\u2c00-\ufeff]"  # slow to compile, and seldom asked for
# Words between blanks, without the marks around them: no links, no tags, no code.
_WORD = re.compile(r"(?<![^\s\u2014])[\"'([\xbf\xa1]*([^\W\d_]+(?:['-][^\W\d_]+)*)[\"')\].,;:!?]*(?![^\s\u2014])")
_INSIDE_WORD = re.compile("['-]")
_BEGIN = re.compile(r"(?:^|\n|\w{3}[.!?]) ?$")  # "Dr." ends no sentence
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
        words = Counter(_words(text))
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
    """Return how many letters of a text are of other scripts than Latin."""
    letters = (c for c in {*text} if c > "\u02ff" and c.isalnum() and not c.isdecimal())
    foreign = {c for c in letters if not any(first <= c <= last for first, last in _NOT_FOREIGN)}
    return sum(n for c, n in Counter(text).items() if c in foreign) if foreign else 0


def _words(text: str) -> Iterator[str]:
    """Yield the words of a text in lower case, without those with a capital inside a sentence: they are names."""
    text = text.lower() if text.isupper() else text
    for found in _WORD.finditer(text):
        first, *rest = [found[1]] if found[1].isalpha() else _INSIDE_WORD.split(found[1])
        if first[0].islower() or first == "I" or _BEGIN.search(text, max(0, found.start() - 5), found.start()):
            yield first.lower()
        yield from (part.lower() for part in rest if part[0].islower())


def is_not_english(fields: Iterable[str], language: Mapping[str, str]) -> bool:
    """Return whether one of some fields is not English."""
    return Language.OTHER in map(language.__getitem__, fields)
