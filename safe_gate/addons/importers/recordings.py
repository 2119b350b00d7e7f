"""Shell: a file of recorded exchanges, opened: its format and its records. Reads the file."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from safe_gate.addons.importers import files
from safe_gate.addons.importers.entries import AUTO, Request
from safe_gate.addons.importers.fields import without_columns
from safe_gate.addons.importers.files import NotReadable
from safe_gate.addons.importers.formats import FORMATS, PATHS, detected, of_rows
from safe_gate.addons.importers.rows import Format, Record, Refused
from safe_gate.inputs import disk
from safe_gate.model.problems import CannotJudge, Code, Place, Problem

_LOOKED_AT = 20  # records, to detect a format
_HEAD = 1 << 16
_BOMS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_BINARY = (b"PAR1", b"PK\x03\x04")
_TABLES = {"commas": "CSV", "tabs": "TSV", "columns": "Parquet"}


class Recording(NamedTuple):
    """A file to import: its name, its shape, its format, and its records, with those that cannot be read.

    `broken` says why the file cannot be read to its end; it is None if it can.
    """

    name: str
    shape: str
    format: Format
    records: list[Record]
    refused: list[Refused]
    broken: Problem | None

    @property
    def title(self) -> str:
        """The format in a sentence."""
        words, inside = self.format.title, _TABLES.get(self.shape, "")
        return words if not inside or words == inside else f"{words} as {inside}"


def opened(path: Path, request: Request) -> Recording:
    """Return a file with its records. Raises CannotJudge for a file of no format, or that is broken where it begins."""
    name, items = disk.shown(path), list[Record | Refused]()
    try:
        data = _content(path, request.encoding)
        wanted = FORMATS[request.format] if request.format != AUTO else None
        shape = _shape(data, wanted)
        found = files.read(data, shape, PATHS)
        format_, fields = _detected(found, items, wanted)
    except OSError as error:
        raise CannotJudge(disk.unreadable(path, error)) from None
    except (NotReadable, ModuleNotFoundError) as error:
        raise CannotJudge(_problem(name, error)) from None
    is_unread = not fields and any(isinstance(one, Refused) for one in items)
    if format_ is None and (is_unread or request.mapping.keys() - {"id", "tags"}):
        format_ = of_rows(shape)
    if format_ is None:
        shown = ", ".join(json.dumps(one[:40]) for one in fields[:8])
        words = f"has no format that is known, but records with {shown}; name the fields with --map, or name --from"
        raise CannotJudge(Problem(Place(name), words if shown else "has no records to import"))
    if fields and format_.shape and shape in _TABLES and (why := without_columns(fields, request.mapping)):
        raise CannotJudge(problem_of(name, why, request))
    broken: Problem | None = None
    try:
        items.extend(found)  # those before an error stay
    except (NotReadable, ModuleNotFoundError) as error:
        broken = _problem(name, error, "; what follows is not read")
    records = [one for one in items if isinstance(one, Record) and (not one.path or one.path in format_.paths)]
    return Recording(name, shape, format_, records, [one for one in items if isinstance(one, Refused)], broken)


def _detected(
    found: Iterator[Record | Refused], seen: list[Record | Refused], wanted: Format | None
) -> tuple[Format | None, tuple[str, ...]]:
    """Return the format of the first records that have one, and the names of their fields, or else of the first ones.

    What is read is added to `seen`. Of a format that is `wanted` one record is read.
    """
    fields: tuple[str, ...] = ()
    for one in found:
        seen.append(one)
        if isinstance(one, Record):
            format_ = wanted or detected(one)
            if format_ and (wanted or not one.path or one.path in format_.paths):
                return format_, _names(one.value)
            fields = fields or _names(one.value)
        if len(seen) == _LOOKED_AT and not wanted:
            break
    return wanted, fields


def problem_of(name: str, refused: Refused, request: Request) -> Problem:
    """Return the problem of a record that cannot become a case."""
    line, document = refused.record.line, refused.record.name
    where = f"in {document}: " if document and not line else ""
    mapping = ",".join(f"{side}=FIELD" for side in request.makes.sides)
    hint = f"; name them: --map {mapping}" if refused.is_unnamed else ""
    return Problem(Place(name, line), f"{where}{refused.why}{hint}", refused.id)


def _problem(name: str, error: NotReadable | ModuleNotFoundError, more: str = "") -> Problem:
    if isinstance(error, NotReadable):
        return Problem(Place(name, error.line), f"{error}{more}")
    extra, what = ("dask", "is Parquet") if error.name == "pyarrow" else ("zstd", "is compressed with zstd")
    words = f"{what}, but its library is not installed; install SAFE Gate with the extra `{extra}`"
    return Problem(Place(name), f"{words}: in a checkout, pip install '.[{extra}]'", code=Code.UNAVAILABLE)


def _content(path: Path, encoding: str) -> bytes:
    """Return a file as UTF-8, if it is text. Raises OSError, and NotReadable for text in another encoding."""
    with disk.open_regular(path) as file:
        data = file.read()
    named = encoding or next((name for bom, name in _BOMS.items() if data.startswith(bom)), "")
    if not named or data.startswith(_BINARY):
        return data
    try:
        return data.decode(named).encode()
    except UnicodeError as error:
        words = f"is not {named}: {getattr(error, 'reason', error)}; name another encoding with --encoding"
        raise NotReadable(words) from None


def _shape(data: bytes, wanted: Format | None) -> str:
    if data.startswith(b"\x1f\x8b"):
        raise NotReadable("is compressed with gzip; unpack it first")
    found, asked = files.shape_of(data, PATHS), wanted.shape if wanted else ""
    if asked in ("commas", "tabs") and found in ("", "commas", "tabs"):  # one column has no delimiter to tell
        return asked
    if b"\0" in data[:_HEAD] and found not in ("columns", "archive"):
        raise NotReadable("has NUL bytes, as UTF-16 has; name the encoding, such as --encoding utf-16-le")
    if not data.strip():
        raise NotReadable("is empty: there is nothing to import")
    if not found:
        raise NotReadable("does not look like JSON, CSV, TSV, Parquet or .eval", 1)
    if wanted and asked not in ("", "json" if found in ("lines", "document") else found):
        raise NotReadable(f"is not {wanted.title}; leave --from out to detect the format")
    return found


def _names(value: Any) -> tuple[str, ...]:
    """Return the names of the fields of an object, that of a column that is there twice as often; none of others."""
    pairs = value.items() if isinstance(value, dict) else ()
    return tuple(name for name, one in pairs for _ in (one if isinstance(one, files.Twice) else (one,)))
