"""Synthesis cases, of lines that fit their schema. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from safe_gate.core.given import Misnamed
from safe_gate.core.model import JsonObject, Place, Problem
from safe_gate.core.setting import ALL
from safe_gate.core.validate import Fault, masked, quote, suggestion
from safe_gate.evaluators.synthesis.checks import SHIPPED
from safe_gate.evaluators.synthesis.names import CHECKS
from safe_gate.evaluators.synthesis.report import Totals
from safe_gate.evaluators.synthesis.score import Case
from safe_gate.evaluators.synthesis.turn import Rules


def case_of(value: JsonObject, place: Place, cluster: str) -> Case:
    """Return the case of a line."""
    return Case(
        id=value["id"],
        user=value["user"],
        assistant=value["assistant"],
        checks=tuple(value["checks"]),
        expected=value.get("expected", {}),
        tags=tuple(value.get("tags", ())),
        place=place,
        cluster=cluster,
        marks=value.get("marks", {}),
    )


def misquoted(case: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield a fault for each mark of a valid case that does not occur in its text."""
    for group, quotes in case.get("marks", {}).items():
        if group.startswith("x_"):
            continue
        field = "user" if group == "vulnerability" else "assistant"
        for number, words in enumerate(quotes):
            if words not in case[field]:
                end = f', which is not in "{field}"; expected words copied from it exactly'
                yield Fault(("marks", group, number), f"is {quote(words)}{end}", f"is {masked(words)}{end}")


def misnamed(settings: JsonObject, by: Callable[[], Rules]) -> Iterator[Misnamed]:
    """Yield the entries of `min_label_accuracy` that are no check: none that ships, and none of a team's packs."""
    named = (settings["min_label_accuracy"] or {}).keys() - {ALL, *CHECKS}
    known = (ALL, *CHECKS, *(name for name in by().checks if "/" in name)) if named else ()
    for name in sorted(named - {*known}):
        words = f"is no check{suggestion(name, known)}; expected {', '.join(known)}"
        yield Misnamed("min_label_accuracy", name, words)


def misfit(case: Case, rules: Rules) -> Problem:
    """Return the problem of a case that names a check which the rules do not have."""
    name = next(name for name in case.checks if name not in rules.checks)
    if name in SHIPPED:
        words = f"{quote(name)} is no check of the profile spec; take it out of the case, or set profile to standard"
    else:
        known = f"expected {', '.join(rules.checks)}, or a check that a pack of the setting rules defines"
        words = f"{quote(name)} is no check{suggestion(name, list(rules.checks))}; {known}"
    return Problem(case.place, words, case.id, "checks")


def unserved(total: Totals, rules: Rules) -> Iterator[Problem]:
    """Yield a problem for each check that cases ask for and no rule serves: nobody earned it."""
    looked = {rule.group for rule in rules.all}
    for name in dict.fromkeys(check for check, _ in total.verdicts):
        check = rules.checks[name]
        if looked.isdisjoint(check.applies or (*check.favour, *check.against)):
            asked = " or ".join(check.applies) or name  # a check that never applies always passes
            words = f"leave no rule of {asked} that counts, and cases ask for {name}"
            advice = "leave one, or take the check out of the cases"
            yield Problem(Place("rules-off and rule-weights"), f"{words}; {advice}")
