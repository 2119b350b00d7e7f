"""What the commands share that score the cases of one evaluator alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from safe_gate.commands import Module
from safe_gate.commands._command import OUT, VERBOSE, Call, Command
from safe_gate.core import jsontext
from safe_gate.core.evaluator import Evaluator
from safe_gate.gate.stored import part_json, streamed
from safe_gate.inputs import disk
from safe_gate.inputs.case_files import input_paths, refuse_to_overwrite
from safe_gate.model.problems import CannotJudge
from safe_gate.model.results import Section
from safe_gate.render import console
from safe_gate.render.view import section_alone
from safe_gate.scoring import measure, sides
from safe_gate.settings import Settings


class Scored(NamedTuple):
    """The cases of one evaluator: its part of a report, what readers see of it, and the settings."""

    part: Any
    section: Section
    options: Settings


def score(call: Call, evaluator: Evaluator, flag: str, cases: str, file: str = "--out") -> Scored:
    """Score the cases that the settings name.

    `flag` names them, `cases` are words for its value. `file` is the flag of the file for the part. Raises CannotJudge.
    """
    options, effects, setting = call.options(), call.effects, evaluator.input.setting
    if not options.value(setting):
        raise CannotJudge(sides.missing_setting_problem(flag, cases))
    side = sides.take_snapshot(options)
    measured = measure.measure_part(evaluator, side, effects.generated_at)
    sides.report_skipped(measured.skipped, setting.replace("_", "-"), effects.err)
    unknown = sides.unknown_groups(side, {evaluator.name: measured}, is_selection=setting in call.flags)
    problems = (*measured.problems, *unknown)
    if measured.part is None or problems:
        raise CannotJudge(*problems)
    if path := call.arguments[file.removeprefix("--")]:
        refuse_to_overwrite(file, path, input_paths(options))
    section = section_alone(evaluator.name, measured.part, sides.scoring_settings(options), len(measured.left_out))
    return Scored(measured.part, section, options)


def show(call: Call, scored: Scored) -> None:
    """Print the scorecard, and write the part to the file of `--out`."""
    file, out = call.arguments["out"], call.effects.out
    if file:
        disk.write(Path(file), jsontext.pieces(part_json(scored.part, streamed)))
    if not scored.options.quiet:
        out(console.scorecard(scored.section, everything=call.arguments["verbose"]))
        if file:
            out(f"Report: {console.path_text(file)}")


def of_installed(evaluator: Evaluator) -> Module:
    """Return the command of an installed evaluator, which scores its cases: 0 if all pass, 1 if not, or 3."""
    command = Command(
        place=30,
        summary=f"check {evaluator.title} outputs alone",
        exit_codes="0 all pass, 1 a case fails, 3 error",
        arguments={"--out": OUT, "--verbose": VERBOSE},
    )
    flag = f"--{evaluator.input.setting.replace('_', '-')}"

    def main(call: Call) -> int:
        show(call, scored := score(call, evaluator, flag, f"a file of {evaluator.input.plural}"))
        return int(any(evaluator.gate.failures(scored.part)))

    return Module(command, main)
