"""The table of compiled phrases: it says what the packs say, and what was made of others is not read."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest

from safe_gate.evaluators.synthesis import packs
from safe_gate.evaluators.synthesis.checks.turn import Rules
from safe_gate.evaluators.synthesis.packs import TABLE, compile_table, from_recipe, recipe, stored_table
from safe_gate.evaluators.synthesis.result import Result
from safe_gate.model import codec
from safe_gate.scoring.sides import scoring_settings
from safe_gate.settings import Settings
from tests.support.cases import REPOSITORY
from tests.support.synthesis import score

SETTINGS = scoring_settings(Settings())


@cache
def compiled() -> bytes:
    """Return the table of the packs that ship."""
    return compile_table()


read = packs.read_file


@contextmanager
def reading(others: Mapping[str, bytes]) -> Iterator[None]:
    """Let the packs read some files with other contents; no table unless it is one of these."""

    def other(name: str) -> bytes:
        if name not in others and name == TABLE:
            raise FileNotFoundError(name)
        return others[name] if name in others else read(name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packs, "read_file", other)
        yield


def rules(files: Mapping[str, bytes], policy: Mapping[str, Any] = SETTINGS) -> Rules:
    with reading(files):
        return from_recipe(recipe(policy, ()))


def texts() -> list[str]:
    every = [json.loads(read(name)) for name in packs.pack_files()]
    said = [text for pack in every for rule in pack["rules"] for text in (*rule.get("hit", ()), *rule.get("miss", ()))]
    return [" ".join(said[at : at + 10]) for at in range(0, len(said), 40)]


def results(rules: Rules, some: Sequence[str]) -> list[Result]:
    return [score(one, one, by=rules) for one in some]


OTHERS = pytest.mark.parametrize(
    "others", [{}, {"profile": "spec"}, {"rules_off": ["agency-negative", "reassurance-guarantee"]}]
)
AGENCY = "packs/agency/agency-negative.json"


@pytest.mark.soak
@OTHERS
def test_a_table_finds_what_the_packs_find(others: Mapping[str, Any]) -> None:
    with_table, without = (rules(some, {**SETTINGS, **others}) for some in ({TABLE: compiled()}, {}))
    assert [bool(one.books["user"]._table) for one in (with_table, without)] == [True, False]
    some = texts()
    assert results(with_table, some) == results(without, some)


@OTHERS
def test_a_table_knows_the_words_that_the_packs_know(others: Mapping[str, Any]) -> None:
    known: list[Any] = [rules(some, {**SETTINGS, **others}).words for some in ({TABLE: compiled()}, {})]
    assert known[0].words == known[1].words


@pytest.mark.untraced
def test_phrases_that_a_table_does_not_hold_count_too() -> None:
    rule = {"id": "acme/gargle", "phrase": "gargle twice", "hit": ["Gargle twice."], "miss": ["Once."]}
    own = {"pack": "acme", "check": "agency_language", "field": "assistant", "group": "negative", "rules": [rule]}
    with reading({TABLE: compiled()}):
        profile, _, *rest = json.loads(recipe(SETTINGS, ()))
        with_own = from_recipe(json.dumps([profile, [own], *rest]))
    (found,) = results(with_own, ["Now gargle twice. Then you must gargle twice."])
    assert "gargle twice" in json.dumps(codec.to_json(found))
    some = texts()[:5]
    assert results(with_own, some) == results(rules({TABLE: compiled()}), some)


@pytest.mark.parametrize("name", ["classes.json", "lists.json", AGENCY, "engine/phrases.py", "engine/rules.py"])
def test_a_table_of_other_packs_classes_or_code_is_not_read(name: str) -> None:
    with reading({TABLE: compiled(), name: read(name) + b"\n"}):
        assert not stored_table()


@pytest.mark.parametrize(("end", "more"), [(0, b""), (100, b""), (-4, b""), (None, b"\0\0\0\0")])
def test_a_table_that_is_cut_or_longer_is_not_read(end: int | None, more: bytes) -> None:
    for content, is_read in ({TABLE: compiled()}, True), ({}, False), ({TABLE: compiled()[:end] + more}, False):
        with reading(content):
            assert bool(stored_table()) == is_read


@pytest.mark.soak
def test_a_table_does_not_depend_on_the_order_of_sets() -> None:
    code = "import sys; from safe_gate.evaluators.synthesis.packs import *; sys.stdout.buffer.write(compile_table())"
    environ = {**os.environ, "PYTHONHASHSEED": "7"}
    ran = subprocess.run([sys.executable, "-c", code], env=environ, cwd=REPOSITORY, capture_output=True, check=True)
    assert ran.stdout == compiled()
