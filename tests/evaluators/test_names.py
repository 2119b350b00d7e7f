"""Code outside of `evaluators/` names no evaluator. What still does is counted, so that it can only become less."""

from __future__ import annotations

import re

from tests.support.cases import REPOSITORY

PACKAGE = REPOSITORY / "safe_gate"
NAMED = re.compile("synthesis|safe_v0")
STILL = {
    "commands/init.py": 1,
    "commands/rules.py": 10,
    "render/rulebook.py": 5,
}
"""How many lines of a module still name one."""


def test_no_other_code_names_an_evaluator() -> None:
    found = {}
    for file in PACKAGE.rglob("*.py"):
        name = file.relative_to(PACKAGE).as_posix()
        lines = sum(bool(NAMED.search(line)) for line in file.read_text("utf-8").splitlines())
        if lines and not name.startswith("evaluators/"):
            found[name] = lines
    assert found == STILL, "a member of `core.evaluator.Evaluator` can say it instead; fewer lines are welcome here"
