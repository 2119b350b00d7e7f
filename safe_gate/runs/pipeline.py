"""One run, from its inputs to its report: read, scored, compared with the baseline, and judged.

Effects arrive as arguments; nothing is shown or written here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from safe_gate import addons
from safe_gate.baseline import comparison, source
from safe_gate.core.comparison import Comparison
from safe_gate.core.figures import plural
from safe_gate.core.model import (
    NOTHING_RECORDED,
    CannotJudge,
    Code,
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
from safe_gate.gate import differences, waivers
from safe_gate.gate import rules as gate_rules
from safe_gate.gate.comparison import Guards
from safe_gate.github.effects import Effects
from safe_gate.inputs.disk import HERE
from safe_gate.inputs.spool import Store
from safe_gate.render import formats
from safe_gate.runs.policy import Ruling, gate_policy, refuse_itself, ruling_of
from safe_gate.runs.report import error_report, provenance, report_of
from safe_gate.runs.sides import Sides, opened
from safe_gate.runs.terms import weakened
from safe_gate.scoring import asked, facts, intake, measure, refusals, tally, unknown_names
from safe_gate.scoring.facts import Facts
from safe_gate.scoring.snapshot import Snapshot
from safe_gate.scoring.tally import Keeps
from safe_gate.settings.model import Settings


class Made(NamedTuple):
    """The report of a run, the problems that kept it from a verdict, and its recorded texts."""

    report: Report
    problems: tuple[Problem, ...]
    recorded: Recorded = NOTHING_RECORDED


def made(
    options: Settings,
    effects: Effects,
    options_at: comparison.OptionsAt,
    recorded: Earlier | None = None,
    merged: addons.scale.Shards | None = None,
    begin: Begin = lambda _: None,
) -> Made:
    """Return the report of a run under these options.

    `options_at` gives the settings with the config file of another folder, such as the base commit's. `recorded`
    replaces a comparison with an earlier state that is not computed again. `merged` has results that are already
    scored. `begin` is called before the first case is scored. Raises CannotJudge if it is unknown whose settings
    judge.
    """
    with opened(options, effects, options_at) as sides:
        ruling, base = ruling_of(effects, sides), None
        if recorded is None and ruling.options.baseline:
            judging = ruling.options
            try:
                refuse_itself(judging.baseline)
                patterns = source.patterns_of(judging)
                base = sides.at(judging.baseline, patterns, is_required=judging.baseline_required)
            except CannotJudge as error:
                _, problems, inputs = _measured(ruling, sides, effects, tally.unscored)
                problems = (*problems, *refusals.as_shown(error.problems, options.text))
                return Made(error_report(problems, ruling.options, effects, inputs), problems)
        begin(ruling.options)
        return _judged(ruling, base, effects, sides, recorded, merged)


Begin = Callable[[Settings], None]
"""Called with the settings that judge, once settings and baseline are read."""


def scored(
    options: Settings,
    effects: Effects,
    options_at: comparison.OptionsAt,
    shard: addons.scale.Shard,
    begin: Begin,
) -> Made | addons.scale.Content:
    """Return the file of one shard of a run under these options, judged by nobody, or the report of problems.

    `begin` is as in `made`. Raises CannotJudge as `made` does.
    """
    with opened(options, effects, options_at) as sides:
        ruling = ruling_of(effects, sides)
        begin(ruling.options)
        measured, problems, inputs = _measured(ruling, sides, effects, shard.source)
        if problems:
            return Made(error_report(problems, ruling.options, effects, inputs), problems)
        present = {name: one for name, one in measured.items() if one}
        return addons.scale.Content(
            shard,
            {name: one.cases for name, one in present.items()},
            {name: one.entries for name, one in present.items()},
            provenance(inputs, ruling, effects),
        )


_Measured = Mapping[str, measure.Measured | None]
"""What evaluators made of their inputs, None for one without."""


def _measured(
    ruling: Ruling, sides: Sides, effects: Effects, source: tally.EntrySource, *, keeps_facts: bool = False
) -> tuple[_Measured, tuple[Problem, ...], tuple[InputFile, ...]]:
    """Measure the cases that the source has; return with it all problems and files of the inputs, read whole.

    With `keeps_facts`, what is asked of the cases is kept.
    """
    side, at, run = ruling.side, effects.generated_at, sides.snapshot(HERE)
    keeps = _kept(run.options.reports, run.options.text)._replace(facts=keeps_facts)
    measured: dict[str, measure.Measured | None] = dict.fromkeys(EVALUATORS)
    commit = ruling.base.commit[:7] if ruling.base else ""
    for evaluator in asked.given(side.options):
        one = measure.part(
            evaluator,
            side.options,
            at,
            own=side.rules,
            recipe=ruling.recipes.get(evaluator.name, ""),
            source=source,
            keeps=keeps,
            rules_of=commit,
        )
        measured[evaluator.name] = one
        intake.report_skipped(one.skipped, evaluator.input.setting.replace("_", "-"), effects.err)
    present = [one for one in measured.values() if one is not None]
    problems = tuple(problem for one in present for problem in one.problems)
    if not present:
        problems = (refusals.nothing_to_judge(merges=bool(side.options.shards)),)
    problems = (*problems, *_unknown_names(ruling, run, measured))
    return measured, problems, tuple(file for one in present for file in one.inputs)


def _unknown_names(ruling: Ruling, run: Snapshot, measured: _Measured) -> Iterator[Problem]:
    """Yield a problem for each unknown group or check in the run's own settings and in those that judge.

    Otherwise a change judged by other settings could add a name that leaves every later run without a verdict.
    """
    yield from unknown_names.unknown(run, measured)
    if ruling.base:
        unknown = unknown_names.unknown(ruling.side, measured)
        yield from comparison.at_baseline(ruling.base, CannotJudge(*unknown)).problems


def _unmerged(
    merged: addons.scale.Shards, measured: _Measured, unsound: Sequence[Problem], provenance: Provenance
) -> Iterator[Problem]:
    """Yield what keeps shards from being this run's: made by other terms, `unsound`, or of other cases."""
    if wrong := tuple(merged.strangers(provenance)) or unsound:
        yield from wrong
        return
    for name, one in measured.items():
        if one and (missing := one.cases - len(one.entries)):
            cases = plural(missing, f"{EVALUATORS[name].title} case has", f"{EVALUATORS[name].title} cases have")
            yield Problem(
                Place("shards"),
                f"{cases} no result in any shard; a file was changed: run its shard again",
                code=Code.MISSING_OUTPUT,
            )


def _judged(
    ruling: Ruling,
    base: source.Baseline | None,
    effects: Effects,
    sides: Sides,
    recorded: Earlier | None,
    merged: addons.scale.Shards | None,
) -> Made:
    """Return the report of a run; `base` is its baseline."""
    judging, run = ruling.options, sides.snapshot(HERE)
    is_weakening_sought = recorded is None and _seeks_weakening(base, ruling, run.options.on_weakened, effects)
    measured, problems, inputs = _measured(
        ruling, sides, effects, merged.source if merged else tally.scored, keeps_facts=is_weakening_sought
    )
    try:
        are_recorded = recorded is not None and recorded.waivers_stand
        known = None if are_recorded else ruling.side.waivers.sound()
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
    past = None
    try:
        found = Found(parts=parts, waivers=_waivers(known, parts, effects, left_out))
        if recorded is not None:
            waived = recorded.waivers if recorded.waivers_stand else found.waivers
            found = replace(found, waivers=waived, comparison=recorded.comparison, weakened=recorded.weakened)
        else:
            if ruling.base and found.waivers:
                found = replace(found, waivers=_without_dropped(found.waivers, run))
            if judging.baseline:
                found, past = _compared(found, measured, ruling, base, effects, sides)
            if is_weakening_sought:
                cases = _own_cases(measured, inputs, ruling, sides.narrowed(HERE))
                found = replace(found, weakened=weakened(base, past, cases, ruling, effects, sides))
    except CannotJudge as error:
        problems = refusals.as_shown(error.problems, run.options.text)
        return Made(error_report(problems, judging, effects, inputs), problems)
    texts = _recorded(measured, found.comparison, past, _kept(run.options.reports, run.options.text).texts)
    outcomes = gate_rules.judge(found, gate_policy(judging))
    verdict = gate_rules.verdict(outcomes)
    if verdict is Verdict.ERROR:
        problems = (refusals.no_rule(),)
        return Made(error_report(problems, judging, effects, inputs), problems)
    follows_from = replace(provenance(inputs, ruling, effects), base=sides.base)
    if left_out:
        follows_from = replace(follows_from, left_out={name: len(ids) for name, ids in left_out.items()})
    report = report_of(verdict, outcomes, found, follows_from, effects)
    return Made(differences.with_digests(report), (), texts)


def _kept(reports: Sequence[str], text: str) -> Keeps:
    """Return what is kept: the page shows the texts of all cases, the comment a line of those that fail."""
    columns = formats.show_columns(reports)
    if text != "full":
        return Keeps("", columns)
    return Keeps("all" if formats.show_texts(reports) else "failing", columns)


def _recorded(measured: _Measured, found: Comparison | None, past: comparison.Past | None, kept: str) -> Recorded:
    """Return the recorded texts of a run and of its baseline, if they are `kept` (`Keeps.texts`)."""
    columns = {name: one.columns for name, one in measured.items() if one}
    if not kept:
        return Recorded(columns=columns)
    now = {name: one.texts for name, one in measured.items() if one}
    if past is None or found is None or kept != "all":
        return Recorded(now, columns=columns)
    texts = comparison.texts_before(past, found)
    return Recorded(now, lambda evaluator, case_id: texts.get(comparison.texts_key(evaluator, case_id)), columns)


def _without_dropped(known: Waivers, run: Snapshot) -> Waivers:
    """Return the base commit's waivers, less the expired or unused ones that the change removes.

    Otherwise no change could remove them. Raises CannotJudge for the change's own.
    """
    own = {*map(waivers.Waivable.of, run.waivers_there())}

    def kept(some: Iterable[Waiver]) -> tuple[Waiver, ...]:
        return tuple(one for one in some if waivers.Waivable.of(one) in own)

    return replace(known, expired=kept(known.expired), unused=kept(known.unused))


def with_waivers(parts: Parts, side: Snapshot, effects: Effects) -> Found:
    """Return evaluators' parts with what became of the waivers of their side. Raises CannotJudge."""
    return Found(parts=parts, waivers=_waivers(side.waivers.sound(), parts, effects))


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
    judged = [one for one in Waiver.listed(content) if not any(ids.get(one.case_id) for ids in left_out.values())]
    return Waivers(file.path, file.sha256, *waivers.sorted_out(judged, parts, effects.generated_at[:10]))


def _compared(
    found: Found,
    measured: _Measured,
    ruling: Ruling,
    base: source.Baseline | None,
    effects: Effects,
    sides: Sides,
) -> tuple[Found, comparison.Past | None]:
    """Add the comparison with the baseline to a run's result. Return it with what was read of the baseline."""
    judging, at, past = ruling.options, effects.generated_at, None
    side = comparison.side(found.parts, ruling.side)
    if base is not None:
        run = sides.snapshot(HERE).options
        texts = _kept(run.reports, run.text).texts == "all"
        past = comparison.past(base, sides.side_of, side, ruling.side, at, texts=texts)
        comparison.refuse_skipped(base, past, (path for one in measured.values() if one for path in one.skipped))
    named, guards = comparison.named(base, judging.baseline, at), Guards.of(judging.values())
    compared = comparison.against(named, past, side, guards, judging.cluster_key, waived=waivers.let_pass(found))
    return replace(found, comparison=compared), past


def _seeks_weakening(base: source.Baseline | None, ruling: Ruling, on_weakened: str, effects: Effects) -> bool:
    """Return whether a run is to find where the gate is weaker than before."""
    has_base = base or ruling.base or (ruling.options.baseline and effects.context.subject.base_sha)
    return bool(has_base) or ruling.breaks_on_weakened(on_weakened)


def _own_cases(measured: _Measured, inputs: Sequence[InputFile], ruling: Ruling, run: Snapshot) -> Mapping[str, Facts]:
    """Return what is asked of a run's own cases, by its own settings, whoever's settings judge.

    Cases that those settings read otherwise are read again. Raises CannotJudge for a file that was changed meanwhile.
    """
    if ruling.side.reads_alike(run):
        return comparison.facts_of({name: one for name, one in measured.items() if one})
    found: dict[str, Facts] = {}
    before = {file.path: file for file in inputs}
    for evaluator in asked.given(run.options):
        found[evaluator.name], files = facts.read(evaluator, run)
        if changed := [file.path for file in files if before.get(file.path, file) != file]:
            words = "was changed while it was read; run again"
            raise CannotJudge(*(Problem(Place(path), words, code=Code.UNREADABLE_FILE) for path in changed))
    return found
