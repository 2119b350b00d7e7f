"""`merge`: judge the shards of a run, and report and publish as one run would."""

from __future__ import annotations

from safe_gate import addons, one_run
from safe_gate.baseline.judging import OptionsAt
from safe_gate.commands._command import QUIET, Call, Command
from safe_gate.github.effects import Effects
from safe_gate.settings.model import Settings

COMMAND = Command(
    place=2,
    summary="judge the shards of a run as one run",
    exit_codes="0 the gate passed, 1 the gate failed, 3 could not judge, or a shard is missing",
    arguments={
        "shards": {
            "nargs": "*",
            "metavar": "SHARD",
            "help": "files or globs that safe-gate run --shard wrote; use the flags of that run",
        },
        "--quiet": QUIET,
    },
    judges=True,
    refuses_aloud=True,
    own_word="",
)


def main(call: Call) -> int:
    """Judge the shards that the command line names. Returns 0, 1 or 3."""
    return merged(*call.judging(), call.options_at)


def merged(options: Settings, effects: Effects, options_at: OptionsAt) -> int:
    """Judge the shards that the settings name. Returns 0, 1 or 3."""
    # The cases of shards are scored already, so no process or cluster is needed, not even for the baseline.
    options = options.replace(jobs="1")
    if problems := one_run.untrusted(options, effects):
        return one_run.refuse(problems, options, effects).report.verdict.exit_code
    return one_run.run(options, effects, options_at, addons.scale.shards.read(options.shards)).report.verdict.exit_code
