"""`score`: score SAFE v0 batches alone (SAFE v0 spec section 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from safe_gate.commands._command import VERBOSE, Call, Command
from safe_gate.core.model import JsonObject
from safe_gate.core.shown import Section
from safe_gate.evaluators import of_command
from safe_gate.evaluators.safe_v0.metrics import Label
from safe_gate.inputs import disk, writing
from safe_gate.publish.effects import Effects
from safe_gate.render import console, jsonreport, markdown
from safe_gate.render.wording import section_alone
from safe_gate.runs.exit_codes import complain
from safe_gate.runs.workspace import keep_inputs, read_by
from safe_gate.scoring import asked, intake, measure, refusals, unknown_names

COMMAND = Command(
    place=3,
    summary="score SAFE v0 batches alone",
    exit_codes="0 all Pass, 1 a Fail, 2 no Fail but a Review, 3 error",
    arguments={
        "--output": {
            "default": "",
            "metavar": "PATH",
            "help": "write the report to this file; .json and .md choose its format",
        },
        "--verbose": VERBOSE,
    },
)

_FORMATS = {".json": "json", ".md": "markdown"}
"""The format of a report by its suffix."""


def main(call: Call) -> int:
    """Score the batches that the settings name. Returns 0, 1, 2 or 3."""
    options, effects, output = call.options(), call.effects, call.arguments["output"]
    evaluator = of_command(call.command)
    if not getattr(options, evaluator.input.setting):
        return complain(
            (refusals.missing("--batch", "a SAFE v0 batch file or glob, such as --batch 'I25_batch_*'"),), effects
        )
    measured = measure.part(evaluator, options, effects.generated_at, output)
    intake.tell_skipped(measured.skipped, evaluator.input.setting.replace("_", "-"), effects.err)
    is_selection = evaluator.input.setting in call.flags
    unknown = unknown_names.unknown_groups(options, {evaluator.name: measured}, is_selection=is_selection)
    problems = (*measured.problems, *unknown)
    if measured.part is None or problems:
        return complain(problems, effects)
    if output:
        keep_inputs("--output", output, read_by(options, output))
    section = section_alone(evaluator.name, measured.part, asked.settings(options), len(measured.left_out))
    _write_reports(
        measured.part,
        section,
        options.report_formats,
        options.report_dir,
        effects,
        output=output,
        verbose=call.arguments["verbose"],
    )
    labels = measured.part["label_distribution"]
    return 1 if labels[Label.FAIL] else 2 if labels[Label.REVIEW] else 0


def _write_reports(
    part: JsonObject,
    section: Section,
    wanted: Sequence[str],
    report_dir: str,
    effects: Effects,
    *,
    output: str,
    verbose: bool,
) -> None:
    """Write a SAFE v0 report in the formats of `wanted` (SAFE v0 spec sections 5 and 7.1).

    `output` names a file for one of them: the format that its name ends in, where that or the console's alone is
    asked for, else the first of JSON, Markdown and console that is.
    """
    formats = set(wanted)
    if "all" in formats:
        formats = {"json", "console", "markdown"}
    drawn: dict[str, Callable[[], str | Iterator[str]]] = {
        "json": lambda: jsonreport.pieces(part),
        "markdown": lambda: markdown.section_report(section),
        "console": lambda: console.scorecard(section, everything=verbose),
    }
    main, named = next(name for name in drawn if name in formats), _FORMATS.get(Path(output).suffix, "")
    if named in formats or (named and formats == {"console"}):
        main = named
    if output:
        formats.add(main)
    for name in sorted(formats):
        if output and name == main:
            path = Path(output)
        elif name == "console" or (name == "json" and formats == {"json"}):
            effects.out("".join(drawn[name]()).removesuffix("\n"))
            continue
        else:
            suffix = "md" if name == "markdown" else "json"
            path = Path(report_dir) / f"SAFE_v0_{_file_name(part)}.{suffix}"
        writing.write(path, drawn[name]())
        effects.out(f"Report: {console.path_words(disk.shown(path))}")


def _file_name(part: JsonObject) -> str:
    """Return `<concern>_<timestamp>` for a report's file; a concern id may hold anything."""
    concern = "".join(c if c.isascii() and (c.isalnum() or c in "-_,") else "_" for c in part["concern_id"])
    return f"{concern[:80]}_{part['generated_at'].replace('-', '').replace(':', '')}"
