"""The evaluators that ship, and those of installed packages, with their limits and their places in the schemas.

Shell: it reads the interpreter's own package folders, never the working folder, `PYTHONPATH` or a user's folder. So
files of a pull request cannot become code of the gate.
"""

from __future__ import annotations

import re
import site
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from safe_gate.core.evaluator import Evaluator
from safe_gate.core.setting import Group, settings_of
from safe_gate.evaluators.safe_v0.evaluator import SafeV0
from safe_gate.evaluators.synthesis.evaluator import Synthesis
from safe_gate.model.problems import Code, Place, Problem, is_interrupt, reason
from safe_gate.model.results import Outcome

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


GROUP = "safe_gate.evaluators"
"""The group of entry points. Each names an `Evaluator`, such as `json = "my_package:EVALUATOR"`."""

_NAME = re.compile("[a-z][a-z0-9_]*")
_COMMANDS = {file.stem.rstrip("_") for file in Path(__file__).parents[1].joinpath("commands").glob("[!_]*.py")}
_TAKEN = _COMMANDS | {
    *("all", "comparison", "gate", "provenance", "rules", "setting", "rule", "waiver", "waivers", "weakened")
}
"""Names that reports, findings and commands use already. An evaluator's command has its name."""


def find_installed(known: Mapping[str, Evaluator]) -> tuple[dict[str, Evaluator], tuple[Problem, ...]]:
    """Return the installed evaluators that are not `known`, by name, and a problem for each unusable one."""
    found: dict[str, Evaluator] = {}
    problems: list[Problem] = []
    for point in _entry_points():
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


def _entry_points() -> Iterator[EntryPoint]:
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
    if not issubclass(evaluator.settings, Group):
        yield "has settings that are no subclass of core.setting.Group"
    own, form = evaluator.settings.model_fields, evaluator.input
    taken = {setting: one.name for one in known.values() for setting in one.settings.model_fields}
    others = taken | {"groups": "the gate"}  # its field with the settings of evaluators
    yield from (f"has the setting {one}, which is one of {others[one]}" for one in sorted(own.keys() & others.keys()))
    yield from (f"has the setting {one} without a default" for one, field in own.items() if field.is_required())
    yield from (f"has input from the setting {one}, which its settings lack" for one in form.settings if one not in own)
    schemas = {one.name: one.schema for one in form.kinds} | {"part": evaluator.part.schema}
    kinds = [form.kind, form.outputs_kind] if form.cases else [form.kind]
    yield from (f"has no schema {one}" for one in (*kinds, *schemas) if not schemas.get(one))
    general = {rule.setting for one in known.values() for rule in one.gate.rules} - taken.keys()
    idle = (rule for rule in evaluator.gate.rules if rule.setting not in {*own, *general})
    yield from (f"has the rule {rule.name}, but no setting {rule.setting}" for rule in idle)


BUILT_IN: Mapping[str, Evaluator] = {one.name: one for one in (SafeV0(), Synthesis())}
"""The evaluators that ship, which every report has a key for."""

T = TypeVar("T")

_INSTALLED, INSTALL_PROBLEMS = find_installed(BUILT_IN)
EVALUATORS: Mapping[str, Evaluator] = {**BUILT_IN, **_INSTALLED}
"""The evaluators by their keys in the report, in reading order: those that ship, and those of installed packages.

`INSTALL_PROBLEMS` says why others cannot be used; settings are not read then.
"""

CASE_FILTERS = sorted({one.input.case_filter.setting for one in EVALUATORS.values() if one.input.case_filter})
"""The options that choose cases beside `tag`, such as by concern."""


def parts_of(parts: Mapping[str, T | None]) -> Iterator[tuple[Evaluator, T]]:
    """Yield the evaluators that have a part in a report or a comparison, each with its part, in reading order."""
    for name, evaluator in EVALUATORS.items():
        if (part := parts[name]) is not None:
            yield evaluator, part


def outcomes_of(name: str, part: Any) -> Iterator[Outcome]:
    """Yield the outcome of each case in an evaluator's part of the report, if any, for a comparison."""
    outcome = EVALUATORS[name].compare.outcome
    return (outcome(result) for result in results_of(part))  # `map` would end at a StopIteration


def results_of(part: Any) -> Sequence[Any]:
    """Return the results in an evaluator's part of a report, none without a part."""
    return part.results if part else ()


_Schema = dict[str, Any]


def extend_schema(name: str, schema: _Schema, added: Sequence[Evaluator]) -> _Schema:
    """Return a schema of the gate, by its name, extended by the evaluators in `added`; unchanged without any."""
    if added and (extend := _EXTENDS.get(name)):
        schema = deepcopy(schema)
        for evaluator in added:
            extend(schema, evaluator)
    return schema


def _extend_report(schema: _Schema, evaluator: Evaluator) -> None:
    name, definitions = evaluator.name, schema["$defs"]
    schema["properties"][name] = _or_null(name)
    definitions[name] = evaluator.part.schema
    provenance = schema["properties"]["provenance"]["properties"]
    provenance["inputs"]["items"]["properties"]["kind"]["enum"] += [kind.name for kind in evaluator.input.kinds]
    provenance["policy"]["properties"]["groups"]["properties"][name] = {"type": "object"}
    definitions["rules"]["items"]["properties"]["evaluator"]["enum"].append(name)
    metrics = definitions["metric_name"]["else"]["enum"]
    metrics += [one for one in evaluator.compare.metrics if one not in metrics]
    compared = definitions["comparison"]["properties"]
    compared[name] = _or_null(f"{name}_comparison")
    compared["without_baseline"]["items"]["enum"].append(name)
    definitions[f"{name}_comparison"] = comparison = deepcopy(definitions[f"{next(iter(BUILT_IN))}_comparison"])
    changes = comparison["properties"]["changes"]["items"]["properties"]
    changes["labels"]["items"], changes["before"] = {"type": "string"}, {"type": "object"}
    definitions["weakened"]["properties"]["findings"]["items"]["properties"]["kind"]["enum"].append(name)
    _extend_waivers(schema, evaluator)


def _extend_waivers(schema: _Schema, evaluator: Evaluator) -> None:
    named = schema["$defs"]["waiver"]["properties"][evaluator.present.measure_noun]
    named.get("else", named)["enum"] += list(evaluator.present.explanations)


def _extend_shard(schema: _Schema, evaluator: Evaluator) -> None:
    schema["properties"][evaluator.name] = {"$ref": "#/$defs/results"}
    cases = schema["properties"]["shard"]["properties"]["cases"]["properties"]
    cases[evaluator.name] = {"type": "integer", "minimum": 1}


def _extend_config(schema: _Schema, evaluator: Evaluator) -> None:
    own = evaluator.settings.model_json_schema()["properties"]
    for setting in settings_of(evaluator.settings):
        if setting.key:
            schema["properties"][setting.key[0]] = own[setting.name]


def _or_null(name: str) -> _Schema:
    return {"oneOf": [{"type": "null"}, {"$ref": f"#/$defs/{name}"}]}


_EXTENDS: Mapping[str, Callable[[_Schema, Evaluator], None]] = {
    "report": _extend_report,
    "waivers": _extend_waivers,
    "shard": _extend_shard,
    "config": _extend_config,
}
