"""The evaluators that there are: those that ship, and those of installed packages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from safe_gate.core.digests import stand_in
from safe_gate.core.evaluator import Evaluator
from safe_gate.core.lazy import Lookup, View
from safe_gate.core.model import JsonObject, Outcome, Parts, entries_of
from safe_gate.core.shown import Section
from safe_gate.evaluators.installed import installed
from safe_gate.evaluators.safe_v0.evaluator import SafeV0
from safe_gate.evaluators.synthesis.evaluator import Synthesis

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


def outcomes_of(name: str, part: JsonObject | None) -> Iterator[Outcome]:
    """Yield the outcome of each case in an evaluator's part of the report, if any, for a comparison."""
    entries = entries_of(part) if part else ()
    return (EVALUATORS[name].outcome(entry) for entry in entries)  # `map` would end at a StopIteration


def sections(parts: Parts) -> tuple[Section, ...]:
    """Return the section for readers of every evaluator with a part in the report."""
    return tuple(evaluator.section(part) for evaluator, part in parts_of(parts))


def without_texts(name: str, part: JsonObject) -> dict[str, Any]:
    """Return an evaluator's part of the report with a stand-in for every recorded text."""
    evaluator = EVALUATORS[name]

    def strip(value: Any, *, is_text: bool = False) -> Any:
        if isinstance(value, Lookup):
            return Lookup(value, lambda key: strip(value[key]))
        if isinstance(value, Mapping):
            return {key: strip(inner, is_text=key in evaluator.part.quotes) for key, inner in value.items()}
        if isinstance(value, View):
            return View(lambda: map(strip, value))
        if isinstance(value, list):
            return [strip(inner, is_text=is_text) for inner in value]
        return stand_in(value) if is_text and isinstance(value, str) else value

    stripped: dict[str, Any] = strip(part)
    return stripped
