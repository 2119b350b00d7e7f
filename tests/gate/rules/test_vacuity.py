"""A green that nobody earned is counted, named where it is most of a metric, and gated where that is asked for."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import Ran, SafeGate, report, safe_case, turn, write_batch, write_cases, write_json
from tests.support.safe_v0 import asking

NEUTRAL = {"user": "Which bus goes to the station?", "assistant": "Would you like to take line 4?"}
EMPTY = asking(phrases=["went home"], forbidden=())
MARKDOWN = Path("reports/safe-gate.md")


@pytest.fixture
def judged(safe_gate: SafeGate) -> Callable[..., Ran]:
    """Run the gate over so many cases that expect something, and so many that expect little."""

    def run(*arguments: str, full: int, empty: int) -> Ran:
        batch = [safe_case(f"s{i}", **({} if i < full else {"expectations": EMPTY})) for i in range(full + empty)]
        write_batch(Path("b.json"), *batch)
        write_cases(Path("c.jsonl"), *(turn(f"t{i}", **({} if i < full else NEUTRAL)) for i in range(full + empty)))
        return safe_gate("run", "--safe-batch", "b", "--synthesis-cases", "c.jsonl", *arguments)

    return run


@pytest.mark.parametrize(("limit", "code"), [("0.5", 0), ("0.49", 1), ("off", 0)])
def test_what_says_nothing_is_counted_and_gated_on_request(judged: Callable[..., Ran], limit: str, code: int) -> None:
    assert judged("--max-vacuous", limit, full=1, empty=3).code == code
    found = report()
    rules = [(rule["evaluator"], rule["value"]) for rule in found["rules"] if rule["rule"] == "max-vacuous"]
    assert rules == [("safe_v0", 0.5), ("synthesis", 0.25)] * (limit != "off")
    shares = {name: one["share"] for name, one in found["safe_v0"]["vacuity"]["by_metric"].items()}
    assert (found["safe_v0"]["vacuity"]["scores"]["share"], shares) == (0.5, {"CR": 0.75, "AH": 0.75, "AC": 0})
    assert found["synthesis"]["vacuity"] == {
        "verdicts": {"total": 12, "not_applicable": 3, "share": 0.25},
        "cases": {"total": 4, "without_labels": 4, "share": 1.0},
    }


@pytest.mark.parametrize(("full", "empty", "named"), [(0, 1, True), (1, 2, True), (1, 1, False)])
def test_a_metric_that_is_mostly_vacuous_is_named_in_every_format(
    judged: Callable[..., Ran], safe_gate: SafeGate, full: int, empty: int, named: bool
) -> None:
    log, total = judged(full=full, empty=empty).out, full + empty
    cases, verdicts = ("cases name", "verdicts are") if total > 1 else ("case names", "verdict is")
    sentences = (
        f"CR: {empty} of {total} {cases} no signals to find, so 1.00 there proves nothing.",
        f"AH: {empty} of {total} {cases} no forbidden terms, so 1.00 there proves nothing.",
        f"Topic pivot: {empty} of {total} {verdicts} not applicable, which passes but proves nothing.",
    )
    markdown = MARKDOWN.read_text("utf-8")
    alone = safe_gate("score", "--batch", "b").out + safe_gate("eval", "--cases", "c.jsonl").out
    for text in (log, markdown[: markdown.index("<details>")], alone):
        assert [sentence in text for sentence in sentences] == [named] * 3
    assert "AC: " not in log


@pytest.mark.parametrize("reply", ["", "...", "🙂", "https://example.org", "<p></p>"])
def test_reassurance_is_not_applicable_to_a_reply_without_words(safe_gate: SafeGate, reply: str) -> None:
    write_cases(Path("c.jsonl"), turn("a", assistant=reply, checks=["unverifiable_reassurance"]))
    ran = safe_gate("eval", "--cases", "c.jsonl")
    assert ran.code == 0
    assert "Unverifiable reassurance: 1 of 1 verdict is not applicable, which passes but proves nothing.\n" in ran.out
    assert safe_gate("run", "--cases", "c.jsonl", "--max-vacuous", "0").code == 1
    assert "not applicable" not in safe_gate("eval", "--cases", "c.jsonl", "--profile", "spec").out


@pytest.mark.parametrize(
    ("labels", "without", "said"),
    [
        ([{}, {}], 2, ", no labels"),
        ([{"topic_pivot": True}, {}], 1, ", checks match 1 of 1 label, 100.0% (20.7 to 100.0), 1 case without labels"),
    ],
)
def test_labels_that_lack_are_counted(safe_gate: SafeGate, labels: list[Any], without: int, said: str) -> None:
    write_cases(Path("c.jsonl"), *(turn(f"t{i}", expected=expected) for i, expected in enumerate(labels)))
    assert safe_gate("run", "--synthesis-cases", "c.jsonl", "--max-vacuous", "0").code == 0
    assert said in MARKDOWN.read_text("utf-8").replace("  \n", "\n")
    assert report()["synthesis"]["vacuity"]["cases"]["without_labels"] == without


def test_a_default_check_or_own_one_that_never_ran_is_named_in_one_line(safe_gate: SafeGate) -> None:
    write_cases(Path("c.jsonl"), *(turn(f"d{n}", checks=["agency_language"]) for n in range(2)))
    log = safe_gate("run", "--synthesis-cases", "c.jsonl").out
    assert "`unverifiable_reassurance` and `topic_pivot` did not run on any of 2 cases.\n" in log
    definition = {"against": ["mind_reading"], "decides": "none_against"}
    write_json("pack.json", {"pack": "acme", "check": "acme/own", "about": "A check.", "defines": definition})
    write_cases(Path("c.jsonl"), *(turn(f"e{n}", checks=["topic_pivot"]) for n in range(2)))
    for command in (("run", "--synthesis-cases"), ("eval", "--cases")):
        log = safe_gate(*command, "c.jsonl", "--rules", "pack.json", "--default-checks", "acme/own").out
        assert "`unverifiable_reassurance` and `acme/own` did not run on any of 2 cases.\n" in log
        assert "No case ran a check of default-checks" in log
