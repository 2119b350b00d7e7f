"""`publish`: post what a run without write access left behind."""

from __future__ import annotations

from safe_gate.commands._command import Call, Command, complain
from safe_gate.github import publishing
from safe_gate.model.problems import CannotJudge

COMMAND = Command(
    place=15,
    summary="post the comment of a run that had no write access, from a trusted workflow_run",
    exit_codes="0 posted, shown, or nothing to post, 3 the comment could not be posted",
    meanings={
        "report_dir": "The folder with the result of the run.",
        "dry_run": "Print the comment instead of posting it.",
    },
    refuses_aloud=True,
)


def main(call: Call) -> int:
    """Post the result in the folder that the command line names. Returns 0 if nothing is left to post, 3 if not."""
    wanted = call.options()
    try:
        return 0 if publishing.publish_hand_over(wanted, call.effects) else 3
    except CannotJudge as error:
        return complain(error.problems, call.effects)
