"""Synthesis as an evaluator: its facts, and where the rest is found once it has cases. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from safe_gate.core.given import (
    Case,
    Exchange,
    FileKind,
    Grouping,
    Imports,
    Lines,
    Misnamed,
    OwnFile,
    PackFact,
    RuleBook,
    RuleFiles,
    Shipped,
    Way,
)
from safe_gate.evaluators.modular import Modular
from safe_gate.evaluators.synthesis.settings import Settings

if TYPE_CHECKING:
    from safe_gate.core.model import JsonObject, Metric, Phrase, Place, Problem
    from safe_gate.core.rules import Rule
    from safe_gate.core.shown import Explained
    from safe_gate.core.validate import Fault


def _rulebook() -> RuleBook:
    from safe_gate.evaluators.synthesis import rulebook

    return rulebook


def _imported(one: Exchange) -> JsonObject:
    """Return an exchange as a case."""
    is_turn = isinstance(one.message, str)
    turn = {"user": one.message, "assistant": one.reply}
    return {
        "id": one.id or one.stand_in,
        **(turn if is_turn else {"messages": [*one.message, {"role": "assistant", "content": one.reply}]}),
        "checks": list(one.checks),
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
    groups_key = "tags"
    settings = Settings
    scoring = (
        "profile",
        "sensitivity",
        "rules",
        "rules_off",
        "rule_weights",
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
            "max_not_english": Way.HIGHER,
            "tags": Way.ANY,
            "min_label_accuracy": Way.LOWER,
            "profile": Way.ANY,
            "sensitivity": ("strict", "balanced", "lenient"),
            "rules_off": Way.HIGHER,
            "rule_weights": Way.ANY,
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
    )
    command = "eval"
    part_keys = frozenset({"summary", "results"})
    added = ((("summary", "disguised"), 0), (("summary", "no_reply"), 0))
    grouping = Grouping(
        noun="tag",
        setting="tags",
        size="cases",
        figures=lambda part: part["summary"]["by_tag"],
        groups_of=lambda result: result["tags"],
    )
    quotes = frozenset(
        {"text", "words", "shared", "cluster", "regex", "must_contain", "must_contain_any", "must_not_contain"}
    )
    counting_passes = ("max_unexpected_passes", "min_synthesis_pass_rate")
    gives_away = frozenset({"because"})  # of reports of earlier versions
    rule_files = RuleFiles("rules", "rule-pack", _rulebook)

    def faults(self, value: JsonObject) -> Iterator[Fault]:
        from safe_gate.evaluators.synthesis.cases import faults

        return faults(value)

    def cases(self, value: JsonObject, place: Place, cluster: str, settings: JsonObject) -> Iterator[Case]:
        from safe_gate.evaluators.synthesis.cases import cases_of

        return cases_of(value, place, cluster, settings)

    def ids(self, case: Any) -> tuple[str, ...]:
        return (case.id,) if case.talk is None else (case.talk.id, case.id)

    def score(self, case: Any, by: Any) -> JsonObject:
        from safe_gate.evaluators.synthesis.deciding.score import score_case

        return score_case(case, by).to_json()

    def recounted(self, entry: JsonObject, case: Any, by: Any) -> JsonObject:
        from safe_gate.evaluators.synthesis.deciding.recount import recounted

        return recounted(entry, case, by)

    def totals(self, scored: Sequence[tuple[Any, JsonObject]], by: Any) -> Any:
        from safe_gate.evaluators.synthesis.totals import Totals

        return Totals.of(entry for _, entry in scored)

    def misfit(self, case: Any, by: Any) -> Problem | None:
        if all(name in by.checks for name in case.checks):
            return None
        from safe_gate.evaluators.synthesis.cases import misfit

        return misfit(case, by)

    def unserved(self, totals: Any, by: Any) -> Iterator[Problem]:
        from safe_gate.evaluators.synthesis.cases import unserved

        return unserved(totals, by)

    def report(self, totals: Any, results: Sequence[JsonObject], by: Any, generated_at: str) -> dict[str, Any]:
        from safe_gate.evaluators.synthesis.totals import report

        return report(totals, results)

    def misnamed(self, settings: JsonObject, by: Callable[[], Any]) -> Iterator[Misnamed]:
        from safe_gate.evaluators.synthesis.cases import misnamed

        return misnamed(settings, by)

    def own_rules(self, limits: Mapping[str, Any]) -> Iterator[tuple[Rule, Any]]:
        found: Iterator[tuple[Rule, Any]] = self._module("gate").own_rules(limits)
        return found

    def recipe(self, settings: JsonObject, own: Sequence[OwnFile], data: Shipped) -> str:
        from safe_gate.evaluators.synthesis.packs import recipe

        return recipe(settings, own, data)

    def made(self, recipe: str, data: Shipped) -> Any:
        from safe_gate.evaluators.synthesis.packs import made

        return made(recipe, data)

    def digest(self, settings: JsonObject, own: Sequence[OwnFile], data: Shipped) -> str:
        from safe_gate.evaluators.synthesis.packs import digest

        return digest(settings, own, data)

    def facts(self, own: Sequence[OwnFile], data: Shipped) -> Mapping[str, PackFact]:
        from safe_gate.evaluators.synthesis.packs import facts

        return facts(own, data)

    def is_excused(self, tags: Collection[str], policy: JsonObject) -> bool:
        from safe_gate.evaluators.synthesis.deciding.score import is_negative, named_by

        return is_negative(tags, policy.get("profile", "standard"), named_by(tags))

    def scored_by(self, part: JsonObject | None, policy: JsonObject) -> Any:
        from safe_gate.evaluators.synthesis.names import wording_of_tags

        context = policy.get("context", 1)  # no setting of earlier versions, in which nothing followed from it
        words = wording_of_tags(policy.get("tags"))
        more = ([] if context == 1 else [context], [words] if words else [])
        return [policy["profile"], policy["sensitivity"], *(one for some in more for one in some)]

    def step_outputs(self, part: JsonObject | None) -> dict[str, str]:
        labels = part["summary"]["label_accuracy"] if part else {"total": 0}
        return {
            "unexpected-failures": str(part["summary"]["unexpected_failures"]) if part else "",
            "label-accuracy": str(labels["matched"] / labels["total"]) if labels["total"] else "",
        }

    def fields_of(self, result: JsonObject, texts: JsonObject) -> Mapping[str, str]:
        from safe_gate.evaluators.synthesis.evidence import fields_of

        return fields_of(result, texts)

    def explanation(self, by: str) -> Explained:
        found: Explained = self.explained.get(by) or self._module("section").of_a_team(by)
        return found

    def measured(self, part: JsonObject) -> Sequence[str]:
        return self._module("section").measured(part)  # type: ignore[no-any-return]

    def metric(self, name: str) -> Metric:
        found: Metric = self.metrics.get(name) or self._module("outcome").pass_rate(name)
        return found

    def remarks(self, part: JsonObject, policy: JsonObject) -> Iterator[Phrase]:
        from safe_gate.evaluators.synthesis.deciding.remarks import remarks

        return remarks(part, policy)
