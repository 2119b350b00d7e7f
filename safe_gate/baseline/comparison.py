"""Shell: scores a run, and compares it with its baseline, scored by its own rules and by today's. Reads files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from safe_gate import __version__
from safe_gate.baseline.source import Baseline, RunSides, refuse_narrower_filter
from safe_gate.core.figures import plural
from safe_gate.core.jsontext import digest
from safe_gate.core.validate import quote, suggestion
from safe_gate.evaluators.registry import EVALUATORS, outcomes_of, parts_of, results_of
from safe_gate.gate import comparison as gate
from safe_gate.gate.comparison import ComparedRun
from safe_gate.gate.weakening import Cases, CaseTerms
from safe_gate.inputs import case_files, disk, globs
from safe_gate.inputs.case_files import without_unmatched
from safe_gate.inputs.commit_files import FilePath, unavailable
from safe_gate.inputs.disk import HERE
from safe_gate.model import record
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Code, Problem, number
from safe_gate.model.report import BaselineFacts, Comparison, InputFile, Parts, Report
from safe_gate.model.results import Recorded
from safe_gate.scoring import measure, sides
from safe_gate.scoring.measure import Measurement, ResultSource, Scores, ScoringMethod
from safe_gate.scoring.sides import Snapshot
from safe_gate.settings import Settings


def score(run: RunSides, source: ResultSource, *, keeps_cases: bool = False) -> Scores:
    """Return the scores of the cases that the source has; `keeps_cases` keeps the terms of the cases."""
    sha = run.base.commit[:7] if run.base else ""
    how = ScoringMethod(source=source, texts=texts_to_keep(run.head.options), case_terms=keeps_cases, rules_of=sha)
    # The run's own files, whoever's settings judge.
    found = measure.measure_all(replace(run.judge, root=HERE), run.effects.generated_at, how)
    for name, one in found.measured.items():
        sides.report_skipped(one.skipped, EVALUATORS[name].input.setting.replace("_", "-"), run.effects.err)
    theirs, lacks = _patterns(run.options) - _patterns(run.head.options), "matches no file"
    words = f"{lacks}, but {run.named_by_base}"  # without a base, nothing is theirs
    problems = [
        replace(one, message=words) if one.place.path in theirs and one.message.startswith(lacks) else one
        for one in found.problems
    ]
    if not found.measured:
        problems = [sides.no_input_problem(merges=bool(run.options.shards))]
    # A change that other settings judge must not add a name that leaves every later run without a verdict.
    why = f" (policy-ref base reads only files that the base commit {sha} names)" if run.base else ""
    problems += sides.unknown_names(run.head, found.measured, why)
    if run.base:
        problems += run.base.placed(sides.unknown_names(run.judge, found.measured, why))
    return replace(found, problems=tuple(problems))


def _patterns(options: Settings) -> set[str]:
    return {pattern for name, _ in case_files.pattern_settings() for pattern in options.value(name)}


def texts_to_keep(options: Settings) -> Literal["", "failing", "all"]:
    """Return whose texts are kept: the page shows those of all cases, the comment a line of those that fail."""
    if options.text != "full":
        return ""
    return "all" if "html" in options.reports else "failing"


def recorded_texts(scores: Scores, found: Comparison | None, past: BaselineRun | None, options: Settings) -> Recorded:
    """Return the recorded texts of a run, and of the cases of its baseline that changed, as far as they are kept.

    A report as the baseline has none.
    """
    kept, before = texts_to_keep(options), dict[tuple[str, str], JsonObject]()
    for evaluator, part in parts_of(found.parts) if found and kept == "all" else ():
        one = past.scores.measured.get(evaluator.name) if past and past.scores else None
        changed = {*part.cases.changed_outputs, *part.cases.changed_expectations}
        for result, recorded in zip(one.results, one.texts, strict=True) if one and changed else ():
            if result.id in changed:
                before[evaluator.name, result.id] = recorded
    now = {name: one.texts for name, one in scores.measured.items()} if kept else {}
    return Recorded(now, lambda evaluator, case_id: before.get((evaluator, case_id)))


def own_case_terms(scores: Scores, run: RunSides) -> Cases:
    """Return the terms of a run's own cases by its own settings, even if the base commit's settings judge.

    Cases that those settings read otherwise are read again. Raises CannotJudge with every problem of them.
    """
    head = run.without_unmatched(HERE)
    if run.judge.reads_same_cases(head):
        return scores.case_terms
    return sides.read_case_terms(head)


def compared_run(parts: Parts, run: Snapshot) -> ComparedRun:
    """Return a run as it is compared."""
    return _compared_run(parts, __version__, run.rules_digest(), run.settings)


def rule_digests(run: Snapshot) -> Mapping[str, str]:
    """Return the digests of the rules that score a run with all inputs, as in `ComparedRun`."""
    parts = {name: evaluator.compare.recorded_settings(run.settings) for name, evaluator in EVALUATORS.items()}
    return compared_run(parts, run).rules


def compared_report(report: Report) -> ComparedRun:
    """Return the run that left a report."""
    provenance = report.provenance
    return _compared_run(report.parts, report.tool.version, provenance.packs_sha256, provenance.policy)


def _compared_run(parts: Parts, version: str, packs_sha256: str, policy: Mapping[str, Any]) -> ComparedRun:
    rules = {
        name: digest([version, packs_sha256 if one.rule_files else "", one.compare.scoring_terms(parts[name], policy)])
        for name, one in EVALUATORS.items()
    }
    return ComparedRun(parts, rules, policy["text"] != "full", policy["cluster_key"], tuple(policy.get("tag", ())))


@record
class BaselineRun:
    """A baseline as it was judged, and its outputs judged by the run's rules if it has them.

    `scores` are those of a commit's cases with their terms, None for a report. `by_base` has the parts of the
    run's outputs by the baseline's rules, where these are others. `inputs` are the files it was read from.
    """

    old: ComparedRun
    today: ComparedRun | None = None
    scores: Scores | None = None
    by_base: Parts = field(default_factory=dict)
    inputs: Sequence[InputFile] = ()

    @property
    def cases(self) -> Cases:
        """The terms of a commit's cases, or those that a report records, by evaluator."""
        return self.scores.case_terms if self.scores else reported_terms(self.old.parts, self.inputs)


def reported_terms(parts: Parts, inputs: Sequence[InputFile]) -> Cases:
    """Return what is known of the terms of cases in a report that was made of these files: not what they ask for."""
    paths, found = {one.path for one in inputs}, dict[str, list[CaseTerms]]()
    for evaluator, part in parts_of(parts):
        terms = found.setdefault(evaluator.name, [])
        for result in results_of(part):
            file = result.place.path
            if evaluator.input.cases:
                beside = disk.display_path(case_files.outputs_beside(Path(file)))
                file = beside if beside in paths else file
            reply = result.digests.get("reply", result.digests["output"])
            terms.append(CaseTerms(result.id, {}, file=file, reply=reply))
    return found


def _sound_parts(found: Mapping[str, Measurement], side: Snapshot) -> Parts:
    """Return the parts of a baseline. Raises CannotJudge with every problem.

    That a concern or a filter leaves no case is none: it may be new.
    """
    problems: list[Problem] = []
    for name, one in found.items():
        no_case = sides.no_case_problem(EVALUATORS[name], side.settings, one.groups, one.left_out)
        placed = [*side.at_source([no_case])] if no_case else []
        if not (no_case and one.problems == sides.redact_problems(placed, side.options.text)):
            problems += one.problems
    return Scores(found, tuple(problems)).sound_parts()


def unmatched_patterns(options: Settings, roots: Sequence[FilePath]) -> Iterator[Problem]:
    """Yield a problem for each pattern of options that names no file below any of some folders."""
    left = [without_unmatched(options, root) for root in roots]
    for name, suffix in case_files.pattern_settings():
        for pattern in options.value(name):
            if not any(pattern in one.value(name) for one in left):
                yield globs.no_match_problem(pattern, suffix, roots[-1])


def baseline_run(
    base: Baseline, head: ComparedRun, side: Snapshot, run: RunSides, *, texts: bool = False
) -> BaselineRun:
    """Return a baseline for a run, with each file read once.

    With `texts` its recorded texts are kept. Raises CannotJudge with every problem of the baseline: one that cannot be
    read is never a pass.
    """
    if base.report is not None:
        return BaselineRun(compared_report(base.report), inputs=base.report.provenance.inputs)
    named = [side.options.value(one.input.setting) for one in sides.evaluators_in_use(side.options)]
    if base.root != HERE and all(disk.DASH in one for one in named):
        words = "is a commit, which has no standard input (-), so its cases are unknown"
        raise unavailable(base.name, f"{words}; name a file of cases, or an earlier safe-gate.json as the baseline")
    try:
        with base.placing():
            there = run.without_unmatched(base.root).filtered_like(side)
            return _score_baseline(there, head, side, run.effects.generated_at, texts=texts)
    except CannotJudge as error:
        if base.root == HERE or any((one.code, one.field) != (Code.MISSING_OUTPUT, "output") for one in error.problems):
            raise
        cases, first = plural(number(error.problems), "case"), quote(error.problems[0].case_id)
        advice = "commit outputs, or name an earlier safe-gate.json as the baseline"
        raise unavailable(base.commit[:7], f"has no recorded output of {cases}, the first {first}; {advice}") from None


def _score_baseline(
    there: Snapshot, head: ComparedRun, run: Snapshot, generated_at: str, *, texts: bool
) -> BaselineRun:
    before = rule_digests(there)
    own = ScoringMethod(texts="all" if texts else "", case_terms=True)
    found = measure.measure_all(there, generated_at, own)
    old = compared_run(_sound_parts(found.measured, there), there)
    others = [one for one in sides.evaluators_in_use(there.options) if before[one.name] != head.rules[one.name]]
    # An evaluator whose rules are not those of head says nothing: head may be a report made by others.
    today = rule_digests(run) if others else {}
    scoring = {name: run.options.value(name) for name in sides.SCORING if name != "turns"}  # a turn's id may be taken
    read = replace(there, options=there.options.replace(**scoring))
    again = {
        one.name: measure.measure_part(one, read, generated_at, ScoringMethod(run.recipe(one), skips_misfits=True))
        for one in others
        if today[one.name] == head.rules[one.name]
    }
    by_today = _sound_parts(again, read)
    # Without a case that today's rules fit and fail, each keeps its verdict.
    kept = {name for name in EVALUATORS if before[name] == head.rules[name] or (name in again and not by_today[name])}
    parts = {name: part if name in kept else by_today[name] for name, part in old.parts.items()}
    inputs = {name: run.options.value(name) for name in sides.OF_INPUTS}
    theirs = replace(there, root=run.root, options=there.options.replace(bounds=run.options.bounds, **inputs))
    by_base = {
        name: measure.measure_part(EVALUATORS[name], theirs, generated_at, ScoringMethod(skips_misfits=True)).part
        for name in again
    }
    return BaselineRun(old, old._replace(parts=parts), found, by_base, found.inputs)


def compare_with_baseline(
    base: Baseline | None,
    scores: Scores,
    run: RunSides,
    waived: Mapping[str, Set[str]],
) -> tuple[Comparison | None, BaselineRun | None]:
    """Return the comparison of a run with its baseline, and what was read of that; None without a baseline.

    `waived` is as in `gate.judge`. Raises CannotJudge with every problem of the baseline.
    """
    options, past = run.options, None
    if not options.baseline:
        return None, None
    head = compared_run(scores.parts, run.judge)
    facts = BaselineFacts.named(options.baseline)
    if base is not None:
        refuse_narrower_filter(base, run.judge.settings)
        texts = texts_to_keep(run.head.options) == "all"
        past = baseline_run(base, head, replace(run.judge, root=HERE), run, texts=texts)
        facts = describe(base, run.effects.generated_at)
    guards = gate.Guards.of(options.values())
    return compare_to(facts, past, head, guards, options.cluster_key, waived=waived), past


def compare_to(
    baseline: BaselineFacts,
    past: BaselineRun | None,
    head: ComparedRun,
    guards: gate.Guards,
    cluster_key: str,
    *,
    waived: Mapping[str, Set[str]] | None = None,
) -> Comparison:
    """Return the comparison of a run with its baseline.

    `guards` and `cluster_key` belong to the run; `waived` is as in `gate.judge`. Raises CannotJudge for settings
    that name nothing.
    """
    none = Comparison(baseline, gate.Status.NONE.value, [], dict.fromkeys(EVALUATORS))
    if past is None or not any(past.old.parts.values()):
        return none
    old, head = gate.comparable(past.old, head)
    if problems := tuple(_unknown_names(old, head, guards.protect, cluster_key)):
        raise CannotJudge(*problems)
    compared = gate.compare(old, past.today, head, guards, past.by_base)
    without = [name for name in EVALUATORS if head.parts[name] and not old.parts[name]]
    outcomes = gate.judge(compared, guards, waived)
    status = gate.status(compared, outcomes, guards).value
    return replace(none, status=status, without_baseline=without, parts=compared, cluster_key=head.cluster_key)


def _unknown_names(old: ComparedRun, head: ComparedRun, protect: Sequence[str], cluster_key: str) -> Iterator[Problem]:
    """Yield a problem for each setting that names what no case has: it would guard nothing."""
    if head.tag or not (protect or cluster_key):
        return  # the filter may leave out the named case
    results = [one for run in (old, head) for name, part in run.parts.items() for one in outcomes_of(name, part)]
    known = {name for outcome in results for name in (outcome.id, *outcome.groups)}
    for name in protect:
        if name not in known:
            words, hint = "names {}, but no case has this id, tag or archetype", suggestion(name, list(known))
            yield sides.unknown_name_problem("protect", words, name, hint)
    if cluster_key and not any(outcome.cluster for outcome in results):
        yield sides.unknown_name_problem("cluster-key", "names {}, but no case has a value for it", cluster_key)


def describe(base: Baseline, generated_at: str) -> BaselineFacts:
    """Return what a baseline is called in the report, and how old it is."""
    age = None
    if base.made_at:
        age = max(0, (datetime.fromisoformat(generated_at) - datetime.fromisoformat(base.made_at)).days)
    return BaselineFacts(base.name, base.commit, base.made_at, age, base.why)
