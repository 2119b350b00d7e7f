"""Shell: the evaluators' parts of a report: cases read, scored and added up one at a time. Reads files.

Files are read in parts of whole lines. `tally_part` turns a part into totals, entries, ids and problems. An
ordered map applies it: Python's own, `workers.map_in_order` or the cluster's. Parts travel as the hashed bytes, not as
paths. Rules travel as their recipe, which each process compiles once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, NamedTuple

from safe_gate import addons
from safe_gate.core.case import Case
from safe_gate.core.evaluator import Evaluator
from safe_gate.core.figures import Sum
from safe_gate.evaluators.registry import BUILT_IN, EVALUATORS
from safe_gate.gate.stored import withheld, without_texts
from safe_gate.gate.weakening import Cases, CaseTerms
from safe_gate.inputs import case_files, recorded
from safe_gate.inputs.recorded import Found
from safe_gate.model import record
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Code, Place, Problem, is_interrupt, reason
from safe_gate.model.report import InputFile, Parts
from safe_gate.model.spool import Batch, Spool
from safe_gate.scoring import sides, workers
from safe_gate.scoring.sides import (
    Part,
    Snapshot,
    no_case_problem,
    passes_filters,
    read_file_parts,
    redact_problems,
)
from safe_gate.settings import Settings

Recount = Callable[[Any], Any]
"""Recomputes a result from its own evidence; an equal one unless it contradicts itself."""

ResultSource = Callable[[str, str, Callable[[], Any], Recount], Any]
"""Returns a case's result from its evaluator, its id, a scorer and a check of results.

None passes the case over, a problem says why its result cannot be taken.
"""


def score_all(_evaluator: str, _case_id: str, score: Callable[[], Any], _recount: Recount) -> Any:
    """Return a case's result by scoring it: the source of a run that is whole."""
    return score()


def score_none(_evaluator: str, _case_id: str, _score: Callable[[], Any], _recount: Recount) -> None:
    """Return no result: a source of a run that only looks for problems in its inputs."""


class ScoringMethod(NamedTuple):
    """How cases are scored, if not by their own rules, and what is kept of them beside their results.

    `recipe`, as in `compile_recipe`, replaces these rules. `skips_misfits` leaves out cases that the rules do not fit,
    unless what does fit of them fails. Otherwise such a case is a problem, and so is what nothing checks. `rules_of` is
    the commit of the rules, "" for that of the cases. `texts` says which cases' recorded texts are kept, and
    `case_terms` whether the terms of all cases are.
    """

    recipe: str = ""
    source: ResultSource = score_all
    texts: Literal["", "failing", "all"] = ""
    case_terms: bool = False
    skips_misfits: bool = False
    rules_of: str = ""


OWN_RULES = ScoringMethod()
"""Cases are scored by the rules that their settings name."""


class Scoring(NamedTuple):
    """Everything that a case's result depends on: a value without secrets that can be sent to another process.

    `settings` are as in a report.
    """

    evaluator: str
    settings: JsonObject
    how: ScoringMethod


class PartTally(NamedTuple):
    """The results of some cases, and their totals, which can be added.

    `texts` belong to the results' cases, if they are kept, and `case_terms` to all cases. `ids` has the
    ids of all cases of lines with their places, including cases with problems. With a problem there may be fewer
    results than `cases`. `groups` are those of all cases without a problem. `left_out` has the ids of the cases that a
    filter leaves out.
    """

    totals: Any
    results: Batch
    texts: Batch
    case_terms: Batch
    cases: int = 0
    ids: tuple[tuple[str, Place], ...] = ()
    problems: tuple[Problem, ...] = ()
    groups: frozenset[str] = frozenset()
    left_out: tuple[str, ...] = ()


def tally_part(scoring: Scoring, item: tuple[Part, bool]) -> PartTally:
    """Return the result of some cases if they are to be scored; else their problems and ids.

    Raises CannotJudge if the evaluator of a package does not return, however it leaves.
    """
    try:
        return _tally_part(scoring, *item)
    except (CannotJudge, MemoryError):
        raise
    except BaseException as error:
        name = scoring.evaluator
        if name in BUILT_IN or is_interrupt(error):
            raise
        what = f"left by {type(error).__name__} instead of returning"
        words = f"{what} ({reason(error)}); report it to the authors of the evaluator, with the command and the input"
        problem = Problem(
            Place(f"evaluator {name}"), words, text_free=f"{what}; report it to the authors", code=Code.INTERNAL_ERROR
        )
        raise CannotJudge(problem) from error


def _tally_part(scoring: Scoring, part: Part, is_scored: bool) -> PartTally:
    evaluator, how = EVALUATORS[scoring.evaluator], scoring.how
    by = case_files.compile_recipe(scoring.evaluator, how.recipe)
    cases: Sequence[Case | Problem]
    if isinstance(part, recorded.FilePart):
        cases = [*recorded.parse_part(evaluator, part, scoring.settings)]
        ids = recorded.ids_by_line(cases)
    else:
        cases, ids = part, ()
    problems, unsound = list[Problem](), list[Problem]()
    scored = list[tuple[Case, Any]]()
    asked_of, left_out, groups, count = list[CaseTerms](), list[str](), set[str](), 0
    for case in cases:
        if isinstance(case, Problem):
            problems.append(case)
            continue
        groups.update(case.groups)
        if how.case_terms:
            asked_of.append(CaseTerms.of(case))
        if not passes_filters(evaluator, case, scoring.settings):
            left_out.append(case.id)
            continue
        count += 1
        misfit = _misfit_words(evaluator, case, by, how.rules_of)
        if misfit and not how.skips_misfits and problems[-1:] != [misfit]:  # all turns of a conversation share it
            problems.append(misfit)
        if problems or not is_scored:
            continue
        result = _result_from_source(scoring, evaluator, by, case)
        if isinstance(result, Problem):
            unsound.append(result)
        elif misfit and (result is None or not _fails(evaluator, result)):  # what does not fit can only add to that
            count -= 1
        elif result is not None:
            scored.append((case, result))

    def is_kept(result: Any) -> bool:
        return how.texts == "all" or not evaluator.compare.outcome(result).passed

    return PartTally(
        evaluator.totals(scored, by),
        Batch.of([result for _, result in scored]),
        Batch.of([case.texts() if is_kept(result) else {} for case, result in scored] if how.texts else ()),
        Batch.of(asked_of),
        count,
        ids,
        (*problems, *unsound),
        frozenset(groups),
        tuple(left_out),
    )


def _fails(evaluator: Evaluator, result: Any) -> bool:
    found = evaluator.compare.outcome(result)
    return not (found.passed or found.is_meant_to_fail)


def _result_from_source(scoring: Scoring, evaluator: Evaluator, by: Any, case: Any) -> Any:
    is_full = scoring.settings["text"] == "full"

    def fresh() -> Any:
        result = evaluator.score(case, by)
        return result if is_full else withheld(evaluator.name, result)

    def recounted(result: Any) -> Any:
        known = {"cluster": case.cluster} if case.cluster else {}  # results leave out an empty one
        known = known if is_full else without_texts(evaluator.name, known)
        again = evaluator.recompute(result, replace(case, **known), by)
        return fresh() if again is None else again

    return scoring.how.source(evaluator.name, case.id, fresh, recounted)


def _misfit_words(evaluator: Evaluator, case: Case, by: Any, rules_of: str) -> Problem | None:
    """Return the problem of a case that cannot be scored by the rules of a commit, "" for its own."""
    found = evaluator.rule_files.misfit(case, by) if evaluator.rule_files else None
    if found and rules_of:
        return replace(found, message=f"{found.message} (policy-ref base: by the rules of the base commit {rules_of})")
    return found


@dataclass(slots=True)
class Measurement:
    """An evaluator's part of the report, or the problems that keep it from one.

    `results` are those that the source has, and `cases` is the number of cases. If one is missing, there is no part.
    `groups` are the archetypes or tags of all cases without a problem, including those left out. `left_out` has the ids
    of the cases that a filter leaves out. `skipped` are the files that a glob passed over. `texts` belong
    to the results' cases, in their order, if they were asked for. An empty object stands for a case whose texts are not
    kept. `case_terms` are those of each case that was read, if they are kept.
    """

    part: Any = None
    problems: tuple[Problem, ...] = ()
    inputs: list[InputFile] = field(default_factory=list)
    results: Spool[Any] = field(default_factory=Spool)
    cases: int = 0
    groups: set[str] = field(default_factory=set)
    left_out: set[str] = field(default_factory=set)
    skipped: list[str] = field(default_factory=list)
    texts: Spool[JsonObject] = field(default_factory=Spool)
    case_terms: Spool[CaseTerms] = field(default_factory=Spool)

    def add(self, tally: PartTally, most_groups: int) -> None:
        """Add a tally. Once there are more groups than `most_groups`, no other is kept."""
        self.cases += tally.cases
        if len(self.groups) <= most_groups:
            self.groups |= tally.groups
        self.left_out.update(tally.left_out)
        self.results.add(tally.results)
        self.texts.add(tally.texts)
        self.case_terms.add(tally.case_terms)


def measure_part(
    evaluator: Evaluator, side: Snapshot, generated_at: str, how: ScoringMethod = OWN_RULES
) -> Measurement:
    """Return an evaluator's part of the report over all cases of a side."""
    files, settings, options = side.files_of(evaluator), side.settings, side.options
    recipe, problems = how.recipe, tuple[Problem, ...]()
    try:
        recipe = recipe or side.recipe(evaluator)
        case_files.compile_recipe(evaluator.name, recipe)
    except CannotJudge as error:  # the cases may have problems of their own
        recipe = case_files.recipe(evaluator, sides.scoring_settings(Settings()), case_files.NO_FILES)
        problems = error.problems
    how = how._replace(recipe=recipe, skips_misfits=how.skips_misfits or bool(problems))
    by, scoring = case_files.compile_recipe(evaluator.name, recipe), Scoring(evaluator.name, settings, how)
    found, seen = Found(), dict[str, Place]()
    measured = Measurement(inputs=found.inputs, skipped=found.skipped)
    totals, most_groups = Sum(evaluator.totals((), by)), options.bounds.tags
    mapped: Mapped
    mapped, size = map, recorded.PART_LINES
    if not evaluator.input.cases:
        mapped, size = _choose_mapper(options.scheduler, options.jobs)

    parts = ((part, not (problems or found.problems)) for part in read_file_parts(files, found, size))
    for tally in mapped(partial(tally_part, scoring), parts):
        found.problems.add(*tally.problems)
        are_few = len(measured.groups) <= most_groups
        measured.add(tally, most_groups)
        totals.add(tally.totals)
        if are_few and len(measured.groups) > most_groups:  # the report would hold them all
            words = f"the cases have more than {most_groups} distinct tags"
            advice = "put values that differ from case to case in a field x_..., or raise bounds.tags"
            found.problems.add(Problem(Place("bounds.tags"), f"{words}; {advice}"))
        for case_id, place in tally.ids:
            if twin := recorded.check_duplicate(seen, case_id, place, evaluator.input.id_key):
                found.problems.add(twin)
        if tally.results.size:
            workers.report_scored(tally.results.size)
    total = totals.total()
    problems = (*problems, *found.problems.kept())
    if evaluator.rule_files and not how.skips_misfits:
        problems += (*evaluator.rule_files.unserved(total, by),)
    if not (problems or measured.cases):
        lacking = no_case_problem(evaluator, settings, measured.groups, measured.left_out)
        problems = (lacking,) if lacking else ()
    if not problems and 0 < measured.cases == len(measured.results):
        measured.part = evaluator.report(total, measured.results, by, generated_at)
    measured.problems = redact_problems([*side.at_source(problems)], settings["text"])
    return measured


@record
class Scores:
    """The results of each evaluator that has inputs, by name; `problems` keep a run from a verdict."""

    measured: Mapping[str, Measurement]
    problems: tuple[Problem, ...]

    @property
    def inputs(self) -> tuple[InputFile, ...]:
        """The files that were read."""
        return tuple(file for one in self.measured.values() for file in one.inputs)

    @property
    def parts(self) -> Parts:
        """The evaluators' parts of the report, None for one without input."""
        return {name: self.measured[name].part if name in self.measured else None for name in EVALUATORS}

    @property
    def left_out(self) -> Mapping[str, Set[str]]:
        """The ids of the cases that a filter leaves out, by evaluator."""
        return {name: one.left_out for name, one in self.measured.items() if one.left_out}

    @property
    def case_terms(self) -> Cases:
        """The terms of the cases, by evaluator, if they are kept."""
        return {name: one.case_terms for name, one in self.measured.items()}

    def sound_parts(self) -> Parts:
        """Return the parts. Raises CannotJudge with every problem."""
        if self.problems:
            raise CannotJudge(*self.problems)
        return self.parts


def measure_all(side: Snapshot, generated_at: str, how: ScoringMethod = OWN_RULES) -> Scores:
    """Return the scores of all cases of a side."""
    every = {one.name: measure_part(one, side, generated_at, how) for one in sides.evaluators_in_use(side.options)}
    return Scores(every, tuple(problem for one in every.values() for problem in one.problems))


Mapped = Callable[[Callable[[Any], PartTally], Iterable[Any]], Iterator[PartTally]]
"""Applies a function to many items, and yields the results in their order."""


def _choose_mapper(scheduler: str, jobs: str) -> tuple[Mapped, int]:
    """Return the function that maps over the parts of cases, and the number of lines of a part."""
    if scheduler:
        cluster = addons.scale.cluster
        return partial(cluster.map_in_order, scheduler=scheduler), cluster.LINES
    if jobs == "auto":
        return partial(workers.map_in_order, processes=workers.cores(), fewest=_FEWEST_PARTS), recorded.PART_LINES
    return partial(workers.map_in_order, processes=int(jobs)), recorded.PART_LINES


_FEWEST_PARTS = 10
"""The fewest parts, of 50 lines each, for which processes are started unless their number is set."""
