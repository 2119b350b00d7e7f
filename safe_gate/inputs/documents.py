"""Shell: documents of cases joined with their recorded outputs: every case with exactly one. Reads files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import compress
from operator import not_
from pathlib import Path
from typing import Any, NamedTuple

from safe_gate.core.evaluator import Evaluator
from safe_gate.core.figures import plural
from safe_gate.core.given import Case, CaseAt, Documents, Lines
from safe_gate.core.jsontext import item_lines
from safe_gate.core.model import CannotJudge, JsonObject, Place, Problem
from safe_gate.evaluators import EVALUATORS
from safe_gate.inputs import blocks, checked, disk, globs, kinds, matching, schemas
from safe_gate.inputs.disk import HERE, InputFile, shown
from safe_gate.inputs.recorded import Skipped, cluster_of, id_of, recorded_outputs, twin, twin_of
from safe_gate.inputs.spool import Store
from safe_gate.settings.options import CONFIG_FILES, WAIVERS_FILE

# How what we write begins, two keys deep: a batch may begin with one of them, and be told that the schema knows it not.
_REPORT = re.compile(
    rb'\{\s*"(?:report_type": "SAFE_v0",\s*"generated_at|schema_version": \d+,\s*"tool|publication": \d+,\s*"gate'
    rb'|summary": {\s*"cases": \d+,\s*"passed|comparison": {\s*"baseline)":'
)
_OWN = "safe-gate."
_OTHER_REPORTS = (b"[", b'{"schemaVersion"')
"""How the reports for other systems begin: no batch does, for it is an object of other keys."""
_MOST_NAMED = 20

Item = Case | Problem | InputFile | Skipped


class Expanded(NamedTuple):
    """The batch files that patterns name, their problems, and our own files that a glob skips."""

    paths: list[Path]
    problems: list[Problem]
    skipped: list[Path]


def cases(
    evaluator: Evaluator,
    patterns: Sequence[str],
    outputs: Sequence[str],
    *,
    folder: str = ".",
    leave_out: Sequence[str] = (),
    cluster_key: str = "",
    root: Path = HERE,
    bounds: blocks.Bounds = blocks.BOUNDS,
) -> Iterator[Item]:
    """Yield the cases of batch files joined with their recorded outputs, problems and files.

    Outputs come from `outputs` if given, else from `<stem>.outputs.jsonl` beside each batch, or
    inline. Every case must have exactly one output and every output a case. Globs pass over the files of
    `leave_out`; `root` is that of `matching.expand`, `cluster_key` that of `recorded.cluster_of`.
    """
    form = documents_of(evaluator)
    paths, problems, skipped = expand(form, patterns, Path(folder), leave_out, outputs=outputs, root=root)
    yield from problems
    yield from (Skipped(shown(path, root)) for path in skipped)
    output_paths, problems = matching.expand(outputs, root=root)
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
            words = f"has the batch id of {shown(first, root)}; rename one: a batch's id is its file's stem"
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
        if batch is None or (is_bare and not are_sound):  # what else could be said of it would be noise
            all_read = False
            continue
        searched = outputs or [shown(beside, root)]
        yield from _joined(evaluator, batch, recorded, seen, cluster_key, searched=searched, is_bare=is_bare)
        if not all(batch.ids):  # an output that nobody takes may be that of a case without an id
            all_read = False
        elif not outputs:
            yield from _unused(evaluator.id_key, recorded, f"{name} does not have")
    if outputs and all_read:
        yield from _unused(evaluator.id_key, named, "no batch has")


def outputs_alone(evaluator: Evaluator, patterns: Sequence[str]) -> Iterator[Problem | InputFile]:
    """Yield the problems of recorded outputs on their own, without the batch they belong to."""
    paths, problems = matching.expand(patterns)
    yield from problems
    yield from _read_outputs(evaluator, paths, Store(), HERE, blocks.BOUNDS)


def outputs_beside(path: Path) -> Path:
    """Return where the recorded outputs of a batch file are, unless they are named or inline."""
    return path.with_name(f"{path.stem}{kinds.OUTPUTS}")


def batch_of(path: Path) -> Path:
    """Return where the batch is that recorded outputs lie beside, if they do."""
    return path.with_name(f"{path.name.removesuffix(kinds.OUTPUTS)}.json")


def expand(
    form: Documents,
    patterns: Sequence[str],
    base: Path,
    leave_out: Sequence[str],
    *,
    outputs: Sequence[str] = (),
    root: Path = HERE,
) -> Expanded:
    """Return the batch files that patterns name, `*.json`, the suffix optional, and a problem for what names none.

    Globs pass over our own config, waivers and reports; outputs, which `NAME*` names too, are read with their
    batch, and without one a problem, as far as a glob's go unless other `outputs` are named. `base` is
    the folder that patterns start from, `root` that of `matching.expand`.
    """
    folder = root / base
    own = {shown(Path(name)) for name in leave_out if name}
    found: list[Path] = []
    problems: list[Problem] = []
    skipped: list[Path] = []
    for pattern in patterns:
        named = str(base / pattern)
        if refused := matching.outside(named, root):
            problems.append(refused)
            continue
        candidates = (pattern, f"{pattern}.json")
        globbed, unread = globs.matches(candidates, folder)
        alone = () if unread else candidates  # what cannot be looked for counts as there
        literals = [path for one in alone if disk.exists(path := folder / one) and not globs.is_folder(path)]
        listed = [path for path in globbed if not globs.is_folder(path)]
        named_json = [path for path in listed if path.suffix.lower() == ".json"]
        are_ours = [_is_ours(form, path, is_named=shown(path, root) in own) for path in named_json]
        ours = matching.distinct(compress(named_json, are_ours))
        batches = list(compress(named_json, map(not_, are_ours)))
        skipped += ours
        lone = [] if outputs else [path for path in listed if path.name.endswith(kinds.OUTPUTS)]
        meant = [*literals[:1], *batches, *lone]
        problems += [disk.unreadable(path, why, root) for path, why in unread]
        if not meant and not unread and ours:
            are = "is" if len(ours) == 1 else "are"
            words = f"matches nothing but {_ours(ours, root)}, which {are} skipped; name the batches"
            problems.append(Problem(Place(named), words))
        elif not meant and not unread:
            others = (one.input for one in EVALUATORS.values() if isinstance(one.input, Lines))
            elsewhere = ", ".join(f"{one.plural} are named by {_input(one.setting)}" for one in others)
            words = f"matches .jsonl files, but no batch (.json); {elsewhere}"
            is_other = any(path.suffix == ".jsonl" for path in listed)
            problems.append(Problem(Place(named), words) if is_other else matching.no_match(named, ".json", root))
        found += meant
    paths = matching.distinct(path for path in found if not path.name.endswith(kinds.OUTPUTS))
    beside = {disk.location(outputs_beside(path)) for path in paths}
    for path in matching.distinct(path for path in found if path.name.endswith(kinds.OUTPUTS)):
        if disk.location(path) not in beside:
            words = f"is a file of recorded outputs whose batch, {batch_of(path).name}, is not among the batches"
            words += f"; name that too, or this by --outputs or {_input(form.outputs)}"
            problems.append(Problem(Place(shown(path, root)), words))
    if not paths and not problems:
        problems.append(matching.no_match(" ".join(patterns), ".json", root))
    is_read = {disk.location(path) for path in paths}
    skipped = [path for path in matching.distinct(skipped) if disk.location(path) not in is_read]
    return Expanded(paths, list(dict.fromkeys(problems)), skipped)  # two patterns may have the same problem


def documents_of(evaluator: Evaluator) -> Documents:
    """Return the form of an evaluator's input files, which is that of documents."""
    assert isinstance(evaluator.input, Documents)  # noqa: S101 - narrows a type
    return evaluator.input


def _input(setting: str) -> str:
    """Return the name of a setting as the action's input."""
    return setting.replace("_", "-")


def _ours(paths: Sequence[Path], root: Path) -> str:
    """Return the number of our own files among `paths`, with the first names."""
    names = ", ".join(shown(path, root) for path in paths[:_MOST_NAMED])
    more = ", …" if len(paths) > _MOST_NAMED else ""
    return f"{plural(len(paths), 'file')} of safe-gate's own ({names}{more})"


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch file: its id, its test cases with the id, "" for none, and the line of each, and where `faulty` ones are.

    `content` is all that it holds.
    """

    id: str
    name: str
    cases: Sequence[Any]
    ids: Sequence[str]
    lines: Sequence[int]
    content: JsonObject
    faulty: Set[int]


def _read(evaluator: Evaluator, path: Path, name: str, bounds: blocks.Bounds) -> Iterator[Batch | Problem | InputFile]:
    """Yield the file, the problems with it, and its batch if it has test cases: one's fault hides none of another."""
    form, id_key = documents_of(evaluator), evaluator.id_key
    try:
        data = disk.data_of(path, name, most=bounds.line)
        yield InputFile(name, hashlib.sha256(data).hexdigest(), form.kind)
        text = disk.decode(data.removeprefix(disk.BOM), name)
        content = disk.parsed(text, name, is_input=True)
    except CannotJudge as error:
        yield from error.problems
        return
    is_ours = isinstance(content, dict) and form.cases in content
    if not is_ours and (convert := kinds.importable(path, name, form.kind)):
        yield convert
        return
    faults = schemas.load_schema(form.kind).faults(content)
    yield from checked.problems_of(faults, name, text, cases=(form.cases, id_key), batch=content)
    cases = content.get(form.cases) if isinstance(content, dict) else None
    if not (isinstance(cases, list) and cases):
        return
    lines = tuple(item_lines(text, form.cases))
    long = _long_texts(cases, bounds.text) if len(data) > bounds.text else {}
    for index, field in long.items():
        case_id = id_of(cases[index], id_key)
        yield Problem(Place(name, lines[index]), disk.too_long(bounds.text, "max-text"), case_id, field)
    faulty = {*long} | {int(fault.path[1]) for fault in faults if fault.path[:1] == (form.cases,) and fault.path[1:]}
    ids = tuple(id_of(case, id_key) for case in cases)
    yield Batch(path.stem, name, cases, ids, lines, content, faulty)


def _long_texts(cases: Sequence[Any], most: int) -> dict[int, str]:
    """Return the index of each case with a text that is too long, and the field of that text."""
    found = ((index, blocks.long_text(case, most)) for index, case in enumerate(cases))
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
    form, id_key = documents_of(evaluator), evaluator.id_key
    lacking: list[str] = []
    if is_bare and not any(isinstance(case, dict) and "output" in case for case in batch.cases):
        lacking = [test_id for index, test_id in enumerate(batch.ids) if index not in batch.faulty]
    if lacking:
        ids = ", ".join(lacking[:5]) + (", …" if len(lacking) > 5 else "")
        words = f"has no recorded outputs (for {ids}); expected them in {', '.join(searched)}, or inline as `output`"
        advice = f"name another file by --outputs or {_input(form.outputs)} (to validate as one more FILE)"
        yield Problem(Place(batch.name), f"{words}; {advice}")
    for index, (case, test_id) in enumerate(zip(batch.cases, batch.ids, strict=True)):
        if not test_id:
            continue
        place = Place(batch.name, batch.lines[index])
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
            at = CaseAt(place, batch.id, cluster_of(case, cluster_key))
            yield evaluator.case_in(batch.content, index, output, at)


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
        return Problem(place, words, case[id_key], "output")
    found: JsonObject | None = recorded["output"]
    return found


def _unused(id_key: str, recorded: Store, nobody: str) -> Iterator[Problem]:
    for test_id, output in recorded.items():
        yield Problem(Place(output["path"], output["line"]), f"is the output of a case that {nobody}", test_id, id_key)


def _read_outputs(
    evaluator: Evaluator, paths: Iterable[Path], into: Store, root: Path, bounds: blocks.Bounds
) -> Generator[Problem | InputFile, None, bool]:
    """Read recorded outputs into a store by test_id: place and output of each, None for an invalid one.

    Yields their problems and files; returns whether all lines could be read.
    """
    are_read = True
    last = None
    for path in paths:
        for item in recorded_outputs(documents_of(evaluator).outputs_kind, path, root, bounds):
            if isinstance(item, InputFile):
                yield item
                continue
            if isinstance(item, Problem):
                are_read = False
                yield item
                test_id, place, output = item.case_id, item.place, None
            else:
                place, record = item
                test_id, output = record[evaluator.id_key], record["output"]
            if not test_id or place == last:  # a line may have several problems
                continue
            last = place
            here = {"output": output, "path": place.path, "line": place.line}
            first = into.setdefault(test_id, here)
            if first is not here:
                yield twin(place, first["path"], first["line"], test_id, evaluator.id_key)
    return are_read


def _is_ours(form: Documents, path: Path, *, is_named: bool) -> bool:
    """Tell our own config, waivers and reports, which a glob may meet, from batches.

    `is_named` says that a setting names the file as one of them: then it is, unless it holds cases.
    """
    if path.name in (*CONFIG_FILES, WAIVERS_FILE):
        return True
    try:
        with disk.open_regular(path) as file:
            start = file.read(-1 if is_named else 100)
    except OSError:
        return False
    is_other = path.name.startswith(_OWN) and start.startswith(_OTHER_REPORTS)
    return is_other or _REPORT.match(start) is not None or (is_named and f'"{form.cases}"'.encode() not in start)
