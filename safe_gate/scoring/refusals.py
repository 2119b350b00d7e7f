"""Why a run cannot judge its cases, as problems."""

from __future__ import annotations

from collections.abc import Sequence

from safe_gate.core.model import Place, Problem
from safe_gate.evaluators import EVALUATORS
from safe_gate.settings.options import Options


def too_many_tags(most: int) -> Problem:
    """Return the problem of cases with more than `most` distinct tags, which the report would all hold."""
    words = f"the cases have more than {most} distinct tags; put what differs from case to case into a field x_..."
    return Problem(Place("max-tags"), f"{words}, or raise max-tags")


def nothing_to_judge() -> Problem:
    """Return the problem of a run without inputs."""
    inputs = [evaluator.input for evaluator in EVALUATORS.values()]
    named = " or ".join(one.setting.replace("_", "-") for one in inputs)
    return missing(named, f"the files to judge: {', '.join(one.plural for one in inputs)}")


def missing(what: str, expected: str) -> Problem:
    """Return the problem of a setting without which there is nothing to judge."""
    return Problem(Place(what), f"is not set, so there is nothing to judge; expected {expected}")


def as_shown(problems: Sequence[Problem], options: Options) -> tuple[Problem, ...]:
    """Return problems as they may be shown: with `text: none` they quote no recorded text."""
    return tuple(problems if options.text == "full" else (problem.without_texts() for problem in problems))
