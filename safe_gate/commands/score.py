"""`score`: scores SAFE v0 batches alone, and writes their part in several formats (SAFE v0 spec section 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from safe_gate.commands._alone import score
from safe_gate.commands._command import VERBOSE, Call, Command, text
from safe_gate.core import jsontext
from safe_gate.evaluators.registry import EVALUATORS
from safe_gate.evaluators.safe_v0.result import Label, Part
from safe_gate.gate.stored import part_json, streamed
from safe_gate.inputs import disk
from safe_gate.inputs.case_files import input_paths, refuse_to_overwrite
from safe_gate.model.results import Section
from safe_gate.render import console, markdown
from safe_gate.settings import Settings

COMMAND = Command(
    place=3,
    summary="score SAFE v0 batches only, without the rules of the gate",
    exit_codes="0 all Pass, 1 a Fail, 2 no Fail but a Review, 3 error",
    arguments={
        "--output": text("PATH", "write the report to this file; .json and .md choose its format"),
        "--verbose": VERBOSE,
    },
)

_BATCH = "--batch", "a SAFE v0 batch file or glob, such as --batch 'I25_batch_*'"
_FORMATS = {".json": "json", ".md": "markdown"}  # of a report, by its suffix


def main(call: Call) -> int:
    """Score the cases that the settings name, and write reports. Returns 0 to 3."""
    return score(call, EVALUATORS["safe_v0"], _BATCH, _ending, _write, "--output")


def _ending(part: Part, _settings: Mapping[str, Any]) -> tuple[int, str]:
    """Return 1 for a Fail, 2 for a Review without a Fail, 0 if all cases pass."""
    labels = part.rates.labels
    return (1 if labels[Label.FAIL] else 2 if labels[Label.REVIEW] else 0), ""


def _write(call: Call, part: Part, section: Section, options: Settings) -> None:
    """Write reports in the formats asked for.

    `--output` is for one of them: the format that its name ends in, where that or the console's alone is
    asked for, else the first of JSON, Markdown and console that is.
    """
    file, out = call.arguments["output"], call.effects.out
    formats = set(options.value("report_formats"))
    if "all" in formats:
        formats = {"json", "console", "markdown"}
    drawn: dict[str, Callable[[], str | Iterator[str]]] = {
        "json": lambda: jsontext.pieces(part_json(part, streamed)),
        "markdown": lambda: markdown.section_report(section),
        "console": lambda: console.scorecard(section, everything=call.arguments["verbose"]),
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
            out("".join(drawn[name]()).removesuffix("\n"))
            continue
        else:
            suffix = "md" if name == "markdown" else "json"
            path = Path(options.report_dir) / f"{_stem(part)}.{suffix}"
        refuse_to_overwrite("--report-dir", str(path), input_paths(options))
        disk.write(path, drawn[name]())
        out(f"Report: {console.path_text(disk.display_path(path))}")


def _stem(part: Part) -> str:
    """Return `SAFE_v0_<concern>_<timestamp>`; a concern id may hold anything."""
    concern = "".join(c if c.isascii() and (c.isalnum() or c in "-_,") else "_" for c in part.concern_id)
    return f"SAFE_v0_{concern[:80]}_{part.generated_at.replace('-', '').replace(':', '')}"
