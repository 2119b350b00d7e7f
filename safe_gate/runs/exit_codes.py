"""What commands exit with, and what they print if they cannot judge."""

from __future__ import annotations

from collections.abc import Sequence

from safe_gate.core.model import Problem, Verdict
from safe_gate.github.effects import Effects
from safe_gate.render import console

EXIT_CODES = {Verdict.PASS: 0, Verdict.FAIL: 1, Verdict.ERROR: 3}
"""What `run` exits with; `score` and `eval` have the codes of their specs."""


def complain(problems: Sequence[Problem], effects: Effects, verb: str = "judge") -> int:
    """Print all problems, because no report holds them, and what could not be done. Return the exit code for that."""
    effects.tell("problems", problems)
    effects.err(console.problems(problems, verb))
    return EXIT_CODES[Verdict.ERROR]
