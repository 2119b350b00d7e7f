"""What marked cases teach: the rules learned from them, and what these gain over today's. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from safe_gate.addons.training.gain import Gain, distinct_replies, gains
from safe_gate.addons.training.learning import TAUGHT, Row, as_packs, rows
from safe_gate.core.figures import plural, with_interval
from safe_gate.core.stats import wilson
from safe_gate.evaluators.synthesis import own_packs, packs
from safe_gate.evaluators.synthesis.checks.score import Case
from safe_gate.evaluators.synthesis.checks.turn import Rules
from safe_gate.evaluators.synthesis.definitions import CHECKS, GROUPS
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Code, Place, Problem
from safe_gate.model.shown import Table
from safe_gate.model.untrusted import Untrusted


class Lesson(NamedTuple):
    """Rules learned from marked cases: packs, and text for readers."""

    packs: Sequence[packs.Pack]
    shown: Sequence[Table | str]


def taught(cases: Sequence[Any], settings: JsonObject, recipe: str) -> Lesson:
    """Return the rules learned from marked cases, compared with the rules that settings name. Raises CannotJudge.

    `recipe` is made from the settings.
    """
    if settings["profile"] == packs.SPEC:
        raise CannotJudge(
            Problem(
                Place("profile"), "is spec, which uses no learned rules; expected standard", code=Code.INVALID_SETTING
            )
        )
    teams = own_packs.in_recipe(recipe)
    today = packs.selected(teams, settings["rules_off"])
    table = packs.stored_table()

    def ready(some: Sequence[packs.Pack]) -> Rules:
        return packs.rules(some, own=teams, table=table)

    rules = ready(today)

    def learned(some: Sequence[Case]) -> list[Row]:
        return rows(some, rules, packs.classes(), TAUGHT)

    found = learned(cases)
    made = as_packs(found)
    taken = {pack["pack"] for pack in today}
    words = "is the id that a learned pack gets; leave it out of rules, or rename it"
    if problems := [Problem(Place("rules"), words, pack["pack"]) for pack in made if pack["pack"] in taken]:
        raise CannotJudge(*problems)
    checks = [check for check in CHECKS if any(GROUPS[row.group][0] == check for row in found)]
    measured = gains(cases, checks, rules, lambda some: ready([*today, *as_packs(learned(some))])) if checks else ()
    return Lesson(tuple(made), (*_lesson(found, measured), *_counted(cases)))


def _lesson(found: Sequence[Row], measured: Sequence[Gain]) -> Iterator[Table | str]:
    """Yield the rows that were learned, with their counts, and what they gain each check."""
    shown = tuple(
        (Untrusted(row.phrase + " ?" * row.question), row.group, f"{row.inside} of {row.total}") for row in found
    )
    if found:
        yield Table(("Phrase", "Group", "Clauses"), "<<>", shown)
    yield f"{plural(len(found), 'rule')} learned"
    if measured:
        yield from _gains(measured)


def _gains(found: Sequence[Gain]) -> Iterator[Table | str]:
    """Yield what learning gains each check, on labels left out, and in words whether that is worth anything."""
    shown = tuple(
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
    yield Table(("Check", "Labels", "Before", "After", "Gain", "Fixed", "Broken", "Worth"), "<>>>>>><", shown)
    yield "Before: labels that agree with today's rules. After: with learned rules, cross-validated."
    yield "In brackets: 95 % Wilson intervals."


def _worth(gain: Gain) -> str:
    """Return whether a gain is worth anything.

    >>> _worth(Gain("topic_pivot", labels=10, before=8, corrected=1, spoiled=1))
    'no gain: do not use these rules'
    """
    if gain.after <= gain.before:
        return "no gain: do not use these rules"
    return "gain" if gain.is_beyond_chance else "may be chance: label more cases"


def _counted(cases: Sequence[Any]) -> Iterator[str]:
    """Yield how many cases were learned from, if duplicates reduce the number."""
    replies = distinct_replies(cases)
    if replies < len(cases):
        distinct = plural(replies, "distinct reply", "distinct replies")
        words = "a copy counts once, and cases that share a reply or a message are left out together"
        yield f"{plural(len(cases), 'case')}, {distinct}: {words}."
    if not any(case.marks for case in cases):
        yield "No case has marks: quote the clauses that decide in `marks`, by group, to learn from them."
