"""`merge`: judge the shards of a run, and report and publish as one run would."""

from __future__ import annotations

from safe_gate import addons, one_run, reporting
from safe_gate.commands._command import QUIET, Call, Command, texts

COMMAND = Command(
    place=2,
    summary="judge the shards of a run as one run",
    exit_codes="0 the gate passed, 1 the gate failed, 3 could not judge, or a shard is missing",
    arguments={
        "shards": texts("SHARD", "files or globs that safe-gate run --shard wrote; use the flags of that run"),
        "--quiet": QUIET,
    },
    judges=True,
    refuses_aloud=True,
)


def main(call: Call) -> int:
    """Judge the shards that the command line names. Returns 0, 1 or 3."""
    options, effects = call.options(), call.effects
    # The cases of shards are scored already, so no process or cluster is needed, not even for the baseline.
    options = options.replace(jobs="1")
    if problems := reporting.untrusted_checkout(options, effects):
        return reporting.report_refusal(problems, options, effects).report.verdict.exit_code
    shards = addons.scale.shards.read_shards(options.shards)
    return one_run.run(options, effects, call.options_at, shards).report.verdict.exit_code
