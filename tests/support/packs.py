"""The rules of Synthesis and the packs that ship, for tests that need no command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from safe_gate.evaluators.registry import EVALUATORS
from safe_gate.evaluators.synthesis import packs
from safe_gate.evaluators.synthesis.checks.turn import Rules
from safe_gate.evaluators.synthesis.packs import SPEC, Pack
from safe_gate.inputs import case_files
from safe_gate.model.codec import JsonObject
from safe_gate.scoring.sides import scoring_settings
from safe_gate.settings import Settings

__all__ = ["SPEC", "broken_promises", "check", "classes", "digest", "load", "rules", "selected", "shipped"]


def load(profile: str = "standard", **own: Any) -> Rules:
    """Return what Synthesis scores by under these options."""
    under = scoring_settings(Settings().replace(profile=profile, **own))
    found: Rules = case_files.load_rules(EVALUATORS["synthesis"], under, case_files.read_rules(under))
    return found


def rules(some: Sequence[Pack], profile: str = "standard") -> Rules:
    """Return packs made ready to score by."""
    return packs.make_rules(some, profile)


def shipped() -> tuple[Pack, ...]:
    """Return the packs that ship."""
    return packs.shipped_packs()


def selected(off: Sequence[str] = ()) -> list[Pack]:
    """Return the packs that ship, less what is switched off."""
    return packs.select_packs((), off)


def classes() -> Mapping[str, Sequence[str]]:
    """Return the word classes."""
    return packs.word_classes()


def digest(own: Sequence[str] = (), root: Path = Path()) -> str:
    """Return the digest of the packs that ship and of a team's own."""
    under = scoring_settings(Settings().replace(rules=tuple(own)))
    return case_files.rules_digest(under, case_files.read_rules(under, root=root))


def check(own: Sequence[str], root: Path = Path()) -> str:
    """Return the recipe with a team's packs. Raises CannotJudge with every problem of them."""
    under = scoring_settings(Settings().replace(rules=tuple(own)))
    return case_files.recipe(EVALUATORS["synthesis"], under, case_files.read_rules(under, root=root))


def broken_promises(pack: Pack, rule: JsonObject) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the texts that a rule of a pack, alone, does not hit, and those that it must not hit and does."""
    return packs.broken_promises(pack, rule)
