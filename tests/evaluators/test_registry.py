"""The registry of evaluators: the schemas have places for those of other packages, and no other code names one."""

import json
from importlib import import_module
from types import SimpleNamespace
from typing import Annotated

import pytest
from jsonschema import Draft202012Validator
from pydantic import Field

from safe_gate.core.setting import Group, Names, Text, WholeOrOff
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
    own_count: Annotated[WholeOrOff, Names("gate")] = Field(None, ge=0)
    own_flag: Annotated[Text, Names("gate", key=())] = ""


def test_the_config_schema_knows_the_settings_that_have_a_key() -> None:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    found = extend_schema("config", schema, [SimpleNamespace(settings=Settings)])
    assert [*found["properties"]] == ["own-count"]
    assert [Draft202012Validator(found).is_valid({"own-count": one}) for one in (7, -1)] == [True, False]
