"""The evaluators: each measures recorded outputs and shows what it measured; none judges.

A new evaluator is one folder here and one line in `EVALUATORS`; CONTRIBUTING says how its input is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from safe_gate.evaluators.safe_v0.section import section as _safe_v0
from safe_gate.evaluators.synthesis.section import section as _synthesis
from safe_gate.model import JsonObject, Section


class Evaluator(NamedTuple):
    """An evaluator's name for readers, and how its part of the report is shown to them."""

    title: str
    section: Callable[[JsonObject], Section]


EVALUATORS: Mapping[str, Evaluator] = {
    "safe_v0": Evaluator("SAFE v0", _safe_v0),
    "synthesis": Evaluator("Synthesis", _synthesis),
}
"""The evaluators by their keys in the report, in reading order."""


def sections(report: JsonObject) -> tuple[Section, ...]:
    """Return what a reader is shown of every evaluator that has a part in the report."""
    return tuple(evaluator.section(report[name]) for name, evaluator in EVALUATORS.items() if report[name] is not None)
