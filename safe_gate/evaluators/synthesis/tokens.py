"""From a text to its tokens: lower-case words and the marks between clauses, each with its place. Pure and linear.

Contractions are split (`you'll` is `you will`), chat spellings are spelt out (`u` is `you`), and a
hyphen separates words. A mark of `BOUNDARY` ends a clause; other signs are no tokens.
What stands between two blanks is read once and kept, so most texts cost little more than `str.split`.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain, pairwise
from typing import NamedTuple

from safe_gate.core.model import JsonObject
from safe_gate.core.text.normalised import Normalised
from safe_gate.core.text.sentences import LONGEST_SENTENCE, may_end_at_emoji, sentence_ends, without_links

BOUNDARY = frozenset(',;:—!?."\n')
"""The tokens that end a clause."""

END = ""
"""What stands behind the last token of each sentence of a reading."""

_RAW = re.compile(
    r"[^\W\d_]+\d?(?:'[^\W\d_]+)*|\d(?:day|nite|moro|morrow)\b|\d+(?:[.,:]\d+)*|\.\.\.|[,;:—!?.\"()\n•%]|(?<!\S)-(?= )"
)
# A contraction whose apostrophe became a blank, as some tools write it: "i m", "don t".
_SPLIT = re.compile(
    r"\b(?:i|we|you|they|he|she|it|that|there|what|who)( )(?:m|ve|ll|re|s|d)\b"
    r"|\b(?:don|can|won|didn|doesn|isn|wasn|couldn|wouldn|shouldn|haven|hasn|hadn|aren|weren|ain)( )t\b"
)
_SPLIT_OFF = frozenset("m ve ll re s d t".split())
_STRETCHED = re.compile(r"([a-z])\1{2,}")
_CONTRACTION = {"'ll": "will", "'re": "are", "'ve": "have", "'m": "am", "'d": "would"}
# After these words 's is short for "is" (or "has"); after a noun it may be a possessive.
_BEFORE_IS = frozenset(
    "it he she that this there here what who how where when why everything everyone everybody nobody someone".split()
)
_MARKS = {"...": ".", "-": "—", "•": "—", "(": "—", ")": "—"}
_NUMBERED, _LONGEST_NUMBER = re.compile(r"\s*\d{1,3}\.\s*"), 3
_MOST_KEPT, _LONGEST_KEPT = 8_000, 40


FUNCTION_WORDS = frozenset(
    "the a an of to in and or but if so as at by for from with on off out up down that this these those it is am are "
    "was were be been being do does did not no 's there then than about over into".split()
)
_STOP = frozenset(
    "the a an of to in and or but if so as at by for from with on off out up down that this these those it is am "
    "are was were be been being do does did not no there than about over into i me my mine we us our you "
    "your yours he she they him her them his their its who what which when where why how will would could can "
    "should may might must shall have has had 's just like get got go going went one some any all more most much "
    "many very really too also only even still now here know think say said want feel see make take come back "
    "because though while after before since until again ever never yes okay right well thing things something "
    "anything nothing way lot bit let myself yourself himself herself themselves such own same other another each "
    "every both few please thanks thank maybe perhaps having doing either neither whether yet around through "
    "between under".split()
)


class _Part(tuple[str, ...]):
    """The tokens of a part of a text. `places` are where each starts and ends in the part, in turn."""

    places: Sequence[int]

    @classmethod
    def of(cls, tokens: Iterable[tuple[str, int, int]]) -> _Part:
        """Return tokens that come with their places."""
        words: list[str] = []
        places = array("I")
        for word, start, end in tokens:
            words.append(word)
            places.extend((start, end))
        part = cls(words)
        part.places = places
        return part

    def without(self, at: int) -> _Part:
        """Return the part less one token."""
        part = _Part((*self[:at], *self[at + 1 :]))
        part.places = [*self.places[: 2 * at], *self.places[2 * at + 2 :]]
        return part


class _Parts(dict[str, _Part]):
    """What is typed between two blanks, as tokens; `after` is the blank, or nothing behind the last one of a text.

    Holds what was asked for, up to a bound.
    """

    def __init__(self, spelling: Spelling, after: str) -> None:
        super().__init__()
        self._spelling, self._after = spelling, after

    def __missing__(self, typed: str) -> _Part:
        ends = [*sentence_ends(typed + self._after)]
        if not self._after and ends[-1:] != [len(typed)]:
            ends.append(len(typed))
        part = _Part.of(_tokens(typed + self._after, ends, self._spelling))
        if len(typed) <= _LONGEST_KEPT:
            if len(self) >= _MOST_KEPT:
                self.clear()
            self[typed] = part
        return part


def _tokens(text: str, ends: Iterable[int], spelling: Spelling) -> Iterator[tuple[str, int, int]]:
    """Yield the tokens of a text with their places, of which no word of an address is one."""
    lower = without_links(lowered(text))
    start = 0
    for end in (*ends, None):
        for found in _RAW.finditer(lower, start, len(lower) if end is None else end):
            for word in spelling[found[0]]:
                yield word, *found.span()
        if end is not None:
            yield END, end, end
            start = end


class Sentence(NamedTuple):
    """A sentence of a reading: its tokens, and the number of the first."""

    words: tuple[str, ...]
    first: int

    def clause(self, at: int) -> int:
        """Return the first token of the clause that a token is in."""
        words = self.words
        while at and words[at - 1] not in BOUNDARY:
            at -= 1
        return at


class Reading:
    """A text as tokens: `words` are those of all its sentences, with `END` behind each."""

    def __init__(self, typed: Sequence[str], parts: Sequence[_Part]) -> None:
        """Take the parts of a text that stand between blanks, as typed and as tokens. The last token is `END`."""
        self._typed, self._parts = typed, parts
        self.words = [*chain.from_iterable(parts)]

    @cached_property
    def sentences(self) -> list[Sentence]:
        """The sentences in order."""
        words, first = self.words, 0
        found: list[Sentence] = []
        for _ in range(words.count(END)):
            end = words.index(END, first)
            found.append(Sentence(tuple(words[first:end]), first))
            first = end + 1
        return found

    @cached_property
    def _starts(self) -> Sequence[int]:
        """Where each part starts in the text."""
        return [*accumulate(map(len, self._typed), lambda before, length: before + length + 1, initial=0)]

    @cached_property
    def _counts(self) -> Sequence[int]:
        """How many tokens stand before each part."""
        return [*accumulate(map(len, self._parts), initial=0)]

    def place(self, at: int) -> tuple[int, int]:
        """Return where a token starts and ends in the text."""
        number = bisect_right(self._counts, at) - 1
        start, inside = self._starts[number], 2 * (at - self._counts[number])
        places = self._parts[number].places
        return start + places[inside], start + places[inside + 1]

    def span(self, sentence: Sentence, first: int, end: int) -> tuple[int, int]:
        """Return where the tokens of a sentence from `first` to before `end` stand in the text."""
        return self.place(sentence.first + first)[0], self.place(sentence.first + end - 1)[1]

    def bounds(self, sentence: Sentence) -> tuple[int, int]:
        """Return where a sentence starts and ends in the text; it starts where the one before ends."""
        start = self.place(sentence.first - 1)[1] if sentence.first else 0
        return start, self.place(sentence.first + len(sentence.words))[1]

    def clause_at(self, position: int) -> tuple[int, int]:
        """Return the number of the sentence that a place in the text is in, and the first token of the clause there."""
        number = bisect_right(self.sentences, position, key=lambda one: self.bounds(one)[0]) - 1
        sentence = self.sentences[number]
        before = sum(self.span(sentence, at, at + 1)[0] <= position for at in range(len(sentence.words)))
        return number, sentence.clause(max(before - 1, 0))

    @property
    def longest(self) -> int:
        """The most characters of a sentence."""
        ends = (self.place(one.first + len(one.words))[1] for one in self.sentences)
        return max(end - start for start, end in pairwise([0, *ends]))

    def without(self, ends: Iterable[int]) -> Reading:
        """Return the reading without some tokens."""
        parts = [*self._parts]
        for at in sorted(ends, reverse=True):
            number = bisect_right(self._counts, at) - 1
            parts[number] = parts[number].without(at - self._counts[number])
        return Reading(self._typed, parts)


class Spelling(dict[str, tuple[str, ...]]):
    """What is typed, in lower case, as words: `Spelling(data)["don't"]` is `("do", "not")`.

    Holds what was asked for, up to a bound. `parts` and `last` are what stands between blanks and at the end of a text.
    """

    def __init__(self, spelling: Mapping[str, str]) -> None:
        """Take chat spellings and what they stand for."""
        super().__init__()
        self._spelling = {typed: tuple(words.split()) for typed, words in spelling.items()}
        self.parts, self.last = _Parts(self, " "), _Parts(self, "")

    @classmethod
    def of(cls, data: JsonObject) -> Spelling:
        """Return the spelling that `lexicon.json` holds."""
        return cls(data["spelling"])

    def __missing__(self, typed: str) -> tuple[str, ...]:
        words = self._words(typed)
        if len(typed) <= _LONGEST_KEPT:
            if len(self) >= _MOST_KEPT:
                self.clear()
            self[typed] = words
        return words

    def _words(self, typed: str) -> tuple[str, ...]:
        if not typed[0].isalpha() and typed not in self._spelling:
            return (_MARKS.get(typed, typed),)
        typed = typed if typed in self._spelling else _STRETCHED.sub(r"\1", typed)
        if typed in self._spelling:
            return self._spelling[typed]
        base, mark, rest = typed.partition("'")
        if not mark:
            return (typed,)
        if typed.endswith("n't"):
            return (typed[:-3], "not")[len(typed) == 3 :]
        if rest == "s":
            return (*self[base], "is" if base in _BEFORE_IS else "'s")
        return (*self[base], _CONTRACTION.get("'" + rest, "'" + rest))


def lowered(text: str) -> str:
    """Return a text in lower case and of the same length."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c if len(c.lower()) > 1 else c.lower() for c in text)


def read(text: Normalised, spelling: Spelling) -> Reading:
    """Return a text as tokens. The number of a list's item stands in one sentence with the item."""
    shown = text.text
    reading = _between_blanks(shown, spelling)
    if not _SPLIT_OFF.isdisjoint(reading.words):
        shown = _joined(shown)
        reading = _between_blanks(shown, spelling)
    if may_end_at_emoji(shown) or (len(shown) > LONGEST_SENTENCE and reading.longest > LONGEST_SENTENCE):
        # Where a sentence ends depends on more than what stands between two blanks.
        ends = [end for _, end in text.sentences]
        reading = Reading([shown], [_Part.of(_tokens(shown, ends, spelling))])
    numbers: list[int] = []
    for one, after in pairwise(reading.sentences):
        end = after.first - 1
        is_short = len(one.words) <= _LONGEST_NUMBER and one.words[-1:] == (".",)
        if is_short and numbers[-1:] != [one.first - 1] and _NUMBERED.fullmatch(text.text, *reading.bounds(one)):
            numbers.append(end)
    return reading.without(numbers) if numbers else reading


def _between_blanks(text: str, spelling: Spelling) -> Reading:
    *typed, last = text.split(" ")
    return Reading([*typed, last], [*map(spelling.parts.__getitem__, typed), spelling.last[last]])


def _joined(text: str) -> str:
    """Return a text of the same length with an apostrophe in place of each blank that stands for one."""
    pieces: list[str] = []
    position = 0
    for found in _SPLIT.finditer(without_links(lowered(text))):
        blank = found.start(found.lastindex or 0)
        pieces += text[position:blank], "'"
        position = blank + 1
    return "".join((*pieces, text[position:]))


class _Stems(dict[str, str]):
    """The stem of each content word, "" of any other word. Holds what was asked for, up to a bound."""

    def __missing__(self, word: str) -> str:
        found = stem(word) if is_content(word) else ""
        if len(word) <= _LONGEST_KEPT:
            if len(self) >= _MOST_KEPT:
                self.clear()
            self[word] = found
        return found


_STEMS = _Stems()


def content(words: Iterable[str]) -> set[str]:
    """Return the content words among some words, as stems: what they are about."""
    found = {*map(_STEMS.__getitem__, words)}
    found.discard("")
    return found


def is_content(word: str) -> bool:
    """Tell a word that says what a sentence is about from one that any sentence may hold."""
    return len(word) > 2 and word[0].isalpha() and word not in _STOP


def stem(word: str) -> str:
    """Return a crude stem: one suffix off, doubled consonant undone, final e or y off."""
    for suffix in ("ings", "ing", "edly", "ied", "ies", "ed", "es", "s", "ly", "er"):
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            word = word[: -len(suffix)]
            break
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word[-1] in "ey" else word
