"""A run: settings, base, cases, scores, comparison, verdict, reports and publishing.

Whatever is wrong with one of these ends the run without a verdict. The module is not called `run`, because
`safe_gate.run` is the function of `calls.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from safe_gate import addons
from safe_gate.baseline import comparison, lock, source, weakened
from safe_gate.baseline.comparison import own_case_terms, recorded_texts, score
from safe_gate.baseline.source import OptionsAt, RunSides, open_sides
from safe_gate.evaluators.registry import parts_of
from safe_gate.gate import rules as gate_rules
from safe_gate.gate import stored, waivers
from safe_gate.github import Effects
from safe_gate.inputs.checked import place_at_source
from safe_gate.model.problems import CannotJudge
from safe_gate.model.report import Findings, InputFile, Provenance, Report, Verdict
from safe_gate.reporting import (
    TOOL,
    Judged,
    OverwriteError,
    begin,
    conclude,
    provenance_without_rules,
    reports_of,
    without_verdict,
)
from safe_gate.scoring import measure, sides
from safe_gate.scoring.measure import Scores
from safe_gate.settings import Settings

Begin = Callable[[Settings], None]
"""Called with the settings that judge, before the first case is scored."""


def run(
    options: Settings, effects: Effects, options_at: OptionsAt, merged: addons.scale.Shards | None = None
) -> Judged:
    """Judge the run under these options, write its reports and publish them.

    The arguments are those of `judge`. Raises CannotJudge as it does.
    """
    reports = reports_of(options)
    try:
        judged = judge(options, effects, options_at, merged, begin=partial(begin, options, effects, reports))
    except OverwriteError as error:
        judged = without_verdict([*place_at_source(error.problems, options)], options, effects)
        reports = {path: draw for path, draw in reports.items() if path not in error.paths}
    return conclude(judged, options, effects, reports)


def judge(
    options: Settings, effects: Effects, options_at: OptionsAt, merged: addons.scale.Shards | None, *, begin: Begin
) -> Judged:
    """Return the report of a run under these options; nothing is shown or written.

    `options_at` is as in `open_sides`, which raises CannotJudge. `merged` has results that are scored already.
    """
    with open_sides(options, effects, options_at) as run:
        begin(run.options)
        inputs: tuple[InputFile, ...] = ()
        try:
            base, unread = run.baseline()
            seeks_weaker = weakened.is_checked(base, run)
            results = measure.score_none if unread else merged.source if merged else measure.score_all
            scores = score(run, results, keeps_cases=seeks_weaker)
            scores, inputs = replace(scores, problems=(*scores.problems, *unread)), scores.inputs
            found = _judge_waivers(scores, run, merged)
            compared, past = comparison.compare_with_baseline(base, scores, run, waivers.waived_ids(found))
            found = replace(found, comparison=compared, recordings=lock.find_stale(base, past, scores, run))
            if seeks_weaker:
                cases = own_case_terms(scores, run)
                found = replace(found, weakened=weakened.find_weakened(base, past, cases, run))
            report = _report_of(found, scores, run)
        except CannotJudge as error:
            problems = sides.redact_problems([*run.head.at_source(error.problems)], options.text)
            return without_verdict(problems, run.options, effects, inputs)
        return Judged(report, (), recorded_texts(scores, compared, past, options))


def recompute(options: Settings, effects: Effects, made: Report) -> Report:
    """Return the report of a run under these options, with what an earlier report records of another state.

    Its waivers stand if they are of another commit, or if there were none: a file with the default name may exist by
    now. Raises CannotJudge with every problem.
    """
    with open_sides(options, effects, lambda _: options) as run:
        scores = score(run, measure.score_all)
        if made.waivers and not made.provenance.policy_commit:
            found = _judge_waivers(scores, run)
        else:
            found = Findings(parts=scores.sound_parts(), waivers=made.waivers)
        found = replace(found, comparison=made.comparison, weakened=made.weakened, recordings=made.recordings)
        return _report_of(found, scores, run)


def _judge_waivers(scores: Scores, run: RunSides, merged: addons.scale.Shards | None = None) -> Findings:
    """Return the findings with their waivers. Raises CannotJudge with every problem of both, and of shards.

    The base commit's waivers come without the expired or unused ones that the change removes: otherwise no change could
    remove them.
    """
    known, unsound = run.waivers()
    problems = [*scores.problems, *unsound]
    if merged:  # wrong inputs first, then shards made by other terms, then those of other cases
        of_inputs = [problem for problem in problems if problem.place.path not in merged.terms]
        problems = of_inputs or [*merged.mismatch_problems(provenance(scores.inputs, run))] or problems
    if problems:
        raise CannotJudge(*problems)
    judged = waivers.judge(known, scores.parts, run.effects.generated_at[:10], scores.left_out)
    if judged and run.base:
        own = {*map(waivers.Waivable.of, run.head.waivers_on_disk())}
        expired, unused = (
            tuple(one for one in some if waivers.Waivable.of(one) in own) for some in (judged.expired, judged.unused)
        )
        judged = replace(judged, expired=expired, unused=unused)
    return Findings(parts=scores.parts, waivers=judged)


def _report_of(found: Findings, scores: Scores, run: RunSides) -> Report:
    """Return the report of a run whose findings are judged. Raises CannotJudge where no rule applies."""
    outcomes = gate_rules.judge(found, source.policy(run.options))
    verdict = gate_rules.verdict(outcomes)
    if verdict is Verdict.ERROR:
        raise CannotJudge(sides.no_rule_problem(evaluator for evaluator, _ in parts_of(found.parts)))
    left_out = {name: len(ids) for name, ids in scores.left_out.items()} or None
    report = Report(
        tool=TOOL,
        generated_at=run.effects.generated_at,
        verdict=verdict,
        rules=outcomes,
        parts=found.parts,
        waivers=found.waivers,
        comparison=found.comparison,
        weakened=found.weakened,
        recordings=found.recordings,
        provenance=replace(provenance(scores.inputs, run), base=run.event_base, left_out=left_out),
    )
    return stored.with_digests(report)


def provenance(inputs: Sequence[InputFile], run: RunSides) -> Provenance:
    """Return what a run follows from."""
    return replace(
        provenance_without_rules(inputs, run.options, run.effects),
        packs_sha256=run.judge.rules_digest(),
        policy_commit=run.base.commit if run.base else "",
    )


# --- shards -----------------------------------------------------------------------------------------


def score_shard(
    shard: addons.scale.Shard, options: Settings, effects: Effects, options_at: OptionsAt, begin: Begin
) -> Judged | addons.scale.ShardContent:
    """Return the file of one shard of a run under these options, judged by nobody, or the report of problems.

    Raises CannotJudge as `judge` does.
    """
    with open_sides(options, effects, options_at) as run:
        begin(run.options)
        scores = score(run, shard.source)
        if scores.problems:
            return without_verdict(scores.problems, run.options, effects, scores.inputs)
        return addons.scale.ShardContent(
            shard,
            {name: one.cases for name, one in scores.measured.items()},
            {name: one.results for name, one in scores.measured.items()},
            provenance(scores.inputs, run),
        )
