"""The registry of evaluators: the schemas have places for those of other packages, and no other code names one."""

import json
from collections.abc import Mapping
from importlib import import_module
from types import SimpleNamespace
from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator
from pydantic import Field

from safe_gate.core.setting import Group, Names, Number, Switch, Text, Texts, WholeOrOff
from safe_gate.evaluators.registry import extend_schema
from safe_gate.inputs.checked import schema_folder
from tests.support.cases import REPOSITORY

NAMES = sorted(path.name.removesuffix(".schema.json") for path in schema_folder().glob("*.schema.json"))
WITH_PLACES = {"config", "report", "shard", "waivers"}


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_with_places_for_others_is_one_and_the_gates_own_stays_the_same(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(REPOSITORY / "examples" / "evaluator-json"))
    other = import_module("safe_gate_json").EVALUATOR
    own = json.loads(schema_folder().joinpath(f"{name}.schema.json").read_text("utf-8"))
    before = json.dumps(own)
    found = extend_schema(name, own, [other])
    Draft202012Validator.check_schema(found)
    assert (found != own) == (name in WITH_PLACES)
    assert json.dumps(own) == before


class Settings(Group):
    own_cases: Annotated[Texts, Names("inputs")] = ()
    own_switch: Annotated[Switch, Names("gate")] = False
    own_count: Annotated[WholeOrOff, Names("gate")] = Field(None, ge=0)
    own_share: Annotated[Number, Names("gate")] = Field(1.0, ge=0, le=1)
    own_way: Annotated[Literal["a", "b"], Names("gate")] = "a"
    own_name: Annotated[Text, Names("gate")] = ""
    own_weights: Annotated[Mapping[str, Any] | None, Names("gate")] = None
    own_flag: Annotated[Text, Names("gate", key=())] = ""


VALUES: Mapping[str, tuple[object, object]] = {
    "own-cases": (["a.jsonl"], "a.jsonl"),
    "own-switch": (True, "yes"),
    "own-count": (7, -1),
    "own-share": (0.5, 1.5),
    "own-way": ("b", "c"),
    "own-name": ("x", 1),
    "own-weights": ({"x": 1}, "x=1"),
}
"""A value that is valid and one that is not."""


def test_the_config_schema_knows_settings_of_every_kind() -> None:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    found = extend_schema("config", schema, [SimpleNamespace(settings=Settings)])
    assert found["properties"].keys() == VALUES.keys(), "a setting without a key is none of a config file"
    valid = Draft202012Validator(found)
    for key, (good, bad) in VALUES.items():
        assert (valid.is_valid({key: good}), valid.is_valid({key: bad})) == (True, False), key
