"""The places of recorded texts in their line of JSON. Pure.

A column counts UTF-16 code units from 1, as editors do and as SARIF's `utf16CodeUnits` says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count

from safe_gate.core.jsontext import Path, units
from safe_gate.model.results import Mark, Side

Span = tuple[int, int]
"""The columns of the first character and of the one after the last."""

_KEY = re.compile(r"([^.\[\]]+)|\[([0-9]+)\]")
_STRING = re.compile(r'"((?:[^"\\]++|\\.)*+)"')
_CHARACTER = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]", re.DOTALL
)


def deciding(line: str, places: Mapping[Path, int], reply: str, marks: Iterable[Mark]) -> dict[str, Span]:
    r"""Return the columns of the first words against a case, by metric or check; "" is the reply.

    `places` are the `jsontext.offsets` of the line, `reply` is the field of the reply. A field that the line does not
    hold is left out.

    >>> from safe_gate.core.jsontext import offsets
    >>> line = '{"reply": "a\\nbad"}'
    >>> deciding(line, dict(offsets(line)), "reply", [Mark("reply", 2, 5, "bad", Side.AGAINST, "tone", "is rude")])
    {'': (12, 18), 'tone': (15, 18)}
    """
    wanted: dict[str, tuple[str, int, int | None]] = {"": (reply, 0, None)}
    for mark in marks:
        if mark.side is Side.AGAINST:
            wanted.setdefault(mark.by, (mark.field, mark.start, mark.end))
    found = {by: _span(line, places, *where) for by, where in wanted.items()}
    return {by: span for by, span in found.items() if span}


def _span(line: str, places: Mapping[Path, int], field: str, start: int, end: int | None) -> Span | None:
    """Return the columns of a field's characters from `start` to `end` that lie in one string."""
    found = None
    for bounds in _texts(line, places, field):
        length = len(bounds) - 1
        if start <= length:
            last = length if end is None else min(end, length)
            found = 1 + units(line[: bounds[start]]), 1 + units(line[: bounds[last]])
        if start < length:
            break
        start, end = start - length, end and end - length
    return found


def _texts(line: str, places: Mapping[Path, int], field: str) -> Iterator[Sequence[int]]:
    """Yield the bounds of a field's strings: its own, a message's content, or the parts of the content."""
    path: Path = tuple(key or int(index) for key, index in _KEY.findall(field))
    parts = ((*path, "content", number, "text") for number in count())
    for one in (path, (*path, "content")):
        if one in places and line[places[one]] == '"':
            yield _bounds(line, places[one])
            return
    for one in parts:
        if one not in places:
            return
        yield _bounds(line, places[one])


def _bounds(line: str, quote: int) -> Sequence[int]:
    """Return the place of each character of the string that begins with a quote, and of its end."""
    literal = _STRING.match(line, quote)
    if not literal:
        return ()
    start, end = literal.span(1)
    if "\\" not in literal[1]:
        return range(start, end + 1)
    return [*(one.start() for one in _CHARACTER.finditer(line, start, end)), end]
