"""Shell: what other tools recorded as cases or outputs of ours, for `import`. Reads files.

A file is read by its shape and its format, and each record becomes lines. Lines are kept until all files are read. Only
then are repeated ids and all problems known.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count, islice
from pathlib import Path
from typing import Any, NamedTuple

from safe_gate.addons.importers import files
from safe_gate.addons.importers.entries import AUTO, Request, prompt_of_line, sample_to_line, shorten_id
from safe_gate.addons.importers.fields import IMPORTING, LABELS, canonical_names, find_id, read_row, refuse_columns
from safe_gate.addons.importers.files import (
    NO_RECORD,
    LeftOut,
    NotReadable,
    Record,
    RefusedRecord,
    RepeatedColumn,
    error_text,
    field_words,
    has_value,
)
from safe_gate.addons.importers.formats import FORMATS, PATHS, Format, Outcome, Seen, detect_format, is_row, row_format
from safe_gate.addons.importers.messages import is_message, parse_embedded_json
from safe_gate.core.case import Exchange
from safe_gate.core.jsontext import repeated, value_at
from safe_gate.core.validate import suggestion
from safe_gate.evaluators.registry import EVALUATORS
from safe_gate.inputs import checked, disk, globs
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Code, Place, Problem, Problems

_TABLES = {"commas": "CSV", "tabs": "TSV", "columns": "Parquet"}
_MOST_KINDS = 50
_CHOICES = (AUTO, *FORMATS)
_MORE = ("has_more", "truncated", "partial", "next", "next_cursor", "nextPageToken", "meta.cursor", "cursors.next")
"""Where a page says that others follow."""
_TOTALS = ("total", "num_rows_total", "meta.totalItems")
"""Where a page says how many records there are."""
_PAGING = {"limit", "offset", "page", "page_size", "pageSize", "per_page", *(path.split(".")[0] for path in _MORE)}
"""Only beside one of these a `total` is that of the pages."""
_WORD = re.compile(r"[A-Za-z_]\w{,39}", re.ASCII)
_PAIR = re.compile(r",\s*(?=\w+=)")


# --- what is asked for ----------------------------------------------------------------------------


def parse_mapping(words: Sequence[str], evaluator: str) -> Mapping[str, str]:
    """Return where fields are, from words such as `user=prompt,assistant=response`. Raises CannotJudge."""
    found: dict[str, str] = {}
    known = IMPORTING[evaluator].fields
    for pair in (one for word in words for one in _PAIR.split(word)):
        name, equals, path = (part.strip() for part in pair.partition("="))
        if not (equals and path and name in known):
            hint = suggestion(name, known) if equals else ""
            expected = f"expected FIELD=PATH with one of the fields {', '.join(known)}"
            raise CannotJudge.at("--map", f"has {json.dumps(pair[:40])}{hint}; {expected}", Code.USAGE)
        if name in found:
            raise CannotJudge.at("--map", f"names {name} twice; keep one", Code.USAGE)
        found[name] = path
    return {"id" if name == EVALUATORS[evaluator].input.id_key else name: path for name, path in found.items()}


def _check_request(request: Request) -> None:
    """Raise CannotJudge for a format, an encoding or a check that is unknown."""
    if request.format not in _CHOICES:
        hint = suggestion(request.format, _CHOICES)
        words = f"is {json.dumps(request.format[:40])}{hint}; expected one of {', '.join(_CHOICES)}"
        raise CannotJudge.at("--from", words, Code.USAGE)
    try:
        "".encode(request.encoding or "utf-8")
    except (LookupError, ValueError):  # ValueError: `undefined`, and a name with a NUL
        words = f"is {json.dumps(request.encoding[:40])}; expected the name of a text encoding, such as cp1252"
        raise CannotJudge.at("--encoding", words, Code.USAGE) from None
    sample = request.makes.line(Exchange("a", "", "", "", request.tags, request.checks, {}))
    faults = checked.load_schema(request.makes.kind).faults(sample)
    if wrong := [one for one in faults if one.path[:1] in (("checks",), ("tags",))]:
        raise CannotJudge(*(Problem(Place("--checks"), one.message, code=Code.USAGE) for one in wrong))


# --- a file ---------------------------------------------------------------------------------------


class Pages(NamedTuple):
    """How many pages of all files say how many there are, whether one is the last, and how many records there are.

    A page with the number of another, and a record with an id that is equal to another, count once.
    """

    numbered: int
    has_last: bool
    records: int


class Recording(NamedTuple):
    """A file to import: its name, its shape, its format, and its records, with those that cannot be read."""

    name: str
    shape: str
    format: Format
    records: list[Record | RefusedRecord]

    @property
    def has_labels(self) -> bool:
        """Whether `expected` holds labels by check in any record; in those of other tools it is another thing."""
        values = (one.value for one in self.records if isinstance(one, Record))
        found = (parse_embedded_json(one.get(LABELS)) for one in values if isinstance(one, dict))
        objects = (one for one in found if isinstance(one, dict) and one)
        return any({*map(type, one.values())} <= {bool, type(None)} for one in objects)

    @property
    def title(self) -> str:
        """The format in a sentence."""
        words, inside = self.format.title, _TABLES.get(self.shape, "")
        return words if not inside or words == inside else f"{words} as {inside}"


def open_recording(path: Path, request: Request) -> Recording:
    """Return a file with its records. Raises CannotJudge for a file of no format, or that cannot be read to its end."""
    name, wanted = disk.display_path(path), FORMATS.get(request.format)
    try:
        with disk.open_regular(path) as file:
            data = files.to_utf8(file.read(), request.encoding)
        shape = _shape(data, wanted)
        items = [
            one._replace(value=canonical_names(one.value)) if isinstance(one, Record) else one
            for one in files.read(data, shape, PATHS, lambda record: is_row(record, request.paths))
        ]
    except OSError as error:
        raise CannotJudge(disk.unreadable_problem(path, error)) from None
    except (NotReadable, ModuleNotFoundError) as error:
        raise CannotJudge(_unread_problem(name, error)) from None
    records = [one for one in items if isinstance(one, Record)]
    format_ = wanted or next((one for one in map(detect_format, records[:20]) if one), None)
    columns = next((fields for one in records if (fields := _field_names(one.value))), ())
    if format_ is None:
        if not columns and len(records) == len(items):
            raise CannotJudge.at(name, "has no records to import")
        is_output = request.makes.is_parsed and "output" in columns
        if columns and not is_output and not request.paths:
            shown = ", ".join(json.dumps(one[:40]) for one in columns[:8])
            lists = [*_lists_of(records[0].value)] if len(records) == 1 else []
            hint = f"take its list out with jq -c '{lists[0]}[]', " if len(lists) == 1 else ""
            words = f"has no format that is known, but records with {shown}; {hint}name the fields with --map, or"
            raise CannotJudge.at(name, f"{words} name --from")
        format_ = row_format(shape if shape in _TABLES else "json")
    if columns and format_.shape and shape in _TABLES:
        try:
            refuse_columns(columns, request.mapping, request.makes.keeps)
        except RefusedRecord as refused:
            raise CannotJudge.at(name, str(refused)) from None
    return Recording(name, shape, format_, format_.arrange(items))


def _shape(data: bytes, wanted: Format | None) -> str:
    found, asked = files.detect_shape(data), wanted.shape if wanted else ""
    if asked in ("commas", "tabs") and found in ("", "commas", "tabs"):  # one column has no delimiter to tell
        return asked
    if not found:
        raise NotReadable("does not look like JSON, CSV, TSV, Parquet or .eval", 1)
    if wanted and asked not in ("", found if found in _TABLES else "json"):
        raise NotReadable(f"is not {wanted.title}; leave --from out to detect the format")
    return found


def _lists_of(value: Any, path: str = "") -> Iterator[str]:
    """Yield where an object has lists of objects but messages, as jq writes it, if the names on the way are words."""
    for key, one in value.items() if isinstance(value, dict) else ():
        if _WORD.fullmatch(key):
            yield from _lists_of(one, f"{path}.{key}")
            if isinstance(one, list) and one and all(isinstance(item, dict) and not is_message(item) for item in one):
                yield f"{path}.{key}"


def _field_names(value: Any) -> tuple[str, ...]:
    """Return the field names of an object; a repeated column's name is repeated. Empty for other values."""
    pairs = value.items() if isinstance(value, dict) else ()
    return tuple(name for name, one in pairs for _ in (one if isinstance(one, RepeatedColumn) else (one,)))


def _unread_problem(name: str, error: NotReadable | ModuleNotFoundError) -> Problem:
    if isinstance(error, NotReadable):
        return Problem(Place(name, error.line), str(error))
    extra, what = ("dask", "is Parquet") if error.name == "pyarrow" else ("zstd", "is compressed with zstd")
    words = f"{what}, but its library is not installed; install SAFE Gate with the extra `{extra}`"
    return Problem(Place(name), f"{words}: in a checkout, pip install '.[{extra}]'", code=Code.UNAVAILABLE)


# --- its records ----------------------------------------------------------------------------------


def _outcomes(
    recording: Recording, request: Request, seen: Seen, pages: Pages
) -> Iterator[tuple[Record, str, Outcome]]:
    """Yield each result of a record of a file, with the record and its id; `pages` are those of all files."""
    format_, mapping, paths = recording.format, request.mapping, request.paths
    if paths:
        format_ = replace(row_format("json"), read=lambda record, _: [read_row(record.value, mapping)])
    for record in recording.records:
        id_ = ""
        if isinstance(record, RefusedRecord):
            yield record.record, "", record
            continue
        if record.is_header and not format_.ending and isinstance(record.value, dict):
            yield from ((record, "", fault) for fault in islice(_faults_of_page(record.value, pages), 1))
            beside = [name for name, one in record.value.items() if format_.shape and has_value(one)]
            yield from ((record, "", LeftOut(f"{field_words(name)} beside the records")) for name in beside)
            continue
        try:
            if not isinstance(record.value, dict):
                raise RefusedRecord("is not an object; expected an object with named fields")
            if format_.only:
                key, expected, words = format_.only
                if record.value.get(key, expected) != expected:
                    yield record, "", LeftOut(words)
                    continue
            id_ = find_id(record.value, format_.ids, mapping.get("id", ""))
            if format_.error and (error := error_text(record.value.get(format_.error))):
                raise RefusedRecord(f"is an error: {error}")
            is_bare = request.makes.is_parsed and "output" in record.value and not (paths or detect_format(record))
            # An output alone is meant to be JSON, whatever it holds.
            for item in [read_row(record.value, {"output": "output"})] if is_bare else format_.read(record, seen):
                yield record, id_, item
        except RefusedRecord as refused:
            yield record, id_, refused
    if format_.ending:
        yield from ((NO_RECORD, "", fault) for fault in format_.ending(seen))


def _read_pages(recordings: Iterable[Recording]) -> Pages:
    records = [one for recording in recordings if not recording.format.ending for one in recording.records]
    headers = [one for one in records if isinstance(one, Record) and one.is_header]
    beside = [one.value for one in headers if isinstance(one.value, dict)]
    numbers = [value_at(one, "meta", "page") for one in beside if value_at(one, "meta", "totalPages") is not None]
    numbered = len(numbers) if None in numbers else len({*map(repr, numbers)})
    values = (one.value for one in records if len(beside) > 1 and isinstance(one, Record) and not one.is_header)
    again = repeated(repr(one) for one in values if isinstance(one, dict) and "id" in one)
    return Pages(numbered, not all(map(_following, beside)), len(records) - len(headers) - len([*again]))


def _following(header: JsonObject) -> str:
    """Return where a page says that others follow, "" for a last page. A text with blanks is no cursor."""
    found = ((path, value_at(header, *path.split("."))) for path in _MORE if header.get("has_more") is not False)
    return next((path for path, one in found if one and not (isinstance(one, str) and " " in one)), "")


def _faults_of_page(header: JsonObject, pages: Pages) -> Iterator[RefusedRecord]:
    """Yield what is wrong with the header of one of the `pages`: it is an error, or others are missing."""
    if error := error_text(header.get("error")):
        yield RefusedRecord(f"is an error: {error}")
    total = value_at(header, "meta", "totalPages")
    if isinstance(total, int) and total > pages.numbered:
        yield RefusedRecord(f"is one of {total} pages, and the files have {pages.numbered}; import all of them")
    if not pages.has_last:
        yield RefusedRecord(f"is not the last page, as {_following(header)} says; import all pages")
    for path in _TOTALS if header.keys() & _PAGING else _TOTALS[1:]:
        total = value_at(header, *path.split("."))
        if isinstance(total, int) and total > pages.records:
            yield RefusedRecord(f"has {path} {total}, and the files have {pages.records}; import all of them")


# --- all files ------------------------------------------------------------------------------------


@dataclass(slots=True)
class ImportResult:
    """The result for all files: our lines, the findings in each file, and the problems."""

    lines: list[JsonObject] = field(default_factory=list)
    """A line with only an id stands for a record that cannot become a case. It takes the number of a sample."""
    problems: Problems = field(default_factory=Problems)
    found: list[tuple[str, str, int]] = field(default_factory=list)
    """Each file's path, format and number of cases."""
    left_out: Counter[str] = field(default_factory=Counter)
    """For each kind of thing, how many records it was left out of, or how many were left out as a whole."""
    unlike: dict[str, None] = field(default_factory=dict)
    """The first ids of lines with different user texts."""
    count: int = 0
    """How many samples became cases."""
    is_whole: bool = True
    """Whether every file could be read to its end. Other problems are about single records."""
    _last: dict[str, Record] = field(default_factory=dict)
    _asked: dict[str, Sequence[str]] = field(default_factory=dict)

    def cut_short(self, problem: Problem) -> None:
        """Note that a file could not be read to its end."""
        self.problems.add(problem)
        self.is_whole = False

    def add(self, line: JsonObject, left_out: Iterable[str], record: Record, key: str) -> None:
        """Add a line whose id is under `key`, and count what is left out of it."""
        self.lines.append(line)
        self.count += 1
        said = prompt_of_line(line)
        if len(self.unlike) < _MOST_KINDS and self._asked.setdefault(line[key], said) != said:
            self.unlike[line[key]] = None
        self.leave_out(left_out, record)

    def leave_out(self, kinds: Iterable[str], record: Record) -> None:
        """Count what is left out of a record, once if it becomes several lines. Kinds beyond the first share a sum."""
        for kind in kinds:
            known = kind in self.left_out or len(self.left_out) < _MOST_KINDS
            name = kind if known else "other fields"
            if self._last.get(name) is not record:
                self.left_out[name] += 1
                self._last[name] = record


def import_files(patterns: Sequence[str], request: Request) -> ImportResult:
    """Import files, those of globs in the order of their paths. Raises CannotJudge for a wrong request."""
    _check_request(request)
    result = ImportResult()
    paths, problems = globs.expand_on_disk(patterns, ".*")
    for problem in problems:
        result.cut_short(problem)
    recordings = list[Recording]()
    for path in paths:
        try:
            recordings.append(open_recording(path, request))
        except CannotJudge as error:
            result.cut_short(error.problems[0])
    of_all = _prepare(recordings)
    pages = _read_pages(recordings)
    for recording in recordings:
        before = result.count
        seen, has_labels = of_all if recording.format.prepare else {}, recording.has_labels
        for record, id_, item in _outcomes(recording, request, seen, pages):
            if isinstance(item, LeftOut):
                result.leave_out(item, record)
                continue
            name = id_ if "id" in request.mapping else item.id or id_
            try:
                if isinstance(item, RefusedRecord):
                    raise item
                if "id" in request.mapping and not name:
                    raise RefusedRecord(f"has no id in {request.mapping['id']}; correct --map")
                line, left_out = sample_to_line(item, record, name, recording.format, request, has_labels)
                result.add(line, left_out, record, request.key)
            except RefusedRecord as refused:
                where = f"in {record.name}: " if record.name and not record.line else ""
                place = Place(recording.name, record.line)
                field_ = refused.field or ("" if name else record.field)
                result.problems.add(Problem(place, f"{where}{refused}", name, field_))
                result.lines += [{request.key: shorten_id(name)}] if name and refused.is_sample else []
        result.found.append((recording.name, recording.title, result.count - before))
    return result


def _prepare(recordings: Iterable[Recording]) -> Seen:
    """Return what formats note of the records of all files before any is read."""
    seen: Seen = {}
    for recording in recordings:
        if prepare := recording.format.prepare:
            for record in recording.records:
                if isinstance(record, Record) and isinstance(record.value, dict):
                    with suppress(RefusedRecord):  # it is refused when it is read
                        prepare(record, seen)
    return seen


def number_repeated_ids(imported: ImportResult, request: Request) -> Iterator[JsonObject]:
    """Yield cases or outputs; of repeated ids the samples in file order as `ID#1`, `ID#2`.

    A number is passed over if a record has that id itself.
    """
    key = request.key
    ids = Counter(entry[key] for entry in imported.lines)
    numbers = {id_: 0 for id_, times in ids.items() if times > 1}
    for entry in imported.lines:
        id_ = entry[key]
        if id_ in numbers:
            numbers[id_] = next(n for n in count(numbers[id_] + 1) if f"{id_}#{n}" not in ids)
            id_ = f"{id_}#{numbers[id_]}"
        if len(entry) > 1:
            yield {**entry, key: id_}
