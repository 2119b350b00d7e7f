"""Markup of HTML, Markdown and terminals: what it stands for, and texts without it. Pure and linear."""

from __future__ import annotations

import re
from functools import cache

from safe_gate.core.text.characters import uniform
from safe_gate.core.text.patterns import later

# What stands for a character, for an end of a line or for nothing: entities and tags of HTML, a note's number in one,
# a terminal's colours. A tag is one by its name. Only attributes of style have blanks in them: others could hold words.
OPENING = later(r"&[#a-zA-Z]|<[/a-zA-Z]|\x1b\[")
# Comments, and what browsers take for them: declarations, CDATA sections and processing instructions.
_COMMENT, _COMMENT_END = later(r"<!--|<(?:![a-z\[]|\?)[^<>]*>", re.IGNORECASE), later("--!?>")
_LINKED = later(r"\[([^\[\]\n]{1,300})\]\([^()\s]{1,2000}\)")
_ESCAPE = later(r"\\(?=[!-/:-@\[-`{-~])")
_ATTRIBUTES = (
    r"(?:\s+(?:(?:style|class|rel)=(?:\"[^\"<>]*\"|'[^'<>]*')|[\w:-]+=(?:\"[^\"\s<]*\"|'[^'\s<]*'|[^\s<>\"']+)))*+"
    r"\s*/?>"
)
LINES_OF_HTML = (
    "article|aside|blockquote|body|br|center|dd|details|div|dl|dt|figcaption|figure|footer|form|h[1-6]|head|header|hr|"
    "html|li|main|nav|ol|p|pre|section|table|tbody|td|tfoot|th|thead|tr|ul"
)
_MARKUP = (
    rf"(?P<line></?(?:{LINES_OF_HTML}){_ATTRIBUTES})|(?P<entity>&(?:#[0-9]{{1,12}}|#x[0-9a-f]{{1,12}}|[a-z]{{2,31}}[0-9]{{0,2}});)"
    r"|<sup>\[?[0-9*\u2020\u2021,]{1,4}\]?</sup>"
    r"|</?(?:a|abbr|b|bdi|bdo|big|cite|code|del|dfn|em|font|i|img|ins|kbd|label|mark|q|s|samp|small|span|strike|strong|sub|summary|sup|tt|u|var|wbr)"
    rf"{_ATTRIBUTES}|\x1b\[[0-9;]*[a-z]"
)
_LONGEST_MEANT = 2  # the characters of an entity; an unknown name stays unchanged


@cache
def markup() -> re.Pattern[str]:
    """Return the pattern of markup."""
    return re.compile(_MARKUP, re.IGNORECASE)  # takes a millisecond, and few texts need it


def opening_after(text: str, start: int) -> int:
    """Return where markup may open next."""
    found = OPENING.search(text, start)
    return found.start() if found else len(text)


def markup_at(text: str, start: int) -> tuple[int, str, str] | None:
    """Return where markup ends, the visible characters that it stands for and what they become; None if it is none."""
    found = markup().match(text, start)
    if found is None:
        return None
    if found["line"]:
        return found.end(), "\n", "\n"
    if not found["entity"]:
        return found.end(), "", ""
    from html import unescape  # with the names of all entities

    meant = unescape(found[0])
    return (found.end(), *uniform(meant)) if len(meant) <= _LONGEST_MEANT else None


def uncommented(text: str) -> str:
    """Return a text of the same length in which comments of HTML are invisible characters."""
    pieces: list[str] = []
    position, has_end = 0, True
    while "<" in text and (opening := _COMMENT.search(text, position)):
        end = opening.end()
        if opening[0] == "<!--":
            # HTML ends "<!-->" and "<!--->" where they begin. Of a comment without an end the sign alone goes.
            closing = _COMMENT_END.search(text, opening.start() + 2) if has_end else None
            has_end = closing is not None
            end = closing.end() if closing else end
        pieces += text[position : opening.start()], "\u200b" * (end - opening.start())
        position = end
    return "".join((*pieces, text[position:])) if pieces else text


def unescaped(text: str) -> str:
    """Return a text of the same length in which Markdown's escapes and the addresses of its links are invisible."""
    if "](" in text:
        text = _LINKED.sub(lambda link: f"\u200b{link[1]}".ljust(len(link[0]), "\u200b"), text)
    return _ESCAPE.sub("\u200b", text) if "\\" in text else text
