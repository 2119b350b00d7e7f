"""Shell: what an evaluator scores by: settings and a team's files of rules. Reads files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from safe_gate.core.evaluator import Evaluator
from safe_gate.core.given import OwnFile, PackFact
from safe_gate.core.jsontext import digest as digest_of
from safe_gate.evaluators import EVALUATORS
from safe_gate.inputs import checked, disk, globs
from safe_gate.inputs.commit_files import FilePath
from safe_gate.inputs.disk import HERE
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Code, Problem


class Own(NamedTuple):
    """A team's files of rules, read once, by evaluator: those that are sound, and what is wrong with others.

    `unmatched` are the problems of the patterns, `problems` those of files.
    """

    files: Mapping[str, tuple[OwnFile, ...]]
    problems: Mapping[str, tuple[Problem, ...]]
    unmatched: Mapping[str, tuple[Problem, ...]]

    def matched(self) -> Own:
        """Return them without the problems of patterns that name no file."""
        left = {
            name: tuple(one for one in some if one.code is not Code.UNREADABLE_FILE)
            for name, some in self.unmatched.items()
        }
        return self._replace(unmatched=left)

    def refuse_unsound(self) -> None:
        """Raise CannotJudge with the problems of the first evaluator whose files have any."""
        for name in EVALUATORS:
            if problems := self.unmatched.get(name) or self.problems.get(name):
                raise CannotJudge(*problems)


NO_FILES = Own({}, {}, {})
"""No team has files of rules."""


def read(settings: JsonObject, *, root: FilePath = HERE) -> Own:
    """Return the files of rules that settings name below `root`, as by `globs.expanded`."""
    files: dict[str, tuple[OwnFile, ...]] = {}
    problems: dict[str, tuple[Problem, ...]] = {}
    unmatched: dict[str, tuple[Problem, ...]] = {}
    for name, one in EVALUATORS.items():
        if one.rule_files:
            paths, nothing, _ = globs.expanded(settings[one.rule_files.setting], ".json", root=root)
            own, wrong = _read(paths, one.rule_files.kind)
            files[name], problems[name], unmatched[name] = tuple(own), tuple(wrong), tuple(nothing)
    return Own(files, problems, unmatched)


def _read(paths: Sequence[FilePath], kind: str) -> tuple[list[OwnFile], list[Problem]]:
    own: list[OwnFile] = []
    problems: list[Problem] = []
    for path in paths:
        name = disk.shown(path)
        try:
            data = disk.data_of(path, name, disk.WRITTEN_BY_HAND)
            text = disk.decode(data.removeprefix(disk.BOM), name)
            content = checked.fitting(text, path, name, kind)
            own.append(OwnFile(name, path.name, data, content, checked.lines_in(text)))
        except CannotJudge as error:
            problems += error.problems
    return own, problems


def load(evaluator: Evaluator, settings: JsonObject, own: Own) -> Any:
    """Return what an evaluator scores by under settings. Raises CannotJudge as `recipe` does."""
    return made(evaluator.name, recipe(evaluator, settings, own))


def recipe(evaluator: Evaluator, settings: JsonObject, own: Own) -> str:
    """Return the recipe of what an evaluator scores by: see `Evaluator.recipe`.

    Raises CannotJudge with every problem of a team's files of rules.
    """
    name = evaluator.name
    if unmatched := own.unmatched.get(name):
        raise CannotJudge(*unmatched)
    problems = own.problems.get(name, ())
    try:
        found = evaluator.recipe(settings, own.files.get(name, ()))
    except CannotJudge as error:
        files = {file.path for file in own.files.get(name, ())}  # the names in other files are unknown
        known = (one for one in error.problems if not problems or one.place.path in files)
        raise CannotJudge(*problems, *known) from None
    if problems:
        raise CannotJudge(*problems)
    return found


@lru_cache(maxsize=4)
def made(name: str, recipe: str) -> Any:
    """Return what a recipe of an evaluator describes. Raises CannotJudge as `Evaluator.made` does."""
    return EVALUATORS[name].made(recipe)


def digest(settings: JsonObject, own: Own) -> str:
    """Return the digest of the rules of all evaluators that have them in sound files: of one evaluator, its own."""
    found = [
        one.rule_files.digest(settings, own.files.get(name, ())) for name, one in EVALUATORS.items() if one.rule_files
    ]
    return found[0] if len(found) == 1 else digest_of(found)


def facts(own: Own) -> dict[str, PackFact]:
    """Return all rules that evaluators have in files, by their ids. Raises CannotJudge as `recipe` does."""
    own.refuse_unsound()
    found: dict[str, PackFact] = {}
    for name, evaluator in EVALUATORS.items():
        if evaluator.rule_files:
            found |= evaluator.rule_files.facts(own.files.get(name, ()))
    return found
