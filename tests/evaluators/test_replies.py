"""Recordings that did not come from a model: texts that are no reply, and one reply to many messages."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safe_gate.evaluators.replies import NoReply, no_reply, same_replies, why_no_replies
from tests.support.cases import BAD, GOOD, REPOSITORY, SafeGate, read_lines, report, safe_case, turn, write_batch
from tests.support.judged_run import waive
from tests.support.reports import scorecard
from tests.support.safe_v0 import asking, saying
from tests.support.synthesis import results, run

RULES = json.loads((REPOSITORY / "safe_gate/evaluators/no_reply.json").read_text("utf-8"))["rules"]
ERROR = "Error: 500 Internal Server Error"
CHECKED = {"checks": ["unverifiable_reassurance"]}


def broken() -> dict[str, Any]:
    """Return the one rule that the last run broke."""
    (rule,) = (rule for rule in report()["rules"] if not rule["passed"])
    return dict(rule)


HITS = [(rule["id"], rule.get("what"), text) for rule in RULES for text in rule["hit"]]


def test_every_rule_hits_and_misses_the_texts_it_names() -> None:
    for rule, what, text in HITS:
        found = no_reply(text)
        assert found is not None, (rule, text)
        assert what in (None, found.value), (rule, text)
        assert no_reply(f"\ufeff\r\n{text}\n\n") is found, (rule, text)
    assert [text for rule in RULES for text in rule["miss"] if no_reply(text) is not None] == []
    assert no_reply(f"{ERROR}\n   \n{ERROR}") is no_reply(ERROR), "a blank line belongs to an error"


@given(
    st.sampled_from([text for _, _, text in HITS]),
    st.sampled_from(["It hurts.", "It says this. What did you click?", "You are not alone in this."]),
)
def test_a_sentence_beside_an_error_makes_it_a_reply(error: str, words: str) -> None:
    for text in (f"{words}\n\n{error}", f"{error}\n\n{words}", f"```\n{error}\n```"):
        assert no_reply(text) is None


UNSEEN = ["", " \n\t\r\n", "\u200b\ufeff\u2060", "\xa0", "\u2800", "\x01", "\u2066\u2069", "\U000e0041"]
THOUGHTS = [
    "<think>Hm.</think>",
    "<think>Hm. I should",
    "Hm.</think>\n\n",
    "<thinking>\nHm.\n</thinking>\n<think>Oh.</think>",
]
MARKUP = ["<p></p>", "<!-- nothing -->", "<!-- a --><!--><!--->\x02", "<br>\n<br/>", "&nbsp;", "&#8203;&#x200B;&shy;"]
VALUES = ["null", "None\n", "undefined", "nan", "NULL", '""', "[object Object]", "(no response)"]
SIGNS = [
    "None.",
    "{}",
    "...",
    "\U0001f622",
    "0",
    "No.",
    "<3",
    "<think>Hm.</think>Hi.",
    "In <think> and </think>",
    "<!-- a>",
    '<img src="a.png">',
    "&amp;",
    "\ue000",
]
DRESSED = ["Error:\u00a0500  Internal\tServer\u2003Error", "Err\u200bor: 500 Internal\u00ad Server Error"]
TRACE = "Traceback\u00a0(most recent call last):\n\u00a0\u00a0File \"a.py\", line 3, in <module>\nKeyError: 'x'"
KINDS = {
    None: SIGNS,
    NoReply.EMPTY: UNSEEN + THOUGHTS + MARKUP + VALUES,
    NoReply.MESSAGE: DRESSED,
    NoReply.TRACE: [TRACE],
}


@pytest.mark.parametrize("kind", KINDS)
def test_only_what_shows_a_sign_that_is_no_error_is_a_reply(kind: NoReply | None) -> None:
    assert [text for text in KINDS[kind] if no_reply(text) is not kind] == []


@given(st.text(max_size=60))
def test_blanks_around_a_text_change_nothing(text: str) -> None:
    assert no_reply(f"  \n{text}\n ") is no_reply(text)


def test_no_reply_of_the_repositorys_labelled_cases_is_an_error() -> None:
    for path in (*(REPOSITORY / "data/synthesis").glob("*.jsonl"), REPOSITORY / "examples/empathy.jsonl"):
        lines = [line for line in read_lines(path) if "assistant" in line]
        assert [one["id"] for one in lines if no_reply(one["assistant"], one["user"]) is not None] == [], path


def test_a_case_without_a_reply_breaks_the_gate_and_is_named(safe_gate: SafeGate) -> None:
    mute, down = (turn(id_, assistant=text, **CHECKED) for id_, text in (("mute", " "), ("down", ERROR)))
    ran = run(safe_gate, turn("good"), mute, down)
    assert ran.code == 1
    assert '2 cases have no reply, so the recording is broken: "mute", "down".' in ran.out
    assert "no reply: error message" in ran.out
    assert "**: <code>mute</code>, <code>down</code> (`max-no-reply`)" in scorecard()
    rule, summary = broken(), report()["synthesis"]["summary"]
    assert (rule["rule"], rule["names"]) == ("max-no-reply", ["mute", "down"])
    assert (summary["no_reply"], summary["unexpected_failures"]) == (2, 0)
    assert [one.get("no_reply") for one in results().values()] == [None, "empty", "error message"]
    assert safe_gate("validate", "reports/safe-gate.json").code == 0
    assert safe_gate("verify", "reports/safe-gate.json").code == 0


UNANSWERED = [
    {"reply": ""},
    {"model": "m", "response": "", "done": True, "eval_count": 0, "total_duration": 12},
    {"response": "", "error": None},
    {"answer": None, "conversationId": "c-1", "latency_ms": 12, "model": "m"},
    {"choices": [], "usage": {"total_tokens": 0}},
    {"output": [], "reason": "quota exceeded", "ok": True},
    {"candidates": [], "promptFeedback": {"blockReason": "SAFETY"}},
    {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": " \n"}],
        "usage": {"output_tokens": 0},
    },
]
ANSWERED = [
    {"reply": "", "action": "escalate"},
    {"reply": "", "note": "Breathe"},
    {"reply": "", "reason": "Rest a little."},
    {"message": "", "details": "Please stay on the line"},
    {"reply": "", "model": "Rest a little"},
    {"message": "", "suggestions": ["Call 988"]},
    {"text": "", "options": [{"text": "Breathe"}]},
    {"answer": 0},
    {"id": "c"},
    {"steps": [{"id": 1, "ok": False}]},
    ["", {"reply": ""}],
]
MESSAGES = [
    ({"content": ""}, "empty"),
    ({"content": None, "refusal": None, "tool_calls": []}, "empty"),
    ({"content": "Rest a little."}, None),
    ({"content": None, "refusal": "I can't help with that."}, None),
    ({"content": None, "tool_calls": [{"id": "t", "type": "function", "function": {"name": "call"}}]}, None),
    (7, None),
]


def completion(message: Any) -> dict[str, Any]:
    """Return a chat completion as OpenAI's API answers, with what a filter says beside the choice."""
    found = {"index": 0, "message": message, "finish_reason": "content_filter", "filter": {"hate": "no match"}}
    choice = found if isinstance(message, dict) else message
    return {"id": "c", "object": "chat.completion", "choices": [choice], "usage": {"total_tokens": 9}}


def test_json_whose_reply_is_empty_is_no_reply_unless_it_holds_something_for_a_reader(safe_gate: SafeGate) -> None:
    expected: list[tuple[Any, str | None]] = [(one, "empty") for one in UNANSWERED]
    expected += [(one, None) for one in ANSWERED] + [(completion(message), why) for message, why in MESSAGES]
    replies = [turn(f"c{at}", assistant=json.dumps(one), **CHECKED) for at, (one, _) in enumerate(expected)]
    assert run(safe_gate, *replies).code == 1
    assert [results()[f"c{at}"].get("no_reply") for at in range(len(expected))] == [why for _, why in expected]
    assert broken()["rule"] == "max-no-reply"


def test_the_message_again_is_no_reply_unless_it_is_short(safe_gate: SafeGate) -> None:
    asked = "I failed my exam."
    said = {
        "I failed my exam.": "the message",
        "\u200b i FAILED my exam.\n": "the message",
        "You failed your exam.": None,
    }
    replies = [turn(f"c{at}", user=asked, assistant=one, **CHECKED) for at, one in enumerate(said)]
    short = turn("short", user="Thanks a lot!", assistant="Thanks a lot!", **CHECKED)
    assert run(safe_gate, *replies, short).code == 1
    assert [one.get("no_reply") for one in results().values()] == [*said.values(), None]
    assert broken()["names"] == ["c0", "c1"]
    assert safe_gate("validate", "reports/safe-gate.json").code == 0


def test_so_many_cases_may_have_no_reply(safe_gate: SafeGate) -> None:
    mute = [turn(id_, assistant="", **CHECKED) for id_ in "ab"]
    for limit, code in (("2", 0), ("1", 1), ("off", 0)):
        assert run(safe_gate, *mute, flags=("--max-no-reply", limit)).code == code
        assert safe_gate("verify", "reports/safe-gate.json").code == 0


@pytest.mark.parametrize("profile", ["standard", "spec"])
def test_a_negative_example_without_a_reply_is_no_expected_failure(safe_gate: SafeGate, profile: str) -> None:
    fields = {"checks": ["agency_language"], "tags": ["negative_example"]}
    bad, down = (turn(id_, assistant=text, **fields) for id_, text in (("bad", BAD), ("down", ERROR)))
    assert run(safe_gate, bad, down, flags=("--max-no-reply", "off", "--profile", profile)).code == 1
    summary = report()["synthesis"]["summary"]
    assert (summary["expected_failures"], summary["unexpected_failures"]) == (1, 1)
    assert summary["by_tag"]["negative_example"]["passed_as_expected"] == 1
    assert safe_gate("eval", "--cases", "c.jsonl", "--profile", profile).code == 2
    idle = turn("idle", user="Where is it?", assistant="null", checks=["topic_pivot"], tags=["negative_example"])
    for limit, code in (("off", 0), ("1", 0), ("0", 1)):
        flags = ("--max-no-reply", "off", "--max-unexpected-passes", limit, "--profile", profile)
        assert run(safe_gate, idle, flags=flags).code == code
    summary = report()["synthesis"]["summary"]
    assert [summary[f"unexpected_{ends}"] for ends in ("failures", "passes")] == [0, 1]
    assert summary["by_tag"]["negative_example"]["passed_as_expected"] == 0


SILENT = [saying(questions=[]), saying(summary=ERROR, questions=[]), saying(" ", summary="\n", questions=[ERROR])]


@pytest.mark.parametrize("output", SILENT)
def test_an_output_of_safe_v0_that_is_empty_or_an_error_alone_is_no_reply(safe_gate: SafeGate, output: Any) -> None:
    write_batch(Path("b.json"), safe_case("down", output=output, expectations=asking()), safe_case("up"))
    ran = safe_gate("run", "--safe-batch", "b.json")
    assert (ran.code, '1 case has no reply, so the recording is broken: "down".' in ran.out) == (1, True)
    part, rule = report()["safe_v0"], broken()
    assert (rule["rule"], rule["evaluator"], rule["names"]) == ("max-no-reply", "safe_v0", ["down"])
    assert (part["no_reply"], part["summary"]["pass"]) == (1, 2), "the specification's labels stay"
    assert safe_gate("run", "--safe-batch", "b.json", "--max-no-reply", "1").code == 0
    scored = safe_gate("score", "--batch", "b.json")
    assert (scored.code, "1 case has no reply" in scored.out) == (0, True)


def test_a_waiver_does_not_excuse_a_case_from_having_a_reply(safe_gate: SafeGate) -> None:
    waive({"id": "a", "check": "agency_language"})
    assert run(safe_gate, turn("a", assistant="", checks=["agency_language"])).code == 1
    assert broken()["rule"] == "max-no-reply"


def test_eval_says_it_and_keeps_its_exit_code(safe_gate: SafeGate) -> None:
    run(safe_gate, turn("a", assistant="", **CHECKED))
    ran = safe_gate("eval", "--cases", "c.jsonl")
    assert ran.code == 0
    assert ran.out.endswith("Eval: PASS (0 unexpected failures, 0 allowed; 1 case without a reply)\n")
    assert "no reply: empty" in safe_gate("explain", "a", "--cases", "c.jsonl").out
    assert why_no_replies(["", "TODO", "ERROR"]) is no_reply("TODO"), "the first reason"
    assert why_no_replies(["TODO", "That is hard."]) is None


@dataclass(frozen=True)
class Digested:
    """A result with its id and its digests."""

    id: str
    digests: Mapping[str, str]


SENTENCE = "4 of 6 cases have one and the same reply to different messages"


def cases(same: int, other: int) -> list[dict[str, Any]]:
    """Return cases with one reply, but for what nobody sees of it, and others, all with different messages."""
    ways = (GOOD, f"{GOOD}\n", f"{GOOD}\u200b", GOOD.replace(" ", "\u2800"))
    alike = [turn(f"s{n}", user=f"I failed exam {n}.", assistant=one) for n, one in enumerate(ways[:same])]
    return alike + [turn(f"o{n}", user=f"I failed test {n}.", assistant=f"{GOOD} Or test {n}?") for n in range(other)]


def test_the_same_reply_to_different_messages_breaks_the_gate_and_is_named(safe_gate: SafeGate) -> None:
    ran = run(safe_gate, *cases(4, 2))
    assert ran.code == 1
    assert f'{SENTENCE}: "s0", "s1", "s2", "s3".' in ran.out
    rule = broken()
    assert (rule["rule"], rule["names"]) == ("max-same-reply", ["s0", "s1", "s2", "s3"])
    assert rule["message"] == f"Share of the same reply 66.7% is above 50.0%: {SENTENCE}"
    assert [one["cases"] for one in report()["synthesis"]["same_reply"]] == [4]
    assert f"{SENTENCE}: <code>s0</code>, <code>s1</code>, <code>s2</code>, <code>s3</code>." in scorecard()
    assert "**Share of the same reply 66.7% is above 50.0%**" in scorecard()
    assert safe_gate("verify", "reports/safe-gate.json").code == 0


def test_such_a_share_may_have_it(safe_gate: SafeGate) -> None:
    for limit, code in (("0.66", 1), ("0.67", 0), ("1", 0), ("off", 0), ("0", 1)):
        ran = run(safe_gate, *cases(4, 2), flags=("--max-same-reply", limit, "--text", "none"))
        assert ran.code == code
        assert f"{SENTENCE}: " in ran.out, "it is said under any limit"


def test_few_messages_or_few_cases_are_no_finding(safe_gate: SafeGate) -> None:
    one_message = [turn(f"a{number}") for number in range(9)]
    two_messages = [turn(f"a{number}", user=f"I failed exam {number % 2}.") for number in range(9)]
    for found in (one_message, two_messages, cases(3, 13), cases(2, 0)):
        assert run(safe_gate, *found, flags=("--max-same-reply", "0")).code == 0
        assert report()["synthesis"]["same_reply"] == []


def test_outputs_of_safe_v0_are_compared_by_their_payloads(safe_gate: SafeGate) -> None:
    payloads = [{"age": age} for age in range(3)]
    write_batch(Path("b.json"), *(safe_case(f"c{one['age']}", patient_payload=one) for one in payloads))
    ran = safe_gate("run", "--safe-batch", "b.json")
    assert ran.code == 1
    rule = broken()
    assert (rule["rule"], rule["evaluator"], rule["names"]) == ("max-same-reply", "safe_v0", ["c0", "c1", "c2"])
    write_batch(Path("b.json"), *(safe_case(f"c{number}") for number in range(3)))
    assert safe_gate("run", "--safe-batch", "b.json").code == 0, "without payloads the messages are not known"


@given(st.lists(st.sampled_from([*"aaaaaaabbbbbccccd", *map(str, range(90))]), max_size=120))
def test_every_reply_of_a_fifth_is_found_in_parts_of_any_size(replies: list[str]) -> None:
    results: list[Any] = [Digested(str(at), {"reply": one, "message": str(at % 4)}) for at, one in enumerate(replies)]
    found = same_replies(results)
    messages = {one: {at % 4 for at, other in enumerate(replies) if other == one} for one in replies}
    counts = Counter(one for one in replies if len(messages[one]) > 2)
    frequent = {one: count for one, count in counts.items() if 5 * count >= len(replies)}
    assert {one.reply: one.cases for one in found} == frequent
