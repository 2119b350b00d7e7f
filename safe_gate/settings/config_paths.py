"""The settings of a config file that name paths, from the working folder: the file has them from its own. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Set
from functools import cache
from pathlib import PurePosixPath
from typing import NamedTuple

from safe_gate.core.given import Documents
from safe_gate.core.model import Config, PathKind, Problem
from safe_gate.evaluators import EVALUATORS
from safe_gate.settings.origins import Given


class Moved(NamedTuple):
    """Settings of a config file with paths from the working folder, and its outdated or wrong entries."""

    settings: Given
    warnings: tuple[str, ...]
    problems: tuple[Problem, ...]


def moves(config: Config, given: Given, others: Set[str]) -> Moved:
    """Return the settings of a config file, as `given` has them, that name paths.

    `others` are the settings that something else sets, which wins. The path of a document starts from their folder, if
    that is set anywhere.
    """
    settings, warnings, problems = {}, [], []
    is_elsewhere = "/" in config.path
    for name, kind in kinds().items() if is_elsewhere else ():
        folder = _STARTS_FROM.get(name)
        if name not in given or name in others or (folder and (folder in given or folder in others)):
            continue
        origin, value = given[name]
        paths = []
        for path in [value] if isinstance(value, str) else value:
            is_ref = name == "baseline" and PurePosixPath(path.strip()).suffix not in (".json", ".jsonl")
            found = None if is_ref or path.strip() in ("", "-") else config.locate(path.strip(), kind)
            paths.append(found.path if found else path)
            if found and found.warning:
                warnings.append(f"{origin.name}: {found.warning}")
            if found and found.problem:
                problems.append(origin.problem(found.problem))
        settings[name] = origin, paths[0] if isinstance(value, str) else paths
    return Moved(settings, tuple(warnings), tuple(problems))


@cache
def kinds() -> Mapping[str, PathKind]:
    """Return the options that name paths, each with its kind of path."""
    found = {"waivers": PathKind.FILES, "baseline": PathKind.FILES, "report_dir": PathKind.OUTPUT}
    for evaluator in EVALUATORS.values():
        form = evaluator.input
        found[form.setting] = PathKind.FILES
        if isinstance(form, Documents):
            found |= {form.outputs: PathKind.FILES, form.folder: PathKind.FOLDER}
        if evaluator.rule_files:
            found[evaluator.rule_files.setting] = PathKind.FILES
    return found


_STARTS_FROM = {one.input.setting: one.input.folder for one in EVALUATORS.values() if isinstance(one.input, Documents)}
"""The options whose paths start from a folder that another option names."""
