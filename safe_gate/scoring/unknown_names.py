"""Shell: names in settings, such as that of a group, that mean nothing to the cases of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safe_gate.core.evaluator import Evaluator
from safe_gate.evaluators import EVALUATORS
from safe_gate.inputs import config_file, own_rules
from safe_gate.inputs.disk import HERE
from safe_gate.model.problems import CannotJudge, Code, Place, Problem
from safe_gate.scoring import asked, refusals
from safe_gate.scoring.measure import Measured
from safe_gate.settings.model import Settings

if TYPE_CHECKING:
    from safe_gate.scoring.snapshot import Snapshot


def groups_limited(evaluator: Evaluator, every: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """Return what the settings, by their options, say of groups of an evaluator's cases, by their names."""
    setting = evaluator.grouping.setting
    return (every[setting] if setting else None) or {}


def unknown(side: Snapshot, measured: Mapping[str, Measured | None]) -> Iterator[Problem]:
    """Yield a problem for each group and each check in the settings of a side that does not exist.

    An evaluator without input is not asked.
    """
    yield from unknown_groups(side.options, measured, root=side.root)
    present = [name for name, found in measured.items() if found]
    yield from misnamed(side.options, present, side.rules, root=side.root)


def unknown_groups(
    options: Settings, measured: Mapping[str, Measured | None], *, root: Path = HERE, is_selection: bool = False
) -> Iterator[Problem]:
    """Yield a problem for each archetype or tag that options name and no case has: its rules would judge nothing.

    Where a case cannot be read it may have them. A filter may name a tag or an archetype of any evaluator. One that
    leaves no case is already a problem. Of a selection of the cases, only what looks misspelt is a problem: the
    others may have the rest.
    """
    present = [found for found in measured.values() if found]
    problems: list[Problem] = []
    if all(found.knows_groups and found.cases for found in present):
        every = {group for found in present for group in found.groups}
        tags = refusals.unknown_tags(options.tag, every)
        problems += (
            Problem(Place("tag"), f"{words}; correct the name, or leave it out", code=Code.INVALID_SETTING)
            for words in tags
        )
    for evaluator, found in measured.items():
        if found is None or not found.knows_groups:
            continue
        grouping, limited = EVALUATORS[evaluator].grouping, groups_limited(EVALUATORS[evaluator], options.values())
        meant = found.groups - limited.keys() if is_selection else found.groups
        for name, hint in refusals.hinted(sorted(limited.keys() - found.groups), meant):
            if not limited[name].get("optional") and (hint or not is_selection):
                words = f"no case has this {grouping.noun}{hint}; correct the name, or set"
                words = f"{words} `optional: true` if its cases may be absent"
                problems.append(Problem(Place(str(grouping.setting)), words, field=name, code=Code.INVALID_SETTING))
    yield from config_file.in_config(problems, options.config, root=root)


def misnamed(
    options: Settings, evaluators: Iterable[str], own: own_rules.Own, *, root: Path = HERE
) -> Iterator[Problem]:
    """Yield a problem for each name that options give and that means nothing to evaluators."""
    settings, problems = asked.settings(options), list[Problem]()
    for name in evaluators:
        rule_files = EVALUATORS[name].rule_files
        if rule_files is None:
            continue
        by = partial(own_rules.load, EVALUATORS[name], settings, own)
        with suppress(CannotJudge):  # unreadable rules have no known names
            for one in rule_files.misnamed(options.values(), by):
                problems.append(
                    Problem(
                        Place(one.setting.replace("_", "-")), one.message, field=one.name, code=Code.INVALID_SETTING
                    )
                )
    yield from config_file.in_config(problems, options.config, root=root)
