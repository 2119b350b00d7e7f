"""Code outside of `evaluators/` names no evaluator: a member of `core.evaluator.Evaluator` can say what it needs."""

from __future__ import annotations

import re

from tests.support.cases import REPOSITORY

PACKAGE = REPOSITORY / "safe_gate"
NAMED = re.compile("synthesis|safe_v0")


def test_no_other_code_names_an_evaluator() -> None:
    files = {file.relative_to(PACKAGE).as_posix(): file.read_text("utf-8") for file in PACKAGE.rglob("*.py")}
    others = {name: text for name, text in files.items() if not name.startswith(("evaluators/", "commands/starter/"))}
    assert len(others) > 100
    assert [name for name, text in others.items() if NAMED.search(text)] == []
