"""The names of the shipped checks, and of the groups of hits that they count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from safe_gate.evaluators.synthesis.checks.shipped import MESSAGE, SHIPPED

CHECKS: tuple[str, ...] = tuple(SHIPPED)
"""The shipped checks by the name cases use, in the order of the report."""

FIELDS = ("user", "assistant")
"""The recorded texts of a turn."""

LATE = frozenset(group for data in SHIPPED.values() if "opt_in" in data for group in data["groups"])
"""The groups of checks that are opt-in."""

DEFAULT_CHECKS = ("unverifiable_reassurance", "topic_pivot")
"""The checks of a reply for which none are named: seven of eight ordinary replies fail `agency_language`."""


OWN = "[a-z0-9]+(?:-[a-z0-9]+)*/[a-z0-9]+(?:-[a-z0-9]+)*"
"""The form of the names of a team's own checks, as a regular expression."""

WORDING = "wording"
"""The check that runs if a case or one of its tags says what the reply must or must not contain."""

KINDS = ("must_contain", "must_contain_any", "must_not_contain")
"""The fields of a case, and of a tag's settings, that say so."""

REPORTED = (*CHECKS, WORDING)
"""The checks that need no pack of a team, in the order of the report."""


def in_order(checks: Iterable[str]) -> list[str]:
    """Return checks in the order of the report: those that ship, then a team's own by name."""
    return sorted(checks, key=lambda name: (REPORTED.index(name) if name in REPORTED else len(REPORTED), name))


def wording_of_tags(tags: Mapping[str, Mapping[str, Any]] | None) -> dict[str, dict[str, Any]]:
    """Return what of the setting `tags` asks for words, by tag."""
    own = {tag: {kind: limits[kind] for kind in KINDS if kind in limits} for tag, limits in (tags or {}).items()}
    return {tag: kinds for tag, kinds in own.items() if kinds}


def title(check: str) -> str:
    """Return a check as readers see it; a team's own keeps its name.

    >>> title("topic_pivot"), title("acme/no-discounts")
    ('Topic pivot', 'acme/no-discounts')
    """
    return check if "/" in check else check.replace("_", " ").capitalize()


def words(check: str) -> str:
    """Return a check as it is written inside a sentence."""
    return check if "/" in check else check.replace("_", " ")


GROUPS: Mapping[str, tuple[str, str]] = {
    group: (check, field)
    for check, groups in (*((check, data["groups"]) for check, data in SHIPPED.items()), ("message", MESSAGE))
    for group, field in groups.items()
}
"""The check that a group of hits serves ("message": none, it says what is asked for) and the field it looks in."""

IN_FAVOUR = frozenset(group for data in SHIPPED.values() for group in data.get("for", ()))
"""The groups whose hits let a reply pass; those of the others let it fail."""
