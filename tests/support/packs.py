"""The rules of Synthesis and the packs that ship, for tests that need no command."""

from pathlib import Path
from typing import Any

from safe_gate.evaluators.registry import EVALUATORS
from safe_gate.evaluators.synthesis.checks.turn import Rules
from safe_gate.evaluators.synthesis.packs import SPEC, broken_promises
from safe_gate.evaluators.synthesis.packs import make_rules as rules
from safe_gate.evaluators.synthesis.packs import shipped_packs as shipped
from safe_gate.evaluators.synthesis.packs import word_classes as classes
from safe_gate.inputs import case_files
from safe_gate.scoring.sides import scoring_settings
from safe_gate.settings import Settings

__all__ = ["SPEC", "broken_promises", "classes", "digest", "load", "rules", "shipped"]


def load(profile: str = "standard", **own: Any) -> Rules:
    """Return what Synthesis scores by under these options."""
    under = scoring_settings(Settings().replace(profile=profile, **own))
    found: Rules = case_files.load_rules(EVALUATORS["synthesis"], under, case_files.read_rules(under))
    return found


def digest() -> str:
    under = scoring_settings(Settings())
    return case_files.rules_digest(under, case_files.read_rules(under, root=Path()))
