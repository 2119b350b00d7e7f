"""Shell: what a run is compared with, each fetched and read once, and whose settings judge: its own or the base's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, partial

from safe_gate.baseline import source
from safe_gate.evaluators import registry
from safe_gate.evaluators.registry import EVALUATORS
from safe_gate.gate import rules as gate_rules
from safe_gate.gate.comparison import Guards
from safe_gate.github.effects import Effects
from safe_gate.inputs import case_files
from safe_gate.inputs.commit_files import FilePath
from safe_gate.inputs.disk import HERE
from safe_gate.model.problems import CannotJudge, Code, Problem
from safe_gate.model.report import Base
from safe_gate.scoring import asked
from safe_gate.scoring.asked import Snapshot
from safe_gate.settings import Settings

OptionsAt = Callable[[FilePath], Settings]
"""The settings of a run whose config file is read below a folder; flags and environment stay."""

_OF_THE_RUN = ("report_dir", "gate_id", "text", "jobs")
"""Settings that judge nothing: who scores cases and how they are shown. The run's own always count."""

OF_INPUTS = tuple(setting for evaluator in EVALUATORS.values() for setting in evaluator.input.settings)
"""Settings that name cases: those of the run where a folder's settings name none, as before a first config file."""


@dataclass(frozen=True, slots=True)
class Snapshots:
    """The run's own files, and the reports and commits that it is compared with.

    `settings_at` returns the settings below the folder of a side. `at` returns the side, with its files as first read.
    `narrowed` returns that side without the patterns that match no file.
    """

    settings_at: OptionsAt
    at: Callable[[FilePath], Snapshot]
    narrowed: Callable[[FilePath], Snapshot]
    _effects: Effects
    _held: ExitStack
    _opened: dict[str, source.Baseline | None] = field(default_factory=dict)

    @property
    def head_settings(self) -> Settings:
        """The run's own settings."""
        return self.settings_at(HERE)

    @property
    def head(self) -> Snapshot:
        """The run's own side."""
        return self.at(HERE)

    def open(self, spec: str, *, is_required: bool = False) -> source.Baseline | None:
        """Return a baseline, opened once. Raises CannotJudge as `source.opened` does."""
        if spec not in self._opened:
            options = self.head_settings
            connect = partial(self._effects.connect, options.access("fetch"))
            opened = source.opened(spec, options, self._effects, connect, is_required=is_required)
            self._opened[spec] = self._held.enter_context(opened)
        return self._opened[spec]

    @property
    def base(self) -> Base | None:
        """The event's base commit and why it is this one, None unless it was opened."""
        base = self._opened.get("base")
        return Base(base.commit, base.why) if base else None

    def of(self, base: source.Baseline) -> Snapshot:
        """Return the side of a commit, less the patterns that name no file. Raises CannotJudge."""
        try:
            return self.narrowed(base.root)
        except CannotJudge as error:
            raise base.placed(error) from None


@contextmanager
def opened(options: Settings, effects: Effects, options_at: OptionsAt) -> Iterator[Snapshots]:
    """Give what a run under these options may be compared with, as long as it can be read.

    Of the settings below a folder, what judges nothing is the run's, and inputs if that folder's settings name none.
    """

    @cache
    def settings_at(root: FilePath) -> Settings:
        if root == HERE:
            return options
        own = options_at(root)
        names = _OF_THE_RUN if asked.given(own) else (*_OF_THE_RUN, *OF_INPUTS)
        return own.replace(**{name: options.value(name) for name in names})

    @cache
    def snapshot_at(root: FilePath) -> Snapshot:
        return asked.taken(settings_at(root), root)

    @cache
    def narrowed(root: FilePath) -> Snapshot:
        return snapshot_at(root).narrowed()

    with ExitStack() as held:
        yield Snapshots(settings_at, snapshot_at, narrowed, effects, held)


def policy(options: Settings) -> gate_rules.Policy:
    """Return the limits of the gate's rules under these options."""
    groups = {}
    for name, one in EVALUATORS.items():
        of_groups = {rule.name for rule in one.gate.group_rules}
        limited = {
            group: {rule: limit for rule, limit in own.items() if rule in of_groups}
            for group, own in asked.groups_limited(one, options.values()).items()
        }
        groups[name] = {group: own for group, own in limited.items() if own}
    return gate_rules.Policy(
        limits=gate_rules.limits_of(registry.limits_by_rule(options.values())),
        min_group=options.min_group,
        groups=groups,
        guards=Guards.of(options.values()),
    )


@dataclass(frozen=True, slots=True)
class Judging:
    """The settings that judge a run: its own, or the base commit's. The commit is None for its own.

    `recipes` are the evaluators' recipes, empty for the run's own. Problems of the run's own are reported with its
    cases.
    """

    snapshot: Snapshot
    recipes: Mapping[str, str] = field(default_factory=dict)
    base: source.Baseline | None = None

    @property
    def options(self) -> Settings:
        """The settings that judge."""
        return self.snapshot.options

    def breaks_on_weakened(self, own: str) -> bool:
        """Return whether a weaker gate breaks the run, by the settings that judge or by the run's own."""
        return "fail" in (self.options.on_weakened, own)

    def waivers(self) -> tuple[asked.KnownWaivers | None, tuple[Problem, ...]]:
        """Return the file of waivers with what it holds, None without one; or what is wrong with it."""
        try:
            return self.snapshot.waivers(), ()
        except CannotJudge as error:
            return None, (self.base.placed(error) if self.base else error).problems


_HEAD_HERE = "head here"
WARN_HERE = "warn here, or name a commit as the baseline"
_NO_BASE = "is base, but this event has no base commit; set head for events that are not pull requests or pushes"


def _refuse_unknown_base(setting: str, instead: str, effects: Effects) -> None:
    if unknown := source.unknown_base(effects.context):
        raise CannotJudge.at(setting, f"asks for the base commit {unknown}; set {instead}", Code.BASE_UNAVAILABLE)


def base_commit(setting: str, instead: str, effects: Effects, snapshots: Snapshots) -> source.Baseline | None:
    """Return the event's base commit, which a setting asks for. Raises CannotJudge where there can be none."""
    _refuse_unknown_base(setting, instead, effects)
    return snapshots.open("base")


def of(effects: Effects, snapshots: Snapshots) -> Judging:
    """Return the settings that judge a run. Raises CannotJudge."""
    if snapshots.head_settings.policy_ref == "head":
        return Judging(snapshots.head)
    base = base_commit("policy-ref", _HEAD_HERE, effects, snapshots)
    if base is None:
        raise CannotJudge.at("policy-ref", _NO_BASE, Code.BASE_UNAVAILABLE)
    try:
        there = snapshots.at(base.root)
        recipes = {one.name: there.recipe(one) for one in asked.given(there.options)}
        for name, recipe in recipes.items():
            case_files.made(name, recipe)
    except CannotJudge as error:
        raise base.placed(error) from None
    return Judging(there, recipes, base)


def baseline_of(rules: Judging, snapshots: Snapshots) -> tuple[source.Baseline | None, tuple[Problem, ...]]:
    """Return what a run is compared with, None for nothing, and what is wrong with it."""
    options = rules.options
    try:
        refuse_itself(options.baseline)
        spec, is_required = options.baseline, options.baseline_required
        return snapshots.open(spec, is_required=is_required) if spec else None, ()
    except CannotJudge as error:
        return None, error.problems


def refuse_itself(baseline: str) -> None:
    """Raise CannotJudge for a baseline that is what a run is about."""
    if baseline == ".":
        words = "is the working folder, which this run judges; name a commit or an earlier report"
        raise CannotJudge.at("baseline", words, Code.BASE_UNAVAILABLE)


def refuse_base_elsewhere(options: Settings, effects: Effects) -> None:
    """Raise CannotJudge for a setting that needs the base commit of an event where none is known."""
    if options.policy_ref == "base":
        _refuse_unknown_base("policy-ref", _HEAD_HERE, effects)
        if not effects.context.subject.base_sha:
            raise CannotJudge.at("policy-ref", _NO_BASE, Code.BASE_UNAVAILABLE)
    elif options.on_weakened == "fail" and not (options.shard or source.kind_of(options.baseline) == "commit"):
        _refuse_unknown_base("on-weakened", WARN_HERE, effects)


def is_needed_by_base(effects: Effects, snapshots: Snapshots) -> bool:
    """Return whether the base commit's config lets a weaker gate break the run."""
    if effects.context.subject.base_sha:
        with suppress(CannotJudge):
            base = snapshots.open("base")
            return base is not None and snapshots.settings_at(base.root).on_weakened == "fail"
    return False
