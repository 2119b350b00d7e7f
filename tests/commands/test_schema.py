"""`safe-gate schema` prints schemas that an editor can use; `safe-gate` alone prints its help."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.cases import REPOSITORY, SafeGate, read_json, refused

SCHEMAS = {file.name.removesuffix(".schema.json"): file for file in (REPOSITORY / "schemas").glob("*.json")}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_printed_as_it_is(safe_gate: SafeGate, name: str) -> None:
    ran = safe_gate("schema", name)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.rstrip() == SCHEMAS[name].read_text("utf-8").rstrip()
    assert json.loads(ran.out)["$id"].endswith(f"/{name}.schema.json")


def test_the_names_are_listed_without_one_and_for_an_unknown_one(safe_gate: SafeGate) -> None:
    ran = safe_gate("schema")
    assert (ran.code, ran.out.split()) == (0, sorted(SCHEMAS))
    refused(safe_gate("schema", "confg"), '"confg" is not a schema (did you mean config?); expected one of config, ')


def _properties(schema: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the properties of a schema at any depth, with where they stand."""
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key == "properties":
                yield from ((f"{path}/{name}", one) for name, one in value.items())
            yield from _properties(value, f"{path}/{key}")


@pytest.mark.parametrize("name", ["config", "synthesis-case", "safe-batch", "safe-output", "waivers"])
def test_every_property_that_a_user_writes_is_described(name: str) -> None:
    found = dict(_properties(read_json(SCHEMAS[name])))
    assert found
    assert [path for path, one in found.items() if not one.get("description")] == []


def test_no_arguments_print_help_that_names_init_and_exit_3(safe_gate: SafeGate) -> None:
    ran = safe_gate()
    assert (ran.code, ran.err) == (3, "")
    assert ran.out == safe_gate("--help").out
    assert "`safe-gate init`" in ran.out


def test_a_command_that_does_not_judge_says_what_it_could_not_do(safe_gate: SafeGate) -> None:
    for arguments, what in (
        ("schema nope", "print the schema"),
        ("init extra", "initialise"),
        ("import nowhere.csv --out o.jsonl", "import"),
        ("import nowhere.csv", "import"),
        ("nope", "judge"),
    ):
        refused(safe_gate(*arguments.split()), f"safe-gate: could not {what}: 1 problem; correct the input and run")
