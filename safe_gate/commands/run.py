"""`run`: evaluate, judge, write reports and publish them: the action's entry point."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from safe_gate import addons
from safe_gate.baseline import comparison
from safe_gate.commands import merge, publish
from safe_gate.commands._command import Call
from safe_gate.core.command import JSON, Command
from safe_gate.core.figures import plural
from safe_gate.core.model import Verdict
from safe_gate.evaluators import EVALUATORS
from safe_gate.github import publishing
from safe_gate.github.effects import Effects
from safe_gate.inputs import disk, writing
from safe_gate.render import console, jsonreport
from safe_gate.runs import pipeline
from safe_gate.runs.conclusion import concluded, judged, refuse, unfinished
from safe_gate.runs.exit_codes import EXIT_CODES
from safe_gate.runs.workspace import untrusted
from safe_gate.settings.destinations import Publishing
from safe_gate.settings.model import Settings

COMMAND = Command(
    place=1,
    summary="evaluate, judge by the gate's rules, write reports and publish them",
    exit_codes="0 the gate passed, 1 the gate failed, 3 could not judge",
    arguments={"--json": JSON},
    judges=True,
    refuses_aloud=True,
)


def main(call: Call) -> int:
    """Run, merge or publish, by the setting `mode`. Returns 0, 1 or 3."""
    options, effects = call.judging()
    if options.mode == "publish":
        return publish.published(Publishing.of(options), effects)
    if options.mode == "merge":
        return merge.merged(options, effects, call.options_at)
    if problems := untrusted(options, effects):
        return refuse(problems, options, effects)
    if options.shard:
        return _score_shard(addons.scale.Shard.named(options.shard), options, effects, call.options_at)
    return judged(options, effects, call.options_at)


def _score_shard(
    shard: addons.scale.Shard, options: Settings, effects: Effects, options_at: comparison.OptionsAt
) -> int:
    """Score the cases of one shard and write its file, which has no verdict. Returns 0, or 3 with problems."""
    path = Path(options.report_dir) / shard.name
    begin = partial(
        unfinished, options=options, effects=effects, drawn={path: lambda run: jsonreport.pieces(run.report.to_json())}
    )
    content = pipeline.scored(options, effects, options_at, shard, begin)
    if isinstance(content, pipeline.Made):
        writing.write_or_remove(path, jsonreport.to_json(content.report.to_json()))  # which `merge` does not accept
        report, _ = concluded(content.report, content.problems, options, effects)
        return EXIT_CODES[report.verdict]
    writing.write(path, jsonreport.shard_pieces(content.to_json()))
    cases = " and ".join(
        f"{len(content.entries[name])} of {plural(number, f'{EVALUATORS[name].title} case')}"
        for name, number in content.cases.items()
    )
    said = f"Shard {shard.index} of {shard.of}: {cases} scored. Nothing is judged yet: run safe-gate merge."
    effects.out(f"{said}\nShard: {console.path_words(disk.shown(path))}")
    publishing.publish_shard(said, disk.shown(path), Publishing.of(options), effects)
    return EXIT_CODES[Verdict.PASS]
