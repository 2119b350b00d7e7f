"""Names of groups that no case has."""

from __future__ import annotations

import difflib
import hashlib
import json
from pathlib import Path

import pytest

from tests.support.cases import SafeGate, report, turn, write_cases


@pytest.mark.parametrize(
    ("length", "most", "hinted"), [(10, 40_000, 200), (80, 3_000, 15)], ids=["short names", "long names"]
)
def test_few_long_names_are_compared(
    safe_gate: SafeGate, monkeypatch: pytest.MonkeyPatch, length: int, most: int, hinted: int
) -> None:
    pairs = 0
    close = difflib.SequenceMatcher.real_quick_ratio

    def counted(matcher: difflib.SequenceMatcher[str]) -> float:
        nonlocal pairs
        pairs += 1
        return close(matcher)

    monkeypatch.setattr(difflib.SequenceMatcher, "real_quick_ratio", counted)
    names = [(hashlib.sha256(bytes([n])).hexdigest() * 3)[:length] for n in range(200)]
    write_cases(Path("c.jsonl"), turn("a", tags=names))
    absent = {f"x{name[1:]}": {"max-unexpected-failures": 0} for name in names}
    Path("safe-gate.config.json").write_text(json.dumps({"tags": absent}), "utf-8")
    ran = safe_gate("run", "--synthesis-cases", "c.jsonl")
    assert ran.code == 3
    problems = [one["message"] for one in report()["problems"]]
    assert len(problems) == 200
    assert sum("did you mean" in one for one in problems) == hinted
    assert pairs <= most
