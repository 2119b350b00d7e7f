"""Synthesis as an evaluator: its settings, and the cases of its lines. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import Field

from safe_gate.core.case import (
    CaseAt,
    Exchange,
    FileKind,
    Grouping,
    Imports,
    Input,
    Misnamed,
    PartShape,
    RuleFiles,
    Way,
)
from safe_gate.core.evaluator import READING_FLAGS, SCORING_FLAGS, Evaluator
from safe_gate.core.setting import ALL_ENTRIES, Names, Stripped, Texts, Whole, renamed
from safe_gate.core.validate import Fault, quote, suggestion
from safe_gate.evaluators import judged
from safe_gate.evaluators.synthesis import gate, packs, present
from safe_gate.evaluators.synthesis.case import (
    UNJUDGED,
    Case,
    conversation_faults,
    find_talks,
    is_negative,
    join_texts,
    merged_messages,
)
from safe_gate.evaluators.synthesis.checks import wording
from safe_gate.evaluators.synthesis.checks.score import recount, score_case, wording_of_case
from safe_gate.evaluators.synthesis.checks.turn import Rules
from safe_gate.evaluators.synthesis.definitions import DEFAULT_CHECKS, KINDS, REPORTED, SHIPPED, WORDING, is_own
from safe_gate.evaluators.synthesis.result import Part, Result, Totals
from safe_gate.evaluators.synthesis.result import report as report_of
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import Code, Place, Problem

_SCORES = ("run", "eval", "explain")
"""The commands that have flags of the scoring settings."""


class Settings(gate.Limits):
    """The settings of Synthesis."""

    scoring = ("profile", "rules", "rules_off", "default_checks", "turns", "context", "helplines", "tags")
    weaker = MappingProxyType(
        {
            "helplines": Way.ANY,
            "tags": Way.ANY,
            "profile": Way.ANY,
            "rules_off": Way.HIGHER,
            "default_checks": Way.LOWER,
            "turns": ("all", "last"),
            "context": Way.LOWER,
        }
    )

    synthesis_cases: Annotated[
        Texts, Names("inputs", renamed("synthesis-cases", "cases", "eval", "explain"), usual=True)
    ] = Field((), description="Synthesis case files (JSONL): paths or globs, one per line, or `-` for standard input.")
    profile: Annotated[Literal["standard", "spec"], Stripped, Names("gate", (*_SCORES, "rules"))] = Field(
        "standard",
        description="Synthesis: `standard` counts clauses by all shipped rules. `spec` uses the rules and formulas of "
        "the specification alone.",
    )
    rules: Annotated[Texts, Names("inputs", (*_SCORES, "rules"), usual=True)] = Field(
        (), description="Synthesis: your own rule packs (JSON): paths or globs, one per line."
    )
    rules_off: Annotated[Texts, Names("advanced", (*_SCORES, "rules"))] = Field(
        (), description="Synthesis: ids of rules or packs that do not count, one per line."
    )
    default_checks: Annotated[Texts, Names("gate", _SCORES)] = Field(
        DEFAULT_CHECKS, description="Synthesis: the checks of a case that names none, one per line."
    )
    turns: Annotated[Literal["last", "all"], Stripped, Names("gate", _SCORES)] = Field(
        "last",
        description="Synthesis: which replies of a conversation are judged: the `last` one, or `all` assistant "
        "messages, each as a case `ID@N`.",
    )
    context: Annotated[Whole, Names("gate", _SCORES)] = Field(
        1,
        ge=0,
        le=100,
        description="Synthesis: how many user messages further back in a conversation `topic_pivot` looks for a "
        "disclosure.",
    )
    helplines: Annotated[Mapping[str, Texts], Names("gate", (), env=())] = Field(
        {},
        description="Synthesis: two lists: `country`, the countries whose helplines are right, such as `GB` (all, if "
        "none is named), and `also`, more numbers that are right. Config file only.",
    )
    tags: Annotated[Mapping[str, Mapping[str, Any]] | None, Names("gate", (), env=())] = Field(
        None,
        description="Synthesis: max-unexpected-failures, min-pass-rate and min-label-accuracy for the cases with one "
        "tag, and must_contain, must_contain_any and must_not_contain for their replies. Here min-pass-rate counts "
        "cases that pass or fail as expected. Config file only.",
    )

    @classmethod
    def way_of(cls, setting: str, part: Sequence[str]) -> Way | None:
        """Return the way of an entry of a list of texts for a tag."""
        match setting, *part:
            case "tags", tag, _, _ if is_negative([tag], "standard", SHIPPED):
                return Way.ANY  # its cases are meant to fail, and more wording lets them
            case "tags", _, kind, _:
                return Way.ANY_ONCE_SET if kind.endswith("_any") else Way.LOWER
        return None

    @classmethod
    def unset(cls, setting: str, part: Sequence[str], settings: Mapping[str, Any]) -> Any:
        """Return False for an entry that a tag's list does not have.

        Return None if there is no list yet, and one of its entries would be enough.
        """
        match setting, *part:
            case "tags", tag, kind, _ if not kind.endswith("_any") or (settings["tags"] or {}).get(tag, {}).get(kind):
                return False
        return None


def _imported_case(exchange: Exchange) -> JsonObject:
    said: JsonObject = {"user": exchange.message, "assistant": exchange.reply}
    if not isinstance(exchange.message, str):
        said = {"messages": [*exchange.message, {"role": "assistant", "content": exchange.reply}]}
    lists = {"checks": exchange.checks, "tags": list(exchange.tags)}
    named = {key: some for key, some in lists.items() if some not in ((), [])}
    return {"id": exchange.id or exchange.stand_in, **said, **named, **exchange.extra}


def parse(value: JsonObject, at: CaseAt, settings: JsonObject) -> Iterator[Case]:
    """Yield the cases of a line: one, or with `turns: all` one for each assistant message, as `ID@N`.

    Labels, recorded verdicts, and tags that mark a negative example, are about the last message. A cluster holds all of
    a turn.
    """
    case = Case(
        id=value["id"],
        user=value.get("user", ""),
        assistant=value.get("assistant", ""),
        checks=tuple(value.get("checks", settings["default_checks"])),
        expected=value.get("expected", {}),
        tags=tuple(value.get("tags", ())),
        place=at.place,
        cluster=at.cluster,
        marks=value.get("marks", {}),
        wording={kind: value[kind] for kind in KINDS if kind in value},
        judged=judged.recorded_verdicts(value),
    )
    if "messages" not in value:
        yield case
        return
    judges_all = value.get("turns", settings["turns"]) == "all"
    asked = (*case.checks, *case.judged, WORDING)
    others = tuple(tag for tag in case.tags if not is_negative([tag], settings["profile"], asked))
    checks = tuple(check for check in case.checks if check not in case.judged)
    talks = find_talks(value, settings["context"])
    for talk in talks if judges_all else deque(talks, maxlen=1):
        is_last = talk.reply.number == len(value["messages"]) - 1
        yield replace(
            case,
            id=f"{talk.id}@{talk.reply.number}" if judges_all else talk.id,
            user=join_texts(talk.asked),
            assistant=talk.reply.text,
            expected=value["messages"][talk.reply.number].get("expected", case.expected if is_last else {}),
            checks=case.checks if is_last else checks or case.checks,  # a reply without checks would pass
            tags=case.tags if is_last else others,
            judged=case.judged if is_last else {},
            cluster=at.cluster or (talk.id if judges_all else ""),
            talk=talk._replace(unjudged=0) if judges_all else talk,
        )


def faults(case: JsonObject) -> Iterator[Fault]:
    """Yield the problems of a case that fits its schema. Verdicts are about the last message."""
    yield from conversation_faults(case)
    for kind, index, why in wording.invalid_expressions(case):
        begin, end = "is not an RE2 regular expression", "; correct it, or write a text"
        yield Fault((kind, index, "regex"), f"{begin}: {why}{end}", f"{begin}{end}")
    yield from judged.label_faults(case, case.get("expected", {}), "expected")
    said = case.get("messages", ())
    for number, message in enumerate(said):
        of_it = case if number == len(said) - 1 else {}
        yield from judged.label_faults(of_it, message.get("expected", {}), "messages", number, "expected")


def misnamed_checks(settings: JsonObject, by: Callable[[], Rules]) -> Iterator[Misnamed]:
    """Yield the entries of `min_label_accuracy` that name neither a shipped check nor one of a team's packs."""
    named = (settings["min_label_accuracy"] or {}).keys() - {ALL_ENTRIES, *REPORTED}
    known = (ALL_ENTRIES, *REPORTED, *filter(is_own, by().checks)) if named else ()
    for name in sorted(name for name in named - {*known} if not name.startswith(judged.PREFIX)):
        words = f"is not a check{suggestion(name, known)}; expected {', '.join(known)}"
        yield Misnamed("min_label_accuracy", name, words)


def unknown_check_problem(case: Case, rules: Rules) -> Problem | None:
    """Return the problem of a case that names an unknown check, also in a label."""
    known = {*rules.checks, *case.judged, *[WORDING] * bool(wording_of_case(case, rules))}
    labels = (name for name in case.expected if is_own(name) and not name.startswith(judged.PREFIX))
    named = [*((name, "checks") for name in case.checks), *((name, "expected") for name in labels)]
    name, field = next((one for one in named if one[0] not in known), ("", ""))
    if not name:
        return None
    if name == WORDING:
        kinds = f"{', '.join(KINDS[:-1])} or {KINDS[-1]}"
        needs = f"wording needs {kinds}, in the case or in the config file for one of its tags"
        words = f"{needs}; add one, or leave wording out of checks and default-checks"
    elif name.startswith(judged.PREFIX):
        earlier = ", or an earlier reply has no other check" if case.talk else ""
        words = f"{quote(name)} has no recorded verdict{earlier}; add it under judged, or leave it out of checks"
    elif name in SHIPPED:
        words = f"{quote(name)} is not a check of the profile spec; take it out of the case, or set profile to standard"
    else:
        shown = [*rules.checks, WORDING]
        expected = f"expected {', '.join(shown)}, or a check that a pack of the setting rules defines"
        words = f"{quote(name)} is not a check{suggestion(name, shown)}; {expected}"
    return Problem(case.place, words, case.talk.id if case.talk else case.id, field)


def unserved_check_problems(total: Totals, rules: Rules) -> Iterator[Problem]:
    """Yield a problem for each check that cases use but that has no rule: it would always pass."""
    for name in dict.fromkeys(check for check, _ in total.verdicts):
        check = rules.checks.get(name)
        groups = (check.applies or (*check.favour, *check.against)) if check else ()
        if check and not any(rule.group in groups for rule in rules.all):
            asked = " or ".join(check.applies) or name  # a check that never applies always passes
            words = f"switches off every rule of {asked}, but cases use {name}; keep a rule, or remove the check"
            yield Problem(Place("rules-off"), words, code=Code.INVALID_SETTING)


class Synthesis(Evaluator):
    """Whether a reply respects a person's agency, avoids false comfort, and stays with them."""

    name = "synthesis"
    title = "Synthesis"
    settings = Settings
    input = Input(
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
        read_as_one=merged_messages,
        imports=Imports(
            file="cases.jsonl",
            makes="cases",
            kind="synthesis-case",
            fields=("id", "user", "assistant", "tags"),
            line=_imported_case,
            keeps=frozenset("checks expected turns context notes marks judged".split()) | {*KINDS},
        ),
    )
    commands = MappingProxyType({"eval": (*SCORING_FLAGS, "jobs"), "rules": READING_FLAGS})
    part = PartShape(
        Part,
        Result,
        quotes=frozenset("reason text words shared cluster regex".split()) | {*KINDS},
    )
    grouping = Grouping(noun="tag", key="tags", setting="tags", figures=lambda part: part.summary.by_tag)
    weaker_if_more = frozenset({UNJUDGED})
    rule_files = RuleFiles(
        setting="rules",
        off="rules_off",
        kind="rule-pack",
        alone=packs.problems_alone,
        digest=packs.packs_digest,
        facts=packs.pack_facts,
        misnamed=misnamed_checks,
        misfit=unknown_check_problem,
        unserved=unserved_check_problems,
    )

    gate, present, compare = gate, present, gate
    faults = staticmethod(faults)
    parse = staticmethod(parse)
    recompute = staticmethod(recount)
    recipe = staticmethod(packs.recipe)
    compile = staticmethod(packs.from_recipe)

    def score(self, case: Any, by: Any) -> Result:
        return score_case(case, by)

    def totals(self, scored: Sequence[tuple[Any, Any]], by: Any) -> Any:
        return Totals.of(result for _, result in scored)

    def report(self, totals: Any, results: Sequence[Any], by: Any, generated_at: str) -> Part:
        return report_of(totals, results, filter(is_own, by.checks))
