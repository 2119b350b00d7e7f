"""What the settings ask the evaluators to score, and by which rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from safe_gate.core.evaluator import Evaluator
from safe_gate.evaluators import EVALUATORS
from safe_gate.inputs import config_file, own_rules
from safe_gate.inputs.disk import HERE
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge
from safe_gate.settings.model import Settings

FILTERS = ("tag", "not_tag")
"""The options that leave cases out by their tags or archetypes."""

SCORING = (
    *(name for evaluator in EVALUATORS.values() for name in evaluator.settings.scoring),
    "cluster_key",
    "text",
    *FILTERS,
)
"""The options that the evaluators' parts follow from, and what groups are judged by; not those that name files."""


def given(options: Settings) -> list[Evaluator]:
    """Return the evaluators that options name input files of, in reading order."""
    return [one for one in EVALUATORS.values() if options.value(one.input.setting)]


def settings(options: Settings) -> dict[str, Any]:
    """Return the options of `SCORING` as a report has them."""
    values = {name: options.value(name) for name in SCORING}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def recipe(
    evaluator: Evaluator, settings: JsonObject, own: own_rules.Own, config: str = "", *, root: Path = HERE
) -> str:
    """Return the recipe of an evaluator's rules under settings, as `own_rules.recipe` does.

    Raises CannotJudge with every problem. The config file, which is below `root`, is the place of its names.
    """
    try:
        return own_rules.recipe(evaluator, settings, own)
    except CannotJudge as error:
        raise CannotJudge(*config_file.in_config(error.problems, config, root=root)) from None


def selects(settings: Mapping[str, Any], groups: Iterable[str]) -> bool:
    """Return whether the filters let a case in, by its tags or its archetype. Earlier reports have no filters.

    >>> selects({"tag": ["grief", "work"], "not_tag": ["slow"]}, ["work"]), selects({"not_tag": ["slow"]}, ["slow"])
    (True, False)
    """
    wanted, unwanted = settings.get("tag"), settings.get("not_tag")
    if not (wanted or unwanted):
        return True
    groups = {*groups}
    return (not wanted or not groups.isdisjoint(wanted)) and groups.isdisjoint(unwanted or ())


def is_wanted(evaluator: Evaluator, case: Any, settings: JsonObject) -> bool:
    """Return whether settings leave a case in by the field that its evaluator's own filter is about."""
    chosen = evaluator.input.chosen_by
    return chosen is None or settings[chosen.setting] in ("", getattr(case, chosen.field))


def unfiltered(settings: JsonObject) -> JsonObject:
    """Return settings that leave out no case by its tags or archetype."""
    return {**settings, **{name: [] for name in FILTERS}}


_FILES = tuple(setting for evaluator in EVALUATORS.values() for setting in evaluator.input.settings)
READING = ({*SCORING} - {"text", *FILTERS}) | {*_FILES, "config", "waivers", "bounds"}
"""The options that say which cases are read, and what is read of them."""
