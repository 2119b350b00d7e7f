"""Shell: recorded exchanges of other tools as cases or outputs of ours, for `import`. Reads files.

Rows are kept in a spool until all are read. Only then are repeated ids and all problems known.
"""

from __future__ import annotations

import codecs
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from io import TextIOWrapper
from itertools import count
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO

from safe_gate.addons.importers import shapes
from safe_gate.addons.importers.entries import (
    AUTO,
    IMPORTING,
    Request,
    asked_in,
    entry_of,
    kept_of,
    of_another,
    short,
)
from safe_gate.addons.importers.formats import LeftOut, NotACase, Record, Refused, Row, formats
from safe_gate.addons.importers.formats._fields import has_field, overlay, rows, without_columns
from safe_gate.addons.importers.formats._rows import field_of
from safe_gate.addons.importers.records import NotReadable, is_json
from safe_gate.core.given import Exchange
from safe_gate.core.model import CannotJudge, Code, JsonObject, Place, Problem
from safe_gate.core.problems import Problems
from safe_gate.core.text.patterns import later
from safe_gate.core.validate import Schema, suggestion
from safe_gate.evaluators import EVALUATORS
from safe_gate.inputs import bounds, disk, schemas, spool
from safe_gate.inputs.finding import expansion

FORMATS = (AUTO, *formats())
"""What `--from` takes."""


_MOST_KINDS = 50
_HEAD = 1 << 16
_BOMS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_BINARY = (b"PAR1", b"PK\x03\x04")
_PAIR = later(r",\s*(?=\w+=)")


@dataclass(slots=True)
class Imported:
    """The result for all files: rows as a spool, the findings in each file, and the problems."""

    rows: spool.Spool
    problems: Problems
    found: list[tuple[str, str, int]]
    """Each file's path, format and number of rows."""
    left_out: Counter[str]
    """For each kind of thing, how many records it was left out of, or how many were left out as a whole."""
    ids: spool.Store
    repeated: spool.Store
    """The ids that more than one row has, with the number of the last one that is written."""
    asked: spool.Store
    """What the user says in the first row of each id."""
    unlike: dict[str, None]
    """The ids of rows that differ in what the user says, of many the first ones."""
    count: int = 0
    """How many rows became cases."""
    counted: set[str] = field(default_factory=set)
    """The kinds that are counted for the present record, of which there may be several rows."""
    is_whole: bool = True
    """Whether every file could be read to its end. Other problems are about single records."""


def mapping_of(words: Sequence[str], evaluator: str) -> Mapping[str, str]:
    """Return where fields are, from words such as `user=prompt,assistant=response`. Raises CannotJudge."""
    found: dict[str, str] = {}
    for pair in (one for word in words for one in _PAIR.split(word)):
        name, equals, path = (part.strip() for part in pair.partition("="))
        known = IMPORTING[evaluator].fields
        if not (equals and path and name in known):
            hint = suggestion(name, known) if equals else ""
            expected = f"expected FIELD=PATH with one of the fields {', '.join(known)}"
            raise CannotJudge(
                Problem(Place("--map"), f"has {json.dumps(pair[:40])}{hint}; {expected}", code=Code.USAGE)
            )
        if name in found:
            raise CannotJudge(Problem(Place("--map"), f"names {name} twice; keep one", code=Code.USAGE))
        found[name] = path
    return {"id" if name == EVALUATORS[evaluator].input.id_key else name: path for name, path in found.items()}


def read(patterns: Sequence[str], request: Request) -> Imported:
    """Return what files hold, those that globs name in the order of their paths. Raises CannotJudge for the request."""
    schema, key = _schema(request), request.key
    paths, problems = expansion.expand(patterns, ".*")
    result = Imported(spool.Spool(), Problems(), [], Counter(), spool.Store(), spool.Store(), spool.Store(), {})
    for problem in problems:
        _break(result, problem)
    guesses = [(path, guess) for path in paths if (guess := _guess(path, request, result)) is not None]
    asked, answered = spool.Store(), spool.Store()  # halves of exchanges whose replies are elsewhere
    for path, guess in guesses:
        if guess.format and guess.format.joins:
            _take_halves(path, guess, request, result, asked)
    for path, guess in guesses:
        name, before, joins = disk.shown(path), result.count, guess.format is not None and guess.format.joins
        for item in _rows(path, guess, request, result):
            made = item if isinstance(item, Problem) else _made(item, asked, name, request, schema)
            if joins and made is not None:
                answered.setdefault(item.case_id if isinstance(item, Problem) else item.id, True)
            if isinstance(made, Problem):
                result.problems.add(made)
                if made.case_id:  # it uses up a sample number, so later samples keep theirs
                    _keep({key: short(made.case_id)}, key, result)
            elif made is not None:
                _keep(made[0], key, result)
                said = asked_in(made[0])
                if len(result.unlike) < _MOST_KINDS and result.asked.setdefault(made[0][key], said) != said:
                    result.unlike[made[0][key]] = None
                _count(result, made[1])
                result.count += 1
        result.found.append((name, guess.title, result.count - before))
    for id_, half in asked.items():
        if answered.get(id_) is None:
            words = "has no response in these files; name the file of responses too"
            result.problems.add(Problem(Place(half["path"], half["line"]), words, id_))
    return result


def _made(
    row: Row, asked: spool.Store, name: str, request: Request, schema: Schema
) -> tuple[JsonObject, tuple[str, ...]] | Problem | None:
    """Return our line for a row, and the parts left out of it; None for a half that waits."""
    joined = _joined(row, asked, name)
    if not isinstance(joined, Row):
        return joined
    kept = kept_of(joined, request)
    entry = entry_of(joined, request, kept)
    is_ours = "checks" in kept or isinstance(kept.get("expected"), dict)
    if kept and not is_ours:  # a field of that name may be another thing
        for other in {str(fault.path[0]) for fault in schema.faults(entry) if fault.path} & kept.keys():
            del kept[other]
        entry = entry_of(joined, request, kept)
    why, field_ = _unfit(joined, entry, request, schema)
    if kept and not why:
        fault = next(iter(EVALUATORS[request.evaluator].faults(entry)), None)
        why, field_ = (fault.message, fault.field) if fault else ("", "")
    unused = (key for key, one in joined.fields.items() if key not in kept and (one or key not in request.makes.keeps))
    left_out = dict.fromkeys((*joined.left_out, *map(field_of, unused)))
    return Problem(Place(name, row.line), why, row.id, field_) if why else (entry, tuple(left_out))


def _joined(row: Row, asked: spool.Store, name: str) -> Row | Problem | None:
    """Return a row with both its halves: that of a reply with what it answers. None for a half that waits for it."""
    if row.assistant is None:
        return None
    if row.user is not None:
        return row
    half = asked.get(row.id)
    if half is None:
        words = "answers no request of these files; name the file of requests too"
        return Problem(Place(name, row.line), words, row.id)
    user = half["user"] if isinstance(half["user"], str) else tuple(half["user"])
    return replace(row, user=user, left_out=(*half["left_out"], *row.left_out))


def _keep(entry: JsonObject, key: str, result: Imported) -> None:
    """Keep our line, or only the id of a sample without one, and note whether the id repeats."""
    place = len(result.rows)
    if result.ids.setdefault(entry[key], place) != place:
        result.repeated.setdefault(entry[key], 0)
    result.rows.take(spool.lines([entry]))


def entries(imported: Imported, request: Request) -> Iterator[JsonObject]:
    """Yield cases or outputs; of repeated ids the samples in file order as `ID#1`, `ID#2`.

    A number is passed over if a record has that id itself.
    """
    key = request.key
    for entry in imported.rows:
        id_ = entry[key]
        if (number := imported.repeated.get(id_)) is not None:
            free = next(n for n in count(number + 1) if imported.ids.get(f"{id_}#{n}") is None)
            imported.repeated.pop(id_)
            imported.repeated.setdefault(id_, free)
            entry = {**entry, key: f"{id_}#{free}"}  # noqa: PLW2901 - a copy
        if len(entry) > 1:
            yield entry


def _schema(request: Request) -> Schema:
    if request.format not in FORMATS:
        hint = suggestion(request.format, FORMATS)
        words = f"is {json.dumps(request.format[:40])}{hint}; expected one of {', '.join(FORMATS)}"
        raise CannotJudge(Problem(Place("--from"), words, code=Code.USAGE))
    try:
        "".encode(request.encoding or "utf-8")
    except (LookupError, ValueError):  # ValueError: `undefined`, and a name with a NUL
        words = f"is {json.dumps(request.encoding[:40])}; expected the name of a text encoding, such as cp1252"
        raise CannotJudge(Problem(Place("--encoding"), words, code=Code.USAGE)) from None
    schema = schemas.load_schema(request.makes.kind)
    sample = request.makes.line(Exchange("a", "", "", "", request.tags, request.checks, {}))
    if faults := [one for one in schema.faults(sample) if one.path[:1] in (("checks",), ("tags",))]:
        raise CannotJudge(*(Problem(Place("--checks"), one.message, code=Code.USAGE) for one in faults))
    return schema


def _guess(path: Path, request: Request, result: Imported) -> shapes.Guess | None:
    name = disk.shown(path)
    wanted = formats()[request.format] if request.format != AUTO else None
    try:
        with _opened(path, request.encoding) as file:
            guess = shapes.guess(file, wanted)
            is_mapped = bool(request.mapping.keys() - {"id", "tags"})
            if guess.format is None and is_mapped:
                guess = guess._replace(format=shapes.general(guess.shape))
            lacks = guess.is_table and without_columns(guess.fields, request.mapping)
            if guess.format is not None and not lacks:
                return guess
            if lacks:
                _break(result, _problem(name, lacks, request))
                return None
            shown = ", ".join(json.dumps(one[:40]) for one in guess.fields[:8])
            words = f"has no format that is known, but records with {shown}; name the fields with --map, or name --from"
            words = words if shown else "has no records to import"
            _break(result, Problem(Place(name), words))
    except OSError as error:
        _break(result, disk.unreadable(path, error))
    except NotReadable as error:
        _break(result, Problem(Place(name, error.line), str(error)))
    except ModuleNotFoundError as error:
        _break(result, _missing(name, error))
    return None


@contextmanager
def _opened(path: Path, encoding: str) -> Iterator[BinaryIO]:
    """Open a file, one in another encoding than UTF-8 as a copy in UTF-8. Raises OSError, and NotReadable."""
    with disk.open_regular(path) as file, TemporaryFile() as copy:
        head = file.read(_HEAD)
        file.seek(0)
        named = encoding or next((name for bom, name in _BOMS.items() if head.startswith(bom)), "")
        if not named or head.startswith(_BINARY):
            yield file
            return
        text = TextIOWrapper(file, named, newline="")
        try:
            while chunk := text.read(_HEAD):
                copy.write(chunk.encode())
        except UnicodeError as error:
            words = f"is not {named}: {getattr(error, 'reason', error)}; name another encoding with --encoding"
            raise NotReadable(words, 0) from None
        finally:
            text.detach()
        copy.seek(0)
        yield copy


def _missing(name: str, error: ModuleNotFoundError) -> Problem:
    extra = "dask" if error.name == "pyarrow" else "zstd"
    what = "is Parquet" if extra == "dask" else "is compressed with zstd"
    words = f"{what}, but its library is not installed; install SAFE Gate with the extra `{extra}`"
    return Problem(Place(name), f"{words}: in a checkout, pip install '.[{extra}]'", code=Code.UNAVAILABLE)


def _take_halves(path: Path, guess: shapes.Guess, request: Request, result: Imported, asked: spool.Store) -> None:
    """Keep what the user says in each request of a file by its id, until the reply comes."""
    name = disk.shown(path)
    for item in _rows(path, guess, request, replace(result, problems=Problems(), found=[], left_out=Counter())):
        if isinstance(item, Problem) or item.user is None or item.assistant is not None:
            continue
        half = {"user": item.user, "left_out": list(item.left_out), "path": name, "line": item.line}
        if asked.setdefault(item.id, half) is not half:
            result.problems.add(Problem(Place(name, item.line), "has the custom_id of an earlier request", item.id))


def _rows(path: Path, guess: shapes.Guess, request: Request, result: Imported) -> Iterator[Row | Problem]:
    """Yield the rows of a file, and a problem for each record that cannot become one."""
    name = disk.shown(path)
    refused: list[Refused] = []
    current: list[Record] = []
    chosen = guess.format
    assert chosen is not None  # noqa: S101 - `_guess` leaves out files of no format
    own = {target: path for target, path in request.mapping.items() if target in ("id", "tags") and not chosen.shape}

    def kept() -> Iterator[Record]:
        for one in shapes.read(file, guess.shape):
            if isinstance(one, Refused):
                refused.append(one)
            elif not one.path or one.path in chosen.paths:
                current[:] = [one]
                result.counted.clear()
                yield one
        current.clear()  # what follows is about the whole file

    try:
        with _opened(path, request.encoding) as file:
            is_mapped = request.mapping.keys() - {"id", "tags"} or (request.mapping and chosen.shape)
            for item in rows(kept(), request.mapping) if is_mapped else chosen.rows(kept()):
                yield from (_problem(name, one, request) for one in refused)
                refused.clear()
                if isinstance(item, LeftOut):
                    _count(result, (item.what,))
                    continue
                try:
                    found = replace(item, **_overlay(item, current[0], own)) if current and own else item
                except NotACase as error:
                    found = Refused(str(error), item.id, item.line)
                document = current[0].name if current else ""
                yield _problem(name, found, request, document) if isinstance(found, Refused) else found
            yield from (_problem(name, one, request) for one in refused)
    except OSError as error:
        _break(result, disk.unreadable(path, error))
    except NotReadable as error:
        _break(result, Problem(Place(name, error.line), f"{error}; what follows is not read"))
    except ModuleNotFoundError as error:
        _break(result, _missing(name, error))


def _overlay(item: Row | Refused, record: Record, own: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the id, and of a row the tags, that a mapping names in its record, and the others. Raises NotACase."""
    if isinstance(item, Refused):
        return overlay(record.value, {name: path for name, path in own.items() if name == "id"})
    fields = {key: one for key, one in item.fields.items() if not any(has_field(path, [key]) for path in own.values())}
    return {**overlay(record.value, own), "fields": fields}


def _problem(name: str, one: Refused, request: Request, document: str = "") -> Problem:
    field_ = f"in {document}: " if document and not one.line else ""
    mapping = ",".join(f"{side}=FIELD" for side in request.makes.sides)
    hint = f"; name them: --map {mapping}" if one.is_unnamed else ""
    return Problem(Place(name, one.line), f"{field_}{one.why}{hint}", one.id)


def _break(result: Imported, problem: Problem) -> None:
    """Note that a file could not be read to its end."""
    result.problems.add(problem)
    result.is_whole = False


def _count(result: Imported, kinds: Sequence[str]) -> None:
    """Count what is left out; of kinds beyond the first ones the sum."""
    for kind in (one for one in kinds if one not in result.counted):
        known = kind in result.left_out or len(result.left_out) < _MOST_KINDS
        result.left_out[kind if known else "other fields"] += 1
    result.counted.update(kinds)


def _unfit(row: Row, entry: JsonObject, request: Request, schema: Schema) -> tuple[str, str]:
    """Return why a line is invalid, and the wrong field; two empty texts for a valid line."""
    if not entry[request.key]:
        return f"has no id; name it: --map {request.key}=FIELD", ""
    if isinstance(row.assistant, dict) and not request.makes.is_parsed:
        return f"has a reply that is an object; expected text{of_another(row.assistant)}", ""
    for fault in schema.faults(entry):
        return fault.message, fault.field
    if bad := next((name for name, one in entry.items() if not is_json(one)), ""):
        return "holds NaN or an infinite number, which JSON cannot hold; correct it", bad
    if long := bounds.long_text(EVALUATORS[request.evaluator], entry, bounds.BOUNDS.text):
        return disk.too_long(bounds.BOUNDS.text, "bounds.text"), long
    return "", ""
