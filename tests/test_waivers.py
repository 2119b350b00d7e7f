"""Known failures: what a waiver lets pass and until when, and that none outlives what it was for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Ran

SafeGate = Callable[..., Ran]
FILE = "safe-gate.waivers.json"


def waiver(id_: str, **fields: Any) -> dict[str, Any]:
    """Return a waiver of a case's agency language, with fields replaced; one that is None is left out."""
    kind = {} if "metric" in fields else {"check": "agency_language"}
    every = {"id": id_, **kind, "reason": "vendor model", "owner": "pat", "expires": "2026-01-31"} | fields
    return {name: value for name, value in every.items() if value is not None}


def write_waivers(*waivers: dict[str, Any], path: str = FILE) -> Path:
    Path(path).write_text(json.dumps({"waivers": waivers}, indent=1), "utf-8")
    return Path(path)


# --- the file -----------------------------------------------------------------------------------


def test_a_file_of_waivers_is_known_by_its_name_or_by_what_it_holds(safe_gate: SafeGate) -> None:
    write_waivers(waiver("a"), waiver("a", metric="CR"), waiver("b", x_ticket=1))
    write_waivers(path="mine.json")
    ran = safe_gate("validate", FILE, "mine.json")
    assert (ran.code, ran.out) == (0, "2 files valid, 0 cases\n")
    Path(FILE).write_text('{"waiver": []}', "utf-8")
    assert f"{FILE}:1: waiver: is not a known field" in safe_gate("validate", FILE).err
    Path("safe.config.json").write_text('{"min-pass-rate": 0.5}', "utf-8")
    assert safe_gate("validate", "safe.config.json").code == 0


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"reason": " \n"}, 'reason: is " \\n"; expected text of at most 2000 characters'),
        ({"reason": None}, "reason: is missing"),
        ({"owner": ""}, 'owner: is ""; expected text'),
        ({"expires": "2026-02-29"}, 'expires: is "2026-02-29"; expected the last day it holds, in UTC, as YYYY-MM-DD'),
        ({"expires": "2026-1-31"}, 'expires: is "2026-1-31"'),
        ({"expires": "20260131"}, 'expires: is "20260131"'),
        ({"expires": "never"}, 'expires: is "never"'),
        ({"expires": 20260131}, "expires: is 20260131"),
        ({"check": None}, "does not have exactly one of the shapes it may have; expected an object with id, either check"),
        ({"check": "agency_language", "metric": "CR"}, "does not have exactly one of the shapes"),
        ({"check": "agency_langage"}, 'check: "agency_langage" is not allowed (did you mean "agency_language"?)'),
        ({"metric": "cr"}, 'metric: "cr" is not allowed'),
        ({"id": ""}, "id: is"),
        ({"ticket": 1}, "ticket: is not a known field; names of your own start with x_"),
    ],
)  # fmt: skip
def test_what_is_no_waiver_is_refused_with_its_place(safe_gate: SafeGate, wrong: dict[str, Any], said: str) -> None:
    write_waivers(waiver("a"), waiver("b", **wrong))
    ran = safe_gate("validate", FILE)
    assert ran.code == 3
    assert re.search(rf"^{FILE}:\d+: waivers\[1\]", ran.err)
    assert said in ran.err


def test_two_waivers_of_one_failure_are_refused(safe_gate: SafeGate) -> None:
    write_waivers(waiver("a"), waiver("b"), waiver("a", owner="someone else"), waiver("a", metric="CR"))
    ran = safe_gate("validate", FILE)
    assert ran.code == 3
    assert f"{FILE}:17: a: waives what line 3 waives; keep one\n" in ran.err
    assert "could not judge: 1 problem" in ran.err
