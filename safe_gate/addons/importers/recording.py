"""Shell: a file of another tool as rows: its shape, its format, and what becomes of each record. Reads files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from safe_gate.addons.importers import files
from safe_gate.addons.importers.entries import AUTO, Request
from safe_gate.addons.importers.fields import canonical, id_at, others, row, tags_at, tops_of, without_columns
from safe_gate.addons.importers.files import NotReadable
from safe_gate.addons.importers.formats import FORMATS, PATHS, Format, Outcome, Seen, detected, is_row, of_rows
from safe_gate.addons.importers.messages import (
    Conversation,
    answers_of,
    are_messages,
    are_parts,
    content_of,
    continued,
    ended,
    exchange,
    said_in,
)
from safe_gate.addons.importers.records import LeftOut, Record, Refused, Row, Sample, Twice, error_of
from safe_gate.inputs import disk
from safe_gate.model.problems import CannotJudge, Code, Place, Problem

_LOOKED_AT = 20  # records, to detect a format
_TABLES = {"commas": "CSV", "tabs": "TSV", "columns": "Parquet"}


class Recording(NamedTuple):
    """A file to import: its name, its shape, its format, and its records, with those that cannot be read.

    `broken` says why the file cannot be read to its end; it is None if it can.
    """

    name: str
    shape: str
    format: Format
    records: list[Record | Refused]
    broken: Problem | None

    @property
    def title(self) -> str:
        """The format in a sentence."""
        words, inside = self.format.title, _TABLES.get(self.shape, "")
        return words if not inside or words == inside else f"{words} as {inside}"


def opened(path: Path, request: Request) -> Recording:
    """Return a file with its records. Raises CannotJudge for a file of no format, or of which no record can be read."""
    name, items, broken = disk.shown(path), list[Record | Refused](), None
    wanted = FORMATS[request.format] if request.format != AUTO else None
    try:
        with disk.open_regular(path) as file:
            data = files.utf_8(file.read(), request.encoding)
        shape = _shape(data, wanted)
        items.extend(files.read(data, shape, PATHS, is_row))  # those before an error stay
    except OSError as error:
        raise CannotJudge(disk.unreadable(path, error)) from None
    except (NotReadable, ModuleNotFoundError) as error:
        if not items:
            raise CannotJudge(_unread(name, error)) from None
        broken = _unread(name, error, "; what follows is not read")
    records = [one for one in items if isinstance(one, Record)]
    format_ = wanted or next((one for one in map(detected, records[:_LOOKED_AT]) if one), None)
    columns = next((fields for one in records if (fields := _names(one.value))), ())
    if format_ is None:
        if broken:
            raise CannotJudge(broken)
        if not columns and len(records) == len(items):
            raise CannotJudge.at(name, "has no records to import")
        if columns and not request.mapping.keys() - {"id", "tags"}:
            shown = ", ".join(json.dumps(one[:40]) for one in columns[:8])
            words = f"has no format that is known, but records with {shown}; name the fields with --map, or name --from"
            raise CannotJudge.at(name, words)
        format_ = of_rows(shape if shape in _TABLES else "json")
    if columns and format_.shape and shape in _TABLES and (why := without_columns(columns, request.mapping)):
        raise CannotJudge(problem_of(name, why, request))
    return Recording(name, shape, format_, items, broken)


def _shape(data: bytes, wanted: Format | None) -> str:
    found, asked = files.shape_of(data), wanted.shape if wanted else ""
    if asked in ("commas", "tabs") and found in ("", "commas", "tabs"):  # one column has no delimiter to tell
        return asked
    if not found:
        raise NotReadable("does not look like JSON, CSV, TSV, Parquet or .eval", 1)
    if wanted and asked not in ("", found if found in _TABLES else "json"):
        raise NotReadable(f"is not {wanted.title}; leave --from out to detect the format")
    return found


def _names(value: Any) -> tuple[str, ...]:
    """Return the names of the fields of an object, that of a column that is there twice as often; none of others."""
    pairs = value.items() if isinstance(value, dict) else ()
    return tuple(name for name, one in pairs for _ in (one if isinstance(one, Twice) else (one,)))


def problem_of(name: str, refused: Refused, request: Request) -> Problem:
    """Return the problem of a record that cannot become a case."""
    line, document = refused.record.line, refused.record.name
    where = f"in {document}: " if document and not line else ""
    mapping = ",".join(f"{side}=FIELD" for side in request.makes.sides)
    hint = f"; name them: --map {mapping}" if refused.is_unnamed else ""
    return Problem(Place(name, line), f"{where}{refused}{hint}", refused.id)


def _unread(name: str, error: NotReadable | ModuleNotFoundError, more: str = "") -> Problem:
    if isinstance(error, NotReadable):
        return Problem(Place(name, error.line), f"{error}{more}")
    extra, what = ("dask", "is Parquet") if error.name == "pyarrow" else ("zstd", "is compressed with zstd")
    words = f"{what}, but its library is not installed; install SAFE Gate with the extra `{extra}`"
    return Problem(Place(name), f"{words}: in a checkout, pip install '.[{extra}]'", code=Code.UNAVAILABLE)


# --- its rows --------------------------------------------------------------------------------------


def rows_of(format_: Format, records: Iterable[Record | Refused], mapping: Mapping[str, str]) -> Iterator[Outcome]:
    """Yield what becomes of each record of a file. Of a tool's format, a mapping may name the id and the tags."""
    seen: Seen = {}
    if mapping.keys() - {"id", "tags"}:
        format_ = replace(of_rows("json"), read=lambda record, _: [row(record.value, mapping)])
    for one in records:
        if isinstance(one, Refused):
            yield one
            continue
        if one.is_header and not format_.has_header:
            continue
        record, id_ = one, ""
        try:
            if not isinstance(record.value, dict):
                raise Refused("is not an object; expected an object with named fields")
            record = record._replace(value=canonical(record.value))
            if format_.only and not record.is_header:
                key, expected, words = format_.only
                if record.value.get(key, expected) != expected:
                    yield LeftOut(words, record)
                    continue
            id_ = id_at(record.value, format_.ids, mapping.get("id", ""))
            if format_.error and (error := error_of(record.value.get(format_.error))):
                raise Refused(f"is an error: {error}")
            for item in format_.read(record, seen):
                yield _placed(item, record, id_, format_, mapping)
        except Refused as error:
            yield _placed(error, record, id_, format_, mapping)
        except RecursionError:
            yield Refused("is nested too deep", record)
    yield from format_.ending(seen)


def _placed(item: Sample | Outcome, record: Record, id_: str, format_: Format, mapping: Mapping[str, str]) -> Outcome:
    """Return what becomes of a record, with the record and its id."""
    try:
        found = _joined(item, record, format_, mapping) if isinstance(item, Sample) else item
    except Refused as error:
        found = error
        error.id = item.id if isinstance(item, Sample) else ""
    found.record = record
    if not isinstance(found, LeftOut):
        found.id = id_ if "id" in mapping else found.id or id_
    return found


def _joined(one: Sample, record: Record, format_: Format, mapping: Mapping[str, str]) -> Row:
    """Return the row of an exchange. Raises Refused."""
    found = _exchanged(one)
    if found.assistant is None:
        raise Refused(f"has no reply; expected {format_.reply}")
    fields = others(record.value, {*one.used, format_.error, *tops_of(mapping, record.value)})
    if found.labels is not None:
        if "expected" in fields:
            raise Refused("has labels of the last message twice; keep one")
        fields["expected"] = found.labels
    tags = (*one.tags, *tags_at(record.value, mapping.get("tags", "")))
    return Row(found.user, found.assistant, found.left_out, fields, tags, one.extra, one.id)


def _exchanged(one: Sample) -> Conversation:
    """Return both sides of an exchange, without a reply where there is none. Raises Refused."""
    asked, answer, left_out = one.asked, one.answer, one.left_out
    if are_parts(answer):
        answer = [{"role": "assistant", "content": answer}]
    elif asked != [] and are_messages(answer):
        answer = answers_of(answer)[0][0]
    if are_parts(asked):
        asked, more = content_of(asked)
        left_out += more
    if asked and isinstance(answer, list) and said_in(answer).text is None:
        return Conversation("", None, ())
    if isinstance(answer, list) or asked == []:
        before = asked if isinstance(asked, list) else [{"role": "user", "content": asked}]
        found = ended(continued(before, answer) if before else answer, whole=one.whole)
    elif isinstance(asked, list):
        found = exchange([*asked, {"role": "assistant", "content": ""}])._replace(assistant=answer)
    elif isinstance(asked, str):
        found = Conversation(asked, answer, ())
    else:
        raise Refused("has a prompt that is neither text nor messages; expected one of them")
    return found._replace(left_out=(*left_out, *found.left_out))
