"""From a sentence to its features: what a reader sees of it, as words that learned packs give weights.

Pure functions, standard library only. A sentence is read twice, side by side:
  you will {know}     its words, one that belongs to a class replaced by its first class in braces
  settl- by-          the stems of its words
and a feature is a run of 1 to 4 words, or of 1 or 2 stems. A sentence begins with <s>, or with <q> if
it holds a question mark, and ends with </s>. The features of a sentence's relation to the user's
message (shared stems, place, question) begin with r: and stand apart.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, reduce
from itertools import chain
from operator import add, or_
from typing import NamedTuple

from safe_gate.model import JsonObject
from safe_gate.text import Normalised, without_links

_TOKEN = re.compile(
    r"[^\W\d_]+\d?(?:'[^\W\d_]+)*|\d(?:day|nite|moro|morrow)|\d+(?:[.,:]\d+)*|[^\w\s.()\[\]{}<>/\\|=+~^@*#]"
)
_BULLET = re.compile(r"(?:[-•–—·▪◦‣]\s+|\(?(?:\d{1,3}|[a-z])\)\s+)")  # noqa: RUF001 - the dash is meant
_STRETCHED = re.compile(r"([a-z])\1{2,}")
_CONTRACTION = {"'ll": "will", "'re": "are", "'ve": "have", "'m": "am", "'d": "would", "'s": "'s"}
_LONGEST_RUN, _LONGEST_STEMS = 4, 2
_MOST_READINGS, _LONGEST_KEPT = 6_000, 40
_LEAST_WORDS = 2
MOST_WORDINGS = 128
"""How many sentences are remembered by their wording: replies repeat themselves and each other."""

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
_ANAPHORA = frozenset("that it this those them he she him her they there".split())
_ADDRESS = frozenset("you your yourself".split())
_REFERS, _ADDRESSES = 1, 2


class Reading(NamedTuple):
    """What a token is read as: its words in both views, and what they are about."""

    shown: tuple[str, ...]
    stems: tuple[str, ...]
    topic: tuple[str, ...]
    marks: int
    letters: int


class Lexicon(dict[str, Reading]):
    """How tokens are read: chat spellings, and the class a word belongs to (the first that names it).

    The readings that were asked for are kept, up to a bound, in lower case. `vocabulary` are all words it knows.
    """

    def __init__(self, data: JsonObject) -> None:
        """Take what `lexicon.json` holds."""
        super().__init__()
        self._spelling: Mapping[str, str] = data["spelling"]
        self._classes: dict[str, str] = {}
        for name, members in data["classes"].items():
            for word in members.split():
                self._classes.setdefault(word, name)
        self.vocabulary = frozenset((*self._classes, *self._spelling, *data["verbs"].split()))
        self.wording = lru_cache(maxsize=MOST_WORDINGS)(self._wording)

    def __missing__(self, token: str) -> Reading:
        words = self.words(token)
        topics = [stem(w) for w in words if w[0].isalpha() and len(w) > 2 and w not in _STOP]
        marks = _REFERS * (not _ANAPHORA.isdisjoint(words)) + _ADDRESSES * (not _ADDRESS.isdisjoint(words))
        shown = tuple(self._class(word) + " " for word in words)
        stems = tuple((word if word in FUNCTION_WORDS else stem(word)) + "- " for word in words)
        reading = Reading(shown, stems, tuple(topics), marks, sum(w[0].isalpha() for w in words))
        if len(token) <= _LONGEST_KEPT:
            if len(self) >= _MOST_READINGS:
                self.clear()
            self[token] = reading
        return reading

    def _wording(self, text: str) -> Wording:
        """Return what a sentence is read as."""
        read = without_links(text if text.isascii() else unicodedata.normalize("NFKC", text))
        read = read.lower()
        mark = _BULLET.match(read)
        readings = [self[token] for token in _TOKEN.findall(read, mark.end() if mark else 0)]
        if not readings:
            return WORDLESS
        shown, stems, topics, marks, letters = zip(*readings, strict=True)
        if not (words := sum(letters)):
            return WORDLESS
        asks = "?" in read
        is_read = words >= _LEAST_WORDS
        begin, marked = ("<q> ", "<q>- ") if asks else ("<s> ", "<s>- ")
        every = reduce(or_, marks)
        return Wording(
            (begin, *chain.from_iterable(shown), "</s> ") if is_read else (),
            (marked, *chain.from_iterable(stems), "</s>- ") if is_read else (),
            frozenset(chain.from_iterable(topics)),
            asks,
            bool(every & _REFERS),
            bool(every & _ADDRESSES),
        )

    def words(self, token: str) -> Sequence[str]:
        """Return the words of a token: contractions and chat spellings spelt out, numbers `<num>`, marks kept."""
        token = _STRETCHED.sub(r"\1", token)
        if token in self._spelling:
            return self._spelling[token].split()
        if "'" in token and len(token) > 1:
            base, _, rest = token.partition("'")
            if token.endswith("n't"):
                return [word for word in (token[:-3], "not") if word]
            return [base, _CONTRACTION["'" + rest]] if "'" + rest in _CONTRACTION else [token]
        if token[0].isdigit():
            return ["<num>"]
        return [token]

    def _class(self, word: str) -> str:
        if word in FUNCTION_WORDS or word not in self._classes:
            return word
        return "{" + self._classes[word] + "}"


@dataclass(frozen=True, slots=True, eq=False)
class Wording:
    """A sentence as it is read, wherever it stands: its words in both views and what it is about, by stems.

    One of a single word ("Fine.") has none in either view: it is too little to read anything from.
    """

    shown: tuple[str, ...] = ()
    stems: tuple[str, ...] = ()
    topic: frozenset[str] = frozenset()
    asks: bool = False
    refers: bool = False
    addresses: bool = False

    @property
    def features(self) -> Iterator[str]:
        """Its features as they come, each of which ends in a blank."""
        return chain(_runs(self.shown, _LONGEST_RUN), _runs(self.stems, _LONGEST_STEMS))


WORDLESS = Wording()
"""What holds no word is read as: a rule, a number, a link."""


class Sentence(NamedTuple):
    """A sentence by its span in the text that is read, and whether there are features to read from it.

    Its wording is worked out whenever it is asked for, and the last are remembered: those of a long text would take a
    hundred times its room.
    """

    start: int
    end: int
    text: str
    lexicon: Lexicon
    is_read: bool

    @property
    def wording(self) -> Wording:
        """What it is read as."""
        return self.lexicon.wording(self.text[self.start : self.end])


def sentences(text: Normalised, lexicon: Lexicon) -> tuple[Sentence, ...]:
    """Return the sentences of a text as they are read, those that hold no word left out.

    Quotation marks that quote nothing, as around a whole reply, are not read.
    """
    marked = text.text if text.quotations or '"' not in text.text else text.text.replace('"', " ")
    read = (sentence(marked, start, end, lexicon) for start, end in text.sentences)
    return tuple(one for one in read if one.wording is not WORDLESS)


def sentence(text: str, start: int, end: int, lexicon: Lexicon) -> Sentence:
    """Return a part of a normalised text as it is read, blanks around it left out."""
    part = text[start:end].rstrip()
    stripped = part.lstrip()
    is_read = bool(lexicon.wording(stripped).shown)
    return Sentence(start + len(part) - len(stripped), start + len(part), text, lexicon, is_read)


def stem(word: str) -> str:
    """Return a crude stem: one suffix off, doubled consonant undone, final e or y off."""
    for suffix in ("ings", "ing", "edly", "ied", "ies", "ed", "es", "s", "ly", "er"):
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            word = word[: -len(suffix)]
            break
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word[-1] in "ey" else word


def relations(message: Sequence[Sentence], reply: Sequence[Sentence]) -> Iterator[frozenset[str]]:
    """Yield, for each sentence of a reply, the features of its relation to the user's message."""
    topic = frozenset[str]().union(*(sentence.wording.topic for sentence in message))
    shared, alone = list[int](), list[tuple[frozenset[str], bool]]()
    for wording in (sentence.wording for sentence in reply):
        shared.append(len(wording.topic & topic))
        alone.append((lone_relation(wording, shared[-1]), wording.asks))
    total = min(sum(shared), 5)
    last_shared = max((i for i, count in enumerate(shared) if count), default=-1)
    since = 0
    for i, (relation, asks) in enumerate(alone):
        place = "only" if len(reply) == 1 else "first" if i == 0 else "last" if i == len(reply) - 1 else "mid"
        yield _together(relation, _placed(asks, place, min(shared[i], 2), min(since, 4), last_shared > i, total))
        since = 0 if shared[i] else since + 1


@lru_cache(maxsize=MOST_WORDINGS)
def _together(some: frozenset[str], others: frozenset[str]) -> frozenset[str]:
    return some | others


def lone_relation(sentence: Wording, shared: int) -> frozenset[str]:
    """Return the features of a sentence that shares some stems with the message, wherever it stands."""
    new = len(sentence.topic) - shared
    share = shared / (shared + new) if shared else 0.0
    return _related(
        min(shared, 3),
        max((n for n in _NEW if new >= n), default=0),
        max((t for t in _SHARES if share >= t), default=0.0),
        sentence.asks,
        sentence.refers,
        sentence.addresses,
    )


_NEW = (2, 4, 6, 9, 13)
_SHARES = (0.1, 0.2, 0.35, 0.5)


@cache
def _related(shared: int, new: int, share: float, asks: bool, refers: bool, addresses: bool) -> frozenset[str]:
    asked, some, an, you = int(asks), min(shared, 1), int(refers), int(addresses)
    return frozenset(
        {
            *(f"r:sh{shared}", f"r:q{asked}&sh{min(shared, 2)}"),
            *(f"r:sh>={n}" for n in (1, 2, 3) if shared >= n),
            *(f"r:new>={n}" for n in _NEW if new >= n),
            *(f"r:ratio>={t}" for t in _SHARES if share >= t),
            *(f"r:an{an}you{you}sh{some}", f"r:an{an}you{you}q{asked}"),
        }
    )


@cache
def _placed(asks: bool, place: str, shared: int, since: int, later: bool, total: int) -> frozenset[str]:
    asked, some = int(asks), min(shared, 1)
    found = {f"r:{place}", f"r:{place}&sh{shared}", f"r:q{asked}&{place}", f"r:since{since}"}
    found |= {f"r:since{since}sh{some}", f"r:later{int(later)}sh{some}", f"r:tot{total}"}
    return frozenset(found | ({f"r:q&{place}&sh{some}"} if asks else set()))


def _runs(items: Sequence[str], longest: int) -> Iterator[str]:
    rows = [items]
    for length in range(1, longest):
        rows.append([*map(add, rows[-1], items[length:])])
    return chain.from_iterable(rows)
