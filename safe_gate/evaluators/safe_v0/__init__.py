"""SAFE v0: did a clinical pipeline find what it must, avoid what it must, and say what it must."""

from safe_gate.evaluators.safe_v0.report import Totals, report
from safe_gate.evaluators.safe_v0.score import METRICS, UNUSED, Case, Policy, Result, Threshold, score_case

__all__ = ["METRICS", "UNUSED", "Case", "Policy", "Result", "Threshold", "Totals", "report", "score_case"]
