"""Runs commands that score the cases of one evaluator alone, and write its part in several formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from safe_gate.commands._command import Call
from safe_gate.commands.own.scores import score
from safe_gate.core.command import ScoresInFormats
from safe_gate.core.evaluator import Evaluator
from safe_gate.core.model import JsonObject
from safe_gate.core.shown import Section
from safe_gate.inputs import disk, writing
from safe_gate.publish.effects import Effects
from safe_gate.render import console, jsonreport, markdown
from safe_gate.runs.workspace import keep_inputs, read_by
from safe_gate.settings.model import Settings

_FORMATS = {".json": "json", ".md": "markdown"}
"""The format of a report by its suffix."""


def main(call: Call, evaluator: Evaluator, command: ScoresInFormats) -> int:
    """Score the cases that the settings name, and write reports. Returns an exit code of the command, or 3."""
    return score(call, evaluator, command, partial(_write, command))


def _write(
    command: ScoresInFormats,
    part: JsonObject,
    section: Section,
    options: Settings,
    effects: Effects,
    *,
    file: str,
    verbose: bool,
) -> None:
    """Write reports in the formats asked for.

    `file` is for one of them: the format that its name ends in, where that or the console's alone is
    asked for, else the first of JSON, Markdown and console that is.
    """
    formats = set(options.value(command.formats))
    if "all" in formats:
        formats = {"json", "console", "markdown"}
    drawn: dict[str, Callable[[], str | Iterator[str]]] = {
        "json": lambda: jsonreport.pieces(part),
        "markdown": lambda: markdown.section_report(section),
        "console": lambda: console.scorecard(section, everything=verbose),
    }
    kind, named = next(name for name in drawn if name in formats), _FORMATS.get(Path(file).suffix, "")
    if named in formats or (named and formats == {"console"}):
        kind = named
    if file:
        formats.add(kind)
    for name in sorted(formats):
        if file and name == kind:
            path = Path(file)
        elif name == "console" or (name == "json" and formats == {"json"}):
            effects.out("".join(drawn[name]()).removesuffix("\n"))
            continue
        else:
            suffix = "md" if name == "markdown" else "json"
            path = Path(options.report_dir) / f"{command.stem(part)}.{suffix}"
        keep_inputs("--report-dir", str(path), read_by(options, str(path)))
        writing.write(path, drawn[name]())
        effects.out(f"Report: {console.path_words(disk.shown(path))}")
