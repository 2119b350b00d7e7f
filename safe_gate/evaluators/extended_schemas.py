"""The gate's schemas with what evaluators of installed packages add to them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from safe_gate.core.evaluator import Evaluator
from safe_gate.core.setting import settings_of
from safe_gate.evaluators import BUILT_IN

_Schema = dict[str, Any]
_ANY_OBJECT = {"type": "object"}


def extended(name: str, schema: _Schema, added: Sequence[Evaluator]) -> _Schema:
    """Return a schema of the gate, by its name, in which evaluators have their places; the same without any."""
    if added and (extend := _EXTENDS.get(name)):
        schema = deepcopy(schema)
        for evaluator in added:
            extend(schema, evaluator)
    return schema


def _report(schema: _Schema, evaluator: Evaluator) -> None:
    name, definitions = evaluator.name, schema["$defs"]
    schema["properties"][name] = _or_null(name)
    definitions[name] = evaluator.part.schema
    provenance = schema["properties"]["provenance"]["properties"]
    provenance["inputs"]["items"]["properties"]["kind"]["enum"] += [kind.name for kind in evaluator.input.kinds]
    provenance["policy"]["properties"]["groups"]["properties"][name] = _ANY_OBJECT
    definitions["rules"]["items"]["properties"]["evaluator"]["enum"].append(name)
    metrics = definitions["metric_name"]["else"]["enum"]
    metrics += [one for one in evaluator.compare.metrics if one not in metrics]
    compared = definitions["comparison"]["properties"]
    compared[name] = _or_null(f"{name}_comparison")
    compared["without_baseline"]["items"]["enum"].append(name)
    definitions[f"{name}_comparison"] = comparison = deepcopy(definitions[f"{next(iter(BUILT_IN))}_comparison"])
    changes = comparison["properties"]["changes"]["items"]["properties"]
    changes["labels"]["items"], changes["before"] = {"type": "string"}, _ANY_OBJECT
    definitions["weakened"]["properties"]["findings"]["items"]["properties"]["kind"]["enum"].append(name)
    _waiver(schema, evaluator)


def _waiver(schema: _Schema, evaluator: Evaluator) -> None:
    named = schema["$defs"]["waiver"]["properties"][evaluator.present.measures]
    named.get("else", named)["enum"] += list(evaluator.present.explained)


def _shard(schema: _Schema, evaluator: Evaluator) -> None:
    schema["properties"][evaluator.name] = {"$ref": "#/$defs/results"}
    cases = schema["properties"]["shard"]["properties"]["cases"]["properties"]
    cases[evaluator.name] = {"type": "integer", "minimum": 1}


def _config(schema: _Schema, evaluator: Evaluator) -> None:
    own = evaluator.settings.model_json_schema()["properties"]
    for setting in settings_of(evaluator.settings):
        if setting.key:
            schema["properties"][setting.key[0]] = own[setting.name]


def _or_null(name: str) -> _Schema:
    return {"oneOf": [{"type": "null"}, {"$ref": f"#/$defs/{name}"}]}


_EXTENDS: Mapping[str, Callable[[_Schema, Evaluator], None]] = {
    "report": _report,
    "waivers": _waiver,
    "shard": _shard,
    "config": _config,
}
