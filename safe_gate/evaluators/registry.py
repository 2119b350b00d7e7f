"""The evaluators that there are: those that ship, and those of installed packages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from safe_gate.core.evaluator import Evaluator
from safe_gate.evaluators.installed import installed
from safe_gate.evaluators.safe_v0.evaluator import SafeV0
from safe_gate.evaluators.synthesis.evaluator import Synthesis
from safe_gate.model.report import Parts
from safe_gate.model.results import Outcome
from safe_gate.model.shown import Section

BUILT_IN: Mapping[str, Evaluator] = {one.name: one for one in (SafeV0(), Synthesis())}
"""The evaluators that ship, which every report has a key for."""

T = TypeVar("T")

_INSTALLED, PROBLEMS = installed(BUILT_IN)
EVALUATORS: Mapping[str, Evaluator] = {**BUILT_IN, **_INSTALLED}
"""The evaluators by their keys in the report, in reading order: those that ship, and those of installed packages.

`PROBLEMS` says of others why they cannot be used; settings are not read then.
"""


def present(parts: Mapping[str, object]) -> list[str]:
    """Return the evaluators that have a part in a report or a comparison, in reading order."""
    return [name for name in EVALUATORS if parts[name] is not None]


def parts_of(parts: Mapping[str, T | None]) -> Iterator[tuple[Evaluator, T]]:
    """Yield the evaluators that have a part in a report or a comparison, each with its part, in reading order."""
    for name, evaluator in EVALUATORS.items():
        if (part := parts[name]) is not None:
            yield evaluator, part


def outcomes_of(name: str, part: Any) -> Iterator[Outcome]:
    """Yield the outcome of each case in an evaluator's part of the report, if any, for a comparison."""
    outcome = EVALUATORS[name].compare.outcome
    return (outcome(result) for result in results_of(part))  # `map` would end at a StopIteration


def sections(parts: Parts) -> tuple[Section, ...]:
    """Return the section for readers of every evaluator with a part in the report."""
    return tuple(evaluator.present.section(part) for evaluator, part in parts_of(parts))


def results_of(part: Any) -> Sequence[Any]:
    """Return the results in an evaluator's part of a report, none without a part."""
    return part.results if part else ()
