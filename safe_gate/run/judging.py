"""One run, from its inputs to its report: read, scored, compared with the baseline, and judged.

Effects arrive as arguments; nothing is shown or written here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from safe_gate import __version__
from safe_gate.baseline import comparison, source, terms
from safe_gate.core.figures import plural
from safe_gate.core.given import Documents
from safe_gate.core.model import (
    NOTHING_RECORDED,
    CannotJudge,
    JsonObject,
    Place,
    Problem,
    Recorded,
    RuleOutcome,
    Verdict,
    first_of,
    number,
)
from safe_gate.evaluators import EVALUATORS
from safe_gate.gate import limits, waivers
from safe_gate.gate import rules as gate_rules
from safe_gate.gate.weakening import Weakening, What
from safe_gate.inputs import checked, disk, matching, named
from safe_gate.inputs import rules as own_rules
from safe_gate.inputs.trees import Pattern
from safe_gate.proof import differences
from safe_gate.publish.effects import Effects
from safe_gate.render import formats
from safe_gate.scoring import measure, shards
from safe_gate.settings.options import Options, config_paths

SCHEMA_VERSION = 1


class Made(NamedTuple):
    """The report of a run, the problems that kept it from a verdict, if any, and the texts that it recorded."""

    report: dict[str, Any]
    problems: tuple[Problem, ...]
    recorded: Recorded = NOTHING_RECORDED


def made(
    options: Options,
    effects: Effects,
    options_at: comparison.OptionsAt,
    recorded: JsonObject | None = None,
    merged: shards.Shards | None = None,
    begin: Begin = lambda _: None,
) -> Made:
    """Return the report of a run under these options.

    `options_at` gives the settings with the config file of another folder, such as the base commit's.
    `recorded` replaces what is compared with an earlier state, where that is not computed
    again; `merged` has the results, where they are scored already. `begin` is called before the first case is
    scored. Raises CannotJudge if it is unknown whose settings judge.
    """
    settings_at = with_todays(options, options_at)
    with _ruling(options, effects, settings_at) as ruling, ExitStack() as held:
        base = None
        if recorded is None and ruling.options.baseline:
            try:
                base = held.enter_context(_compared(ruling.options, effects, settings_at))
            except CannotJudge as error:
                _, problems, inputs = _measured(ruling, options, effects, _unscored)
                problems = (*problems, *measure.as_shown(error.problems, options))
                return Made(error_report(problems, ruling.options, effects, inputs), problems)
        begin(ruling.options)
        return _judged(ruling, base, options, effects, settings_at, recorded, merged)


Begin = Callable[[Options], None]
"""Called with the settings that judge, once settings and baseline are read."""


def _unscored(_evaluator: str, _case_id: str, _score: Callable[[], JsonObject], _recount: measure.Recount) -> None:
    """Score no case: a `measure.EntrySource` that leaves what is wrong with the inputs."""


def scored(
    options: Options, effects: Effects, options_at: comparison.OptionsAt, shard: shards.Shard, begin: Begin
) -> Made:
    """Return the file of one shard of a run under these options, judged by nobody, or the report of problems.

    `begin` is that of `made`. Raises CannotJudge as `made` does.
    """
    with _ruling(options, effects, with_todays(options, options_at)) as ruling:
        begin(ruling.options)
        measured, problems, inputs = _measured(ruling, options, effects, shard.source)
        if problems:
            return Made(error_report(problems, ruling.options, effects, inputs), problems)
        entries = {name: (one.entries, one.cases) for name, one in measured.items() if one}
        return Made(shards.as_json(shard, entries, _provenance(inputs, ruling, effects, is_judged=True)), ())


def gate_policy(options: Options) -> gate_rules.Policy:
    """Return the limits of the gate's rules under these options."""
    settings = {name: measure.groups_limited(one, options) for name, one in EVALUATORS.items()}
    general = limits.by_rule({one.name: getattr(options, one.name) for one in fields(options)})
    own_limits = {
        evaluator: {
            group: {rule: limit for rule, limit in own.items() if rule not in ("weights", "thresholds", "optional")}
            for group, own in by_group.items()
        }
        for evaluator, by_group in settings.items()
    }
    return gate_rules.Policy(
        limits={name: general.get(name) for name in gate_rules.LIMITS},
        min_group=options.min_group,
        groups={name: {group: own for group, own in by_group.items() if own} for name, by_group in own_limits.items()},
        guards=comparison.guards(options),
    )


_OF_THE_RUN = ("report_dir", "gate_id", "text", "engine")
"""Settings that judge nothing: who scores cases and how they are shown. The run's own always count."""

_OF_INPUTS = tuple(setting for evaluator in EVALUATORS.values() for setting in evaluator.input.settings)
"""Settings that name cases: those of the run where a folder's settings name none, as before a first config file."""


def with_todays(options: Options, options_at: comparison.OptionsAt) -> comparison.OptionsAt:
    """Return how settings are read below a folder: what judges nothing is the run's, and inputs if it names none."""

    def settings_at(root: Path) -> Options:
        own = options_at(root)
        names = _OF_THE_RUN if measure.given(own) else (*_OF_THE_RUN, *_OF_INPUTS)
        return replace(own, **{name: getattr(options, name) for name in names})

    return settings_at


@contextmanager
def baseline(
    spec: str, options: Options, effects: Effects, options_at: comparison.OptionsAt
) -> Iterator[source.Baseline | None]:
    """Give a baseline with the files that the run reads, and with those that its own config file names there."""
    patterns = source.patterns_of(options)
    with ExitStack() as stack:
        base = stack.enter_context(_opened(spec, patterns, options, effects))
        own: tuple[Pattern, ...] = ()
        if base is not None and base.report is None:
            with suppress(CannotJudge):  # what is wrong with its settings is said where they are used
                own = source.patterns_of(options_at(base.root))
        if base is not None and not set(own) <= set(patterns):
            first, base = base.commit, stack.enter_context(_opened(spec, (*patterns, *own), options, effects))
            if base is None or base.commit != first:  # its config may name other files than were asked for
                raise CannotJudge(Problem(Place(spec), "moved to another commit while it was read; run again"))
        yield base


def _opened(
    spec: str, patterns: Sequence[Pattern], options: Options, effects: Effects
) -> AbstractContextManager[source.Baseline | None]:
    """Give a baseline with the files that patterns name, as `baselines.opened` does."""
    connect = partial(effects.connect, effects.context.api_url, options, effects.out, "fetch_timeout")
    return source.opened(spec, patterns, effects.context, connect, options, folder=effects.folder)


@dataclass(frozen=True, slots=True)
class _Ruling:
    """By whose settings a run is judged: its own, or those of the base commit.

    `recipes` are those of what evaluators score by, empty for the run's own, which are read with the cases. `base` is
    None for the run's own.
    """

    options: Options
    recipes: Mapping[str, str] = field(default_factory=dict)
    base: source.Baseline | None = None

    @property
    def root(self) -> Path:
        """The folder that the settings' rule packs and waivers lie below."""
        return self.base.root if self.base else disk.HERE

    def breaks_on_weakened(self, own: Options) -> bool:
        """Tell whether a weaker gate breaks the run, by the settings that judge or by the run's own."""
        return "fail" in (self.options.on_weakened, own.on_weakened)


_HEAD_HERE = "head here"
_WARN_HERE = "warn here, or name a commit as the baseline"
_NO_BASE = "is base, but this event has no base commit; set head for other events than pull requests and pushes"


def _refuse_unknown_base(setting: str, instead: str, effects: Effects) -> None:
    if unknown := source.unknown_base(effects.context):
        raise CannotJudge(Problem(Place(setting), f"asks for the base commit {unknown}; set {instead}"))


@contextmanager
def _base_commit(
    setting: str, instead: str, options: Options, effects: Effects, options_at: comparison.OptionsAt
) -> Iterator[source.Baseline | None]:
    """Give the event's base commit, which a setting asks for. Raises CannotJudge where there can be none."""
    _refuse_unknown_base(setting, instead, effects)
    with baseline("base", options, effects, options_at) as base:
        yield base


@contextmanager
def _ruling(options: Options, effects: Effects, options_at: comparison.OptionsAt) -> Iterator[_Ruling]:
    """Give the settings that judge, as long as they can be read. Raises CannotJudge."""
    if options.policy_ref == "head":
        yield _Ruling(options)
        return
    with _base_commit("policy-ref", _HEAD_HERE, options, effects, options_at) as base:
        if base is None:
            raise CannotJudge(Problem(Place("policy-ref"), _NO_BASE))
        try:
            own = options_at(base.root)
            settings = measure.settings(own)
            given = measure.given(own)
            recipes = {one.name: own_rules.recipe(one, settings, root=base.root) for one in given}
            for name, recipe in recipes.items():
                own_rules.made(name, recipe)
        except CannotJudge as error:
            raise comparison.at_baseline(base, error) from None
        yield _Ruling(own, recipes, base)


_Measured = Mapping[str, measure.Measured | None]
"""What evaluators made of their inputs, None for one without."""


def _measured(
    ruling: _Ruling, options: Options, effects: Effects, source: measure.EntrySource
) -> tuple[_Measured, tuple[Problem, ...], tuple[disk.InputFile, ...]]:
    """Measure the cases that the source has; return with it all problems and files of the inputs, read whole.

    `options` are the run's own, whoever's settings judge.
    """
    judging, at, keeps = ruling.options, effects.generated_at, _kept(options)
    measured: dict[str, measure.Measured | None] = dict.fromkeys(EVALUATORS)
    for evaluator in measure.given(judging):
        recipe = ruling.recipes.get(evaluator.name, "")
        one = measure.part(evaluator, judging, at, recipe=recipe, source=source, keeps=keeps)
        measured[evaluator.name] = one
        measure.tell_skipped(one.skipped, evaluator.input.setting.replace("_", "-"), effects.err)
    present = [one for one in measured.values() if one is not None]
    problems = (
        tuple(problem for one in present for problem in one.problems) if present else (measure.nothing_to_judge(),)
    )
    problems = problems or tuple(_unknown_names(ruling, options, measured))
    return measured, problems, tuple(file for one in present for file in one.inputs)


def _unknown_names(ruling: _Ruling, options: Options, measured: _Measured) -> Iterator[Problem]:
    """Yield a problem for each group or check that there is not, of the run's own settings and of those that judge.

    Under other settings than its own a change could else bring in a name that keeps every later run from a verdict.
    """
    yield from measure.unknown_groups(options, measured)
    yield from measure.misnamed(options, measured)
    if ruling.base:
        own = ruling.options, measured
        unknown = (*measure.unknown_groups(*own, root=ruling.root), *measure.misnamed(*own, root=ruling.root))
        yield from comparison.at_baseline(ruling.base, CannotJudge(*unknown)).problems


def _unmerged(
    merged: shards.Shards, measured: _Measured, unsound: Sequence[Problem], provenance: JsonObject
) -> Iterator[Problem]:
    """Yield what keeps shards from being this run's: made by other terms, `unsound`, or of other cases."""
    if wrong := tuple(merged.strangers(provenance)) or unsound:
        yield from wrong
        return
    for name, one in measured.items():
        if one and (missing := one.cases - len(one.entries)):
            cases = plural(missing, f"{EVALUATORS[name].title} case has", f"{EVALUATORS[name].title} cases have")
            yield Problem(Place("shards"), f"{cases} no result in any shard; a file was changed: run its shard again")


def _compared(
    options: Options, effects: Effects, options_at: comparison.OptionsAt
) -> AbstractContextManager[source.Baseline | None]:
    """Give the baseline that settings name for a run."""
    refuse_itself(options)
    return baseline(options.baseline, options, effects, options_at)


def _judged(
    ruling: _Ruling,
    base: source.Baseline | None,
    options: Options,
    effects: Effects,
    options_at: comparison.OptionsAt,
    recorded: JsonObject | None,
    merged: shards.Shards | None,
) -> Made:
    """Return the report of a run; `options` are the run's own, whoever's settings judge, `base` is its baseline."""
    judging = ruling.options
    measured, problems, inputs = _measured(ruling, options, effects, merged.source if merged else measure.scored)
    try:
        are_recorded = recorded is not None and "waivers" in recorded
        known = None if are_recorded else checked.waivers(judging.waivers, root=ruling.root)
    except CannotJudge as error:
        placed = comparison.at_baseline(ruling.base, error) if ruling.base else error
        known, problems = None, (*problems, *placed.problems)
    if merged:
        of_inputs = tuple(problem for problem in problems if problem.place.path not in merged.terms)
        problems = of_inputs or tuple(
            _unmerged(merged, measured, problems, _provenance(inputs, ruling, effects, is_judged=True))
        )
    if problems:
        return Made(error_report(problems, judging, effects, inputs), problems)
    parts: dict[str, Any] = {name: one.part if one else None for name, one in measured.items()}
    parts |= _waivers_part(known, parts, effects)
    try:
        if ruling.base and known:
            parts["waivers"] |= _without_dropped(parts["waivers"], options)
        parts |= _held_against(parts, ruling, base, options, effects, options_at) if recorded is None else recorded
        texts = _recorded(measured, parts, base, options, options_at)
    except CannotJudge as error:
        problems = measure.as_shown(error.problems, options)
        return Made(error_report(problems, judging, effects, inputs), problems)
    outcomes = gate_rules.judge(parts, gate_policy(judging))
    report = _report(gate_rules.verdict(outcomes), outcomes, parts, inputs, ruling, effects)
    return Made(differences.with_digests(report), (), texts)


def _kept(options: Options) -> measure.Keeps:
    """Return of which cases the texts are kept: the page shows all, the comment a line of those that fail."""
    if options.text != "full":
        return ""
    return "all" if formats.show_texts(options.reports) else "failing"


def _recorded(
    measured: _Measured,
    parts: comparison.Parts,
    base: source.Baseline | None,
    options: Options,
    options_at: comparison.OptionsAt,
) -> Recorded:
    """Return the texts that a run recorded, and those of its baseline, if the run's own options show them."""
    if not _kept(options):
        return NOTHING_RECORDED
    now = {name: one.texts for name, one in measured.items() if one}
    found = parts.get("comparison")
    if base is None or found is None or _kept(options) != "all":
        return Recorded(now)
    texts = comparison.texts_before(base, found, options, options_at)
    return Recorded(now, lambda evaluator, case_id: texts.get(comparison.texts_key(evaluator, case_id)))


def _without_dropped(known: JsonObject, options: Options) -> dict[str, Any]:
    """Return which of the base commit's waivers have expired or are unused, less those that the change drops.

    Else no change could be rid of them. Raises CannotJudge for the change's own.
    """
    own = {*map(waivers.Waivable.of, terms.waivers_at(options))}
    return {fate: [one for one in known[fate] if waivers.Waivable.of(one) in own] for fate in ("expired", "unused")}


def with_waivers(parts: comparison.Parts, options: Options, effects: Effects, *, root: Path) -> dict[str, Any]:
    """Return evaluators' parts with what became of the waivers below a folder. Raises CannotJudge."""
    return {**parts, **_waivers_part(checked.waivers(options.waivers, root=root), parts, effects)}


def _waivers_part(
    known: tuple[disk.InputFile, JsonObject] | None, parts: comparison.Parts, effects: Effects
) -> dict[str, Any]:
    if known is None:
        return {"waivers": None}
    file, content = known
    fates = waivers.sorted_out(content["waivers"], parts, effects.generated_at[:10])
    return {"waivers": {"path": file.path, "sha256": file.sha256, **fates}}


def _held_against(
    parts: comparison.Parts,
    ruling: _Ruling,
    base: source.Baseline | None,
    options: Options,
    effects: Effects,
    options_at: comparison.OptionsAt,
) -> dict[str, Any]:
    """Return what of the report is about an earlier state: the comparison with a baseline, and the weakened gate."""
    judging, found = ruling.options, dict[str, Any]()
    is_compared = bool(judging.baseline)
    if is_compared:
        side = comparison.side(parts, judging, root=ruling.root)
        waived = waivers.let_pass(parts)
        found["comparison"] = comparison.against(
            base, side, judging, options_at, effects.generated_at, root=ruling.root, waived=waived
        )
        if source.is_replaced(judging):
            found["comparison"]["replaces_baseline"] = True
    has_base = base or ruling.base or (is_compared and effects.context.subject.base_sha)
    if has_base or ruling.breaks_on_weakened(options):
        found["weakened"] = _weakened(base, ruling, options, effects, options_at)
    return found


def refuse_itself(options: Options) -> None:
    """Raise CannotJudge for a baseline that is what a run is about."""
    if options.baseline == ".":
        words = "is the working folder, which the run itself is about; name a commit or an earlier report"
        raise CannotJudge(Problem(Place("baseline"), words))


def refuse_base_elsewhere(options: Options, effects: Effects) -> None:
    """Raise CannotJudge for a setting that needs the base commit of an event where none is known."""
    if options.policy_ref == "base":
        _refuse_unknown_base("policy-ref", _HEAD_HERE, effects)
        if not effects.context.subject.base_sha:
            raise CannotJudge(Problem(Place("policy-ref"), _NO_BASE))
    elif options.on_weakened == "fail" and not (options.shard or source.names_commit(options.baseline)):
        _refuse_unknown_base("on-weakened", _WARN_HERE, effects)


def _weakened(
    compared: source.Baseline | None,
    ruling: _Ruling,
    options: Options,
    effects: Effects,
    options_at: comparison.OptionsAt,
) -> dict[str, Any]:
    """Return where the gate is weaker than on the base commit or, if only a report is available, than in the report.

    What cannot be read is an error where a weaker gate breaks the run, else it is not known.
    """
    head, is_needed = terms.at(options), ruling.breaks_on_weakened(options)
    left_out = tuple(_left_out(ruling, options))
    for choice in _bases(compared, ruling, options, effects, options_at):
        try:
            with choice as base:
                return terms.held_against(base, head, options, options_at, effects.generated_at, left_out=left_out)
        except CannotJudge:
            if is_needed or _is_needed_by_base(options, effects, options_at):
                raise
    return terms.held_against(None, head, options, options_at, effects.generated_at)


def _left_out(ruling: _Ruling, options: Options) -> Iterator[Weakening]:
    """Yield what the base commit's settings had judged and the change's own name no more: other cases may come instead.

    What they add is judged once it is merged, as a new limit is. Other patterns for the same files leave out none.
    """
    for name in _OF_INPUTS if ruling.base else ():
        judged, own = (_listed(getattr(one, name)) for one in (ruling.options, options))
        gone = [one for one in judged if one not in own]
        if gone and _files_of(name, ruling.options) - _files_of(name, options):
            new = [one for one in own if one not in judged]
            what = What.CHANGED if new else What.DROPPED
            yield Weakening("setting", name.replace("_", "-"), "", what, gone, new)


def _files_of(name: str, options: Options) -> set[Path]:
    """Return where the files lie that a setting of inputs names, the folder of batches those of all batches."""
    for one in EVALUATORS.values():
        if name == one.input.setting or (isinstance(one.input, Documents) and name == one.input.folder):
            outputs = getattr(options, one.input.outputs) if isinstance(one.input, Documents) else ()
            return set(map(disk.location, named.expanded(one, options, outputs=outputs).paths))
    paths, _ = matching.expand(getattr(options, name))
    return set(map(disk.location, paths))


def _listed(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else (value,)


def _is_needed_by_base(options: Options, effects: Effects, options_at: comparison.OptionsAt) -> bool:
    """Tell whether the base commit's config lets a weaker gate break the run; no other file of it is read."""
    if effects.context.subject.base_sha:
        config = [*map(Pattern, config_paths(options))]
        with suppress(CannotJudge), _opened("base", config, options, effects) as base:
            return base is not None and options_at(base.root).on_weakened == "fail"
    return False


def _bases(
    compared: source.Baseline | None,
    ruling: _Ruling,
    options: Options,
    effects: Effects,
    options_at: comparison.OptionsAt,
) -> Iterator[AbstractContextManager[source.Baseline | None]]:
    """Yield what to hold a run's terms against, the best first.

    That is the event's base commit if it has one: what to compare outputs with may be named by a config file
    that came with the change.
    """
    is_needed, has_base = ruling.breaks_on_weakened(options), bool(effects.context.subject.base_sha)
    is_commit = compared is not None and compared.report is None
    if ruling.base:
        yield nullcontext(ruling.base)
    elif is_commit and (ruling.options.baseline == "base" or not has_base):
        yield nullcontext(compared)
    else:
        if is_needed or has_base:
            yield _base_commit("on-weakened", _WARN_HERE, options, effects, options_at)
        yield nullcontext(compared)


def _report(
    verdict: Verdict,
    outcomes: Sequence[RuleOutcome],
    parts: Mapping[str, Any],
    inputs: Sequence[disk.InputFile],
    ruling: _Ruling,
    effects: Effects,
) -> dict[str, Any]:
    """Return the whole report in the shape of `schemas/report.schema.json`, but for its digests."""
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "safe-gate", "version": __version__},
        "generated_at": effects.generated_at,
        "verdict": verdict.value,
        "rules": [outcome.as_json() for outcome in outcomes],
        **{name: parts.get(name) for name in (*EVALUATORS, "waivers")},
        **{name: parts[name] for name in ("comparison", "weakened") if name in parts},
        "provenance": _provenance(inputs, ruling, effects, is_judged=verdict is not Verdict.ERROR),
    }


def _provenance(
    inputs: Sequence[disk.InputFile], ruling: _Ruling, effects: Effects, *, is_judged: bool
) -> dict[str, Any]:
    """Return what a run follows from; rule packs, which may be what keeps it from a verdict, if it `is_judged`."""
    options = ruling.options
    return {
        "commit": effects.context.head_sha,
        "inputs": [asdict(file) for file in sorted(inputs, key=lambda file: file.path)],
        "packs_sha256": measure.rules_digest(options, root=ruling.root) if is_judged else "",
        "policy": {**gate_policy(options).as_json(), **measure.settings(options)},
        **({"policy_commit": ruling.base.commit} if ruling.base else {}),
    }


def error_report(
    problems: Sequence[Problem], options: Options, effects: Effects, inputs: Sequence[disk.InputFile] = ()
) -> dict[str, Any]:
    """Return the report of a run without a verdict: no scores, every problem."""
    report = _report(Verdict.ERROR, (), {}, inputs, _Ruling(options), effects)
    report["problems"] = [
        {"path": p.place.path, "line": p.place.line, "id": p.case_id, "field": p.field, "message": p.message}
        for p in first_of(problems)
    ]
    if (total := number(problems)) > len(report["problems"]):
        report["problem_count"] = total
    return report
