"""`explain`: show why a Synthesis case passes or fails: its hits in the text, and the arithmetic."""

from __future__ import annotations

from safe_gate.commands._command import Call, Command
from safe_gate.core.model import Place, Problem, Untrusted, Verdict
from safe_gate.core.validate import suggestion
from safe_gate.evaluators import EVALUATORS
from safe_gate.evaluators.synthesis.report import result_json
from safe_gate.evaluators.synthesis.score import Case, asks, score_case
from safe_gate.inputs import rules as own_rules
from safe_gate.render.explain import explanation
from safe_gate.render.untrusted import plain
from safe_gate.run.exit_codes import EXIT_CODES, complain
from safe_gate.scoring import measure

COMMAND = Command(
    place=5,
    summary="show why a Synthesis case passes or fails",
    exit_codes="0 shown, 3 no such case or error",
    arguments={"id": {"metavar": "ID", "help": "the case's id"}},
    files_by="--cases",
)


def main(call: Call) -> int:
    """Show the case that the command line names. Returns 0 or 3."""
    options, case_id = call.options(), call.arguments["id"]
    if not options.synthesis_cases:
        return complain((measure.missing("--cases", "the JSONL file that holds the case"),), call.effects)
    evaluator = EVALUATORS["synthesis"]
    rules = own_rules.load(evaluator, measure.settings(options))
    problems: list[Problem] = []
    ids: list[str] = []
    found: Case | None = None
    for item in measure.cases(evaluator, options):
        if isinstance(item, Problem):
            problems.append(item)
        elif isinstance(item, Case):
            ids.append(item.id)
            if item.id == case_id:
                found = item
                break
            if found is None and plain(Untrusted(item.id), len(item.id)) == case_id:  # as reports show it
                found = item
    if found:
        result = result_json(score_case(found, rules))
        texts = {"user": found.user, "assistant": found.assistant}
        call.effects.out(explanation(texts, result, asks(rules)))
        return EXIT_CODES[Verdict.PASS]
    words = f"no case has this id{suggestion(case_id, ids)}; explain reads Synthesis cases, not those of SAFE v0"
    return complain(problems or (Problem(Place("explain"), words, case_id),), call.effects)
