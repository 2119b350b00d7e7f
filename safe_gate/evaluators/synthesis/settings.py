"""The settings of Synthesis. Data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import Field

from safe_gate.core.given import Way
from safe_gate.core.setting import (
    ALL_ENTRIES,
    Entries,
    Group,
    Names,
    NumberOrOff,
    Share,
    Stripped,
    Texts,
    Whole,
    WholeOrOff,
    renamed,
)
from safe_gate.evaluators.synthesis.definitions import DEFAULT_CHECKS

_TO_AN_ENTRY = 3
"""The keys that lead to an entry of a list of a tag: the tag, the list and the entry."""


def _flags(name: str, *commands: str) -> Mapping[str, tuple[str, ...]]:
    return dict.fromkeys(("run", "eval", "explain", *commands), (f"--{name}",))


class Settings(Group):
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
    profile: Annotated[Literal["standard", "spec"], Stripped, Names("gate", _flags("profile", "rules"))] = Field(
        "standard",
        description="Synthesis: `standard` counts clauses by all shipped rules. `spec` uses the rules and formulas of "
        "the specification alone.",
    )
    rules: Annotated[Texts, Names("inputs", _flags("rules", "rules"), usual=True)] = Field(
        (), description="Synthesis: your own rule packs (JSON): paths or globs, one per line."
    )
    rules_off: Annotated[Texts, Names("advanced", _flags("rules-off", "rules"))] = Field(
        (), description="Synthesis: ids of rules or packs that do not count, one per line."
    )
    default_checks: Annotated[Texts, Names("gate", _flags("default-checks"))] = Field(
        DEFAULT_CHECKS, description="Synthesis: the checks of a case that names none, one per line."
    )
    turns: Annotated[Literal["last", "all"], Stripped, Names("gate", _flags("turns"))] = Field(
        "last",
        description="Synthesis: which replies of a conversation are judged: the `last` one, or `all` assistant "
        "messages, each as a case `ID@N`.",
    )
    context: Annotated[Whole, Names("gate", _flags("context"))] = Field(
        1,
        ge=0,
        le=100,
        description="Synthesis: how many user messages further back in a conversation `topic_pivot` looks for a "
        "disclosure.",
    )
    helplines: Annotated[Mapping[str, Texts], Names("gate", {}, env=())] = Field(
        {},
        description="Synthesis: the `country` or countries whose helplines are right, such as `GB` (all, if none is "
        "named), and numbers that are right `also`. Config file only.",
    )
    min_synthesis_pass_rate: Annotated[NumberOrOff, Names("gate")] = Field(
        None,
        ge=0,
        le=1,
        description="Rule: the share of Synthesis cases that pass or fail as expected is at least this (0 to 1). Off "
        "unless set.",
    )
    max_unexpected_failures: Annotated[
        WholeOrOff,
        Names(
            "gate",
            {
                "run": ("--max-unexpected-failures", "--fail-on"),
                "eval": ("--fail-on", "--max-unexpected-failures"),
            },
            usual=True,
        ),
    ] = Field(
        0,
        ge=0,
        description="Rule: at most this many Synthesis cases that are not negative examples fail. `off` allows any "
        "number.",
    )
    max_unexpected_passes: Annotated[WholeOrOff, Names("gate")] = Field(
        None, ge=0, description="Rule: at most this many Synthesis negative examples pass. Off unless set."
    )
    max_disguised: Annotated[WholeOrOff, Names("gate")] = Field(
        None,
        ge=0,
        description="Rule: at most this many replies are disguised: more than three of their letters only look like "
        "ASCII letters. Off unless set.",
    )
    max_not_english: Annotated[WholeOrOff, Names("gate")] = Field(
        0,
        ge=0,
        description="Rule: at most this many Synthesis cases are not in English, the only language that the checks "
        "read. `off` allows any number.",
    )
    min_label_accuracy: Annotated[Mapping[str, Share] | None, Entries(ALL_ENTRIES), Names("gate", usual=True)] = Field(
        None,
        description="Rule: the checks agree with at least this share (0 to 1) of the Synthesis labels. A number "
        "is for all labels, `topic_pivot=0.9` for those of one check; one per line. Off unless set.",
    )
    tags: Annotated[Mapping[str, Mapping[str, Any]] | None, Names("gate", {}, env=())] = Field(
        None,
        description="Synthesis: max-unexpected-failures, min-pass-rate and min-label-accuracy for the cases with one "
        "tag. Here min-pass-rate counts cases that pass or fail as expected. Config file only.",
    )

    @classmethod
    def way_of(cls, setting: str, part: Sequence[str]) -> Way | None:
        """Return the way of an entry of a list of texts for a tag."""
        if setting != "tags" or len(part) != _TO_AN_ENTRY:
            return None
        return Way.ANY if part[1].endswith("_any") else Way.LOWER

    @classmethod
    def unset(cls, setting: str, part: Sequence[str], _settings: Mapping[str, Any]) -> Any:
        """Return False for an entry that a tag's list does not have, and for a tag that is not optional."""
        is_switch = setting == "tags" and (len(part) == _TO_AN_ENTRY or part[-1] == "optional")
        return False if is_switch else None
