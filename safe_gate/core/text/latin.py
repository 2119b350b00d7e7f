"""Letters of other scripts, digits and signs that stand for Latin letters. Pure and linear."""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from itertools import islice, product

from safe_gate.core.text.characters import MOST_SEGMENTS, styled
from safe_gate.core.text.lookalikes import LOOK_ALIKES
from safe_gate.core.text.mapped_text import Normalised

# Letters that pass for Latin ones: Unicode's, and some that Unicode takes for small capitals.
_LATIN = LOOK_ALIKES | dict(zip(map(ord, "кмтεηκτχ"), "kmtenktx", strict=True))
_MARK = "[\u0300-\u036f\u0483-\u0487\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe20-\ufe2f]"
_STRANGE = re.compile(
    "[^\x00-\xa9\u2010-\u2027\u2190-\u2bff\U0001f000-\U0001ffff]"
)  # characters that may be such a letter or mark
_STRANGE_WORD = re.compile(rf"(?<![a-zA-Z])[a-zA-Z]*+(?:[^\W\d_a-zA-Z]|{_MARK})(?:[^\W\d_]|{_MARK})*+")
_WITH_A_STROKE = re.compile("LATIN (CAPITAL|SMALL) LETTER ([A-Z]) WITH .*")  # Unicode does not decompose these
_ASCII_LETTER = re.compile("[a-zA-Z]")
_FLAGS = re.compile("[\U0001f1e6-\U0001f1ff]+")  # letters of which two make a flag
_FLAG_LETTERS = {0x1F1E6 + number: chr(ord("A") + number) for number in range(26)}
# Digits and signs that people write for letters. Within a word, at its start before three letters; a zero at its end.
_SIGNS = {
    "1": "il",
    "|": "il",
    "\xa3": "l",
    "\xa2": "c",
    "\xa5": "y",
    "\u20ac": "e",
    "\xaa": "a",
    "\xba": "o",
    "\xa1": "i",
}
_SIGNS |= dict(zip("023456789@$!", "ozeasgtbgasi", strict=True))
_SIGN = f"[{''.join(_SIGNS)}]"
_SPELLED = re.compile(
    rf"(?<![a-zA-Z])(?<!{_SIGN})(?P<first>(?<![.,:]){_SIGN}++|)(?P<rest>[a-zA-Z](?:{_SIGN}*+[a-zA-Z])*+0*+)"
)
_MOST_READINGS = 8  # of a word in which some signs may be two letters


@cache
def _styled() -> frozenset[str]:
    return frozenset(
        chr(code) for code, form in styled().items() if len(form) == 1 and form.isascii() and form.isalpha()
    )


def in_latin(text: Normalised, known: Container[str]) -> Normalised:
    """Return a normalised text in which what looks like ASCII letters is these (see `normalise`)."""
    found = text if text.original.isascii() and text.text.isascii() else _of_letters(text, known)
    return spelled(found, known) if may_be_spelled(found.text) else found


def may_be_spelled(text: str) -> bool:
    """Return whether a text has a word with a digit or a sign in it."""
    for sign in _SIGNS:  # most texts have few of them, and a search for a single one is the fastest
        at = text.find(sign)
        while at >= 0:
            if text[at + 1 : at + 2].isalpha() or (sign == "0" and text[at - 1 : at].isalpha()):
                return True
            at = text.find(sign, at + 1)
    return False


def _of_letters(text: Normalised, known: Container[str]) -> Normalised:
    """Return a text in which letters that look like ASCII ones are these."""
    disguised = sum(map(text.original.count, _styled().intersection(text.original)))
    flags: list[str] = _FLAGS.findall(text.text)
    if any(len(some) % 2 for some in flags):  # flags are pairs, so these are words
        text = replace(text, text=text.text.translate(_FLAG_LETTERS))
        disguised += sum(map(len, flags))
    letters: dict[int, str] = {}
    if _STRANGE.search(text.text):
        words = list(_STRANGE_WORD.finditer(text.text))
        for word, read in zip(words, _read([word[0] for word in words], known, text.text), strict=True):
            for place, (letter, was) in enumerate(zip(read, word[0], strict=True), word.start()):
                if letter != was:
                    letters[place] = letter
    if not letters:
        return replace(text, disguised=disguised) if disguised else text
    disguised += sum(map(bool, letters.values()))
    kept = [place for place in range(len(text.text)) if letters.get(place, "a")]
    ends = (text.ends[after - 1] for after in (*kept[1:], len(text.text)))  # marks that go are their letter's
    return Normalised(
        text.original,
        "".join(letters.get(place, text.text[place]) for place in kept),
        array("I", (text.starts[place] for place in kept)),
        array("I", ends),
        disguised,
    )


def spelled(text: Normalised, known: Container[str]) -> Normalised:
    """Return a text in which digits and signs are the letters that make a known word of theirs, as in "pr0m1se"."""
    count = 0

    def read(word: re.Match[str]) -> str:
        nonlocal count
        signs = sum(char in _SIGNS for char in word[0])
        if not signs or (word["first"].strip("0") and sum(map(str.isalpha, word["rest"])) < 3):
            return word[0]
        readings = map("".join, islice(product(*(_SIGNS.get(char, char) for char in word[0])), _MOST_READINGS))
        found = next((one for one in readings if one.lower() in known), "")
        count += signs * bool(found)
        return (found.upper() if word[0].isupper() else found) or word[0]

    letters = _SPELLED.sub(read, text.text)
    return replace(text, text=letters, disguised=text.disguised + count) if count else text


def _read(words: Sequence[str], known: Container[str], text: str) -> Iterator[Sequence[str]]:
    """Yield for each word of a text what its letters are read as, nothing for a mark that goes.

    Where most words with diacritics are known without them, all lose them: rules look across words, too.
    """
    is_latin = _is_latin(text, words)
    alike = [word.translate(_LATIN) if is_latin or _ASCII_LETTER.search(word) else word for word in words]
    bare = {word: [_bare(letter) for letter in word] for word in {*alike} if not word.isascii()}
    bare = {word: letters for word, letters in bare.items() if "".join(letters).isascii()} if is_latin else {}
    familiar = {word for word, letters in bare.items() if "".join(letters).lower() in known}
    long = [word in familiar for word in alike if word in bare and len(word) > 1]
    is_all = 2 * sum(long) > len(long)
    for word in alike:
        yield bare[word] if word in familiar or (is_all and word in bare) else word


@lru_cache(maxsize=MOST_SEGMENTS)
def _bare(letter: str) -> str:
    """Return a letter without its diacritics, nothing for a mark alone."""
    base = unicodedata.normalize("NFD", letter)[0]
    if found := _WITH_A_STROKE.fullmatch(unicodedata.name(base, "")):
        return found[2] if found[1] == "CAPITAL" else found[2].lower()
    return "" if unicodedata.category(base)[0] == "M" else base.translate(_LATIN)


def _is_latin(text: str, words: Sequence[str]) -> bool:
    """Return whether nearly all letters of a text are ASCII or look like ASCII. In Greek, too many do not.

    `words` are those with letters that are not ASCII.
    """
    letters = Counter("".join(words).translate(_LATIN))
    foreign = sum(n for c, n in letters.items() if "\u0250" <= c <= "\u1cff" or "\u2c00" <= c <= "\ud7ff")
    if not foreign:
        return len(text) > 1  # a letter alone may be anything
    return len(_ASCII_LETTER.findall(text.translate(_LATIN))) >= 4 * foreign
