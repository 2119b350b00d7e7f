"""`eval`: evaluates Synthesis cases alone (Synthesis spec)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from safe_gate.commands._alone import score
from safe_gate.commands._command import OUT, QUIET, VERBOSE, Call, Command
from safe_gate.core.figures import plural
from safe_gate.evaluators.registry import EVALUATORS
from safe_gate.evaluators.synthesis.result import Part

COMMAND = Command(
    place=4,
    summary="evaluate Synthesis cases only; the only rule is max-unexpected-failures",
    exit_codes="0 passed, 2 more unexpected failures than allowed, 3 error",
    arguments={"--out": OUT, "--verbose": VERBOSE, "--quiet": QUIET},
)

_CASES = "--cases", "a JSONL file of Synthesis cases, such as --cases evals.jsonl"


def main(call: Call) -> int:
    """Score the cases that the settings name, and show the scorecard. Returns 0, 2 or 3."""
    return score(call, EVALUATORS["synthesis"], _CASES, _ending)


def _ending(part: Part, settings: Mapping[str, Any]) -> tuple[int, str]:
    """Return 2 if too many cases fail, 0 if not, and a line that says so."""
    summary, allowed = part.summary, settings["max_unexpected_failures"]
    failures, foreign, missing = summary.unexpected_failures, summary.not_english, summary.no_reply
    is_broken = allowed is not None and failures > allowed
    unread = f"; {plural(foreign, 'case')} not in English" if foreign else ""
    unread += f"; {plural(missing, 'case')} without a reply" if missing else ""
    limit = "any number" if allowed is None else allowed
    verdict = "FAIL" if is_broken else "PASS"
    line = f"Eval: {verdict} ({plural(failures, 'unexpected failure')}, {limit} allowed{unread})"
    return (2 if is_broken else 0), line
