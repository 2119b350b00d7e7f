"""The records of a file, one at a time: lines of JSON, lists in a document, rows of CSV.

Pure: input arrives as chunks or lines. The standard parser reads a value from where it starts in a text. So memory is
bounded: a list needs no more than its largest item. Text stays as it is, even half a surrogate pair.
"""

from __future__ import annotations

import codecs
import csv
import json
import math
import re
from collections.abc import Collection, Generator, Iterable, Iterator
from typing import Any, NamedTuple

from safe_gate.core.figures import plural
from safe_gate.core.jsontext import MAX_VALUES, TooManyValuesError, bound, is_deep, repeated
from safe_gate.core.text.patterns import later

MOST = 16 << 20
"""So many bytes or characters an item of a list, and a field of CSV, may have."""

_MOST_KEYS = 100_000  # of an object around records: each takes many steps

TOO_DEEP = "is nested too deep"
_CHUNK = 1 << 16
_BLANKS = later(r"[ \t\n\r]*+")
_SKIPPED = later(r'(?:[^"\[\]{}]++|\[[^"\[\]{}]*+\]|\{[^"\[\]{}]*+\})++')
_STRING = later(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_BLANK_LINES = later(r"(?:[ \t,;]*+\r?\n)*+")
_NOTHING = " \t,;"
_SEPARATOR = later(r'"?sep=([^"\w\r\n])"?[ \t,;]*+\r?\n', re.IGNORECASE)

Keys = tuple[str, ...]


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


def is_json(value: Any) -> bool:
    """Return whether a value that was read holds no NaN and no infinite number."""
    if isinstance(value, dict | list):
        return all(map(is_json, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, float) or math.isfinite(value)


class NotReadable(Exception):
    """The rest of a file cannot be read. The message says why; `line` is where, from 1."""

    def __init__(self, why: str, line: int) -> None:
        super().__init__(why)
        self.line = line


class Found(NamedTuple):
    """A value with the line that it starts in and the keys that lead to its list.

    NotReadable stands for an object that has a key twice.
    """

    line: int
    value: Any
    path: Keys = ()


def shape(head: bytes) -> str:
    """Return the shape of a file by how it begins: `lines`, `document`, `commas`, `tabs`, `columns` or `archive`.

    "" for what none of them begins as.
    """
    if head.startswith(b"PAR1"):
        return "columns"
    if head.startswith(b"PK\x03\x04"):
        return "archive"
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(head.removeprefix(codecs.BOM_UTF8))
    if text.lstrip()[:1] == "[":
        return "document"
    if text.lstrip()[:1] == "{":
        return "lines" if any(map(_is_object, [line for line in text.split("\n") if line.strip()][:2])) else "document"
    delimiter = delimiter_of(text)
    return {"": "", "\t": "tabs"}.get(delimiter, "commas")


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


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


def table(lines: Iterable[str], delimiter: str) -> Iterator[Found | NotReadable]:
    """Yield the rows of CSV as objects by its header; a row of another length than the header as NotReadable.

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
            if not "".join(row).strip(_NOTHING):
                pass
            elif len(cells) == len(header):
                pairs = list(zip(header, cells, strict=True))
                several = {name: Twice(cell for other, cell in pairs if other == name) for name in twice}
                yield Found(line, {name: cell for name, cell in pairs if cell or name} | several)
            else:
                yield NotReadable(f"has {plural(len(row), 'field')}; expected {len(header)}, as the header has", line)
            line = reader.line_num + 1
    except csv.Error as error:
        raise NotReadable(f"is not CSV: {error}; correct the quotes, or export JSON", reader.line_num) from None
    finally:
        csv.field_size_limit(before)


class _Text:
    """A text that arrives in chunks and drops the part already read."""

    def __init__(self, chunks: Iterable[str]) -> None:
        self._chunks = iter(chunks)
        self.text = ""
        self.place = 0
        self.is_all = False
        self._line, self._counted = 1, 0

    def more(self) -> bool:
        """Read as much again as is held. Return whether there was any."""
        _ = self.here
        wanted = max(_CHUNK, len(self.text) - self.place)
        parts = [self.text[self.place :]]
        self.place = self._counted = 0
        while wanted > 0 and (part := next(self._chunks, "")):
            parts.append(part)
            wanted -= len(part)
        self.is_all = wanted > 0
        before = len(parts[0])
        self.text = "".join(parts)
        return len(self.text) > before

    @property
    def here(self) -> int:
        """The line of the present place."""
        self._line += self.text.count("\n", self._counted, self.place)
        self._counted = self.place
        return self._line

    def peek(self) -> str:
        """Return the next character that is not blank, "" at the end."""
        while True:
            found = _BLANKS.match(self.text, self.place)
            self.place = found.end() if found else self.place
            if self.place < len(self.text):
                return self.text[self.place]
            if not self.more():
                return ""

    def expect(self, allowed: str) -> str:
        """Take the next character that is not blank. Raises NotReadable for another than those allowed."""
        found = self.peek()
        if not found:
            raise NotReadable("breaks off", self.here)
        if found not in allowed:
            raise NotReadable(f"is not valid JSON: {json.dumps(found)} is not expected here", self.here)
        self.place += 1
        return found

    def value(self) -> Any:
        """Take the next value; an object with a key twice is NotReadable.

        Raises NotReadable if it is invalid, incomplete or too long.
        """
        self.peek()
        while True:
            try:
                value, end = _decoder.raw_decode(self.text, self.place)
            except RecursionError:
                raise NotReadable(TOO_DEEP, self.here) from None
            except json.JSONDecodeError as error:
                self._longer(
                    f"is not valid JSON: {error.msg.lower()}" if self.text[error.pos :].strip() else "breaks off"
                )
                continue
            except KeyTwiceError as error:
                line = self.here
                self.skip()
                return NotReadable(str(error), line)
            except ValueError:
                raise NotReadable("holds a number of too many digits", self.here) from None
            if end == len(self.text) and not self.is_all and self.more():  # a number may go on
                continue
            line = self.here
            self.place = end
            return NotReadable(TOO_DEEP, line) if is_deep(value) else value

    def _longer(self, why: str) -> None:
        """Read more of an incomplete value. Raises NotReadable if there is no more, or if it is too long."""
        if len(self.text) - self.place > MOST:
            raise NotReadable(f"has an item of more than {MOST} characters, or is not valid JSON", self.here)
        line = self.here
        try:
            bound(self.text[self.place :], MAX_VALUES // 2)  # as much again is read
        except TooManyValuesError as error:
            raise NotReadable(f"has an item that holds {error}", line) from None
        if not self.more():
            raise NotReadable(why, line)

    def skip(self) -> None:
        """Skip the next value. Raises NotReadable if it is incomplete, or takes more than `MAX_VALUES` steps."""
        depth = 0
        for _ in range(MAX_VALUES):
            letter = self.peek()
            if letter == '"':
                found = _STRING.match(self.text, self.place)
                if found is None:
                    self._longer("breaks off")
                    continue
            elif depth == 0 and letter not in ("[", "{"):
                self.value()
                return
            elif not letter:
                raise NotReadable("breaks off", self.here)
            elif (found := _SKIPPED.match(self.text, self.place) if depth else None) is None:
                self.place += 1
                depth += 1 if letter in "[{" else -1
            if found:
                self.place = found.end()
            if depth == 0:
                return
        raise NotReadable(f"has an item that holds more than {MAX_VALUES:,} values", self.here)


def document(chunks: Iterable[str], paths: Collection[Keys]) -> Iterator[Found]:
    """Yield the items of the list that a JSON text is, or of the lists under keys in its objects.

    Any other value under keys of `paths` is yielded as one value. Raises NotReadable for broken JSON, and for a later
    text that has none of this.
    """
    text, has_records = _Text(chunks), False
    while text.peek():
        line = text.here
        has_more = yield from _inside(text, (), paths)
        if has_records and not has_more:
            raise NotReadable(
                "has no list of records, as the document before it has; put it into a file of its own", line
            )
        has_records = has_more


def _inside(text: _Text, at: Keys, paths: Collection[Keys]) -> Generator[Found, None, bool]:
    """Yield what is found in the next value, and return whether it has a list or a value that is asked for."""
    letter = text.peek()
    is_wanted = at in paths or not at
    if letter == "[" and is_wanted:
        text.expect("[")
        if text.peek() == "]":
            text.expect("]")
            return True
        while True:
            text.peek()
            line = text.here
            yield Found(line, text.value(), at)
            if text.expect(",]") == "]":
                return True
    elif letter == "{" and any(path[: len(at)] == at and path != at for path in paths):
        has_one = False
        text.expect("{")
        if text.peek() == "}":
            text.expect("}")
            return has_one
        for _ in range(_MOST_KEYS):
            key = text.value()
            if not isinstance(key, str):
                raise NotReadable("is not valid JSON: a key of an object is not a string", text.here)
            text.expect(":")
            has_one |= yield from _inside(text, (*at, key), paths)
            if text.expect(",}") == "}":
                return has_one
            text.peek()
        raise NotReadable(f"has an object of more than {_MOST_KEYS:,} keys", text.here)
    elif at in paths:
        line = text.here
        yield Found(line, text.value(), at)
        return True
    text.skip()
    return False
