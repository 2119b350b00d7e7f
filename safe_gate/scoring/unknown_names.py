"""Shell: names in settings, such as that of a group, that mean nothing to the cases of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from functools import cache, partial
from pathlib import Path
from typing import Any

from safe_gate.core.evaluator import Evaluator
from safe_gate.core.model import CannotJudge, Config, Place, Problem
from safe_gate.core.validate import suggestion
from safe_gate.evaluators import EVALUATORS
from safe_gate.inputs import config_file
from safe_gate.inputs import rules as own_rules
from safe_gate.inputs.disk import HERE
from safe_gate.scoring import asked, refusals
from safe_gate.scoring.measure import Measured
from safe_gate.settings.options import Options


def groups_limited(evaluator: Evaluator, options: Options) -> Mapping[str, Mapping[str, Any]]:
    """Return what options set for groups of an evaluator's cases, by their names."""
    setting = evaluator.grouping.setting
    return (getattr(options, setting) if setting else None) or {}


def unknown(
    options: Options, measured: Mapping[str, Measured | None], own: own_rules.Own, *, root: Path = HERE
) -> Iterator[Problem]:
    """Yield a problem for each group and each check in options that does not exist.

    An evaluator without input is not asked. `own` are a team's files of rules. The options' config file is below
    `root`.
    """
    yield from unknown_groups(options, measured, root=root)
    yield from misnamed(options, [name for name, found in measured.items() if found], own, root=root)


def unknown_groups(
    options: Options, measured: Mapping[str, Measured | None], *, root: Path = HERE
) -> Iterator[Problem]:
    """Yield a problem for each archetype or tag that options name and no case has: its rules would judge nothing.

    Where a case cannot be read it may have them. A filter names a tag or an archetype of any evaluator; one that leaves
    an evaluator no case is a problem already.
    """
    present = [found for found in measured.values() if found]
    file = cache(partial(_file, options.config, root))
    every = {group for found in present for group in found.groups}
    is_whole = all(found.knows_groups and found.cases for found in present)
    for words in refusals.unknown_tags(options.tag, every) if is_whole else ():
        yield Problem(Place("tag"), f"{words}; correct the name, or leave it out")
    for evaluator, found in measured.items():
        if found is None or not found.knows_groups:
            continue
        noun = EVALUATORS[evaluator].grouping.noun
        setting = EVALUATORS[evaluator].grouping.setting
        named = groups_limited(EVALUATORS[evaluator], options)
        for name in sorted(named.keys() - found.groups):
            if not named[name].get("optional"):
                known = {one.casefold(): one for one in sorted(found.groups)}
                words = f"no case has this {noun}{suggestion(name.casefold(), known)}; correct the name, or set"
                words = f"{words} `optional: true` if its cases may be absent"
                yield Problem(_set_at(file(), setting, name), words, field=f"{setting}.{name}")


def misnamed(
    options: Options, evaluators: Iterable[str], own: own_rules.Own, *, root: Path = HERE
) -> Iterator[Problem]:
    """Yield a problem for each name that options give and that means nothing to evaluators."""
    file = cache(partial(_file, options.config, root))
    every = {field.name: getattr(options, field.name) for field in fields(options)}
    for name in evaluators:
        by = partial(own_rules.load, EVALUATORS[name], asked.settings(options), own)
        with suppress(CannotJudge):  # of rules that cannot be read, whose names nobody knows
            for one in EVALUATORS[name].misnamed(every, by):
                setting = one.setting.replace("_", "-")
                place = _set_at(file(), setting, one.name)
                yield Problem(place, one.message, field=f"{setting}.{one.name}" if place.line else one.name)


def _file(config: str, root: Path) -> Config | None:
    """Return a config file, None if there is none that can be read."""
    with suppress(CannotJudge):
        return config_file.read_config(config, root=root)
    return None


def _set_at(file: Config | None, setting: str, name: str) -> Place:
    """Return where a config file names a group, or the setting that does if the file does not."""
    if file and isinstance(named := file.content.get(setting), Mapping) and name in named:
        return Place(file.path, file.line_of((setting, name)))
    return Place(setting)
