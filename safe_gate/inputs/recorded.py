"""Shell: recorded cases and outputs, validated and yielded one at a time.

Problems are among them, so a caller can score valid cases and still see every problem.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from safe_gate import addons
from safe_gate.core.evaluator import Evaluator
from safe_gate.core.given import Case, CaseAt
from safe_gate.core.model import Code, InputFile, JsonObject, Place, Problem
from safe_gate.inputs.blocks import (
    BOUNDS,
    PART_LINES,
    Part,
    TooLongError,
    is_columnar,
    lines_in,
    long_text,
    numbered,
    rows_in,
    values_of_lines,
    values_of_rows,
)
from safe_gate.inputs.disk import HERE, open_regular, shown, too_long, unreadable
from safe_gate.inputs.finding.expansion import expand
from safe_gate.inputs.kinds import OF_CASES, OWNERS, foreign, is_meant_as, mistaken_for
from safe_gate.inputs.schemas import load_schema
from safe_gate.inputs.spool import Store
from safe_gate.settings.model import Bounds


class Skipped(NamedTuple):
    """One of our own files, such as a report, that a glob of batches matches and skips."""

    path: str


NO_EXTRA = "install SAFE Gate with the extra `dask`, and run the command instead of the action, whose image lacks it"
"""What is to be done where dask or pyarrow is missing."""


def cases(
    evaluator: Evaluator,
    patterns: Sequence[str],
    *,
    root: Path = HERE,
    settings: JsonObject,
    bounds: Bounds = BOUNDS,
) -> Iterator[Case | Problem | InputFile]:
    """Yield the cases of JSONL and Parquet files, a problem for each thing wrong, and each file at its end.

    The evaluator's input is `Lines`; `settings` are by the names of options, `cluster_key` and those it scores by.
    """
    seen = Store()
    for item in parts(evaluator, patterns, root=root, bounds=bounds):
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


def parts(
    evaluator: Evaluator,
    patterns: Sequence[str],
    *,
    root: Path = HERE,
    size: int = PART_LINES,
    bounds: Bounds = BOUNDS,
) -> Iterator[Part | Problem | InputFile]:
    """Yield files of cases in parts of lines, and their problems and each file as `cases` does.

    The reader of the parts finds problems of lines and duplicate ids.
    """
    paths, problems = expand(patterns, root=root)
    yield from problems
    for path in paths:
        is_empty = True
        for item in _parts(path, evaluator.input.kind, root, bounds, size):
            is_empty = is_empty and isinstance(item, InputFile)
            yield item
        if is_empty:
            expected = "one case a row" if is_columnar(path) else "one JSON object per line"
            yield Problem(Place(shown(path, root)), f"is empty: no cases; expected {expected}", code=Code.NO_INPUT)


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
    for item in values_of_rows(part) if part.is_columnar else values_of_lines(part):
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


def twin_of(seen: Store, case_id: str, place: Place, field: str) -> Problem | None:
    """Return a problem if the id was seen before, else remember it."""
    here = [place.path, place.line]
    first = seen.setdefault(case_id, here)
    if first is here:
        return None
    path, line = first
    return twin(place, path, line, case_id, field)


def twin(place: Place, path: str, line: int, case_id: str, field: str) -> Problem:
    """Return the problem of an id that stands elsewhere too."""
    return Problem(
        place,
        f"appears at {path}:{line} too; expected ids that are unique in the run",
        case_id,
        field,
        code=Code.DUPLICATE_ID,
    )


def recorded_outputs(
    kind: str, path: Path, root: Path, bounds: Bounds = BOUNDS
) -> Iterator[tuple[Place, dict[str, Any]] | Problem | InputFile]:
    """Yield the valid outputs of a file, of one schema, with their places, problems, and at the end the file."""
    for item in _parts(path, kind, root, bounds):
        if isinstance(item, Part):
            yield from _objects(item, kind)
        else:
            yield item


def _parts(
    path: Path, kind: str, root: Path, bounds: Bounds, size: int = PART_LINES
) -> Iterator[Part | Problem | InputFile]:
    """Yield a file in parts from the first non-blank line, then the file; or why it is not read."""
    name, digest = shown(path, root), hashlib.sha256()
    is_start = True
    try:
        with open_regular(path) as file:
            read = rows_in if kind in OF_CASES and is_columnar(path) else lines_in
            for part in read(file, name, digest, bounds, size):
                if is_start and part.is_columnar:
                    value = next((one[1] for one in values_of_rows(part) if not isinstance(one, Problem)), None)
                    if value is not None and not is_meant_as(value, kind):
                        yield foreign(name, kind, value)
                        return
                if is_start and not part.is_columnar:
                    if (first := next(numbered(BytesIO(part.data), part.first), None)) is None:
                        continue
                    if mistaken := mistaken_for(*first, path, name, kind):
                        yield mistaken
                        return
                is_start = False
                yield part
    except OSError as error:
        yield unreadable(path, error, root)
        return
    except TooLongError as error:
        yield Problem(Place(name, error.line), too_long(bounds.line, "bounds.line"))
        return
    except addons.scale.parquet.NotReadable as error:
        yield Problem(Place(name), f"is not a readable Parquet file: {error}", code=Code.UNREADABLE_FILE)
        return
    except ModuleNotFoundError as error:
        words = f"is Parquet, which needs {error.name}, which is not installed; {NO_EXTRA}"
        yield Problem(Place(name), words)
        return
    yield InputFile(name, digest.hexdigest(), kind)


def _objects(part: Part, kind: str) -> Iterator[tuple[Place, dict[str, Any]] | Problem]:
    """Yield the valid objects of a part with their places, and problems."""
    schema = load_schema(kind)
    for item in values_of_rows(part) if part.is_columnar else values_of_lines(part):
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


def id_of(value: Any, key: str) -> str:
    """Return the id that a value has under a key, "" for none."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""
