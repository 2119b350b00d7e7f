"""Recomputes an entry of `results[]` from its own evidence, which shows whether the entry contradicts itself.

Pure. The evidence (hits, similarity, language) is not recomputed: that would be scoring the case again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from safe_gate.core.model import JsonObject
from safe_gate.evaluators.synthesis.deciding import counting, wording
from safe_gate.evaluators.synthesis.deciding.check_result import CheckResult
from safe_gate.evaluators.synthesis.deciding.leaving import leaves_because
from safe_gate.evaluators.synthesis.deciding.score import (
    SIMILARITY_THRESHOLD,
    Case,
    is_negative,
    result_of,
    sorted_checks,
    wanted,
)
from safe_gate.evaluators.synthesis.deciding.turn import Check, Rules
from safe_gate.evaluators.synthesis.matching.language import is_foreign
from safe_gate.evaluators.synthesis.names import WORDING


def recounted(entry: JsonObject, case: Case, rules: Rules) -> dict[str, Any]:
    """Return the entry that follows from an entry's evidence; an equal one if the entry is sound."""
    checks = {name: _check(check, entry, rules) for name, check in rules.checks.items() if name in case.checks}
    if every := wanted(case, rules):
        shown = entry["checks"].get(WORDING, {"applicable": True, "asked": []})
        checks = sorted_checks({**checks, WORDING: wording.recounted(every, shown)})
    negative = is_negative(case.tags, "standard" if rules.by_clause else "spec", checks)
    return result_of(case, entry["language"], checks, negative, entry.get("disguised_letters", 0)).to_json()


def _check(check: Check, entry: JsonObject, rules: Rules) -> CheckResult:
    found = entry["checks"].get(check.name)
    if found is None:
        return CheckResult(passed=False, applicable=True, details={})
    details = {key: value for key, value in found.items() if key != "pass"}
    is_unread = rules.by_clause and is_foreign(check.reads, entry["language"])
    if check.name in _COUNTED:
        return _COUNTED[check.name](details, is_unread)
    return counting.recounted(check, details, is_foreign=is_unread)


def _agency_language(details: dict[str, Any], is_unread: bool) -> CheckResult:
    score = len(details["positive_hits"]) - len(details["negative_hits"])
    kept = {key: value for key, value in details.items() if key != "applicable" or is_unread}
    return CheckResult(is_unread or score >= 1, not is_unread, {**kept, "score": score})


def _unverifiable_reassurance(details: dict[str, Any], _is_unread: bool) -> CheckResult:
    passed = not (details["mind_reading_hits"] or details["guarantee_hits"])
    kept = {key: value for key, value in details.items() if key != "applicable" or passed}
    return CheckResult(passed, "applicable" not in kept, kept)


def _topic_pivot(details: dict[str, Any], _is_unread: bool) -> CheckResult:
    groups = ("vulnerability", "acknowledgment", "follow_up", "pivot")
    applicable, acknowledged, followed_up, pivoted = (bool(details[f"{group}_hits"]) for group in groups)
    if "shared" in details:
        stays = not leaves_because(details)
    else:
        stays = (acknowledged and followed_up and not pivoted) or details["similarity"] >= SIMILARITY_THRESHOLD
    counted = {"applicable": applicable, "acknowledged": acknowledged, "followed_up": followed_up, "pivoted": pivoted}
    return CheckResult(stays or not applicable, applicable, {**details, **counted})


_COUNTED: Mapping[str, Callable[[dict[str, Any], bool], CheckResult]] = {
    "agency_language": _agency_language,
    "unverifiable_reassurance": _unverifiable_reassurance,
    "topic_pivot": _topic_pivot,
}
"""Recompute a check from its part of the entry without `pass`, and from whether its language was not judged."""
