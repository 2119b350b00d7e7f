"""One run, from its inputs to its report: read, scored, compared with the baseline, and judged.

Effects arrive as arguments; nothing is shown or written here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from safe_gate.baseline import comparison, source, terms
from safe_gate.core.compared import Comparison
from safe_gate.core.figures import plural
from safe_gate.core.model import (
    NOTHING_RECORDED,
    CannotJudge,
    InputFile,
    JsonObject,
    Parts,
    Place,
    Problem,
    Recorded,
    Verdict,
)
from safe_gate.core.report import Earlier, Found, Provenance, Report, Waiver, Waivers
from safe_gate.evaluators import EVALUATORS
from safe_gate.gate import rules as gate_rules
from safe_gate.gate import waivers
from safe_gate.inputs import checked
from safe_gate.inputs.spool import Store
from safe_gate.proof import differences
from safe_gate.publish.effects import Effects
from safe_gate.render import formats
from safe_gate.runs.policy import Ruling, gate_policy, refuse_itself, ruling_of
from safe_gate.runs.report import error_report, provenance, report_of
from safe_gate.runs.sides import Sides, opened
from safe_gate.runs.weakened import weakened
from safe_gate.scoring import asked, intake, measure, refusals, shards, unknown_names
from safe_gate.settings.options import Options


class Made(NamedTuple):
    """The report of a run, the problems that kept it from a verdict, if any, and the texts that it recorded."""

    report: Report
    problems: tuple[Problem, ...]
    recorded: Recorded = NOTHING_RECORDED


def made(
    options: Options,
    effects: Effects,
    options_at: comparison.OptionsAt,
    recorded: Earlier | None = None,
    merged: shards.Shards | None = None,
    begin: Begin = lambda _: None,
) -> Made:
    """Return the report of a run under these options.

    `options_at` gives the settings with the config file of another folder, such as the base commit's.
    `recorded` replaces what is compared with an earlier state, where that is not computed
    again; `merged` has the results, where they are scored already. `begin` is called before the first case is
    scored. Raises CannotJudge if it is unknown whose settings judge.
    """
    with opened(options, effects, options_at) as sides:
        ruling, base = ruling_of(options, effects, sides), None
        if recorded is None and ruling.options.baseline:
            try:
                refuse_itself(ruling.options)
                base = sides.at(ruling.options.baseline, ruling.options)
            except CannotJudge as error:
                _, problems, inputs = _measured(ruling, options, effects, measure.unscored)
                problems = (*problems, *refusals.as_shown(error.problems, options))
                return Made(error_report(problems, ruling.options, effects, inputs), problems)
        begin(ruling.options)
        return _judged(ruling, base, options, effects, sides, recorded, merged)


Begin = Callable[[Options], None]
"""Called with the settings that judge, once settings and baseline are read."""


def scored(
    options: Options, effects: Effects, options_at: comparison.OptionsAt, shard: shards.Shard, begin: Begin
) -> Made | JsonObject:
    """Return the file of one shard of a run under these options, judged by nobody, or the report of problems.

    `begin` is that of `made`. Raises CannotJudge as `made` does.
    """
    with opened(options, effects, options_at) as sides:
        ruling = ruling_of(options, effects, sides)
        begin(ruling.options)
        measured, problems, inputs = _measured(ruling, options, effects, shard.source)
        if problems:
            return Made(error_report(problems, ruling.options, effects, inputs), problems)
        entries = {name: (one.entries, one.cases) for name, one in measured.items() if one}
        return shards.as_json(shard, entries, provenance(inputs, ruling, effects))


_Measured = Mapping[str, measure.Measured | None]
"""What evaluators made of their inputs, None for one without."""


def _measured(
    ruling: Ruling, options: Options, effects: Effects, source: measure.EntrySource
) -> tuple[_Measured, tuple[Problem, ...], tuple[InputFile, ...]]:
    """Measure the cases that the source has; return with it all problems and files of the inputs, read whole.

    `options` are the run's own, whoever's settings judge.
    """
    judging, at, keeps = ruling.options, effects.generated_at, _kept(options)
    measured: dict[str, measure.Measured | None] = dict.fromkeys(EVALUATORS)
    for evaluator in asked.given(judging):
        recipe = ruling.recipes.get(evaluator.name, "")
        one = measure.part(evaluator, judging, at, recipe=recipe, source=source, keeps=keeps)
        measured[evaluator.name] = one
        intake.tell_skipped(one.skipped, evaluator.input.setting.replace("_", "-"), effects.err)
    present = [one for one in measured.values() if one is not None]
    problems = (
        tuple(problem for one in present for problem in one.problems) if present else (refusals.nothing_to_judge(),)
    )
    problems = (*problems, *_unknown_names(ruling, options, measured))
    return measured, problems, tuple(file for one in present for file in one.inputs)


def _unknown_names(ruling: Ruling, options: Options, measured: _Measured) -> Iterator[Problem]:
    """Yield a problem for each group or check that there is not, of the run's own settings and of those that judge.

    Under other settings than its own a change could else bring in a name that keeps every later run from a verdict.
    """
    yield from unknown_names.unknown(options, measured)
    if ruling.base:
        unknown = unknown_names.unknown(ruling.options, measured, root=ruling.root)
        yield from comparison.at_baseline(ruling.base, CannotJudge(*unknown)).problems


def _unmerged(
    merged: shards.Shards, measured: _Measured, unsound: Sequence[Problem], provenance: Provenance
) -> Iterator[Problem]:
    """Yield what keeps shards from being this run's: made by other terms, `unsound`, or of other cases."""
    if wrong := tuple(merged.strangers(provenance)) or unsound:
        yield from wrong
        return
    for name, one in measured.items():
        if one and (missing := one.cases - len(one.entries)):
            cases = plural(missing, f"{EVALUATORS[name].title} case has", f"{EVALUATORS[name].title} cases have")
            yield Problem(Place("shards"), f"{cases} no result in any shard; a file was changed: run its shard again")


def _judged(
    ruling: Ruling,
    base: source.Baseline | None,
    options: Options,
    effects: Effects,
    sides: Sides,
    recorded: Earlier | None,
    merged: shards.Shards | None,
) -> Made:
    """Return the report of a run; `options` are the run's own, whoever's settings judge, `base` is its baseline."""
    judging = ruling.options
    measured, problems, inputs = _measured(ruling, options, effects, merged.source if merged else measure.scored)
    try:
        are_recorded = recorded is not None and recorded.waivers_stand
        known = None if are_recorded else checked.waivers(judging.waivers, root=ruling.root)
    except CannotJudge as error:
        placed = comparison.at_baseline(ruling.base, error) if ruling.base else error
        known, problems = None, (*problems, *placed.problems)
    if merged:
        of_inputs = tuple(problem for problem in problems if problem.place.path not in merged.terms)
        problems = of_inputs or tuple(_unmerged(merged, measured, problems, provenance(inputs, ruling, effects)))
    if problems:
        return Made(error_report(problems, judging, effects, inputs), problems)
    parts = {name: one.part if one else None for name, one in measured.items()}
    left_out = {name: one.left_out for name, one in measured.items() if one and one.left_out}
    try:
        found = Found(parts=parts, waivers=_waivers(known, parts, effects, left_out))
        if recorded is not None:
            waived = recorded.waivers if recorded.waivers_stand else found.waivers
            found = replace(found, waivers=waived, comparison=recorded.comparison, weakened=recorded.weakened)
        else:
            if ruling.base and found.waivers:
                found = replace(found, waivers=_without_dropped(found.waivers, options))
            found = _held_against(found, ruling, base, options, effects, sides)
        texts = _recorded(measured, found.comparison, base, options, sides)
    except CannotJudge as error:
        problems = refusals.as_shown(error.problems, options)
        return Made(error_report(problems, judging, effects, inputs), problems)
    outcomes = gate_rules.judge(found, gate_policy(judging))
    verdict = gate_rules.verdict(outcomes)
    if verdict is Verdict.ERROR:
        problems = (refusals.no_rule(),)
        return Made(error_report(problems, judging, effects, inputs), problems)
    follows_from = provenance(inputs, ruling, effects)
    if left_out:
        follows_from = replace(follows_from, left_out={name: len(ids) for name, ids in left_out.items()})
    report = report_of(verdict, outcomes, found, follows_from, effects)
    return Made(differences.with_digests(report), (), texts)


def _kept(options: Options) -> measure.Keeps:
    """Return what is kept: the page shows the texts of all cases, the comment a line of those that fail."""
    columns = formats.show_columns(options.reports)
    if options.text != "full":
        return measure.Keeps("", columns)
    return measure.Keeps("all" if formats.show_texts(options.reports) else "failing", columns)


def _recorded(
    measured: _Measured,
    found: Comparison | None,
    base: source.Baseline | None,
    options: Options,
    sides: Sides,
) -> Recorded:
    """Return the texts that a run recorded, and those of its baseline, if the run's own options show them."""
    kept = _kept(options).texts
    columns = {name: one.columns for name, one in measured.items() if one}
    if not kept:
        return Recorded(columns=columns)
    now = {name: one.texts for name, one in measured.items() if one}
    if base is None or found is None or kept != "all":
        return Recorded(now, columns=columns)
    texts = comparison.texts_before(base, found, options, sides.settings_at)
    return Recorded(now, lambda evaluator, case_id: texts.get(comparison.texts_key(evaluator, case_id)), columns)


def _without_dropped(known: Waivers, options: Options) -> Waivers:
    """Return the base commit's waivers; of those that have expired or are unused without those that the change drops.

    Otherwise no change could remove them. Raises CannotJudge for the change's own.
    """
    own = {*map(waivers.Waivable.of, terms.waivers_at(options))}

    def kept(some: Iterable[Waiver]) -> tuple[Waiver, ...]:
        return tuple(one for one in some if waivers.Waivable.of(one) in own)

    return replace(known, expired=kept(known.expired), unused=kept(known.unused))


def with_waivers(parts: Parts, options: Options, effects: Effects, *, root: Path) -> Found:
    """Return evaluators' parts with what became of the waivers below a folder. Raises CannotJudge."""
    return Found(parts=parts, waivers=_waivers(checked.waivers(options.waivers, root=root), parts, effects))


def _waivers(
    known: tuple[InputFile, JsonObject] | None,
    parts: Parts,
    effects: Effects,
    left_out: Mapping[str, Store] = MappingProxyType({}),
) -> Waivers | None:
    """Return the states of the waivers, except those of cases that a filter leaves out."""
    if known is None:
        return None
    file, content = known
    every = map(Waiver.from_json, content["waivers"])
    judged = [one for one in every if not any(ids.get(one.case_id) for ids in left_out.values())]
    return Waivers(file.path, file.sha256, *waivers.sorted_out(judged, parts, effects.generated_at[:10]))


def _held_against(
    found: Found,
    ruling: Ruling,
    base: source.Baseline | None,
    options: Options,
    effects: Effects,
    sides: Sides,
) -> Found:
    """Add to what a run found how it compares with a baseline, and where the gate is weaker."""
    judging = ruling.options
    is_compared = bool(judging.baseline)
    if is_compared:
        side = comparison.side(found.parts, judging, root=ruling.root)
        waived = waivers.let_pass(found)
        compared = comparison.against(
            base, side, judging, sides.settings_at, effects.generated_at, root=ruling.root, waived=waived
        )
        if source.is_replaced(judging):
            compared = replace(compared, replaces_baseline=True)
        found = replace(found, comparison=compared)
    has_base = base or ruling.base or (is_compared and effects.context.subject.base_sha)
    if has_base or ruling.breaks_on_weakened(options):
        found = replace(found, weakened=weakened(base, ruling, options, effects, sides))
    return found
