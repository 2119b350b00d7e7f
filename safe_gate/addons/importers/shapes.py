"""Shell: the records of an open file of any importable shape, and their format.

Reads the file. Archives that Inspect compresses with zstd need Python 3.14 or `backports.zstd` (the extra `zstd`).
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from io import TextIOWrapper
from itertools import count, islice
from typing import Any, BinaryIO, NamedTuple

from safe_gate.addons.importers import formats, records
from safe_gate.addons.importers.formats import Format, Record, Refused
from safe_gate.addons.importers.records import NotReadable
from safe_gate.addons.scale import parquet
from safe_gate.core.jsontext import MAX_VALUES, TooManyValuesError
from safe_gate.core.text.patterns import later

_HEAD = 1 << 16
_MOST_UNPACKED, _MOST_RATIO = 128 << 20, 100  # bytes that an archive may hold in any case, and times its own size
_FIRST_LINE = 4 << 20  # a longer one may be a document in one line
_LOOKED_AT = 20
_SAMPLE = later(r"samples/.*\.json|header\.json|_journal/start\.json")
_HEADERS = ("header.json", "_journal/start.json")
_DIGITS = later(r"(\d+)")
_ZSTD = 93
_OF_TEXT = ("commas", "tabs")
_TABLES = (*_OF_TEXT, "columns")
_SHAPES = {"lines": "json", "document": "json"}
_ROWS = 50


class Guess(NamedTuple):
    """The shape of a file, and the format of its first records, None if no format knows them.

    `fields` are the names in the detected record, or else in the first one. `is_list` tells whether the whole file is a
    list with that record as an item.
    """

    shape: str
    format: Format | None
    fields: tuple[str, ...] = ()
    is_list: bool = False

    @property
    def is_of_rows(self) -> bool:
        """Whether the records may be ours: no tool's, but rows with named fields or conversations."""
        return self.format is None or bool(self.format.shape) or self.format.name == "messages"

    @property
    def is_table(self) -> bool:
        """Whether the records are rows of a table in which `fields` are all the columns."""
        return bool(self.format and self.format.shape and self.fields) and self.shape in _TABLES

    @property
    def title(self) -> str:
        """The format in a sentence."""
        words = self.format.title if self.format else "an unknown format"
        inside = {"commas": "CSV", "tabs": "TSV", "columns": "Parquet"}.get(self.shape, "")
        return words if not inside or words == inside else f"{words} as {inside}"


def guess(file: BinaryIO, wanted: Format | None = None) -> Guess:
    """Return what a file looks like by its content; `wanted` is the format that is asked for, if any.

    Raises NotReadable for what is in none of the shapes, or is broken where it begins.
    """
    shape = _shape(file, wanted)
    fields: tuple[str, ...] = ()
    if wanted is not None:
        first = next((one.value for one in read(file, shape) if isinstance(one, Record)), None)
        return Guess(shape, wanted, _names(first))
    is_refused = is_list = False
    for one in islice(read(file, shape), _LOOKED_AT):
        if isinstance(one, Refused):
            is_refused = True
            continue
        if (found := formats.detected(one)) and (not one.path or one.path in found.paths):
            return Guess(shape, found, _names(one.value), is_list=shape == "document" and not one.path)
        if isinstance(one.value, dict) and not fields:
            fields, is_list = _names(one.value), shape == "document" and not one.path
    return Guess(shape, general(shape) if is_refused and not fields else None, fields, is_list)


def _names(value: Any) -> tuple[str, ...]:
    """Return the names of the fields of an object, that of a column that is there twice as often; none of others."""
    pairs = value.items() if isinstance(value, dict) else ()
    return tuple(name for name, one in pairs for _ in (one if isinstance(one, records.Twice) else (one,)))


def general(shape: str) -> Format | None:
    """Return the format of rows with named fields in a shape, whatever their names."""
    shape = _SHAPES.get(shape, shape)
    return next((one for one in formats.formats().values() if one.shape == shape), None)


def read(file: BinaryIO, shape: str) -> Iterator[Record | Refused]:
    """Yield the records of a file from its start. Raises NotReadable where it breaks off or is broken.

    ModuleNotFoundError where a library is missing.
    """
    file.seek(0)
    if shape == "lines":
        yield from _lines(file)
    elif shape == "document":
        for found in records.document(_chunks(_text(file)), formats.paths()):
            if isinstance(found.value, NotReadable):
                yield Refused(str(found.value), "", found.line)
            else:
                yield Record(found.line, found.value, found.path)
    elif shape == "columns":
        yield from _columns(file)
    elif shape == "archive":
        yield from _archive(file)
    else:
        yield from _table(file, shape)


def _shape(file: BinaryIO, wanted: Format | None) -> str:
    head = file.read(_HEAD)
    if head.startswith(b"\x1f\x8b"):
        raise NotReadable("is compressed with gzip; unpack it first", 0)
    if b"\n" not in head and len(head) == _HEAD:  # a first line that is long, or all in one line
        head += file.readline(_FIRST_LINE) + file.readline(_FIRST_LINE)
    found = records.shape(head)
    asked = wanted.shape if wanted is not None else ""
    if asked in _OF_TEXT and found in ("", *_OF_TEXT):  # one column has no delimiter to tell
        return asked
    if b"\0" in head and found not in ("columns", "archive"):
        raise NotReadable("has NUL bytes, as UTF-16 has; name the encoding, such as --encoding utf-16-le", 0)
    if not head.strip():
        raise NotReadable("is empty: there is nothing to import", 0)
    if not found:
        raise NotReadable("does not look like JSON, CSV, TSV, Parquet or .eval", 1)
    if wanted is not None and asked not in ("", _SHAPES.get(found, found)):
        raise NotReadable(f"is not {wanted.title}; leave --from out to detect the format", 0)
    if found == "document" and b"\n" not in head and next(read(file, found), None) is None:
        return "lines"  # the first is a long object without a list of records
    return "document" if found == "lines" and _is_document(head) else found


def _is_document(head: bytes) -> bool:
    """Return whether the first line is a whole document with records inside, and the next one too, if any."""
    lines = [line for line in head.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip()]
    return all(map(_has_list, lines[:2]))


def _has_list(line: bytes) -> bool:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return any(isinstance(_at(value, path), list) for path in formats.paths())


def _at(value: object, path: tuple[str, ...]) -> object:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _lines(file: BinaryIO) -> Iterator[Record | Refused]:
    number = 0
    while line := file.readline(records.MOST + 1):
        number += 1
        if len(line) > records.MOST:
            raise NotReadable(f"has a line of more than {records.MOST} bytes", number)
        content = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
        if not content.strip():
            continue
        try:
            yield Record(number, records.value_of(content.decode("utf-8")))
        except (ValueError, RecursionError) as error:
            is_broken = not isinstance(error, RecursionError | records.KeyTwiceError | TooManyValuesError)
            if is_broken and not line.endswith(b"\n"):
                raise NotReadable("breaks off", number) from None
            yield Refused(_unreadable(error), "", number)


def _unreadable(error: ValueError | RecursionError) -> str:
    """Return why a line is no record."""
    if isinstance(error, UnicodeDecodeError):
        return str(_not_utf_8(error))
    if isinstance(error, records.KeyTwiceError):
        return str(error)
    if isinstance(error, RecursionError):
        return records.TOO_DEEP
    if isinstance(error, TooManyValuesError):
        return f"holds {error}"
    return f"is not valid JSON: {error.msg.lower() if isinstance(error, json.JSONDecodeError) else 'it cannot be held'}"


def _text(file: BinaryIO) -> TextIOWrapper:
    return TextIOWrapper(file, encoding="utf-8-sig", errors="strict", newline="")


def _chunks(text: TextIOWrapper) -> Iterator[str]:
    try:
        while chunk := text.read(_HEAD):
            yield chunk
    except UnicodeDecodeError as error:
        raise _not_utf_8(error) from None
    finally:
        _detach(text)


def _detach(text: TextIOWrapper) -> None:
    """Leave a file to whoever opened it, who may have closed it already, as after an error."""
    with suppress(ValueError):
        text.detach()


def _not_utf_8(error: UnicodeDecodeError) -> NotReadable:
    words = f"is not UTF-8: byte 0x{error.object[error.start]:02x}; tried UTF-8, as no byte order mark says otherwise"
    return NotReadable(f"{words}; name the encoding, such as --encoding cp1252", 0)


def _table(file: BinaryIO, shape: str) -> Iterator[Record | Refused]:
    text = _text(file)
    try:
        delimiter: str | None = "\t"
        if shape != "tabs":
            delimiter = records.delimiter_of(text.read(_HEAD).replace("\t", " "))
            text.seek(0)
        for found in records.table(_bounded(text, delimiter or ","), delimiter or ","):
            if isinstance(found, NotReadable):
                yield Refused(str(found), "", found.line)
            else:
                yield Record(found.line, found.value, (), shape)
    except UnicodeDecodeError as error:
        raise _not_utf_8(error) from None
    finally:
        _detach(text)


def _bounded(text: TextIOWrapper, delimiter: str) -> Iterator[str]:
    """Yield the lines of a table. Raises NotReadable for one of too many characters or fields."""
    for number in count(1):
        line = text.readline(records.MOST + 1)
        if len(line) > records.MOST:
            raise NotReadable(f"has a line of more than {records.MOST} characters", number)
        if line.count(delimiter) > MAX_VALUES:
            raise NotReadable(f"has a line of more than {MAX_VALUES:,} fields", number)
        if not line:
            return
        yield line


def _columns(file: BinaryIO) -> Iterator[Record | Refused]:
    number = 0
    try:
        for _, data in parquet.batches(file, _ROWS):
            for line in parquet.lines(data, is_import=True):
                number += 1
                try:
                    if isinstance(line, parquet.NotReadable):
                        raise line
                    yield Record(number, records.value_of(line), (), "columns")
                except parquet.NotReadable as error:
                    yield Refused(f"is a row that JSON cannot hold: {error}", "", number)
                except (records.KeyTwiceError, TooManyValuesError) as error:
                    yield Refused(_unreadable(error), "", number)
    except parquet.NotReadable as error:
        raise NotReadable(f"is not a readable Parquet file: {error}", 0) from None


def _archive(file: BinaryIO) -> Iterator[Record | Refused]:
    """Yield the header and the samples of an archive, samples by their ids and epochs in the order of numbers."""
    archive, broken = _zip(file)
    try:
        with archive:
            names = [one for one in archive.infolist() if _SAMPLE.fullmatch(one.filename)]
            size, held = sum(one.file_size for one in names), sum(one.compress_size for one in names)
            if size > _MOST_UNPACKED and size > _MOST_RATIO * held:
                raise NotReadable(f"expands from {held} bytes to {size}, which no log does", 0)
            headers = [one for one in names if one.filename == _HEADERS[0]] or names
            for one in sorted(
                names,
                key=lambda entry: [
                    (int(part), "") if part.isdigit() else (-1, part) for part in _DIGITS.split(entry.filename)
                ],
            ):
                if one.filename in _HEADERS and one is not headers[0]:
                    continue
                if one.file_size > records.MOST:
                    yield Refused(f"has {one.filename} of more than {records.MOST} bytes")
                    continue
                try:
                    yield Record(0, records.value_of(archive.read(one).decode("utf-8")), (), "archive", one.filename)
                except (records.KeyTwiceError, TooManyValuesError) as error:
                    yield Refused(f"{_unreadable(error)} in {one.filename}")
    except broken as error:
        raise NotReadable(f"is not a readable archive: {str(error)[:100]}", 0) from None


def _zip(file: BinaryIO) -> tuple[Any, tuple[type[Exception], ...]]:
    """Open an archive with a library that knows its compression, and return what it raises for broken ones.

    Raises ModuleNotFoundError where zstd is needed and there is none.
    """
    common = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, RecursionError)
    try:
        archive = zipfile.ZipFile(file)
    except common as error:
        raise NotReadable(f"is not a readable archive: {error}", 0) from None
    if not any(one.compress_type == _ZSTD for one in archive.infolist()) or hasattr(zipfile, "ZIP_ZSTANDARD"):
        return archive, common
    from backports import zstd
    from backports.zstd import zipfile as with_zstd

    return with_zstd.ZipFile(file), (*common, with_zstd.BadZipFile, zstd.ZstdError)
