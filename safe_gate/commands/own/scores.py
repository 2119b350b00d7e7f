"""Runs commands that score the cases of one evaluator alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from safe_gate.commands._command import Call
from safe_gate.core.command import Scores
from safe_gate.core.evaluator import Evaluator
from safe_gate.core.model import JsonObject
from safe_gate.core.shown import Section
from safe_gate.inputs import writing
from safe_gate.publish.effects import Effects
from safe_gate.render import console, jsonreport
from safe_gate.render.wording import section_alone
from safe_gate.runs.exit_codes import complain
from safe_gate.runs.workspace import keep_inputs, read_by
from safe_gate.scoring import asked, intake, measure, refusals, unknown_names
from safe_gate.settings.model import Settings


def main(call: Call, evaluator: Evaluator, command: Scores) -> int:
    """Score the cases that the settings name, and show the scorecard. Returns an exit code of the command, or 3."""
    return score(call, evaluator, command, _show)


def score(call: Call, evaluator: Evaluator, command: Scores, show: Callable[..., None]) -> int:
    """Score the cases that the settings name, and `show` them, which writes `file`.

    Returns an exit code of the command, or 3.
    """
    options, effects, setting = call.options(), call.effects, evaluator.input.setting
    file = call.arguments[command.file.removeprefix("--")]
    if not options.value(setting):
        return complain((refusals.missing(*command.asks_for),), effects)
    measured = measure.part(evaluator, options, effects.generated_at, file)
    intake.report_skipped(measured.skipped, setting.replace("_", "-"), effects.err)
    unknown = unknown_names.unknown_groups(options, {evaluator.name: measured}, is_selection=setting in call.flags)
    problems = (*measured.problems, *unknown)
    if measured.part is None or problems:
        return complain(problems, effects)
    if file:
        keep_inputs(command.file, file, read_by(options, file))
    section = section_alone(evaluator.name, measured.part, asked.settings(options), len(measured.left_out))
    show(measured.part, section, options, effects, file=file, verbose=call.arguments["verbose"])
    own = dict(options.group(evaluator.name))
    exit_code, line = command.ending(measured.part, own)
    if line:
        effects.out(line)
    return exit_code


def _show(part: JsonObject, section: Section, options: Settings, effects: Effects, *, file: str, verbose: bool) -> None:
    if file:
        writing.write(Path(file), jsonreport.pieces(part))
    if options.quiet:
        return
    effects.out(console.scorecard(section, everything=verbose))
    if file:
        effects.out(f"Report: {console.path_words(file)}")
