"""Shell: the evaluators' parts of a report: cases read, scored and added up one at a time. Reads files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from safe_gate import files, workers
from safe_gate.evaluators import without_texts
from safe_gate.figures import add_up
from safe_gate.files import HERE
from safe_gate.model import CannotJudge, JsonObject, Place, Problem
from safe_gate.options import Options

if TYPE_CHECKING:  # an evaluator is imported where it has cases
    from safe_gate import batches
    from safe_gate.evaluators import safe_v0, synthesis

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
    "archetypes",
    "tags",
    "text",
)
"""The options that the evaluators' parts follow from, and what groups are judged by; not those that name files."""

Case = TypeVar("Case")
Result = TypeVar("Result")
Totals = TypeVar("Totals")

Source = Callable[[str, str, Callable[[], JsonObject]], JsonObject | None]
"""What gives a case's entry of `results[]`, told its evaluator, its id and how to score it; None passes it over."""


def scored(_evaluator: str, _case_id: str, score: Callable[[], JsonObject]) -> JsonObject:
    """Return a case's entry by scoring it: the source of a run that is whole."""
    return score()


@dataclass(frozen=True, slots=True)
class Measured:
    """An evaluator's part of the report, or the problems that keep it from one.

    `entries` are those of `results[]` as far as the source has them, of so many `cases`; unless it has them all
    there is no part.
    """

    part: dict[str, Any] | None = None
    problems: tuple[Problem, ...] = ()
    inputs: tuple[files.InputFile, ...] = ()
    entries: Sequence[JsonObject] = ()
    cases: int = 0


def safe_v0_part(
    options: Options,
    generated_at: str,
    output: str = "",
    *,
    root: Path = HERE,
    policy: safe_v0.Policy | None = None,
    source: Source = scored,
) -> Measured:
    """Return SAFE v0's part of the report over all batches that the options name, but for `output`.

    Files are read below `root`, as by `files.expand`; `policy` is how to score, if not as the options say.
    """
    from safe_gate.evaluators import safe_v0

    policy = policy or safe_policy(options)

    def measure(case: safe_v0.Case) -> tuple[safe_v0.Totals, JsonObject] | None:
        def score() -> JsonObject:
            return _told("safe_v0", safe_v0.score_case(case, policy).as_json(), options)

        entry = source("safe_v0", case.test_id, score)
        return None if entry is None else (safe_v0.Totals.of(case, entry, policy), entry)

    def report(totals: Iterable[safe_v0.Totals], entries: Sequence[JsonObject]) -> dict[str, Any]:
        return safe_v0.report(add_up(totals, safe_v0.Totals()), entries, policy, generated_at)

    measured, problems, inputs = sorted_out(safe_v0_cases(options, output, root=root), measure)
    problems = problems or _lacking(measured, options)
    if problems:
        return Measured(None, as_shown(problems, options), inputs)
    return _measured(measured, inputs, report)


def safe_v0_cases(options: Options, output: str = "", *, root: Path = HERE) -> Iterator[batches.SafeItem]:
    """Yield the SAFE v0 cases that options name, with problems and files, as `batches.safe_cases` does."""
    from safe_gate import batches

    return batches.safe_cases(
        options.safe_batch,
        options.safe_outputs,
        concern=options.safe_concern,
        test_dir=options.safe_test_dir,
        leave_out=(options.config, options.waivers, output),
        cluster_key=options.cluster_key,
        root=root,
    )


def synthesis_part(
    options: Options, *, root: Path = HERE, rules: synthesis.Rules | None = None, source: Source = scored
) -> Measured:
    """Return Synthesis's part of the report over all case files that the options name.

    Files are read below `root`, as by `files.expand`; `rules` are what to score by, if not those that
    the options name there.
    """
    from safe_gate import packs
    from safe_gate.evaluators import synthesis

    problems: tuple[Problem, ...] = ()
    try:
        rules = rules or synthesis_rules(options, root=root)
    except CannotJudge as error:
        problems, rules = error.problems, packs.load()  # the cases may have problems of their own
    cases = files.synthesis_cases(options.synthesis_cases, cluster_key=options.cluster_key, root=root)

    def measure(case: synthesis.Case) -> tuple[synthesis.Totals, JsonObject] | None:
        def score() -> JsonObject:
            return _told("synthesis", synthesis.result_json(synthesis.score_case(case, rules)), options)

        entry = source("synthesis", case.id, score)
        return None if entry is None else (synthesis.Totals.of(entry), entry)

    def report(totals: Iterable[synthesis.Totals], entries: Sequence[JsonObject]) -> dict[str, Any]:
        return synthesis.report(add_up(totals, synthesis.Totals()), entries)

    measured, more, inputs = sorted_out(cases, measure, processes=_processes(options.jobs))
    if problems or more:
        return Measured(None, as_shown((*problems, *more), options), inputs)
    return _measured(measured, inputs, report)


def _told(evaluator: str, entry: JsonObject, options: Options) -> JsonObject:
    """Return a case's entry as it may be shown. All that is added up from entries holds no more than they do."""
    return entry if options.text == "full" else without_texts(evaluator, entry)


def _measured(
    measured: Sequence[tuple[Totals, JsonObject] | None],
    inputs: tuple[files.InputFile, ...],
    report: Callable[[Iterable[Totals], Sequence[JsonObject]], dict[str, Any]],
) -> Measured:
    """Return an evaluator's part of the report if its source has passed over no case."""
    found = [one for one in measured if one]
    entries = [entry for _, entry in found]
    part = report((totals for totals, _ in found), entries) if len(found) == len(measured) else None
    return Measured(part, (), inputs, entries, len(measured))


def case_counts(options: Options) -> tuple[dict[str, int], tuple[Problem, ...]]:
    """Return how many cases each evaluator that has inputs would score, and what is wrong with the inputs."""
    counts: dict[str, int] = {}
    problems: tuple[Problem, ...] = ()
    if options.safe_batch:
        cases, found, _ = sorted_out(safe_v0_cases(options), lambda case: case.place)
        counts["safe_v0"] = len(cases)
        problems += found or _lacking(cases, options)
    if options.synthesis_cases:
        cases, found, _ = sorted_out(files.synthesis_cases(options.synthesis_cases), lambda case: case.place)
        counts["synthesis"] = len(cases)
        problems += found
    return counts, as_shown(problems, options)


def _lacking(cases: Sequence[Any], options: Options) -> tuple[Problem, ...]:
    """Return the problem that a concern leaves no case, if so."""
    return () if cases else (Problem(Place("the concern"), f"{options.safe_concern!r} is that of no case"),)


def nothing_to_judge() -> Problem:
    """Return the problem of a run without inputs."""
    return missing("safe-batch or synthesis-cases", "the files to judge: SAFE v0 batches, Synthesis cases")


def missing(what: str, expected: str) -> Problem:
    """Return the problem of a setting without which there is nothing to judge."""
    return Problem(Place(what), f"is not set, so there is nothing to judge, which is never a pass; expected {expected}")


def as_shown(problems: Sequence[Problem], options: Options) -> tuple[Problem, ...]:
    """Return problems as they may be shown: with `text: none` they quote no recorded text."""
    return tuple(problems if options.text == "full" else (problem.without_texts() for problem in problems))


def sorted_out(
    items: Iterable[Case | Problem | files.InputFile], measure: Callable[[Case], Result], *, processes: int = 1
) -> tuple[list[Result], tuple[Problem, ...], tuple[files.InputFile, ...]]:
    """Measure the cases of a stream one at a time; return what came out, problems and input files."""
    problems: list[Problem] = []
    inputs: list[files.InputFile] = []

    def cases() -> Iterator[Case]:
        for item in items:
            if isinstance(item, Problem):
                problems.append(item)
            elif isinstance(item, files.InputFile):
                inputs.append(item)
            elif not problems:  # with a problem there will be no verdict: keep looking for others only
                yield item

    results = list(workers.ordered(measure, cases(), processes))
    return results, tuple(problems), tuple(inputs)


def _processes(jobs: str) -> int:
    """Return how many processes a setting asks for: as many as there are cores, or a number."""
    return workers.cores() if jobs == "auto" else int(jobs)


def synthesis_rules(options: Options, *, root: Path = HERE) -> synthesis.Rules:
    """Return the rules that the options name, own packs read below `root`. Raises CannotJudge as `packs.load` does."""
    from safe_gate import packs

    return packs.load(
        options.profile, options.sensitivity, options.rules, options.rules_off, options.rule_weights, root=root
    )


def safe_policy(options: Options) -> safe_v0.Policy:
    """Return how SAFE v0 scores under these options."""
    from safe_gate.evaluators import safe_v0

    lower = {metric: metric.lower() for metric in safe_v0.METRICS}
    weights = {metric: getattr(options, f"{name}_weight") for metric, name in lower.items()}
    thresholds = {
        metric: {"pass": getattr(options, f"{name}_pass"), "review": getattr(options, f"{name}_review")}
        for metric, name in lower.items()
    }

    def labelled(own: Mapping[str, Mapping[str, float]]) -> dict[str, safe_v0.Threshold]:
        merged = {metric: {**general, **own.get(metric, {})} for metric, general in thresholds.items()}
        return {metric: safe_v0.Threshold(parts["pass"], parts["review"]) for metric, parts in merged.items()}

    archetypes = options.archetypes or {}
    return safe_v0.Policy(
        thresholds=labelled({}),
        weights=weights,
        archetype_weights={
            archetype: {**weights, **own["weights"]} for archetype, own in archetypes.items() if "weights" in own
        },
        archetype_thresholds={
            archetype: labelled(own["thresholds"]) for archetype, own in archetypes.items() if "thresholds" in own
        },
        strict_ah=options.strict_ah,
    )
