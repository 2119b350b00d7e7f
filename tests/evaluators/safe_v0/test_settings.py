"""What the thresholds of SAFE v0 let an output miss."""

from __future__ import annotations

from typing import Any

import pytest

from safe_gate.evaluators.safe_v0.gate import missable

GENERAL = {"thresholds": {"CR": {"pass": 0.8, "review": 0.5}, "AH": {"pass": 1.0, "review": 0.5}}}


@pytest.mark.parametrize(
    ("key", "count", "settings", "missed"),
    [
        ("CR", 0, {}, (0,)),
        ("CR", 4, {}, (0,)),
        ("CR", 5, {}, (1,)),
        ("CR", 5, {"max_fail_labels": 0}, (1, 2)),
        ("CR", 5, {"archetypes": {"A": {"thresholds": {"CR": {"pass": 0.6}}}}}, (2,)),
        ("CR", 5, {"archetypes": {"B": {"thresholds": {"CR": {"pass": 0.6}}}}}, (1,)),
        ("AH", 2, {"max_fail_labels": 0}, (0, 1)),
        ("AH", 2, {"max_fail_labels": 0, "strict_ah": True}, ()),
        ("checks", 2, {}, ()),
    ],
)
def test_more_needles_let_an_output_miss_more(
    key: str, count: int, settings: dict[str, Any], missed: tuple[int, ...]
) -> None:
    asks = {"archetype": "A", key: [str(number) for number in range(count)]}
    assert missable(key, asks, GENERAL | settings) == missed
