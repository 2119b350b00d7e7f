"""`verify`: recompute reports from what they hold and from the files they name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from safe_gate import one_run
from safe_gate.commands._command import Call, complain
from safe_gate.core.command import Command
from safe_gate.core.model import CannotJudge, Problem
from safe_gate.core.report import Earlier, Report
from safe_gate.github.effects import Effects
from safe_gate.proof import verification
from safe_gate.proof.verification import Standing
from safe_gate.render import console
from safe_gate.settings.model import Settings

COMMAND = Command(
    place=12,
    summary="recompute reports from their contents and the files they name, and show differences",
    exit_codes="0 all match, 1 a report does not match, 3 a report could not be checked",
    arguments={
        "reports": {
            "nargs": "+",
            "metavar": "REPORT",
            "help": "reports of safe-gate run; start in the folder where they were made",
        }
    },
)

_EXIT_CODES = {Standing.DOES_NOT_HOLD: 1, Standing.NOT_CHECKED: 3, Standing.HOLDS: 0}
"""The possible results, the worst first."""


def main(call: Call) -> int:
    """Recompute the reports that the command line names. Returns 0, 1 or 3, the worst of them."""
    found, effects = set(), call.effects
    for path in call.arguments["reports"]:
        try:
            one = verification.verify(path, partial(_recomputed, effects=effects))
        except CannotJudge as error:
            complain(error.problems, effects)
            found.add(Standing.NOT_CHECKED)
            continue
        effects.out(console.table(one.digests))
        for remark in one.remarks:
            effects.out(console.words_of(remark))
        effects.out(f"{console.path_words(path)}: {one.standing} ({one.reason})")
        found.add(one.standing)
    return next(code for standing, code in _EXIT_CODES.items() if standing in found)


def _recomputed(
    options: Settings, generated_at: str, recorded: Earlier, effects: Effects
) -> tuple[Report, Sequence[Problem]]:
    """Return the report that a run at another time would have made."""
    at = effects._replace(generated_at=generated_at)
    judged = one_run.judge(options, at, lambda _: options, earlier=recorded)
    return judged.report, judged.problems
