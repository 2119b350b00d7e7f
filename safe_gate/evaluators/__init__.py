"""The evaluators: each measures recorded outputs and shows what it measured; none judges.

A new evaluator is one folder here and one line in `EVALUATORS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from safe_gate.evaluators.safe_v0.section import section as _safe_v0
from safe_gate.evaluators.synthesis.section import section as _synthesis
from safe_gate.model import JsonObject, Section

EVALUATORS: Mapping[str, Callable[[JsonObject], Section]] = {"safe_v0": _safe_v0, "synthesis": _synthesis}
"""How a reader is shown each evaluator's part of the report, by its key there, in reading order."""


def sections(report: JsonObject) -> tuple[Section, ...]:
    """Return what a reader is shown of every evaluator that has a part in the report."""
    return tuple(section(report[name]) for name, section in EVALUATORS.items() if report[name] is not None)
