"""SAFE v0 as an evaluator, with the cases of its batches. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from safe_gate.core.evaluator import Evaluator
from safe_gate.core.given import CaseAt, ChosenBy, Documents, FileKind, Grouping, Imports, OwnFile, PartShape
from safe_gate.core.jsontext import digest
from safe_gate.core.setting import SCORING_FLAGS
from safe_gate.core.validate import Fault
from safe_gate.evaluators import judged
from safe_gate.evaluators.safe_v0 import gate, present, totals
from safe_gate.evaluators.safe_v0.result import Part, Result
from safe_gate.evaluators.safe_v0.score import UNUSED, Case, Policy, score_case
from safe_gate.evaluators.safe_v0.settings import Settings
from safe_gate.model.codec import JsonObject


def parse(case: JsonObject, at: CaseAt, _settings: JsonObject) -> Iterator[Case]:
    """Yield a case of a batch. Its archetype is its own, else that of its scenario, else "Unknown"."""
    scenarios = at.document.get("batch_plan", {}).get("scenarios", ())
    scenario = scenarios[at.number] if at.number < len(scenarios) else {}
    expectations, output, labels = case["expectations"], case["output"], case.get("expected", {})
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
        judged={name: replace(one, expected=labels.get(name)) for name, one in judged.recorded(case).items()},
    )


def faults(case: JsonObject) -> Iterator[Fault]:
    """Yield the problems of a case with its output, both of which fit their schemas."""
    yield from judged.faults(case, case.get("expected", {}), "expected")


class SafeV0(Evaluator):
    """Whether a clinical pipeline finds what it must, avoids what it must, and says what it must."""

    name = "safe_v0"
    title = "SAFE v0"
    settings = Settings
    input = Documents(
        setting="safe_batch",
        kind="safe-batch",
        plural="SAFE v0 batches",
        cases="test_cases",
        outputs="safe_outputs",
        outputs_kind="safe-output",
        folder="safe_test_dir",
        kinds=(
            FileKind(
                "safe-batch",
                file="a SAFE v0 batch",
                hints=frozenset({"test_cases"}),
                own=frozenset({"test_cases"}),
            ),
            FileKind(
                "safe-output",
                file="a file of recorded outputs",
                hints=frozenset({"test_id"}),
                own=frozenset({"test_id"}),
            ),
        ),
        id_key="test_id",
        reads=("output", "expectations"),
        chosen_by=ChosenBy("safe_concern", "concern_id"),
    )
    imports = Imports(
        file="recorded.outputs.jsonl",
        makes="recorded outputs",
        kind="safe-output",
        sides=("test_id", "output"),
        fields=("id", "test_id", "output", "signals", "summary", "followup_questions"),
        keeps=frozenset({"judged"}),
        line=lambda one: {"test_id": one.id, "output": one.reply, **one.extra},
        is_parsed=True,
        output=MappingProxyType({"signals": True, "summary": False, "followup_questions": True}),
    )
    commands = MappingProxyType({"score": (*SCORING_FLAGS, "report_dir")})
    part = PartShape(
        Part,
        Result,
        quotes=frozenset(
            "reason found missing violations new_violations signal term phrase sentence within CR AH AC cluster".split()
        ),
        where=frozenset({"source", "batch_id"}),
        keys=frozenset({"report_type"}),
        of_the_run=r"generated_at|failure_analysis/worst_performers/\d+/source",
    )
    grouping = Grouping(
        noun="archetype",
        key="archetype",
        setting="archetypes",
        figures=lambda part: part.by_archetype,
    )
    trial = "safe_match", "clinical"

    gate, present, compare = gate, present, gate
    faults = staticmethod(faults)
    parse = staticmethod(parse)
    report = staticmethod(totals.report)

    def score(self, case: Any, by: Any) -> Result:
        return score_case(case, by)

    def totals(self, scored: Sequence[tuple[Any, Any]], by: Any) -> Any:
        return totals.Totals.of(scored, by)

    def recipe(self, settings: JsonObject, own: Sequence[OwnFile]) -> str:
        names = "thresholds", "weights", "strict_ah", "safe_match", "archetypes"
        Policy.of(settings).to_json()  # raises where a model is needed and not there
        return json.dumps({name: settings[name] for name in names})

    def made(self, recipe: str) -> Any:
        return Policy.of(json.loads(recipe))
