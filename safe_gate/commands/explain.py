"""`explain`: show why a case passes or fails: its evidence, and the arithmetic."""

from __future__ import annotations

from safe_gate.commands._command import Call, Command
from safe_gate.core.evaluator import Evaluator
from safe_gate.core.given import Case
from safe_gate.core.model import Place, Problem, Untrusted, Verdict
from safe_gate.core.validate import suggestion
from safe_gate.evaluators import EVALUATORS
from safe_gate.inputs import rules as own_rules
from safe_gate.render.explain import explanation, judged
from safe_gate.render.untrusted import plain
from safe_gate.run.exit_codes import EXIT_CODES, complain
from safe_gate.scoring import measure
from safe_gate.settings.options import Options, settings

COMMAND = Command(
    place=5,
    summary="show why a case passes or fails",
    exit_codes="0 shown, 3 no such case or error",
    arguments={"id": {"metavar": "ID", "help": "the case's id"}},
    files_by="--cases",
)


def main(call: Call) -> int:
    """Show the case that the command line names. Returns 0 or 3."""
    options, case_id = call.options(), call.arguments["id"]
    explained = [one for one in _explained() if getattr(options, one.input.setting)]
    if not explained:
        return complain((measure.missing("--cases", "the JSONL file that holds the case"),), call.effects)
    problems: list[Problem] = []
    ids: list[str] = []
    for evaluator in explained:
        by = own_rules.load(evaluator, measure.settings(options))
        if found := _case(evaluator, options, case_id, ids, problems):
            result, asked = evaluator.score(found, by), evaluator.asks(by)
            if asked is None:
                call.effects.out(judged(evaluator, result, found.texts()))
            else:
                call.effects.out(explanation(found.texts(), result, asked))
            return EXIT_CODES[Verdict.PASS]
    others = [one.title for one in EVALUATORS.values() if one not in _explained()]
    read = " and ".join(one.input.plural for one in explained)
    words = f"no case has this id{suggestion(case_id, ids)}; explain reads {read}, not those of {' and '.join(others)}"
    return complain(problems or (Problem(Place("explain"), words, case_id),), call.effects)


def _explained() -> list[Evaluator]:
    """Return the evaluators whose cases `explain` has a flag for."""
    flagged = {setting.name for setting in settings() if setting.flags_of("explain")}
    return [one for one in EVALUATORS.values() if one.input.setting in flagged]


def _case(evaluator: Evaluator, options: Options, case_id: str, ids: list[str], problems: list[Problem]) -> Case | None:
    """Return the case with an id, or else the first whose id reports show like that; note ids and problems."""
    alike: Case | None = None
    for item in measure.cases(evaluator, options):
        if isinstance(item, Problem):
            problems.append(item)
        elif not isinstance(item, measure.Other):
            ids.append(item.id)
            if item.id == case_id:
                return item
            if alike is None and plain(Untrusted(item.id), len(item.id)) == case_id:
                alike = item
    return alike
