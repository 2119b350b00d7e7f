"""SAFE v0 as an evaluator. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from safe_gate.core.evaluator import Evaluator
from safe_gate.core.given import (
    ChosenBy,
    Documents,
    FileKind,
    Grouping,
    Imports,
    OwnFile,
    PartShape,
    Scored,
)
from safe_gate.core.model import JsonObject, Judgement
from safe_gate.core.setting import SCORING_FLAGS
from safe_gate.evaluators.safe_v0 import cases, event, evidence, gate, totals
from safe_gate.evaluators.safe_v0 import outcome as compared
from safe_gate.evaluators.safe_v0 import section as shown
from safe_gate.evaluators.safe_v0.metrics import METRICS
from safe_gate.evaluators.safe_v0.part import Part
from safe_gate.evaluators.safe_v0.result import Result
from safe_gate.evaluators.safe_v0.score import Policy, score_case
from safe_gate.evaluators.safe_v0.settings import Settings, missable


class SafeV0(Evaluator):
    """Whether a clinical pipeline finds what it must, avoids what it must, and says what it must."""

    name = "safe_v0"
    part_type = Part
    result_type = Result
    title = "SAFE v0"
    measures = "metric"
    reply = "summary"
    guards = MappingProxyType(
        {
            "new-violations": ("newly uses a forbidden term", "newly use a forbidden term"),
            "label-drops": ("falls from Pass to Fail", "fall from Pass to Fail"),
        }
    )
    settings = Settings
    input = Documents(
        setting="safe_batch",
        kind="safe-batch",
        plural="SAFE v0 batches",
        cases="test_cases",
        outputs="safe_outputs",
        outputs_kind="safe-output",
        folder="safe_test_dir",
        id_key="test_id",
        reads=("output", "expectations"),
        chosen_by=ChosenBy("safe_concern", "concern_id"),
    )
    kinds = (
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
    )
    imports = Imports(
        file="recorded.outputs.jsonl",
        makes="recorded outputs",
        kind="safe-output",
        sides=("test_id", "output"),
        fields=("id", "test_id", "output", "signals", "summary", "followup_questions"),
        line=lambda one: {"test_id": one.id, "output": one.reply, **one.extra},
        is_parsed=True,
        output=MappingProxyType({"signals": True, "summary": False, "followup_questions": True}),
    )
    commands = MappingProxyType({"score": (*SCORING_FLAGS, "report_dir")})
    part = PartShape(
        quotes=frozenset("found missing violations new_violations signal term phrase CR AH AC cluster".split()),
        where=frozenset({"source", "batch_id"}),
        keys=frozenset({"report_type"}),
        start=r'report_type": "SAFE_v0",\s*"generated_at',
        of_the_run=r"generated_at|failure_analysis/worst_performers/\d+/source",
    )
    grouping = Grouping(
        noun="archetype",
        key="archetype",
        setting="archetypes",
        figures=lambda part: part.by_archetype,
    )

    def missable(self, key: str, asks: JsonObject, settings: Mapping[str, Any]) -> Sequence[int]:
        return missable(key, asks, settings)

    rules = gate.RULES
    group_rules = gate.GROUP_RULES
    explained = shown.EXPLAINED
    fields = evidence.FIELDS
    metrics = compared.COMPARED
    failures = staticmethod(totals.failures)
    section = staticmethod(shown.section)
    finding = staticmethod(shown.finding)
    judgements = staticmethod(shown.judgements)
    rates = staticmethod(shown.rates)
    labels = staticmethod(shown.labels)
    marks = staticmethod(evidence.marks)
    decisions = staticmethod(evidence.decisions)
    outcome = staticmethod(compared.outcome)
    parse = staticmethod(cases.parse)
    report = staticmethod(totals.report)
    narrowed = staticmethod(totals.narrowed)
    batch_events = staticmethod(event.batches)

    def result_event(
        self, result: Any, judgements: Sequence[Judgement], *, with_text: bool
    ) -> tuple[str, dict[str, Any]]:
        return event.RESULT, event.result(result, with_text=with_text)

    def score(self, case: Any, by: Any) -> Result:
        return score_case(case, by)

    def totals(self, scored: Sequence[tuple[Any, Any]], by: Any) -> Any:
        return totals.Totals.of(scored, by)

    def recipe(self, settings: JsonObject, own: Sequence[OwnFile]) -> str:
        parts = [f"{metric.lower()}_{part}" for metric in METRICS for part in ("pass", "review", "weight")]
        return json.dumps({name: settings[name] for name in (*parts, "strict_ah", "safe_match", "archetypes")})

    def made(self, recipe: str) -> Any:
        return Policy.of(json.loads(recipe))

    def scored_by(self, part: Any, policy: JsonObject) -> Any:
        return part.policy if part else None

    def recorded(self, policy: JsonObject) -> Scored:
        return Scored(Policy.of(policy).to_json())

    def step_outputs(self, part: Any) -> dict[str, str]:
        return {"pass-rate": str(part.rates.pass_rate) if part else ""}
