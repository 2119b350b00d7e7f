"""Shell: documents of cases joined with their recorded outputs: every case with exactly one. Reads files."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from safe_gate.core.evaluator import Evaluator
from safe_gate.core.given import Case, CaseAt
from safe_gate.core.jsontext import JsonError, item_places, parse
from safe_gate.core.model import CannotJudge, Code, InputFile, JsonObject, Place, Problem
from safe_gate.inputs import blocks, checked, disk, kinds, schemas
from safe_gate.inputs.batches import documents_of, expand, input_named, outputs_beside
from safe_gate.inputs.disk import HERE, shown
from safe_gate.inputs.finding import expansion
from safe_gate.inputs.recorded import Skipped, cluster_of, id_of, recorded_outputs, twin, twin_of
from safe_gate.inputs.spool import Store
from safe_gate.settings.model import Bounds

Item = Case | Problem | InputFile | Skipped


def cases(
    evaluator: Evaluator,
    patterns: Sequence[str],
    outputs: Sequence[str],
    *,
    folder: str = ".",
    leave_out: Sequence[str] = (),
    cluster_key: str = "",
    root: Path = HERE,
    bounds: Bounds = blocks.BOUNDS,
) -> Iterator[Item]:
    """Yield the cases of batch files joined with their recorded outputs, problems and files.

    Outputs come from `outputs` if given, else from `<stem>.outputs.jsonl` beside each batch, or
    inline. Every case must have exactly one output, and every output must have a case. Globs skip the files of
    `leave_out`. `root` is as in `expansion.expand`, and `cluster_key` is as in `recorded.cluster_of`.
    """
    form = documents_of(evaluator)
    paths, problems, skipped = expand(form, patterns, Path(folder), leave_out, outputs=outputs, root=root)
    yield from problems
    yield from (Skipped(shown(path, root)) for path in skipped)
    output_paths, problems = expansion.expand(outputs, root=root)
    yield from problems
    named = Store()
    are_read = yield from _read_outputs(evaluator, output_paths, named, root, bounds)
    are_sound = are_read and not problems
    is_bare = not named
    seen = Store()
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
            recorded = Store()
            found = [beside] if disk.exists(beside) else []
            are_sound = yield from _read_outputs(evaluator, found, recorded, root, bounds)
            is_bare = not recorded
        name = shown(path, root)
        batch = None
        for item in _read(evaluator, path, name, bounds):
            if isinstance(item, Batch):
                batch = item
            else:
                yield item
        if batch is None or (is_bare and not are_sound):  # further problems would be noise
            all_read = False
            continue
        searched = outputs or [shown(beside, root)]
        yield from _joined(evaluator, batch, recorded, seen, cluster_key, searched=searched, is_bare=is_bare)
        if not all(batch.ids):  # an unused output may belong to a case without an id
            all_read = False
        elif not outputs:
            yield from _unused(evaluator.input.id_key, recorded, f"{name} does not have")
    if outputs and all_read:
        yield from _unused(evaluator.input.id_key, named, "no batch has")


def outputs_alone(evaluator: Evaluator, patterns: Sequence[str]) -> Iterator[Problem | InputFile]:
    """Yield the problems of recorded outputs on their own, without the batch they belong to."""
    paths, problems = expansion.expand(patterns)
    yield from problems
    yield from _read_outputs(evaluator, paths, Store(), HERE, blocks.BOUNDS)


class Batch(NamedTuple):
    """A batch file: its id, its test cases with their ids ("" for none) and lines, and the places of `faulty` ones.

    `content` is the whole parsed file.
    """

    id: str
    name: str
    cases: Sequence[Any]
    ids: Sequence[str]
    places: Sequence[Place]
    content: JsonObject
    faulty: Set[int]


def _read(evaluator: Evaluator, path: Path, name: str, bounds: Bounds) -> Iterator[Batch | Problem | InputFile]:
    """Yield the file, its problems, and its batch if it has test cases. One case's fault hides no other."""
    form, id_key = documents_of(evaluator), evaluator.input.id_key
    try:
        data = disk.data_of(path, name, bounds.line, "bounds.line")
    except CannotJudge as error:
        yield from error.problems
        return
    yield InputFile(name, hashlib.sha256(data).hexdigest(), form.kind)
    data = data.removeprefix(disk.BOM)
    if kinds.begins_otherwise(data):
        yield kinds.foreign(name, form.kind)
        return
    try:
        text = disk.decode(data, name)
        with suppress(JsonError):  # it may hold cases, one a line
            if other := kinds.of_another(name, form.kind, parse(text.lstrip().partition("\n")[0])):
                yield other
                return
        content = disk.parsed(text, name)
    except CannotJudge as error:
        yield from error.problems
        return
    faults = schemas.load_schema(form.kind).faults(content)
    yield from checked.problems_of(faults, name, text, cases=(form.cases, id_key), batch=content)
    cases = content.get(form.cases) if isinstance(content, dict) else None
    if not (isinstance(cases, list) and cases):
        return
    places = tuple(Place(name, *at) for at in item_places(text, form.cases))
    long = _long_texts(evaluator, cases, bounds.text) if len(data) > bounds.text else {}
    for index, field in long.items():
        case_id = id_of(cases[index], id_key)
        yield Problem(places[index], disk.too_long(bounds.text, "bounds.text"), case_id, field)
    faulty = {*long} | {int(fault.path[1]) for fault in faults if fault.path[:1] == (form.cases,) and fault.path[1:]}
    ids = tuple(id_of(case, id_key) for case in cases)
    yield Batch(path.stem, name, cases, ids, places, content, faulty)


def _long_texts(evaluator: Evaluator, cases: Sequence[Any], most: int) -> dict[int, str]:
    """Return the index of each case with a text that is too long, and the field of that text."""
    found = ((index, blocks.long_text(evaluator, case, most)) for index, case in enumerate(cases))
    return {index: field for index, field in found if field is not None}


def _joined(
    evaluator: Evaluator,
    batch: Batch,
    recorded: Store,
    seen: Store,
    cluster_key: str,
    searched: Sequence[str],
    *,
    is_bare: bool,
) -> Iterator[Case | Problem]:
    """Yield a batch's cases with their outputs, taking each output out of `recorded`.

    `is_bare` says that no outputs were found in the files `searched` at all.
    """
    form, id_key = documents_of(evaluator), evaluator.input.id_key
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
        found = recorded.pop(test_id)
        if twin := twin_of(seen, test_id, place, id_key):
            yield twin
            continue
        if index in batch.faulty or lacking:
            continue
        output = _output(id_key, case, found, place, searched)
        if isinstance(output, Problem):
            yield output
        elif output is not None:
            at = CaseAt(place, cluster_of(case, cluster_key), batch.id, batch.content, index)
            yield from evaluator.parse({**case, "output": output}, at, {})


def _output(
    id_key: str, case: Mapping[str, Any], recorded: JsonObject | None, place: Place, searched: Sequence[str]
) -> Mapping[str, Any] | Problem | None:
    """Return the one output of a case, a problem if there is none or two, None if it was invalid."""
    if "output" in case and recorded:
        where = f"{recorded['path']}:{recorded['line']}"
        return Problem(place, f"has an output here and at {where}; keep one", case[id_key], "output")
    if "output" in case:
        output: Mapping[str, Any] = case["output"]
        return output
    if recorded is None:
        words = f"has no recorded output; expected one by this {id_key} in {', '.join(searched)}"
        return Problem(place, words, case[id_key], "output", code=Code.MISSING_OUTPUT)
    found: JsonObject | None = recorded["output"]
    return found


def _unused(id_key: str, recorded: Store, nobody: str) -> Iterator[Problem]:
    for test_id, output in recorded.items():
        yield Problem(
            Place(output["path"], output["line"]),
            f"is the output of a case that {nobody}",
            test_id,
            id_key,
            code=Code.MISSING_OUTPUT,
        )


def _read_outputs(
    evaluator: Evaluator, paths: Iterable[Path], into: Store, root: Path, bounds: Bounds
) -> Generator[Problem | InputFile, None, bool]:
    """Read recorded outputs into a store by test_id: place and output of each, None for an invalid one.

    Yields their problems and files; returns whether all lines could be read.
    """
    are_read = True
    last = None
    for path in paths:
        is_empty = True
        for item in recorded_outputs(documents_of(evaluator).outputs_kind, path, root, bounds):
            if isinstance(item, InputFile):
                yield item
                continue
            is_empty = False
            if isinstance(item, Problem):
                are_read = False
                yield item
                test_id, place, output = item.case_id, item.place, None
            else:
                place, record = item
                test_id, output = record[evaluator.input.id_key], record["output"]
            if not test_id or place == last:  # a line may have several problems
                continue
            last = place
            here = {"output": output, "path": place.path, "line": place.line}
            first = into.setdefault(test_id, here)
            if first is not here:
                yield twin(place, first["path"], first["line"], test_id, evaluator.input.id_key)
        if is_empty:
            yield Problem(
                Place(shown(path, root)), "is empty: no outputs; expected one JSON object per line", code=Code.NO_INPUT
            )
    return are_read
