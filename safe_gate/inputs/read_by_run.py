"""The files of the working folder that a run reads: which they are, and which reports would replace them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from safe_gate.core.given import Documents
from safe_gate.evaluators import EVALUATORS
from safe_gate.inputs import disk
from safe_gate.inputs.finding import case_files, expansion
from safe_gate.model.problems import CannotJudge, Code, Place, Problem
from safe_gate.settings.model import WAIVERS_FILE, Settings, config_paths


def read_by(options: Settings, output: str = "") -> Iterator[Path]:
    """Yield the working folder and the files that a run would read, and where outputs may lie beside documents.

    A report of `output` among the documents is none of them.
    """
    settings = (*config_paths(options.config), options.waivers or WAIVERS_FILE)
    yield from (Path(one) for one in ("", *settings, options.baseline))
    yield from expansion.expand(options.shards)[0]
    for one in EVALUATORS.values():
        if isinstance(one.input, Documents):
            for path in case_files.expanded(case_files.of(one, options), output).paths:
                yield from (path, case_files.outputs_beside(path))
    documented = {one.input.setting for one in EVALUATORS.values() if isinstance(one.input, Documents)}
    for setting, suffix in case_files.settings():
        if setting not in documented:
            yield from expansion.expand(options.value(setting), suffix)[0]


def replaced(reports: Iterable[Path], *readers: Settings) -> list[Path]:
    """Return the reports that would take the place of files that runs under some options read.

    A baseline counts even if it is missing: the next run would be compared with this one.
    """
    found = []
    for path in reports:
        read = [Path(one.baseline) for one in readers]
        if disk.exists(path):
            read += [file for one in readers for file in read_by(one, str(path))]
        if disk.is_among(path, read):
            found.append(path)
    return found


def keep_inputs(flag: str, path: str, read: Iterable[Path]) -> None:
    """Raise CannotJudge for a report that would take the place of a file that is read."""
    if disk.is_among(path, read):
        words = f"names {path}, which this run reads, and must not replace; name another file"
        raise CannotJudge(Problem(Place(flag), words, code=Code.USAGE))
