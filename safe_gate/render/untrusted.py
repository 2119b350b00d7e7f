"""The one door for recorded text: ids, quotes, file names, tags, on their way to a reader.

Pure. Each format has one function that takes `Words` and gives text that cannot act: no terminal
escape, no workflow command, no markup, no mention, no hidden or reordering character.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from safe_gate.model import Untrusted, Words

LONGEST = 160
"""Recorded text is shown up to this many characters, then cut with an ellipsis."""

# Control, format (bidi overrides and zero-width characters among them), surrogates, line separators.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Letters and marks that leave no ink, which categories do not tell.
_INKLESS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def plain(words: Words, longest: int = LONGEST) -> str:
    r"""Return words for a terminal or a log line.

    >>> plain(Untrusted("a\x1b[2J\u202eb ##[error]c"))
    'a\\x1b[2J\\u202eb #\\x23[error]c'
    """
    if isinstance(words, str):
        return words
    text = visible(words.text, longest)
    # The runner reads commands at a line's start after blanks, and its old `##[` anywhere in a line
    # (actions/runner, ActionCommand.TryParseV2 and TryParse).
    text = text.replace("##[", "#\\x23[")
    return text.replace(":", "\\x3a", 1) if text.lstrip().startswith(":") else text


def markdown(words: Words, longest: int = LONGEST) -> str:
    """Return words for GitHub Markdown: recorded text as code in which every sign is an entity.

    Inside `<code>` GitHub makes no mention, issue link or autolink; as entities `|`, backticks,
    `*`, `<!--` and the rest are text wherever they stand, in a table cell too.

    >>> markdown(Untrusted("@org | <b>"))
    '<code>&#64;org &#124; &#60;b&#62;</code>'
    """
    if isinstance(words, str):
        return words
    shown = visible(words.text, longest)
    encoded = "".join(c if c.isalnum() or c in " ,'-" or ord(c) > 0x7F else f"&#{ord(c)};" for c in shown)
    return f"<code>{encoded or ' '}</code>"


def quoted(phrase: Iterable[Words]) -> str:
    """Return a phrase for a terminal with recorded text in double quotes."""
    return "".join(f'"{plain(words)}"' if isinstance(words, Untrusted) else words for words in phrase)


def visible(text: str, longest: int) -> str:
    """Return a text cut to length, with every character that does not show written as an escape."""
    cut = text if len(text) <= longest else text[:longest] + "…"
    if cut.isascii() and cut.isprintable():
        return cut
    return "".join(_escape(c) if unicodedata.category(c) in _UNSEEN or c in _INKLESS else c for c in cut)


def _escape(char: str) -> str:
    code = ord(char)
    if char in _SHORT:
        return _SHORT[char]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
