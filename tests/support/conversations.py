"""Conversations, evaluated."""

from pathlib import Path
from typing import Any

from tests.support.cases import SafeGate, read_json, refused, turn, write_cases

SETTINGS = {"default_checks": ["topic_pivot"], "turns": "last", "context": 1, "profile": "standard"}
TOLD = "I failed my exam and I feel awful about it."
AWAY = "Anyway, let's talk about something else. Look at the weather."


def said(*texts: Any, system: str = "") -> list[dict[str, Any]]:
    """Return texts as messages, which the user and the assistant write in turn."""
    first = [{"role": "system", "content": system}] if system else []
    return first + [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]


def talk(id_: str, *texts: Any, **fields: Any) -> dict[str, Any]:
    """Return a case with messages, and other fields."""
    return {"id": id_, "messages": said(*texts, system=fields.pop("system", ""))} | fields


def evaluated(safe_gate: SafeGate, *cases: dict[str, Any], flags: tuple[str, ...] = ()) -> dict[str, dict[str, Any]]:
    write_cases(Path("c.jsonl"), *cases)
    ran = safe_gate("eval", "--cases", "c.jsonl", "--out", "o.json", *flags)
    assert ran.code in (0, 2), ran.err
    return {one["id"]: one for one in read_json("o.json")["results"]}


def case_refused(safe_gate: SafeGate, case: dict[str, Any], words: str) -> None:
    """Assert that a case is refused in words that name its place."""
    write_cases(Path("c.jsonl"), turn("first"), case)
    for command in (("eval", "--cases"), ("validate",)):
        refused(safe_gate(*command, "c.jsonl"), f"c.jsonl:2: {case['id']}: {words}")
