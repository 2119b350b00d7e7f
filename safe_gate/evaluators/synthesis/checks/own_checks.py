"""Checks that a team's packs define: their problems, and the effect of a change. Pure.

A definition has the form of `checks`, without `title`, `asks`, `advice`, `groups`, `opt_in` and `spec`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from safe_gate.core.digests import digest
from safe_gate.core.given import OwnFile, PackFact
from safe_gate.core.validate import quote, suggestion
from safe_gate.evaluators.synthesis.names import CHECKS, GROUPS
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import Problem

_SIDES = {"user": ("applies", "not_in", "only_crisis_after", "void_after"), "assistant": ("for", "against")}
"""The lists of groups in a definition, by the field that their groups look in."""

_NEEDS = {"outweighs": ("for",), "none_against": ("against",), "one_for": ("for",)}
_LOOSENS = frozenset({"for", "not_in", "only_crisis_after", "void_after"})
"""The lists in which one group more asks for less; in the others one less does."""


def defined(packs: Iterable[JsonObject]) -> dict[str, JsonObject]:
    """Return the checks that packs define, by name."""
    return {pack["check"]: pack["defines"] for pack in sorted(packs, key=lambda one: one["check"]) if "defines" in pack}


def fields(packs: Iterable[JsonObject]) -> dict[str, str]:
    """Return the field of each group, shipped and of packs."""
    shipped = {group: field for group, (_, field) in GROUPS.items()}
    return shipped | {pack["group"]: pack["field"] for pack in packs if "group" in pack}


def problems(own: Sequence[OwnFile]) -> Iterator[Problem]:
    """Yield the problems of the checks and the groups of a team's packs."""
    packs = [file.content for file in own]
    checks = defined(packs)
    named = {pack["group"]: (pack["check"], pack["field"]) for pack in packs if "group" in pack}
    checked = [file for file in own if not file.only_names]
    seen: dict[str, str] = {}
    groups = dict(GROUPS)
    for file in checked:
        pack = file.content
        if "group" in pack:
            yield from _of_group(file, checks, groups)
        if "defines" in pack and "/" not in pack["check"]:
            words = f"is for a check of your own, such as acme/no-discounts; {pack['check']} ships"
            yield Problem(file.place("defines"), words, pack["pack"], "defines")
        elif "defines" in pack and pack["check"] in seen:
            words = f"defines {pack['check']}, which {seen[pack['check']]} defines too; keep one"
            yield Problem(file.place("defines"), words, pack["pack"], "defines")
        elif "defines" in pack:
            seen[pack["check"]] = file.path
    for file in checked:
        if "defines" in file.content:
            for field, words in _ill(file.content, named | groups):
                yield Problem(file.place(*field.split(".")), words, file.content["pack"], field)


def _of_group(file: OwnFile, checks: Mapping[str, JsonObject], groups: dict[str, tuple[str, str]]) -> Iterator[Problem]:
    """Yield the problems of the check and the group of a pack with rules, and register the group."""
    pack = file.content
    check, group = pack["check"], pack["group"]
    if "/" in check and check not in checks:
        hint = suggestion(check, [*CHECKS, *checks])
        words = f"{quote(check)} is a check that no pack defines{hint}"
        words = f"{words}; add `defines` to one pack of it, or add the pack that has it"
        yield Problem(file.place("check"), words, pack["pack"], "check")
    elif "/" not in check and group not in groups:
        known = [name for name, (of, _) in GROUPS.items() if of == check]
        words = f"{quote(group)} is not a group of {check}{suggestion(group, known)}; expected {', '.join(known)}"
        yield Problem(file.place("group"), words, pack["pack"], "group")
    elif groups.setdefault(group, (check, pack["field"])) != (check, pack["field"]):
        of, field = groups[group]
        words = f"serves {of} and looks in {field}; the pack says {check} and {pack['field']}"
        yield Problem(file.place("group"), words, pack["pack"], f"group {group}")


def _ill(pack: JsonObject, groups: Mapping[str, tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the field and the problem for each fault of a definition."""
    definition = pack["defines"]
    for needed in _NEEDS[definition["decides"]]:
        if not definition.get(needed):
            yield f"defines.{needed}", f"names no group, and {definition['decides']} needs one; add a group"
    if definition["decides"] == "none_against" and definition.get("for"):
        words = "does nothing for a check that decides by none_against; remove it, or set decides to one_for"
        yield "defines.for", words
    for field, sides in _SIDES.items():
        known = [group for group, (_, looks_in) in groups.items() if looks_in == field]
        for side in sides:
            for group in definition.get(side, ()):
                if group not in groups:
                    words = f"{quote(group)} is a group that no pack has{suggestion(group, known)}"
                    yield f"defines.{side}", f"{words}; add its pack, or write one of {', '.join(known)}"
                elif group not in known:
                    words = f"{quote(group)} looks in {groups[group][1]}, and this list needs groups of {field}"
                    yield f"defines.{side}", f"{words}; expected one of {', '.join(known)}"


def lets_pass(packs: Iterable[JsonObject]) -> frozenset[str]:
    """Return the groups in which one more hit may let a reply pass, according to a team's checks."""
    return frozenset(group for one in defined(packs).values() for side in _LOOSENS for group in one.get(side, ()))


def facts(pack: JsonObject) -> Iterator[tuple[str, PackFact]]:
    """Yield what a definition says piece by piece, so that a change shows which one it is.

    A group more in a list of `_LOOSENS` may let a reply pass.
    """
    definition, name = pack["defines"], pack["check"]
    is_always = not definition.get("applies")
    yield name, PackFact(digest([definition["decides"], is_always]), lets_pass=False)
    for side in (side for sides in _SIDES.values() for side in sides):
        for group in definition.get(side, ()):
            piece = f"{name} {side} {group}"
            yield piece, PackFact(digest(piece), lets_pass=side in _LOOSENS)


def digests_of_rules(pack: JsonObject) -> Iterator[tuple[str, str, str]]:
    """Yield the rules of a pack, each with its group and the digest of what decides its hits."""
    around = {key: value for key, value in pack.items() if key not in ("rules", "about", "defines")}
    for rule in pack["rules"]:
        yield rule["id"], pack["group"], digest({**around, "rule": rule})
