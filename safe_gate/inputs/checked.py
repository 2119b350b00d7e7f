"""Shell: JSON documents of one schema, such as a report or a file of waivers, and every problem of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from safe_gate.core.given import LineOf
from safe_gate.core.jsontext import places
from safe_gate.core.validate import Fault, Schema
from safe_gate.evaluators import BUILT_IN, EVALUATORS
from safe_gate.evaluators.registry import extended
from safe_gate.gate.waivers import Waivable, twins
from safe_gate.inputs.disk import BOM, HERE, WRITTEN_BY_HAND, data_of, decode, parsed, shown, text_of
from safe_gate.inputs.globs import named_or_default
from safe_gate.inputs.kinds import id_of, kind_of_document
from safe_gate.model.problems import CannotJudge, Place, Problem
from safe_gate.model.report import InputFile
from safe_gate.settings.model import WAIVERS_FILE

ADDED = [one for name, one in EVALUATORS.items() if name not in BUILT_IN]
"""The evaluators of installed packages."""


ALONE = {
    **{name: next(iter(one.commands)) for name, one in EVALUATORS.items() if one.commands},
    "compared": "compare",
}
"""What stands alone in the file that a command writes: a part of the report's schema."""


@cache
def load_schema(name: str) -> Schema:
    """Return a schema of `schemas/` by its name without `.schema.json`, or that of what stands alone."""
    if name in ALONE:
        return load_schema("report").part("$defs", name)
    for one in (kind for evaluator in ADDED for kind in evaluator.input.kinds):
        if one.name == name and one.schema:
            return Schema(one.schema)
    schema = json.loads(schema_folder().joinpath(f"{name}.schema.json").read_text("utf-8"))
    return Schema(extended(name, schema, ADDED))


def schema_folder() -> Path:
    """Return `schemas/`: inside the package in a wheel, beside it in an editable install."""
    package = Path(__file__).parent.parent
    packaged = package / "schemas"
    return packaged if packaged.is_dir() else package.parent / "schemas"


def document(path: str, kind: str) -> Any:
    """Return a JSON document of one schema, such as a report. Raises CannotJudge with every problem of it."""
    file = Path(path)
    name = shown(file)
    return fitting(text_of(file, name), file, name, kind)


def fitting(text: str, file: Path, name: str, kind: str) -> Any:
    """Return what the text of a file holds, which problems call `name`. Raises CannotJudge as `document` does."""
    content = parsed(text, name)
    if kind in _WANTED and isinstance(content, dict) and (other := kind_of_document(file, content)) != kind:
        raise CannotJudge(Problem(Place(name), f"is {_CALLED[other]}, not {_WANTED[kind]}"))
    if kind == "report":
        _complete(content)
    problems = problems_of(load_schema(kind).faults(content), name, text)
    if problems:
        raise CannotJudge(*problems)
    return content


_WANTED = {
    "report": "a report of safe-gate run; name a safe-gate.json",
    "shard": "a shard; expected a file written by safe-gate run --shard",
}
"""What is expected where a file of another kind is a mistake to name."""

_CALLED = {
    "shard": "one shard of a run, which safe-gate merge reads",
    "report": "the report of a run",
    "publication": "what a run leaves for `publish`",
    "rule-pack": "a rule pack",
    "waivers": "a file of waivers",
    "config": "another document",
    **{kind.name: kind.file for one in EVALUATORS.values() for kind in one.input.kinds},
    **{kind: f"the output of safe-gate {command}" for kind, command in ALONE.items()},
}


def lines_in(text: str) -> LineOf:
    """Return what tells the lines of the values of a document's text."""
    lines = cache(lambda: dict(places(text)))  # only invalid files need them
    return lambda path: line_of(path, lines(), {})


def _complete(report: Any) -> None:
    """Add the keys of installed evaluators that the installation which wrote a report lacked."""
    for part in (report, report.get("comparison")) if ADDED and isinstance(report, dict) else ():
        if isinstance(part, dict):
            part.update({one.name: part.get(one.name) for one in ADDED})


def waivers(path: str, *, root: Path = HERE) -> tuple[InputFile, Mapping[str, Any]] | None:
    """Return the file of waivers and what it holds, or None if none was named and none is there.

    Raises CannotJudge with every problem of the file, a second waiver of the same failure among them.
    """
    if (found := named_or_default(path, WAIVERS_FILE, root)) is None:
        return None
    file, name = found
    data = data_of(file, name, WRITTEN_BY_HAND)
    text = decode(data.removeprefix(BOM), name)
    content = parsed(text, name)
    problems = problems_of(load_schema("waivers").faults(content), name, text)
    if not problems and (doubled := tuple(twins(map(Waivable.read, content["waivers"])))):
        lines = _lines_of([("waivers", place) for pair in doubled for place in pair], text, {})
        problems = tuple(
            Problem(
                Place(name, lines["waivers", place]),
                f"waives the same failure as line {lines['waivers', first]}; keep one",
                content["waivers"][place]["id"],
            )
            for place, first in doubled
        )
    if problems:
        raise CannotJudge(*problems)
    return InputFile(name, hashlib.sha256(data).hexdigest(), "waivers"), content


def problems_of(
    faults: Sequence[Fault],
    name: str,
    text: str,
    *,
    cases: tuple[str, str] = ("", ""),
    batch: Any = None,
    original: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Problem, ...]:
    """Return a document's faults as problems, each with its line and its case.

    `cases` are the keys where `batch` has its cases, and these their ids. `original` gives the keys at the top as the
    text spells them, where that is not how the schema does.
    """
    lines = _lines_of([fault.path for fault in faults], text, original) if faults else {}
    found = []
    for fault in faults:
        is_case = bool(cases[0]) and fault.path[:1] == cases[:1] and len(fault.path) > 1
        case_id = id_of(batch[cases[0]][fault.path[1]], cases[1]) if is_case else ""
        field = Fault(fault.path[2:], "").field if case_id else fault.field
        found.append(
            Problem(Place(name, line_of(fault.path, lines, original)), fault.message, case_id, field, fault.text_free)
        )
    return tuple(found)


def _lines_of(
    paths: Iterable[Sequence[str | int]], text: str, original: Mapping[str, str]
) -> dict[tuple[str | int, ...], int]:
    """Return the lines of values on the given paths, and of no others: a text may hold millions."""
    spelt = [(original.get(str(path[0]), path[0]), *path[1:]) if path else () for path in paths]
    wanted = {path[:length] for path in spelt for length in range(len(path) + 1)}
    return {path: line for path, line in places(text) if path in wanted}


def line_of(path: Sequence[str | int], lines: Mapping[tuple[str | int, ...], int], original: Mapping[str, str]) -> int:
    """Return the line of a value; a missing field has the line of its object."""
    found = tuple(path)
    if found:
        found = (original.get(str(found[0]), found[0]), *found[1:])
    while found not in lines:
        found = found[:-1]
    return lines[found]
