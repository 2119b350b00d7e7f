"""Shell: the kind of a file, by its name and its first keys, and the sentence about a file of another kind."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from safe_gate.core.given import Documents, Lines
from safe_gate.core.jsontext import JsonError, TooManyValuesError, parse
from safe_gate.evaluators import EVALUATORS
from safe_gate.inputs import globs
from safe_gate.inputs.disk import (
    BOM,
    BOMS_OF_UTF_16,
    BOUNDS,
    HERE,
    TooLongError,
    bounded_lines,
    decode,
    open_regular,
    parsed,
    shown,
    text_of,
    unreadable,
)
from safe_gate.inputs.globs import no_match
from safe_gate.model.problems import CannotJudge, Place, Problem
from safe_gate.settings.model import WAIVERS_FILE

OUTPUTS = ".outputs.jsonl"
"""How the name of a file of recorded outputs ends that belongs to the batch of the name before it."""

_FILES = {kind.name: kind for evaluator in EVALUATORS.values() for kind in evaluator.input.kinds}
"""The kinds of input files by their names."""

OWNERS = {kind.name: evaluator for evaluator in EVALUATORS.values() for kind in evaluator.input.kinds}

_DOCUMENTS = [one.input for one in EVALUATORS.values() if isinstance(one.input, Documents)]

OF_CASES = [one.input.kind for one in EVALUATORS.values() if isinstance(one.input, Lines)]

_OPTIONS = {one.input.kind: one.input.setting for one in EVALUATORS.values()} | {
    form.outputs_kind: form.outputs for form in _DOCUMENTS
}

_OF_DOCUMENTS = {form.kind for form in _DOCUMENTS}

_KINDS = (
    *((form.kind, {form.cases}) for form in _DOCUMENTS),
    ("shard", {"schema_version", "shard"}),
    ("report", {"schema_version"}),
    ("publication", {"publication"}),
    ("rule-pack", {"pack"}),
    *((name, one.part.keys) for name, one in EVALUATORS.items() if one.part.keys),
    ("compared", {"comparison"}),
)


def kind_of(path: Path) -> str:
    """Return the schema to validate a file against, by its name and its keys.

    Raises CannotJudge if the file cannot be read or is not JSON at all.
    """
    if globs.is_folder(path):
        raise CannotJudge(no_match(str(path), ".json*", HERE))
    if path.name.endswith(OUTPUTS) and _DOCUMENTS:
        return _DOCUMENTS[0].outputs_kind
    if is_columnar(path):
        return OF_CASES[0]
    name, is_lines = shown(path), path.suffix.lower() == ".jsonl"
    first, start = _first_object(path, most=None if is_lines else 1)
    found = next((kind for kind in _OPTIONS if kind not in _OF_DOCUMENTS and _is_surely(first, kind)), None)
    if is_lines or found:
        return found or OF_CASES[0]
    if start not in b"{/":  # `/` begins a comment of a config
        raise CannotJudge(foreign(name, OF_CASES[0]))
    del first  # it may be all of the file
    return kind_of_document(path, parsed(text_of(path, name), name, comments=True))


def _first_object(path: Path, *, most: int | None) -> tuple[Any, bytes]:
    """Return the first JSON value in the first `most` lines, None without one, and the first byte that is no blank.

    Raises CannotJudge if the file is unreadable.
    """
    start = b""
    try:
        with open_regular(path) as file:
            for number, line in islice(numbered(bounded_lines(file, BOUNDS.line)), most):
                start = start or line.lstrip()[:1]
                with suppress(JsonError, CannotJudge):  # the reader of this kind reports these lines
                    return parse(decode(line, shown(path), number)), start
    except OSError as error:
        raise CannotJudge(unreadable(path, error)) from error
    except TooLongError:
        pass
    return None, start


def kind_of_document(path: Path, content: Mapping[str, Any]) -> str:
    """Return which schema a JSON object is checked with, by the name of its file and its keys."""
    if path.name.endswith(WAIVERS_FILE) or isinstance(content.get("waivers"), list):  # a config names the file there
        return "waivers"
    for kind, keys in _KINDS:
        if keys <= content.keys():
            return kind
    rules = content.get("rules")  # a config names its packs there
    return "rule-pack" if isinstance(rules, list) and any(isinstance(rule, dict) for rule in rules) else "config"


def is_meant_as(value: Any, kind: str) -> bool:
    """Return whether a value is meant as one of a kind, however many faults it has."""
    return isinstance(value, dict) and (value.keys() <= _FILES[kind].own or _is_surely(value, kind))


def _is_surely(value: Any, kind: str) -> bool:
    meant = _FILES[kind]
    return isinstance(value, dict) and bool(meant.hints & value.keys()) and bool(meant.own & value.keys())


def mistaken_for(number: int, line: bytes, path: Path, name: str, kind: str) -> Problem | None:
    """Return the problem of a file that holds no objects of a kind, one a line, as its first line tells."""
    if begins_otherwise(line):
        return foreign(name, kind)
    try:
        value = parse(decode(line, name, number))
    except TooManyValuesError:
        return None
    except JsonError:
        return _one_document(path, name, kind)
    except CannotJudge as error:  # UTF-16 is a problem of the whole file
        return next((problem for problem in error.problems if not problem.place.line), None)
    return None if is_meant_as(value, kind) else foreign(name, kind, value)


def begins_otherwise(start: bytes) -> bool:
    """Return whether a file's first bytes that are no blanks begin no object, neither in UTF-8 nor in UTF-16."""
    return start.lstrip()[:1] not in (b"{", b"") and not start.startswith(BOMS_OF_UTF_16)


def _one_document(path: Path, name: str, kind: str) -> Problem | None:
    """Return the problem of a JSON document over many lines, None for broken lines or a document too large to tell."""
    with suppress(JsonError, CannotJudge):
        return foreign(name, kind, parse(text_of(path, name)))
    return None


def of_another(name: str, kind: str, value: Any) -> Problem | None:
    """Return the problem of a file of one kind that is read as another, None if its first object is of no other."""
    for other, option in _OPTIONS.items():
        if other != kind and _is_surely(value, other):
            flag = option.replace("_", "-")
            words = f"is {_FILES[other].file}, not {_FILES[kind].file}; name the file with --{flag} or {flag}"
            return Problem(Place(name), words)
    return None


def foreign(name: str, kind: str, value: Any = None) -> Problem:
    """Return the problem of a file that is not of a kind, with what to do; `value` is its first object, if known."""
    owner, words = OWNERS[kind], f"is not {_FILES[kind].file}"
    if owner.imports:
        words += f"; convert it: safe-gate import {shlex.quote(name)} --out {owner.imports.file}"
        words += "" if kind == OF_CASES[0] else f" --evaluator {owner.name}"
    return of_another(name, kind, value) or Problem(Place(name), words)


def is_columnar(path: Path) -> bool:
    """Return whether a file is Parquet by its name."""
    return path.suffix.lower() == ".parquet"


def numbered(lines: Iterable[bytes], first: int = 1) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file that are not blank, with their numbers; `first` is the first line's number."""
    for number, line in enumerate(lines, first):
        content = line.removeprefix(BOM) if number == 1 else line
        if content.strip():
            yield number, content


def id_of(value: Any, key: str) -> str:
    """Return the id that a value has under a key, "" for none."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""
