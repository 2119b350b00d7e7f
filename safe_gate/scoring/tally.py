"""What some cases come to when they are scored: the function that each process or worker applies. Pure but for rules.

Rules are made of their recipe, once a process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby, islice
from typing import Any, Literal, NamedTuple

from safe_gate.core.evaluator import Evaluator
from safe_gate.core.given import Case
from safe_gate.core.jsontext import offsets
from safe_gate.evaluators import BUILT_IN, EVALUATORS
from safe_gate.evaluators.stored import withheld, without_texts
from safe_gate.inputs import own_rules, recorded
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Code, Place, Problem, is_interrupt, reason
from safe_gate.scoring.asked import is_wanted, selects
from safe_gate.scoring.columns import deciding
from safe_gate.scoring.intake import Part

Recount = Callable[[Any], Any]
"""What returns the result of a case that follows from what a result holds; the same unless that contradicts itself."""

ResultSource = Callable[[str, str, Callable[[], Any], Recount], Any]
"""Returns a case's result from its evaluator, its id, a scorer and a check of results.

None passes the case over, a problem says why its result cannot be taken.
"""


def scored(_evaluator: str, _case_id: str, score: Callable[[], Any], _recount: Recount) -> Any:
    """Return a case's result by scoring it: the source of a run that is whole."""
    return score()


def unscored(_evaluator: str, _case_id: str, _score: Callable[[], Any], _recount: Recount) -> None:
    """Score no case: a source that leaves what is wrong with the inputs."""


class Keeps(NamedTuple):
    """What is kept of cases to be shown: the `texts` of some, and the `columns` of the deciding words.

    `facts` keeps what is asked of each case, for a comparison.
    """

    texts: Literal["", "failing", "all"] = ""
    columns: bool = False
    facts: bool = False


NOTHING = Keeps()
"""What is kept of cases that only a report shows."""


def _columns(
    evaluator: Evaluator, scored: Iterable[tuple[Case, Any]], lines_by_number: Mapping[int, bytes]
) -> Iterator[JsonObject]:
    """Yield where in its line each case's reply stands and what decides, as `Recorded` has it."""
    for number, cases in groupby(scored, lambda one: one[0].place.line):  # a line is read once for all its cases
        line = lines_by_number.get(number, b"").decode("utf-8")
        places = dict(offsets(line))
        for case, result in cases:
            if case.place.column:
                yield {"": (case.place.column, case.place.column + 1)}
            elif line:
                texts = case.texts()
                reply = evaluator.present.reply if evaluator.present.reply in texts else [*texts][-1]
                yield deciding(line, places, reply, evaluator.present.marks(result, texts))
            else:
                yield {}


class Scoring(NamedTuple):
    """What makes a case's result, wherever that is done: a value that can be sent, and holds no secret.

    `recipe` is as in `own_rules.made`; `settings` are as in a report. `passes_over` leaves out cases that do not fit
    what is scored by, which are else a problem. `rules_of` is the commit that the rules are of, "" for that of the
    cases.
    """

    evaluator: str
    recipe: str
    settings: JsonObject
    source: ResultSource
    keeps: Keeps = NOTHING
    passes_over: bool = False
    rules_of: str = ""


class Fact(NamedTuple):
    """What is asked of a case: its id, its digest and its expectations, as `weakening_cases.Asked` has them."""

    id: str
    digest: str
    asks: JsonObject

    @classmethod
    def of(cls, case: Case) -> Fact:
        """Return what is asked of a case."""
        asks = {**case.asks(), **case.given(), "cluster": case.cluster or None}
        return cls(case.id, case.digests()["case"], asks)


class Tally(NamedTuple):
    """What some cases come to: totals, which can be added, and their results.

    `texts` and `columns` belong to the results' cases, if they are kept. `facts` has a `Fact` for each case, if they
    are kept. `ids` has the ids of all cases of lines with their places, including cases with problems. With a problem
    there may be fewer results than `cases`. `groups` covers all cases, including those without a result, if it
    `knows_groups`. It holds at most one more than `bounds.tags`. `left_out` has the ids of the cases that a filter
    leaves out.
    """

    totals: Any
    results: Sequence[Any] = ()
    texts: Sequence[JsonObject] = ()
    columns: Sequence[JsonObject] = ()
    facts: Sequence[Fact] = ()
    cases: int = 0
    ids: tuple[tuple[str, Place], ...] = ()
    problems: tuple[Problem, ...] = ()
    groups: frozenset[str] = frozenset()
    left_out: tuple[str, ...] = ()
    knows_groups: bool = True


def tallied(scorings: Sequence[Scoring], item: tuple[Part, bool]) -> tuple[Tally, ...]:
    """Return the result of some cases by each scoring if they are to be scored; else their problems and ids.

    All scorings are of one evaluator and have the same settings. The ids are in the first tally alone. Raises
    CannotJudge if the evaluator of a package does not return, however it leaves.
    """
    try:
        return _by_each(scorings, item)
    except (CannotJudge, MemoryError):
        raise
    except BaseException as error:
        name = scorings[0].evaluator
        if name in BUILT_IN or is_interrupt(error):
            raise
        what = f"left by {type(error).__name__} instead of returning"
        words = f"{what} ({reason(error)}); report it to the authors of the evaluator, with the command and the input"
        problem = Problem(
            Place(f"evaluator {name}"), words, text_free=f"{what}; report it to the authors", code=Code.INTERNAL_ERROR
        )
        raise CannotJudge(problem) from error


def _by_each(scorings: Sequence[Scoring], item: tuple[Part, bool]) -> tuple[Tally, ...]:
    first, (part, is_scored) = scorings[0], item
    evaluator = EVALUATORS[first.evaluator]
    ids: tuple[tuple[str, Place], ...] = ()
    found: Sequence[Case | Problem] = ()
    texts: Mapping[int, bytes] = {}
    if isinstance(part, recorded.Part):
        texts = dict(recorded.lines_of(part)) if first.keeps.columns else {}
        found = [*recorded.cases_of(evaluator, part, first.settings)]
        ids = recorded.ids_of(found)
    else:
        found = part
    groups, knows_groups = _groups(evaluator, part, found)
    every = frozenset(groups)
    if isinstance(part, recorded.Part) and len(every) > part.bounds.tags:
        every, is_scored = frozenset(islice(every, part.bounds.tags + 1)), False  # enough to see that they are too many
    tallies = (_tallied(one, found, texts, is_scored=is_scored) for one in scorings)
    first_tally, *others = (one._replace(groups=every, knows_groups=knows_groups) for one in tallies)
    return (first_tally._replace(ids=ids), *others)


def _groups(evaluator: Evaluator, part: Part, found: Sequence[Case | Problem]) -> tuple[set[str], bool]:
    """Return the groups of all cases of a part, those with problems too, and whether all could be read."""
    groups = {group for one in found if not isinstance(one, Problem) for group in one.groups}
    if not isinstance(part, recorded.Part) or not any(isinstance(one, Problem) for one in found):
        return groups, True
    more = recorded.groups_of(evaluator, part)
    return groups | (more or set()), more is not None


def _tallied(
    scoring: Scoring, found: Iterable[Case | Problem], texts: Mapping[int, bytes], *, is_scored: bool
) -> Tally:
    """Return what cases come to by a scoring; `texts` are their lines by number, if they are wanted."""
    evaluator, by = EVALUATORS[scoring.evaluator], own_rules.made(scoring.evaluator, scoring.recipe)
    keeps, text = scoring.keeps, scoring.settings["text"]
    problems = list[Problem]()
    scored = list[tuple[Case, Any]]()
    unsound = list[Problem]()
    asked = list[Fact]()

    def fresh(case: Case) -> Any:
        result = evaluator.score(case, by)
        return result if text == "full" else withheld(evaluator.name, result)

    def recounted(case: Any, result: Any) -> Any:
        cluster = case.cluster
        if text != "full":
            cluster = without_texts(evaluator.name, {"cluster": cluster})["cluster"]
        again = evaluator.recounted(result, replace(case, cluster=cluster), by)
        return fresh(case) if again is None else again

    left_out = list[str]()
    count = 0
    for case in found:
        if isinstance(case, Problem):
            problems.append(case)
            continue
        if not is_wanted(evaluator, case, scoring.settings):
            continue
        if keeps.facts:
            asked.append(Fact.of(case))
        if not selects(scoring.settings, case.groups):
            left_out.append(case.id)
            continue
        misfit = _misfit(evaluator, case, by, scoring.rules_of)
        if misfit and scoring.passes_over:
            continue
        count += 1
        if misfit and problems[-1:] != [misfit]:  # all turns of a conversation share it
            problems.append(misfit)
        if problems or not is_scored:
            continue
        result = scoring.source(evaluator.name, case.id, partial(fresh, case), partial(recounted, case))
        if isinstance(result, Problem):
            unsound.append(result)
        elif result is not None:
            scored.append((case, result))

    def is_kept(result: Any) -> bool:
        return keeps.texts == "all" or not evaluator.compare.outcome(result).passed

    return Tally(
        evaluator.totals(scored, by),
        [result for _, result in scored],
        [case.texts() if is_kept(result) else {} for case, result in scored] if keeps.texts else (),
        [*_columns(evaluator, scored, texts)] if keeps.columns else (),
        asked,
        count,
        problems=(*problems, *unsound),
        left_out=tuple(left_out),
    )


def _misfit(evaluator: Evaluator, case: Case, by: Any, rules_of: str) -> Problem | None:
    """Return the problem of a case that cannot be scored by the rules of a commit, "" for its own."""
    found = evaluator.rule_files.misfit(case, by) if evaluator.rule_files else None
    if found and rules_of:
        return replace(found, message=f"{found.message} (policy-ref base: by the rules of the base commit {rules_of})")
    return found
