"""The registry of evaluators: the schemas have places for those of other packages, and no other code names one."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from importlib import import_module
from types import SimpleNamespace
from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator
from pydantic import Field

from safe_gate.core.setting import Group, Names, Number, Switch, Text, Texts, WholeOrOff, settings_of
from safe_gate.evaluators import BUILT_IN
from safe_gate.evaluators.registry import extended
from safe_gate.inputs.checked import schema_folder
from tests.support.cases import REPOSITORY

PACKAGE = REPOSITORY / "safe_gate"

EXCEPTIONS: Mapping[str, str] = {
    "addons/training/": "the rules of Synthesis that are learned",
    "commands/eval.py": "the command that scores Synthesis cases alone",
    "commands/rules.py": "the command on the rules of Synthesis",
    "commands/score.py": "the command that scores SAFE v0 batches alone",
    "commands/starter/": "the files that `init` writes: samples and a recording script for the built-in evaluators",
    "calls.py": "how a call gives cases as values",
    "reply.py": "the function that scores one reply",
    "settings/model.py": "the settings of the built-in evaluators are groups of `Settings`",
}
"""Where they are named, and why."""

_BY = [name for one in BUILT_IN.values() for name in one.present.explained]
_ORDINARY = {"wording"}
"""Names that are words of their own, such as of a module in `render/`."""


def _pattern() -> re.Pattern[str]:
    """Return the pattern of names and titles in any spelling, and of short names such as CR as whole words."""
    long = {*BUILT_IN, *(one.title for one in BUILT_IN.values()), *(name for name in _BY if "_" in name)}
    any_spelling = "|".join(re.sub("[ _]", "[ _.-]?", name) for name in sorted(long))
    return re.compile(rf"(?i:{any_spelling})|\b(?:{'|'.join(name for name in _BY if name.isupper())})\b")


def test_every_name_is_looked_for() -> None:
    assert {name for name in _BY if not _pattern().search(name)} == _ORDINARY
    for words in ("Synthesis", "SAFE v0", "SAFE_v0_x", "safeV0", "topic-pivot", "Topic pivot", 'x["CR"]'):
        assert _pattern().search(words), words
    assert not _pattern().search("CRLF")


def _others() -> dict[str, str]:
    """Return the code outside of `evaluators/` by path."""
    files = {file.relative_to(PACKAGE).as_posix(): file.read_text("utf-8") for file in PACKAGE.rglob("*.py")}
    others = {name: text for name, text in files.items() if not name.startswith(("evaluators/", *EXCEPTIONS))}
    assert len(others) > 100
    return others


def test_no_other_code_names_an_evaluator() -> None:
    pattern = _pattern()
    found = [
        f"{name}:{number}: {line.strip()}"
        for name, text in _others().items()
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]
    assert found == []


def _strings(code: str) -> list[str]:
    """Return the texts and names of some code, without its docstrings."""
    tree = ast.parse(code)
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)]
    documents = {id(one.value) for body in bodies for one in body if isinstance(one, ast.Expr)}
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in documents]
    names = [node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    return [*names, *(one.value for one in constants if isinstance(one.value, str))]


def test_no_other_code_names_a_setting_of_an_evaluator() -> None:
    own = {setting.name for one in BUILT_IN.values() for setting in settings_of(one.settings) if "_" in setting.name}
    pattern = re.compile("|".join(rf"\b{name.replace('_', '[_-]')}\b" for name in sorted(own)))
    found = {(name, text) for name, code in _others().items() for text in _strings(code) if pattern.search(text)}
    assert found == set()


def test_the_exceptions_are_needed() -> None:
    for name in EXCEPTIONS:
        files = [file for file in PACKAGE.rglob("*.py") if file.relative_to(PACKAGE).as_posix().startswith(name)]
        assert any(_pattern().search(file.read_text("utf-8")) for file in files), name


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
    found = extended(name, own, [other])
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


@pytest.mark.parametrize(
    ("key", "good", "bad"),
    [
        ("own-cases", ["a.jsonl"], "a.jsonl"),
        ("own-switch", True, "yes"),
        ("own-count", 7, -1),
        ("own-share", 0.5, 1.5),
        ("own-way", "b", "c"),
        ("own-name", "x", 1),
        ("own-weights", {"x": 1}, "x=1"),
    ],
)
def test_the_config_schema_knows_settings_of_every_kind(key: str, good: object, bad: object) -> None:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    found = extended("config", schema, [SimpleNamespace(settings=Settings)])
    assert "own-flag" not in found["properties"]
    valid = Draft202012Validator(found)
    assert valid.is_valid({key: good})
    assert not valid.is_valid({key: bad})
