"""`score`: scores SAFE v0 batches alone, and writes their part in several formats (SAFE v0 spec section 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from safe_gate.commands._alone import score
from safe_gate.commands._command import VERBOSE, Call, Command, text
from safe_gate.core import jsontext
from safe_gate.evaluators.registry import EVALUATORS
from safe_gate.evaluators.safe_v0.result import Label, Part
from safe_gate.gate.stored import part_json, streamed
from safe_gate.inputs import disk
from safe_gate.inputs.case_files import input_paths, refuse_to_overwrite
from safe_gate.render import console, markdown

COMMAND = Command(
    place=3,
    summary="score SAFE v0 batches only, without the rules of the gate",
    exit_codes="0 all Pass, 1 a Fail, 2 no Fail but a Review, 3 error",
    arguments={
        "--output": text("PATH", "write the report to this file; .json and .md choose its format"),
        "--verbose": VERBOSE,
    },
)

_FORMATS = {"json": ".json", "markdown": ".md", "console": ""}
"""The formats of a report, each with the suffix of its file. The first that is asked for is that of `--output`."""


def main(call: Call) -> int:
    """Score the cases that the settings name, and write reports. Returns 1 for a Fail, 2 for a Review alone, 0, or 3.

    `--output` is for one of the formats asked for: the one that its name ends in, also where the console's alone is
    asked for, else the first of them.
    """
    batch = "a SAFE v0 batch file or glob, such as --batch 'I25_batch_*'"
    part, section, options = score(call, EVALUATORS["safe_v0"], "--batch", batch, "--output")
    file, out, asked = call.arguments["output"], call.effects.out, options.value("report_formats")
    formats = [name for name in _FORMATS if name in asked or "all" in asked]
    drawn: dict[str, Callable[[], str | Iterator[str]]] = {
        "json": lambda: jsontext.pieces(part_json(part, streamed)),
        "markdown": lambda: markdown.section_report(section),
        "console": lambda: console.scorecard(section, everything=call.arguments["verbose"]),
    }
    named = next((name for name, suffix in _FORMATS.items() if suffix and suffix == Path(file).suffix), "")
    of_file = named if named in formats or (named and formats == ["console"]) else formats[0]
    for name in sorted({*formats, *([of_file] if file else [])}):
        if file and name == of_file:
            path = Path(file)
        elif name == "console" or formats == ["json"]:
            out("".join(drawn[name]()).removesuffix("\n"))
            continue
        else:
            path = Path(options.report_dir) / f"{_stem(part)}{_FORMATS[name]}"
        refuse_to_overwrite("--report-dir", str(path), input_paths(options))
        disk.write(path, drawn[name]())
        out(f"Report: {console.path_text(disk.display_path(path))}")
    labels = part.rates.labels
    return 1 if labels[Label.FAIL] else 2 if labels[Label.REVIEW] else 0


def _stem(part: Part) -> str:
    """Return `SAFE_v0_<concern>_<timestamp>`; a concern id may hold anything."""
    concern = "".join(c if c.isascii() and (c.isalnum() or c in "-_,") else "_" for c in part.concern_id)
    return f"SAFE_v0_{concern[:80]}_{part.generated_at.replace('-', '').replace(':', '')}"
