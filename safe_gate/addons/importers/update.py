"""New replies for the cases of a file: `safe-gate import --update`. All else of the cases stays. Reads the file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

from safe_gate.addons.importers.entries import Request, prompt_of_line, replies_of_line, to_json_line
from safe_gate.core.jsontext import offsets, parse
from safe_gate.evaluators.registry import EVALUATORS
from safe_gate.inputs import checked, disk, recorded
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
        name, kind, places = disk.display_path(path), self.request.makes.kind, dict[str, Place]()
        if checked.is_columnar(path):
            raise CannotJudge.at(name, "is Parquet; expected a file of JSON lines")
        for part in recorded.read_file_parts(path, kind, disk.BOUNDS, recorded.PART_LINES):
            if isinstance(part, Problem):
                self.problems.add(part)
            elif isinstance(part, recorded.FilePart):
                cases = dict[int, JsonObject]()
                for found in recorded.parse_objects(part, kind):
                    if isinstance(found, Problem):
                        self.problems.add(found)
                    else:
                        cases[found[0].line] = found[1]
                for number, data in enumerate(BytesIO(part.data), part.first):
                    text = data.decode("utf-8", "replace")  # a line that is not UTF-8 is a problem
                    yield self._line(text, cases[number], Place(name, number), places) if number in cases else text
        if self.problems:
            raise CannotJudge(*self.problems.kept())
        if not self.known:
            words = "has none of the recorded ids; name their field: --map id=FIELD"
            raise CannotJudge(Problem(Place(name), words, code=Code.UNKNOWN_CASE))

    def _line(self, text: str, case: JsonObject, place: Place, places: dict[str, Place]) -> str:
        """Return the line of a case with its recorded replies."""
        id_ = case[self.request.key]
        if twice := recorded.check_duplicate(places, id_, place, self.request.key):
            self.problems.add(twice)
            return text
        entry = self.recorded.pop(id_, None)
        if entry is None:
            self.gone.append(id_)
            return text
        old, new = replies_of_line(case), [reply for _, reply in replies_of_line(entry)]
        if prompt_of_line(case) != prompt_of_line(entry) or len(old) != len(new):
            self.unlike.append(id_)
            if not self.is_lenient:
                words = "has another message than the recording has under this id; give the recording another id"
                self.problems.add(Problem(place, words, id_))
            return text
        self.known += 1
        other: dict[Keys, Any] = {
            path: reply for (path, before), reply in zip(old, new, strict=True) if before != reply
        }
        if not other:
            return text
        self.changed += 1
        bare = text.removeprefix("\ufeff")
        changed = _replace_values(bare, other)
        if case.keys() & {"expected", "marks"}:
            self.labelled.append(id_)
        if any(True for _ in EVALUATORS[self.request.evaluator].faults(parse(changed))):
            self.unfit.append(id_)
        return text[: len(text) - len(bare)] + changed


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
