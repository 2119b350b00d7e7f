"""Inputs that are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.cases import safe_case, write_batch, write_cases


def batches(**outputs: Any) -> None:
    cases = [safe_case("a"), safe_case("b")]
    for case in cases:
        del case["output"]
    write_batch(Path("b.json"), *cases)
    output = safe_case("x")["output"]
    lines = [{"test_id": test_id, "output": output} for test_id in outputs.get("ids", ())]
    write_cases(Path("b.outputs.jsonl"), *lines)
