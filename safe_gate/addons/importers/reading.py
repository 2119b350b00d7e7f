"""Shell: what other tools recorded as cases or outputs of ours, for `import`. Reads files.

A file is read by its shape and its format, and each record becomes lines. Lines are kept until all files are read. Only
then are repeated ids and all problems known.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import NamedTuple

from safe_gate.addons.importers import files
from safe_gate.addons.importers.entries import Request, prompt_of_line, sample_to_line, shorten_id
from safe_gate.addons.importers.fields import IMPORTING, LABELS, both, canonical_names, find_ids, read_row
from safe_gate.addons.importers.files import NotReadable, Record, RefusedRecord, error_text, field_words, has_value
from safe_gate.addons.importers.formats import FORMATS, PATHS, Format, Outcome, Seen, detect_format, is_row
from safe_gate.addons.importers.messages import parse_embedded_json
from safe_gate.core.case import Exchange
from safe_gate.core.jsontext import repeated, value_at
from safe_gate.core.validate import suggestion
from safe_gate.evaluators.registry import EVALUATORS
from safe_gate.inputs import checked, disk, globs
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Code, Place, Problem, Problems

_MORE = ("has_more", "truncated", "partial", "next", "next_cursor", "nextPageToken", "meta.cursor", "cursors.next")
"""Where a page says that others follow."""
_TOTALS = ("total", "num_rows_total", "meta.totalItems")
"""Where a page says how many records there are."""
_PAGING = {"limit", "offset", "page", "page_size", "pageSize", "per_page", *(path.split(".")[0] for path in _MORE)}
"""Only beside one of these a `total` is that of the pages."""
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
    """Raise CannotJudge for an encoding that is unknown, or a check or a tag that no case may have."""
    try:
        "".encode(request.encoding or "utf-8")
    except (LookupError, UnicodeError):  # UnicodeError: `undefined`
        words = f"is {json.dumps(request.encoding[:40])}; expected the name of a text encoding, such as cp1252"
        raise CannotJudge.at("--encoding", words, Code.USAGE) from None
    sample = request.makes.line(Exchange("a", "", "", "", request.tags, request.checks, {}))
    faults = checked.load_schema(request.makes.kind).faults(sample)
    if wrong := [one for one in faults if one.path[:1] in (("checks",), ("tags",))]:
        raise CannotJudge(*(Problem(Place("--checks"), one.message, code=Code.USAGE) for one in wrong))


# --- a file ---------------------------------------------------------------------------------------


class Recording(NamedTuple):
    """A file to import: its name, its format, and its records, with those that cannot be read."""

    name: str
    format: Format
    records: list[Record]

    @property
    def has_labels(self) -> bool:
        """Whether `expected` holds labels by check in any record; in those of other tools it is another thing."""
        found = (parse_embedded_json(one.value.get(LABELS)) for one in self.records if isinstance(one.value, dict))
        objects = (one for one in found if isinstance(one, dict) and one)
        return any({*map(type, one.values())} <= {bool, type(None)} for one in objects)


def open_recording(path: Path, request: Request) -> Recording:
    """Return a file with its records. Raises CannotJudge for a file of no format, or that cannot be read to its end."""
    name, wanted = disk.display_path(path), FORMATS.get(request.format)
    try:
        with disk.open_regular(path) as file:
            data = files.to_utf8(file.read(), request.encoding)
        shape = files.detect_shape(data, wanted.shape if wanted else "")
        if wanted and wanted.shape not in ("", shape):
            raise NotReadable(f"is not {wanted.title}; leave --from out to detect the format")
        found = files.read(data, shape, PATHS, lambda record: is_row(record, request.paths))
        records = [one._replace(value=canonical_names(one.value)) for one in found]
    except OSError as error:
        raise CannotJudge(disk.unreadable_problem(path, error)) from None
    except NotReadable as error:
        raise CannotJudge(Problem(Place(name, error.line), str(error))) from None
    except ModuleNotFoundError as error:
        extra, what = ("dask", "is Parquet") if error.name == "pyarrow" else ("zstd", "is compressed with zstd")
        words = f"{what}, but its library is not installed; install SAFE Gate with the extra `{extra}`"
        words += f": in a checkout, pip install '.[{extra}]'"
        raise CannotJudge(Problem(Place(name), words, code=Code.UNAVAILABLE)) from None
    if not records:
        raise CannotJudge.at(name, "has no records to import")
    sound = [one for one in records if not one.fault][:20]
    format_ = wanted or next((one for one in map(detect_format, sound) if one), None)
    fields = next((one.value for one in records if isinstance(one.value, dict) and one.value), {})
    if not (format_ or request.paths or (request.makes.is_parsed and "output" in fields)) and fields:
        shown = ", ".join(json.dumps(one[:40]) for one in [*fields][:8])
        hint = "take a list out with jq -c '.LIST[]', " * (shape == "jsonl" and len(records) == 1)
        words = f"has no format that is known, but records with {shown}; {hint}name the fields with --map, or"
        raise CannotJudge.at(name, f"{words} name --from")
    format_ = format_ or FORMATS[shape]
    if request.paths:
        format_ = replace(
            FORMATS["jsonl"],
            title=format_.title,
            arrange=format_.arrange,
            is_log=format_.is_log,
            read=lambda record, _: [read_row(record.value, request.mapping)],
        )
    return Recording(name, format_, records)


# --- its records ----------------------------------------------------------------------------------


def _outcomes(
    records: Iterable[Record], format_: Format, request: Request, page_fault: Callable[[JsonObject], str]
) -> Iterator[tuple[Record, Outcome]]:
    """Yield each result of a record of a file, with the record."""
    seen: Seen = {}
    for record in records:
        try:
            if not (record.is_header and isinstance(record.value, dict)):
                yield from ((record, item) for item in _read_record(record, format_, request, seen))
            else:
                beside = [name for name, one in record.value.items() if format_.shape and has_value(one)]
                yield from ((record, f"{field_words(name)} beside the records") for name in beside)
                if fault := page_fault(record.value):
                    raise RefusedRecord(fault)
        except RefusedRecord as refused:
            yield record, refused


def _read_record(record: Record, format_: Format, request: Request, seen: Seen) -> Iterable[Outcome]:
    """Yield the results of a record. Raises RefusedRecord."""
    value = record.value
    if record.fault:
        raise RefusedRecord(record.fault)
    if not isinstance(value, dict):
        raise RefusedRecord("is not an object; expected an object with named fields")
    if format_.only:
        key, expected, words = format_.only
        if value.get(key, expected) != expected:
            yield words
            return
    if format_.error and (error := error_text(value.get(format_.error))):
        raise RefusedRecord(f"is an error: {error}")
    is_bare = request.makes.is_parsed and "output" in value and not (request.paths or detect_format(record))
    # An output alone is meant to be JSON, whatever it holds.
    yield from [read_row(value, {"output": "output"})] if is_bare else format_.read(record, seen)


def _page_faults(recordings: Iterable[Recording]) -> Callable[[JsonObject], str]:
    """Return what says why the header of a page, of all pages that are read, is an error; "" for none.

    It holds an error, or pages or records are missing. The same page twice counts once, as does a record with an id
    that is equal to another, such as where pages overlap.
    """
    files_ = [one.records for one in recordings if not one.format.is_log]
    pages = {repr(some) if any(one.is_header for one in some) else id(some): some for some in files_}
    records = [record for page in pages.values() for record in page]
    headers = [one.value for one in records if one.is_header and isinstance(one.value, dict)]
    values = [one.value for one in records if not one.is_header]
    again = repeated(repr(one) for one in values if len(headers) > 1 and isinstance(one, dict) and "id" in one)
    known, has_last = len(values) - len([*again]), not all(map(_following, headers))
    numbers = {repr(value_at(one, "meta", "page") or id(one)) for one in headers if value_at(one, "meta", "totalPages")}

    def fault(header: JsonObject) -> str:
        if error := error_text(header.get("error")):
            return f"is an error: {error}"
        total = value_at(header, "meta", "totalPages")
        if isinstance(total, int) and total > len(numbers):
            return f"is one of {total} pages, and the files have {len(numbers)}; import all of them"
        if not has_last:
            return f"is not the last page, as {_following(header)} says; import all pages"
        for path in _TOTALS if header.keys() & _PAGING else _TOTALS[1:]:
            total = value_at(header, *path.split("."))
            if isinstance(total, int) and total > known:
                return f"has {path} {total}, and the files have {known}; import all of them"
        return ""

    return fault


def _following(header: JsonObject) -> str:
    """Return where a page says that others follow, "" for a last page. A text with blanks is no cursor."""
    found = ((path, value_at(header, *path.split("."))) for path in _MORE if header.get("has_more") is not False)
    return next((path for path, one in found if one and not (isinstance(one, str) and " " in one)), "")


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
    is_whole: bool = True
    """Whether every file could be read to its end. Other problems are about single records."""

    def unlike(self, key: str) -> list[str]:
        """Return the ids, which are under `key`, of lines with different user texts."""
        asked: dict[str, Sequence[str]] = {}
        said = ((one[key], prompt_of_line(one)) for one in self.lines if len(one) > 1)
        return [*dict.fromkeys(id_ for id_, text in said if asked.setdefault(id_, text) != text)]


def import_files(patterns: Sequence[str], request: Request) -> ImportResult:
    """Import files, those of globs in the order of their paths. Raises CannotJudge for a wrong request."""
    _check_request(request)
    result = ImportResult()
    paths, problems = globs.expand_on_disk(patterns, ".*")
    recordings = list[Recording]()
    for path in paths:
        try:
            recordings.append(open_recording(path, request))
        except CannotJudge as error:
            problems = [*problems, *error.problems]
    result.is_whole = not problems
    for problem in problems:
        result.problems.add(problem)
    page_fault, of_all = _page_faults(recordings), dict[str, list[Record]]()
    for one in recordings:
        of_all.setdefault(one.format.name, []).extend([] if request.paths else one.records)
    for recording in recordings:
        cases, has_labels = 0, recording.has_labels
        keys, id_path = recording.format.ids, request.mapping.get("id", "")
        left_out = set[tuple[str, int]]()  # what, and of which record: it counts once if a record becomes several lines
        records = recording.format.arrange(recording.records, of_all[recording.format.name])
        for record, item in _outcomes(records, recording.format, request, page_fault):
            if isinstance(item, str):
                left_out.add((item, id(record)))
                continue
            ids, name = dict[str, str](), ""
            try:
                ids = find_ids(record, keys, id_path) or ({item.id: ""} if item.id and not id_path else {})
                name, *others = [*ids] or [""]
                if others:
                    raise RefusedRecord(both(ids[name], ids[others[0]], "id"))
                if isinstance(item, RefusedRecord):
                    raise item
                if id_path and not name:
                    raise RefusedRecord(f"has no id in {id_path}; correct --map")
                line, kinds = sample_to_line(item, record, name, recording.format, request, has_labels)
                result.lines.append(line)
                left_out |= {(kind, id(record)) for kind in kinds}
                cases += 1
            except RefusedRecord as refused:
                where = f"in {record.name}: " if record.name and not record.line else ""
                at = refused.field or ("" if name else record.field)
                result.problems.add(Problem(Place(recording.name, record.line), f"{where}{refused}", name, at))
                result.lines += [{request.key: shorten_id(one)} for one in ids]
        result.found.append((recording.name, recording.format.title, cases))
        result.left_out.update(kind for kind, _ in left_out)
    return result


def number_repeated_ids(lines: Sequence[JsonObject], key: str) -> Iterator[JsonObject]:
    """Yield cases or outputs with ids under `key`; of repeated ids the samples in file order as `ID#1`, `ID#2`.

    A number is passed over if a record has that id itself.
    """
    ids = Counter(entry[key] for entry in lines)
    numbers = {id_: 0 for id_, times in ids.items() if times > 1}
    for entry in lines:
        id_ = entry[key]
        if id_ in numbers:
            numbers[id_] = next(n for n in count(numbers[id_] + 1) if f"{id_}#{n}" not in ids)
            id_ = f"{id_}#{numbers[id_]}"
        if len(entry) > 1:
            yield {**entry, key: id_}
