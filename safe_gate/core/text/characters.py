"""What characters and the markup of HTML, Markdown and terminals stand for. Pure and linear."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache

# Default_Ignorable_Code_Point (UAX #44) and interlinear marks, as ranges: what Python knows of them differs by version.
IGNORED = (
    "ad-ad 34f-34f 61c-61c 115f-1160 17b4-17b5 180b-180f 200b-200f 202a-202e 2060-206f 3164-3164 fe00-fe0f feff-feff "
    "ffa0-ffa0 fff9-fffb 1bca0-1bca3 1d173-1d17a e0000-e0fff "
    # Also invisible, but without that property: control characters, a braille blank, strokes through or below.
    "0-8 e-1b 7f-84 86-9f 2800-2800 332-332 335-337"
)


def _codes(spans: str) -> Iterator[int]:
    """Yield the code points of spans written as `IGNORED` is."""
    for first, _, last in (span.partition("-") for span in spans.split()):
        yield from range(int(first, 16), int(last, 16) + 1)


INVISIBLE = frozenset(map(chr, _codes(IGNORED)))
# The same for a class of a pattern.
UNSEEN_CLASS = "".join("-".join(chr(int(code, 16)) for code in span.split("-")) for span in IGNORED.split())
OTHER_BLANKS = "\u115f\u2800\u3164\uffa0"  # fillers that a screen shows as blanks
_LINE_BREAKS = frozenset("\n\r\x0b\x0c\x85\u2028\u2029")
# Canonical ordering is quadratic in a run of combining marks; UAX #15 (stream-safe text) allows 30.
LONGEST_SEGMENT, MOST_SEGMENTS = 32, 4_096
MARKS = frozenset("*_`~")
_ZERO = "\u200b"  # stands for what goes where a text keeps its length


def is_blank(text: str) -> bool:
    """Return whether a text has nothing that a reader sees."""
    is_hidden = not text or text[0] in INVISIBLE or text[0].isspace()  # most texts are decided by their first letter
    return is_hidden and all(letter in INVISIBLE or letter.isspace() for letter in text)


@cache
def replacements() -> Mapping[int, str]:
    """Return what characters become."""
    return (
        dict.fromkeys(map(ord, "‘’‚‛ʼ＇´`′ʹˈ"), "'")  # noqa: RUF001 - the point is that they look alike
        | dict.fromkeys(map(ord, "“”„‟«»″＂"), '"')  # noqa: RUF001
        | dict.fromkeys(map(ord, "‐‑⁃﹣－"), "-")  # noqa: RUF001
        | dict.fromkeys(map(ord, "–—―‒"), "—")  # noqa: RUF001
        | {ord("…"): "...", 0x203C: "!!", 0x2047: "??", 0x2048: "?!", 0x2049: "!?"}
        | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")  # half a surrogate pair: no engine takes it
        | {code + 0xFEE0: chr(code) for code in range(0x21, 0x7F) if chr(code) not in "'\"-"}
        | styled()
    )


# Compatibility forms of letters (UAX #15) that people dress words up with, and the ligatures that PDF files leave
# behind: all of blocks that were full before Unicode 15, so that each Python knows the same.
_COMPATIBLE = (
    "2b0-2b8 2e1-2e3 1d2c-1d6a 1d9c-1dbf 2071-2071 207f-207f 2090-209c 2102-2115 2118-211d 2124-2134 213c-2149 "
    "2160-217f 249c-24e9 2c7c-2c7d a7f2-a7f4 fb00-fb06 ff21-ff3a ff41-ff5a 1d400-1d7ff 1f110-1f12a 1f130-1f149"
)
# Alphabets without compatibility forms, by where they begin: white on black, and Unicode 16's outlined capitals.
_ALPHABETS = (0x1F150, 0x1F170, 0x1CCD6)


@cache
def styled() -> dict[int, str]:
    """Return what letters in circles and squares, letters of mathematics and others in fancy dress stand for."""
    forms = {code: unicodedata.normalize("NFKC", chr(code)).strip("()\u3014\u3015") for code in _codes(_COMPATIBLE)}
    letters = {first + number: chr(ord("A") + number) for first in _ALPHABETS for number in range(26)} | {0x1F1A5: "d"}
    return {code: form for code, form in forms.items() if form.isalnum() and form != chr(code)} | letters


@lru_cache(maxsize=MOST_SEGMENTS)
def uniform(segment: str) -> tuple[str, str]:
    """Return the visible characters of a segment, or of a run of blanks, and what they become."""
    visible = "".join(c for c in segment if c not in INVISIBLE)
    if visible.isspace():
        return visible, " " if _LINE_BREAKS.isdisjoint(visible) else "\n"
    return visible, unicodedata.normalize("NFC", visible).translate(replacements())


# What stands for a character, for an end of a line or for nothing: entities and tags of HTML, a note's number in one,
# a model's <|im_end|>, a terminal's colours. Any name with any attributes is a tag; bare words ("<b stop>") are text.
OPENING = re.compile(r"&[#a-zA-Z]|<[/a-zA-Z|]|\x1b\[")
_ATTRIBUTE = r"\s++[\w:.-]++=(?:\"[^\"<]*+\"|'[^'<]*+'|[^\s<>\"']++)"
_ATTRIBUTES = rf"(?:{_ATTRIBUTE}|\s++hidden(?=[\s/>]))*+\s*+/?>"
# What a page does not show: comments; declarations, CDATA sections and processing instructions, which browsers take for
# comments; elements that hide what is in them. But a page shows what is escaped, or is code.
_HIDDEN = (
    r"<!--|<(?:![a-z\[]|\?)[^<>]*>|<(?P<name>(?:script|style|template|title|iframe|noframes|noembed|noscript)(?=[\s/>])"
    rf"|[a-z][\w-]*+(?=(?:{_ATTRIBUTE})*?\s++(?:hidden(?=[\s=/>])"
    r"|style=[\"']?[^\"'<>]*?(?:display\s*+:\s*+none|visibility\s*+:\s*+hidden))))"
)
_SHOWN = (
    r"\\[!-/:-@\[-`{-~]|^[ ]{0,3}(?P<fence>`{3,}+|~{3,}+)(?s:.*?)(?:^[ ]{0,3}(?P=fence)|\Z)"
    r"|(?<!`)(?P<ticks>`{1,3}+)(?!`)(?:.|\n(?![^\S\n]*\n))*?(?<!`)(?P=ticks)(?!`)"
)
_SHOWN_OR_HIDDEN = f"(?P<shown>{_SHOWN})|{_HIDDEN}"
_COMMENT_END = re.compile("--!?>")
_MOST_UNCLOSED = 16  # as the end of each may be looked for up to the end of the text
# Links and notes. Directly behind the end of a sentence they belong to it; sentences are found from blank to blank.
_LINKED = re.compile(
    r"(?:((?:(?<=[.!?])|(?<=[.!?][*_\"')\u201d])|(?<=[.!?]\*\*))\[)|\[)([^\[\]\n]{1,300})\]\([^()\s]{1,2000}\)"
)
_CITED = re.compile(r"(?<=[.!?])<(a|cite|ref)\b[^<>]*>([^<>\n]{1,40})</\1>", re.IGNORECASE)
_NOTE = re.compile(r"[\[<\u3010](?<=[.!?].)[^\[\]<>.!?\n\u3010\u3011]{1,40}[\]>\u3011]")
_ESCAPE = re.compile(r"\\(?=[!-/:-@\[-`{-~])")
REASONING = "think|thinking|thought|reasoning"  # the tags around a model's reasoning
LINES_OF_HTML = (
    "article|aside|blockquote|body|br|center|dd|details|div|dl|dt|figcaption|figure|footer|form|h[1-6]|head|header|hr|"
    "html|li|main|nav|ol|p|pre|section|table|tbody|td|tfoot|th|thead|tr|ul|answer|"
    f"{REASONING}"
)
_MARKUP = (
    rf"(?P<line></?(?:{LINES_OF_HTML}){_ATTRIBUTES}|<\|\w{{1,40}}\|>)|(?P<entity>&(?:#[0-9]{{1,12}}|#x[0-9a-f]{{1,12}}|[a-z]{{2,31}}[0-9]{{0,2}});)"
    rf"|<sup>\[?[0-9*\u2020\u2021,]{{1,4}}\]?</sup>|</?[a-z][\w-]*+(?::[a-z][\w-]*+)?{_ATTRIBUTES}|\x1b\[[0-9;]*[a-z]"
)
_CODE_UNIT = re.compile(r"\\u(?:[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F]|[0-9a-fA-F]{2})[0-9a-fA-F]{2}")
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


def without_hidden(text: str) -> str:
    """Return a text of the same length in which comments and hidden elements of HTML are invisible characters."""
    if "<" not in text or not re.search(_HIDDEN, text, re.IGNORECASE):  # compiled when needed, as `markup` is
        return text
    pieces: list[str] = []
    kept = position = 0
    unclosed: set[str] = set()
    pattern = re.compile(_SHOWN_OR_HIDDEN, re.IGNORECASE | re.MULTILINE)
    while found := pattern.search(text, position):
        position, name = found.end(), (found["name"] or "").lower()
        if found["shown"]:
            continue
        if name or found[0] == "<!--":
            # HTML ends "<!-->" and "<!--->" where they begin. Of a comment without an end the sign alone goes.
            may_end = name not in unclosed and (not name or len(unclosed) < _MOST_UNCLOSED)
            closing = _end_of(name).search(text, found.start() + 2) if may_end else None
            if closing:
                position = closing.end()
            elif may_end:
                unclosed.add(name)
            if name and not closing:
                continue
        pieces += text[kept : found.start()], _ZERO * (position - found.start())
        kept = position
    return "".join((*pieces, text[kept:]))


def _end_of(name: str) -> re.Pattern[str]:
    """Return what ends an element, or a comment."""
    return re.compile(rf"</{name}(?![^\s/>])[^<>]*>", re.IGNORECASE) if name else _COMMENT_END


def unescaped(text: str) -> str:
    """Return a text of the same length in which escapes and the addresses of links are invisible.

    Escapes are those of Markdown, and of JSON those of letters. A link or a note directly behind the end of a sentence
    is in brackets, with "^" for blanks.
    """
    if "](" in text:
        text = _LINKED.sub(
            lambda link: (f"[{link[2]}]" if link[1] else f"{_ZERO}{link[2]}").ljust(len(link[0]), _ZERO), text
        )
    if "</" in text:
        text = _CITED.sub(_in_brackets, text)
    if "\\" in text:
        text = _CODE_UNIT.sub(
            lambda unit: json.loads(f'"{unit[0]}"').ljust(len(unit[0]), _ZERO), _ESCAPE.sub(_ZERO, text)
        )
    if "[" in text or "<" in text or "\u3010" in text:
        text = _NOTE.sub(lambda note: note[0].replace(" ", "^"), text)
    return text


def _in_brackets(cited: re.Match[str]) -> str:
    before, after = cited.start(2) - cited.start(), cited.end() - cited.end(2)
    return "[".ljust(before, _ZERO) + cited[2].replace(" ", "^") + "]".ljust(after, _ZERO)
