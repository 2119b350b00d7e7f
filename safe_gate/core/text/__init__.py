"""Texts for rules: each normalised, with a map back to the original. Pure and linear.

Positions are code points, and no locale matters. Letters, digits and signs that stand for Latin letters become these.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from itertools import islice, product
from operator import ne

from safe_gate.core.text.characters import (
    INVISIBLE,
    LONGEST_SEGMENT,
    MARKS,
    MOST_SEGMENTS,
    OPENING,
    OTHER_BLANKS,
    UNSEEN_CLASS,
    markup,
    markup_at,
    opening_after,
    styled,
    unescaped,
    uniform,
    without_hidden,
)
from safe_gate.core.text.lookalikes import LOOK_ALIKES
from safe_gate.core.text.mapped_text import STOP, Normalised

# Letters that pass for Latin ones: Unicode's, and some that Unicode takes for small capitals.
_LATIN = LOOK_ALIKES | dict(zip(map(ord, "кмтεηκτχ"), "kmtenktx", strict=True))
_MARK = "[\u0300-\u036f\u0483-\u0487\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe20-\ufe2f]"
# Characters that may be such a letter or mark.
_STRANGE = re.compile("[^\x00-\xa9\u2010-\u2027\u2190-\u2bff\U0001f000-\U0001ffff]")
_STRANGE_WORD = re.compile(rf"(?<![a-zA-Z])[a-zA-Z]*+(?:[^\W\d_a-zA-Z]|{_MARK})(?:[^\W\d_]|{_MARK})*+")
_WITH_A_STROKE = re.compile("LATIN (CAPITAL|SMALL) LETTER ([A-Z]) WITH .*")  # Unicode does not decompose these
_ASCII_LETTER = re.compile("[a-zA-Z]")
# Letters in another order than a screen shows, and fillers in place of blanks.
_DISPLACED = re.compile(f"[\u202d\u202e{OTHER_BLANKS}](?:(?<=[\u202d\u202e])[^\u202c\n]*+|(?<=[!-~].)(?=[!-~]))")
_FLAGS = re.compile("[\U0001f1e6-\U0001f1ff]+")  # letters of which two make a flag
_FLAG_LETTERS = {0x1F1E6 + number: chr(ord("A") + number) for number in range(26)}
# Digits and signs that people write for letters. Within a word, at its start before three letters; a zero at its end.
_LETTER_SIGNS = {
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
_LETTER_SIGNS |= dict(zip("023456789@$!", "ozeasgtbgasi", strict=True))
_LETTER_SIGN = f"[{''.join(_LETTER_SIGNS)}]"
_SPELLED = re.compile(
    rf"(?<![a-zA-Z])(?<!{_LETTER_SIGN})(?P<first>(?<![.,:]){_LETTER_SIGN}++|)(?P<rest>[a-zA-Z](?:{_LETTER_SIGN}*+[a-zA-Z])*+0*+)"
)
_MOST_READINGS = 8  # of a word in which some signs may be two letters


@cache
def _styled() -> frozenset[str]:
    return frozenset(
        chr(code) for code, form in styled().items() if len(form) == 1 and form.isascii() and form.isalpha()
    )


def may_be_spelled(text: str) -> bool:
    """Return whether a text has a word with a digit or a sign in it."""
    for sign in _LETTER_SIGNS:  # most texts have few of them, and a search for a single one is the fastest
        at = text.find(sign)
        while at >= 0:
            if text[at + 1 : at + 2].isalpha() or (sign == "0" and text[at - 1 : at].isalpha()):
                return True
            at = text.find(sign, at + 1)
    return False


def _of_letters(text: Normalised, known: Container[str]) -> Normalised:
    """Return a text in which letters that look like ASCII ones are these."""
    disguised = sum(map(text.original.count, _styled().intersection(text.original)))
    disguised += sum(map(len, _DISPLACED.findall(text.original)))
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

    def read(word: re.Match[str]) -> str:
        has_signs = not _LETTER_SIGNS.keys().isdisjoint(word[0])
        if not has_signs or (word["first"].strip("0") and sum(map(str.isalpha, word["rest"])) < 3):
            return word[0]
        readings = map("".join, islice(product(*(_LETTER_SIGNS.get(char, char) for char in word[0])), _MOST_READINGS))
        found = next((one for one in readings if one.lower() in known), "")
        return (found.upper() if word[0].isupper() else found) or word[0]

    letters = _SPELLED.sub(read, text.text)
    signs = sum(map(ne, text.text, letters))
    return replace(text, text=letters, disguised=text.disguised + signs) if signs else text


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


def without_diacritics(text: str) -> str:
    r"""Return a text with each word as `normalise` reads it in English, where it knows the word without diacritics.

    >>> without_diacritics("a caf\u00e9*")
    'a cafe*'
    """

    def read(word: re.Match[str]) -> str:
        alike = word[0].translate(_LATIN)
        bare = "".join(map(_bare, alike))
        return bare if bare.isascii() else alike

    return text if text.isascii() else _STRANGE_WORD.sub(read, text)


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


# Characters that normalising does not change, as words with single blanks between them: most of any text.
_SIGNS = (
    r"[!-)+-^a-z{-}\xa1-\xaa\xac\xae-\xb3\xb5-\xba\xbc-\u024f\u0388-\u03ff\u0400-\u0482\u048a-\u052f\u2014"
    r"\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fa5\uac00-\ud7a3\U0001f300-\U0001faff]"
)
# The class appears once, because it takes a millisecond to compile. It is possessive, so that matching stays linear.
_PLAIN = re.compile(rf"(?![ \n])(?:[ \n]?{_SIGNS}++)++")
_BLANKS = re.compile(rf"\s{{1,{LONGEST_SEGMENT}}}")


def normalise(text: str, known: Container[str] = frozenset()) -> Normalised:
    """Return `text` with look-alike characters made one, and a map back to every code point.

    - Curly and full-width quotes become straight, long dashes become `—`, and `…` becomes three dots.
    - A run of white space becomes one blank. It becomes a newline if it has a line break that does not only wrap.
    - Invisible characters and Markdown's marks of emphasis, code and strike-through are removed.
    - Comments and tags of HTML are removed, or become a newline where they begin a line.
    - HTML entities become the characters that they stand for. The rest is composed (NFC, UAX #15).
    - A letter that looks like an ASCII letter becomes that letter in a word with ASCII letters. The same holds in a
      text that consists mostly of such words.
    - There a word also loses its diacritics if that makes it a word of `known` (lower case, without apostrophes).
    - Digits and signs inside a word become the letters that make it a word of `known`: `pr0mise`, not `2nd` or `10`.
    """
    original, text = text, unwrapped(unescaped(without_hidden(text)))
    out: list[str] = []  # plain runs, which end in no blank, and single characters
    starts, ends = array("I"), array("I")  # a list takes ten times the memory
    before = ""  # the visible characters of the previous segment
    position = 0
    opening = opening_after(text, 0)
    while position < len(text):
        start, markup = position, None
        if opening <= start:
            markup = markup_at(text, start) if opening == start else None
            opening = opening_after(text, markup[0] if markup else start + 1)
        if markup:
            position, visible, pieces = markup
        else:
            position = _run_end(text, start, opening)
            if position - start > 1 and not text[start].isspace():
                out.append(text[start:position])
                starts.extend(range(start, position))
                ends.extend(range(start + 1, position + 1))
                before = text[position - 1]
                continue
            position = max(position, _segment_end(text, start))
            visible, pieces = uniform(text[start:position])
        if visible.isspace():
            if out and out[-1] in " \n":
                out[-1] = max(out[-1], pieces, key=" \n".index)
                ends[-1] = position
                continue
        elif visible in MARKS and _is_markup(visible, before, text[position : position + 1]):
            before = visible if visible == "~" else before
            continue
        before = visible or before
        out += pieces
        starts.extend([start] * len(pieces))
        ends.extend([position] * len(pieces))
    found = Normalised(original, "".join(out), starts, ends)
    if not (original.isascii() and found.text.isascii()):
        found = _of_letters(found, known)
    return spelled(found, known) if may_be_spelled(found.text) else found


def _run_end(text: str, start: int, limit: int) -> int:
    """Return the end of a run of plain text or of blanks, less its last character if something joins it."""
    run = _PLAIN.match(text, start, limit) or _BLANKS.match(text, start, limit)
    if run is None:
        return start
    end = run.end()
    return end - (end < len(text) and _joins_previous(text[end]))


def _segment_end(text: str, start: int) -> int:
    """Return the end of a segment that normalises alone: a character and the ones that compose with it."""
    end = start + 1
    while end < len(text) and end - start < LONGEST_SEGMENT and _joins_previous(text[end]):
        end += 1
    return end


def _joins_previous(char: str) -> bool:
    if char < "\u00ad":
        return False
    # Marks, invisible characters, Hangul vowels and finals: everything else starts its own segment.
    return char in INVISIBLE or "\u1160" <= char <= "\u11ff" or unicodedata.category(char)[0] == "M"


def _is_markup(sign: str, before: str, after: str) -> bool:
    """Return whether a sign is markup around words, not a bullet, arithmetic, names_with_underscores or don`t."""
    if sign == "*":
        return bool((before and not before.isspace()) or (after and not after.isspace()))
    return "~" in (before, after) if sign == "~" else not (before[:1].isalnum() and after.isalnum())


# A line broken to fit a width: at least 20 columns, without an end, and the next line goes on.
_NARROWEST, _LONG = 20, 50
_UNSEEN = "".join((*INVISIBLE, *MARKS, " \t\u00a0"))
_LIST_MARK = r"\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{2,4})[.)](?!\w)"
_WRAP = re.compile(
    rf"\r?\n[^\S\n]*+(?:>[ \t]?+)*+(?=(?P<word>[*_`~{UNSEEN_CLASS}]*+"
    rf"(?!{_LIST_MARK})(?P<first>[\w\"'(\[\u2018\u201c\u2026$\u00a3\u20ac&@=!?,;:/%\u2013\u2014])\S*+))"
)
# A break at which a line plainly goes on: most texts have none.
_GOES_ON = re.compile(
    rf"\n(?:(?<![.!?:\n]\n)(?<![.!?:\n]\r\n)[^\S\n]*+(?:>[ \t]?+)*+[*_`~{UNSEEN_CLASS}]*+"
    r"(?:[^\W\d_A-Z]|[A-Z](?![a-z])|[,;/=%])|(?<=[,;]\n)|(?<=[,;][*_`~\r]\n))"
)
_UNSEEN_RUN, _LETTER, _I = re.compile(f"[*_`~{UNSEEN_CLASS}]+"), re.compile(r"[^\W\d_]"), re.compile(r"I\b")
_HYPHENATED = re.compile(r"[^\W\d_][-\u2010]\Z")
_DASHED_LINE = re.compile(r"\n[^\S\n]*+[\u2013\u2014]")
_STOPS, _CLAUSE_SIGNS = frozenset(".!?:"), frozenset(",;/=%")
_SUSPENDED = frozenset({"and", "or", "to"})  # "short- and long-term"
_OTHER_BREAKS = re.compile("\r(?!\n)|[\x0b\x0c\x85\u2028\u2029]")
_OTHER_BLANKS = re.compile(f"[{OTHER_BLANKS}]")
_ESCAPED_BREAK = re.compile(r"(?:\\r)?\\n(?![a-z])")  # not C:\new


def unwrapped(text: str) -> str:
    """Return a text of the same length in which a line that was only wrapped goes on.

    A break wraps a line if the next line's first word did not fit into the width of the text. The width is the length
    of the longest line. In a chat, lines break where their writers like. So most breaks must be forced before a text
    counts as wrapped. Only lines that plainly go on are counted: without an end, and in lower case next.
    In a text of one line, a backslash and an n are a break, because the text was escaped twice.
    """
    text = _OTHER_BREAKS.sub("\n", text)
    text = text if text.isascii() else _OTHER_BLANKS.sub(" ", text)
    if "\n" not in text and "\\n" in text:
        text = _ESCAPED_BREAK.sub(lambda found: "\n".ljust(len(found[0])), text)
    if "\n" not in text or not _GOES_ON.search(text):
        return text
    lines = [line.rstrip() for line in text.split("\n")]
    is_plain = text.isascii() and not (OPENING.search(text) or _UNSEEN_RUN.search(text))
    shown = lines if is_plain else [_shown(line).rstrip() for line in lines]
    widths = _width(lines), _width(shown)
    is_one_dashed = len(_DASHED_LINE.findall(text)) == 1  # several dashes mark a list
    wraps: dict[int, str] = {}
    longest = wrapping = fitting = index = before = 0
    for found in _WRAP.finditer(text):
        index += text.count("\n", before, found.start())
        line, before = lines[index], found.start()
        first, end = found["first"], shown[index].rstrip(_UNSEEN)[-1:]
        if not end or line.startswith("#") or (">" in found[0] and not line.lstrip().startswith(">")):
            continue
        sizes = len(line) + len(found["word"]), len(shown[index]) + len(_shown(found["word"]))
        is_wrap = any(size + 1 > width for size, width in zip(sizes, widths, strict=True))
        if is_wrap and (first not in "\u2013\u2014" or is_one_dashed):
            is_hyphenated = _HYPHENATED.search(line) and found["word"] not in _SUSPENDED
            wraps[found.start()] = ("\u200b" if is_hyphenated else " ") * len(found[0])
        is_capitals = line.isupper() and lines[index + 1].isupper()
        continues = first.islower() or first in _CLAUSE_SIGNS or is_capitals or _I.match(text, found.start("first"))
        if end in ",;" or (continues and end not in _STOPS):
            longest = max(longest, is_wrap * len(line))
            wrapping, fitting = wrapping + is_wrap, fitting + (not is_wrap)
    letter = _LETTER.search(text)
    # Writers who use capitals, or end sentences within lines, would have ended a sentence before a break.
    is_tidy = (letter and letter[0].isupper()) or STOP.search(text)
    if wrapping < max(1, fitting if is_tidy or longest >= _LONG else fitting + 2):
        return text
    return _WRAP.sub(lambda found: wraps.get(found.start(), found[0]), text)


def _width(lines: Sequence[str]) -> int:
    """Return the width that lines were wrapped to at least; a single long word may be beyond it."""
    return max(_NARROWEST, max((len(line) for line in lines if " " in line.lstrip()), default=0))


def _shown(line: str) -> str:
    """Return a line roughly as a reader sees it."""
    return markup().sub(lambda found: "&" if found["entity"] else "", _UNSEEN_RUN.sub("", line))


def stem(word: str) -> str:
    """Return a word without the ending of its form.

    >>> [stem(word) for word in ("allergies", "allergy", "vomited", "stopping", "bleed", "bleeding", "500")]
    ['allergy', 'allergy', 'vomit', 'stop', 'bleed', 'bleed', '500']
    """
    word = word.removesuffix("'s")
    if len(word) < 3 or not word[0].isalpha():
        return word
    if word.endswith("ies"):
        word = word[:-3] + "y"
    elif word.endswith(("ses", "shes", "ches", "xes", "zes", "sis")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    elif form := _INFLECTED.fullmatch(word):
        word = form[1]
    word = word[:-1] if len(word) > 3 and word[-1] == word[-2] else word
    return word.removesuffix("e")


_INFLECTED = re.compile(r"(?=..?[aeiouy]|[aeiouy])(.{3,})(?:ing|(?<!e)ed)")
