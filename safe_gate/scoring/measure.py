"""Shell: the evaluators' parts of a report: cases read, scored and added up one at a time. Reads files.

Files are read in parts of whole lines. One function, `tallied`, turns a part into totals, entries, ids and problems;
a map in order applies it: Python's own, `workers.ordered` or `cluster.ordered`. Parts travel as the bytes that were
hashed, not as paths, and rules as their recipe, which each process compiles once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple

from safe_gate.core.evaluator import Evaluator
from safe_gate.core.figures import add_up
from safe_gate.core.given import Case, Lines
from safe_gate.core.jsontext import offsets
from safe_gate.core.model import CannotJudge, InputFile, JsonObject, Place, Problem
from safe_gate.core.problems import Problems
from safe_gate.evaluators import EVALUATORS, without_texts
from safe_gate.inputs import blocks, recorded
from safe_gate.inputs import rules as own_rules
from safe_gate.inputs.disk import HERE
from safe_gate.inputs.spool import Spool, Store, lines
from safe_gate.scoring import progress, workers
from safe_gate.scoring.asked import selects, settings
from safe_gate.scoring.columns import deciding
from safe_gate.scoring.intake import Part, parts_of
from safe_gate.scoring.refusals import as_shown, no_case, too_many_tags
from safe_gate.settings.options import Options

Recount = Callable[[JsonObject], JsonObject]
"""What returns the entry of a case that follows from what an entry holds; the same unless that contradicts itself."""

EntrySource = Callable[[str, str, Callable[[], JsonObject], Recount], JsonObject | Problem | None]
"""What gives a case's entry of `results[]`, told its evaluator, its id, how to score it and how to check an entry.

None passes the case over, a problem says why its entry cannot be taken.
"""


def scored(_evaluator: str, _case_id: str, score: Callable[[], JsonObject], _recount: Recount) -> JsonObject:
    """Return a case's entry by scoring it: the source of a run that is whole."""
    return score()


def unscored(_evaluator: str, _case_id: str, _score: Callable[[], JsonObject], _recount: Recount) -> None:
    """Score no case: a source that leaves what is wrong with the inputs."""


class Keeps(NamedTuple):
    """What is kept of cases because something shows it: the `texts` of some, and the `columns` of what decides."""

    texts: Literal["", "failing", "all"] = ""
    columns: bool = False


NOTHING = Keeps()
"""What is kept of cases that only a report shows."""


def _texts(evaluator: Evaluator, case: Case, entry: JsonObject, keeps: Keeps) -> JsonObject:
    """Return the recorded texts of a case if they are kept."""
    is_kept = keeps.texts == "all" or not evaluator.outcome(entry).passed
    return case.texts() if is_kept else {}


def _columns(
    evaluator: Evaluator, scored: Iterable[tuple[Case, JsonObject]], lines_by_number: Mapping[int, bytes]
) -> Iterator[JsonObject]:
    """Yield where in its line each case's reply stands and what decides, as `Recorded` has it."""
    for number, cases in groupby(scored, lambda one: one[0].place.line):  # a line is read once for all its cases
        line = lines_by_number.get(number, b"").decode("utf-8")
        places = dict(offsets(line))
        for case, entry in cases:
            if case.place.column:
                yield {"": (case.place.column, case.place.column + 1)}
            elif line:
                texts = case.texts()
                reply = evaluator.reply if evaluator.reply in texts else [*texts][-1]
                yield deciding(line, places, reply, evaluator.marks(entry, texts))
            else:
                yield {}


@dataclass(frozen=True, slots=True)
class Measured:
    """An evaluator's part of the report, or the problems that keep it from one.

    `entries` are those of `results[]` as far as the source has them, of so many `cases`; unless it has them all
    there is no part. `groups` are the archetypes or tags of all cases that were read, those that a concern, a filter
    or the source leaves out too; `knows_groups` tells whether every case could be read. `left_out` has the ids of the
    cases that a filter leaves out. `skipped` are the files of our own that a glob passed over. `texts` are those of the
    entries' cases, in their order, if they were asked for; an empty object is of a case whose texts are not kept.
    `columns` are those of the same cases, as `Recorded` has them.
    """

    part: dict[str, Any] | None = None
    problems: tuple[Problem, ...] = ()
    inputs: tuple[InputFile, ...] = ()
    entries: Sequence[JsonObject] = ()
    cases: int = 0
    groups: Set[str] = frozenset()
    knows_groups: bool = True
    left_out: Store = field(default_factory=Store, compare=False)
    skipped: tuple[str, ...] = ()
    texts: Sequence[JsonObject] = ()
    columns: Sequence[JsonObject] = ()


def part(
    evaluator: Evaluator,
    options: Options,
    generated_at: str,
    output: str = "",
    *,
    root: Path = HERE,
    recipe: str = "",
    source: EntrySource = scored,
    keeps: Keeps = NOTHING,
    passes_over: bool = False,
) -> Measured:
    """Return an evaluator's part of the report over all cases that the options name.

    A glob passes over `output`, where the report will be, unless it holds cases.

    Files are read below `root`, as by `matching.expand`; `recipe` is that of what to score by, if not as the options
    say there. `keeps` says which texts and columns are there, too. `passes_over` leaves out cases that ask for what
    the rules do not have: they are those of another run.
    """
    problems: tuple[Problem, ...] = ()
    try:
        recipe = recipe or own_rules.recipe(evaluator, settings(options), root=root)
        by = own_rules.made(evaluator.name, recipe)
    except CannotJudge as error:  # the cases may have problems of their own
        problems, recipe = error.problems, own_rules.recipe(evaluator, settings(Options()))
        by = own_rules.made(evaluator.name, recipe)
    scoring = Scoring(evaluator.name, recipe, settings(options), source, keeps, passes_over or bool(problems))
    seen, entries, texts, columns, found = Store(), Spool(), Spool(), Spool(), Problems()
    inputs: list[InputFile] = []
    skipped: list[str] = []
    groups, left_out = set[str](), Store()
    count, knows_groups = 0, True
    mapped, size = _engine(options) if isinstance(evaluator.input, Lines) else (map, blocks.PART_LINES)
    bounds = blocks.Bounds.of(options)

    def parts() -> Iterator[tuple[Part, bool]]:
        nonlocal knows_groups
        for item in parts_of(evaluator, options, output, root, size):
            if isinstance(item, Problem):
                found.add(item)
                knows_groups = False
            elif isinstance(item, InputFile):
                inputs.append(item)
            elif isinstance(item, recorded.Skipped):
                skipped.append(item.path)
            else:
                yield item, not (problems or found)

    def totals() -> Iterator[Any]:
        nonlocal count, knows_groups
        for tally in mapped(partial(tallied, scoring), parts()):
            for problem in tally.problems:
                found.add(problem)
            for case_id, place in tally.ids:
                if twin := recorded.twin_of(seen, case_id, place, evaluator.id_key):
                    found.add(twin)
            count += tally.cases
            progress.scored(tally.cases)
            groups.update(tally.groups)
            knows_groups = knows_groups and tally.knows_groups
            for case_id in tally.left_out:
                left_out.setdefault(case_id, 1)
            if len(groups) > bounds.tags:
                raise CannotJudge(too_many_tags(bounds.tags))
            entries.take(tally.entries)
            texts.take(tally.texts)
            columns.take(tally.columns)
            yield tally.totals

    total = add_up(totals(), evaluator.totals((), by))
    problems = (*problems, *found.kept(), *evaluator.unserved(total, by))
    if not problems and not count and (lacking := no_case(evaluator, settings(options), groups, left_out)):
        problems = (lacking,)
    is_whole = not problems and 0 < count == len(entries)
    whole = evaluator.report(total, entries, by, generated_at) if is_whole else None
    shown, files = as_shown(problems, options), tuple(inputs)
    return Measured(whole, shown, files, entries, count, groups, knows_groups, left_out, tuple(skipped), texts, columns)


@dataclass(frozen=True, slots=True)
class Scoring:
    """What makes a case's entry, wherever that is done: a value that can be sent, and holds no secret.

    `recipe` is that of the evaluator's `rules.made`, `settings` are as a report has them, `keeps` is that of `part`.
    `passes_over` leaves out cases that do not fit what is scored by, which are else a problem.
    """

    evaluator: str
    recipe: str
    settings: JsonObject
    source: EntrySource
    keeps: Keeps = NOTHING
    passes_over: bool = False


@dataclass(frozen=True, slots=True)
class Tally:
    """The result of some cases: totals, which can be added, and entries as `spool.lines`.

    `texts` and `columns` are those of the entries' cases, likewise, if they are kept. `ids` are of all cases of lines
    with their places, those with problems too; with a problem there may be fewer entries than `cases`. `groups` are
    of all cases, those without an entry too, as far as it `knows_groups`; `left_out` are the ids of those that a filter
    leaves out.
    """

    totals: Any
    entries: bytes
    texts: bytes
    columns: bytes
    cases: int
    ids: tuple[tuple[str, Place], ...]
    problems: tuple[Problem, ...]
    groups: frozenset[str]
    left_out: tuple[str, ...] = ()
    knows_groups: bool = True


def tallied(scoring: Scoring, item: tuple[Part, bool]) -> Tally:
    """Return the result of some cases if they are to be scored; else their problems and ids."""
    evaluator, by = EVALUATORS[scoring.evaluator], own_rules.made(scoring.evaluator, scoring.recipe)
    part, is_scored = item
    keeps = scoring.keeps
    problems = list[Problem]()
    scored = list[tuple[Case, JsonObject]]()
    unsound = list[Problem]()
    text = scoring.settings["text"]

    def fresh(case: Case) -> JsonObject:
        return _told(evaluator.name, evaluator.score(case, by), text)

    def recounted(case: Any, entry: JsonObject) -> JsonObject:
        cluster = _told(evaluator.name, {"cluster": case.cluster}, text)["cluster"]
        found = evaluator.recounted(entry, replace(case, cluster=cluster), by)
        return fresh(case) if found is None else found

    ids: tuple[tuple[str, Place], ...] = ()
    found: Sequence[Case | Problem] = ()
    texts: Mapping[int, bytes] = {}
    if isinstance(part, blocks.Part):
        texts = blocks.lines_of(part) if keeps.columns else {}
        found = [*recorded.cases_of(evaluator, part, scoring.settings)]
        ids = recorded.ids_of(evaluator, found)
        most = part.bounds.tags
        if any(not isinstance(one, Problem) and len(one.groups) > most < len(set(one.groups)) for one in found):
            return Tally(evaluator.totals((), by), b"", b"", b"", 0, (), (too_many_tags(most),), frozenset())
    else:
        found = part
    groups, knows_groups = _groups(evaluator, part, found)
    left_out = list[str]()
    count = 0
    for case in found:
        if isinstance(case, Problem):
            problems.append(case)
            continue
        if not evaluator.is_wanted(case, scoring.settings):
            continue
        if not selects(scoring.settings, case.groups):
            left_out.append(case.id)
            continue
        misfit = evaluator.misfit(case, by)
        if misfit and scoring.passes_over:
            continue
        count += 1
        if misfit and problems[-1:] != [misfit]:  # which all turns of a conversation share
            problems.append(misfit)
        if problems or not is_scored:
            continue
        entry = scoring.source(evaluator.name, case.id, partial(fresh, case), partial(recounted, case))
        if isinstance(entry, Problem):
            unsound.append(entry)
        elif entry is not None:
            scored.append((case, entry))
    return Tally(
        evaluator.totals(scored, by),
        lines(entry for _, entry in scored),
        lines(_texts(evaluator, case, entry, keeps) for case, entry in scored) if keeps.texts else b"",
        lines(_columns(evaluator, scored, texts)) if keeps.columns else b"",
        count,
        ids,
        (*problems, *unsound),
        frozenset(groups),
        tuple(left_out),
        knows_groups,
    )


def _groups(evaluator: Evaluator, part: Part, found: Sequence[Case | Problem]) -> tuple[set[str], bool]:
    """Return the groups of all cases of a part, those with problems too, and whether all could be read."""
    groups = {group for one in found if not isinstance(one, Problem) for group in one.groups}
    if not isinstance(part, blocks.Part) or not any(isinstance(one, Problem) for one in found):
        return groups, True
    more = recorded.groups_of(evaluator, part)
    return groups | (more or set()), more is not None


Mapped = Callable[[Callable[[Any], Tally], Iterable[Any]], Iterator[Tally]]
"""What applies a function to many items, and yields what comes of them in their order."""


def _engine(options: Options) -> tuple[Mapped, int]:
    """Return what parts of the cases are scored by, and how many lines a part should have for it."""
    if options.engine == "dask":
        from safe_gate.scoring import cluster  # which imports what few have

        return partial(cluster.ordered, scheduler=options.scheduler), cluster.LINES
    processes = workers.cores() if options.jobs == "auto" else int(options.jobs)
    return partial(workers.ordered, processes=processes), blocks.PART_LINES


def _told(evaluator: str, entry: JsonObject, text: str) -> JsonObject:
    """Return a case's entry as it may be shown. All that is added up from entries holds no more than they do."""
    return entry if text == "full" else without_texts(evaluator, entry)


def rules_digest(options: Options, *, root: Path = HERE) -> str:
    """Return the digest of the packs that the options name, as `rules.digest` does."""
    return own_rules.digest(settings(options), root=root)
