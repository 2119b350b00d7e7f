"""Conversations that cannot be judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import GOOD, SafeGate, turn, write_cases
from tests.support.conversations import TOLD, refused, said, talk


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
        (
            [*said("Hi."), {"role": "assistant", "content": "Hi.", "tool_calls": []}],
            "messages[1].tool_calls: is not a known field",
        ),
        (
            said([{"type": "image_url", "image_url": {"url": "x"}}], "Nice."),
            'messages[0].content[0].type: "image_url" is not allowed; expected text; safe-gate import leaves out',
        ),
        (said([{"type": "text"}], "Nice."), "messages[0].content[0].text: is missing"),
    ],
)
def test_messages_that_cannot_be_judged_are_named_with_what_to_do(
    safe_gate: SafeGate, messages: Any, words: str
) -> None:
    refused(safe_gate, {"id": "a", "messages": messages}, words)


def test_fields_that_contradict_messages_are_named(safe_gate: SafeGate) -> None:
    refused(safe_gate, talk("a", TOLD, GOOD, user="Hi."), "user: cannot be combined with messages; keep one of them")
    refused(safe_gate, turn("a", turns="all", context=2), "turns: is for a case with messages", "context: is for a")
    refused(safe_gate, talk("a", TOLD, GOOD, turns="every"), 'turns: "every" is not allowed')
    refused(safe_gate, talk("a", TOLD, GOOD, context=101), "context: is 101, more than 100")
    twice = talk("a", TOLD, GOOD, expected={"topic_pivot": True})
    twice["messages"][1]["expected"] = {"topic_pivot": True}
    refused(safe_gate, twice, "expected: labels the last message, which has labels of its own")
    twice["messages"][0]["expected"] = twice.pop("expected")
    refused(safe_gate, twice, "messages[0].expected: labels a message that is not judged")


def test_a_hostile_role_is_not_quoted_where_texts_are_withheld(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), {"id": "a", "messages": [{"role": "hunter2", "content": "x"}]})
    ran = safe_gate("run", "--synthesis-cases", "c.jsonl", "--text", "none")
    assert ran.code == 3
    assert "hunter2" not in ran.log + Path("reports/safe-gate.json").read_text("utf-8")


def test_ids_of_turns_and_of_lines_are_unique(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), talk("a", TOLD, GOOD, turns="all"), turn("a@1"))
    ran = safe_gate("run", "--synthesis-cases", "c.jsonl")
    assert ran.code == 3
    assert "c.jsonl:2: a@1: id: appears at c.jsonl:1 too" in ran.err
    write_cases(Path("c.jsonl"), talk("a", TOLD, GOOD, turns="all"), talk("a", TOLD, GOOD, "Yes.", GOOD, turns="last"))
    ran = safe_gate("run", "--synthesis-cases", "c.jsonl")
    assert "c.jsonl:2: a: id: appears at c.jsonl:1 too" in ran.err


def test_user_messages_that_are_read_together_have_the_bound_of_a_text(safe_gate: SafeGate) -> None:
    messages = [*({"role": "user", "content": "x" * 900} for _ in range(3)), *said("", GOOD)[1:]]
    write_cases(Path("c.jsonl"), {"id": "a", "messages": messages})
    ran = safe_gate("run", "--synthesis-cases", "c.jsonl", "--bounds", "text=2000")
    assert ran.code == 3
    assert "a: messages[0] to messages[2]: is longer than 2000 bytes, the limit of bounds.text" in ran.err
    assert safe_gate("run", "--synthesis-cases", "c.jsonl", "--bounds", "text=2700").code == 0
