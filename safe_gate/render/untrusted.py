"""Escapes recorded text for each format: ids, quotes, file names, tags.

Pure. Each format has one function that escapes `Words`. The text then has no terminal escape, workflow command,
markup, mention, or hidden or reordering character.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from safe_gate.model.results import Untrusted, Words

LONGEST = 160
"""Recorded text is shown up to this many characters, then cut with an ellipsis."""

LONGEST_PROBLEM = 500
"""The most characters of a problem's message and of a path."""

LONGEST_REASON = 2_000
"""The most characters of the reason of a waiver, which its schema allows."""

# Control, format (bidi overrides and zero-width characters among them), surrogates, line separators.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Letters and marks that leave no ink, which categories do not show, and two codes that no XML may hold.
_INKLESS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufffe\uffff")


def plain(words: Words, longest: int = LONGEST) -> str:
    r"""Return words for a terminal or a log line.

    >>> plain(Untrusted("a\x1b[2J\u202eb ##[error]c"))
    'a\\x1b[2J\\u202eb #\\x23[error]c'
    """
    if isinstance(words, str):
        return words
    text = escape_invisible(words.text, longest)
    # The runner reads commands at a line's start after blanks, and its old `##[` anywhere in a line
    # (actions/runner, ActionCommand.TryParseV2 and TryParse).
    text = text.replace("##[", "#\\x23[")
    return text.replace(":", "\\x3a", 1) if text.lstrip().startswith(":") else text


def phrase_line(phrase: Iterable[Words], longest: int = LONGEST) -> str:
    """Return a phrase for a terminal."""
    return "".join(plain(words, longest) for words in phrase)


def name_in_full(text: str) -> str:
    """Return a recorded name as `plain` does, however long: names that differ only at their ends stay distinct."""
    return plain(Untrusted(text), len(text))


def problem_text(message: str) -> str:
    """Return the message of a problem for a line. It may be long, because it ends with what to do."""
    return plain(Untrusted(message), LONGEST_PROBLEM)


def markdown(words: Words, longest: int = LONGEST) -> str:
    """Return words for GitHub Markdown: recorded text as code in which every sign is an entity.

    Inside `<code>` GitHub makes no mention and no issue link. Entities keep `|`, backticks, `*` and `<!--` text
    everywhere, also in a table cell. GitHub links bare addresses even in code; `<wbr>` breaks them up and leaves no
    trace in a copy. It also lets a long name break, which would push the next columns of a table out of sight.

    >>> markdown(Untrusted("@org | <b>"))
    '<code><wbr>&#64;org &#124; &#60;b&#62;</code>'
    """
    if isinstance(words, str):
        return words
    shown = _PART_OF_NAME.sub(r"\g<0>" + _BREAK, escape_invisible(words.text, longest))
    return f"<code>{shown.translate(_IN_CODE) or ' '}</code>"


_BREAK = "\u200b"  # which `escape_invisible` leaves nowhere
# The first part of more than 24 signs without a blank. No mark is parted from its letter.
_PART_OF_NAME = re.compile(r"(?=[!-~\w]{25})(?:[!-~\w]{11,23}[/_-]|[!-~\w]{24})")
_ENTITIES = {code: f"&#{code};" for code in range(0x80) if not (chr(code).isalnum() or chr(code) in " ,'")}
# What every bare address has between its parts: pat@host.example, https://host, www.host (cmark-gfm, autolink.c).
_IN_CODE = _ENTITIES | {ord(sign): f"<wbr>&#{ord(sign)};" for sign in ".:@"} | {ord("-"): "-", ord(_BREAK): "<wbr>"}


def quotation(pieces: Iterable[tuple[Untrusted, bool]]) -> str:
    """Return recorded text for GitHub Markdown as a quotation of one line, the pieces that decide in bold.

    Every sign is an entity, so none is Markdown or HTML. GitHub also looks through the text that is left, one text node
    at a time, for mentions, issues, commits, addresses, emoji and formulas. A `<span>` around what could begin or join
    one leaves it a node of its own, as GitHub advises for a dollar sign.

    >>> quotation([(Untrusted("Ask "), False), (Untrusted("@org!"), True)])
    '<blockquote dir="auto">Ask <b><span>&#64;</span>org&#33;</b></blockquote>'
    """
    shown = (f"<b>{_prose(piece)}</b>" if decides else _prose(piece) for piece, decides in pieces)
    return f'<blockquote dir="auto">{"".join(shown)}</blockquote>'


def _prose(piece: Untrusted) -> str:
    text = escape_invisible(piece.text, len(piece.text))
    parts = (part.translate(_ENTITIES) for part in _JOINTS.split(text))
    return "".join(f"<span>{part}</span>" if place % 2 else part for place, part in enumerate(parts))


# A sign that acts; a full stop, colon or hyphen inside a word; digits after a letter, as in the names of a team's own
# tracker; what is long enough for the name of a commit, in parts that are not.
_JOINTS = re.compile(r"([#$%&*+/<=>@\[\\\]^_`{|}~]|[.:-](?!\s)|(?<=[A-Za-z])[0-9]{1,6}|[0-9A-Fa-f]{6}(?=[0-9A-Fa-f]))")


def xml(words: Words) -> str:
    r"""Return words for XML 1.0, in an element or in an attribute with quotes of either kind.

    >>> xml(Untrusted("<a b='&'>\x00\uffff"))
    '&lt;a b=&#39;&amp;&#39;&gt;\\x00\\uffff'
    """
    text = plain(words)
    return text if text.isalnum() else text.translate(_XML)


_NAMED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
_XML = str.maketrans(_NAMED | {sign: f"&#{ord(sign)};" for sign in "'\n\r\t"})


def html(words: Words, longest: int = LONGEST) -> str:
    """Return words for HTML, in an element or in an attribute with quotes of either kind.

    >>> html(Untrusted("<a b='&'>"))
    '&lt;a b=&#39;&amp;&#39;&gt;'
    """
    text = words if isinstance(words, str) else escape_invisible(words.text, longest)
    return text if text.isalnum() else text.translate(_XML)


def embedded_json(json_text: str) -> str:
    r"""Return JSON for a `<script>` that holds data: no text in it ends the element or begins a comment.

    The strings are the same, so whoever shows them must escape them.

    >>> print(embedded_json('{"a": "</script><!--"}'))
    {"a": "\u003c/script\u003e\u003c!--"}
    """
    return json_text.translate(_IN_SCRIPT)


_IN_SCRIPT = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&"}


def spreadsheet_cell(words: Words) -> str:
    """Return words for a cell of a spreadsheet, which takes none of them for a formula.

    A formula begins with one of a few signs, even after blanks. An apostrophe before it makes it text (OWASP, CSV
    Injection). A semicolon begins a cell where that is the separator, as in half of Europe.

    >>> spreadsheet_cell(Untrusted("=1+1")), spreadsheet_cell(Untrusted("a; -b")), spreadsheet_cell("0.5")
    ("'=1+1", "a;' -b", '0.5')
    """
    return _FORMULA.sub(r"\1'", plain(words))


_FORMULA = re.compile("(^|;)(?=[ '\"]*[=+\\-@|%\uff1d\uff0b\uff0d\uff20])")


def sarif(words: Words) -> str:
    r"""Return words for a message of SARIF, in which brackets make links and braces stand for arguments.

    Source: SARIF 2.1.0, sections 3.11.5 and 3.11.6.

    >>> print(sarif(Untrusted("[a](b) {0}")))
    \[a\](b) {{0}}
    """
    return plain(words).translate({91: "\\[", 93: "\\]", 123: "{{", 125: "}}"})


def address(path: bytes) -> str:
    """Return a path's bytes as part of an address (RFC 3986): what could mean anything there is written as `%XX`.

    >>> address(b"a b/c#d")
    'a%20b/c%23d'
    """
    return path.decode("latin-1").translate(_RESERVED)


_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")
_RESERVED = {byte: f"%{byte:02X}" for byte in range(256) if byte not in _UNRESERVED}


def quote_phrase(phrase: Iterable[Words]) -> str:
    """Return a phrase for a terminal with recorded text in double quotes."""
    return "".join(f'"{plain(words)}"' if isinstance(words, Untrusted) else words for words in phrase)


def escape_invisible(text: str, longest: int) -> str:
    """Return a text cut to length, with every character that does not show written as an escape."""
    cut = text if len(text) <= longest else text[:longest] + "…"
    if cut.isascii() and cut.isprintable():
        return cut
    return "".join(
        c.encode("unicode_escape").decode("ascii") if unicodedata.category(c) in _UNSEEN or c in _INKLESS else c
        for c in cut
    )
