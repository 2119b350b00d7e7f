"""`eval`: evaluates Synthesis cases alone (Synthesis spec)."""

from __future__ import annotations

from safe_gate.commands._alone import score, show
from safe_gate.commands._command import OUT, QUIET, VERBOSE, Call, Command
from safe_gate.core.figures import plural
from safe_gate.evaluators.registry import EVALUATORS

COMMAND = Command(
    place=4,
    summary="evaluate Synthesis cases only; the only rule is max-unexpected-failures",
    exit_codes="0 passed, 2 more unexpected failures than allowed, 3 error",
    arguments={"--out": OUT, "--verbose": VERBOSE, "--quiet": QUIET},
)


def main(call: Call) -> int:
    """Score the cases that the settings name, and show the scorecard. Returns 0, 2 if too many fail, or 3."""
    cases = "a JSONL file of Synthesis cases, such as --cases evals.jsonl"
    scored = score(call, EVALUATORS["synthesis"], "--cases", cases)
    show(call, scored)
    summary, allowed = scored.part.summary, scored.options.value("max_unexpected_failures")
    is_broken = allowed is not None and summary.unexpected_failures > allowed
    failures = plural(summary.unexpected_failures, "unexpected failure")
    unread = f"; {plural(summary.not_english, 'case')} not in English" if summary.not_english else ""
    unread += f"; {plural(summary.no_reply, 'case')} without a reply" if summary.no_reply else ""
    limit = "any number" if allowed is None else allowed
    call.effects.out(f"Eval: {'FAIL' if is_broken else 'PASS'} ({failures}, {limit} allowed{unread})")
    return 2 if is_broken else 0
