"""`run`: evaluate, judge, write reports and publish them: the action's entry point."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from safe_gate import addons, one_run, reporting
from safe_gate.baseline.source import OptionsAt
from safe_gate.commands._command import JSON, QUIET, SHARD, Call, Command
from safe_gate.core import jsontext
from safe_gate.core.figures import plural
from safe_gate.evaluators.registry import EVALUATORS
from safe_gate.gate.stored import report_json, streamed
from safe_gate.github import Effects
from safe_gate.inputs import disk
from safe_gate.model.problems import CannotJudge
from safe_gate.render import console
from safe_gate.settings import Settings

COMMAND = Command(
    place=1,
    summary="evaluate, judge by the gate's rules, write reports and publish them",
    exit_codes="0 the gate passed, 1 the gate failed, 3 could not judge",
    arguments={"--shard": SHARD, "--quiet": QUIET, "--json": JSON},
    judges=True,
    refuses_aloud=True,
)


def main(call: Call) -> int:
    """Run the gate, or score a shard. Returns 0, 1 or 3."""
    options, effects = call.options(), call.effects
    if problems := reporting.untrusted_checkout(options, effects):
        return reporting.report_refusal(problems, options, effects).report.verdict.exit_code
    if options.shard:
        return _score_shard(addons.scale.Shard.parse(options.shard), options, effects, call.options_at)
    return one_run.run(options, effects, call.options_at).report.verdict.exit_code


def _score_shard(shard: addons.scale.Shard, options: Settings, effects: Effects, options_at: OptionsAt) -> int:
    """Score the cases of one shard and write its file, which has no verdict. Returns 0, or 3 with problems."""
    path = Path(options.report_dir) / shard.name
    reports = {path: lambda shown: jsontext.pieces(report_json(shown.report, streamed))}
    begin = partial(reporting.begin, options, effects, reports)
    content = one_run.score_shard(shard, options, effects, options_at, begin)
    if isinstance(content, reporting.Judged):
        disk.write_or_remove(path, jsontext.to_json(report_json(content.report)))  # which `merge` does not accept
        concluded = reporting.conclude(content, options, effects, reporting.unread_reports_of(options))
        return concluded.report.verdict.exit_code
    disk.write(path, jsontext.pieces(content.to_json()))
    if words := disk.too_long(path):
        raise CannotJudge.at(disk.display_path(path), words)  # not only the job that merges finds it
    effects.tell("reports", [disk.display_path(path)])
    cases = " and ".join(
        f"{len(content.results[name])} of {plural(number, f'{EVALUATORS[name].title} case')}"
        for name, number in content.cases.items()
    )
    said = f"Shard {shard.index} of {shard.of}: {cases} scored. Nothing is judged yet: run safe-gate merge."
    effects.out(f"{said}\nShard: {console.path_text(disk.display_path(path))}")
    from safe_gate.github import publishing  # a run of all cases loads it where it publishes

    publishing.publish_shard(said, disk.display_path(path), options, effects)
    return 0
