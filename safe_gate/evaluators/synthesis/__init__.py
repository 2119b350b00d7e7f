"""Synthesis: does a reply respect a person's agency, avoid false comfort, and stay with them."""

from safe_gate.evaluators.synthesis.report import Totals, fold, report, result_json
from safe_gate.evaluators.synthesis.rules import Pack, compile_pack
from safe_gate.evaluators.synthesis.score import CHECKS, Case, Result, score_case

__all__ = ["CHECKS", "Case", "Pack", "Result", "Totals", "compile_pack", "fold", "report", "result_json", "score_case"]
