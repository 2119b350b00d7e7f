"""`explain`: show what decided cases: their texts with the evidence marked, and how each metric or check judged."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from safe_gate.commands._command import JSON, Call, Command, complain
from safe_gate.core.evaluator import Evaluator
from safe_gate.core.given import Case
from safe_gate.core.validate import suggestion
from safe_gate.inputs import case_files, own_rules
from safe_gate.inputs.case_files import CaseFiles
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Code, Place, Problem
from safe_gate.model.untrusted import Untrusted
from safe_gate.render.explain import Explanation, as_json, explanation, shown
from safe_gate.render.untrusted import plain
from safe_gate.scoring import asked, intake, refusals

COMMAND = Command(
    place=5,
    summary="show why cases pass or fail",
    exit_codes="0 shown, 3 no such case or error",
    arguments={
        "id": {"nargs": "*", "metavar": "ID", "help": "ids of cases"},
        "--failed": {"action": "store_true", "help": "explain every unexpected failure"},
        "--json": JSON,
    },
    own_word="",
    instead_of_words=("--failed",),
)


def main(call: Call) -> int:
    """Show the cases that the command line names, in the order of the files. Returns 0 or 3."""
    options, effects = call.options(), call.effects
    wanted = _Wanted(dict.fromkeys(call.arguments["id"]), is_failed=call.arguments["failed"])
    if problem := wanted.problem():
        return complain((problem,), effects)
    evaluators = asked.given(options)
    if not evaluators:
        return complain((refusals.nothing_to_judge(),), effects)
    told, count, settings = list[JsonObject](), 0, asked.settings(options)
    effects.tell("cases", told)
    own = own_rules.read(settings)
    for evaluator in evaluators:
        recipe = asked.recipe(evaluator, settings, own, options.config)
        for one in _explained(case_files.of(evaluator, options), settings, recipe, wanted):
            if call.arguments["json"]:
                told.append(as_json(one))
            else:
                effects.out(shown(one))
            count += 1
    if problems := wanted.unmet(evaluators):
        return complain(refusals.as_shown(problems, options.text), effects)
    if not count:
        effects.out("No case fails unexpectedly.")
    return 0


@dataclass(slots=True)
class _Wanted:
    """The cases to explain, by id or because they fail, with the ids and problems met while looking."""

    ids: dict[str, None]
    is_failed: bool
    met: set[str] = field(default_factory=set)
    seen: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def problem(self) -> Problem | None:
        """Return what is wrong with the command line, if anything is."""
        if self.ids and self.is_failed:
            return Problem(Place("explain"), "takes ids or --failed, not both; leave one out", code=Code.USAGE)
        if not (self.ids or self.is_failed):
            return Problem(Place("explain"), "names no case; expected ids, or --failed", code=Code.USAGE)
        return None

    def unmet(self, evaluators: Sequence[Evaluator]) -> Sequence[Problem]:
        """Return the problems of the files if a case may be among them, else a problem for each id that no case has."""
        missing = [one for one in self.ids if one not in self.met]
        if self.problems and (missing or self.is_failed):
            return self.problems
        read = " and ".join(one.input.plural for one in evaluators)
        return [
            Problem(
                Place(one),
                "is a file, and no case has this id; name the ids before --cases, or set --failed"
                if os.path.exists(one)  # noqa: PTH110 - a Path may raise
                else f"no case has this id{suggestion(one, self.seen, most=3)}; looked in {read}",
                code=Code.UNKNOWN_CASE,
            )
            for one in missing
        ]


def _explained(files: CaseFiles, settings: JsonObject, recipe: str, wanted: _Wanted) -> Iterator[Explanation]:
    """Yield the explanations of an evaluator's cases that are wanted, and note ids and problems."""
    evaluator = files.evaluator
    by, part = own_rules.made(evaluator.name, recipe), evaluator.compare.recorded(settings)

    def explained(case: Case) -> Explanation:
        if evaluator.rule_files and (misfit := evaluator.rule_files.misfit(case, by)):
            raise CannotJudge(misfit)
        return explanation(evaluator, part, evaluator.score(case, by), case.texts())

    if not wanted.is_failed:
        yield from _named(files, settings, explained, wanted)
        return
    for case in _selected(files, settings, wanted):
        if evaluator.rule_files and (misfit := evaluator.rule_files.misfit(case, by)):
            if wanted.problems[-1:] != [misfit]:  # which all turns of a conversation share
                wanted.problems.append(misfit)
            continue
        one = explained(case)
        if any(evaluator.gate.failures(replace(part, results=[one.result]))):
            yield one


def _selected(files: CaseFiles, settings: JsonObject, wanted: _Wanted) -> Iterator[Case]:
    """Yield an evaluator's cases that the filters leave in. To leave in none is a problem."""
    groups, left_out, count = set[str](), set[str](), 0
    for item in intake.cases(files, asked.unfiltered(settings)):
        if isinstance(item, Problem):
            wanted.problems.append(item)
        elif isinstance(item, intake.Other):
            continue
        elif asked.selects(settings, item.groups):
            count += 1
            yield item
        else:
            groups.update(item.groups)
            left_out.add(item.id)
    if not (count or wanted.problems) and (lacking := refusals.no_case(files.evaluator, settings, groups, left_out)):
        wanted.problems.append(lacking)


def _named(
    files: CaseFiles, settings: JsonObject, explained: Callable[[Case], Explanation], wanted: _Wanted
) -> Iterator[Explanation]:
    """Yield the explanations of an evaluator's cases that ids name, whatever the filters leave out."""
    left, alike, place = dict(wanted.ids), dict[str, Case](), Place("")
    for item in intake.cases(files, asked.unfiltered(settings)):
        if isinstance(item, Problem):
            wanted.problems.append(item)
        elif isinstance(item, intake.Other):
            continue
        else:
            if not left and item.place != place:
                break
            wanted.seen.append(item.id)
            if named := [one for one in item.ids if one in wanted.ids]:
                left = {one: None for one in left if one not in named}
                place = item.place  # the other turns of a conversation are there, too
                yield explained(item)
            elif (as_shown := plain(Untrusted(item.id), len(item.id))) in left:
                alike.setdefault(as_shown, item)
    yield from (explained(alike[one]) for one in left if one in alike)
    wanted.met.update(one for one in wanted.ids if one not in left or one in alike)
