"""Shell: the evaluators of installed packages, by their entry points. Reads the folders of packages and commands.

Only the interpreter's own package folders count, never the working folder, `PYTHONPATH` or a user's folder. So files
of a pull request cannot become code of the gate.
"""

from __future__ import annotations

import site
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from safe_gate.core.evaluator import Evaluator
from safe_gate.core.given import Documents
from safe_gate.core.setting import Group
from safe_gate.core.text.patterns import later
from safe_gate.model.problems import Code, Place, Problem, is_interrupt, reason

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "safe_gate.evaluators"
"""The group of entry points. Each names an `Evaluator`, such as `json = "my_package:EVALUATOR"`."""

_NAME = later("[a-z][a-z0-9_]*")
_COMMANDS = {file.stem.rstrip("_") for file in Path(__file__).parents[1].joinpath("commands").glob("[!_]*.py")}
_TAKEN = _COMMANDS | {
    *("all", "comparison", "gate", "provenance", "rules", "setting", "rule", "waiver", "waivers", "weakened")
}
"""The names that keys of reports, kinds of findings and commands have: an evaluator's command has its name."""


def installed(known: Mapping[str, Evaluator]) -> tuple[dict[str, Evaluator], tuple[Problem, ...]]:
    """Return the evaluators beside those that are known, by name, and a problem for each that cannot be used."""
    found: dict[str, Evaluator] = {}
    problems: list[Problem] = []
    for point in _points():
        try:
            evaluator = point.load()
            words = next(_flaws(evaluator, {**known, **found}), "")
        except BaseException as error:  # anything that leaves a package becomes a sentence
            if is_interrupt(error):
                raise
            words = f"cannot be loaded: {reason(error) if isinstance(error, Exception) else repr(error)}"
        if words:
            place = Place(f"evaluator {point.name} ({point.value})")
            problems.append(Problem(place, f"{words}; correct or uninstall the package", code=Code.UNAVAILABLE))
        else:
            found[evaluator.name] = evaluator
    return dict(sorted(found.items())), tuple(problems)


def _points() -> Iterator[EntryPoint]:
    """Yield the entry points of the installed packages."""
    for folder in map(Path, site.getsitepackages()):
        for path in sorted(folder.glob("*.dist-info/entry_points.txt")):
            if f"[{GROUP}]".encode() in path.read_bytes():
                from importlib.metadata import Distribution  # slow to import, and few have other evaluators

                yield from Distribution.at(path.parent).entry_points.select(group=GROUP)


def _flaws(evaluator: Evaluator, known: Mapping[str, Evaluator]) -> Iterator[str]:
    """Yield why an evaluator cannot be used with the others. Only the first is sure to be a cause, not an effect."""
    name = getattr(evaluator, "name", None)
    if isinstance(evaluator, type):
        yield "is a class; expected an instance of it"
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        yield "has no name in lower case with underscores"
    if name in known or name in _TAKEN:
        yield f"has the name {name}, which is taken"
    for member in Evaluator.__annotations__:
        if getattr(evaluator, member, None) is None and member not in vars(Evaluator):
            yield f"has no {member}"
    if not (isinstance(evaluator.settings, type) and issubclass(evaluator.settings, Group)):
        yield "has settings that are no subclass of core.setting.Group"
    own, form = evaluator.settings.model_fields, evaluator.input
    others = {setting: one.name for one in known.values() for setting in one.settings.model_fields}
    yield from (f"has the setting {one}, which is one of {others[one]}" for one in sorted(own.keys() & others.keys()))
    yield from (f"has input from the setting {one}, which its settings lack" for one in form.settings if one not in own)
    kinds = [form.kind, form.outputs_kind] if isinstance(form, Documents) else [form.kind]
    named = {one.name for one in form.kinds}
    yield from (f"has no {one} among its kinds" for one in kinds if one not in named)
    yield from (f"has no schema {one.name}" for one in form.kinds if not one.schema)
    if not evaluator.part.schema:
        yield "has no schema part"
    general = {rule.setting for one in known.values() for rule in one.gate.rules} - others.keys()
    idle = (rule for rule in evaluator.gate.rules if rule.setting not in {*own, *general})
    yield from (f"has the rule {rule.name}, but no setting {rule.setting}" for rule in idle)
