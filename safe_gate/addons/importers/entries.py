"""Samples as lines of an evaluator's file: cases, or recorded outputs; and new replies for the cases of a file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import field
from io import BytesIO
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from safe_gate.addons.importers.fields import (
    IDS,
    IMPORTING,
    LABELS,
    OF_OTHERS,
    find_tags,
    top_fields,
    unused_beside,
    unused_fields,
)
from safe_gate.addons.importers.files import Record, RefusedRecord, column_name, field_words, has_value, is_json
from safe_gate.addons.importers.formats import AUTO, Format
from safe_gate.addons.importers.messages import Sample, content_text, last_exchange, parse_embedded_json
from safe_gate.core.case import Exchange, Imports
from safe_gate.evaluators.registry import EVALUATORS
from safe_gate.inputs import checked, disk, recorded
from safe_gate.model import record
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Code, Place, Problem, Problems

BY_DEFAULT = next(name for name in IMPORTING if not EVALUATORS[name].input.cases)
"""The evaluator whose cases an import makes by default: its lines hold whole cases."""

_LONGEST_ID = 180  # leaves room for the number of a sample
_MOST_DIGITS = 9  # of a context
_VERDICTS = "judged"


@record
class Request:
    """How to import: a format or `AUTO`, paths of fields, the checks and tags of every case."""

    evaluator: str = BY_DEFAULT
    format: str = AUTO
    mapping: Mapping[str, str] = field(default_factory=dict)
    checks: list[str] = field(default_factory=list)
    tags: Sequence[str] = ()
    encoding: str = ""
    """The encoding of the files; "" is UTF-8."""

    @property
    def makes(self) -> Imports:
        """The kind of lines that samples become."""
        return IMPORTING[self.evaluator]

    @property
    def paths(self) -> Mapping[str, str]:
        """The mapped paths of what was said, by field."""
        return {name: path for name, path in self.mapping.items() if name not in ("id", "tags")}

    @property
    def key(self) -> str:
        """The field of a line's id."""
        return EVALUATORS[self.evaluator].input.id_key


def sample_to_line(
    sample: Sample, record: Record, id_: str, format_: Format, request: Request, has_labels: bool
) -> tuple[JsonObject, list[str]]:
    """Return a sample of a record as a valid line, and what is left out of it. Raises RefusedRecord.

    A line keeps the fields of the record that the evaluator knows. Without checks or labels, one of another kind may
    be another thing: it is left out. Requirements never are, nor `expected` where its file `has_labels`.
    """
    mapping, makes = request.mapping, request.makes
    message, reply, left_out = last_exchange(sample)
    used = {*sample.used, format_.error, *top_fields(mapping.values(), record.value)}
    fields = unused_fields(record.value, used, {*IDS, *format_.ids})
    kept = _kept_fields(fields, makes.keeps)
    is_ours = "checks" in kept or (has_labels and isinstance(kept.get(LABELS), dict))
    said = message if isinstance(message, str) else json.dumps(message)
    tags = dict.fromkeys((*request.tags, *sample.tags, *find_tags(record.value, mapping.get("tags", ""))))
    entry = makes.line(
        Exchange(
            id=shorten_id(id_),
            stand_in=f"user-{_digest(said)}",
            message=message,
            reply=parse_embedded_json(reply) if makes.is_parsed else reply,
            tags=tuple(tags),
            checks=request.checks or kept.get("checks", ()),
            extra={**{name: one for name, one in kept.items() if name != "checks"}, **sample.extra},
        )
    )
    if kept and not is_ours:
        faulty = {str(one.path[0]) for one in checked.load_schema(makes.kind).faults(entry) if one.path}
        strange = faulty & kept.keys() & (OF_OTHERS - {LABELS} if has_labels else OF_OTHERS)
        kept = {name: one for name, one in kept.items() if name not in strange}
        entry = {name: one for name, one in entry.items() if name not in strange}
    _check_line(entry, reply, bool(kept), request)
    unused = (field_words(key) for key, one in fields.items() if key not in kept and has_value(one))
    return entry, [*left_out, *unused, *unused_beside(record.value, mapping.values(), sample.used)]


def _kept_fields(fields: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    """Return the fields of a record that its line keeps. Of fields without a schema, those that JSON can hold.

    A cell of CSV may hold checks with commas, or JSON.
    """
    kept = {}
    for name, one in fields.items():
        is_nan = isinstance(one, float) and not is_json(one)
        if is_nan or one in (None, ""):
            continue
        if name not in names and column_name(name) in names:
            raise RefusedRecord(f"has the column {json.dumps(column_name(name))} twice; rename one")
        if names and name[:2] == "x_" and is_json(one):
            kept[name] = one
        elif name in names:
            inner = parse_embedded_json(one)
            if name == "checks" and isinstance(inner, str):
                inner = [check.strip() for check in inner.split(",") if check.strip()]
            if name == "context" and isinstance(inner, str) and inner.isdecimal() and len(inner) <= _MOST_DIGITS:
                inner = int(inner)
            if inner != [] and not (isinstance(inner, str) and not inner.strip()):  # it asks for nothing
                kept[name] = inner
    return kept


def _check_line(entry: JsonObject, reply: Any, has_fields: bool, request: Request) -> None:
    """Raise RefusedRecord for a line that is invalid."""
    evaluator = EVALUATORS[request.evaluator]
    if not entry[request.key]:
        raise RefusedRecord(f"has no id; name it: --map {request.key}=FIELD")
    if isinstance(reply, dict) and not request.makes.is_parsed:
        raise RefusedRecord("has a reply that is an object; expected text; name the text in it: --map assistant=PATH")
    for fault in checked.load_schema(request.makes.kind).faults(entry):
        raise RefusedRecord(fault.message, field=fault.field)
    if bad := next((name for name, one in entry.items() if not is_json(one)), ""):
        raise RefusedRecord("holds NaN or an infinite number, which JSON cannot hold; correct it", field=bad)
    if long := disk.find_long_text(evaluator, entry, disk.BOUNDS.text):
        raise RefusedRecord(disk.too_long_message(disk.BOUNDS.text, "bounds.text"), field=long)
    for fault in evaluator.faults(entry) if has_fields else ():
        raise RefusedRecord(fault.message, field=fault.field)


def prompt_of_line(entry: JsonObject) -> Sequence[str]:
    """Return the user's texts in a line. Messages without a reply between them are one text."""
    messages = entry.get("messages")
    if not isinstance(messages, list):
        return [entry.get("user", "")]
    turns = [one for one in messages if one["role"] != "system"]
    runs = [list(some) for role, some in groupby(turns, key=lambda one: one["role"]) if role == "user"]
    return ["\n\n".join(content_text(one["content"])[0] or "" for one in some) for some in runs]


def _why_unlike(case: JsonObject, entry: JsonObject, *, is_sample: bool) -> str:
    """Return why a case does not take the replies that are recorded under its id, "" if it does."""
    if not entry:
        return "is recorded more than once; give each recorded reply its own id, or name its field: --map id=FIELD"
    if prompt_of_line(case) != prompt_of_line(entry):
        return "has another message than the recording has under this id; give the recording another id"
    ours, theirs = (one.get("x_provider") for one in (case, entry))
    if is_sample and ours and theirs and ours != theirs:
        return "has another x_provider than the recording has under this id; correct the id or the x_provider"
    old, new = len(replies_of_line(case)), len(replies_of_line(entry))
    return "" if old == new else f"has {old} replies, and the recording {new}; correct the case by hand"


def replies_of_line(entry: JsonObject) -> list[Any]:
    """Return each reply in a line; of parts of a text, the text."""
    if isinstance(entry.get("messages"), list):
        return [content_text(one["content"])[0] for one in entry["messages"] if one["role"] == "assistant"]
    return [entry[name] for name in ("assistant", "output") if name in entry]


def _with_replies(case: JsonObject, entry: JsonObject) -> JsonObject:
    """Return a case with the replies of a recording and its verdicts. Those of an old reply go with it."""
    new, before, verdicts = replies_of_line(entry), case.get(_VERDICTS, {}), entry.get(_VERDICTS, {})
    if new == replies_of_line(case):
        found, verdicts = case, {**before, **verdicts}
    elif isinstance(case.get("messages"), list):
        replies = iter(new)
        talk = [
            {**one, "content": reply}
            if one["role"] == "assistant" and content_text(one["content"])[0] != (reply := next(replies))
            else one  # also the parts of a reply that says the same
            for one in case["messages"]
        ]
        found = {**case, "messages": talk}
    else:
        found = {**case, "assistant" if "assistant" in case else "output": new[0]}
    return found if verdicts == before else {**found, _VERDICTS: verdicts}


def shorten_id(id_: str) -> str:
    """Return an id of at most 200 characters: a long one is cut and ends in a digest."""
    return id_ if len(id_) <= _LONGEST_ID else f"{id_[:150]}-{_digest(id_)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def to_json_line(value: Any) -> str:
    """Return a value as JSON on one line, as UTF-8 if possible."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can only escape
        return json.dumps(value)
    return text


class Updated(NamedTuple):
    """The lines of a file with new replies, the ids of its cases, and of some by what became of them."""

    lines: list[str]
    cases: Set[str]
    changed: list[str]
    gone: list[str]
    """Those without a recorded reply."""
    unlike: list[str]
    """Those that keep their reply, because the recorded one does not fit."""
    to_check: list[str]
    """The changed ones with labels or marks, which were given to the old reply, or without its verdicts."""


def update_cases(
    path: Path, request: Request, replies: Mapping[str, JsonObject], repeated: Set[str], *, is_lenient: bool
) -> Updated:
    """Return a file with the recorded `replies` by id. Raises CannotJudge with every problem of the file.

    The samples of `repeated` ids have numbers. Where it `is_lenient`, a case that does not fit its recording is no
    problem, unless no case is left.
    """
    lines, cases, problems = _read_cases(path, request)
    unlike, new = dict[str, Problem](), dict[str, JsonObject]()
    for id_, (place, case) in cases.items():
        entry = replies.get(id_, {})
        if entry or id_ in repeated:
            if words := _why_unlike(case, entry, is_sample=id_.rpartition("#")[0] in repeated):
                unlike[id_] = Problem(place, words, id_)
            else:
                new[id_] = _with_replies(case, entry)
    for problem in unlike.values() if not (is_lenient and new) else ():
        problems.add(problem)
    if problems:
        raise CannotJudge(*problems.kept())
    if not new:
        words = "has none of the recorded ids; name their field: --map id=FIELD"
        raise CannotJudge.at(disk.display_path(path), words, Code.UNKNOWN_CASE)
    changed = {id_: one for id_, one in new.items() if one != cases[id_][1]}
    for id_, one in changed.items():
        number = cases[id_][0].line
        lines[number] = to_json_line(one) + lines[number][len(lines[number].rstrip("\r\n")) :]
    gone = [id_ for id_ in cases if id_ not in new and id_ not in unlike]
    to_check = [id_ for id_, one in changed.items() if _is_to_check(cases[id_][1], one)]
    return Updated([*lines.values()], cases.keys(), [*changed], gone, [*unlike], to_check)


def _read_cases(path: Path, request: Request) -> tuple[dict[int, str], dict[str, tuple[Place, JsonObject]], Problems]:
    """Return the lines of a file by number, its cases with their places by id, and its problems. Raises CannotJudge."""
    key, kind = request.key, request.makes.kind
    if checked.is_columnar(path):
        raise CannotJudge.at(disk.display_path(path), "is Parquet; expected a file of JSON lines")
    lines, cases, places = dict[int, str](), dict[str, tuple[Place, JsonObject]](), dict[str, Place]()
    problems = Problems()
    for part in recorded.read_file_parts(path, kind, disk.BOUNDS, recorded.Found(problems)):
        # A line that is not UTF-8 is a problem.
        lines |= enumerate((one.decode("utf-8", "replace") for one in BytesIO(part.data)), part.first)
        for one in recorded.parse_objects(part, kind):
            if isinstance(one, Problem):
                problems.add(one)
            elif twice := recorded.check_duplicate(places, one[1][key], one[0], key):
                problems.add(twice)
            else:
                cases[one[1][key]] = one
    return lines, cases, problems


def _is_to_check(case: JsonObject, new: JsonObject) -> bool:
    has_lost = bool(case.get(_VERDICTS, {}).keys() - new.get(_VERDICTS, {}).keys())
    return has_lost or any({"expected", "marks"} & one.keys() for one in (case, *case.get("messages", ())))
