"""Shell: the evaluators of installed packages, by their entry points. Reads the folders of packages and commands.

Only the interpreter's own package folders count, never the working folder, `PYTHONPATH` or a user's folder. So files
of a pull request cannot become code of the gate.
"""

from __future__ import annotations

import site
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path

from safe_gate.core.evaluator import Evaluator
from safe_gate.core.model import Place, Problem, reason
from safe_gate.core.text.patterns import later

GROUP = "safe_gate.evaluators"
"""The group of entry points. Each names an `Evaluator`, such as `json = "my_package:EVALUATOR"`."""

_NAME = later("[a-z][a-z0-9_]*")
_COMMAND = later("[a-z][a-z0-9-]*")
_TAKEN = frozenset(
    {"all", "comparison", "gate", "provenance", "rules", "setting", "rule", "waiver", "waivers", "weakened"}
)


def installed(known: Mapping[str, Evaluator]) -> tuple[dict[str, Evaluator], tuple[Problem, ...]]:
    """Return the evaluators beside those that are known, by name, and a problem for each that cannot be used."""
    found: dict[str, Evaluator] = {}
    problems: list[Problem] = []
    for place, evaluator in _loaded():
        words = evaluator if isinstance(evaluator, str) else _unfit(evaluator, {**known, **found})
        if isinstance(evaluator, str) or words:
            problems.append(Problem(Place(place), f"{words}; correct or uninstall the package"))
        else:
            found[evaluator.name] = evaluator
    return dict(sorted(found.items())), tuple(problems)


def _loaded() -> Iterator[tuple[str, Evaluator | str]]:
    """Yield the object of each entry point, or why it cannot be loaded, by the package's name in problems."""
    for folder in map(Path, site.getsitepackages()):
        for path in sorted(folder.glob("*.dist-info/entry_points.txt")):
            if f"[{GROUP}]".encode() in path.read_bytes():
                yield from _of(path.parent)


def _of(folder: Path) -> Iterator[tuple[str, Evaluator | str]]:
    from importlib.metadata import Distribution  # slow to import, and few installations have other evaluators

    for point in Distribution.at(folder).entry_points.select(group=GROUP):
        place = f"evaluator {point.name} ({point.value})"
        try:
            yield place, point.load()
        except Exception as error:  # noqa: BLE001 - any error of a package becomes a sentence
            yield place, f"cannot be loaded: {reason(error)}"


def _unfit(evaluator: Evaluator, known: Mapping[str, Evaluator]) -> str:
    """Return why an evaluator cannot be used with the others, "" if it can."""
    name = getattr(evaluator, "name", None)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return "has no name in lower case with underscores"
    if name in known or name in _TAKEN:
        return f"has the name {name}, which is taken"
    settings = {setting: other for other, one in known.items() for setting in _names(one)}
    if doubled := sorted(_names(evaluator) & settings.keys()):
        return f"has the setting {doubled[0]}, which is one of {settings[doubled[0]]}"
    commands = {command: other for other, one in known.items() for command in one.commands}
    for command in getattr(evaluator, "commands", ()):
        if not _COMMAND.fullmatch(command):
            return f"has the command {command!r}, which is not a word in lower case"
        if command in commands or command in _own_commands():
            return f"has the command {command}, which is one of {commands.get(command, 'safe-gate')}"
    return ""


def _own_commands() -> set[str]:
    """Return the names of the gate's own commands, which are modules of a folder."""
    return {file.stem.rstrip("_") for file in Path(__file__).parents[1].joinpath("commands").glob("[!_]*.py")}


def _names(evaluator: Evaluator) -> set[str]:
    return {field.name for field in fields(evaluator.settings)}
