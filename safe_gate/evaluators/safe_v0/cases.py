"""SAFE v0 cases, of batches joined with their recorded outputs. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from safe_gate.core.digests import digest
from safe_gate.core.given import CaseAt
from safe_gate.evaluators.safe_v0.score import UNUSED, Case
from safe_gate.model.codec import JsonObject


def parse(case: JsonObject, at: CaseAt, _settings: JsonObject) -> Iterator[Case]:
    """Yield a case of a batch. Its archetype is its own, else that of its scenario, else "Unknown"."""
    scenarios = at.document.get("batch_plan", {}).get("scenarios", ())
    scenario = scenarios[at.number] if at.number < len(scenarios) else {}
    expectations, output = case["expectations"], case["output"]
    yield Case(
        test_id=case["test_id"],
        concern_id=case["concern_id"],
        batch_id=at.stem,
        archetype=case.get("archetype") or scenario.get("archetype") or "Unknown",
        must_find_signals=tuple(expectations["signal_generation"]["must_find_signals"]),
        forbidden_terms=tuple(expectations["followup_questions"]["forbidden_terms"]),
        must_contain_phrases=tuple(expectations["event_summary"]["must_contain_phrases"]),
        signals=tuple(output["signals"]),
        summary=output["summary"],
        followup_questions=tuple(output["followup_questions"]),
        place=at.place,
        cluster=at.cluster,
        payload=digest(case["patient_payload"]) if "patient_payload" in case else None,
        unused=tuple(name for name in UNUSED if any(part.get(name) for part in expectations.values())),
    )
