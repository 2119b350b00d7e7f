"""The records of a file: JSON, lines of JSON, a table, Parquet, or an archive of JSON; and what they hold. Pure.

A file is in memory as bytes. Text stays as it is, even half a surrogate pair.
"""

from __future__ import annotations

import codecs
import csv
import json
import math
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from io import BytesIO, StringIO
from itertools import islice, repeat
from typing import Any, NamedTuple

from safe_gate.addons.scale import parquet
from safe_gate.core.figures import plural
from safe_gate.core.jsontext import MAX_VALUES, BrokenJsonError, JsonError, item_lines, parse, value_at
from safe_gate.inputs import disk
from safe_gate.model.problems import Place

Path = tuple[str, ...]
MOST_BYTES = 16 << 20
"""The most bytes or characters of a line, of a document in an archive, and of what attachments add to a record."""

_MOST_UNPACKED, _MOST_RATIO = 128 << 20, 100  # bytes that an archive may hold in any case, and times its own size
_HEAD = 1 << 16  # bytes in which a table's header ends
_ZSTD = 93
_SAMPLE = re.compile(r"samples/.*\.json|header\.json|_journal/start\.json")
_DIGITS = re.compile(r"(\d+)")
_BLANK_LINES = re.compile(r"(?:[ \t,;]*+\r?\n)*+")
_NUMBERED = re.compile(r" \(column \d+\)$")
_QUOTED = re.compile(r'"[^"]*+"')
_PARQUET, _ZIP, _GZIP = b"PAR1", b"PK\x03\x04", b"\x1f\x8b"


class Record(NamedTuple):
    """A JSON value of a file, with the line that it starts in (of Parquet: the row; from 1; 0 for none).

    `shape` is the file's: `jsonl` for any JSON, `csv`, `tsv` or `parquet`. `name` is the document of an archive. What
    stands beside the lists of a document is its `is_header`. `field` is its place in a list. `fault` says why there is
    no value.
    """

    line: int
    value: Any
    shape: str = "jsonl"
    name: str = ""
    is_header: bool = False
    field: str = ""
    fault: str = ""


class RefusedRecord(Exception):
    """A record or a sample that cannot become a case, raised or as a value. The text says why.

    `id` is the id of its case, "" for that of the record; `field` is the place in the case.
    """

    def __init__(self, why: str, *, id_: str = "", field: str = "") -> None:
        super().__init__(why)
        self.id, self.field = id_, field


def is_json(value: Any) -> bool:
    """Return whether a value that was read holds no NaN and no infinite number."""
    if isinstance(value, dict | list):
        return all(map(is_json, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, float) or math.isfinite(value)


def has_value(value: Any) -> bool:
    """Return whether a field holds anything."""
    return value not in (None, "", [], {})


def field_words(name: str) -> str:
    """Return the name of a field as it is written in a sentence."""
    return f"the field {json.dumps(name[:40])}"


def id_text(value: Any) -> str:
    """Return an id as text: a text as it is, a number in digits, "" for anything else. Raises RefusedRecord for NaN."""
    if not is_json(value):
        raise RefusedRecord("has an id that JSON cannot hold; expected text or a number")
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def list_texts(value: Any) -> tuple[str, ...]:
    """Return the texts of a list, none of anything else."""
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def error_text(value: Any) -> str:
    """Return what an error says, an object as JSON; "" for none, which CSV may hold as `null` or `false`."""
    if isinstance(value, dict):
        value = value.get("message") or value.get("code") or value
    if isinstance(value, str):
        return "" if value.strip().lower() in ("", "null", "none", "false") else value[:80]
    is_none = not value or value != value  # noqa: PLR0124 - pandas writes NaN
    return "" if is_none else json.dumps(value, ensure_ascii=False)[:80]


def column_name(name: str) -> str:
    """Return the name of a column without the number that one with the name of another has."""
    return _NUMBERED.sub("", name)


IsRow = Callable[[Record], bool]


class NotReadable(Exception):
    """The rest of a file cannot be read. The message says why; `line` is where, from 1, or 0 for no line."""

    def __init__(self, why: str, line: int = 0) -> None:
        super().__init__(why)
        self.line = line


def parse_json(text: str, most: int = MAX_VALUES) -> Any:
    """Return the value of a JSON text, which may hold NaN and infinite numbers, as tools write. Raises JsonError."""
    return parse(text, any_number=True, most=most)


def to_utf8(data: bytes, encoding: str) -> bytes:
    """Return a file's bytes, those of text as UTF-8. Raises NotReadable for another encoding than the one named."""
    if not encoding or data.startswith((_PARQUET, _ZIP)):
        return data.removeprefix(codecs.BOM_UTF8)
    try:
        return data.decode(encoding).encode().removeprefix(codecs.BOM_UTF8)
    except UnicodeError as error:
        words = f"is not {encoding}: {getattr(error, 'reason', error)}; name another encoding with --encoding"
        raise NotReadable(words) from None


def detect_shape(data: bytes, wanted: str) -> str:
    """Return the shape of a file as in `Record`, by its first bytes; of a table, the `wanted` one.

    Raises NotReadable for a file that is empty, compressed or of another kind.
    """
    if data.startswith(_GZIP):
        raise NotReadable("is compressed with gzip; unpack it first")
    if data.startswith((_PARQUET, _ZIP)):
        return "parquet" if data.startswith(_PARQUET) else "jsonl"
    if b"\0" in data[:_HEAD]:
        raise NotReadable("has NUL bytes, as UTF-16 has; name it, such as --encoding utf-16-le, or remove them")
    start = data[:_HEAD].lstrip()[:1]
    if not start:
        raise NotReadable("is empty: there is nothing to import")
    if start in (b"[", b"{"):
        return "jsonl"
    delimiter = detect_delimiter(data[:_HEAD].decode("utf-8", "replace"))
    if wanted in ("csv", "tsv"):  # one column has no delimiter to tell
        return wanted
    if not delimiter:
        raise NotReadable("does not look like JSON, CSV, TSV, Parquet or .eval", 1)
    return "tsv" if delimiter == "\t" else "csv"


def _are_lines(data: bytes) -> bool:
    """Return whether a JSON file begins with an object on a line of its own, and goes on after it."""
    first, *more = islice(filter(bytes.strip, BytesIO(data)), 2)
    with suppress(JsonError):
        return bool(more) and isinstance(parse_json(first[:MOST_BYTES].decode("utf-8", "replace")), dict)
    return False


def read(data: bytes, shape: str, paths: Iterable[Path], is_row: IsRow) -> Iterator[Record]:
    """Yield the records of a file. Raises NotReadable where it is broken, ModuleNotFoundError if a library is missing.

    A JSON value is a record, or holds some in lists under the keys of `paths`; of what `is_row` it is a record.
    """
    if shape == "parquet":
        return _read_columns(data)
    if data.startswith(_ZIP):
        return _read_archive(data)
    if shape == "jsonl" and _are_lines(data):
        return _read_lines(data, paths, is_row)
    try:
        text = data.decode("utf-8")
        if shape == "jsonl":
            return _items_of(Record(1, parse_json(text, 4 * MAX_VALUES)), text, paths, is_row)
    except UnicodeDecodeError as error:
        raise NotReadable(_not_utf8(error)) from None
    except JsonError as error:
        raise NotReadable(_not_json(error), error.line) from None
    if text.startswith("sep="):
        raise NotReadable('begins with "sep=", which only Excel needs; remove this line', 1)
    delimiter = "\t" if shape == "tsv" else detect_delimiter(text[:_HEAD].replace("\t", " ")) or ","
    return read_table(_bounded_lines(text, delimiter), delimiter, shape)


def _not_json(error: JsonError) -> str:
    return disk.not_json_problem(error, Place("")).message


def _not_utf8(error: UnicodeDecodeError) -> str:
    byte = error.object[error.start]
    return f"is not UTF-8: it has the byte 0x{byte:02x}; name the encoding, such as --encoding cp1252"


# --- JSON -----------------------------------------------------------------------------------------


def _read_lines(data: bytes, paths: Iterable[Path], is_row: IsRow) -> Iterator[Record]:
    for number, line in enumerate(BytesIO(data), 1):
        if len(line) > MOST_BYTES:
            raise NotReadable(f"has a line of more than {MOST_BYTES} bytes", number)
        if not line.strip():
            continue
        try:
            yield from _items_of(Record(number, parse_json(line.decode("utf-8"))), "", paths, is_row)
        except (UnicodeDecodeError, JsonError) as error:
            words = _not_utf8(error) if isinstance(error, UnicodeDecodeError) else _not_json(error)
            if isinstance(error, UnicodeDecodeError | BrokenJsonError) and not line.endswith(b"\n"):  # it breaks off
                raise NotReadable(words, number) from None
            yield Record(number, None, fault=words)


def _items_of(document: Record, text: str, paths: Iterable[Path], is_row: IsRow) -> Iterator[Record]:
    """Yield the items of the list that a document is, or has under keys of `paths`, and its other fields as header.

    Any other document is one record. An empty `text` stands for one line.
    """
    value = document.value
    found = [((), value)] if isinstance(value, list) else [(path, value_at(value, *path)) for path in paths]
    lists = [(path, one) for path, one in found if isinstance(one, list)]
    if not lists or not value or is_row(document):
        yield document
        return
    if isinstance(value, dict):
        names = {path[0] for path, _ in lists}
        yield document._replace(value={key: one for key, one in value.items() if key not in names}, is_header=True)
    for path, items in lists:
        lines = item_lines(text, *path) if "\n" in text else repeat(1)
        for index, (item, line) in enumerate(zip(items, lines, strict=False)):
            yield Record(document.line + line - 1, item, field=f"{'.'.join(path)}[{index}]")


# --- tables ---------------------------------------------------------------------------------------


def detect_delimiter(text: str) -> str:
    r"""Return what stands between the fields of the header that a text begins with, "" where there is nothing.

    >>> detect_delimiter('id;"a, b";c\n1,2;3;4')
    ';'
    """
    text = _BLANK_LINES.sub("", text, count=1)
    header = re.split(r"[\r\n]", _QUOTED.sub("", text), maxsplit=1)[0]
    most = max(",;\t", key=header.count)
    return most if most in header else ""


def _bounded_lines(text: str, delimiter: str) -> Iterator[str]:
    """Yield the lines of a table. Raises NotReadable for one of too many characters or fields."""
    for number, line in enumerate(StringIO(text, newline=""), 1):
        if len(line) > MOST_BYTES:
            raise NotReadable(f"has a line of more than {MOST_BYTES} characters", number)
        if line.count(delimiter) > MAX_VALUES:
            raise NotReadable(f"has a line of more than {MAX_VALUES:,} fields", number)
        yield line


def read_table(lines: Iterable[str], delimiter: str, shape: str = "csv") -> Iterator[Record]:
    """Yield the rows of CSV as objects by its header; a row of another length than the header is refused.

    Lines keep their ends, names lose their outer blanks. Blank lines may stand before the header. Rows of
    empty cells, and empty cells in columns without a name, mean nothing. The header again is refused. A column with the
    name of an earlier one has its number in its name. Raises NotReadable where the quotes are broken.
    """
    before = csv.field_size_limit(MOST_BYTES)
    try:
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        header = next((row for row in reader if any(map(str.strip, row))), [])
        header = [name.strip() for name in header]
        while header and not header[-1]:
            header.pop()
        folded = [*map(str.casefold, header)]
        first = {name: at for at, name in reversed([*enumerate(header)])}
        names = [f"{name} (column {at + 1})" if name and first[name] < at else name for at, name in enumerate(header)]
        line = reader.line_num + 1
        for row in reader:
            cells = row if any(row[len(header) :]) else row[: len(header)]
            if not "".join(row).strip(" \t,;"):
                pass
            elif [cell.strip("\ufeff").strip().casefold() for cell in cells] == folded:
                yield Record(line, None, fault="is the header again, as where files are joined; remove it")
            elif len(cells) == len(header):
                yield Record(line, {name: cell for name, cell in zip(names, cells, strict=True) if cell or name}, shape)
            else:
                words = f"has {plural(len(row), 'field')}; expected {len(header)}, as the header has"
                yield Record(line, None, fault=words)
            line = reader.line_num + 1
    except csv.Error as error:
        raise NotReadable(f"is not CSV: {error}; correct the quotes, or export JSON", reader.line_num) from None
    finally:
        csv.field_size_limit(before)


def _read_columns(data: bytes) -> Iterator[Record]:
    try:
        for number, line in enumerate(parquet.read_rows(BytesIO(data), is_import=True), 1):
            try:
                value = None if isinstance(line, parquet.NotReadable) else parse_json(line)
                fault = f"is a row that JSON cannot hold: {line}" if value is None else ""
            except JsonError as error:
                value, fault = None, _not_json(error)
            yield Record(number, value, "parquet", fault=fault)
    except parquet.NotReadable as error:
        raise NotReadable(f"is not a readable Parquet file: {error}") from None


# --- archives -------------------------------------------------------------------------------------


def _read_archive(data: bytes) -> Iterator[Record]:
    """Yield the header and the samples of an archive, samples by their ids and epochs in the order of numbers."""
    broken: tuple[type[Exception], ...] = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError)
    try:
        archive: Any = zipfile.ZipFile(BytesIO(data))
        if any(one.compress_type == _ZSTD for one in archive.infolist()) and not hasattr(zipfile, "ZIP_ZSTANDARD"):
            from backports import zstd  # the extra `zstd`; Python 3.14 needs none
            from backports.zstd import zipfile as with_zstd

            archive, broken = with_zstd.ZipFile(BytesIO(data)), (*broken, with_zstd.BadZipFile, zstd.ZstdError)
        names = [one for one in archive.infolist() if _SAMPLE.fullmatch(one.filename)]
        if not names:
            if any(one.filename.startswith("xl/") for one in archive.infolist()):
                raise NotReadable("is a spreadsheet; save its sheet as CSV UTF-8")
            raise NotReadable("is an archive without a log of Inspect; unpack it first")
        size, held = sum(one.file_size for one in names), sum(one.compress_size for one in names)
        if size > _MOST_UNPACKED and size > _MOST_RATIO * held:
            raise NotReadable(f"expands from {held} bytes to {size}, which no log does")
        if any(one.filename == "header.json" for one in names):  # the other is an older copy
            names = [one for one in names if one.filename != "_journal/start.json"]
        for one in sorted(names, key=lambda entry: _numbers(entry.filename)):
            if one.file_size > MOST_BYTES:
                yield Record(0, None, fault=f"has {one.filename} of more than {MOST_BYTES} bytes")
                continue
            try:
                value, fault = parse_json(archive.read(one).decode("utf-8")), ""
            except JsonError as error:
                value, fault = None, _not_json(error)
            yield Record(0, value, "jsonl", one.filename, not one.filename.startswith("samples/"), fault=fault)
    except broken as error:
        raise NotReadable(f"is not a readable archive: {str(error)[:100]}") from None


def _numbers(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in _DIGITS.split(name)]
