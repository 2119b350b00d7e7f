"""Shell: documents of cases joined with their recorded outputs: every case with exactly one. Reads files."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from safe_gate.core.evaluator import Evaluator
from safe_gate.core.given import Case, CaseAt, Documents
from safe_gate.core.jsontext import JsonError, item_places, parse
from safe_gate.inputs import case_files, checked, disk, globs, kinds
from safe_gate.inputs.case_files import CaseFiles, input_named, outputs_beside
from safe_gate.inputs.disk import long_text, shown
from safe_gate.inputs.kinds import id_of
from safe_gate.inputs.recorded import Skipped, cluster_of, recorded_outputs, twin, twin_of
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Code, Place, Problem
from safe_gate.model.report import InputFile
from safe_gate.settings.model import Settings


class Output(NamedTuple):
    """A recorded output and its place; None for an invalid one."""

    value: JsonObject | None
    place: Place


def cases(files: CaseFiles, output: str = "") -> Iterator[Case | Problem | InputFile | Skipped]:
    """Yield the cases of batch files joined with their recorded outputs, problems and files. Globs skip `output`.

    Outputs come from those of `files` if given, else from `<stem>.outputs.jsonl` beside each batch, or
    inline. Every case must have exactly one output, and every output must have a case.
    """
    evaluator, outputs, root = files.evaluator, files.outputs, files.root
    id_key = evaluator.input.id_key
    paths, problems, skipped = case_files.expanded(files, output)
    yield from problems
    yield from (Skipped(shown(path, root)) for path in skipped)
    output_paths, problems = globs.expand(outputs, root=root)
    yield from problems
    named = dict[str, Output]()
    are_read = yield from _read_outputs(files, output_paths, named)
    are_sound = are_read and not problems
    is_bare = not named
    seen = dict[str, Place]()
    stems: dict[str, Path] = {}
    all_read = True
    for path in paths:
        first = stems.setdefault(path.stem, path)
        if first is not path:
            words = f"has the same batch id as {shown(first, root)}; rename one: a batch's id is its file's stem"
            yield Problem(Place(shown(path, root)), words)
        recorded = named
        beside = outputs_beside(path)
        if not outputs:
            recorded = {}
            found = [beside] if disk.exists(beside) else []
            are_sound = yield from _read_outputs(files, found, recorded)
            is_bare = not recorded
        name = shown(path, root)
        batch = None
        for item in _read(files, path, name):
            if isinstance(item, Batch):
                batch = item
            else:
                yield item
        if batch is None or (is_bare and not are_sound):  # further problems would be noise
            all_read = False
            continue
        searched = outputs or [shown(beside, root)]
        yield from _joined(files, batch, recorded, seen, searched, is_bare=is_bare)
        if not all(batch.ids):  # an unused output may belong to a case without an id
            all_read = False
        elif not outputs:
            yield from _unused(id_key, recorded, f"{name} does not have")
    if outputs and all_read:
        yield from _unused(id_key, named, "no batch has")


def outputs_alone(evaluator: Evaluator, patterns: Sequence[str]) -> Iterator[Problem | InputFile]:
    """Yield the problems of recorded outputs on their own, without the batch they belong to."""
    paths, problems = globs.expand(patterns)
    yield from problems
    yield from _read_outputs(case_files.of(evaluator, Settings()), paths, {})


class Batch(NamedTuple):
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


def _form(files: CaseFiles) -> Documents:
    assert isinstance(files.evaluator.input, Documents)  # noqa: S101 - narrows a type
    return files.evaluator.input


def _read(files: CaseFiles, path: Path, name: str) -> Iterator[Batch | Problem | InputFile]:
    """Yield the file, its problems, and its batch if it has test cases. One case's fault hides no other."""
    form, bounds = _form(files), files.bounds
    try:
        data = disk.data_of(path, name, bounds.line, "bounds.line")
        yield InputFile(name, hashlib.sha256(data).hexdigest(), form.kind)
        data = data.removeprefix(disk.BOM)
        if kinds.begins_otherwise(data):
            yield kinds.foreign(name, form.kind)
            return
        text = disk.decode(data, name)
        with suppress(JsonError):  # it may hold cases, one a line
            if other := kinds.of_another(name, form.kind, parse(text.lstrip().partition("\n")[0])):
                yield other
                return
        content = disk.parsed(text, name)
    except CannotJudge as error:
        yield from error.problems
        return
    faults = checked.load_schema(form.kind).faults(content)
    yield from checked.problems_of(faults, name, text, cases=(form.cases, form.id_key), batch=content)
    cases = content.get(form.cases) if isinstance(content, dict) else None
    if not (isinstance(cases, list) and cases):
        return
    places = [Place(name, *at) for at in item_places(text, form.cases)]
    ids = [id_of(case, form.id_key) for case in cases]
    faulty = {int(fault.path[1]) for fault in faults if fault.path[:1] == (form.cases,) and fault.path[1:]}
    for index, case in enumerate(cases) if len(data) > bounds.text else ():
        if (field := long_text(files.evaluator, case, bounds.text)) is not None:
            yield Problem(places[index], disk.too_long(bounds.text, "bounds.text"), ids[index], field)
            faulty.add(index)
    yield Batch(path.stem, name, cases, ids, places, content, faulty)


def _joined(
    files: CaseFiles,
    batch: Batch,
    recorded: dict[str, Output],
    seen: dict[str, Place],
    searched: Sequence[str],
    *,
    is_bare: bool,
) -> Iterator[Case | Problem]:
    """Yield a batch's cases with their outputs, taking each output out of `recorded`.

    `is_bare` says that no outputs were found in the files `searched` at all.
    """
    form = _form(files)
    lacking: list[str] = []
    if is_bare and not any(isinstance(case, dict) and "output" in case for case in batch.cases):
        lacking = [test_id for index, test_id in enumerate(batch.ids) if index not in batch.faulty]
    if lacking:
        ids = ", ".join(lacking[:5]) + (", …" if len(lacking) > 5 else "")
        words = f"has no recorded outputs (for {ids}); expected them in {', '.join(searched)}, or inline as `output`"
        advice = f"name another file with --outputs or {input_named(form.outputs)} (to validate as one more FILE)"
        yield Problem(Place(batch.name), f"{words}; {advice}", code=Code.MISSING_OUTPUT)
    for index, (case, test_id) in enumerate(zip(batch.cases, batch.ids, strict=True)):
        if not test_id:
            continue
        place = batch.places[index]
        found = recorded.pop(test_id, None)
        if twin := twin_of(seen, test_id, place, form.id_key):
            yield twin
            continue
        if index in batch.faulty or lacking:
            continue
        output = _output(case, form.id_key, found, place, searched)
        if isinstance(output, Problem):
            yield output
        elif output is not None:
            at = CaseAt(place, cluster_of(case, files.cluster_key), batch.id, batch.content, index)
            yield from files.evaluator.parse({**case, "output": output}, at, {})


def _output(
    case: Mapping[str, Any], id_key: str, recorded: Output | None, place: Place, searched: Sequence[str]
) -> JsonObject | Problem | None:
    """Return the one output of a case, a problem if there is none or two, None if it was invalid."""
    if "output" not in case and recorded is None:
        words = f"has no recorded output; expected one by this {id_key} in {', '.join(searched)}"
        return Problem(place, words, case[id_key], "output", code=Code.MISSING_OUTPUT)
    if recorded is None:
        inline: JsonObject = case["output"]
        return inline
    if "output" in case:
        where = f"{recorded.place.path}:{recorded.place.line}"
        return Problem(place, f"has an output here and at {where}; keep one", case[id_key], "output")
    return recorded.value


def _unused(id_key: str, recorded: Mapping[str, Output], nobody: str) -> Iterator[Problem]:
    for test_id, output in recorded.items():
        words = f"is the output of a case that {nobody}"
        yield Problem(output.place, words, test_id, id_key, code=Code.MISSING_OUTPUT)


def _read_outputs(
    files: CaseFiles, paths: Iterable[Path], into: dict[str, Output]
) -> Generator[Problem | InputFile, None, bool]:
    """Read recorded outputs by their test_id. Yields their problems and files; returns whether all could be read."""
    form = _form(files)
    are_read = True
    last = None
    for path in paths:
        is_empty = True
        for item in recorded_outputs(form.outputs_kind, path, files.root, files.bounds):
            if isinstance(item, InputFile):
                yield item
                continue
            is_empty = False
            if isinstance(item, Problem):
                are_read = False
                yield item
                test_id, here = item.case_id, Output(None, item.place)
            else:
                test_id, here = item[1][form.id_key], Output(item[1]["output"], item[0])
            if not test_id or here.place == last:  # a line may have several problems
                continue
            last = here.place
            first = into.setdefault(test_id, here)
            if first is not here:
                yield twin(here.place, first.place, test_id, form.id_key)
        if is_empty:
            words = "is empty: no outputs; expected one JSON object per line"
            yield Problem(Place(shown(path, files.root)), words, code=Code.NO_INPUT)
    return are_read
