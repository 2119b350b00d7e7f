"""A text as tokens: its sentences and words with their places. Pure and linear.

Contractions are split (`you'll` is `you will`), chat spellings are spelt out (`u` is `you`), and a hyphen separates
words. A mark of `BOUNDARY` ends a clause; other signs are no tokens. The stems of the content words say what a sentence
is about. Each part between blanks is read once and kept, so most texts cost little more than `str.split`.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import accumulate, chain, compress, pairwise

from safe_gate.core.text import stem
from safe_gate.core.text.mapped_text import (
    LONGEST_SENTENCE,
    Cache,
    Normalised,
    may_end_at_emoji,
    sentence_ends,
    without_links,
)

BOUNDARY = frozenset(',;:—!?."\n')
"""The tokens that end a clause."""

END = ""
"""What stands behind the last token of each sentence of a reading."""

_RAW = re.compile(
    r"[^\W\d_]+\d?(?:'[^\W\d_]+)*|\d(?:day|nite|moro|morrow)\b|\d+(?:[.,:]\d+)*|\.\.\.|[,;:—!?.\"()\n•%]|(?<!\S)-(?= )"
)
# A contraction with a blank for its apostrophe, as some tools write it: "i m", "don t". "hell be" is "h'll be".
_SPLIT = re.compile(
    r"\b(?:i|we|you|they|he|she|it|that|there|what|who)( )(?:m|ve|ll|re|s|d)\b"
    r"|\b(?:don|can|won|didn|doesn|isn|wasn|couldn|wouldn|shouldn|haven|hasn|hadn|aren|weren|ain)( )t\b"
    r"|\b(?:h|sh)(e)ll (?=(?:be|come|get|have|never|always|see|call|love|find|make|pull|forgive|realise|realize|regret|"
    r"understand|miss|thank|go|want|say|text|ring|know|grow|pass|leave)\b)"
)
_SPLIT_OFF = frozenset("m ve ll re s d t hell shell".split())
_STRETCHED = re.compile(r"([a-z])\1{2,}")
_CONTRACTION = {"'ll": "will", "'re": "are", "'ve": "have", "'m": "am", "'d": "would"}
# After these words 's is short for "is" (or "has"); after a noun it may be a possessive.
_BEFORE_IS = frozenset(
    "it he she that this there here what who how where when why everything everyone everybody nobody someone".split()
)
_BEHIND_WORD = frozenset(".,?!;:")
_MARKS = {"...": ".", "-": "—", "•": "—", "(": "—", ")": "—"}
_NUMBERED, _LONGEST_NUMBER = re.compile(r"\s*\d{1,3}\.\s*"), 3


class _Parts(Cache[str, tuple[str, ...]]):
    """The tokens of parts between blanks, kept; `after` is the blank after a part, "" at the end of a text.

    `places` gives the start and end of each token in a part, in turn. Only parts with hits need them.
    """

    def __init__(self, spelling: Spelling, after: str) -> None:
        super().__init__(self._words)
        self._spelling, self._after = spelling, after
        self.places = Cache[str, Sequence[int]](lambda typed: tuple(_places(self._tokens(typed))))

    def _words(self, typed: str) -> tuple[str, ...]:
        return tuple([word for word, _, _ in self._tokens(typed)])

    def _tokens(self, typed: str) -> Iterable[tuple[str, int, int]]:
        word = typed[:-1] if typed[-1:] in _BEHIND_WORD else typed
        if self._after and word.isascii() and word.isalpha():  # as most new parts are: this is fast
            size = len(word)
            tokens = [(one, 0, size) for one in self._spelling[word.lower()]]
            if word != typed:
                tokens.append((typed[size], size, size + 1))
                tokens += [(END, end, end) for end in sentence_ends(typed + self._after)]
            return tokens
        ends = [*sentence_ends(typed + self._after)]
        if not self._after and ends[-1:] != [len(typed)]:
            ends.append(len(typed))
        return _tokens(typed + self._after, ends, self._spelling)


def _places(tokens: Iterable[tuple[str, int, int]]) -> Sequence[int]:
    return array("I", chain.from_iterable((start, end) for _, start, end in tokens))


def _tokens(text: str, ends: Iterable[int], spelling: Spelling) -> Iterator[tuple[str, int, int]]:
    """Yield the tokens of a text with their places, without the words of addresses."""
    lower = without_links(lower_same_length(text))
    start = 0
    for end in (*ends, None):
        for found in _RAW.finditer(lower, start, len(lower) if end is None else end):
            for word in spelling[found[0]]:
                yield word, *found.span()
        if end is not None:
            yield END, end, end
            start = end


def clause_start(words: Sequence[str], at: int) -> int:
    """Return the first token of the clause that a token of a sentence is in."""
    while at and words[at - 1] not in BOUNDARY:
        at -= 1
    return at


def clause_end(words: Sequence[str], at: int) -> int:
    """Return the end of the clause that a token of a sentence is in, its mark left out."""
    while at < len(words) and words[at] not in BOUNDARY:
        at += 1
    return at


class Reading:
    """A text as tokens: `words` are those of all its sentences, with `END` behind each; `ends` is where these are."""

    def __init__(
        self,
        typed: Sequence[str],
        parts: Sequence[tuple[str, ...]],
        places: Callable[[int], Sequence[int]],
        gone: Sequence[int] = (),
    ) -> None:
        """Take the parts of a text between blanks, as typed and as tokens; the last token is `END`.

        `places` returns the starts and ends of the tokens in a part, by its number. Tokens in `gone` are left
        out.
        """
        self._typed, self._parts, self._places = typed, parts, places
        self._gone = [at - before for before, at in enumerate(gone)]
        words = (*chain.from_iterable(parts),)
        if gone:
            are_gone = {*gone}
            words = tuple(word for at, word in enumerate(words) if at not in are_gone)
        self.words = words
        self.ends: list[int] = []
        end = -1
        for _ in range(words.count(END)):
            end = words.index(END, end + 1)
            self.ends.append(end)

    @cached_property
    def _starts(self) -> Sequence[int]:
        """The first token of each sentence."""
        return [0, *(end + 1 for end in self.ends[:-1])]

    @cached_property
    def sentences(self) -> Sequence[tuple[str, ...]]:
        """The tokens of each sentence, in order."""
        return [self.words[start:end] for start, end in zip(self._starts, self.ends, strict=True)]

    @cached_property
    def _counted(self) -> tuple[Sequence[int], Sequence[int]]:
        """How many tokens stand before each part, and how many characters besides blanks."""
        return [*accumulate(map(len, self._parts), initial=0)], [*accumulate(map(len, self._typed), initial=0)]

    def _place(self, at: int, side: int) -> int:
        """Return where a token starts, or on the other `side` ends, in the text."""
        counts, lengths = self._counted
        if self._gone:
            at += bisect_right(self._gone, at)
        number = bisect_right(counts, at) - 1
        return lengths[number] + number + self._places(number)[2 * (at - counts[number]) + side]

    def span(self, number: int, first: int, end: int) -> tuple[int, int]:
        """Return where the tokens of a sentence, given by number, stand in the text from `first` to before `end`."""
        start = self._starts[number]
        return self._place(start + first, 0), self._place(start + end - 1, 1)

    def bounds(self, number: int) -> tuple[int, int]:
        """Return where a sentence starts and ends in the text; it starts where the one before ends."""
        return self._place(self.ends[number - 1], 1) if number else 0, self._place(self.ends[number], 1)

    def tokens_at(self, start: int, end: int) -> tuple[int, int, int]:
        """Return a part of the text as tokens of a sentence: its number, the first one, and the one after the last."""
        number = bisect_right(range(len(self.ends)), start, key=lambda one: self.bounds(one)[0]) - 1
        tokens = range(self._starts[number], self.ends[number])
        first, last = (bisect_right(tokens, at, key=lambda one: self._place(one, 0)) for at in (start, end - 1))
        first = max(first - 1, 0)
        return number, first, max(last, first + 1)

    @property
    def may_be_long(self) -> bool:
        """Return whether a sentence may have more characters than `LONGEST_SENTENCE`, by the parts it is in."""
        counts, lengths = self._counted
        parts = [0, *(bisect_right(counts, end) - 1 for end in self.ends)]
        longest = max(lengths[last + 1] + last + 1 - lengths[first] - first for first, last in pairwise(parts))
        return longest > LONGEST_SENTENCE

    def without(self, ends: Sequence[int]) -> Reading:
        """Return the reading, which has all its tokens, without some."""
        return Reading(self._typed, self._parts, self._places, ends) if ends else self


class Spelling(Cache[str, tuple[str, ...]]):
    """The words of a typed part in lower case: `Spelling(data)["don't"]` is `("do", "not")`.

    `parts` and `last` are for parts between blanks, and for the last part of a text.
    """

    def __init__(self, spelling: Mapping[str, str]) -> None:
        """Take chat spellings and what they stand for."""
        super().__init__(self._words)
        self._spelling = {typed: tuple(words.split()) for typed, words in spelling.items()}
        self.parts, self.last = _Parts(self, " "), _Parts(self, "")

    def _words(self, typed: str) -> tuple[str, ...]:
        if not typed[0].isalpha() and typed not in self._spelling:
            return (_MARKS.get(typed, typed),)
        typed = _STRETCHED.sub(r"\1", typed) if typed not in self._spelling and _STRETCHED.search(typed) else typed
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


def lower_same_length(text: str) -> str:
    """Return a text in lower case and of the same length."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c if len(c.lower()) > 1 else c.lower() for c in text)


def tokenise(text: Normalised, spelling: Spelling) -> Reading:
    """Return a text as tokens. The number of a list's item stands in one sentence with the item."""
    shown = text.text
    reading = _parts_between_blanks(shown.split(" "), spelling)
    if not _SPLIT_OFF.isdisjoint(reading.words):
        shown = _join_contractions(shown)
        reading = _parts_between_blanks(shown.split(" "), spelling)
    if may_end_at_emoji(shown) or (len(shown) > LONGEST_SENTENCE and reading.may_be_long):
        reading = _tokenise_whole(shown, [end for _, end in text.sentences], spelling)
    words, numbers = reading.words, list[int]()
    start = 0
    for number, end in enumerate(reading.ends[:-1]):
        is_short = 0 < end - start <= _LONGEST_NUMBER and words[end - 1] == "."
        if is_short and numbers[-1:] != [start - 1] and _NUMBERED.fullmatch(text.text, *reading.bounds(number)):
            numbers.append(end)
        start = end + 1
    return reading.without(numbers)


def _parts_between_blanks(typed: Sequence[str], spelling: Spelling) -> Reading:
    parts, last = spelling.parts, spelling.last

    def places(number: int) -> Sequence[int]:
        return (parts if number < len(typed) - 1 else last).places[typed[number]]

    return Reading(typed, [*map(parts.__getitem__, typed[:-1]), last[typed[-1]]], places)


def _tokenise_whole(text: str, ends: Sequence[int], spelling: Spelling) -> Reading:
    """Return a text as tokens where the ends of sentences depend on more than what stands between two blanks."""
    tokens = [*_tokens(text, ends, spelling)]
    places = _places(tokens)
    return Reading([text], [tuple(word for word, _, _ in tokens)], lambda _: places)


def _join_contractions(text: str) -> str:
    """Return a text of the same length with an apostrophe in place of each blank that stands for one."""
    signs = [*text]
    for found in _SPLIT.finditer(without_links(lower_same_length(text))):
        signs[found.start(found.lastindex or 0)] = "'"
    return "".join(signs)


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


def content_stems(words: Iterable[str]) -> set[str]:
    """Return the content words among some words, as stems: what they are about."""
    found = {*map(_CONTENT.__getitem__, words)}
    found.discard("")
    return found


def first_words(words: Sequence[str], stems: Set[str]) -> list[str]:
    """Return for each of some stems the first word that has it."""
    has_it = map(stems.__contains__, map(_STEMS.__getitem__, words))
    found: dict[str, str] = {}
    for word in compress(words, has_it):
        found.setdefault(_STEMS[word], word)
    return [*found.values()]


def is_content(word: str) -> bool:
    """Return whether a word says what a sentence is about."""
    return len(word) > 2 and word[0].isalpha() and word not in _STOP


_STEMS = Cache(stem)
_CONTENT = Cache[str, str](lambda word: stem(word) if is_content(word) else "")
