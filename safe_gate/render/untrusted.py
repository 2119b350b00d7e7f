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
# What every bare address has between its parts: pat@host.example, https://host, www.host (cmark-gfm, autolink.c).
_LINKING = ".:@"
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

    Inside `<code>` GitHub makes no mention and no issue link; as entities `|`, backticks, `*`,
    `<!--` and the rest are text wherever they stand, in a table cell too. Bare addresses are linked
    in code as well, once entities are read: `<wbr>` takes them apart, and leaves no trace in a copy.

    >>> markdown(Untrusted("@org | <b>"))
    '<code><wbr>&#64;org &#124; &#60;b&#62;</code>'
    """
    if isinstance(words, str):
        return words
    shown = visible(words.text, longest)
    return f"<code>{''.join(map(_entity, shown)) or ' '}</code>"


def quoted(phrase: Iterable[Words]) -> str:
    """Return a phrase for a terminal with recorded text in double quotes."""
    return "".join(f'"{plain(words)}"' if isinstance(words, Untrusted) else words for words in phrase)


def visible(text: str, longest: int) -> str:
    """Return a text cut to length, with every character that does not show written as an escape."""
    cut = text if len(text) <= longest else text[:longest] + "…"
    if cut.isascii() and cut.isprintable():
        return cut
    return "".join(_escape(c) if unicodedata.category(c) in _UNSEEN or c in _INKLESS else c for c in cut)


def _entity(char: str) -> str:
    if char.isalnum() or char in " ,'-" or ord(char) > 0x7F:
        return char
    return f"{'<wbr>' if char in _LINKING else ''}&#{ord(char)};"


def _escape(char: str) -> str:
    code = ord(char)
    if char in _SHORT:
        return _SHORT[char]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
