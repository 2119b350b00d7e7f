"""Normalises a text, with a map back to the original. Pure: positions are code points, and no locale matters."""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Container, Sequence
from functools import cache

from safe_gate.core.text.characters import (
    IGNORED,
    INVISIBLE,
    LONGEST_SEGMENT,
    MARKS,
    OPENING,
    STRAIGHT,
    markup,
    markup_at,
    opening_after,
    uncommented,
    unescaped,
    uniform,
)
from safe_gate.core.text.latin import in_latin
from safe_gate.core.text.mapped_text import STOP, Normalised

_SMALL = 16_384
# Characters that normalising does not change, as words with single blanks between them: most of any text.
_SIGNS = (
    r"[!-)+-^a-z{-}\xa1-\xaa\xac\xae-\xb3\xb5-\xba\xbc-\u024f\u0388-\u03ff\u0400-\u0482\u048a-\u052f\u2014"
    r"\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fa5\uac00-\ud7a3\U0001f300-\U0001faff]"
)
# The class appears once, because it takes milliseconds to compile. It is possessive, so that matching stays linear.
_PLAIN = rf"(?![ \n])(?:[ \n]?{_SIGNS}++)++"
_TO_SHORTEN = re.compile(r"[ \n]{2,}|(?<!\*)\*++")
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
    if found := _nearly_plain(text):
        return in_latin(found, known)
    original, text = text, unwrapped(unescaped(uncommented(text)))
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
                starts.extend(_counting(start, position))
                ends.extend(_counting(start + 1, position + 1))
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
    return in_latin(Normalised(original, "".join(out), starts, ends), known)


def _nearly_plain(text: str) -> Normalised | None:
    """Return a text normalised that has only quotes, blanks and asterisks to change, as most have; else None."""
    straight = text
    if not text.isascii():
        for typed, plain in STRAIGHT:
            straight = straight.replace(typed, plain)
    may_be_markup = "<" in text or "&" in text or "\\" in text or "](" in text
    if may_be_markup or goes_on(straight):
        return None
    if _is_plain(straight):
        identity = range(len(text) + 1)
        return Normalised(text, straight, identity[:-1], identity[1:])
    short, starts, ends = _shortened(straight)
    return Normalised(text, short, starts, ends) if _is_plain(short.replace("*", "-")) else None


def _shortened(text: str) -> tuple[str, Sequence[int], Sequence[int]]:
    """Return a text with single blanks and without asterisks around words, and where its characters start and end."""
    pieces: list[str] = []
    starts, ends = array("I"), array("I")
    position = 0
    for found in _TO_SHORTEN.finditer(text):
        start, end = found.span()
        starts.extend(_counting(position, start))
        ends.extend(_counting(position + 1, start + 1))
        pieces.append(text[position:start])
        if text[start] != "*":
            pieces.append("\n" if "\n" in found[0] else " ")
            starts.append(start)
            ends.append(end)
        elif not _is_markup("*", text[start - 1 : start], text[end : end + 1]):
            pieces.append("*")
            starts.append(end - 1)
            ends.append(end)
        position = end
    starts.extend(_counting(position, len(text)))
    ends.extend(_counting(position + 1, len(text) + 1))
    return "".join((*pieces, text[position:])), starts, ends


def _is_plain(text: str) -> bool:
    """Return whether normalising would not change a text, wrapped lines aside."""
    if not text.isascii() and not (text := text.replace("\u2014", "-")).isascii():
        return _plain().fullmatch(text) is not None
    # For ASCII, searches take a tenth of the pattern's time.
    lines = text.replace("\n", " ")
    is_apart = lines[:1] not in ("", " ") and lines[-1] != " " and "  " not in lines
    return is_apart and lines.isprintable() and not ("*" in text or "_" in text or "`" in text or "~" in text)


@cache
def _plain() -> re.Pattern[str]:
    return re.compile(_PLAIN)  # takes a millisecond, and few texts need it


def _counting(start: int, end: int) -> Sequence[int]:
    """Return the numbers from `start` to before `end`, quickly if they are small."""
    return _small_numbers()[start:end] if end <= _SMALL else range(start, end)


@cache
def _small_numbers() -> Sequence[int]:
    return array("I", range(_SMALL))


def _run_end(text: str, start: int, limit: int) -> int:
    """Return the end of a run of plain text or of blanks, less its last character if something joins it."""
    run = _plain().match(text, start, limit) or _BLANKS.match(text, start, limit)
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
_UNSEEN_CLASS = "".join("-".join(chr(int(code, 16)) for code in span.split("-")) for span in IGNORED.split())
_LIST_MARK = r"\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{2,4})[.)](?!\w)"
_WRAP = re.compile(
    rf"\r?\n[^\S\n]*+(?:>[ \t]?+)*+(?=(?P<word>[*_`~{_UNSEEN_CLASS}]*+"
    rf"(?!{_LIST_MARK})(?P<first>[\w\"'(\[\u2018\u201c\u2026$\u00a3\u20ac&@=!?,;:/%\u2013\u2014])\S*+))"
)
# A break at which a line plainly goes on: most texts have none.
_GOES_ON = re.compile(
    rf"\n(?:(?<![.!?:\n]\n)(?<![.!?:\n]\r\n)[^\S\n]*+(?:>[ \t]?+)*+[*_`~{_UNSEEN_CLASS}]*+"
    r"(?:[^\W\d_A-Z]|[A-Z](?![a-z])|[,;/=%])|(?<=[,;]\n)|(?<=[,;][*_`~\r]\n))"
)
_UNSEEN_RUN, _LETTER, _I = re.compile(f"[*_`~{_UNSEEN_CLASS}]+"), re.compile(r"[^\W\d_]"), re.compile(r"I\b")
_HYPHENATED = re.compile(r"[^\W\d_][-\u2010]\Z")
_DASHED_LINE = re.compile(r"\n[^\S\n]*+[\u2013\u2014]")
_STOPS, _CLAUSE_SIGNS = frozenset(".!?:"), frozenset(",;/=%")
_SUSPENDED = frozenset({"and", "or", "to"})  # "short- and long-term"
_OTHER_BREAKS = re.compile("\r(?!\n)|[\x0b\x0c\x85\u2028\u2029]")


def goes_on(text: str) -> bool:
    """Return whether a line of a text may have been wrapped."""
    return "\n" in text and _GOES_ON.search(text) is not None


def unwrapped(text: str) -> str:
    """Return a text of the same length in which a line that was only wrapped goes on.

    A break wraps a line if the next line's first word did not fit into the width of the text. The width is the length
    of the longest line. In a chat, lines break where their writers like. So most breaks must be forced before a text
    counts as wrapped. Only lines that plainly go on are counted: without an end, and in lower case next.
    """
    text = _OTHER_BREAKS.sub("\n", text)
    if not goes_on(text):
        return text
    lines = [line.rstrip() for line in text.split("\n")]
    is_plain = text.isascii() and not (OPENING.search(text) or _UNSEEN_RUN.search(text))
    shown = lines if is_plain else [_shown(line).rstrip() for line in lines]
    widths = _width(lines), _width(shown)
    is_one_dashed = len(_DASHED_LINE.findall(text)) == 1  # several dashes mark a list
    wraps: list[tuple[re.Match[str], str]] = []
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
            wraps.append((found, line))
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
    pieces: list[str] = []
    position = 0
    for found, line in wraps:
        is_hyphenated = _HYPHENATED.search(line) and found["word"] not in _SUSPENDED
        pieces += text[position : found.start()], ("\u200b" if is_hyphenated else " ") * len(found[0])
        position = found.end()
    return "".join((*pieces, text[position:]))


def _width(lines: Sequence[str]) -> int:
    """Return the width that lines were wrapped to at least; a single long word may be beyond it."""
    return max(_NARROWEST, max((len(line) for line in lines if " " in line.lstrip()), default=0))


def _shown(line: str) -> str:
    """Return a line roughly as a reader sees it."""
    return markup().sub(lambda found: "&" if found["entity"] else "", _UNSEEN_RUN.sub("", line))
