"""Regular expressions of a team, compiled and matched against a normalised text. Pure.

They run on RE2, which is linear in the text for any expression, and has no look-around and no back-references. It is
loaded only if a team has expressions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import re2

from safe_gate.core.text import without_diacritics
from safe_gate.core.text.mapped_text import Normalised

# A space, and what may hold one that means only itself: what is quoted, escaped or in brackets.
_SPACE = re.compile(r"\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]| ", re.DOTALL)
_BRACKETS = re.compile(r"(\[\^?\]?[^\]]*\])")
_LACKS = {
    "invalid perl operator": "RE2 has no look-ahead and no look-behind",
    "invalid escape sequence: \\1": "RE2 has no back-references",
}


def refusal_reason(pattern: str) -> str:
    """Return why RE2 refuses a pattern, with what it lacks if it is that; nothing if it takes it."""
    try:
        _compile(pattern)  # first as it is written, which the reason quotes
        compile_pattern(pattern)
    except UnicodeEncodeError:
        return "half a surrogate pair, which no text holds"
    except re2.error as error:
        why = error.args[0]
        words = why.decode() if isinstance(why, bytes) else str(why)
        return next((f"{words} ({reason})" for start, reason in _LACKS.items() if words.startswith(start)), words)
    return ""


def match_spans(pattern: str, text: Normalised) -> Iterator[tuple[int, int]]:
    """Yield the spans of a text that a pattern matches, without empty ones."""
    for stretch in text.stretches:
        for match in compile_pattern(pattern).finditer(text.encoded, *stretch):
            start, end = text.decoded(*match.span())
            if start < end:
                yield start, end


@lru_cache(maxsize=1_000)
def with_bare_words(pattern: str) -> str:
    """Return a pattern that also matches its words without diacritics, as texts may be read. Brackets stay."""
    if pattern.isascii():
        return pattern
    parts = _BRACKETS.split(pattern)
    parts[::2] = map(without_diacritics, parts[::2])
    return f"(?:{''.join(parts)})|{pattern}"


@lru_cache(maxsize=1_000)
def compile_pattern(pattern: str) -> Any:
    """Return a pattern compiled by RE2. A space outside of brackets also matches the end of a line."""
    return _compile(_SPACE.sub(lambda found: r"[ \n]" if found[0] == " " else found[0], pattern))


def _compile(pattern: str) -> Any:
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    options.never_capture = True  # only whole matches are asked for
    options.max_mem = 256 << 10  # bounds the bytes that an automaton caches
    try:
        return re2.compile(pattern, options=options)
    except re2.error:  # the pattern needs more memory, or is invalid
        options.max_mem = 64 << 20
        return re2.compile(pattern, options=options)
