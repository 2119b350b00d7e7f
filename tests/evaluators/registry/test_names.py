"""Code outside of `evaluators/` names no evaluator, metric, check or setting of one: members of `Evaluator` say it."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from safe_gate.core.setting import settings_of
from safe_gate.evaluators import BUILT_IN
from tests.support.cases import REPOSITORY

PACKAGE = REPOSITORY / "safe_gate"

EXCEPTIONS: Mapping[str, str] = {
    "addons/training/": "the rules of Synthesis that are learned",
    "commands/eval.py": "the command that scores Synthesis cases alone",
    "commands/rules.py": "the command on the rules of Synthesis",
    "commands/score.py": "the command that scores SAFE v0 batches alone",
    "commands/starter/": "the files that `init` writes: samples and a recording script for the built-in evaluators",
    "library.py": "how a call gives cases as values",
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
