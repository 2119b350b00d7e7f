"""Imported rows as lines of an evaluator's file, or as new replies for the cases of one. Reads files.

With `safe-gate import --update` all else of the cases stays.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from safe_gate.addons.importers.messages import content_text, parse_embedded_json
from safe_gate.addons.importers.records import RepeatedColumn, Row, is_json
from safe_gate.core.case import Exchange, Imports, Lines
from safe_gate.core.jsontext import JsonError, offsets, parse
from safe_gate.evaluators.registry import EVALUATORS
from safe_gate.inputs import checked, disk
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Code, Place, Problem, Problems

AUTO = "auto"

IMPORTING: Mapping[str, Imports] = {name: one.imports for name, one in EVALUATORS.items() if one.imports}
"""What an import can make, by evaluator."""

BY_DEFAULT = next(name for name in IMPORTING if isinstance(EVALUATORS[name].input, Lines))
"""The evaluator whose cases an import makes by default: its lines hold whole cases."""

_LONGEST_ID = 180  # leaves room for the number of a sample


@dataclass(frozen=True, slots=True)
class Request:
    """How to import: a format or `AUTO`, paths of fields, the checks and tags of every case."""

    evaluator: str = BY_DEFAULT
    format: str = AUTO
    mapping: Mapping[str, str] = field(default_factory=dict)
    checks: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    encoding: str = ""
    """The encoding of the files; "" is UTF-8, or that of the byte order mark."""

    @property
    def makes(self) -> Imports:
        """The kind of lines that rows become."""
        return IMPORTING[self.evaluator]

    @property
    def key(self) -> str:
        """The field of a line's id."""
        return EVALUATORS[self.evaluator].input.id_key


def kept_fields(row: Row, request: Request) -> dict[str, Any]:
    """Return the fields of a row that its line keeps. Of fields without a schema, those that JSON can hold.

    A cell of CSV may hold checks with commas, or JSON.
    """
    names = request.makes.keeps
    given = {
        name: one for name, one in row.fields.items() if one not in (None, "") and not isinstance(one, RepeatedColumn)
    }
    return {
        name: _field(name, one)
        for name, one in given.items()
        if name in names or (names and name[:2] == "x_" and is_json(one))
    }


def _field(name: str, value: Any) -> Any:
    inner = parse_embedded_json(value)
    if not isinstance(inner, str) or name[:2] == "x_":
        return value if name[:2] == "x_" else inner
    if name == "checks":
        return [one.strip() for one in inner.split(",") if one.strip()]
    return int(inner) if name == "context" and inner.isascii() and inner.isdigit() else inner


def row_to_line(row: Row, request: Request, kept: Mapping[str, Any]) -> JsonObject:
    """Return a row as a line, not yet validated, with some of its own fields."""
    message = row.user or ""
    said = message if isinstance(message, str) else json.dumps(message)
    checks = found if isinstance(found := kept.get("checks"), list) else ()
    others = {name: one for name, one in kept.items() if name != "checks" or one is not checks}
    return request.makes.line(
        Exchange(
            id=shorten_id(row.id),
            stand_in=f"user-{_digest(said)}",
            message=message,
            reply=parse_embedded_json(row.assistant) if request.makes.is_parsed else row.assistant,
            tags=tuple(dict.fromkeys((*request.tags, *row.tags))),
            checks=request.checks or checks,
            extra={**others, **row.extra},
        )
    )


def prompt_of_line(entry: JsonObject) -> Sequence[str]:
    """Return the user's texts in a line. Messages without a reply between them are one text."""
    messages = entry.get("messages")
    if not isinstance(messages, list):
        return [entry.get("user", "")]
    turns = [one for one in messages if one["role"] != "system"]
    runs = [list(some) for role, some in groupby(turns, key=lambda one: one["role"]) if role == "user"]
    return ["\n\n".join(content_text(one["content"])[0] or "" for one in some) for some in runs]


def replies_of_line(entry: JsonObject) -> Sequence[tuple[tuple[str | int, ...], Any]]:
    """Return each reply in a line with its path; of parts of a text, the text."""
    messages = entry.get("messages")
    if isinstance(messages, list):
        replies = [(index, one["content"]) for index, one in enumerate(messages) if one["role"] == "assistant"]
        return [(("messages", index, "content"), content_text(one)[0]) for index, one in replies]
    return [((name,), entry[name]) for name in ("assistant", "output") if name in entry]


def other_evaluator_hint(reply: JsonObject) -> str:
    """Return a hint if a reply is what another evaluator records, "" if it is not."""
    is_of = (name for name, one in IMPORTING.items() if one.is_parsed and len(reply.keys() & {*one.fields}) > 1)
    return next((f"; it is a {EVALUATORS[name].title} output: set --evaluator {name}" for name in is_of), "")


def shorten_id(id_: str) -> str:
    """Return an id of at most 200 characters: a long one is cut and ends in a digest."""
    return id_ if len(id_) <= _LONGEST_ID else f"{id_[:150]}-{_digest(id_)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def to_json_line(value: Any, *, ascii_only: bool = False) -> str:
    """Return a value as JSON on one line, as UTF-8 if possible and wanted."""
    text = json.dumps(value, ensure_ascii=ascii_only)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can only escape
        return json.dumps(value)
    return text


Keys = tuple[str | int, ...]
_decoder = json.JSONDecoder()


@dataclass(slots=True)
class Update:
    """The recorded replies by id, and the cases that they change. It is complete when all `lines` are read.

    After that `recorded` holds the entries whose ids no case has. `gone` are ids of cases without a recorded reply, and
    `unlike` those with another message than the recording, an error unless the update `is_lenient`. Of the changed
    cases, those with labels are `labelled`: the labels were given to the old reply. Those that are not valid any more,
    such as with marks that quote the old reply, are `unfit`.
    """

    request: Request
    recorded: dict[str, JsonObject]
    is_lenient: bool
    known: int = 0
    changed: int = 0
    gone: list[str] = field(default_factory=list)
    unlike: list[str] = field(default_factory=list)
    labelled: list[str] = field(default_factory=list)
    unfit: list[str] = field(default_factory=list)
    problems: Problems = field(default_factory=Problems)

    def lines(self, path: Path) -> Iterator[str]:
        """Yield the lines of a file with the recorded replies.

        Raises CannotJudge, at the latest at the end, with every problem of the file.
        """
        name, places = disk.display_path(path), dict[str, int]()
        try:
            with disk.open_regular(path) as file:
                for number, data in enumerate(disk.bounded_lines(file, disk.BOUNDS.line), 1):
                    try:
                        yield self._line(data, Place(name, number), places)
                    except CannotJudge as error:
                        for problem in error.problems:
                            self.problems.add(problem)
        except OSError as error:
            raise CannotJudge(disk.unreadable_problem(path, error)) from None
        except disk.TooLongError as error:
            raise CannotJudge(
                Problem(Place(name, error.line), disk.too_long_message(disk.BOUNDS.line, "disk.line"))
            ) from None
        if self.problems:
            raise CannotJudge(*self.problems.kept())
        if not self.known:
            words = "has none of the recorded ids; name their field: --map id=FIELD"
            raise CannotJudge(Problem(Place(name), words, code=Code.UNKNOWN_CASE))

    def _line(self, data: bytes, place: Place, places: dict[str, int]) -> str:
        """Return a line with its recorded replies. Raises CannotJudge."""
        text = disk.decode(data, place.path, place.line)
        bare = text.removeprefix("\ufeff") if place.line == 1 else text
        if not bare.strip():
            return text
        try:
            case = parse(bare)
        except JsonError as error:
            raise CannotJudge(disk.not_json_problem(error, place)) from None
        id_ = _valid_id(case, place, self.request)
        if (first := places.setdefault(id_, place.line)) != place.line:
            words = f"appears at line {first} too; expected ids that are unique"
            raise CannotJudge(Problem(place, words, id_, code=Code.DUPLICATE_ID))
        entry = self.recorded.pop(id_, None)
        if entry is None:
            self.gone.append(id_)
            return text
        old, new = replies_of_line(case), [reply for _, reply in replies_of_line(entry)]
        if prompt_of_line(case) != prompt_of_line(entry) or len(old) != len(new):
            self.unlike.append(id_)
            if self.is_lenient:
                return text
            words = "has another message than the recording has under this id; give the recording another id"
            raise CannotJudge(Problem(place, words, id_))
        self.known += 1
        other: dict[Keys, Any] = {
            path: reply for (path, before), reply in zip(old, new, strict=True) if before != reply
        }
        if not other:
            return text
        self.changed += 1
        changed = _replace_values(bare, other)
        if case.keys() & {"expected", "marks"}:
            self.labelled.append(id_)
        if any(True for _ in EVALUATORS[self.request.evaluator].faults(parse(changed))):
            self.unfit.append(id_)
        return text[: len(text) - len(bare)] + changed


def _valid_id(case: Any, place: Place, request: Request) -> str:
    """Return the id of a valid case or output. Raises CannotJudge."""
    id_ = case.get(request.key) if isinstance(case, dict) else None
    name = id_ if isinstance(id_, str) else ""
    if faults := checked.load_schema(request.makes.kind).faults(case):
        raise CannotJudge(*(Problem(place, one.message, name, one.field, one.text_free) for one in faults))
    return name


def _replace_values(line: str, values: dict[Keys, Any]) -> str:
    """Return a line of JSON with other values at some paths, escaped as the line is."""
    ascii_only = line.isascii() and "\\u" in line
    for path, start in reversed([one for one in offsets(line) if one[0] in values]):
        end = _decoder.raw_decode(line, start)[1]
        line = line[:start] + to_json_line(values[path], ascii_only=ascii_only) + line[end:]
    return line


def start_update(entries: Iterator[JsonObject], request: Request, *, is_lenient: bool) -> Update:
    """Return an update by imported entries, whose ids differ."""
    return Update(request, {entry[request.key]: entry for entry in entries}, is_lenient)
