"""What a reader is shown of a Synthesis report."""

from __future__ import annotations

from safe_gate.evaluators.synthesis.checks.score import Case, score_case
from safe_gate.evaluators.synthesis.present import figures
from safe_gate.evaluators.synthesis.totals import Totals, report
from safe_gate.model.problems import Place
from tests.support import packs


def test_a_check_that_no_case_asks_for_has_no_rate() -> None:
    case = Case("one", "I failed.", "Would you like to talk?", ("agency_language",), {}, (), Place("c.jsonl", 1))
    entries = [score_case(case, packs.load())]
    shown = [(one.about, one.name) for one in figures(report(Totals.of(entries), entries)).rates]
    assert shown == [
        ("As expected", "all cases"),
        ("Passes where the check applies, negative examples too", "Agency language"),
    ]
