"""Evidence quotes what was recorded, and no verdict hangs on how a text was typed."""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safe_gate.core.text import normalise
from safe_gate.evaluators.synthesis.definitions import CHECKS
from safe_gate.evaluators.synthesis.present import figures
from safe_gate.evaluators.synthesis.result import Result, Totals, report
from safe_gate.model import codec
from safe_gate.model.results import Hit
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
# The same keystroke as keyboards, editors and models write it.
ALIKE = {
    "'": ("\u2018", "\u2019", "\u02bc", "\u00b4", "\uff07"),
    '"': ("\u201c", "\u201d", "\u201e", "\u00ab", "\u00bb"),
    " ": ("\u00a0", "  ", " \u00a0 ", "\u200b ", " \u200b", "  \u200b", "\u00a0\u200b", "\u2009", "\u3000", "\t"),
}
modest = examples(few=40, many=120)


@cache
def as_recorded() -> list[Result]:
    """Return the results of the labelled cases as they were recorded."""
    return [score(data["user"], data["assistant"]) for data in LABELLED]


def hits(result: Result) -> Iterator[Hit]:
    for check in result.checks.values():
        yield from chain(*check.hits.values(), check.cancelled)


def verdicts(result: Result) -> dict[str, Any]:
    """Return everything a result says, each hit by its rule and its wording instead of its place."""

    def worded(value: Any) -> Any:
        if isinstance(value, list):
            return [worded(one) for one in value]
        if isinstance(value, dict) and "rule" in value:
            return value["rule"], value["field"], normalise(value["text"]).text
        return {key: worded(one) for key, one in value.items()} if isinstance(value, dict) else value

    return {name: worded(codec.to_json(check)) for name, check in result.checks.items()}


def assert_quoted(result: Result, user: str, assistant: str) -> None:
    originals = {"user": user, "assistant": assistant}
    for hit in hits(result):
        assert 0 <= hit.start < hit.end
        assert originals[hit.field][hit.start : hit.end] == hit.text


@st.composite
def retyped(draw: st.DrawFn, text: str) -> str:
    return "".join(draw(st.sampled_from((char, *ALIKE[char]))) if char in ALIKE else char for char in text)


@st.composite
def decorated(draw: st.DrawFn, text: str) -> str:
    """Drop any code points there are, half surrogate pairs too, into a text."""
    additions = st.text(
        st.characters(exclude_categories=()) | st.sampled_from("\u200b\u0301*_\u2019\n\u2026"), max_size=3
    )
    places = sorted(draw(st.sets(st.integers(0, len(text)), max_size=12)))
    pieces = [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]
    return "".join(piece + draw(additions) for piece in pieces)


def test_the_sample_turns_reach_every_verdict_and_every_kind_of_hit() -> None:
    results = [score(*turn) for turn in TURNS]
    for name in CHECKS:
        assert {result.checks[name].passed for result in results} == {True, False}
        shown = [codec.to_json(result.checks[name]) for result in results]
        keys = [key for key in shown[0] if shown[0][key] != {} and (name, key) != ("helplines", "cancelled")]
        assert all(any(one.get(key) for one in shown) for key in keys), name  # a number counts in quotes too


@given(st.sampled_from(TURNS), st.data())
@modest
def test_every_hit_quotes_the_original_at_its_place(turn: tuple[str, str], data: st.DataObject) -> None:
    user, assistant = (data.draw(decorated(text)) for text in turn)
    assert_quoted(score(user, assistant), user, assistant)


@given(st.sampled_from(TURNS), st.data())
@modest
def test_no_verdict_hangs_on_quotes_blanks_or_invisible_characters(turn: tuple[str, str], data: st.DataObject) -> None:
    user, assistant = (data.draw(retyped(text)) for text in turn)
    result = score(user, assistant)
    assert verdicts(result) == verdicts(score(*turn))
    assert_quoted(result, user, assistant)


def actual(result: Result) -> dict[str, bool | None]:
    return {name: check.actual for name, check in result.checks.items()}


LINKS = ["[1](https://example.org/a/b)", "https://www.example.org/conditions/?q=what"]


@pytest.mark.parametrize("line", [*LINKS, "<div></div>", "---", "1.", "\U0001f642", "```\nx = 1\n```"])
def test_a_line_without_words_changes_no_verdict(line: str) -> None:
    changed = [
        data["id"]
        for data, recorded in [*zip(LABELLED, as_recorded(), strict=True)][:: 1 if is_thorough() else 2]
        if actual(recorded) != actual(score(data["user"], f"{data['assistant']}\n{line}"))
    ]
    assert changed == []


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
    found = Counter((one["label"], key) for one in SENTENCES for key in agency_hits(one["text"]) | {"all"})
    assert found["neither", "negative"] < 0.2 * found["neither", "all"], found  # 32 % before plain ones were learned
    assert found["neither", "positive"] < 0.1 * found["neither", "all"], found
    assert found["directive", "negative"] > 0.9 * found["directive", "all"], found
    assert found["autonomy", "positive"] > 0.9 * found["autonomy", "all"], found


def agency_hits(reply: str) -> set[str]:
    """Return on which sides something speaks in a reply."""
    hits = score("", reply).checks["agency_language"].hits
    return {side for side in ("positive", "negative") if hits[side]}


def test_a_check_that_no_case_asks_for_has_no_rate() -> None:
    entries = [score("I failed.", "Would you like to talk?", "agency_language")]
    shown = [(one.about, one.name) for one in figures(report(Totals.of(entries), entries)).rates]
    assert shown == [
        ("As expected", "all cases"),
        ("Passes where the check applies, negative examples too", "Agency language"),
    ]
