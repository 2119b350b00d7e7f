"""Conversations that cannot be judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import GOOD, SafeGate, refused, turn
from tests.support.conversations import TOLD, case_refused, said, talk
from tests.support.synthesis import run

PICTURE = {"type": "image_url", "image_url": {"url": "x"}}


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        (said("Hi.")[:1], "messages: has no assistant message; expected one at its end, the reply to judge"),
        (said("Hi.", "Hello.", "Bye."), "messages[2]: is a user message at the end, which has no reply; add the reply"),
        ([], "messages: is an empty list; expected a list of 1 to 10000 messages"),
        ("Hi.", 'messages: is "Hi."; expected a list of 1 to 10000 messages'),
        ([*said("Hi."), {"role": "tool", "content": "7"}], 'messages[1].role: "tool" is not allowed'),
        ([{"role": "\x1b[31m", "content": "x"}], 'messages[0].role: "\\u001b[31m" is not allowed'),
        ([{"role": "assistant", "content": None}], "messages[0].content: is null; expected text, or a list"),
        ([{"role": "assistant"}], "messages[0].content: is missing; expected text, or a list of text parts"),
        ([{"role": "assistant", "content": "Hi.", "tool_calls": []}], "messages[0].tool_calls: is not a known field"),
        (said([PICTURE], "Nice."), 'messages[0].content[0].type: "image_url" is not allowed; expected text; safe-gate import leaves out'),
        (said([{"type": "text"}], "Nice."), "messages[0].content[0].text: is missing"),
    ],
)  # fmt: skip
def test_messages_that_cannot_be_judged_are_named_with_what_to_do(
    safe_gate: SafeGate, messages: Any, words: str
) -> None:
    case_refused(safe_gate, {"id": "a", "messages": messages}, words)


def labelled(*at: int) -> dict[str, Any]:
    """Return a case with labels of its own (-1) or of messages."""
    case = talk("a", TOLD, GOOD)
    for index in at:
        (case if index < 0 else case["messages"][index])["expected"] = {"topic_pivot": True}
    return case


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (talk("a", TOLD, GOOD, user="Hi."), "user: cannot be combined with messages; keep one of them"),
        (turn("a", turns="all"), "turns: is for a case with messages"),
        (turn("a", context=2), "context: is for a case with messages"),
        (talk("a", TOLD, GOOD, turns="every"), 'turns: "every" is not allowed'),
        (talk("a", TOLD, GOOD, context=101), "context: is 101, more than 100"),
        (labelled(-1, 1), "expected: labels the last message, which has labels of its own"),
        (labelled(0, 1), "messages[0].expected: labels a message that is not judged"),
    ],
)
def test_fields_that_contradict_messages_are_named(safe_gate: SafeGate, case: dict[str, Any], words: str) -> None:
    case_refused(safe_gate, case, words)


def test_a_hostile_role_is_not_quoted_where_texts_are_withheld(safe_gate: SafeGate) -> None:
    ran = run(safe_gate, {"id": "a", "messages": [{"role": "hunter2", "content": "x"}]}, flags=("--text", "none"))
    assert ran.code == 3
    assert "hunter2" not in ran.log + Path("reports/safe-gate.json").read_text("utf-8")


def test_ids_of_turns_and_of_lines_are_unique(safe_gate: SafeGate) -> None:
    both = talk("a", TOLD, GOOD, turns="all")
    for other in (turn("a@1"), talk("a", TOLD, GOOD, "Yes.", GOOD, turns="last")):
        refused(run(safe_gate, both, other), f"c.jsonl:2: {other['id']}: id: appears at c.jsonl:1 too")


def test_user_messages_that_are_read_together_have_the_bound_of_a_text(safe_gate: SafeGate) -> None:
    messages = [*({"role": "user", "content": "x" * 900} for _ in range(3)), *said("", GOOD)[1:]]
    words = "a: messages[0] to messages[2]: is longer than 2000 bytes, the limit of bounds.text"
    refused(run(safe_gate, {"id": "a", "messages": messages}, flags=("--bounds", "text=2000")), words)
    assert run(safe_gate, flags=("--bounds", "text=2700")).code == 0
