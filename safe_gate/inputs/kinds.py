"""Shell: the kind of a file, and what to do with a file of another kind than expected."""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Mapping
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safe_gate.core.given import Documents, FileKind, Lines
from safe_gate.core.jsontext import (
    JsonError,
    TooManyValuesError,
    parse,
)
from safe_gate.core.model import CannotJudge, Place, Problem
from safe_gate.evaluators import EVALUATORS
from safe_gate.inputs.blocks import BOUNDS, TooLongError, bounded_lines, is_columnar, numbered
from safe_gate.inputs.disk import HERE, TooLarge, decode, open_regular, parsed, shown, text_of, unreadable
from safe_gate.inputs.finding import folders
from safe_gate.inputs.finding.expansion import no_match
from safe_gate.inputs.schemas import load_schema
from safe_gate.settings.model import CONFIG_FILES, WAIVERS_FILE

if TYPE_CHECKING:
    from safe_gate.importers.shapes import Guess

OUTPUTS = ".outputs.jsonl"
"""How the name of a file of recorded outputs ends that belongs to the batch of the name before it."""

_OURS = ("lines", "columns")  # the shapes of files that hold our own conversations
_TABLES = (".csv", ".tsv")
_PACKED = (b"PK", b"\x1f\x8b")  # how archives of `.eval` and of gzip begin
_LARGEST_DOCUMENT = 16 << 20  # bytes


_FILES = {kind.name: kind for evaluator in EVALUATORS.values() for kind in evaluator.kinds}
"""The kinds of input files by their names."""

OWNERS = {kind.name: evaluator for evaluator in EVALUATORS.values() for kind in evaluator.kinds}

_OF_OUTPUTS = {one.input.outputs_kind: one.input for one in EVALUATORS.values() if isinstance(one.input, Documents)}

OF_CASES = [one.input.kind for one in EVALUATORS.values() if isinstance(one.input, Lines)]

_KINDS = (
    *((one.input.kind, {one.input.cases}) for one in EVALUATORS.values() if isinstance(one.input, Documents)),
    ("shard", {"schema_version", "shard"}),
    ("report", {"schema_version"}),
    ("publication", {"publication"}),
    ("rule-pack", {"pack"}),
    *((name, one.part_keys) for name, one in EVALUATORS.items() if one.part_keys),
    ("compared", {"comparison"}),
)


def kind_of(path: Path) -> str:
    """Return the schema to validate a file against, by its name and its keys.

    Raises CannotJudge if the file cannot be read or is not JSON at all.
    """
    if folders.is_folder(path):
        raise CannotJudge(no_match(str(path), ".json*", HERE))
    if path.name.endswith(OUTPUTS) and _OF_OUTPUTS:
        return next(iter(_OF_OUTPUTS))
    if is_columnar(path):
        return OF_CASES[0]
    if path.suffix.lower() in _TABLES and (convert := importable(path, shown(path), OF_CASES[0])):
        raise CannotJudge(convert)  # before all of it is read
    has_suffix = path.suffix.lower() == ".jsonl"
    first = _first_object(path, most=None if has_suffix else 1)
    is_line = isinstance(first, dict) and any(first.keys() & kind.hints for kind in _FILES.values())  # as in c.ndjson
    if has_suffix or is_line:
        claimed = (kind.name for kind in _FILES.values() if kind.claims(first))
        meant = (kind for kind in OF_CASES if is_meant_as(first, kind))
        return next(chain(claimed, meant), OF_CASES[0])
    del first  # it may be all of the file
    try:
        content = parsed(text_of(path, shown(path)), shown(path), comments=True)
    except TooLarge:
        raise
    except CannotJudge:
        if convert := importable(path, shown(path), OF_CASES[0]):
            raise CannotJudge(convert) from None
        raise
    kind = kind_of_document(path, content) if isinstance(content, dict) else "config"
    is_named = path.name in CONFIG_FILES
    if kind == "config" and not is_named and (convert := importable(path, shown(path), OF_CASES[0])):
        raise CannotJudge(convert)
    return kind


def _first_object(path: Path, *, most: int | None) -> Any:
    """Return the first JSON value in the first `most` lines, None without one. Raises CannotJudge if unreadable."""
    try:
        with open_regular(path) as file:
            for number, line in islice(numbered(bounded_lines(file, 1, BOUNDS.line)), most):
                with suppress(JsonError, CannotJudge):  # the reader of this kind reports these lines
                    return parse(decode(line, shown(path), number))
    except OSError as error:
        raise CannotJudge(unreadable(path, error)) from error
    except TooLongError:
        return None
    return None


def kind_of_document(path: Path, content: Mapping[str, Any]) -> str:
    """Return which schema a JSON object is checked with, by the name of its file and its keys."""
    if path.name.endswith(WAIVERS_FILE) or isinstance(content.get("waivers"), list):  # a config names the file there
        return "waivers"
    for kind, keys in _KINDS:
        if keys <= content.keys():
            return kind
    rules = content.get("rules")  # a config names its packs there
    return "rule-pack" if isinstance(rules, list) and any(isinstance(rule, dict) for rule in rules) else "config"


def mistaken_for(number: int, line: bytes, path: Path, name: str, kind: str) -> Problem | None:
    """Return the problem of a file that is another thing than lines of these objects, as its first line tells."""
    try:
        value = parse(decode(line, name, number))
    except TooManyValuesError:
        return None
    except JsonError:
        if convert := importable(path, name, kind):
            return convert
        return _one_document(path, Place(name, number), kind)
    except CannotJudge as error:
        whole = next((problem for problem in error.problems if not problem.place.line), None)
        return whole or importable(path, name, kind)
    if mistaken := _document_of_another(value, name, kind) or _outputs_for_cases(value, name, kind):
        return mistaken
    return None if is_meant_as(value, kind) else importable(path, name, kind, value)


def _outputs_for_cases(value: Any, name: str, kind: str) -> Problem | None:
    """Return the problem of recorded outputs where cases are expected, None for any other value."""
    for other, form in _OF_OUTPUTS.items() if kind in OF_CASES else ():
        if _FILES[other].claims(value):
            words = f"these are {OWNERS[other].title} outputs, not {_FILES[kind].called}"
            option = form.outputs.replace("_", "-")
            return Problem(Place(name), f"{words}; name them with --outputs or {option}")
    return None


def cases_of_another(text: str, name: str, kind: str) -> Problem | None:
    """Return the problem of a document that holds lines of cases of another evaluator, as its first line tells."""
    first, _, _ = text.lstrip().partition("\n")
    try:
        value = parse(first)
    except JsonError:
        return None
    for evaluator in EVALUATORS.values():
        form = evaluator.input
        if isinstance(form, Lines) and is_meant_as(value, form.kind):
            option = form.setting.replace("_", "-")
            words = f"has {form.plural}, not {_FILES[kind].called}; name the file with --{option} or {option}"
            return Problem(Place(name), words)
    return None


def is_meant_as(value: Any, kind: str) -> bool:
    """Return whether a value is meant as one of a kind, however many faults it has."""
    if not isinstance(value, dict):
        return False
    meant = _FILES[kind]
    if any(keys and keys <= value.keys() for keys in (meant.needed, meant.instead)):
        return "checks" in value or bool(meant.own & value.keys())
    return "checks" in value and not (_other_pair(value, meant) or _lacks_sides(value, meant))


def _other_pair(value: Mapping[str, Any], meant: FileKind) -> tuple[str, str] | None:
    """Return the two sides of an exchange under the names of other tools, None without them."""
    from safe_gate.importers.formats._fields import pair_of  # valid files do not need it

    pair = pair_of(value)
    return pair if pair and {*meant.sides} - {*pair} else None


def _lacks_sides(value: Mapping[str, Any], meant: FileKind) -> bool:
    """Return whether an object has as many recorded values as a kind needs, but none under its names."""
    said = [key for key, one in value.items() if isinstance(one, str | dict) and key != OWNERS[meant.name].id_key]
    is_known = bool({*meant.sides, *meant.instead} & value.keys())
    return bool(meant.sides) and len(said) >= len(meant.sides) and not is_known


def in_other_words(value: Any, place: Place, kind: str, case_id: str) -> Problem | None:
    """Return the problem of an exchange under the names of other tools, with the command to use; else None."""
    meant, owner = _FILES[kind], OWNERS[kind]
    if not isinstance(value, dict) or not (meant.sides and owner.imports) or is_meant_as(value, kind):
        return None
    if (pair := _other_pair(value, meant)) is None:
        return None
    names = " and ".join(json.dumps(name) for name in pair)
    words = f"has {names}, not {' and '.join(meant.sides)}; convert the file: {_command(place.path, kind)}"
    return Problem(place, words, case_id)


def _command(name: str, kind: str, flags: str = "") -> str:
    owner = OWNERS[kind]
    file = owner.imports.file if owner.imports else ""
    command = f"safe-gate import {shlex.quote(name)} --out {file}{flags}"
    return command if kind == OF_CASES[0] else f"{command} --evaluator {owner.name}"


def mapping_for(kind: str) -> str:
    """Return the flag of `import` that names the fields of a kind."""
    return "--map " + ",".join(f"{side}=FIELD" for side in _FILES[kind].sides)


def importable(path: Path, name: str, kind: str, value: Any = None) -> Problem | None:
    """Return the problem of a file that `import` reads, with the command to use; None for others.

    `value` is its first object. If it has two texts under unknown names, the command has a mapping.
    """
    from safe_gate.importers import records, shapes  # valid files do not need it

    meant, owner = _FILES[kind], OWNERS[kind]
    if not owner.imports:
        return None
    try:
        with open_regular(path) as file:
            is_packed = file.read(2) in _PACKED
            file.seek(0)
            guess = shapes.guess(file)
            if is_packed and guess.format is None:
                raise records.NotReadable("is an archive without records", 0)
    except (OSError, records.NotReadable, ModuleNotFoundError) as error:
        is_known = isinstance(error, records.NotReadable) and is_packed  # of all else it is said that it is no text
        return Problem(Place(name), str(error)) if is_known else None
    is_ours = is_meant_as(dict.fromkeys(guess.fields, ""), kind)
    if is_ours and guess.shape in _OURS:
        return None
    if almost := _almost(guess, path, name, kind, is_ours=is_ours):
        return almost
    if guess.format is not None and (guess.fields or guess.shape not in _OURS):
        words = f"looks like {guess.title}, not {meant.called}"
        return Problem(Place(name), f"{words}; convert it: {_command(name, kind)}")
    is_table = guess.is_list or (value is None and path.suffix.lower() in _TABLES)
    return _unnamed(dict.fromkeys(guess.fields, "") if is_table else value, name, kind)


def _almost(guess: Guess, path: Path, name: str, kind: str, *, is_ours: bool) -> Problem | None:
    """Return the problem of a file whose objects are ours, but in a list or without an id; None for others."""
    meant = _FILES[kind]
    if bare := bare_cases(guess.fields, name) if guess.is_list else None:
        return bare
    if is_ours and guess.shape == "document" and guess.is_of_rows:
        is_short = _first_object(path, most=1) is not None
        words = f"has {meant.called} in a JSON list" if is_short else "is one JSON document over many lines"
        words = f"{words}; expected one object per line (JSONL)"
        return Problem(Place(name), f"{words}; convert it: {_command(name, kind)}")
    if guess.shape in _OURS and meant.instead and meant.needed <= {*guess.fields}:
        words = f"is missing; give each case one, or let import make them: {_command(name, kind)}"
        return Problem(Place(name), words, field=OWNERS[kind].id_key)
    return None


def bare_cases(fields: Collection[str], name: str) -> Problem | None:
    """Return the problem of a list whose items have the fields of a document's cases; None for others."""
    for evaluator in EVALUATORS.values():
        form = evaluator.input
        if isinstance(form, Documents):
            case = load_schema(form.kind).part("properties", form.cases, "items")
            if len({fault.field for fault in case.faults({})} & {*fields}) > 1:  # each is about a field that is needed
                words = f'is a list of cases; put the list under `{form.cases}`: {{"{form.cases}": [...]}}'
                return Problem(Place(name), words)
    return None


def _unnamed(value: Any, name: str, kind: str) -> Problem | None:
    """Return the problem of a file whose first object has recorded texts, but under names that nobody knows."""
    meant = _FILES[kind]
    if not isinstance(value, dict) or not _lacks_sides(value, meant):
        return None
    words = f"has neither {' nor '.join(meant.sides)}; say which fields they are"
    return Problem(Place(name), f"{words}: {_command(name, kind, f' {mapping_for(kind)}')}")


def _one_document(path: Path, place: Place, kind: str) -> Problem | None:
    """Return the problem of a JSON document in place of lines, None for broken JSONL.

    A document too large to read at once counts as lines, as most files of that size are.
    """
    try:
        if path.stat().st_size > _LARGEST_DOCUMENT:
            return None
        content = parse(text_of(path, ""))
    except (JsonError, CannotJudge, OSError):
        return None
    words = "is one JSON document over many lines; expected one object per line (JSONL)"
    return _document_of_another(content, place.path, kind) or Problem(place, words)


def _document_of_another(content: Any, name: str, kind: str) -> Problem | None:
    """Return the problem of a document of cases where lines are expected, None for any other value."""
    for evaluator in EVALUATORS.values():
        form = evaluator.input
        if isinstance(form, Documents) and isinstance(content, dict) and form.cases in content:
            option = form.setting.replace("_", "-")
            words = (
                f"is {_FILES[form.kind].called}, not {_FILES[kind].called}; name the file with --{option} or {option}"
            )
            return Problem(Place(name), words)
    return None
