"""A green that nobody earned is counted, named where it is most of a metric, and gated where that is asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import Ran, SafeGate, report, safe_case, turn, write_batch, write_cases

NEUTRAL = {"user": "Which bus goes to the station?", "assistant": "Would you like to take line 4?"}
EMPTY = {
    "signal_generation": {"must_find_signals": []},
    "event_summary": {"must_contain_phrases": ["went home"]},
    "followup_questions": {"forbidden_terms": []},
}


@pytest.fixture
def judged(safe_gate: SafeGate) -> Callable[..., Ran]:
    """Run the gate over so many cases that expect something, and so many that expect little."""

    def run(*arguments: str, full: int, empty: int) -> Ran:
        batch = [safe_case(f"s{i}", **({} if i < full else {"expectations": EMPTY})) for i in range(full + empty)]
        write_batch(Path("b.json"), *batch)
        turns = [turn(f"t{i}", **({} if i < full else NEUTRAL)) for i in range(full + empty)]
        write_cases(Path("c.jsonl"), *turns)
        return safe_gate("run", "--safe-batch", "b", "--synthesis-cases", "c.jsonl", *arguments)

    return run


def test_scores_and_verdicts_that_say_nothing_are_counted(judged: Callable[..., Ran]) -> None:
    assert judged(full=1, empty=3).code == 0
    found = report()
    assert found["safe_v0"]["vacuity"] == {
        "scores": {"total": 12, "vacuous": 6, "share": 0.5},
        "by_metric": {
            "CR": {"total": 4, "vacuous": 3, "share": 0.75},
            "AH": {"total": 4, "vacuous": 3, "share": 0.75},
            "AC": {"total": 4, "vacuous": 0, "share": 0.0},
        },
    }
    assert found["synthesis"]["vacuity"] == {
        "verdicts": {"total": 12, "not_applicable": 3, "share": 0.25},
        "cases": {"total": 4, "without_labels": 4, "share": 1.0},
    }


@pytest.mark.parametrize(
    ("full", "empty", "named"), [(0, 1, True), (0, 2, True), (1, 2, True), (1, 1, False), (2, 0, False)]
)
def test_a_metric_that_is_mostly_vacuous_is_named_in_every_format(
    judged: Callable[..., Ran], safe_gate: SafeGate, full: int, empty: int, named: bool
) -> None:
    log = judged(full=full, empty=empty).out
    total = full + empty
    cases = "cases name" if total > 1 else "case names"
    verdicts = "verdicts are" if total > 1 else "verdict is"
    idle = f"{empty} of {total} {verdicts} not applicable, which passes but proves nothing."
    sentences = (
        f"CR: {empty} of {total} {cases} no signals to find, so 1.00 there proves nothing.",
        f"AH: {empty} of {total} {cases} no forbidden terms, so 1.00 there proves nothing.",
        f"Topic pivot: {idle}",
    )
    markdown = Path("reports/safe-gate.md").read_text("utf-8")
    alone = safe_gate("score", "--batch", "b").out + safe_gate("eval", "--cases", "c.jsonl").out
    safe_gate("score", "--batch", "b", "--format", "markdown", "--output", "card.md")
    for sentence in sentences:
        for text in (log, markdown[: markdown.index("<details>")], alone):
            assert (sentence in text) is named
        assert (sentence in Path("card.md").read_text("utf-8")) is (named and "opic" not in sentence)
    assert "AC: " not in log


@pytest.mark.parametrize("reply", ["", " \n", "...", "🙂", "https://example.org", "2.", "<p></p>"])
def test_reassurance_is_not_applicable_to_a_reply_without_words(safe_gate: SafeGate, reply: str) -> None:
    write_cases(Path("c.jsonl"), turn("a", assistant=reply, checks=["unverifiable_reassurance"]))
    ran = safe_gate("eval", "--cases", "c.jsonl")
    assert ran.code == 0
    assert "Unverifiable reassurance: 1 of 1 verdict is not applicable, which passes but proves nothing.\n" in ran.out
    assert safe_gate("run", "--cases", "c.jsonl", "--max-vacuous", "0").code == 1
    assert "not applicable" not in safe_gate("eval", "--cases", "c.jsonl", "--profile", "spec").out


@pytest.mark.parametrize(("limit", "code"), [("0.5", 0), ("0.49", 1), ("0", 1), ("1", 0)])
def test_the_share_is_gated_where_that_is_asked_for(judged: Callable[..., Ran], limit: str, code: int) -> None:
    assert judged("--max-vacuous", limit, full=1, empty=3).code == code
    rules = [rule for rule in report()["rules"] if rule["rule"] == "max-vacuous"]
    assert [(rule["evaluator"], rule["value"]) for rule in rules] == [("safe_v0", 0.5), ("synthesis", 0.25)]


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([{}, {}], ", no labels"),
        ([{"topic_pivot": True}, {}], ", checks match 1 of 1 label, 100.0% (20.7 to 100.0), 1 case without labels"),
        ([{"topic_pivot": True}] * 2, ", checks match 2 of 2 labels, 100.0% (34.2 to 100.0)\n"),
        ([{"topic_pivot": True}, {"x_mine": True}], "1 case without"),
    ],
)
def test_cases_without_labels_are_counted(safe_gate: SafeGate, labels: list[dict[str, Any]], said: str) -> None:
    write_cases(Path("c.jsonl"), *(turn(f"t{i}", expected=expected) for i, expected in enumerate(labels)))
    assert safe_gate("run", "--synthesis-cases", "c.jsonl", "--max-vacuous", "0").code == 0
    text = Path("reports/safe-gate.md").read_text("utf-8").replace("  \n", "\n")
    assert said in text
    assert report()["synthesis"]["vacuity"]["cases"]["without_labels"] == sum(
        "topic_pivot" not in label for label in labels
    )


def test_a_check_that_ships_by_default_and_never_ran_or_applied_is_named_in_one_line(safe_gate: SafeGate) -> None:
    asked = (f"What is {number} and 2?" for number in range(6))
    write_cases(Path("c.jsonl"), *(turn(f"c{number}", user=user) for number, user in enumerate(asked)))
    write_cases(Path("d.jsonl"), *(turn(f"d{number}", checks=["agency_language"]) for number in range(2)))
    log = safe_gate("run", "--synthesis-cases", "c.jsonl", "--max-same-reply", "off").out
    idle = "Topic pivot: 6 of 6 verdicts are not applicable, which passes but proves nothing."
    assert f"{idle}\n" in log
    assert f"\n{idle}  \n" in Path("reports/safe-gate.md").read_text("utf-8")
    log = safe_gate("run", "--synthesis-cases", "d.jsonl").out
    assert "`unverifiable_reassurance` and `topic_pivot` did not run on any of 2 cases.\n" in log
