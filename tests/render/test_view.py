"""The view of a report: whatever shows a run shares it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from safe_gate.evaluators.modular import Modular
from tests.support.cases import BAD, Ran, safe_case, turn, write_batch, write_cases


def test_a_run_works_out_once_what_it_shows_everywhere(
    safe_gate: Callable[..., Ran], in_actions: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, own = Counter[str](), Modular.__dict__["section"]

    def counted(self: Modular, part: Any) -> Any:
        made[self.name] += 1
        return own.__get__(self, Modular)(part)

    monkeypatch.setattr(Modular, "section", counted, raising=False)
    write_batch(Path("b.json"), safe_case("s"))
    write_cases(Path("c.jsonl"), turn("a"), turn("b", assistant=BAD))
    in_actions()
    formats = "json,markdown,html,junit,sarif,gitlab,csv,jsonl,badge"
    ran = safe_gate("run", "--safe-batch", "b", "--synthesis-cases", "c.jsonl", "--reports", formats)
    assert ran.code == 1
    assert "::error" in ran.out
    assert made == {"safe_v0": 1, "synthesis": 1}
