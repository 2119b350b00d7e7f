"""Bounds on what an input holds: the bytes of a line, and of the texts of a case or an output. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any, BinaryIO

from safe_gate.core.evaluator import Evaluator
from safe_gate.model.codec import JsonObject
from safe_gate.settings.model import Bounds

BOUNDS = Bounds()
"""The bounds where no settings are read."""


class TooLongError(Exception):
    """A line of a file is longer than it may be."""

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line


def bounded_lines(file: BinaryIO, most: int) -> Iterator[bytes]:
    r"""Yield the lines of a file; only b"\n" ends a line: U+2028 and its like are text.

    Raises TooLongError for a line of more than `most` bytes, of which no more is read.
    """
    for number in count(1):
        line = file.readline(most + 1)
        if len(line) > most and not line.endswith(b"\n"):
            raise TooLongError(number)
        if not line:
            return
        yield line


def long_text(evaluator: Evaluator, case: Any, most: int) -> str | None:
    """Return the field of the first text in a case or output that is too long in UTF-8 for an evaluator.

    None if there is none. Fields that nobody reads, such as notes, only have the bound of lines.
    """
    fields = case if isinstance(case, dict) else {}
    found = (_long_text(fields[name], most, name) for name in evaluator.input.reads if name in fields)
    return next((field for field in found if field is not None), None) or _long_together(evaluator, fields, most)


def _long_together(evaluator: Evaluator, fields: JsonObject, most: int) -> str | None:
    """Return the texts of a case that are read as one, up to the text that exceeds the limit."""
    for texts in evaluator.input.read_as_one(fields):
        size = 0
        for field, text in texts:
            if (size := size + _size(text)) > most:
                return f"{texts[0][0]} to {field}"
    return None


def _size(value: Any) -> int:
    """Return how many bytes of UTF-8 a text has, or the text parts of a list."""
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogatepass"))
    return sum(_size(part.get("text")) for part in value if isinstance(part, dict)) if isinstance(value, list) else 0


def _long_text(value: Any, most: int, field: str) -> str | None:
    if isinstance(value, str):
        return field if 4 * len(value) > most and _size(value) > most else None
    inner: Iterable[tuple[str, Any]] = ()
    if isinstance(value, dict):
        inner = ((f"{field}.{key}", member) for key, member in value.items())
    elif isinstance(value, list):
        inner = ((f"{field}[{index}]", member) for index, member in enumerate(value))
    found = (_long_text(member, most, name) for name, member in inner)
    return next((name for name in found if name is not None), None)
