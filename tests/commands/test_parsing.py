"""The help of a command's flags."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.cases import Ran


def test_the_help_of_a_flag_does_not_ask_for_a_value_per_line(safe_gate: Callable[..., Ran]) -> None:
    words = " ".join(safe_gate("run", "--help").out.split())
    assert "rule packs (JSON): paths or globs." in words
    assert "these tags or archetypes. Reports name" in words
    assert words.count("one per line") == words.count("events, one per line") == 1
