"""Recomputes an entry of `results[]` from its own evidence, which shows whether the entry contradicts itself.

Pure. The evidence (hits, similarity, language) is not recomputed: that would be scoring the case again.
"""

from __future__ import annotations

from dataclasses import replace

from safe_gate.evaluators.synthesis.checks import counting, wording
from safe_gate.evaluators.synthesis.checks.check_result import CheckResult, Pivot, Wording
from safe_gate.evaluators.synthesis.checks.leaving import leaves_because
from safe_gate.evaluators.synthesis.checks.score import (
    SIMILARITY_THRESHOLD,
    Case,
    is_negative,
    result_of,
    sorted_checks,
    wanted,
)
from safe_gate.evaluators.synthesis.checks.turn import Check, Rules
from safe_gate.evaluators.synthesis.engine.language import is_foreign
from safe_gate.evaluators.synthesis.names import WORDING
from safe_gate.evaluators.synthesis.result import Result


def recounted(shown: Result, case: Case, rules: Rules) -> Result:
    """Return the result that follows from a result's evidence; an equal one if it is sound."""
    found, language = shown.checks, shown.language
    checks = {
        name: _check(check, found[name], is_unread=rules.by_clause and is_foreign(check.reads, language))
        if name in found
        else CheckResult(passed=False, applicable=True, evidence=Wording(()))
        for name, check in rules.checks.items()
        if name in case.checks
    }
    if every := wanted(case, rules):
        checks = sorted_checks({**checks, WORDING: wording.recounted(every, found.get(WORDING))})
    negative = is_negative(case.tags, "standard" if rules.by_clause else "spec", checks)
    return result_of(case, language, checks, negative, shown.disguised_letters)


def _check(check: Check, shown: CheckResult, *, is_unread: bool) -> CheckResult:
    """Return the result of a check that follows from what an entry shows; `is_unread` if nothing was judged."""
    if not isinstance(shown.evidence, Pivot):
        return counting.recounted(check, shown, is_unread=is_unread)
    pivot = shown.evidence
    applicable = bool(pivot.groups.get("vulnerability"))
    is_alike = pivot.engages or pivot.similarity >= SIMILARITY_THRESHOLD
    stays = not leaves_because(pivot) if pivot.ties else is_alike
    return replace(shown, passed=stays or not applicable, applicable=applicable)
