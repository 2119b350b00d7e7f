"""New replies for the cases of a file: `safe-gate import --update`. All else of the cases stays. Reads the file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safe_gate.addons.importers.entries import Request, prompt_of_line, replies_of_line, to_json_line
from safe_gate.core.jsontext import JsonError, offsets, parse
from safe_gate.evaluators.registry import EVALUATORS
from safe_gate.inputs import checked, disk
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Code, Place, Problem, Problems

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
