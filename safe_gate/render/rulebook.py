"""The Synthesis rules and what marked cases teach, as `safe-gate rules` shows them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from safe_gate.core.figures import plural, with_interval
from safe_gate.core.model import Untrusted
from safe_gate.core.shown import Table
from safe_gate.core.stats import wilson
from safe_gate.evaluators.synthesis.counting import ASKS

if TYPE_CHECKING:
    from safe_gate.evaluators.synthesis.gain import Gain
    from safe_gate.evaluators.synthesis.learning import Row
    from safe_gate.evaluators.synthesis.rules import Rule
    from safe_gate.evaluators.synthesis.turn import Rules
from safe_gate.render import tables


def rule_list(rules: Rules) -> str:
    """Return the checks, by the groups that they look for, and the rules that count: id, group and origin."""
    return f"{_checks(rules)}\n{_rules(rules)}"


def _checks(rules: Rules) -> str:
    rows = tuple(
        (
            Untrusted(check.name),
            ", ".join(check.applies) or "every message",
            ", ".join(check.favour),
            ", ".join(check.against),
            ASKS.get(check.decides, "what docs/scoring.md says"),
        )
        for check in rules.checks.values()
    )
    table = Table(("Check", "Applies to", "For", "Against", "Passes with"), "<<<<<", rows)
    return tables.drawn(table, "simple_outline")


def _rules(rules: Rules) -> str:
    rows = tuple((Untrusted(rule.id), rule.group, _ORIGINS.get(rule.origin) or _learned(rule)) for rule in rules.all)
    learned = sum(rule.total > 0 for rule in rules.all)
    table = Table(("Rule", "Group", "Origin"), "<<<", rows)
    return f"{tables.drawn(table, 'simple_outline')}\n{plural(len(rows), 'rule')}, {learned} of them learned"


_ORIGINS = {"spec": "spec", "hand": "hand-written", "": "own"}


def _learned(rule: Rule) -> str:
    return f"learned: {rule.inside} of {rule.total}"


def lesson(rows: Sequence[Row], found: Sequence[Gain]) -> str:
    """Return the rows that were learned, with their counts, and what they gain each check."""
    shown = tuple(
        (Untrusted(row.phrase + " ?" * row.question), row.group, f"{row.inside} of {row.total}") for row in rows
    )
    table = tables.drawn(Table(("Phrase", "Group", "Clauses"), "<<>", shown), "simple_outline") + "\n" if rows else ""
    count = f"{plural(len(rows), 'row')} learned"
    return f"{table}{count}\n{gains(found)}" if found else f"{table}{count}"


def gains(found: Sequence[Gain]) -> str:
    """Return what learning gains each check, on labels left out, and in words whether that is worth anything."""
    rows = tuple(
        (
            gain.check,
            str(gain.labels),
            with_interval(gain.before / gain.labels, *wilson(gain.before, gain.labels)),
            with_interval(gain.after / gain.labels, *wilson(gain.after, gain.labels)),
            f"{100 * (gain.after - gain.before) / gain.labels:+.1f}",
            str(gain.corrected),
            str(gain.spoiled),
            _worth(gain),
        )
        for gain in found
    )
    header = ("Check", "Labels", "Before", "After", "Gain", "Fixed", "Broken", "Worth")
    notes = (
        "Before: labels that agree with today's rules. After: with the rows that the other cases teach, which never",
        "saw the labels they are measured on. In brackets: 95 % Wilson intervals.",
    )
    return "\n".join((tables.drawn(Table(header, "<>>>>>><", rows), "simple_outline"), *notes))


def _worth(gain: Gain) -> str:
    if gain.after <= gain.before:
        return "no gain: do not use these rows"
    return "gain" if gain.is_beyond_chance else "may be chance: label more cases"
