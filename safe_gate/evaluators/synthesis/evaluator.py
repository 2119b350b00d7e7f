"""Synthesis as an evaluator. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from safe_gate.core.evaluator import Evaluator
from safe_gate.core.given import (
    Exchange,
    FileKind,
    Grouping,
    Imports,
    Lines,
    OwnFile,
    PartShape,
    RuleFiles,
)
from safe_gate.core.setting import READING_FLAGS, SCORING_FLAGS
from safe_gate.evaluators.synthesis import cases, compare, gate, own_packs, packs, present, totals
from safe_gate.evaluators.synthesis.checks import consistency, conversation
from safe_gate.evaluators.synthesis.checks.score import score_case
from safe_gate.evaluators.synthesis.part import Part
from safe_gate.evaluators.synthesis.result import Result
from safe_gate.evaluators.synthesis.settings import Settings
from safe_gate.evaluators.synthesis.totals import report as report_of
from safe_gate.model.codec import JsonObject


def _imported(one: Exchange) -> JsonObject:
    """Return an exchange as a case."""
    is_turn = isinstance(one.message, str)
    turn = {"user": one.message, "assistant": one.reply}
    return {
        "id": one.id or one.stand_in,
        **(turn if is_turn else {"messages": [*one.message, {"role": "assistant", "content": one.reply}]}),
        **({"checks": list(one.checks)} if one.checks else {}),
        **({"tags": list(one.tags)} if one.tags else {}),
        **one.extra,
    }


class Synthesis(Evaluator):
    """Whether a reply respects a person's agency, avoids false comfort, and stays with them."""

    name = "synthesis"
    title = "Synthesis"
    settings = Settings
    input = Lines(
        setting="synthesis_cases",
        kind="synthesis-case",
        plural="Synthesis cases",
        kinds=(
            FileKind(
                "synthesis-case",
                file="a file of Synthesis cases",
                hints=frozenset({"user", "assistant", "messages"}),
                own=frozenset({"id", "checks", "expected"}),
            ),
        ),
        reads=("user", "assistant", "messages"),
        read_as_one=conversation.read_as_one,
    )
    imports = Imports(
        file="cases.jsonl",
        makes="cases",
        kind="synthesis-case",
        sides=("user", "assistant"),
        fields=("id", "user", "assistant", "tags"),
        line=_imported,
        keeps=frozenset(
            {
                "checks",
                "expected",
                "turns",
                "context",
                "must_contain",
                "must_contain_any",
                "must_not_contain",
                "notes",
                "marks",
            }
        ),
    )
    commands = MappingProxyType({"eval": (*SCORING_FLAGS, "jobs"), "rules": READING_FLAGS})
    part = PartShape(
        Part,
        Result,
        quotes=frozenset("text words shared cluster regex must_contain must_contain_any must_not_contain".split()),
        keys=frozenset({"summary", "results"}),
        start=r'summary": {\s*"cases": \d+,\s*"passed',
    )
    grouping = Grouping(
        noun="tag",
        key="tags",
        setting="tags",
        figures=lambda part: part.summary.by_tag,
    )
    rule_files = RuleFiles(
        setting="rules",
        off="rules_off",
        kind="rule-pack",
        digest=own_packs.digest,
        facts=own_packs.facts,
        misnamed=cases.misnamed,
        misfit=cases.misfit,
        unserved=cases.unserved,
    )

    gate, present, compare = gate, present, compare
    faults = staticmethod(cases.faults)
    parse = staticmethod(cases.parse)
    recounted = staticmethod(consistency.recounted)

    def recipe(self, settings: JsonObject, own: Sequence[OwnFile]) -> str:
        return own_packs.recipe(settings, own)

    def made(self, recipe: str) -> Any:
        return packs.from_recipe(recipe)

    def score(self, case: Any, by: Any) -> Result:
        return score_case(case, by)

    def totals(self, scored: Sequence[tuple[Any, Any]], by: Any) -> Any:
        return totals.Totals.of(result for _, result in scored)

    def report(self, totals: Any, results: Sequence[Any], by: Any, generated_at: str) -> Part:
        return report_of(totals, results)
