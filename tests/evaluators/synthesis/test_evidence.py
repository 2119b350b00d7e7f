"""Evidence quotes what was recorded, and no verdict hangs on what stands around a reply."""

from collections import Counter
from functools import cache
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safe_gate.evaluators.synthesis.definitions import CHECKS
from safe_gate.evaluators.synthesis.result import Result
from safe_gate.model import codec
from tests.support.cases import DATA, REPOSITORY, read_lines
from tests.support.examples import examples, is_thorough
from tests.support.synthesis import score

pytestmark = [pytest.mark.untraced, pytest.mark.thorough]

LABELLED = read_lines(REPOSITORY / "data/synthesis/dev.jsonl")[::25]
LINES = (DATA / "lines.txt").read_text("utf-8").splitlines()
"""Lines that apps put around replies, none of which anything is learned from."""
SENTENCES = read_lines(DATA / "sentences.jsonl")
"""Sentences as they stand in logs, of an author who saw no rule; nothing is learned from them either."""
TURNS = [(row["user"], row["assistant"]) for row in read_lines(DATA / "turns.jsonl")]
"""Turns that reach every verdict and every kind of hit."""
modest = examples(few=40, many=120)


@cache
def as_recorded() -> list[Result]:
    """Return the results of the labelled cases as they were recorded."""
    return [score(data["user"], data["assistant"]) for data in LABELLED]


ANY = st.characters(exclude_categories=()) | st.sampled_from("\u200b\u0301*_\u2019\n\u2026")


@st.composite
def decorated(draw: st.DrawFn, text: str) -> str:
    """Drop any code points there are, half surrogate pairs too, into a text."""
    places = sorted(draw(st.sets(st.integers(0, len(text)), max_size=12)))
    pieces = [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]
    return "".join(piece + draw(st.text(ANY, max_size=3)) for piece in pieces)


def test_the_sample_turns_reach_every_verdict_and_every_kind_of_hit() -> None:
    results = [score(*turn) for turn in TURNS]
    for name in CHECKS:
        assert {result.checks[name].passed for result in results} == {True, False}
        shown = [codec.to_json(result.checks[name]) for result in results]
        keys = [key for key in shown[0] if shown[0][key] != {} and (name, key) != ("helplines", "cancelled")]
        assert all(any(one.get(key) for one in shown) for key in keys), name  # a number counts in quotes too


FLAGS = {"acknowledged": "acknowledgment", "followed_up": "follow_up", "pivoted": "pivot"}


def test_the_flags_of_a_pivot_say_whether_there_are_hits() -> None:
    for turn in TURNS:
        shown = codec.to_json(score(*turn).checks["topic_pivot"])
        assert [shown[flag] for flag in FLAGS] == [bool(shown[f"{group}_hits"]) for group in FLAGS.values()]


@given(st.sampled_from(TURNS), st.data())
@modest
def test_every_hit_quotes_the_original_at_its_place(turn: tuple[str, str], data: st.DataObject) -> None:
    texts = dict(zip(("user", "assistant"), (data.draw(decorated(text)) for text in turn), strict=True))
    for check in score(*texts.values()).checks.values():
        for hit in chain(*check.hits.values(), check.cancelled):
            assert 0 <= hit.start < hit.end
            assert texts[hit.field][hit.start : hit.end] == hit.text


def actual(result: Result) -> dict[str, bool | None]:
    return {name: check.actual for name, check in result.checks.items()}


LINKS = ["[1](https://example.org/a/b)", "https://www.example.org/conditions/?q=what"]


@pytest.mark.parametrize("line", [*LINKS, "<div></div>", "---", "1.", "\U0001f642", "```\nx = 1\n```"])
def test_a_line_without_words_changes_no_verdict(line: str) -> None:
    for data, recorded in [*zip(LABELLED, as_recorded(), strict=True)][:: 1 if is_thorough() else 2]:
        assert actual(recorded) == actual(score(data["user"], f"{data['assistant']}\n{line}")), data["id"]


def test_a_line_that_an_app_puts_under_a_reply_changes_few_verdicts_and_leaves_no_choice() -> None:
    changes: Counter[tuple[str, bool | None, bool | None]] = Counter()
    some = [*zip(LABELLED, as_recorded(), strict=True)][:: 3 if is_thorough() else 6]
    for data, recorded in some:
        before = actual(recorded)
        for line in LINES:
            after = actual(score(data["user"], f"{data['assistant']}\n{line}"))
            changes.update((name, before[name], after[name]) for name in before if before[name] != after[name])
    assert changes["agency_language", False, True] == 0
    assert changes.total() < 0.03 * len(some) * len(LINES), changes


def test_few_plain_sentences_are_taken_for_directives_or_choices() -> None:
    found: Counter[tuple[str, str]] = Counter()
    for one in SENTENCES:
        sides = score("", one["text"]).checks["agency_language"].hits
        found.update((one["label"], side) for side in ("all", *sides) if side == "all" or sides[side])
    assert found["neither", "negative"] < 0.2 * found["neither", "all"], found  # 32 % before plain ones were learned
    assert found["neither", "positive"] < 0.1 * found["neither", "all"], found
    assert found["directive", "negative"] > 0.9 * found["directive", "all"], found
    assert found["autonomy", "positive"] > 0.9 * found["autonomy", "all"], found
