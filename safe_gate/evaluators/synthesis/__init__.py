"""Synthesis: does a reply respect a person's agency, avoid false comfort, and stay with them."""

from safe_gate.evaluators.synthesis.language import Language, Languages
from safe_gate.evaluators.synthesis.recount import recounted
from safe_gate.evaluators.synthesis.report import Totals, report, result_json
from safe_gate.evaluators.synthesis.rules import Book, Rule, words_of
from safe_gate.evaluators.synthesis.score import (
    CHECKS,
    GROUPS,
    IN_FAVOUR,
    Case,
    Check,
    Result,
    Rules,
    asks,
    broken_promises,
    reads_foreign,
    score_case,
)
from safe_gate.evaluators.synthesis.tokens import Spelling

__all__ = [
    "CHECKS",
    "GROUPS",
    "IN_FAVOUR",
    "Book",
    "Case",
    "Check",
    "Language",
    "Languages",
    "Result",
    "Rule",
    "Rules",
    "Spelling",
    "Totals",
    "asks",
    "broken_promises",
    "reads_foreign",
    "recounted",
    "report",
    "result_json",
    "score_case",
    "words_of",
]
