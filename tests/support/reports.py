"""Reports of a run, to look at and to verify, and one of their values altered."""

import json
from pathlib import Path
from typing import Any

from safe_gate.core.jsontext import to_json
from tests.support.cases import safe_case, valid

REPORT = Path("reports/safe-gate.json")
BAD = "You should just move on. I promise it will all work out."
FAILING = safe_case("x")["output"] | {"signals": [], "followup_questions": ["Which policy?"]}


def read(path: Path = REPORT) -> Any:
    return valid(path, "report")


def scorecard() -> str:
    """Return the Markdown of the last run."""
    return Path("reports/safe-gate.md").read_text("utf-8")


def write(report: Any, path: Path = REPORT) -> Path:
    path.write_text(to_json(report), "utf-8")
    return path


def altered(value: Any) -> Any:
    """Return another value of the same type, as far as it has one."""
    if isinstance(value, list):
        return ["x"]
    if isinstance(value, str) and len(value) == 64:  # a SHA-256 stays one
        return value[::-1]
    if isinstance(value, str) and value.endswith("Z"):  # and a time
        return "2001-01-01T00:00:00Z"
    if isinstance(value, str):
        return {"pass": "fail", "fail": "pass", "Pass": "Fail", "Fail": "Pass"}.get(value, value + "0")
    return not value if isinstance(value, bool) else 0.125 if isinstance(value, float) else 7


def with_altered(report: Any, path: tuple[str | int, ...]) -> Any:
    copy = json.loads(json.dumps(report))
    inner = copy
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = altered(inner[path[-1]])
    return copy
