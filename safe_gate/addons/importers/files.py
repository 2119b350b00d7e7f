"""The records of a file: lines of JSON, lists in a JSON document, rows of CSV or Parquet, an archive. Pure.

A file is in memory, as bytes of UTF-8. Text stays as it is, even half a surrogate pair.
"""

from __future__ import annotations

import csv
import json
import re
import zipfile
import zlib
from collections.abc import Collection, Generator, Iterable, Iterator
from io import BytesIO, StringIO
from typing import Any

from safe_gate.addons.importers.rows import Record, Refused
from safe_gate.addons.scale import parquet
from safe_gate.core.figures import plural
from safe_gate.core.jsontext import MAX_VALUES, TooManyValuesError, bound, is_deep, repeated
from safe_gate.core.text.patterns import later

MOST = 16 << 20
"""The most bytes or characters of a line, an item of a list and a document of an archive."""


Keys = tuple[str, ...]

_MOST_UNPACKED, _MOST_RATIO = 128 << 20, 100  # bytes that an archive may hold in any case, and times its own size
_HEAD = 1 << 16  # characters in which a table's header ends
_ROWS = 50
_ZSTD = 93
_SAMPLE = later(r"samples/.*\.json|header\.json|_journal/start\.json")
_DIGITS = later(r"(\d+)")
_BLANKS = later(r"[ \t\n\r]*+")
_TO_BRACKET = later(r'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+")*+[\[\]{}]', re.DOTALL)
_BLANK_LINES = later(r"(?:[ \t,;]*+\r?\n)*+")
_SEPARATOR = later(r'"?sep=([^"\w\r\n])"?[ \t,;]*+\r?\n', re.IGNORECASE)
_TOO_DEEP = "is nested too deep"


class NotReadable(Exception):
    """The rest of a file cannot be read. The message says why; `line` is where, from 1, or 0 for no line."""

    def __init__(self, why: str, line: int = 0) -> None:
        super().__init__(why)
        self.line = line


class Twice(tuple[str, ...]):
    """The cells of columns with the same name, in their order."""


class KeyTwiceError(ValueError):
    """An object has a key twice."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        key = next(repeated(name for name, _ in pairs))
        raise KeyTwiceError(f"has the key {json.dumps(key[:40])} twice in one object; keep one")
    return found


_decoder = json.JSONDecoder(object_pairs_hook=_unique)


def value_of(text: str) -> Any:
    """Return the value of a JSON text, which may hold NaN and infinite numbers, as tools write them.

    Raises KeyTwiceError, TooManyValuesError, ValueError as the parser does, and RecursionError for a text that is
    nested too deep.
    """
    bound(text)
    value = json.loads(text, object_pairs_hook=_unique)
    if is_deep(value):
        raise RecursionError
    return value


def shape_of(data: bytes, paths: Collection[Keys]) -> str:
    """Return the shape of a file: `lines`, `document`, `commas`, `tabs`, `columns` or `archive`; "" for none of these.

    Lines that hold lists of records under keys of `paths` are documents.
    """
    if data.startswith(b"PAR1"):
        return "columns"
    if data.startswith(b"PK\x03\x04"):
        return "archive"
    start = data[:_HEAD].lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if start == b"[":
        return "document"
    if start == b"{":
        first = [_value(line) for line in _first_lines(data, 2)]
        if not any(isinstance(value, dict) for value in first):
            return "document"
        return "document" if all(any(isinstance(_at(one, path), list) for path in paths) for one in first) else "lines"
    delimiter = delimiter_of(data[:_HEAD].decode("utf-8-sig", "replace"))
    return {"": "", "\t": "tabs"}.get(delimiter, "commas")


def _first_lines(data: bytes, most: int) -> list[bytes]:
    """Return the first lines that are not blank, without those that are too long to be lines."""
    file, found = BytesIO(data.removeprefix(b"\xef\xbb\xbf")), list[bytes]()
    while len(found) < most and (line := file.readline(MOST + 1)):
        found += [line] if line.strip() else []
    return found


def _value(line: bytes) -> Any:
    """Return the value of a line, None if it is not JSON."""
    try:
        text = line.decode("utf-8", "replace") if len(line) <= MOST else ""
        bound(text)
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _at(value: object, path: Keys) -> object:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def read(data: bytes, shape: str, paths: Collection[Keys]) -> Iterator[Record | Refused]:
    """Yield the records of a file. Raises NotReadable where it is broken, ModuleNotFoundError if a library is missing.

    `paths` are the keys that lead to the records of a JSON document.
    """
    if shape == "lines":
        return _lines(data)
    if shape == "columns":
        return _columns(data)
    if shape == "archive":
        return _archive(data)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _not_utf_8(error) from None
    return _Document(text, paths).records() if shape == "document" else _table(text, shape)


def _not_utf_8(error: UnicodeDecodeError) -> NotReadable:
    words = f"is not UTF-8: byte 0x{error.object[error.start]:02x}; tried UTF-8, as no byte order mark says otherwise"
    return NotReadable(f"{words}; name the encoding, such as --encoding cp1252")


# --- lines of JSON --------------------------------------------------------------------------------


def _lines(data: bytes) -> Iterator[Record | Refused]:
    for number, line in enumerate(BytesIO(data.removeprefix(b"\xef\xbb\xbf")), 1):
        if len(line) > MOST:
            raise NotReadable(f"has a line of more than {MOST} bytes", number)
        if not line.strip():
            continue
        try:
            yield Record(number, value_of(line.decode("utf-8")))
        except (ValueError, RecursionError) as error:
            is_broken = not isinstance(error, RecursionError | KeyTwiceError | TooManyValuesError)
            if is_broken and not line.endswith(b"\n"):
                raise NotReadable("breaks off", number) from None
            yield Refused(_unreadable(error), Record(number, None))


def _unreadable(error: ValueError | RecursionError) -> str:
    """Return why a line is no record."""
    if isinstance(error, UnicodeDecodeError):
        return str(_not_utf_8(error))
    if isinstance(error, RecursionError):
        return _TOO_DEEP
    if isinstance(error, TooManyValuesError):
        return f"holds {error}"
    if isinstance(error, KeyTwiceError):
        return str(error)
    return f"is not valid JSON: {error.msg.lower() if isinstance(error, json.JSONDecodeError) else 'it cannot be held'}"


# --- lists in a JSON document ---------------------------------------------------------------------


class _Document:
    """A JSON text, or several one after the other, that holds records in lists."""

    def __init__(self, text: str, paths: Collection[Keys]) -> None:
        self._text, self._paths, self._place = text, paths, 0
        self._line, self._counted = 1, 0

    def records(self) -> Iterator[Record | Refused]:
        """Yield the items of the list that the text is, or of the lists under keys of its objects.

        Any other value under keys of the paths is one record. Raises NotReadable for broken JSON, and for a later text
        that has none of this.
        """
        has_records = False
        while self._peek():
            line = self._here
            has_more = yield from self._inside(())
            if has_records and not has_more:
                words = "has no list of records, as the document before it has; put it into a file of its own"
                raise NotReadable(words, line)
            has_records = has_more

    def _inside(self, at: Keys) -> Generator[Record | Refused, None, bool]:
        """Yield what is found in the next value, and return whether it has a list or a value that is asked for."""
        letter, is_wanted = self._peek(), at in self._paths or not at
        if letter == "[" and is_wanted:
            self._place += 1
            if self._ends("]"):
                return True
            while True:
                yield self._record(at)
                if self._expect(",]") == "]":
                    return True
        if letter == "{" and any(path[: len(at)] == at and path != at for path in self._paths):
            self._place += 1
            has_one, has_keys = False, not self._ends("}")
            while has_keys:
                key = self._value()
                if not isinstance(key, str):
                    raise NotReadable("is not valid JSON: a key of an object is not a string", self._here)
                self._expect(":")
                has_one |= yield from self._inside((*at, key))
                has_keys = self._expect(",}") == ","
            return has_one
        if at in self._paths:
            yield self._record(at)
            return True
        self._skip()
        return False

    def _record(self, at: Keys) -> Record | Refused:
        self._peek()
        line = self._here
        try:
            value = self._value()
        except KeyTwiceError as error:
            self._skip()
            return Refused(str(error), Record(line, None))
        return Refused(_TOO_DEEP, Record(line, None)) if is_deep(value) else Record(line, value, at)

    @property
    def _here(self) -> int:
        """The line of the present place."""
        self._line += self._text.count("\n", self._counted, self._place)
        self._counted = self._place
        return self._line

    def _peek(self) -> str:
        """Return the next character that is not blank, "" at the end."""
        blanks = _BLANKS.match(self._text, self._place)
        self._place = blanks.end() if blanks else self._place
        return self._text[self._place : self._place + 1]

    def _ends(self, bracket: str) -> bool:
        """Take a closing bracket if it is the next character. Return whether it is."""
        is_next = self._peek() == bracket
        self._place += is_next
        return is_next

    def _expect(self, allowed: str) -> str:
        """Take the next character that is not blank. Raises NotReadable for another than those allowed."""
        found = self._peek()
        if not found:
            raise NotReadable("breaks off", self._here)
        if found not in allowed:
            raise NotReadable(f"is not valid JSON: {json.dumps(found)} is not expected here", self._here)
        self._place += 1
        return found

    def _end(self) -> int:
        """Return where the next value ends if it is an object or a list, else where it begins."""
        depth, place = int(self._peek() in ("{", "[")), self._place
        place += depth
        while depth:
            found = _TO_BRACKET.match(self._text, place)
            if found is None:
                return len(self._text)
            place = found.end()
            depth += 1 if self._text[place - 1] in "[{" else -1
        return place

    def _skip(self) -> None:
        """Pass over the next value."""
        end = self._end()
        if end == self._place:
            self._value()
        elif self._text[end - 1] in "]}":
            self._place = end
        else:
            raise NotReadable("breaks off", self._here)

    def _value(self) -> Any:
        """Take the next value. Raises NotReadable if it is invalid, incomplete or too long, and KeyTwiceError."""
        size = self._end() - self._place
        if size > MOST:
            raise NotReadable(f"has an item of more than {MOST} characters, or is not valid JSON", self._here)
        try:
            bound(self._text[self._place : self._place + size])
            value, self._place = _decoder.raw_decode(self._text, self._place)
        except TooManyValuesError as error:
            raise NotReadable(f"has an item that holds {error}", self._here) from None
        except RecursionError:
            raise NotReadable(_TOO_DEEP, self._here) from None
        except json.JSONDecodeError as error:
            is_more = self._text[error.pos :].strip()
            words = f"is not valid JSON: {error.msg.lower()}" if is_more else "breaks off"
            raise NotReadable(words, self._here) from None
        except KeyTwiceError:
            raise
        except ValueError:
            raise NotReadable("holds a number of too many digits", self._here) from None
        return value


# --- tables ---------------------------------------------------------------------------------------


def delimiter_of(text: str) -> str:
    r"""Return what stands between the fields of the header that a text begins with, "" where there is nothing.

    >>> delimiter_of('id;"a, b";c\n1,2;3;4'), delimiter_of("\nsep=|\na|b")
    (';', '|')
    """
    before = _BLANK_LINES.match(text)
    start = before.end() if before else 0
    if named := _SEPARATOR.match(text, start):
        return named[1]
    counts = dict.fromkeys(",;\t", 0)
    is_quoted = False
    for letter in text[start:]:
        if letter == '"':
            is_quoted = not is_quoted
        elif letter in "\r\n" and not is_quoted:
            break
        elif letter in counts and not is_quoted:
            counts[letter] += 1
    most = max(counts, key=lambda one: counts[one])
    return most if counts[most] else ""


def _table(text: str, shape: str) -> Iterator[Record | Refused]:
    delimiter = "\t" if shape == "tabs" else delimiter_of(text[:_HEAD].replace("\t", " ")) or ","
    return table(_bounded(text, delimiter), delimiter, shape)


def _bounded(text: str, delimiter: str) -> Iterator[str]:
    """Yield the lines of a table. Raises NotReadable for one of too many characters or fields."""
    for number, line in enumerate(StringIO(text, newline=""), 1):
        if len(line) > MOST:
            raise NotReadable(f"has a line of more than {MOST} characters", number)
        if line.count(delimiter) > MAX_VALUES:
            raise NotReadable(f"has a line of more than {MAX_VALUES:,} fields", number)
        yield line


def table(lines: Iterable[str], delimiter: str, shape: str = "commas") -> Iterator[Record | Refused]:
    """Yield the rows of CSV as objects by its header; a row of another length than the header is refused.

    Lines keep their ends, names lose their outer blanks. Blank lines and Excel's `sep=;` may stand before the header.
    Rows of empty cells, and empty cells in columns without a name, mean nothing. A column that is there twice holds
    `Twice`. Raises NotReadable where the quotes are broken.
    """
    before = csv.field_size_limit(MOST)
    try:
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        header = next((row for row in reader if any(map(str.strip, row)) and row[0].lower() != "sep="), [])
        header = [name.strip() for name in header]
        while header and not header[-1]:
            header.pop()
        twice = [name for name in dict.fromkeys(repeated(header)) if name]
        line = reader.line_num + 1
        for row in reader:
            cells = row if any(row[len(header) :]) else row[: len(header)]
            if not "".join(row).strip(" \t,;"):
                pass
            elif len(cells) == len(header):
                pairs = list(zip(header, cells, strict=True))
                several = {name: Twice(cell for other, cell in pairs if other == name) for name in twice}
                yield Record(line, {name: cell for name, cell in pairs if cell or name} | several, (), shape)
            else:
                words = f"has {plural(len(row), 'field')}; expected {len(header)}, as the header has"
                yield Refused(words, Record(line, None))
            line = reader.line_num + 1
    except csv.Error as error:
        raise NotReadable(f"is not CSV: {error}; correct the quotes, or export JSON", reader.line_num) from None
    finally:
        csv.field_size_limit(before)


def _columns(data: bytes) -> Iterator[Record | Refused]:
    number = 0
    try:
        for _, batch in parquet.batches(BytesIO(data), _ROWS):
            for line in parquet.lines(batch, is_import=True):
                number += 1
                try:
                    if isinstance(line, parquet.NotReadable):
                        yield Refused(f"is a row that JSON cannot hold: {line}", Record(number, None))
                    else:
                        yield Record(number, value_of(line), (), "columns")
                except (KeyTwiceError, TooManyValuesError) as error:
                    yield Refused(_unreadable(error), Record(number, None))
    except parquet.NotReadable as error:
        raise NotReadable(f"is not a readable Parquet file: {error}") from None


# --- archives -------------------------------------------------------------------------------------


def _archive(data: bytes) -> Iterator[Record | Refused]:
    """Yield the header and the samples of an archive, samples by their ids and epochs in the order of numbers."""
    archive, broken = _zip(data)
    try:
        with archive:
            names = [one for one in archive.infolist() if _SAMPLE.fullmatch(one.filename)]
            size, held = sum(one.file_size for one in names), sum(one.compress_size for one in names)
            if size > _MOST_UNPACKED and size > _MOST_RATIO * held:
                raise NotReadable(f"expands from {held} bytes to {size}, which no log does")
            if any(one.filename == "header.json" for one in names):  # the other is an older copy
                names = [one for one in names if one.filename != "_journal/start.json"]
            for one in sorted(names, key=lambda entry: _numbers(entry.filename)):
                if one.file_size > MOST:
                    yield Refused(f"has {one.filename} of more than {MOST} bytes")
                    continue
                try:
                    yield Record(0, value_of(archive.read(one).decode("utf-8")), (), "archive", one.filename)
                except (KeyTwiceError, TooManyValuesError) as error:
                    yield Refused(f"{_unreadable(error)} in {one.filename}")
    except broken as error:
        raise NotReadable(f"is not a readable archive: {str(error)[:100]}") from None


def _numbers(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in _DIGITS.split(name)]


def _zip(data: bytes) -> tuple[Any, tuple[type[Exception], ...]]:
    """Return an archive, and what reading it raises if it is broken.

    Inspect compresses with zstd, which needs Python 3.14 or `backports.zstd` (the extra `zstd`): else this raises
    ModuleNotFoundError.
    """
    common = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, RecursionError)
    try:
        archive = zipfile.ZipFile(BytesIO(data))
    except common as error:
        raise NotReadable(f"is not a readable archive: {error}") from None
    if not any(one.compress_type == _ZSTD for one in archive.infolist()) or hasattr(zipfile, "ZIP_ZSTANDARD"):
        return archive, common
    from backports import zstd
    from backports.zstd import zipfile as with_zstd

    return with_zstd.ZipFile(BytesIO(data)), (*common, with_zstd.BadZipFile, zstd.ZstdError)
