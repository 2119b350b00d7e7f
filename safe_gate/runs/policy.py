"""Shell: whose settings a run is judged by, those of this change or of its base commit, and its baseline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path

from safe_gate.baseline import comparison, source
from safe_gate.core.model import CannotJudge, Place, Problem
from safe_gate.evaluators import EVALUATORS
from safe_gate.gate import limits
from safe_gate.gate import rules as gate_rules
from safe_gate.inputs import disk
from safe_gate.inputs import rules as own_rules
from safe_gate.inputs.trees import Pattern
from safe_gate.publish.effects import Effects
from safe_gate.scoring import asked, unknown_names
from safe_gate.settings.options import Options, config_paths


def gate_policy(options: Options) -> gate_rules.Policy:
    """Return the limits of the gate's rules under these options."""
    settings = {name: unknown_names.groups_limited(one, options) for name, one in EVALUATORS.items()}
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

OF_INPUTS = tuple(setting for evaluator in EVALUATORS.values() for setting in evaluator.input.settings)
"""Settings that name cases: those of the run where a folder's settings name none, as before a first config file."""


def with_todays(options: Options, options_at: comparison.OptionsAt) -> comparison.OptionsAt:
    """Return how settings are read below a folder: what judges nothing is the run's, and inputs if it names none."""

    def settings_at(root: Path) -> Options:
        own = options_at(root)
        names = _OF_THE_RUN if asked.given(own) else (*_OF_THE_RUN, *OF_INPUTS)
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
class Ruling:
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
WARN_HERE = "warn here, or name a commit as the baseline"
_NO_BASE = "is base, but this event has no base commit; set head for other events than pull requests and pushes"


def _refuse_unknown_base(setting: str, instead: str, effects: Effects) -> None:
    if unknown := source.unknown_base(effects.context):
        raise CannotJudge(Problem(Place(setting), f"asks for the base commit {unknown}; set {instead}"))


@contextmanager
def base_commit(
    setting: str, instead: str, options: Options, effects: Effects, options_at: comparison.OptionsAt
) -> Iterator[source.Baseline | None]:
    """Give the event's base commit, which a setting asks for. Raises CannotJudge where there can be none."""
    _refuse_unknown_base(setting, instead, effects)
    with baseline("base", options, effects, options_at) as base:
        yield base


@contextmanager
def judged_by(options: Options, effects: Effects, options_at: comparison.OptionsAt) -> Iterator[Ruling]:
    """Give the settings that judge, as long as they can be read. Raises CannotJudge."""
    if options.policy_ref == "head":
        yield Ruling(options)
        return
    with base_commit("policy-ref", _HEAD_HERE, options, effects, options_at) as base:
        if base is None:
            raise CannotJudge(Problem(Place("policy-ref"), _NO_BASE))
        try:
            own = options_at(base.root)
            settings = asked.settings(own)
            given = asked.given(own)
            recipes = {one.name: own_rules.recipe(one, settings, root=base.root) for one in given}
            for name, recipe in recipes.items():
                own_rules.made(name, recipe)
        except CannotJudge as error:
            raise comparison.at_baseline(base, error) from None
        yield Ruling(own, recipes, base)


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
        _refuse_unknown_base("on-weakened", WARN_HERE, effects)


def is_needed_by_base(options: Options, effects: Effects, options_at: comparison.OptionsAt) -> bool:
    """Tell whether the base commit's config lets a weaker gate break the run; no other file of it is read."""
    if effects.context.subject.base_sha:
        config = [*map(Pattern, config_paths(options))]
        with suppress(CannotJudge), _opened("base", config, options, effects) as base:
            return base is not None and options_at(base.root).on_weakened == "fail"
    return False
