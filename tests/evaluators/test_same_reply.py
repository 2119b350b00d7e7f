"""One and the same reply to different messages: what the report, the comment and the gate make of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safe_gate.core.figures import add_up
from safe_gate.evaluators.replies import Frequent, same_replies
from tests.support.cases import GOOD, SafeGate, report, safe_case, turn, write_batch, write_cases


@dataclass(frozen=True)
class Digested:
    """A result with its id and its digests."""

    id: str
    digests: Mapping[str, str]


SENTENCE = "4 of 6 cases have one and the same reply to different messages"


def cases(same: int, other: int) -> list[dict[str, Any]]:
    """Return cases with one reply, but for white space around it, and others, all with different messages."""
    alike = [turn(f"s{n}", user=f"I failed exam {n}.", assistant=GOOD + "\n" * n) for n in range(same)]
    return alike + [turn(f"o{n}", user=f"I failed test {n}.", assistant=f"{GOOD} Or test {n}?") for n in range(other)]


def test_the_same_reply_to_different_messages_breaks_the_gate_and_is_named(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), *cases(4, 2))
    ran = safe_gate("run", "--synthesis-cases", "c.jsonl")
    assert ran.code == 1
    assert f'{SENTENCE}: "s0", "s1", "s2", "s3".' in ran.out
    found = report()
    (broken,) = (rule for rule in found["rules"] if not rule["passed"])
    assert (broken["rule"], broken["names"]) == ("max-same-reply", ["s0", "s1", "s2", "s3"])
    assert broken["message"] == f"Share of the same reply 66.7% is above 50.0%: {SENTENCE}"
    assert [one["cases"] for one in found["synthesis"]["same_reply"]] == [4]
    codes = "<code>s0</code>, <code>s1</code>, <code>s2</code>, <code>s3</code>"
    markdown = Path("reports/safe-gate.md").read_text("utf-8")
    assert f"{SENTENCE}: {codes}." in markdown
    assert "**Share of the same reply 66.7% is above 50.0%**" in markdown
    assert safe_gate("verify", "reports/safe-gate.json").code == 0


@pytest.mark.parametrize(("limit", "code"), [("0.66", 1), ("0.67", 0), ("1", 0), ("off", 0), ("0", 1)])
@pytest.mark.parametrize("text", ["full", "none"])
def test_such_a_share_may_have_it(safe_gate: SafeGate, limit: str, code: int, text: str) -> None:
    write_cases(Path("c.jsonl"), *cases(4, 2))
    ran = safe_gate("run", "--synthesis-cases", "c.jsonl", "--max-same-reply", limit, "--text", text)
    assert ran.code == code
    assert f"{SENTENCE}: " in ran.out, "it is said under any limit"
    Path("safe.config.json").write_text(json.dumps({"max-same-reply": limit if limit == "off" else float(limit)}))
    assert safe_gate("run", "--synthesis-cases", "c.jsonl").code == code


@pytest.mark.parametrize(
    "found",
    [
        [turn(f"a{number}") for number in range(9)],
        [turn(f"a{number}", user=f"I failed exam {number % 2}.") for number in range(9)],
        cases(3, 13),
        cases(2, 0),
    ],
    ids=["one message", "two messages", "less than a fifth", "two cases"],
)
def test_few_messages_or_few_cases_are_no_finding(safe_gate: SafeGate, found: list[dict[str, Any]]) -> None:
    write_cases(Path("c.jsonl"), *found)
    assert safe_gate("run", "--synthesis-cases", "c.jsonl", "--max-same-reply", "0").code == 0
    assert report()["synthesis"]["same_reply"] == []


def test_outputs_of_safe_v0_are_compared_by_their_payloads(safe_gate: SafeGate) -> None:
    payloads = [{"age": age} for age in range(3)]
    write_batch(Path("b.json"), *(safe_case(f"c{one['age']}", patient_payload=one) for one in payloads))
    ran = safe_gate("run", "--safe-batch", "b.json")
    assert ran.code == 1
    (broken,) = (rule for rule in report()["rules"] if not rule["passed"])
    assert (broken["rule"], broken["evaluator"], broken["names"]) == ("max-same-reply", "safe_v0", ["c0", "c1", "c2"])
    write_batch(Path("b.json"), *(safe_case(f"c{number}") for number in range(3)))
    assert safe_gate("run", "--safe-batch", "b.json").code == 0, "without payloads the messages are not known"


def test_shards_find_what_one_run_finds(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), *cases(4, 2))
    for index in (1, 2, 3):
        safe_gate("run", "--synthesis-cases", "c.jsonl", "--shard", f"{index}/3")
    assert safe_gate("merge", "reports/*.shard-*.json", "--synthesis-cases", "c.jsonl").code == 1
    merged = report()["synthesis"]["same_reply"]
    safe_gate("run", "--synthesis-cases", "c.jsonl")
    assert report()["synthesis"]["same_reply"] == merged


@given(st.lists(st.sampled_from([*"aaaaaaabbbbbccccd", *map(str, range(90))]), max_size=120), st.integers(1, 9))
def test_every_reply_of_a_fifth_is_found_in_parts_of_any_size(replies: list[str], size: int) -> None:
    results = [Digested(str(at), {"reply": one, "message": str(at % 4)}) for at, one in enumerate(replies)]
    parts = [replies[start : start + size] for start in range(0, len(replies), size)]
    found = same_replies(add_up(map(Frequent.of, parts), Frequent()), results)
    messages = {one: {at % 4 for at, other in enumerate(replies) if other == one} for one in replies}
    counts = Counter(one for one in replies if len(messages[one]) > 2)
    assert {one.reply: one.cases for one in found} == {
        one: count for one, count in counts.items() if 5 * count >= len(replies)
    }
