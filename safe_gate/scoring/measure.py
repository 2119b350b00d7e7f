"""Shell: the evaluators' parts of a report: cases read, scored and added up one at a time. Reads files.

Files are read in parts of whole lines. `tally.tallied` turns a part into totals, entries, ids and problems. An
ordered map applies it: Python's own, `workers.ordered` or the cluster's. Parts travel as the hashed bytes, not as
paths. Rules travel as their recipe, which each process compiles once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from safe_gate import addons
from safe_gate.core.evaluator import Evaluator
from safe_gate.core.figures import Sum
from safe_gate.core.given import Lines
from safe_gate.inputs import own_rules, recorded
from safe_gate.inputs.disk import HERE
from safe_gate.inputs.finding import case_files
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Place, Problem, Problems
from safe_gate.model.report import InputFile
from safe_gate.model.spool import Spool
from safe_gate.scoring import asked, progress, workers
from safe_gate.scoring.intake import Part, parts_of
from safe_gate.scoring.refusals import as_shown, no_case, too_many_tags
from safe_gate.scoring.tally import NOTHING, Fact, Keeps, ResultSource, Scoring, Tally, scored, tallied
from safe_gate.settings.model import Settings


@dataclass(frozen=True, slots=True)
class Measured:
    """An evaluator's part of the report, or the problems that keep it from one.

    `results` are those that the source has, and `cases` is the number of cases. If one is
    missing, there is no part. `groups` are the archetypes or tags of all cases that were read, including those left
    out. `knows_groups` tells whether every case could be read. `left_out` has the ids of the cases that a filter
    leaves out. `skipped` are SAFE Gate's own files that a glob passed over. `texts` belong to the results' cases, in
    their order, if they were asked for. An empty object stands for a case whose texts are not kept. `columns` belong
    to the same cases, as `Recorded` has them. `facts` has a `tally.Fact` for each case that was read, if they are
    kept. `again` is the result of scoring the same cases a second time.
    """

    part: Any = None
    problems: tuple[Problem, ...] = ()
    inputs: tuple[InputFile, ...] = ()
    results: Sequence[Any] = ()
    cases: int = 0
    groups: Set[str] = frozenset()
    knows_groups: bool = True
    left_out: Set[str] = frozenset()
    skipped: tuple[str, ...] = ()
    texts: Sequence[JsonObject] = ()
    columns: Sequence[JsonObject] = ()
    facts: Sequence[Fact] = ()
    again: Measured | None = None


def part(
    evaluator: Evaluator,
    options: Settings,
    generated_at: str,
    output: str = "",
    *,
    root: Path = HERE,
    own: own_rules.Own | None = None,
    recipe: str = "",
    again: str = "",
    source: ResultSource = scored,
    keeps: Keeps = NOTHING,
    passes_over: bool = False,
    rules_of: str = "",
) -> Measured:
    """Return an evaluator's part of the report over all cases that the options name.

    A glob passes over `output`, where the report will be, unless it holds cases.

    Files are read below `root`, as by `expansion.expand`; `own` are a team's files of rules, if they are read
    already. `recipe` replaces the rules that the options name. `again` is the recipe of a second scoring of the same
    cases. `keeps` says which texts and columns are there, too. `passes_over` leaves out cases that ask for what the
    rules do not have, as scoring once more does. `rules_of` is as in `Scoring`.
    """
    problems: tuple[Problem, ...] = ()
    files, settings = case_files.of(evaluator, options, root), asked.settings(options)
    try:
        if not recipe:
            own = own_rules.read(settings, root=root) if own is None else own
            recipe = asked.recipe(evaluator, settings, own, options.config, root=root)
        by = own_rules.made(evaluator.name, recipe)
    except CannotJudge as error:  # the cases may have problems of their own
        problems, recipe = error.problems, own_rules.recipe(evaluator, asked.settings(Settings()), own_rules.NO_FILES)
        by = own_rules.made(evaluator.name, recipe)
    passes_over = passes_over or bool(problems)
    scorings = [Scoring(evaluator.name, recipe, settings, source, keeps, passes_over, rules_of)]
    most_groups = files.bounds.tags
    sums = [_Sums(evaluator, by, most_groups)]
    if again:
        scorings.append(Scoring(evaluator.name, again, settings, source, passes_over=True))
        sums.append(_Sums(evaluator, own_rules.made(evaluator.name, again), most_groups))
    seen, found = dict[str, Place](), sums[0].problems
    inputs: list[InputFile] = []
    skipped: list[str] = []
    mapped: Mapped
    mapped, size = map, recorded.PART_LINES
    if isinstance(evaluator.input, Lines):
        mapped, size = _engine(options.scheduler, options.jobs)

    def parts() -> Iterator[tuple[Part, bool]]:
        for item in parts_of(files, output, size):
            if isinstance(item, Problem):
                found.add(item)
                sums[0].knows_groups = False
            elif isinstance(item, InputFile):
                inputs.append(item)
            elif isinstance(item, recorded.Skipped):
                skipped.append(item.path)
            else:
                yield item, not (problems or found)

    for tallies in mapped(partial(tallied, tuple(scorings)), parts()):
        for one, tally in zip(sums, tallies, strict=True):
            one.take(tally)
        for case_id, place in tallies[0].ids:
            if twin := recorded.twin_of(seen, case_id, place, evaluator.input.id_key):
                found.add(twin)
        progress.scored(tallies[0].cases)
    first, *others = (one.measured(settings, generated_at, problems) for one in sums)
    first = replace(first, inputs=tuple(inputs), skipped=tuple(skipped))
    return replace(first, again=others[0]) if others else first


class _Sums:
    """What the tallies of all cases come to."""

    def __init__(self, evaluator: Evaluator, by: Any, most_groups: int) -> None:
        self._evaluator, self._by, self._most_groups = evaluator, by, most_groups
        self._totals = Sum(evaluator.totals((), by))
        self._results, self._facts = Spool[Any](), Spool[Fact]()
        self._texts, self._columns = Spool[JsonObject](), Spool[JsonObject]()
        self._left_out, self._count = set[str](), 0
        self.problems, self.groups, self.knows_groups = Problems(), set[str](), True

    def take(self, tally: Tally) -> None:
        """Add what some more cases come to."""
        for problem in tally.problems:
            self.problems.add(problem)
        self._count += tally.cases
        self.knows_groups = self.knows_groups and tally.knows_groups
        if len(self.groups) <= self._most_groups:
            self.groups.update(tally.groups)
            if len(self.groups) > self._most_groups:
                self.problems.add(too_many_tags(self._most_groups))
                self.knows_groups = False
        self._left_out.update(tally.left_out)
        self._results.extend(tally.results)
        self._texts.extend(tally.texts)
        self._columns.extend(tally.columns)
        self._facts.extend(tally.facts)
        self._totals.add(tally.totals)

    def measured(self, settings: JsonObject, generated_at: str, problems: Sequence[Problem]) -> Measured:
        """Return what they come to with problems that were found before, but for files."""
        evaluator, by, total = self._evaluator, self._by, self._totals.total()
        unserved = evaluator.rule_files.unserved(total, by) if evaluator.rule_files else ()
        problems = (*problems, *self.problems.kept(), *unserved)
        if not (problems or self._count):
            lacking = no_case(evaluator, settings, self.groups, self._left_out)
            problems = (lacking,) if lacking else ()
        is_whole = not problems and 0 < self._count == len(self._results)
        return Measured(
            part=evaluator.report(total, self._results, by, generated_at) if is_whole else None,
            problems=as_shown(problems, settings["text"]),
            results=self._results,
            cases=self._count,
            groups=self.groups,
            knows_groups=self.knows_groups,
            left_out=self._left_out,
            texts=self._texts,
            columns=self._columns,
            facts=self._facts,
        )


Mapped = Callable[[Callable[[Any], tuple[Tally, ...]], Iterable[Any]], Iterator[tuple[Tally, ...]]]
"""What applies a function to many items, and yields what comes of them in their order."""


def _engine(scheduler: str, jobs: str) -> tuple[Mapped, int]:
    """Return what parts of the cases are scored by, and how many lines a part should have for it."""
    if scheduler:
        cluster = addons.scale.cluster
        return partial(cluster.ordered, scheduler=scheduler), cluster.LINES
    processes = workers.cores() if jobs == "auto" else int(jobs)
    return partial(workers.ordered, processes=processes), recorded.PART_LINES
