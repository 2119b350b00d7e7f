"""`eval`: evaluates Synthesis cases alone (Synthesis spec)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from safe_gate.commands._alone import score, show
from safe_gate.commands._command import OUT, QUIET, VERBOSE, Call, Command
from safe_gate.core.figures import plural
from safe_gate.evaluators.registry import EVALUATORS
from safe_gate.evaluators.synthesis.gate import disagrees
from safe_gate.evaluators.synthesis.result import Part
from safe_gate.model.results import Section
from safe_gate.model.spool import Spool
from safe_gate.render.cases import with_labels
from safe_gate.settings import Settings

COMMAND = Command(
    place=4,
    summary="evaluate Synthesis cases only; the only rule is max-unexpected-failures",
    exit_codes="0 passed, 2 more unexpected failures than allowed, 3 error",
    arguments={"--out": OUT, "--verbose": VERBOSE, "--quiet": QUIET},
)

_CASES = "--cases", "a JSONL file of Synthesis cases, such as --cases evals.jsonl"


def main(call: Call) -> int:
    """Score the cases that the settings name, and show the scorecard. Returns 0, 2 or 3."""
    return score(call, EVALUATORS["synthesis"], _CASES, _ending, _show)


def _show(call: Call, part: Part, section: Section, options: Settings) -> None:
    """Show the scorecard, with `--verbose` also the cases whose labels disagree."""
    if call.arguments["verbose"]:
        ids = {one.id for one in part.results if disagrees(one)}
        found = with_labels(section.findings, EVALUATORS["synthesis"], part, ids)
        section = section._replace(findings=Spool(found))
    show(call, part, section, options)


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
