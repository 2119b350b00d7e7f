"""Shell: recorded exchanges of other tools as cases or outputs of ours, for `import`. Reads files.

Rows are kept until all are read. Only then are repeated ids and all problems known.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from safe_gate.addons.importers.entries import AUTO, IMPORTING, Request, asked_in, entry_of, kept_of, of_another, short
from safe_gate.addons.importers.formats import FORMATS
from safe_gate.addons.importers.recording import Recording, opened, problem_of, rows_of
from safe_gate.addons.importers.records import NO_RECORD, LeftOut, Record, Refused, Row, field_of, is_json, is_set
from safe_gate.core.given import Exchange
from safe_gate.core.validate import Schema, suggestion
from safe_gate.evaluators.registry import EVALUATORS
from safe_gate.inputs import checked, disk, globs
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Code, Place, Problem, Problems

_MOST_KINDS = 50
_CHOICES = (AUTO, *FORMATS)
_PAIR = re.compile(r",\s*(?=\w+=)")


# --- what is asked for ----------------------------------------------------------------------------


def mapping_of(words: Sequence[str], evaluator: str) -> Mapping[str, str]:
    """Return where fields are, from words such as `user=prompt,assistant=response`. Raises CannotJudge."""
    found: dict[str, str] = {}
    known = IMPORTING[evaluator].fields
    for pair in (one for word in words for one in _PAIR.split(word)):
        name, equals, path = (part.strip() for part in pair.partition("="))
        if not (equals and path and name in known):
            hint = suggestion(name, known) if equals else ""
            expected = f"expected FIELD=PATH with one of the fields {', '.join(known)}"
            raise CannotJudge.at("--map", f"has {json.dumps(pair[:40])}{hint}; {expected}", Code.USAGE)
        if name in found:
            raise CannotJudge.at("--map", f"names {name} twice; keep one", Code.USAGE)
        found[name] = path
    return {"id" if name == EVALUATORS[evaluator].input.id_key else name: path for name, path in found.items()}


def _schema(request: Request) -> Schema:
    if request.format not in _CHOICES:
        hint = suggestion(request.format, _CHOICES)
        words = f"is {json.dumps(request.format[:40])}{hint}; expected one of {', '.join(_CHOICES)}"
        raise CannotJudge.at("--from", words, Code.USAGE)
    try:
        "".encode(request.encoding or "utf-8")
    except (LookupError, ValueError):  # ValueError: `undefined`, and a name with a NUL
        words = f"is {json.dumps(request.encoding[:40])}; expected the name of a text encoding, such as cp1252"
        raise CannotJudge.at("--encoding", words, Code.USAGE) from None
    schema = checked.load_schema(request.makes.kind)
    sample = request.makes.line(Exchange("a", "", "", "", request.tags, request.checks, {}))
    if faults := [one for one in schema.faults(sample) if one.path[:1] in (("checks",), ("tags",))]:
        raise CannotJudge(*(Problem(Place("--checks"), one.message, code=Code.USAGE) for one in faults))
    return schema


# --- all files ------------------------------------------------------------------------------------


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
    _last: dict[str, Record] = field(default_factory=dict)

    def cut_short(self, problem: Problem) -> None:
        """Note that a file could not be read to its end."""
        self.problems.add(problem)
        self.is_whole = False

    def leave_out(self, kinds: Iterable[str], record: Record) -> None:
        """Count what is left out of a record, which may become several rows; of kinds beyond the first ones the sum."""
        for kind in kinds:
            known = kind in self.left_out or len(self.left_out) < _MOST_KINDS
            name = kind if known else "other fields"
            if self._last.get(name) is not record:
                self.left_out[name] += 1
                self._last[name] = record


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
    asked: dict[str, Sequence[str]] = {}
    for recording in recordings:
        before = result.count
        for item in _rows(recording, request):
            if isinstance(item, LeftOut):
                result.leave_out((item.what,), item.record)
                continue
            if isinstance(item, Row) and item.assistant is None:  # a request, whose reply is elsewhere
                continue
            made = item if isinstance(item, Problem) else _made(item, halves, recording.name, request, schema)
            if isinstance(made, Problem):
                result.problems.add(made)
                result.lines += [{key: short(made.case_id)}] if made.case_id else []
                continue
            entry, left_out, record = made
            result.lines.append(entry)
            said = asked_in(entry)
            if len(result.unlike) < _MOST_KINDS and asked.setdefault(entry[key], said) != said:
                result.unlike[entry[key]] = None
            result.leave_out(left_out, record)
            result.count += 1
        if recording.broken:
            result.cut_short(recording.broken)
        result.found.append((recording.name, recording.title, result.count - before))
    return result


def _rows(recording: Recording, request: Request) -> Iterator[Row | LeftOut | Problem]:
    """Yield the rows of a file, and a problem for each record that cannot become one."""
    for item in rows_of(recording.format, recording.records, request.mapping):
        if not (recording.broken and item.record is NO_RECORD):  # about a file that is whole
            yield problem_of(recording.name, item, request) if isinstance(item, Refused) else item


def _halves(recordings: Sequence[Recording], request: Request, result: Imported) -> dict[str, tuple[Place, Row]]:
    """Return by id each request whose reply is elsewhere, with its place."""
    halves: dict[str, tuple[Place, Row]] = {}
    answered = set[str]()
    for recording in recordings:
        for item in _rows(recording, request):
            if isinstance(item, Problem):
                answered.add(item.case_id)
            elif isinstance(item, Row) and item.assistant is not None:
                answered.add(item.id)
            elif isinstance(item, Row):
                place = Place(recording.name, item.record.line)
                if halves.setdefault(item.id, (place, item))[1] is not item:
                    result.problems.add(Problem(place, "has the custom_id of an earlier request", item.id))
    for place, half in halves.values():
        if half.id not in answered:
            words = "has no response in these files; name the file of responses too"
            result.problems.add(Problem(place, words, half.id))
    return halves


def _made(
    row: Row, halves: Mapping[str, tuple[Place, Row]], name: str, request: Request, schema: Schema
) -> tuple[JsonObject, Iterable[str], Record] | Problem:
    """Return our line for a row of a file, the parts left out of it, and its record."""
    place = Place(name, row.record.line)
    if row.user is None:
        if row.id not in halves:
            return Problem(place, "answers no request of these files; name the file of requests too", row.id)
        half = halves[row.id][1]
        row = replace(row, user=half.user, left_out=(*half.left_out, *row.left_out))
    kept = kept_of(row, request)
    entry = entry_of(row, request, kept)
    is_ours = "checks" in kept or isinstance(kept.get("expected"), dict)
    if kept and not is_ours:  # a field of that name may be another thing
        for other in {str(fault.path[0]) for fault in schema.faults(entry) if fault.path} & kept.keys():
            del kept[other]
        entry = entry_of(row, request, kept)
    why, wrong = _unfit(row, entry, request, schema)
    if kept and not why:
        fault = next(iter(EVALUATORS[request.evaluator].faults(entry)), None)
        why, wrong = (fault.message, fault.field) if fault else ("", "")
    if why:
        return Problem(place, why, row.id, wrong)
    unused = (field_of(key) for key, one in row.fields.items() if key not in kept and is_set(one))
    return entry, (*row.left_out, *unused), row.record


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
