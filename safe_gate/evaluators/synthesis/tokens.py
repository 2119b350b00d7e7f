"""From a text to its tokens: lower-case words and the marks between clauses, each with its place. Pure and linear.

Contractions are split (`you'll` is `you will`), chat spellings are spelt out (`u` is `you`), and a
hyphen separates words. A mark of `BOUNDARY` ends a clause; other signs are no tokens.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping, Sequence
from itertools import chain

from safe_gate.core.model import JsonObject
from safe_gate.core.text import Normalised, without_links

BOUNDARY = frozenset(',;:—!?."\n')
"""The tokens that end a clause."""

_RAW = re.compile(
    r"[^\W\d_]+\d?(?:'[^\W\d_]+)*|\d(?:day|nite|moro|morrow)\b|\d+(?:[.,:]\d+)*|\.\.\.|[,;:—!?.\"()\n•%]|(?<!\S)-(?= )"
)
# A contraction whose apostrophe became a blank, as some tools write it: "i m", "don t".
_SPLIT = re.compile(
    r"\b(?:i|we|you|they|he|she|it|that|there|what|who) (?:m|ve|ll|re|s|d)\b"
    r"|\b(?:don|can|won|didn|doesn|isn|wasn|couldn|wouldn|shouldn|haven|hasn|hadn|aren|weren|ain) t\b"
)
_DASH = re.compile(r"(?<!\S)-(?= )")
_STRETCHED = re.compile(r"([a-z])\1{2,}")
_CONTRACTION = {"'ll": "will", "'re": "are", "'ve": "have", "'m": "am", "'d": "would"}
# After these words 's is short for "is" (or "has"); after a noun it may be a possessive.
_BEFORE_IS = frozenset(
    "it he she that this there here what who how where when why everything everyone everybody nobody someone".split()
)
_MARKS = {"...": ".", "-": "—", "•": "—", "(": "—", ")": "—"}
_NUMBERED = re.compile(r"\s*\d{1,3}\.\s*")
_MOST_KEPT, _LONGEST_KEPT = 10_000, 40


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


class Sentence:
    """A sentence of a normalised text: `words` are its tokens, places are worked out when they are asked for."""

    __slots__ = ("_lower", "_spans", "_spelling", "end", "start", "words")

    def __init__(self, lower: str, start: int, end: int, spelling: Spelling) -> None:
        """Read `lower[start:end]`, which is in lower case."""
        self.start, self.end = start, end
        self.words = tuple(chain.from_iterable(map(spelling.__getitem__, _RAW.findall(lower, start, end))))
        self._lower, self._spelling = lower, spelling
        self._spans: Sequence[int] = ()  # of each token where it starts and where it ends

    def span(self, first: int, end: int) -> tuple[int, int]:
        """Return the place of the tokens from `first` to before `end` in the text."""
        if len(self._spans) < 2 * end:
            at = self.start
            spans = array("I")
            for typed in _RAW.findall(self._lower, self.start, self.end):
                # Nothing between tokens looks like one but a hyphen: a token is where it first stands again.
                found = self._lower.index(typed, at) if typed != "-" else _DASH.search(self._lower, at).start()  # type: ignore[union-attr]
                at = found + len(typed)
                spans.extend((found, at) * len(self._spelling[typed]))
            self._spans = spans
        return self._spans[2 * first], self._spans[2 * end - 1]

    def clause_at(self, position: int) -> int:
        """Return the first token of the clause that a place in the text is in."""
        before = sum(self.span(at, at + 1)[0] <= position for at in range(len(self.words)))
        return self.clause(max(before - 1, 0))

    def clause(self, at: int) -> int:
        """Return the first token of the clause that a token is in."""
        while at and self.words[at - 1] not in BOUNDARY:
            at -= 1
        return at


class Spelling(dict[str, tuple[str, ...]]):
    """What is typed, in lower case, as words: `Spelling(data)["don't"]` is `("do", "not")`.

    Holds what was asked for, up to a bound.
    """

    def __init__(self, spelling: Mapping[str, str]) -> None:
        """Take chat spellings and what they stand for."""
        super().__init__()
        self._spelling = {typed: tuple(words.split()) for typed, words in spelling.items()}

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


def sentences(text: Normalised, spelling: Spelling) -> list[Sentence]:
    """Return the sentences of a text, in order. Of an address no word is read; a list's number is part of its item."""
    lower = without_links(lowered(text.text))
    if _SPLIT.search(lower):
        lower = _SPLIT.sub(lambda split: split[0].replace(" ", "'"), lower)
    found: list[Sentence] = []
    for start, end in text.sentences:
        if found and _NUMBERED.fullmatch(lower, found[-1].start, found[-1].end):
            found[-1] = Sentence(lower, found[-1].start, end, spelling)
        else:
            found.append(Sentence(lower, start, end, spelling))
    return found


def content(sentence: Sentence) -> set[str]:
    """Return the content words of a sentence, as stems: what it is about."""
    return {stem(word) for word in sentence.words if is_content(word)}


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
