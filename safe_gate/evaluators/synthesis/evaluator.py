"""Synthesis as an evaluator: its facts, and where the rest is found once it has cases. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from safe_gate.core.given import (
    Exchange,
    FileKind,
    Grouping,
    Imports,
    Lines,
    RuleFiles,
    Way,
)
from safe_gate.core.setting import READING_FLAGS, SCORING_FLAGS
from safe_gate.evaluators.modular import In, Modular, beside
from safe_gate.evaluators.synthesis.names import KINDS, WORDING, wording_of_tags
from safe_gate.evaluators.synthesis.settings import Settings

if TYPE_CHECKING:
    from safe_gate.core.model import JsonObject, Metric, Problem
    from safe_gate.core.shown import Explained


_TO_AN_ENTRY = 3
"""The keys that lead to an entry of a list of a tag: the tag, the list and the entry."""


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


class Synthesis(Modular):
    """Whether a reply respects a person's agency, avoids false comfort, and stays with them."""

    name = "synthesis"
    title = "Synthesis"
    id_key = "id"
    measures = "check"
    compared_on = "Checks: without negative examples; a check that does not apply passes."
    reply = "assistant"
    reads = ("user", "assistant", "messages")
    groups_key = "tags"
    settings = Settings
    scoring = (
        "profile",
        "rules",
        "rules_off",
        "default_checks",
        "turns",
        "context",
        "tags",
    )
    weaker = MappingProxyType(
        {
            "min_synthesis_pass_rate": Way.LOWER,
            "max_unexpected_failures": Way.HIGHER,
            "max_unexpected_passes": Way.HIGHER,
            "max_disguised": Way.HIGHER,
            "max_not_english": Way.HIGHER,
            "tags": Way.ANY,
            "min_label_accuracy": Way.LOWER,
            "profile": Way.ANY,
            "rules_off": Way.HIGHER,
            "default_checks": Way.LOWER,
            "turns": ("all", "last"),
            "context": Way.LOWER,
        }
    )
    input = Lines(setting="synthesis_cases", kind="synthesis-case", plural="Synthesis cases")
    kinds = (
        FileKind(
            "synthesis-case",
            called="Synthesis cases",
            file="a file of Synthesis cases",
            needed=frozenset({"user", "assistant"}),
            own=frozenset({"id", "checks", "expected"}),
            instead=frozenset({"messages"}),
            hints=frozenset({"user", "assistant", "messages"}),
            sides=("user", "assistant"),
        ),
    )
    imports = Imports(
        file="cases.jsonl",
        makes="cases",
        kind="synthesis-case",
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
    commands = MappingProxyType(
        {"eval": (*SCORING_FLAGS, "engine", "jobs", "max_tags", "quiet", "scheduler"), "rules": READING_FLAGS}
    )
    part_keys = frozenset({"summary", "results"})
    part_start = r'summary": {\s*"cases": \d+,\s*"passed'
    grouping = Grouping(
        noun="tag",
        setting="tags",
        figures=lambda part: beside(__package__, "part").Part.from_json(part).summary.by_tag,
        groups_of=lambda result: beside(__package__, "result").Entry(result).tags,
    )
    quotes = frozenset(
        {"text", "words", "shared", "cluster", "regex", "must_contain", "must_contain_any", "must_not_contain"}
    )
    counting_passes = ("max_unexpected_passes", "min_synthesis_pass_rate")
    rule_files = RuleFiles("rules", "rules_off", "rule-pack", partial(beside, __package__, "deciding.rulebook"))

    faults: Any = In("cases")
    read_as_one: Any = In("deciding.conversation")
    cases: Any = In("cases", "cases_of")
    unserved: Any = In("cases")
    misnamed: Any = In("cases")
    recounted: Any = In("deciding.consistency")
    recipe: Any = In("packs")
    made: Any = In("packs")
    digest: Any = In("packs")
    facts: Any = In("packs")
    own_rules: Any = In("gate")
    fields_of: Any = In("evidence")
    measured: Any = In("section")
    remarks: Any = In("deciding.settings_remarks")

    def way_of(self, setting: str, part: Sequence[str]) -> Way | None:
        if setting != "tags" or len(part) != _TO_AN_ENTRY:
            return None
        return Way.ANY if part[1].endswith("_any") else Way.LOWER

    def unset(self, setting: str, part: Sequence[str], settings: Mapping[str, Any]) -> Any:
        is_switch = setting == "tags" and (len(part) == _TO_AN_ENTRY or part[-1] == "optional")
        return False if is_switch else None

    def ids(self, case: Any) -> tuple[str, ...]:
        return (case.id,) if case.talk is None else (case.talk.id, case.id)

    def score(self, case: Any, by: Any) -> JsonObject:
        entry: JsonObject = self.module("deciding.score").score_case(case, by).to_json()
        return entry

    def totals(self, scored: Sequence[tuple[Any, JsonObject]], by: Any) -> Any:
        return self.module("totals").Totals.of(entry for _, entry in scored)

    def misfit(self, case: Any, by: Any) -> Problem | None:
        known = all(name in by.checks for name in case.checks)
        problem: Problem | None = None if known else self.module("cases").misfit(case, by)
        return problem

    def report(self, totals: Any, results: Sequence[JsonObject], by: Any, generated_at: str) -> dict[str, Any]:
        part: dict[str, Any] = self.module("totals").report(totals, results)
        return part

    def narrowed(self, part: JsonObject, results: Sequence[JsonObject]) -> JsonObject:
        totals = self.module("totals")
        narrowed: JsonObject = totals.report(totals.Totals.of(results), results)
        return narrowed

    def is_excused(self, group: str, asks: JsonObject, policy: JsonObject) -> bool:
        of_tags = policy.get("tags") or {}
        is_worded = any(one.get(kind) for one in (asks, *map(of_tags.get, asks["tags"])) if one for kind in KINDS)
        checks = (*asks["checks"], *[WORDING] * is_worded)
        is_negative = self.module("deciding.score").is_negative
        return bool(is_negative([group], policy.get("profile", "standard"), checks))

    def scored_by(self, part: JsonObject | None, policy: JsonObject) -> Any:
        context = policy["context"]
        words = wording_of_tags(policy.get("tags"))
        more = ([] if context == 1 else [context], [words] if words else [])
        return [policy["profile"], *(one for some in more for one in some)]

    def step_outputs(self, part: JsonObject | None) -> dict[str, str]:
        if part is None:
            return {"unexpected-failures": "", "label-accuracy": ""}
        summary = self.read(part).summary
        labels = summary.label_accuracy
        return {
            "unexpected-failures": str(summary.unexpected_failures),
            "label-accuracy": str(labels.matched / labels.total) if labels.total else "",
        }

    def explanation(self, by: str) -> Explained:
        found: Explained = self.explained.get(by) or self.module("section").of_a_team(by)
        return found

    def metric(self, name: str) -> Metric:
        found: Metric = self.metrics.get(name) or self.module("outcome").pass_rate(name)
        return found
