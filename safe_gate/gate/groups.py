"""Groups of cases that have rules of their own, such as archetypes and tags. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from safe_gate.core.model import JsonObject, Parts
from safe_gate.evaluators import EVALUATORS

Limits = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Limits by evaluator, by the group's name and by rule."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group with rules. `figures` are its figures in the evaluator's part of the report, None without cases."""

    evaluator: str
    name: str
    limits: Mapping[str, float]
    cases: int
    figures: Any

    def has(self, result: JsonObject) -> bool:
        """Return whether a case is in the group, by its entry of `results[]`."""
        return self.name in EVALUATORS[self.evaluator].grouping.groups_of(result)


def named(parts: Parts, limits: Limits) -> Iterator[Group]:
    """Yield the groups with limits of each evaluator that ran, by name."""
    for evaluator, facts in EVALUATORS.items():
        part = parts[evaluator]
        if part is None:
            continue
        for name, own in sorted(limits.get(evaluator, {}).items()):
            found = facts.grouping.figures(part).get(name)
            yield Group(evaluator, name, own, found.cases if found else 0, found)
