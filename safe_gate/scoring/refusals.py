"""Why a run cannot judge its cases, as problems; names in settings that mean nothing to its cases are some."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set, Sized
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from safe_gate.core.evaluator import Evaluator
from safe_gate.core.validate import LONGEST_QUOTE, masked, quote, suggestion
from safe_gate.evaluators import EVALUATORS
from safe_gate.inputs import own_rules
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Code, Place, Problem
from safe_gate.scoring.asked import Snapshot

if TYPE_CHECKING:
    from safe_gate.scoring.measure import Measured


def too_many_tags(most: int) -> Problem:
    """Return the problem of cases with more than `most` distinct tags, which the report would all hold."""
    words = f"the cases have more than {most} distinct tags; put values that differ from case to case in a field x_..."
    return Problem(Place("bounds.tags"), f"{words}, or raise bounds.tags")


def no_case(evaluator: Evaluator, settings: JsonObject, groups: Set[str], left_out: Sized) -> Problem | None:
    """Return the problem of settings that leave an evaluator no case; None if it had none to begin with.

    `groups` are the tags or archetypes of its cases, `left_out` holds those that the filters leave out.
    """
    if not left_out:
        return none_wanted(evaluator, settings)
    named = unknown_tags(settings["tag"], groups)
    is_both = settings["tag"] and settings["not_tag"] and not named
    place = "tag and not-tag" if is_both else "tag" if settings["tag"] else "not-tag"
    verb, pronoun = ("leave", "them") if is_both else ("leaves", "it")
    words = f"{verb} no {evaluator.title} case to judge{': ' if named else ''}{' and '.join(named)}"
    return Problem(Place(place), f"{words}; correct {pronoun}, or run without these files", code=Code.NO_INPUT)


def none_wanted(evaluator: Evaluator, settings: JsonObject) -> Problem | None:
    """Return the problem that an evaluator's own filter leaves no case, None without one."""
    if evaluator.input.chosen_by is None:
        return None
    setting = evaluator.input.chosen_by.setting
    words, hidden = (
        f"{name} matches no case; correct it, or leave it unset to judge all cases"
        for name in (repr(settings[setting][:LONGEST_QUOTE]), masked(settings[setting]))
    )
    return Problem(Place(setting.replace("_", "-")), words, text_free=hidden, code=Code.INVALID_SETTING)


_MOST_PAIRS = 20_000_000
"""So many pairs of characters are compared to find out what was meant: that takes about a second."""


def hinted(names: Iterable[str], groups: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield names with hints at the groups that they may mean, "" for none.

    Where there is too much to compare, only the first names get hints.

    >>> list(hinted(["GREIF", "work"], {"grief", "slow"}))
    [('GREIF', ' (did you mean "grief"?)'), ('work', '')]
    """
    known = {one.casefold(): one for one in sorted(groups)}
    characters, left = sum(map(len, known)), _MOST_PAIRS
    for name in names:
        left -= len(name) * characters
        yield name, suggestion(name.casefold(), known) if left >= 0 else ""


def unknown_tags(tags: Iterable[str], groups: Set[str]) -> list[str]:
    """Return words for each tag that no case has, with what may have been meant."""
    missing = (tag for tag in tags if tag not in groups)
    return [f"no case has {quote(tag)}{hint}" for tag, hint in hinted(missing, groups)]


def nothing_to_judge(*, merges: bool = False) -> Problem:
    """Return the problem of a run without inputs, which may be one that merges shards."""
    inputs = [evaluator.input for evaluator in EVALUATORS.values()]
    named = " or ".join(one.setting.replace("_", "-") for one in inputs)
    files = f"the files to judge: {', '.join(one.plural for one in inputs)}"
    if merges:
        return missing(named, f"{files}; name the files of the runs that wrote the shards")
    return missing(named, f"{files}; safe-gate init adds samples and a config file that names them")


def no_rule() -> Problem:
    """Return the problem of a run in which every rule is off, or has too few cases to judge."""
    words = "no rule judges these cases: each rule is off or has too few cases; set a limit, such as"
    some = " or ".join(evaluator.gate.rules[0].name for evaluator in EVALUATORS.values())
    return Problem(Place("safe-gate"), f"{words} {some}", code=Code.INVALID_SETTING)


def missing(what: str, expected: str) -> Problem:
    """Return the problem of a setting without which there is nothing to judge."""
    return Problem(Place(what), f"is not set, so there is nothing to judge; expected {expected}", code=Code.NO_INPUT)


def as_shown(problems: Sequence[Problem], text: str) -> tuple[Problem, ...]:
    """Return problems as they may be shown: with `text: none` they quote no recorded text."""
    return tuple(problems if text == "full" else (problem.without_texts() for problem in problems))


def groups_limited(evaluator: Evaluator, every: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """Return what the settings, by their options, say of groups of an evaluator's cases, by their names."""
    setting = evaluator.grouping.setting
    return (every[setting] if setting else None) or {}


def unknown(side: Snapshot, measured: Mapping[str, Measured | None]) -> Iterator[Problem]:
    """Yield a problem for each group and each check in the settings of a side that does not exist.

    An evaluator without input is not asked.
    """
    yield from unknown_groups(side, measured)
    yield from misnamed(side, [name for name, found in measured.items() if found])


def unknown_groups(
    side: Snapshot, measured: Mapping[str, Measured | None], *, is_selection: bool = False
) -> Iterator[Problem]:
    """Yield a problem for each archetype or tag that settings name and no case has: its rules would judge nothing.

    Where a case cannot be read it may have them. A filter may name a tag or an archetype of any evaluator. One that
    leaves no case is already a problem. Of a selection of the cases, only what looks misspelt is a problem: the
    others may have the rest.
    """
    options, present = side.options, [found for found in measured.values() if found]
    problems: list[Problem] = []
    if all(found.knows_groups and found.cases for found in present):
        every = {group for found in present for group in found.groups}
        tags = unknown_tags(options.tag, every)
        problems += (
            Problem(Place("tag"), f"{words}; correct the name, or leave it out", code=Code.INVALID_SETTING)
            for words in tags
        )
    for evaluator, found in measured.items():
        if found is None or not found.knows_groups:
            continue
        grouping, limited = EVALUATORS[evaluator].grouping, groups_limited(EVALUATORS[evaluator], options.values())
        meant = found.groups - limited.keys() if is_selection else found.groups
        for name, hint in hinted(sorted(limited.keys() - found.groups), meant):
            if not limited[name].get("optional") and (hint or not is_selection):
                words = f"no case has this {grouping.noun}{hint}; correct the name, or set"
                words = f"{words} `optional: true` if its cases may be absent"
                problems.append(Problem(Place(str(grouping.setting)), words, field=name, code=Code.INVALID_SETTING))
    yield from side.in_config(problems)


def misnamed(side: Snapshot, evaluators: Iterable[str]) -> Iterator[Problem]:
    """Yield a problem for each name that a side's settings give and that means nothing to evaluators."""
    problems = list[Problem]()
    for name in evaluators:
        rule_files = EVALUATORS[name].rule_files
        if rule_files is None:
            continue
        by = partial(own_rules.load, EVALUATORS[name], side.settings, side.rules)
        with suppress(CannotJudge):  # unreadable rules have no known names
            for one in rule_files.misnamed(side.options.values(), by):
                problems.append(
                    Problem(
                        Place(one.setting.replace("_", "-")), one.message, field=one.name, code=Code.INVALID_SETTING
                    )
                )
    yield from side.in_config(problems)
