"""Shell: recorded cases, validated and yielded one at a time: lines of JSON, rows of Parquet, documents with outputs.

What else is found is gathered beside them, so a caller can score valid cases and still see every problem. Each case of
a document is joined with exactly one recorded output.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from safe_gate import addons
from safe_gate.core.case import Case, CaseAt, Input
from safe_gate.core.evaluator import Evaluator
from safe_gate.core.jsontext import JsonError, item_lines, parse
from safe_gate.inputs import case_files, checked, disk, globs
from safe_gate.inputs.case_files import CaseFiles
from safe_gate.inputs.commit_files import FilePath
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Code, Place, Problem, Problems
from safe_gate.model.report import InputFile
from safe_gate.settings import Bounds


class FilePart(NamedTuple):
    """Some whole lines of a file as bytes: a value that can be sent to another process.

    `name` is the file's name in problems, `first` the number of the first line, counted from 1. In a Parquet file a
    line is a row as JSON, a blank one for a row that JSON cannot represent. Texts must be within `bounds`.
    """

    name: str
    first: int
    data: bytes
    bounds: Bounds = disk.BOUNDS


@dataclass(slots=True)
class Found:
    """What is found beside cases: problems, the files that are read, and our own files that a glob skips."""

    problems: Problems = field(default_factory=Problems)
    inputs: list[InputFile] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


PART_LINES = 50
"""The default number of lines of a part."""

PART_BYTES = 1 << 20
"""A part ends with the line that reaches this number of bytes."""

NO_EXTRA = "install SAFE Gate with the extra `dask`, and run the command instead of the action, whose image lacks it"
"""The advice where dask or pyarrow is missing."""


def read_cases(files: CaseFiles, settings: JsonObject, found: Found) -> Iterator[Case]:
    """Yield the cases of files, and add to `found` what else is there.

    `settings` are by the names of options, `cluster_key` and those the evaluator scores by.
    """
    if files.evaluator.input.cases:
        yield from _read_documents(files, files.evaluator.input, found)
        return
    seen, evaluator = dict[str, Place](), files.evaluator
    for part in read_parts(files, found):
        some = list(parse_part(evaluator, part, settings))
        twins = {
            place: twin
            for case_id, place in ids_by_line(some)
            if (twin := check_duplicate(seen, case_id, place, evaluator.input.id_key))
        }
        found.problems.add(*twins.values(), *(one for one in some if isinstance(one, Problem)))
        yield from (one for one in some if not isinstance(one, Problem) and one.place not in twins)


def read_parts(files: CaseFiles, found: Found, size: int = PART_LINES) -> Iterator[FilePart]:
    """Yield files of cases in parts of lines. The reader of the parts finds problems of lines and duplicate ids."""
    paths, problems, skipped = globs.expand_patterns(files.patterns, root=files.root)
    found.problems.add(*problems)
    found.skipped += map(disk.display_path, skipped)
    for path in paths:
        yield from read_file_parts(path, files.evaluator.input.kind, files.options.bounds, found, size)


def parse_part(evaluator: Evaluator, part: FilePart, settings: JsonObject) -> Iterator[Case | Problem]:
    """Yield the cases of a part and its problems, as `read_cases` does but for ids that stand elsewhere too."""
    for item in parse_objects(part, evaluator.input.kind):
        if isinstance(item, Problem):
            yield item
            continue
        place, value = item
        at = CaseAt(place, cluster_value(value, settings["cluster_key"]))
        yield from _parse_value(evaluator, value, at, settings)


def _parse_value(evaluator: Evaluator, value: JsonObject, at: CaseAt, settings: JsonObject) -> Iterator[Case | Problem]:
    """Yield the cases of an object that fits its schema, or its problems."""
    faults = tuple(evaluator.faults(value))
    for fault in faults:
        yield Problem(at.place, fault.message, value[evaluator.input.id_key], fault.field, fault.text_free)
    if not faults:
        yield from evaluator.parse(value, at, settings)


def ids_by_line(cases: Iterable[Case | Problem]) -> tuple[tuple[str, Place], ...]:
    """Return the ids of each line of some cases and problems with its place, those of lines with problems too."""
    ids = (
        (case_id, one.place)
        for one in cases
        for case_id in ((one.case_id,) if isinstance(one, Problem) else one.ids)
        if case_id
    )
    return tuple(dict.fromkeys(ids))


def cluster_value(case: Mapping[str, Any], key: str) -> str:
    """Return a case's field as its cluster: text unchanged, other values as JSON, "" for none or null."""
    value = case.get(key)
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def check_duplicate(seen: dict[str, Place], case_id: str, place: Place, field: str) -> Problem | None:
    """Return the problem of an id that was seen before, else add it to `seen` and return None."""
    first = seen.setdefault(case_id, place)
    return None if first is place else duplicate_problem(place, first, case_id, field)


def duplicate_problem(place: Place, first: Place, case_id: str, field: str) -> Problem:
    """Return the problem of an id that occurs at another place too."""
    words = f"appears at {first.path}:{first.line} too; expected ids that are unique in the run"
    return Problem(place, words, case_id, field, code=Code.DUPLICATE_ID)


def part_lines(part: FilePart) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a part that are not blank, with their numbers."""
    return checked.numbered_lines(BytesIO(part.data), part.first)


def read_file_parts(
    path: FilePath, kind: str, bounds: Bounds, found: Found, size: int = PART_LINES
) -> Iterator[FilePart]:
    """Yield a file in parts, and add it to `found`; or add why it is not read. A line with a problem is blank there."""
    name, digest = disk.display_path(path), hashlib.sha256()
    is_of_cases = kind in checked.OF_CASES
    is_of_rows = is_of_cases and checked.is_columnar(path)
    number, block, length, is_empty, is_start = 0, list[bytes](), 0, True, True
    try:
        with disk.open_regular(path) as file:
            lines = _rows if is_of_rows else disk.bounded_lines
            for number, read in enumerate(lines(file, bounds.line, digest), 1):
                line = read if isinstance(read, bytes) else b""
                if not line:
                    found.problems.add(_line_problem(read, Place(name, number), bounds.line))
                    line, is_empty = b"\n", False
                elif is_start and (first := next(checked.numbered_lines([line], number), None)):
                    if mistaken := checked.mistaken_file_problem(*first, path, name, kind):
                        found.problems.add(mistaken)
                        return
                    is_empty = is_start = False
                block.append(line)
                length += len(line)
                if len(block) == size or length >= PART_BYTES:
                    yield FilePart(name, number - len(block) + 1, b"".join(block), bounds)
                    block, length = [], 0
        if block:
            yield FilePart(name, number - len(block) + 1, b"".join(block), bounds)
        found.inputs.append(InputFile(name, digest.hexdigest(), kind))
        if is_empty:
            expected = "one case a row" if is_of_rows else "one JSON object per line"
            words = f"is empty: no {'cases' if is_of_cases else 'outputs'}; expected {expected}"
            found.problems.add(Problem(Place(name), words, code=Code.NO_INPUT))
    except OSError as error:
        found.problems.add(disk.unreadable_problem(path, error))
    except addons.scale.parquet.NotReadable as error:
        words = f"is not a readable Parquet file: {error}"
        found.problems.add(Problem(Place(name), words, code=Code.UNREADABLE_FILE))
    except ModuleNotFoundError as error:
        words = f"is Parquet, which needs {error.name}, which is not installed; {NO_EXTRA}"
        found.problems.add(Problem(Place(name), words))


def _rows(file: BinaryIO, most: int, digest: hashlib._Hash) -> Iterator[bytes | Exception]:
    """Yield the rows of a Parquet file as `disk.bounded_lines` does lines; or why JSON cannot represent one."""
    while data := file.read(PART_BYTES):
        digest.update(data)
    file.seek(0)
    for row in addons.scale.parquet.read_rows(file):
        yield row if isinstance(row, Exception) else f"{row}\n".encode() if len(row) <= most else b""


def _line_problem(line: bytes | Exception, place: Place, most: int) -> Problem:
    """Return the problem of a row without JSON, or of a line that is too long."""
    if isinstance(line, Exception):
        words = "is a row that JSON cannot represent"
        return Problem(place, f"{words}: {line}", text_free=words)
    return Problem(place, disk.too_long_message(most, "bounds.line"))


def parse_objects(part: FilePart, kind: str) -> Iterator[tuple[Place, dict[str, Any]] | Problem]:
    """Yield the valid objects of a part, one a line, with their places, and problems."""
    schema, owner, most = checked.load_schema(kind), checked.OWNERS[kind], part.bounds.text
    for number, line in part_lines(part):
        place = Place(part.name, number)
        try:
            value = parse(disk.decode(line, part.name, number))
        except JsonError as error:
            yield disk.not_json_problem(error, place)
            continue
        except CannotJudge as error:
            yield from error.problems
            continue
        case_id = checked.id_of(value, owner.input.id_key)
        if faults := schema.faults(value):
            yield from (Problem(place, one.message, case_id, one.field, one.text_free) for one in faults)
        elif len(part.data) > most and (field := disk.find_long_text(owner, value, most)):
            yield Problem(place, disk.too_long_message(most, "bounds.text"), case_id, field)
        else:
            yield place, value


# --- documents and their outputs ------------------------------------------------------------------


class Output(NamedTuple):
    """A recorded output with what is recorded beside it, and its place; None for an invalid one."""

    value: JsonObject | None
    place: Place


def _read_documents(files: CaseFiles, form: Input, found: Found) -> Iterator[Case]:
    """Yield the cases of documents joined with their recorded outputs.

    Outputs come from the files that options name, if any, else from `<stem>.outputs.jsonl` beside each batch, or
    inline. Every case must have exactly one output, and every output must have a case.
    """
    paths, problems, skipped = case_files.find_case_files(files)
    found.skipped += map(disk.display_path, skipped)
    outputs, bounds = files.options.value(form.outputs), files.options.bounds
    output_paths, unmatched, _ = globs.expand_patterns(outputs, root=files.root)
    found.problems.add(*problems, *unmatched)
    named = dict[str, Output]()
    is_complete = _read_outputs(form, bounds, output_paths, named, found) and not unmatched
    seen, stems = dict[str, Place](), dict[str, FilePath]()
    is_searched, are_ids_known = is_complete or bool(named), True
    for path in paths:
        first = stems.setdefault(path.stem, path)
        if first is not path:
            words = f"has the same batch id as {disk.display_path(first)}; rename one: a batch's id is its file's stem"
            found.problems.add(Problem(Place(disk.display_path(path)), words))
        recorded, searched = named, outputs
        if not outputs:
            beside = case_files.outputs_beside(path)
            recorded, searched = {}, (disk.display_path(beside),)
            is_complete = _read_outputs(form, bounds, [beside] if disk.exists(beside) else [], recorded, found)
            is_searched = is_complete or bool(recorded)
        batch = _read_batch(files, form, path, found)
        if batch is None or not is_searched:  # further problems would be noise
            are_ids_known = False
            continue
        for item in _join_outputs(files, form, batch, recorded, seen, searched):
            if isinstance(item, Problem):
                found.problems.add(item)
            else:
                yield item
        if not all(batch.ids):  # an unused output may belong to a case without an id
            are_ids_known = False
        elif not outputs:
            found.problems.add(*_unused_outputs(form.id_key, recorded, f"{batch.name} does not have"))
    if outputs and are_ids_known:
        found.problems.add(*_unused_outputs(form.id_key, named, "no batch has"))


def count_outputs(form: Input, patterns: Sequence[str], found: Found) -> int:
    """Return the number of recorded outputs without the documents that they belong to."""
    paths, problems = globs.expand_on_disk(patterns)
    found.problems.add(*problems)
    held = dict[str, Output]()
    _read_outputs(form, disk.BOUNDS, paths, held, found)
    return len(held)


class BatchFile(NamedTuple):
    """A batch file: its id, its test cases with their ids ("" for none) and places, and which ones are `faulty`.

    `content` is the whole parsed file.
    """

    id: str
    name: str
    cases: Sequence[Any]
    ids: Sequence[str]
    places: Sequence[Place]
    content: JsonObject
    faulty: Set[int]


def _read_batch(files: CaseFiles, form: Input, path: FilePath, found: Found) -> BatchFile | None:
    """Return the batch of a file, None without test cases. One case's fault hides no other."""
    bounds, name = files.options.bounds, disk.display_path(path)
    try:
        data = disk.read_bytes(path, name, bounds.line, "bounds.line")
        found.inputs.append(InputFile(name, hashlib.sha256(data).hexdigest(), form.kind))
        data = data.removeprefix(disk.BOM)
        if checked.is_of_another_format(data):
            raise CannotJudge(checked.bare_list_problem(path, name) or checked.not_of_kind_problem(name, form.kind))
        text = disk.decode(data, name)
        with suppress(JsonError):  # it may hold cases, one a line
            if other := checked.wrong_kind_problem(name, form.kind, parse(text.lstrip().partition("\n")[0])):
                raise CannotJudge(other)
        content = disk.parse_json(text, name)
        checked.refuse_other_kind(content, name, form.kind)
    except CannotJudge as error:
        found.problems.add(*error.problems)
        return None
    held = content.get(form.cases) if isinstance(content, dict) else None
    cases = held if isinstance(held, list) else []
    ids = [checked.id_of(case, form.id_key) for case in cases]
    faults = checked.load_schema(form.kind).faults(content)
    if not faults and isinstance(path, Path):  # no change can correct a commit
        faults = tuple(form.faults(content))
    found.problems.add(
        *checked.fault_problems(faults, name, text, {(form.cases, index): one for index, one in enumerate(ids)})
    )
    if not cases:
        return None
    places = [Place(name, line) for line in item_lines(text, form.cases)]
    faulty = {int(fault.path[1]) for fault in faults if fault.path[:1] == (form.cases,) and fault.path[1:]}
    for index, case in enumerate(cases) if len(data) > bounds.text else ():
        if field := disk.find_long_text(files.evaluator, case, bounds.text):
            words = disk.too_long_message(bounds.text, "bounds.text")
            found.problems.add(Problem(places[index], words, ids[index], field))
            faulty.add(index)
    return BatchFile(path.stem, name, cases, ids, places, content, faulty)


def _join_outputs(
    files: CaseFiles,
    form: Input,
    batch: BatchFile,
    recorded: dict[str, Output],
    seen: dict[str, Place],
    searched: Sequence[str],
) -> Iterator[Case | Problem]:
    """Yield a batch's cases with their outputs, taking each output out of `recorded`.

    `searched` are the files of these outputs.
    """
    for index, (case, test_id, place) in enumerate(zip(batch.cases, batch.ids, batch.places, strict=True)):
        if not test_id:
            continue
        found = recorded.pop(test_id, None)
        if twin := check_duplicate(seen, test_id, place, form.id_key):
            yield twin
            continue
        whole = _with_output(case, form, found, place, searched) if index not in batch.faulty else None
        if isinstance(whole, Problem):
            yield whole
        elif whole is not None:
            cluster, outputs = cluster_value(case, files.options.cluster_key), (found or Output(None, place)).place.path
            at = CaseAt(place, cluster, batch.id, batch.content, index, outputs)
            yield from _parse_value(files.evaluator, whole, at, {})


def _with_output(
    case: JsonObject, form: Input, recorded: Output | None, place: Place, searched: Sequence[str]
) -> JsonObject | Problem | None:
    """Return a case with its one output, a problem if there is none or two, None if it was invalid."""
    if "output" not in case and recorded is None:
        words = f"has no recorded output; expected one by this {form.id_key} in {', '.join(searched)}, or inline"
        advice = f"--outputs or {form.outputs.replace('_', '-')} names another file"
        return Problem(place, f"{words}; {advice}", case[form.id_key], "output", code=Code.MISSING_OUTPUT)
    if recorded is None:
        return case
    if recorded.value is None:
        return None
    if twice := next((key for key in recorded.value if key in case), ""):
        where = f"{recorded.place.path}:{recorded.place.line}"
        return Problem(place, f"is recorded here and at {where}; keep one", case[form.id_key], twice)
    return {**case, **recorded.value}


def _unused_outputs(id_key: str, recorded: Mapping[str, Output], nobody: str) -> Iterator[Problem]:
    for test_id, output in recorded.items():
        words = f"is the output of a case that {nobody}"
        yield Problem(output.place, words, test_id, id_key, code=Code.MISSING_OUTPUT)


def _read_outputs(
    form: Input, bounds: Bounds, paths: Iterable[FilePath], into: dict[str, Output], found: Found
) -> bool:
    """Read recorded outputs by their test_id; return whether all could be read."""
    before, twins = found.problems.count, 0
    for path in paths:
        last = None
        for part in read_file_parts(path, form.outputs_kind, bounds, found):
            for item in parse_objects(part, form.outputs_kind):
                if isinstance(item, Problem):
                    found.problems.add(item)
                    test_id, here = item.case_id, Output(None, item.place)
                else:
                    test_id = item[1][form.id_key]
                    own = {key: one for key, one in item[1].items() if key != form.id_key and not key.startswith("x_")}
                    here = Output(own, item[0])
                if not test_id or here.place == last:  # a line may have several problems
                    continue
                last = here.place
                if (first := into.setdefault(test_id, here)) is not here:
                    found.problems.add(duplicate_problem(here.place, first.place, test_id, form.id_key))
                    twins += 1
    return found.problems.count - before == twins
