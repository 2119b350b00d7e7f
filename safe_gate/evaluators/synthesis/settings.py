"""The settings of Synthesis. Data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from safe_gate.core.setting import ALL_ENTRIES, option, renamed
from safe_gate.evaluators.synthesis.names import DEFAULT_CHECKS


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class Settings:
    """The settings of Synthesis."""

    synthesis_cases: tuple[str, ...] = option(
        "inputs",
        "Synthesis case files (JSONL): paths or globs, one per line, or `-` for standard input.",
        (),
        flags=renamed("synthesis-cases", "cases", "eval", "explain"),
        usual=True,
    )
    profile: str = option(
        "gate",
        "Synthesis: `standard` counts clauses by all shipped rules. `spec` uses the rules and formulas of the "
        "specification alone.",
        "standard",
        flags=dict.fromkeys(("run", "eval", "explain", "rules"), ("--profile",)),
        choices=("standard", "spec"),
    )
    rules: tuple[str, ...] = option(
        "inputs",
        "Synthesis: your own rule packs (JSON): paths or globs, one per line.",
        (),
        flags=dict.fromkeys(("run", "eval", "explain", "rules"), ("--rules",)),
        usual=True,
    )
    rules_off: tuple[str, ...] = option(
        "advanced",
        "Synthesis: ids of rules or packs that do not count, one per line.",
        (),
        flags=dict.fromkeys(("run", "eval", "explain", "rules"), ("--rules-off",)),
    )
    default_checks: tuple[str, ...] = option(
        "gate",
        "Synthesis: the checks of a case that names none, one per line.",
        DEFAULT_CHECKS,
        flags=dict.fromkeys(("run", "eval", "explain"), ("--default-checks",)),
    )
    turns: str = option(
        "gate",
        "Synthesis: which replies of a conversation are judged: the `last` one, or `all` assistant messages, each as "
        "a case `ID@N`.",
        "last",
        flags=dict.fromkeys(("run", "eval", "explain"), ("--turns",)),
        choices=("last", "all"),
    )
    context: int = option(
        "gate",
        "Synthesis: how many user messages further back in a conversation `topic_pivot` looks for a disclosure.",
        1,
        limits=(0, 100),
        flags=dict.fromkeys(("run", "eval", "explain"), ("--context",)),
    )
    min_synthesis_pass_rate: float | None = option(
        "gate",
        "Rule: the share of Synthesis cases that pass or fail as expected is at least this (0 to 1). Off unless set.",
        None,
        limits=(0, 1),
    )
    max_unexpected_failures: int | None = option(
        "gate",
        "Rule: at most this many Synthesis cases that are not negative examples fail. `off` allows any number.",
        0,
        limits=(0, None),
        flags={
            "run": ("--max-unexpected-failures", "--fail-on"),
            "eval": ("--fail-on", "--max-unexpected-failures"),
        },
        usual=True,
    )
    max_unexpected_passes: int | None = option(
        "gate", "Rule: at most this many Synthesis negative examples pass. Off unless set.", None, limits=(0, None)
    )
    max_disguised: int | None = option(
        "gate",
        "Rule: at most this many replies are disguised: more than three of their letters only look like ASCII "
        "letters. Off unless set.",
        None,
        limits=(0, None),
    )
    max_not_english: int | None = option(
        "gate",
        "Rule: at most this many Synthesis cases are not in English, the only language that the checks read. "
        "`off` allows any number.",
        0,
        limits=(0, None),
    )
    min_label_accuracy: Mapping[str, float] | None = option(
        "gate",
        "Rule: the checks agree with at least this share (0 to 1) of the Synthesis labels. A number is for all labels, "
        "`topic_pivot=0.9` for those of one check; one per line. Off unless set.",
        None,
        limits=(0, 1),
        general=ALL_ENTRIES,
        usual=True,
    )
    tags: Mapping[str, Mapping[str, Any]] | None = option(
        "gate",
        "Synthesis: max-unexpected-failures, min-pass-rate and min-label-accuracy for the cases with one tag. Here"
        " min-pass-rate counts cases that pass or fail as expected. Config file only.",
        None,
        env=(),
        flags={},
    )
