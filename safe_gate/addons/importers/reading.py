"""Shell: what other tools recorded as cases or outputs of ours, for `import`. Reads files.

A file is read by its shape and its format, and each record becomes rows. Rows are kept until all are read. Only
then are repeated ids and all problems known.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from safe_gate.addons.importers import files
from safe_gate.addons.importers.entries import (
    AUTO,
    IMPORTING,
    Request,
    kept_fields,
    other_evaluator_hint,
    prompt_of_line,
    row_to_line,
    shorten_id,
)
from safe_gate.addons.importers.fields import (
    canonical_names,
    find_id,
    find_tags,
    missing_columns_words,
    read_row,
    top_fields,
    unused_fields,
)
from safe_gate.addons.importers.files import NotReadable
from safe_gate.addons.importers.formats import FORMATS, PATHS, Format, Outcome, Seen, detect_format, is_row, row_format
from safe_gate.addons.importers.messages import (
    Conversation,
    are_messages,
    are_parts,
    content_text,
    join_messages,
    last_exchange,
    last_reply,
    last_reply_text,
    replies_of_output,
)
from safe_gate.addons.importers.records import (
    NO_RECORD,
    LeftOut,
    Record,
    RefusedRecord,
    RepeatedColumn,
    Row,
    Sample,
    error_text,
    field_words,
    has_value,
    is_json,
)
from safe_gate.core.case import Exchange
from safe_gate.core.validate import Schema, suggestion
from safe_gate.evaluators.registry import EVALUATORS
from safe_gate.inputs import checked, disk, globs
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Code, Place, Problem, Problems

_TABLES = {"commas": "CSV", "tabs": "TSV", "columns": "Parquet"}


class Recording(NamedTuple):
    """A file to import: its name, its shape, its format, and its records, with those that cannot be read.

    `broken` says why the file cannot be read to its end; it is None if it can.
    """

    name: str
    shape: str
    format: Format
    records: list[Record | RefusedRecord]
    broken: Problem | None

    @property
    def title(self) -> str:
        """The format in a sentence."""
        words, inside = self.format.title, _TABLES.get(self.shape, "")
        return words if not inside or words == inside else f"{words} as {inside}"


def open_recording(path: Path, request: Request) -> Recording:
    """Return a file with its records. Raises CannotJudge for a file of no format, or of which no record can be read."""
    name, items, broken = disk.display_path(path), list[Record | RefusedRecord](), None
    wanted = FORMATS[request.format] if request.format != AUTO else None
    try:
        with disk.open_regular(path) as file:
            data = files.to_utf8(file.read(), request.encoding)
        shape = _shape(data, wanted)
        items.extend(files.read(data, shape, PATHS, is_row))  # those before an error stay
    except OSError as error:
        raise CannotJudge(disk.unreadable_problem(path, error)) from None
    except (NotReadable, ModuleNotFoundError) as error:
        if not items:
            raise CannotJudge(_unread_problem(name, error)) from None
        broken = _unread_problem(name, error, "; what follows is not read")
    records = [one for one in items if isinstance(one, Record)]
    format_ = wanted or next((one for one in map(detect_format, records[:20]) if one), None)
    columns = next((fields for one in records if (fields := _field_names(one.value))), ())
    if format_ is None:
        if broken:
            raise CannotJudge(broken)
        if not columns and len(records) == len(items):
            raise CannotJudge.at(name, "has no records to import")
        if columns and not request.mapping.keys() - {"id", "tags"}:
            shown = ", ".join(json.dumps(one[:40]) for one in columns[:8])
            words = f"has no format that is known, but records with {shown}; name the fields with --map, or name --from"
            raise CannotJudge.at(name, words)
        format_ = row_format(shape if shape in _TABLES else "json")
    if columns and format_.shape and shape in _TABLES and (why := missing_columns_words(columns, request.mapping)):
        raise CannotJudge(refusal_problem(name, why, request))
    return Recording(name, shape, format_, items, broken)


def _shape(data: bytes, wanted: Format | None) -> str:
    found, asked = files.detect_shape(data), wanted.shape if wanted else ""
    if asked in ("commas", "tabs") and found in ("", "commas", "tabs"):  # one column has no delimiter to tell
        return asked
    if not found:
        raise NotReadable("does not look like JSON, CSV, TSV, Parquet or .eval", 1)
    if wanted and asked not in ("", found if found in _TABLES else "json"):
        raise NotReadable(f"is not {wanted.title}; leave --from out to detect the format")
    return found


def _field_names(value: Any) -> tuple[str, ...]:
    """Return the field names of an object; a repeated column's name is repeated. Empty for other values."""
    pairs = value.items() if isinstance(value, dict) else ()
    return tuple(name for name, one in pairs for _ in (one if isinstance(one, RepeatedColumn) else (one,)))


def refusal_problem(name: str, refused: RefusedRecord, request: Request) -> Problem:
    """Return the problem of a record that cannot become a case."""
    line, document = refused.record.line, refused.record.name
    where = f"in {document}: " if document and not line else ""
    mapping = ",".join(f"{side}=FIELD" for side in request.makes.sides)
    hint = f"; name them: --map {mapping}" if refused.is_unnamed else ""
    return Problem(Place(name, line), f"{where}{refused}{hint}", refused.id)


def _unread_problem(name: str, error: NotReadable | ModuleNotFoundError, more: str = "") -> Problem:
    if isinstance(error, NotReadable):
        return Problem(Place(name, error.line), f"{error}{more}")
    extra, what = ("dask", "is Parquet") if error.name == "pyarrow" else ("zstd", "is compressed with zstd")
    words = f"{what}, but its library is not installed; install SAFE Gate with the extra `{extra}`"
    return Problem(Place(name), f"{words}: in a checkout, pip install '.[{extra}]'", code=Code.UNAVAILABLE)


# --- its rows --------------------------------------------------------------------------------------


def convert_records(
    format_: Format, records: Iterable[Record | RefusedRecord], mapping: Mapping[str, str]
) -> Iterator[Outcome]:
    """Yield the results of each record of a file. For a tool's format, a mapping may name the id and the tags."""
    seen: Seen = {}
    if mapping.keys() - {"id", "tags"}:
        format_ = replace(row_format("json"), read=lambda record, _: [read_row(record.value, mapping)])
    for one in records:
        if isinstance(one, RefusedRecord):
            yield one
            continue
        if one.is_header and not format_.has_header:
            continue
        record, id_ = one, ""
        try:
            if not isinstance(record.value, dict):
                raise RefusedRecord("is not an object; expected an object with named fields")
            record = record._replace(value=canonical_names(record.value))
            if format_.only and not record.is_header:
                key, expected, words = format_.only
                if record.value.get(key, expected) != expected:
                    yield LeftOut(words, record)
                    continue
            id_ = find_id(record.value, format_.ids, mapping.get("id", ""))
            if format_.error and (error := error_text(record.value.get(format_.error))):
                raise RefusedRecord(f"is an error: {error}")
            for item in format_.read(record, seen):
                yield _with_record(item, record, id_, format_, mapping)
        except RefusedRecord as error:
            yield _with_record(error, record, id_, format_, mapping)
        except RecursionError:
            yield RefusedRecord("is nested too deep", record)
    yield from format_.ending(seen)


def _with_record(
    item: Sample | Outcome, record: Record, id_: str, format_: Format, mapping: Mapping[str, str]
) -> Outcome:
    """Return a result with its record and its id."""
    try:
        found = _row_of_sample(item, record, format_, mapping) if isinstance(item, Sample) else item
    except RefusedRecord as error:
        found = error
        error.id = item.id if isinstance(item, Sample) else ""
    found.record = record
    if not isinstance(found, LeftOut):
        found.id = id_ if "id" in mapping else found.id or id_
    return found


def _row_of_sample(sample: Sample, record: Record, format_: Format, mapping: Mapping[str, str]) -> Row:
    """Return the row of an exchange. Raises RefusedRecord."""
    found = _both_sides(sample)
    if found.assistant is None:
        raise RefusedRecord(f"has no reply; expected {format_.reply}")
    fields = unused_fields(record.value, {*sample.used, format_.error, *top_fields(mapping, record.value)})
    if found.labels is not None:
        if "expected" in fields:
            raise RefusedRecord("has labels of the last message twice; keep one")
        fields["expected"] = found.labels
    tags = (*sample.tags, *find_tags(record.value, mapping.get("tags", "")))
    return Row(found.user, found.assistant, found.left_out, fields, tags, sample.extra, sample.id)


def _both_sides(sample: Sample) -> Conversation:
    """Return both sides of an exchange, without a reply where there is none. Raises RefusedRecord."""
    asked, answer, left_out = sample.asked, sample.answer, sample.left_out
    if are_parts(answer):
        answer = [{"role": "assistant", "content": answer}]
    elif asked != [] and are_messages(answer):
        answer = replies_of_output(answer)[0][0]
    if are_parts(asked):
        asked, more = content_text(asked)
        left_out += more
    if asked and isinstance(answer, list) and last_reply_text(answer).text is None:
        return Conversation("", None, ())
    if isinstance(answer, list) or asked == []:
        before = asked if isinstance(asked, list) else [{"role": "user", "content": asked}]
        found = last_reply(join_messages(before, answer) if before else answer, whole=sample.whole)
    elif isinstance(asked, list):
        found = last_exchange([*asked, {"role": "assistant", "content": ""}])._replace(assistant=answer)
    elif isinstance(asked, str):
        found = Conversation(asked, answer, ())
    else:
        raise RefusedRecord("has a prompt that is neither text nor messages; expected one of them")
    return found._replace(left_out=(*left_out, *found.left_out))


_MOST_KINDS = 50
_CHOICES = (AUTO, *FORMATS)
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


def _schema(request: Request) -> Schema:
    if request.format not in _CHOICES:
        hint = suggestion(request.format, _CHOICES)
        words = f"is {json.dumps(request.format[:40])}{hint}; expected one of {', '.join(_CHOICES)}"
        raise CannotJudge.at("--from", words, Code.USAGE)
    try:
        "".encode(request.encoding or "utf-8")
    except (LookupError, ValueError):  # ValueError: `undefined`, and a name with a NUL
        words = f"is {json.dumps(request.encoding[:40])}; expected the name of a text encoding, such as cp1252"
        raise CannotJudge.at("--encoding", words, Code.USAGE) from None
    schema = checked.load_schema(request.makes.kind)
    sample = request.makes.line(Exchange("a", "", "", "", request.tags, request.checks, {}))
    if faults := [one for one in schema.faults(sample) if one.path[:1] in (("checks",), ("tags",))]:
        raise CannotJudge(*(Problem(Place("--checks"), one.message, code=Code.USAGE) for one in faults))
    return schema


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
    """The first ids of rows with different user texts."""
    count: int = 0
    """How many rows became cases."""
    is_whole: bool = True
    """Whether every file could be read to its end. Other problems are about single records."""
    _last: dict[str, Record] = field(default_factory=dict)

    def cut_short(self, problem: Problem) -> None:
        """Note that a file could not be read to its end."""
        self.problems.add(problem)
        self.is_whole = False

    def leave_out(self, kinds: Iterable[str], record: Record) -> None:
        """Count what is left out of a record, which may become several rows; of kinds beyond the first ones the sum."""
        for kind in kinds:
            known = kind in self.left_out or len(self.left_out) < _MOST_KINDS
            name = kind if known else "other fields"
            if self._last.get(name) is not record:
                self.left_out[name] += 1
                self._last[name] = record


def import_files(patterns: Sequence[str], request: Request) -> ImportResult:
    """Import files, those of globs in the order of their paths. Raises CannotJudge for a wrong request."""
    schema, key, result = _schema(request), request.key, ImportResult()
    paths, problems = globs.expand_on_disk(patterns, ".*")
    for problem in problems:
        result.cut_short(problem)
    recordings = list[Recording]()
    for path in paths:
        try:
            recordings.append(open_recording(path, request))
        except CannotJudge as error:
            result.cut_short(error.problems[0])
    halves = _collect_halves([one for one in recordings if one.format.joins], request, result)
    asked: dict[str, Sequence[str]] = {}
    for recording in recordings:
        before = result.count
        for item in _read_rows(recording, request):
            if isinstance(item, LeftOut):
                result.leave_out((item.what,), item.record)
                continue
            if isinstance(item, Row) and item.assistant is None:  # a request, whose reply is elsewhere
                continue
            made = item if isinstance(item, Problem) else _make_line(item, halves, recording.name, request, schema)
            if isinstance(made, Problem):
                result.problems.add(made)
                result.lines += [{key: shorten_id(made.case_id)}] if made.case_id else []
                continue
            entry, left_out, record = made
            result.lines.append(entry)
            said = prompt_of_line(entry)
            if len(result.unlike) < _MOST_KINDS and asked.setdefault(entry[key], said) != said:
                result.unlike[entry[key]] = None
            result.leave_out(left_out, record)
            result.count += 1
        if recording.broken:
            result.cut_short(recording.broken)
        result.found.append((recording.name, recording.title, result.count - before))
    return result


def _read_rows(recording: Recording, request: Request) -> Iterator[Row | LeftOut | Problem]:
    """Yield the rows of a file, and a problem for each record that cannot become one."""
    for item in convert_records(recording.format, recording.records, request.mapping):
        if not (recording.broken and item.record is NO_RECORD):  # about a file that is whole
            yield refusal_problem(recording.name, item, request) if isinstance(item, RefusedRecord) else item


def _collect_halves(
    recordings: Sequence[Recording], request: Request, result: ImportResult
) -> dict[str, tuple[Place, Row]]:
    """Return by id each request whose reply is elsewhere, with its place."""
    halves: dict[str, tuple[Place, Row]] = {}
    answered = set[str]()
    for recording in recordings:
        for item in _read_rows(recording, request):
            if isinstance(item, Problem):
                answered.add(item.case_id)
            elif isinstance(item, Row) and item.assistant is not None:
                answered.add(item.id)
            elif isinstance(item, Row):
                place = Place(recording.name, item.record.line)
                if halves.setdefault(item.id, (place, item))[1] is not item:
                    result.problems.add(Problem(place, "has the custom_id of an earlier request", item.id))
    for place, half in halves.values():
        if half.id not in answered:
            words = "has no response in these files; name the file of responses too"
            result.problems.add(Problem(place, words, half.id))
    return halves


def _make_line(
    row: Row, halves: Mapping[str, tuple[Place, Row]], name: str, request: Request, schema: Schema
) -> tuple[JsonObject, Iterable[str], Record] | Problem:
    """Return our line for a row of a file, the parts left out of it, and its record."""
    place = Place(name, row.record.line)
    if row.user is None:
        if row.id not in halves:
            return Problem(place, "answers no request of these files; name the file of requests too", row.id)
        half = halves[row.id][1]
        row = replace(row, user=half.user, left_out=(*half.left_out, *row.left_out))
    kept = kept_fields(row, request)
    entry = row_to_line(row, request, kept)
    is_ours = "checks" in kept or isinstance(kept.get("expected"), dict)
    if kept and not is_ours:  # a field of that name may be another thing
        for other in {str(fault.path[0]) for fault in schema.faults(entry) if fault.path} & kept.keys():
            del kept[other]
        entry = row_to_line(row, request, kept)
    why, wrong = _line_fault(row, entry, request, schema)
    if kept and not why:
        fault = next(iter(EVALUATORS[request.evaluator].faults(entry)), None)
        why, wrong = (fault.message, fault.field) if fault else ("", "")
    if why:
        return Problem(place, why, row.id, wrong)
    unused = (field_words(key) for key, one in row.fields.items() if key not in kept and has_value(one))
    return entry, (*row.left_out, *unused), row.record


def _line_fault(row: Row, entry: JsonObject, request: Request, schema: Schema) -> tuple[str, str]:
    """Return why a line is invalid, and the wrong field; two empty texts for a valid line."""
    if not entry[request.key]:
        return f"has no id; name it: --map {request.key}=FIELD", ""
    if isinstance(row.assistant, dict) and not request.makes.is_parsed:
        return f"has a reply that is an object; expected text{other_evaluator_hint(row.assistant)}", ""
    for fault in schema.faults(entry):
        return fault.message, fault.field
    if bad := next((name for name, one in entry.items() if not is_json(one)), ""):
        return "holds NaN or an infinite number, which JSON cannot hold; correct it", bad
    if long := disk.find_long_text(EVALUATORS[request.evaluator], entry, disk.BOUNDS.text):
        return disk.too_long_message(disk.BOUNDS.text, "disk.text"), long
    return "", ""


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
