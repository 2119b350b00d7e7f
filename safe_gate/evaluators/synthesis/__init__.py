"""Synthesis: does a reply respect a person's agency, avoid false comfort, and stay with them."""

from safe_gate.evaluators.synthesis.features import Lexicon
from safe_gate.evaluators.synthesis.language import Language, Languages
from safe_gate.evaluators.synthesis.learned import LearnedPack
from safe_gate.evaluators.synthesis.recount import recounted
from safe_gate.evaluators.synthesis.report import Totals, report, result_json
from safe_gate.evaluators.synthesis.rules import Pack, broken_promises, compile_pack, refusal, words_of
from safe_gate.evaluators.synthesis.score import (
    CHECKS,
    GROUPS,
    IN_FAVOUR,
    SENSITIVITIES,
    Case,
    Result,
    Rules,
    asks,
    reads_foreign,
    score_case,
)

__all__ = [
    "CHECKS",
    "GROUPS",
    "IN_FAVOUR",
    "SENSITIVITIES",
    "Case",
    "Language",
    "Languages",
    "LearnedPack",
    "Lexicon",
    "Pack",
    "Result",
    "Rules",
    "Totals",
    "asks",
    "broken_promises",
    "compile_pack",
    "reads_foreign",
    "recounted",
    "refusal",
    "report",
    "result_json",
    "score_case",
    "words_of",
]
