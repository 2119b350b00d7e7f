"""The topics of sentences: their content words, as stems. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import compress

from safe_gate.core.text.words import Cache

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


def content(words: Iterable[str]) -> set[str]:
    """Return the content words among some words, as stems: what they are about."""
    found = {*map(_CONTENT.__getitem__, words)}
    found.discard("")
    return found


def among(words: Sequence[str], stems: Set[str]) -> Iterator[tuple[int, str]]:
    """Yield the content words that have one of some stems: the number of the word, and the stem."""
    found = [*map(_CONTENT.__getitem__, words)]
    return compress(enumerate(found), map(stems.__contains__, found))


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


def stem(word: str) -> str:
    """Return a crude stem: one suffix off, doubled consonant undone, final e or y off."""
    for suffix in ("ings", "ing", "edly", "ied", "ies", "ed", "es", "s", "ly", "er"):
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            word = word[: -len(suffix)]
            break
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word[-1] in "ey" else word


_STEMS = Cache(stem)
_CONTENT = Cache(lambda word: stem(word) if is_content(word) else "")
