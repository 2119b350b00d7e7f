"""Shell: what an evaluator scores by: settings, the files of its package, and a team's files of rules. Reads files."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from safe_gate.core.digests import digest as digest_of
from safe_gate.core.evaluator import Evaluator
from safe_gate.core.given import OwnFile, PackFact
from safe_gate.core.model import CannotJudge, JsonObject, Problem
from safe_gate.evaluators import EVALUATORS
from safe_gate.evaluators.shipped import Package
from safe_gate.evaluators.shipped import shipped as of_module
from safe_gate.inputs import checked, disk, matching
from safe_gate.inputs.disk import HERE


def shipped(name: str) -> Package:
    """Return the JSON files of an evaluator's package, which are read when they are asked for."""
    return of_module(type(EVALUATORS[name]).__module__)


def load(evaluator: Evaluator, settings: JsonObject, *, root: Path = HERE) -> Any:
    """Return what an evaluator scores by under settings. Raises CannotJudge as `recipe` does."""
    return made(evaluator.name, recipe(evaluator, settings, root=root))


def recipe(evaluator: Evaluator, settings: JsonObject, *, root: Path = HERE) -> str:
    """Return the recipe of what an evaluator scores by: see `Evaluator.recipe`.

    A team's files of rules are read below `root`, as by `matching.expand`.
    Raises CannotJudge with every problem of them.
    """
    own, problems = _own(evaluator, settings, root)
    try:
        found = evaluator.recipe(settings, own, shipped(evaluator.name))
    except CannotJudge as error:
        paths = {file.path for file in own}  # of a file that cannot be read nobody knows the names
        raise CannotJudge(
            *problems, *(one for one in error.problems if not problems or one.place.path in paths)
        ) from None
    if problems:
        raise CannotJudge(*problems)
    return found


@lru_cache(maxsize=4)
def made(name: str, recipe: str) -> Any:
    """Return what a recipe of an evaluator describes. Raises CannotJudge as `Evaluator.made` does."""
    return EVALUATORS[name].made(recipe, shipped(name))


def digest(settings: JsonObject, *, root: Path = HERE) -> str:
    """Return the digest of the rules of all evaluators that have them in files: of one evaluator, its own."""
    found = [
        one.digest(
            settings,
            [OwnFile(path.name, path.name, path.read_bytes(), None) for path in _paths(one, settings, root)],
            shipped(name),
        )
        for name, one in EVALUATORS.items()
        if one.rule_files
    ]
    return found[0] if len(found) == 1 else digest_of(found)


def facts(settings: JsonObject, *, root: Path = HERE) -> dict[str, PackFact]:
    """Return all rules that evaluators have in files, by their ids. Raises CannotJudge as `recipe` does."""
    found: dict[str, PackFact] = {}
    for name, evaluator in EVALUATORS.items():
        own, problems = _own(evaluator, settings, root)
        if problems:
            raise CannotJudge(*problems)
        found |= evaluator.facts(own, shipped(name))
    return found


def _own(evaluator: Evaluator, settings: JsonObject, root: Path) -> tuple[list[OwnFile], list[Problem]]:
    """Return a team's files of rules that fit their schema, and what is wrong with others."""
    own: list[OwnFile] = []
    problems: list[Problem] = []
    for path in _paths(evaluator, settings, root):
        name = disk.shown(path, root)
        try:
            content, line_of = checked.with_lines(name, _kind(evaluator), root=root)
            own.append(OwnFile(name, path.name, b"", content, line_of))
        except CannotJudge as error:
            problems += error.problems
    return own, problems


def _paths(evaluator: Evaluator, settings: JsonObject, root: Path) -> list[Path]:
    return matching.rule_packs(settings[evaluator.rule_files.setting], root=root) if evaluator.rule_files else []


def _kind(evaluator: Evaluator) -> str:
    return evaluator.rule_files.kind if evaluator.rule_files else ""
