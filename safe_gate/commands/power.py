"""`power`: show what a comparison of some number of cases can detect, or of the cases that a run would read."""

from __future__ import annotations

import re

from safe_gate.commands._command import Call, Command, complain
from safe_gate.model.problems import CannotJudge, Code, Place, Problem
from safe_gate.render.power import foresight
from safe_gate.scoring import intake

_MOST_CASES = 1_000_000  # more would take long to compute

COMMAND = Command(
    place=8,
    summary="show what a comparison of N cases can detect: the smallest drop, and how often it fails by chance",
    exit_codes="0 shown, 3 no cases to count or error",
    arguments={
        "cases": {
            "nargs": "?",
            "metavar": "N",
            "help": "number of cases; default: the cases that a run would read",
        }
    },
    own_word="[0-9]+",
)


def main(call: Call) -> int:
    """Show what a number of cases can detect. Returns 0 or 3."""
    options, cases = call.options(), _count(call.arguments["cases"])
    counts, problems = ({"": cases}, ()) if cases else intake.case_counts(options)
    if not counts:
        expected = "a number of cases, such as safe-gate power 100, or the files of a run"
        problems = (
            Problem(Place("safe-gate power"), f"has no cases to count; expected {expected}", code=Code.NO_INPUT),
        )
    if problems:
        return complain(problems, call.effects)
    grouped = bool(options.cluster_key) and not cases
    call.effects.out(foresight(counts, options.alpha, options.min_drop, options.max_regressions, grouped=grouped))
    return 0


def _count(word: str | None) -> int | None:
    """Return how many cases the command line names, None if it names none."""
    if word is None:
        return None
    if not (re.fullmatch(r"[0-9]{1,7}", word) and 1 <= int(word) <= _MOST_CASES):
        raise CannotJudge(
            Problem(
                Place("safe-gate power"), f"{word!r} is not a number of cases from 1 to {_MOST_CASES}", code=Code.USAGE
            )
        )
    return int(word)
