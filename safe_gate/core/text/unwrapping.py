"""Lines that were broken to fit a width, joined again. Pure and linear."""

from __future__ import annotations

import re
from collections.abc import Sequence

from safe_gate.core.text.characters import IGNORED, INVISIBLE, MARKS
from safe_gate.core.text.markup import OPENING, markup
from safe_gate.core.text.patterns import later
from safe_gate.core.text.sentences import STOP

# A line broken to fit a width: at least 20 columns, without an end, and the next line goes on.
_NARROWEST, _LONG = 20, 50
_UNSEEN = "".join((*INVISIBLE, *MARKS, " \t\u00a0"))
_UNSEEN_CLASS = "".join("-".join(chr(int(code, 16)) for code in span.split("-")) for span in IGNORED.split())
_LIST_MARK = r"\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{2,4})[.)](?!\w)"
_WRAP = later(
    rf"\r?\n[^\S\n]*+(?:>[ \t]?+)*+(?=(?P<word>[*_`~{_UNSEEN_CLASS}]*+"
    rf"(?!{_LIST_MARK})(?P<first>[\w\"'(\[\u2018\u201c\u2026$\u00a3\u20ac&@=!?,;:/%\u2013\u2014])\S*+))"
)
# A break at which a line plainly goes on: most texts have none.
_GOES_ON = later(
    rf"\n(?:(?<![.!?:\n]\n)(?<![.!?:\n]\r\n)[^\S\n]*+(?:>[ \t]?+)*+[*_`~{_UNSEEN_CLASS}]*+"
    r"(?:[^\W\d_A-Z]|[A-Z](?![a-z])|[,;/=%])|(?<=[,;]\n)|(?<=[,;][*_`~\r]\n))"
)
_UNSEEN_RUN, _LETTER, _I = later(f"[*_`~{_UNSEEN_CLASS}]+"), later(r"[^\W\d_]"), later(r"I\b")
_HYPHENATED = later(r"[^\W\d_][-\u2010]\Z")
_DASHED_LINE = later(r"\n[^\S\n]*+[\u2013\u2014]")
_STOPS, _CLAUSE_SIGNS = frozenset(".!?:"), frozenset(",;/=%")
_SUSPENDED = frozenset({"and", "or", "to"})  # "short- and long-term"
_OTHER_BREAKS = later("\r(?!\n)|[\x0b\x0c\x85\u2028\u2029]")


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
