"""Corners of the Synthesis engine that no shipped rule reaches."""

from __future__ import annotations

from itertools import islice

from safe_gate.core.model import Hit, Place
from safe_gate.evaluators.synthesis.deciding.reasons import _innermost
from safe_gate.evaluators.synthesis.deciding.score import Case, score_case
from safe_gate.evaluators.synthesis.matching.learning import Row, _Clause, _rows, as_packs
from safe_gate.evaluators.synthesis.matching.phrases import automaton
from safe_gate.evaluators.synthesis.matching.rules import _faults, _inlined
from safe_gate.evaluators.synthesis.section import rates
from safe_gate.evaluators.synthesis.totals import Totals, report
from tests.support import packs


def test_two_learned_rows_that_are_written_alike_have_ids_of_their_own() -> None:
    (pack,) = as_packs([Row("guarantee", "we win it", 3, 3), Row("guarantee", "we win _ it", 2, 2)])
    name = "team-learned-guarantee/we-win-it"
    assert [rule["id"] for rule in pack["rules"]] == [name, f"{name}-2"]


def test_a_row_covers_what_the_rows_before_it_leave() -> None:
    texts = ("green boat", "green boat", "green boat red car", "green boat red car", "red car", "red car")
    found = list(_rows("guarantee", [_Clause(tuple(text.split()), False, True, False) for text in texts], {}))
    assert [(row.inside, "red" in row.phrase) for row in found] == [(4, False), (4, True)]


def test_a_phrase_may_end_with_its_sentence() -> None:
    assert automaton(["good day $"], {}).beginning(["good", "day"], 0) == (0, 0, 2)


def test_a_class_that_names_itself_ends() -> None:
    assert _inlined("{a}", {"a": ["{a}"]}).strip("()") == "{a}"


def test_rules_that_are_well_written_have_no_faults() -> None:
    assert list(_faults(islice(packs.load().all, 3), packs.classes())) == []


def test_of_hits_within_each_other_the_innermost_is_shown() -> None:
    inner, outer = (Hit("r", "t", "user", start, end) for start, end in ((3, 5), (0, 9)))
    other = inner._replace(field="assistant")
    assert _innermost([outer, inner, other]) == [inner, other]


def test_a_check_that_no_case_asks_for_has_no_rate() -> None:
    case = Case("one", "I failed.", "Would you like to talk?", ("agency_language",), {}, (), Place("c.jsonl", 1))
    entries = [score_case(case, packs.load()).to_json()]
    shown = [(one.about, one.name) for one in rates(report(Totals.of(entries), entries))]
    assert shown == [
        ("As expected", "all cases"),
        ("Passes where the check applies, negative examples too", "Agency language"),
    ]
