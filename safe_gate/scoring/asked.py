"""What the settings ask the evaluators to score, and by what."""

from __future__ import annotations

from typing import Any

from safe_gate.core.evaluator import Evaluator
from safe_gate.evaluators import EVALUATORS
from safe_gate.settings.options import Options

SCORING = (*(name for evaluator in EVALUATORS.values() for name in evaluator.scoring), "cluster_key", "text")
"""The options that the evaluators' parts follow from, and what groups are judged by; not those that name files."""


def given(options: Options) -> list[Evaluator]:
    """Return the evaluators that options name input files of, in reading order."""
    return [one for one in EVALUATORS.values() if getattr(options, one.input.setting)]


def settings(options: Options) -> dict[str, Any]:
    """Return the options of `SCORING` as a report has them."""
    values = {name: getattr(options, name) for name in SCORING}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
