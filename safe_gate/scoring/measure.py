"""Shell: the evaluators' parts of a report: cases read, scored and added up one at a time. Reads files.

Files are read in parts of whole lines. One function, `tallied`, turns a part into totals, entries, ids and problems;
a map in order applies it: Python's own, `workers.ordered` or `cluster.ordered`. Parts travel as the bytes that were
hashed, not as paths, and rules as their recipe, which each process compiles once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from safe_gate.core.figures import add_up, first_few, plural
from safe_gate.core.model import CannotJudge, JsonObject, Label, Place, Problem, Problems
from safe_gate.core.validate import LONGEST_QUOTE, masked, suggestion
from safe_gate.evaluators import EVALUATORS, without_texts
from safe_gate.evaluators.synthesis.names import CHECKS, GROUPS
from safe_gate.gate.limits import ALL
from safe_gate.inputs import files
from safe_gate.inputs import rules as own_rules
from safe_gate.inputs.files import HERE
from safe_gate.inputs.spool import Spool, Store, lines
from safe_gate.render.untrusted import quoted
from safe_gate.scoring import progress, workers
from safe_gate.settings.options import Options

if TYPE_CHECKING:  # an evaluator is imported where it has cases
    from safe_gate.evaluators.safe_v0.report import Totals as SafeTotals
    from safe_gate.evaluators.safe_v0.score import Case as SafeCase
    from safe_gate.evaluators.safe_v0.score import Policy
    from safe_gate.evaluators.synthesis.report import Totals
    from safe_gate.evaluators.synthesis.score import Case, Rules
    from safe_gate.inputs import batches

SCORING = (
    "safe_concern",
    "profile",
    "sensitivity",
    "rules",
    "rules_off",
    "rule_weights",
    "cluster_key",
    *(f"{metric}_{part}" for metric in ("cr", "ah", "ac") for part in ("pass", "review", "weight")),
    "strict_ah",
    "safe_match",
    "archetypes",
    "tags",
    "text",
)
"""The options that the evaluators' parts follow from, and what groups are judged by; not those that name files."""

T = TypeVar("T")

Recount = Callable[[JsonObject], JsonObject]
"""What returns the entry of a case that follows from what an entry holds; the same unless that contradicts itself."""

EntrySource = Callable[[str, str, Callable[[], JsonObject], Recount], JsonObject | Problem | None]
"""What gives a case's entry of `results[]`, told its evaluator, its id, how to score it and how to check an entry.

None passes the case over, a problem says why its entry cannot be taken.
"""


def scored(_evaluator: str, _case_id: str, score: Callable[[], JsonObject], _recount: Recount) -> JsonObject:
    """Return a case's entry by scoring it: the source of a run that is whole."""
    return score()


Keeps = Literal["", "failing", "all"]
"""Of which cases the recorded texts are kept, because something shows them."""


def _keeps(keeps: Keeps, is_expected: bool) -> bool:
    return keeps == "all" or (keeps == "failing" and not is_expected)


@dataclass(frozen=True, slots=True)
class Measured:
    """An evaluator's part of the report, or the problems that keep it from one.

    `entries` are those of `results[]` as far as the source has them, of so many `cases`; unless it has them all
    there is no part. `groups` are the archetypes or tags of all cases that were read, those that a concern or the
    source leaves out too, `skipped` the files of our own that a glob passed over. `texts` are those of the entries'
    cases, in their order, if they were asked for; an empty object is of a case whose texts are not kept.
    """

    part: dict[str, Any] | None = None
    problems: tuple[Problem, ...] = ()
    inputs: tuple[files.InputFile, ...] = ()
    entries: Sequence[JsonObject] = ()
    cases: int = 0
    groups: Set[str] = frozenset()
    skipped: tuple[str, ...] = ()
    texts: Sequence[JsonObject] = ()


def safe_v0_part(
    options: Options,
    generated_at: str,
    output: str = "",
    *,
    root: Path = HERE,
    policy: Policy | None = None,
    source: EntrySource = scored,
    keeps: Keeps = "",
) -> Measured:
    """Return SAFE v0's part of the report over all batches that the options name.

    A glob passes over `output`, where the report will be, unless it holds cases.

    Files are read below `root`, as by `files.expand`; `policy` is how to score, if not as the options say. `keeps`
    says of which cases the recorded texts are there, too.
    """
    from safe_gate.evaluators.safe_v0.report import Totals as SafeTotals
    from safe_gate.evaluators.safe_v0.report import report as safe_report
    from safe_gate.evaluators.safe_v0.score import score_case as safe_score_case

    policy = policy or safe_policy(options)

    groups = set[str]()
    intake = Intake(safe_v0_cases(options, output, root=root, archetypes=groups))
    entries, texts = Spool(), Spool()

    def entry(case: SafeCase) -> JsonObject | None:
        def score() -> JsonObject:
            return _told("safe_v0", safe_score_case(case, policy).as_json(), options.text)

        given = source("safe_v0", case.test_id, score, lambda _: score())  # which costs little more than reading it
        if isinstance(given, Problem):
            intake.add(given)
            return None
        return given

    def totals() -> Iterator[SafeTotals]:
        for cases in _chunks(intake.cases()):
            found = [(case, scored) for case in cases if (scored := entry(case)) is not None]
            entries.take(lines(scored for _, scored in found))
            progress.scored(len(cases))
            if keeps:
                told = (case.texts() if _keeps(keeps, scored["label"] == Label.PASS) else {} for case, scored in found)
                texts.take(lines(told))
            yield SafeTotals.of(found, policy)

    total = add_up(totals(), SafeTotals())
    problems = intake.problems or (() if intake.count else (lacking(options),))
    is_whole = not problems and intake.count == len(entries)
    part = safe_report(total, entries, policy, generated_at) if is_whole else None
    return Measured(
        part,
        as_shown(problems, options),
        tuple(intake.inputs),
        entries,
        intake.count,
        groups,
        tuple(intake.skipped),
        texts,
    )


def safe_v0_cases(
    options: Options, output: str = "", *, root: Path = HERE, archetypes: set[str] | None = None
) -> Iterator[batches.SafeItem]:
    """Yield the SAFE v0 cases that options name, with problems and files, as `batches.safe_cases` does.

    Cases of another concern than the options' are left out; `archetypes` takes the archetypes of these, too.
    """
    from safe_gate.evaluators.safe_v0.score import Case as SafeCase
    from safe_gate.inputs import batches

    for item in batches.safe_cases(
        options.safe_batch,
        options.safe_outputs,
        test_dir=options.safe_test_dir,
        leave_out=(options.config, options.waivers, output),
        cluster_key=options.cluster_key,
        root=root,
        bounds=files.Bounds.of(options),
    ):
        if isinstance(item, SafeCase):
            if archetypes is not None:
                archetypes.add(item.archetype)
            if options.safe_concern not in ("", item.concern_id):
                continue
        yield item


def synthesis_part(
    options: Options,
    *,
    root: Path = HERE,
    rules: Rules | None = None,
    source: EntrySource = scored,
    keeps: Keeps = "",
) -> Measured:
    """Return Synthesis's part of the report over all case files that the options name.

    Files are read below `root`, as by `files.expand`; `rules` are what to score by, if not those that
    the options name there. `keeps` says of which cases the recorded texts are there,
    too.
    """
    from safe_gate.evaluators.synthesis.report import Totals
    from safe_gate.evaluators.synthesis.report import report as synthesis_report

    problems: tuple[Problem, ...] = ()
    try:
        rules = rules or synthesis_rules(options, root=root)
    except CannotJudge as error:
        problems, rules = error.problems, synthesis_rules(Options())  # the cases may have problems of their own
    scoring = Scoring(rules.recipe, options.cluster_key, options.text, source, keeps)
    seen, entries, texts, found = Store(), Spool(), Spool(), Problems()
    inputs: list[files.InputFile] = []
    groups = set[str]()
    count = 0
    mapped, size = _engine(options)
    bounds = files.Bounds.of(options)

    def parts() -> Iterator[tuple[files.Part, bool]]:
        for item in files.synthesis_parts(options.synthesis_cases, root=root, size=size, bounds=bounds):
            if isinstance(item, Problem):
                found.add(item)
            elif isinstance(item, files.InputFile):
                inputs.append(item)
            else:
                yield item, not (problems or found)

    def totals() -> Iterator[Totals]:
        nonlocal count
        for tally in mapped(partial(tallied, scoring), parts()):
            for problem in tally.problems:
                found.add(problem)
            for case_id, place in tally.ids:
                if twin := files.twin_of(seen, case_id, place, "id"):
                    found.add(twin)
            count += len(tally.ids)
            progress.scored(len(tally.ids))
            groups.update(tally.tags)
            if len(groups) > bounds.tags:
                raise CannotJudge(too_many_tags(bounds.tags))
            entries.take(tally.entries)
            texts.take(tally.texts)
            yield tally.totals

    total = add_up(totals(), Totals())
    problems = as_shown((*problems, *found.kept(), *_unlooked(total, rules)), options)
    is_whole = not problems and 0 < count == len(entries)
    part = synthesis_report(total, entries) if is_whole else None
    skipped = tuple(files.shown(path, root) for path in files.own_cases(options.synthesis_cases, root=root))
    return Measured(part, problems, tuple(inputs), entries, count, groups, skipped, texts)


def too_many_tags(most: int) -> Problem:
    """Return the problem of cases with more than `most` distinct tags, which the report would all hold."""
    words = f"the cases have more than {most} distinct tags; put what differs from case to case into a field x_..."
    return Problem(Place("max-tags"), f"{words}, or raise max-tags")


def unknown_groups(
    options: Options, measured: Mapping[str, Measured | None], *, root: Path = HERE
) -> Iterator[Problem]:
    """Yield a problem for each archetype or tag that options name and no case has: its rules would judge nothing.

    An evaluator without input has no say. The options' config file lies below `root`.
    """
    for evaluator, found in measured.items():
        if found is None:
            continue
        noun = EVALUATORS[evaluator].grouping.noun
        setting = f"{noun}s"
        named = getattr(options, setting) or {}
        for name in sorted(named.keys() - found.groups):
            if not named[name].get("optional"):
                known = {one.casefold(): one for one in sorted(found.groups)}
                words = f"no case has this {noun}{suggestion(name.casefold(), known)}; correct the name, or set"
                words = f"{words} `optional: true` if its cases may be absent"
                yield Problem(_set_at(options.config, root, setting, name), words, field=f"{setting}.{name}")


def unknown_checks(
    options: Options, measured: Mapping[str, Measured | None], *, root: Path = HERE
) -> Iterator[Problem]:
    """Yield a problem for each check that `min-label-accuracy` names and Synthesis does not have."""
    known = (ALL, *CHECKS)
    named = (options.min_label_accuracy or {}) if measured["synthesis"] else {}
    for name in sorted(named.keys() - {*known}):
        words = f"is no check{suggestion(name, known)}; expected {', '.join(known)}"
        yield Problem(_set_at(options.config, root, "min-label-accuracy", name), words, field=name)


def _set_at(config: str, root: Path, setting: str, name: str) -> Place:
    """Return where a config file names a group, or the setting that does if the file does not."""
    with suppress(CannotJudge):
        found = files.read_config(config, root=root)
        if found and isinstance(named := found.content.get(setting), Mapping) and name in named:
            return Place(found.path, found.line_of((setting, name)))
    return Place(setting)


def _unlooked(total: Totals, rules: Rules) -> Iterator[Problem]:
    """Yield a problem for each check that cases ask for and no rule serves: nobody earned it."""
    looked = {name for rule in rules.all for name in (rule.group, GROUPS[rule.group][0])}
    for check in dict.fromkeys(check for check, _ in total.verdicts):
        asked = "vulnerability" if check == "topic_pivot" else check  # without it a pivot never applies
        if asked not in looked:
            words = f"leave no rule of {asked} that counts, and cases ask for {check}"
            advice = "leave one, or take the check out of the cases"
            yield Problem(Place("rules-off and rule-weights"), f"{words}; {advice}")


@dataclass(frozen=True, slots=True)
class Scoring:
    """What makes a Synthesis case's entry, wherever that is done: a value that can be sent, and holds no secret.

    `recipe` is that of `rules.made`, `cluster_key` and `text` are the options, `keeps` is that of
    `synthesis_part`.
    """

    recipe: str
    cluster_key: str
    text: str
    source: EntrySource
    keeps: Keeps = ""


@dataclass(frozen=True, slots=True)
class Tally:
    """What a part of the Synthesis cases comes to: totals, which add up, and entries as `spool.lines`.

    `texts` are those of the entries' cases, likewise, if they are kept. `ids` are of all cases with their places,
    those with problems too; with a problem there may be fewer entries. `tags` are of all cases, those without an
    entry too.
    """

    totals: Totals
    entries: bytes
    texts: bytes
    ids: tuple[tuple[str, Place], ...]
    problems: tuple[Problem, ...]
    tags: frozenset[str]


def tallied(scoring: Scoring, item: tuple[files.Part, bool]) -> Tally:
    """Return what a part of the cases comes to, if it is to be scored; else what is wrong with it, and its ids."""
    from safe_gate.evaluators.synthesis.recount import recounted as recounted_entry
    from safe_gate.evaluators.synthesis.report import Totals, is_as_expected, result_json
    from safe_gate.evaluators.synthesis.score import score_case

    part, is_scored = item
    rules, problems = own_rules.made("synthesis", scoring.recipe), list[Problem]()
    entries: list[JsonObject] = []
    texts: list[JsonObject] = []
    unsound: list[Problem] = []

    def fresh(case: Case) -> JsonObject:
        return _told("synthesis", result_json(score_case(case, rules)), scoring.text)

    def recounted(case: Case, entry: JsonObject) -> JsonObject:
        cluster = _told("synthesis", {"cluster": case.cluster}, scoring.text)["cluster"]
        return recounted_entry(entry, replace(case, cluster=cluster), rules)

    found = list(files.cases_of(part, scoring.cluster_key))
    most = part.bounds.tags
    if any(not isinstance(case, Problem) and len(case.tags) > most and len(set(case.tags)) > most for case in found):
        return Tally(Totals(), b"", b"", (), (too_many_tags(most),), frozenset())
    tags = set[str]()
    for case in found:
        if isinstance(case, Problem):
            problems.append(case)
            continue
        tags.update(case.tags)
        if problems or not is_scored:
            continue
        entry = scoring.source("synthesis", case.id, partial(fresh, case), partial(recounted, case))
        if isinstance(entry, Problem):
            unsound.append(entry)
        elif entry is not None:
            entries.append(entry)
            if scoring.keeps:
                texts.append(case.texts() if _keeps(scoring.keeps, is_as_expected(entry)) else {})
    problems += unsound
    return Tally(
        Totals.of(entries),
        lines(entries),
        lines(texts),
        files.ids_of(found),
        tuple(problems),
        frozenset(tags),
    )


Mapped = Callable[[Callable[[Any], Tally], Iterable[Any]], Iterator[Tally]]
"""What applies a function to many items, and yields what comes of them in their order."""


def _engine(options: Options) -> tuple[Mapped, int]:
    """Return what parts of the cases are scored by, and how many lines a part should have for it."""
    if options.engine == "dask":
        from safe_gate.scoring import cluster  # which imports what few have

        return partial(cluster.ordered, scheduler=options.scheduler), cluster.LINES
    return partial(workers.ordered, processes=_processes(options.jobs)), files.PART_LINES


def _told(evaluator: str, entry: JsonObject, text: str) -> JsonObject:
    """Return a case's entry as it may be shown. All that is added up from entries holds no more than they do."""
    return entry if text == "full" else without_texts(evaluator, entry)


def case_counts(options: Options) -> tuple[dict[str, int], tuple[Problem, ...]]:
    """Return how many cases each evaluator that has inputs would score, and what is wrong with the inputs."""
    counts: dict[str, int] = {}
    problems: tuple[Problem, ...] = ()
    if options.safe_batch:
        counts["safe_v0"], found = _counted(safe_v0_cases(options))
        problems += found or ((lacking(options),) if not counts["safe_v0"] else ())
    if options.synthesis_cases:
        counts["synthesis"], found = _counted(
            files.synthesis_cases(options.synthesis_cases, bounds=files.Bounds.of(options))
        )
        problems += found
    return counts, as_shown(problems, options)


def _counted(items: Iterable[Any]) -> tuple[int, tuple[Problem, ...]]:
    intake = Intake(items)
    return sum(1 for _ in intake.cases()), intake.problems


def tell_skipped(skipped: Sequence[str], setting: str, tell: Callable[[str], None]) -> None:
    """Print which of our own files the globs of a setting skipped, if any; no report depends on them."""
    if skipped:
        count = plural(len(skipped), "file")
        named = quoted(first_few(skipped, len(skipped), _MOST_SKIPPED))
        tell(f"safe-gate: skipped {count} of its own that {setting} matches: {named}")


_MOST_SKIPPED = 20


def lacking(options: Options) -> Problem:
    """Return the problem that a concern leaves no case."""
    words, hidden = (
        f"{name} matches no case; correct it, or leave it unset to judge all cases"
        for name in (repr(options.safe_concern[:LONGEST_QUOTE]), masked(options.safe_concern))
    )
    return Problem(Place("safe-concern"), words, text_free=hidden)


def nothing_to_judge() -> Problem:
    """Return the problem of a run without inputs."""
    return missing("safe-batch or synthesis-cases", "the files to judge: SAFE v0 batches, Synthesis cases")


def missing(what: str, expected: str) -> Problem:
    """Return the problem of a setting without which there is nothing to judge."""
    return Problem(Place(what), f"is not set, so there is nothing to judge, which is never a pass; expected {expected}")


def as_shown(problems: Sequence[Problem], options: Options) -> tuple[Problem, ...]:
    """Return problems as they may be shown: with `text: none` they quote no recorded text."""
    return tuple(problems if options.text == "full" else (problem.without_texts() for problem in problems))


CHUNK = files.PART_LINES
"""So many cases are scored and added up at once."""


def _chunks(items: Iterator[T]) -> Iterator[Sequence[T]]:
    while chunk := tuple(islice(items, CHUNK)):
        yield chunk


class Intake(Generic[T]):
    """A stream of cases, set apart from the problems and files among them, which are there when it has been read.

    `count` is how many cases it gave, `skipped` are the files of our own that a glob passed over. With a problem
    there will be no verdict: from there on it looks for others only.
    """

    def __init__(self, items: Iterable[T | Problem | files.InputFile | files.Skipped]) -> None:
        self._items = items
        self._found = Problems()
        self.inputs: list[files.InputFile] = []
        self.skipped: list[str] = []
        self.count = 0

    def add(self, problem: Problem) -> None:
        """Take in a problem that was found with a case."""
        self._found.add(problem)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems, as many of a file as are kept."""
        return self._found.kept()

    def cases(self) -> Iterator[T]:
        """Yield the cases, as long as there is no problem."""
        for item in self._items:
            if isinstance(item, Problem):
                self._found.add(item)
            elif isinstance(item, files.InputFile):
                self.inputs.append(item)
            elif isinstance(item, files.Skipped):
                self.skipped.append(item.path)
            elif not self._found:
                self.count += 1
                yield item


def _processes(jobs: str) -> int:
    """Return how many processes a setting asks for: as many as there are cores, or a number."""
    return workers.cores() if jobs == "auto" else int(jobs)


def synthesis_rules(options: Options, *, root: Path = HERE) -> Rules:
    """Return the rules that the options name, own packs read below `root`. Raises CannotJudge as `rules.load` does."""
    found: Rules = own_rules.load(EVALUATORS["synthesis"], settings(options), root=root)
    return found


def rules_digest(options: Options, *, root: Path = HERE) -> str:
    """Return the digest of the packs that the options name, as `rules.digest` does."""
    return own_rules.digest(settings(options), root=root)


def settings(options: Options) -> dict[str, Any]:
    """Return the options of `SCORING` as a report has them."""
    values = {name: getattr(options, name) for name in SCORING}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def safe_policy(options: Options) -> Policy:
    """Return how SAFE v0 scores under these options."""
    from safe_gate.evaluators.safe_v0.score import Policy

    return Policy.of(settings(options))
