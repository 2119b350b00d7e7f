"""`eval`: evaluate Synthesis cases alone (Synthesis spec)."""

from __future__ import annotations

from pathlib import Path

from safe_gate.commands._command import VERBOSE, Call, Command
from safe_gate.core.figures import plural
from safe_gate.evaluators import of_command
from safe_gate.inputs import writing
from safe_gate.render import console, jsonreport
from safe_gate.render.wording import section_alone
from safe_gate.runs.exit_codes import complain
from safe_gate.runs.workspace import keep_inputs, read_by
from safe_gate.scoring import asked, intake, measure, refusals, unknown_names

COMMAND = Command(
    place=4,
    summary="evaluate Synthesis cases alone",
    exit_codes="0 passed, 2 more unexpected failures than allowed, 3 error",
    arguments={
        "--out": {"default": "", "metavar": "PATH", "help": "write the JSON report to this file"},
        "--verbose": VERBOSE,
    },
)


def main(call: Call) -> int:
    """Evaluate the cases that the settings name. Returns 0, 2 or 3."""
    options, effects, out = call.options(), call.effects, call.arguments["out"]
    evaluator = of_command(call.command)
    if not getattr(options, evaluator.input.setting):
        return complain(
            (refusals.missing("--cases", "a JSONL file of Synthesis cases, such as --cases evals.jsonl"),), effects
        )
    measured = measure.part(evaluator, options, effects.generated_at)
    intake.tell_skipped(measured.skipped, evaluator.input.setting.replace("_", "-"), effects.err)
    is_selection = evaluator.input.setting in call.flags
    unknown = unknown_names.unknown_groups(options, {evaluator.name: measured}, is_selection=is_selection)
    problems = (*measured.problems, *unknown)
    if measured.part is None or problems:
        return complain(problems, effects)
    if out:
        keep_inputs("--out", out, read_by(options, out))
        writing.write(Path(out), jsonreport.pieces(measured.part))
    if not options.quiet:
        section = section_alone(evaluator.name, measured.part, asked.settings(options), len(measured.left_out))
        effects.out(console.scorecard(section, everything=call.arguments["verbose"]))
    if out and not options.quiet:
        effects.out(f"Report: {console.path_words(out)}")
    summary, allowed = measured.part["summary"], options.max_unexpected_failures
    failures, foreign, missing = (summary[key] for key in ("unexpected_failures", "not_english", "no_reply"))
    is_broken = allowed is not None and failures > allowed
    unread = f"; {plural(foreign, 'case')} not in English" if foreign else ""
    unread += f"; {plural(missing, 'case')} without a reply" if missing else ""
    limit = "any number" if allowed is None else allowed
    verdict = "FAIL" if is_broken else "PASS"
    effects.out(f"Eval: {verdict} ({plural(failures, 'unexpected failure')}, {limit} allowed{unread})")
    return 2 if is_broken else 0
