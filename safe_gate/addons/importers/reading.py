"""Shell: recorded exchanges of other tools as cases or outputs of ours, for `import`. Reads files.

Rows are kept until all are read. Only then are repeated ids and all problems known.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, NamedTuple

from safe_gate.addons.importers.entries import AUTO, IMPORTING, Request, asked_in, entry_of, kept_of, of_another, short
from safe_gate.addons.importers.fields import has_field, overlay, rows
from safe_gate.addons.importers.formats import FORMATS
from safe_gate.addons.importers.recordings import Recording, opened, problem_of
from safe_gate.addons.importers.rows import (
    NO_RECORD,
    LeftOut,
    NotACase,
    Refused,
    Row,
    field_of,
    is_json,
)
from safe_gate.core.given import Exchange
from safe_gate.core.text.patterns import later
from safe_gate.core.validate import Schema, suggestion
from safe_gate.evaluators import EVALUATORS
from safe_gate.inputs import checked, disk, globs
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Code, Place, Problem, Problems

_CHOICES = (AUTO, *FORMATS)
_MOST_KINDS = 50
_PAIR = later(r",\s*(?=\w+=)")


@dataclass(slots=True)
class Imported:
    """The result for all files: our lines, the findings in each file, and the problems."""

    lines: list[JsonObject] = field(default_factory=list)
    """One that only has an id stands for a record that cannot become a case, but uses up the number of a sample."""
    problems: Problems = field(default_factory=Problems)
    found: list[tuple[str, str, int]] = field(default_factory=list)
    """Each file's path, format and number of cases."""
    left_out: Counter[str] = field(default_factory=Counter)
    """For each kind of thing, how many records it was left out of, or how many were left out as a whole."""
    unlike: dict[str, None] = field(default_factory=dict)
    """The ids of rows that differ in what the user says, of many the first ones."""
    count: int = 0
    """How many rows became cases."""
    is_whole: bool = True
    """Whether every file could be read to its end. Other problems are about single records."""
    counted: set[str] = field(default_factory=set)
    """The kinds that are counted for the present record, of which there may be several rows."""

    def cut_short(self, problem: Problem) -> None:
        """Note that a file could not be read to its end."""
        self.problems.add(problem)
        self.is_whole = False

    def leave_out(self, kinds: Sequence[str]) -> None:
        """Count what is left out; of kinds beyond the first ones the sum."""
        for kind in (one for one in kinds if one not in self.counted):
            known = kind in self.left_out or len(self.left_out) < _MOST_KINDS
            self.left_out[kind if known else "other fields"] += 1
        self.counted.update(kinds)


class Half(NamedTuple):
    """What the user says in a request whose reply is elsewhere."""

    row: Row
    name: str


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
    schema, key, result = _schema(request), request.key, Imported()
    paths, problems = globs.expand(patterns, ".*")
    for problem in problems:
        result.cut_short(problem)
    recordings = list[Recording]()
    for path in paths:
        try:
            recordings.append(opened(path, request))
        except CannotJudge as error:
            result.cut_short(error.problems[0])
    halves = _halves([one for one in recordings if one.format.joins], request, result)
    answered, asked = set[str](), dict[str, Sequence[str]]()
    for recording in recordings:
        before = result.count
        for item in _rows(recording, request, result):
            made = (
                item
                if isinstance(item, Problem)
                else _made(item, halves, Place(recording.name, item.record.line), request, schema)
            )
            if recording.format.joins and made is not None:
                answered.add(item.case_id if isinstance(item, Problem) else item.id)
            if isinstance(made, Problem):
                result.problems.add(made)
                result.lines += [{key: short(made.case_id)}] if made.case_id else []
            elif made is not None:
                entry, left_out = made
                result.lines.append(entry)
                said = asked_in(entry)
                if len(result.unlike) < _MOST_KINDS and asked.setdefault(entry[key], said) != said:
                    result.unlike[entry[key]] = None
                result.leave_out(left_out)
                result.count += 1
        if recording.broken:
            result.cut_short(recording.broken)
        result.found.append((recording.name, recording.title, result.count - before))
    for id_, half in halves.items():
        if id_ not in answered:
            words = "has no response in these files; name the file of responses too"
            result.problems.add(Problem(Place(half.name, half.row.record.line), words, id_))
    return result


def _made(
    row: Row, halves: Mapping[str, Half], place: Place, request: Request, schema: Schema
) -> tuple[JsonObject, tuple[str, ...]] | Problem | None:
    """Return our line for a row, and the parts left out of it; None for a half that waits."""
    if row.assistant is None:
        return None
    half = halves.get(row.id) if row.user is None else None
    if row.user is None and half is None:
        return Problem(place, "answers no request of these files; name the file of requests too", row.id)
    joined = replace(row, user=half.row.user, left_out=(*half.row.left_out, *row.left_out)) if half else row
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
    return Problem(place, why, row.id, field_) if why else (entry, tuple(left_out))


def numbered(imported: Imported, request: Request) -> Iterator[JsonObject]:
    """Yield cases or outputs; of repeated ids the samples in file order as `ID#1`, `ID#2`.

    A number is passed over if a record has that id itself.
    """
    key = request.key
    ids = Counter(entry[key] for entry in imported.lines)
    numbers = {id_: 0 for id_, times in ids.items() if times > 1}
    for entry in imported.lines:
        id_ = entry[key]
        if id_ in numbers:
            numbers[id_] = next(n for n in count(numbers[id_] + 1) if f"{id_}#{n}" not in ids)
            id_ = f"{id_}#{numbers[id_]}"
        if len(entry) > 1:
            yield {**entry, key: id_}


def _schema(request: Request) -> Schema:
    if request.format not in _CHOICES:
        hint = suggestion(request.format, _CHOICES)
        words = f"is {json.dumps(request.format[:40])}{hint}; expected one of {', '.join(_CHOICES)}"
        raise CannotJudge(Problem(Place("--from"), words, code=Code.USAGE))
    try:
        "".encode(request.encoding or "utf-8")
    except (LookupError, ValueError):  # ValueError: `undefined`, and a name with a NUL
        words = f"is {json.dumps(request.encoding[:40])}; expected the name of a text encoding, such as cp1252"
        raise CannotJudge(Problem(Place("--encoding"), words, code=Code.USAGE)) from None
    schema = checked.load_schema(request.makes.kind)
    sample = request.makes.line(Exchange("a", "", "", "", request.tags, request.checks, {}))
    if faults := [one for one in schema.faults(sample) if one.path[:1] in (("checks",), ("tags",))]:
        raise CannotJudge(*(Problem(Place("--checks"), one.message, code=Code.USAGE) for one in faults))
    return schema


def _halves(recordings: Sequence[Recording], request: Request, result: Imported) -> dict[str, Half]:
    """Return by id what the user says in each request whose reply is elsewhere."""
    halves: dict[str, Half] = {}
    for recording in recordings:
        for item in _rows(recording, request, Imported()):
            if isinstance(item, Problem) or item.user is None or item.assistant is not None:
                continue
            half = Half(item, recording.name)
            if halves.setdefault(item.id, half) is not half:
                place = Place(recording.name, item.record.line)
                result.problems.add(Problem(place, "has the custom_id of an earlier request", item.id))
    return halves


def _rows(recording: Recording, request: Request, result: Imported) -> Iterator[Row | Problem]:
    """Yield the rows of a file, and a problem for each record that cannot become one. What is left out is counted."""
    name, chosen = recording.name, recording.format
    yield from (problem_of(name, one, request) for one in recording.refused)
    own = {target: path for target, path in request.mapping.items() if target in ("id", "tags") and not chosen.shape}
    is_mapped = request.mapping.keys() - {"id", "tags"} or (request.mapping and chosen.shape)
    current = NO_RECORD
    for item in rows(recording.records, request.mapping) if is_mapped else chosen.rows(recording.records):
        if item.record is not current:
            current = item.record
            result.counted.clear()
        if recording.broken and item.record is NO_RECORD:  # about a file that is whole
            continue
        if isinstance(item, LeftOut):
            result.leave_out((item.what,))
            continue
        found: Row | Refused = item
        if own and item.record is not NO_RECORD:
            try:
                found = replace(item, **_overlay(item, own))
            except NotACase as error:
                found = Refused(str(error), item.id, item.record)
        yield problem_of(name, found, request) if isinstance(found, Refused) else found


def _overlay(item: Row | Refused, own: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the id, and of a row the tags, that a mapping names in its record, and the others. Raises NotACase."""
    value = item.record.value
    if isinstance(item, Refused):
        return overlay(value, {name: path for name, path in own.items() if name == "id"})
    fields = {key: one for key, one in item.fields.items() if not any(has_field(path, [key]) for path in own.values())}
    return {**overlay(value, own), "fields": fields}


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
    if long := disk.long_text(EVALUATORS[request.evaluator], entry, disk.BOUNDS.text):
        return disk.too_long(disk.BOUNDS.text, "disk.text"), long
    return "", ""
