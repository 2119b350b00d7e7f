"""Results of promptfoo."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cases import SafeGate
from tests.support.importing import exchanges, imported, promptfoo, result


@pytest.mark.parametrize("indent", [None, 1])
def test_promptfoo_with_two_providers_and_an_error_row(safe_gate: SafeGate, indent: int | None) -> None:
    failed = {"success": False, "failureReason": 1, "error": "Expected output to contain Monday"}
    broken = {"success": False, "failureReason": 2, "error": "API call error: 429"}
    results = [
        result(1, "echo:a", {"output": "One"}),
        result(1, "echo:b", {"output": "Two"}, **failed),
        result(2, "echo:a", {"error": "API call error: 429"}, **broken),
        result(2, "echo:b", {"output": ""}),
    ]
    Path("r.json").write_text(json.dumps(promptfoo(*results), indent=indent), "utf-8")
    ran = safe_gate("import", "r.json", "--out", "out.jsonl", "--force")
    assert ran.code == 3
    assert "t2: is an error: API call error: 429\n" in ran.err
    assert "Nothing is written; set --skip-invalid" in ran.err
    assert not Path("out.jsonl").exists()
    cases = imported(safe_gate, "r.json", "--skip-invalid")
    ask = "Where is parcel {}?".format
    # The sample that is missing keeps its number, so that each provider keeps its own.
    assert exchanges(cases) == [("t1#1", ask(1), "One"), ("t1#2", ask(1), "Two"), ("t2#2", ask(2), "")]
    assert [case["x_provider"] for case in cases] == ["echo:a", "echo:b", "echo:b"]
    assert "Skipped: 1 record" in safe_gate("import", "r.json", "--out", "o.jsonl", "--skip-invalid").err
