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
from safe_gate.core.model import JsonObject, Judgement, Metric, Problem
from safe_gate.core.setting import READING_FLAGS, SCORING_FLAGS
from safe_gate.core.shown import Explained
from safe_gate.evaluators.package_files import shipped
from safe_gate.evaluators.synthesis import cases, event, evidence, gate, packs, totals
from safe_gate.evaluators.synthesis import outcome as compared
from safe_gate.evaluators.synthesis import section as shown
from safe_gate.evaluators.synthesis.cases import misfit, misnamed, unserved
from safe_gate.evaluators.synthesis.checks import consistency, conversation, settings_remarks
from safe_gate.evaluators.synthesis.checks.score import is_negative, score_case
from safe_gate.evaluators.synthesis.names import KINDS, WORDING, wording_of_tags
from safe_gate.evaluators.synthesis.part import Part
from safe_gate.evaluators.synthesis.result import Result
from safe_gate.evaluators.synthesis.settings import Settings
from safe_gate.evaluators.synthesis.totals import report as report_of

DATA = shipped("safe_gate.evaluators.synthesis")
"""The files of the packs that ship."""


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
    part_type = Part
    result_type = Result
    title = "Synthesis"
    measures = "check"
    compared_on = "Checks: without negative examples; a check that does not apply passes."
    reply = "assistant"
    settings = Settings
    input = Lines(
        setting="synthesis_cases",
        kind="synthesis-case",
        plural="Synthesis cases",
        reads=("user", "assistant", "messages"),
        read_as_one=conversation.read_as_one,
    )
    kinds = (
        FileKind(
            "synthesis-case",
            file="a file of Synthesis cases",
            hints=frozenset({"user", "assistant", "messages"}),
            own=frozenset({"id", "checks", "expected"}),
        ),
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
    counting_passes = ("max_unexpected_passes", "min_synthesis_pass_rate")
    rule_files = RuleFiles(
        setting="rules",
        off="rules_off",
        kind="rule-pack",
        digest=lambda settings, own: packs.digest(settings, own, DATA),
        facts=lambda own: packs.facts(own, DATA),
        misnamed=misnamed,
    )

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
    faults = staticmethod(cases.faults)
    parse = staticmethod(cases.parse)
    unserved = staticmethod(unserved)
    recounted = staticmethod(consistency.recounted)
    own_rules = staticmethod(gate.own_rules)
    fields_of = staticmethod(evidence.fields_of)
    measured = staticmethod(shown.measured)
    remarks = staticmethod(settings_remarks.remarks)

    def result_event(
        self, result: Any, judgements: Sequence[Judgement], *, with_text: bool
    ) -> tuple[str, dict[str, Any]]:
        return event.RESULT, event.result(result, judgements, with_text=with_text)

    def recipe(self, settings: JsonObject, own: Sequence[OwnFile]) -> str:
        return packs.recipe(settings, own, DATA)

    def made(self, recipe: str) -> Any:
        return packs.from_recipe(recipe, DATA)

    def score(self, case: Any, by: Any) -> Result:
        return score_case(case, by)

    def totals(self, scored: Sequence[tuple[Any, Any]], by: Any) -> Any:
        return totals.Totals.of(result for _, result in scored)

    def misfit(self, case: Any, by: Any) -> Problem | None:
        known = all(name in by.checks for name in case.checks)
        return None if known else misfit(case, by)

    def report(self, totals: Any, results: Sequence[Any], by: Any, generated_at: str) -> Part:
        return report_of(totals, results)

    def narrowed(self, part: Any, results: Sequence[Any]) -> Part:
        return report_of(totals.Totals.of(results), results)

    def is_excused(self, group: str, asks: JsonObject, policy: JsonObject) -> bool:
        of_tags = policy.get("tags") or {}
        is_worded = any(one.get(kind) for one in (asks, *map(of_tags.get, asks["tags"])) if one for kind in KINDS)
        checks = (*asks["checks"], *[WORDING] * is_worded)
        return bool(is_negative([group], policy.get("profile", "standard"), checks))

    def scored_by(self, part: Any, policy: JsonObject) -> Any:
        context = policy["context"]
        words = wording_of_tags(policy.get("tags"))
        more = ([] if context == 1 else [context], [words] if words else [])
        return [policy["profile"], *(one for some in more for one in some)]

    def step_outputs(self, part: Any) -> dict[str, str]:
        if part is None:
            return {"unexpected-failures": "", "label-accuracy": ""}
        summary = part.summary
        labels = summary.label_accuracy
        return {
            "unexpected-failures": str(summary.unexpected_failures),
            "label-accuracy": str(labels.matched / labels.total) if labels.total else "",
        }

    def explanation(self, by: str) -> Explained:
        return self.explained.get(by) or shown.of_a_team(by)

    def metric(self, name: str) -> Metric:
        return self.metrics.get(name) or compared.pass_rate(name)
