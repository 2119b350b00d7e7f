"""Shell: recorded cases and outputs, validated and yielded one at a time: lines of JSON, or rows of a Parquet file.

Problems are among them, so a caller can score valid cases and still see every problem.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from safe_gate import addons
from safe_gate.core.evaluator import Evaluator
from safe_gate.core.given import Case, CaseAt
from safe_gate.core.jsontext import JsonError, parse
from safe_gate.inputs.case_files import CaseFiles
from safe_gate.inputs.checked import load_schema
from safe_gate.inputs.disk import (
    BOUNDS,
    TooLongError,
    bounded_lines,
    decode,
    long_text,
    not_json,
    open_regular,
    shown,
    too_long,
    unreadable,
)
from safe_gate.inputs.globs import expand, own_cases
from safe_gate.inputs.kinds import OF_CASES, OWNERS, id_of, is_columnar, is_meant_as, mistaken_for, numbered
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Code, Place, Problem
from safe_gate.model.report import InputFile
from safe_gate.settings.model import Bounds


class Part(NamedTuple):
    """Some whole lines of a file as bytes: a value that can be sent to another process.

    `name` is the file's name in problems, `first` the number of the first line, counted from 1. In a Parquet file a
    line is a row as JSON, a blank one for a row that JSON cannot represent. Texts must be within `bounds`.
    """

    name: str
    first: int
    data: bytes
    bounds: Bounds = BOUNDS


class Skipped(NamedTuple):
    """One of our own files, such as a report, that a glob matches and skips."""

    path: str


PART_LINES = 50
"""So many lines a part has, unless somebody asks for another number."""

PART_BYTES = 1 << 20
"""A part ends with the line that reaches this number of bytes."""

NO_EXTRA = "install SAFE Gate with the extra `dask`, and run the command instead of the action, whose image lacks it"
"""What is to be done where dask or pyarrow is missing."""


def cases(files: CaseFiles, settings: JsonObject) -> Iterator[Case | Problem | InputFile | Skipped]:
    """Yield the cases of JSONL and Parquet files, a problem for each thing wrong, and each file at its end.

    The evaluator's input is `Lines`; `settings` are by the names of options, `cluster_key` and those it scores by.
    """
    seen, evaluator = dict[str, Place](), files.evaluator
    for item in parts(files):
        if not isinstance(item, Part):
            yield item
            continue
        found = list(cases_of(evaluator, item, settings))
        twins = {
            place: twin
            for case_id, place in ids_of(found)
            if (twin := twin_of(seen, case_id, place, evaluator.input.id_key))
        }
        yield from twins.values()
        yield from (one for one in found if isinstance(one, Problem) or one.place not in twins)


def parts(files: CaseFiles, size: int = PART_LINES) -> Iterator[Part | Problem | InputFile | Skipped]:
    """Yield files of cases in parts of lines, and their problems and each file as `cases` does.

    The reader of the parts finds problems of lines and duplicate ids.
    """
    paths, problems = expand(files.patterns, root=files.root)
    yield from problems
    for path in paths:
        is_empty = True
        for item in _parts(path, files.evaluator.input.kind, files.root, files.bounds, size):
            is_empty = is_empty and isinstance(item, InputFile)
            yield item
        if is_empty:
            expected = "one case a row" if is_columnar(path) else "one JSON object per line"
            words = f"is empty: no cases; expected {expected}"
            yield Problem(Place(shown(path, files.root)), words, code=Code.NO_INPUT)
    yield from (Skipped(shown(path, files.root)) for path in own_cases(files.patterns, root=files.root))


def cases_of(evaluator: Evaluator, part: Part, settings: JsonObject) -> Iterator[Case | Problem]:
    """Yield the cases of a part and its problems, as `cases` does but for ids that stand elsewhere too."""
    for item in _objects(part, evaluator.input.kind):
        if isinstance(item, Problem):
            yield item
            continue
        place, value = item
        if faults := tuple(evaluator.faults(value)):
            for fault in faults:
                yield Problem(place, fault.message, value[evaluator.input.id_key], fault.field, fault.text_free)
            continue
        yield from evaluator.parse(value, CaseAt(place, cluster_of(value, settings["cluster_key"])), settings)


def groups_of(evaluator: Evaluator, part: Part) -> set[str] | None:
    """Return the groups that cases of a part name, valid or not; None if a line is not a case at all."""
    found: set[str] = set()
    for item in _values(part):
        if isinstance(item, Problem) or not is_meant_as(item[1], evaluator.input.kind):
            return None
        named = item[1].get(evaluator.grouping.key, [])
        some = [named] if isinstance(named, str) else named
        if not isinstance(some, list) or not all(isinstance(one, str) for one in some):
            return None
        found.update(some)
    return found


def ids_of(found: Iterable[Case | Problem]) -> tuple[tuple[str, Place], ...]:
    """Return the ids of each line of some cases and problems with its place, those of lines with problems too."""
    ids = (
        (case_id, one.place)
        for one in found
        for case_id in ((one.case_id,) if isinstance(one, Problem) else one.ids)
        if case_id
    )
    return tuple(dict.fromkeys(ids))


def cluster_of(case: Mapping[str, Any], key: str) -> str:
    """Return a case's field as its cluster: text unchanged, other values as JSON, "" for none or null."""
    value = case.get(key)
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def twin_of(seen: dict[str, Place], case_id: str, place: Place, field: str) -> Problem | None:
    """Return a problem if the id was seen before, else remember it."""
    first = seen.setdefault(case_id, place)
    return None if first is place else twin(place, first, case_id, field)


def twin(place: Place, first: Place, case_id: str, field: str) -> Problem:
    """Return the problem of an id that stands elsewhere too."""
    words = f"appears at {first.path}:{first.line} too; expected ids that are unique in the run"
    return Problem(place, words, case_id, field, code=Code.DUPLICATE_ID)


def recorded_outputs(
    kind: str, path: Path, root: Path, bounds: Bounds = BOUNDS
) -> Iterator[tuple[Place, dict[str, Any]] | Problem | InputFile]:
    """Yield the valid outputs of a file, of one schema, with their places, problems, and at the end the file."""
    for item in _parts(path, kind, root, bounds, PART_LINES):
        if isinstance(item, Part):
            yield from _objects(item, kind)
        else:
            yield item


def lines_of(part: Part) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a part that are not blank, with their numbers."""
    return numbered(BytesIO(part.data), part.first)


def _parts(path: Path, kind: str, root: Path, bounds: Bounds, size: int) -> Iterator[Part | Problem | InputFile]:
    """Yield a file in parts from the first non-blank line, then the file; or why it is not read."""
    name, digest = shown(path, root), hashlib.sha256()
    is_start = True
    read = _rows if kind in OF_CASES and is_columnar(path) else _lines
    try:
        with open_regular(path) as file:
            for item in read(file, name, digest, bounds, size):
                if is_start and isinstance(item, Part):
                    if (first := next(lines_of(item), None)) is None:
                        continue
                    if mistaken := mistaken_for(*first, path, name, kind):
                        yield mistaken
                        return
                    is_start = False
                yield item
    except OSError as error:
        yield unreadable(path, error, root)
    except TooLongError as error:
        yield Problem(Place(name, error.line), too_long(bounds.line, "bounds.line"))
    except addons.scale.parquet.NotReadable as error:
        yield Problem(Place(name), f"is not a readable Parquet file: {error}", code=Code.UNREADABLE_FILE)
    except ModuleNotFoundError as error:
        yield Problem(Place(name), f"is Parquet, which needs {error.name}, which is not installed; {NO_EXTRA}")
    else:
        yield InputFile(name, digest.hexdigest(), kind)


def _lines(file: BinaryIO, name: str, digest: hashlib._Hash, bounds: Bounds, size: int) -> Iterator[Part]:
    """Yield the lines of a file in parts, and add its bytes to a digest. Raises TooLongError."""
    lines, first = bounded_lines(file, bounds.line), 1
    while block := _block(lines, size):
        data = b"".join(block)
        digest.update(data)
        yield Part(name, first, data, bounds)
        first += len(block)


def _block(lines: Iterator[bytes], size: int) -> list[bytes]:
    block, length = list[bytes](), 0
    for line in islice(lines, size):
        block.append(line)
        length += len(line)
        if length >= PART_BYTES:
            break
    return block


def _rows(file: BinaryIO, name: str, digest: hashlib._Hash, bounds: Bounds, size: int) -> Iterator[Part | Problem]:
    """Yield the rows of a Parquet file in parts, and problems of some; add its bytes to a digest."""
    parquet = addons.scale.parquet
    while data := file.read(PART_BYTES):
        digest.update(data)
    file.seek(0)
    number = 0
    for _, data in parquet.batches(file, size):
        first, lines = number + 1, list[str]()
        for number, line in enumerate(parquet.lines(data), first):
            lines.append("")
            if isinstance(line, parquet.NotReadable):
                words = "is a row that JSON cannot represent"
                yield Problem(Place(name, number), f"{words}: {line}", text_free=words)
            elif len(line) > bounds.line:
                yield Problem(Place(name, number), too_long(bounds.line, "bounds.line"))
            else:
                lines[-1] = line
        yield Part(name, first, "\n".join(lines).encode(), bounds)


def _values(part: Part) -> Iterator[tuple[Place, Any] | Problem]:
    """Yield the value and place of each line of a part, or a problem for invalid JSON."""
    for number, line in lines_of(part):
        place = Place(part.name, number)
        try:
            yield place, parse(decode(line, part.name, number))
        except JsonError as error:
            yield not_json(error, place)
        except CannotJudge as error:
            yield from error.problems


def _objects(part: Part, kind: str) -> Iterator[tuple[Place, dict[str, Any]] | Problem]:
    """Yield the valid objects of a part with their places, and problems."""
    schema = load_schema(kind)
    for item in _values(part):
        if isinstance(item, Problem):
            yield item
            continue
        place, value = item
        case_id = id_of(value, OWNERS[kind].input.id_key)
        faults = schema.faults(value)
        for fault in faults:
            yield Problem(place, fault.message, case_id, fault.field, fault.text_free)
        if faults:
            continue
        field = long_text(OWNERS[kind], value, part.bounds.text) if len(part.data) > part.bounds.text else None
        if field is None:
            yield place, value
        else:
            yield Problem(place, too_long(part.bounds.text, "bounds.text"), case_id, field)
