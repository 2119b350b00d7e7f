"""The Synthesis rules as `safe-gate rules` lists them. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator

from safe_gate.core.figures import plural
from safe_gate.evaluators.synthesis import packs
from safe_gate.evaluators.synthesis.checks.counting import ASKS
from safe_gate.evaluators.synthesis.checks.turn import Rules
from safe_gate.model.shown import Table
from safe_gate.model.untrusted import Untrusted


def listed(rules: Rules) -> Iterator[Table | str]:
    """Yield the checks, by the groups that they look for, and the rules that count: id, group and origin."""
    yield _checks(rules)
    shown = tuple(
        (Untrusted(rule.id), rule.group, _ORIGINS.get(rule.origin) or f"learned: {rule.inside} of {rule.total}")
        for rule in rules.all
    )
    yield Table(("Rule", "Group", "Origin"), "<<<", shown)
    yield f"{plural(len(shown), 'rule')}, {sum(rule.total > 0 for rule in rules.all)} of them learned"


def _checks(rules: Rules) -> Table:
    shown = tuple(
        (
            Untrusted(check.name),
            ", ".join(check.applies) or "every message",
            ", ".join(check.favour),
            ", ".join(check.against),
            ASKS.get(check.decides, "what docs/scoring.md says"),
        )
        for check in rules.checks.values()
    )
    return Table(("Check", "Applies to", "For", "Against", "Passes with"), "<<<<<", shown)


_ORIGINS = {"spec": "spec", "hand": "hand-written", "": "own"}


def own(recipe: str) -> list[packs.Pack]:
    """Return the packs of a team in a recipe."""
    _, found, *_ = json.loads(recipe)
    return list(found)
