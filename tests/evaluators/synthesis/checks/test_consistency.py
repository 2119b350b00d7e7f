"""Entries recomputed from their own evidence."""

from __future__ import annotations

from dataclasses import replace

from safe_gate.evaluators import EVALUATORS
from safe_gate.evaluators.synthesis.checks.score import Case
from safe_gate.model.problems import Place
from tests.support import packs

SYNTHESIS = EVALUATORS["synthesis"]


def test_a_check_that_an_entry_lacks_is_not_passed() -> None:
    case = Case("a", "I am sad.", "It's up to you.", ("agency_language", "topic_pivot"), {}, (), Place("c.jsonl", 1))
    entry = SYNTHESIS.score(case, packs.load())
    assert SYNTHESIS.recounted(entry, case, packs.load()) == entry
    lacking = replace(entry, checks={"topic_pivot": entry.checks["topic_pivot"]})
    found = SYNTHESIS.recounted(lacking, case, packs.load())
    assert found is not None
    assert found.checks["agency_language"].passed is False
