"""Shell: files of lines and of rows, in parts of whole ones and in bounded memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import count as counting
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from safe_gate import addons
from safe_gate.core.evaluator import Evaluator
from safe_gate.core.jsontext import JsonError, parse
from safe_gate.core.model import CannotJudge, JsonObject, Place, Problem
from safe_gate.inputs.disk import BOM, decode, not_json, too_long
from safe_gate.settings.model import Bounds

BOUNDS = Bounds()
"""The bounds where no settings are read."""


class Part(NamedTuple):
    """Some whole lines of a file as bytes: a value that can be sent to another process.

    `name` is the file's name in problems, `first` the number of the first line, counted from 1. In a Parquet file
    (`is_columnar`) a line is a row, and the bytes are from `parquet.batches`. Its texts must be within `bounds`.
    """

    name: str
    first: int
    data: bytes
    is_columnar: bool = False
    bounds: Bounds = BOUNDS


PART_LINES = 50
"""So many lines a part has, unless somebody asks for another number."""

PART_BYTES = 1 << 20
"""A part ends with the line that reaches this number of bytes."""


class TooLongError(Exception):
    """A line of a file is longer than it may be."""

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line


def lines_in(file: BinaryIO, name: str, digest: hashlib._Hash, bounds: Bounds, size: int) -> Iterator[Part]:
    """Yield the lines of a file in parts, and add its bytes to a digest. Raises TooLongError."""
    first = 1
    while block := list(_block(file, size, first, bounds.line)):
        data = b"".join(block)
        digest.update(data)
        yield Part(name, first, data, bounds=bounds)
        first += len(block)


def bounded_lines(file: BinaryIO, first: int, most: int) -> Iterator[bytes]:
    """Yield the lines of a file, counted from `first`. Raises TooLongError for a line over the limit of bytes."""
    for number in counting(first):
        line = file.readline(most + 1)
        if len(line) > most and not line.endswith(b"\n"):
            raise TooLongError(number)
        if not line:
            return
        yield line


def _block(file: BinaryIO, size: int, first: int, most: int) -> Iterator[bytes]:
    r"""Yield the next lines of a file, as many as a part has; only b"\n" ends a line: U+2028 and its like are text."""
    length = 0
    for line in islice(bounded_lines(file, first, most), size):
        yield line
        length += len(line)
        if length >= PART_BYTES:
            return


def rows_in(file: BinaryIO, name: str, digest: hashlib._Hash, bounds: Bounds, size: int) -> Iterator[Part]:
    """Yield the rows of a Parquet file in parts, and add its bytes to a digest."""
    while data := file.read(PART_BYTES):
        digest.update(data)
    file.seek(0)
    first = 1
    for count, data in addons.scale.parquet.batches(file, size):
        yield Part(name, first, data, is_columnar=True, bounds=bounds)
        first += count


def is_columnar(path: Path) -> bool:
    """Return whether a file is Parquet by its name."""
    return path.suffix.lower() == ".parquet"


def numbered(lines: Iterable[bytes], first: int = 1) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file that are not blank, with their numbers; `first` is the first line's number."""
    for number, line in enumerate(lines, first):
        content = line.removeprefix(BOM) if number == 1 else line
        if content.strip():
            yield number, content


def lines_of(part: Part) -> dict[int, bytes]:
    """Return the lines of a part by their numbers, none of a Parquet file."""
    return {} if part.is_columnar else dict(numbered(BytesIO(part.data), part.first))


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
        is_long = len(value) > most or (4 * len(value) > most and len(value.encode("utf-8", "surrogatepass")) > most)
        return field if is_long else None
    inner: Iterable[tuple[str, Any]] = ()
    if isinstance(value, dict):
        inner = ((f"{field}.{key}", member) for key, member in value.items())
    elif isinstance(value, list):
        inner = ((f"{field}[{index}]", member) for index, member in enumerate(value))
    found = (_long_text(member, most, name) for name, member in inner)
    return next((name for name in found if name is not None), None)


def values_of_lines(part: Part) -> Iterator[tuple[Place, Any] | Problem]:
    """Yield the value and place of each line of a part, or a problem for invalid JSON."""
    for number, line in numbered(BytesIO(part.data), part.first):
        place = Place(part.name, number)
        try:
            yield place, parse(decode(line, part.name, number))
        except JsonError as error:
            yield not_json(error, place)
        except CannotJudge as error:
            yield from error.problems


def values_of_rows(part: Part) -> Iterator[tuple[Place, Any] | Problem]:
    """Yield the value and place of each row of a Parquet part, or a problem if JSON cannot hold it."""
    for number, line in enumerate(addons.scale.parquet.lines(part.data), part.first):
        place = Place(part.name, number)
        if isinstance(line, str) and len(line) > part.bounds.line:
            yield Problem(place, too_long(part.bounds.line, "bounds.line"))
            continue
        try:
            if isinstance(line, addons.scale.parquet.NotReadable):
                raise line
            yield place, parse(line)
        except (JsonError, addons.scale.parquet.NotReadable) as error:
            words = "is a row that JSON cannot represent"
            yield Problem(place, f"{words}: {error}", text_free=words)
