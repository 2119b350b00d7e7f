"""Shell: whose settings judge a run: this change's or its base commit's."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from safe_gate.baseline import comparison, source
from safe_gate.baseline.snapshots import Snapshots
from safe_gate.evaluators import EVALUATORS
from safe_gate.gate import limits
from safe_gate.gate import rules as gate_rules
from safe_gate.gate.comparison import Guards
from safe_gate.github.effects import Effects
from safe_gate.inputs import own_rules
from safe_gate.inputs.commit_files import Pattern
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Code, Place, Problem
from safe_gate.model.report import InputFile
from safe_gate.scoring import asked, refusals
from safe_gate.scoring.asked import Snapshot
from safe_gate.settings.model import Settings, config_paths


def policy(options: Settings) -> gate_rules.Policy:
    """Return the limits of the gate's rules under these options."""
    settings = {name: refusals.groups_limited(one, options.values()) for name, one in EVALUATORS.items()}
    general = limits.by_rule(options.values())
    own_limits = {
        evaluator: {
            group: {rule.name: own[rule.name] for rule in EVALUATORS[evaluator].gate.group_rules if rule.name in own}
            for group, own in by_group.items()
        }
        for evaluator, by_group in settings.items()
    }
    return gate_rules.Policy(
        limits=gate_rules.limits_of(general),
        min_group=options.min_group,
        groups={name: {group: own for group, own in by_group.items() if own} for name, by_group in own_limits.items()},
        guards=Guards.of(options.values()),
    )


KnownWaivers = tuple[InputFile, JsonObject]
"""A file of waivers with what it holds."""


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

    def waivers(self) -> tuple[KnownWaivers | None, tuple[Problem, ...]]:
        """Return the file of waivers with what it holds, None without one; or what is wrong with it."""
        found = self.snapshot.waivers
        if self.base and found.problems:
            return None, comparison.at_baseline(self.base, CannotJudge(*found.problems)).problems
        return found.known, found.problems


_HEAD_HERE = "head here"
WARN_HERE = "warn here, or name a commit as the baseline"
_NO_BASE = "is base, but this event has no base commit; set head for events that are not pull requests or pushes"


def _refuse_unknown_base(setting: str, instead: str, effects: Effects) -> None:
    if unknown := source.unknown_base(effects.context):
        raise CannotJudge(
            Problem(Place(setting), f"asks for the base commit {unknown}; set {instead}", code=Code.BASE_UNAVAILABLE)
        )


def base_commit(setting: str, instead: str, effects: Effects, snapshots: Snapshots) -> source.Baseline | None:
    """Return the event's base commit, which a setting asks for. Raises CannotJudge where there can be none."""
    _refuse_unknown_base(setting, instead, effects)
    return snapshots.open("base", snapshots.head_settings)


def of(effects: Effects, snapshots: Snapshots) -> Judging:
    """Return the settings that judge a run. Raises CannotJudge."""
    if snapshots.head_settings.policy_ref == "head":
        return Judging(snapshots.head)
    base = base_commit("policy-ref", _HEAD_HERE, effects, snapshots)
    if base is None:
        raise CannotJudge(Problem(Place("policy-ref"), _NO_BASE, code=Code.BASE_UNAVAILABLE))
    try:
        there = snapshots.at(base.root)
        recipes = {one.name: there.recipe(one) for one in asked.given(there.options)}
        for name, recipe in recipes.items():
            own_rules.made(name, recipe)
    except CannotJudge as error:
        raise comparison.at_baseline(base, error) from None
    return Judging(there, recipes, base)


def refuse_itself(baseline: str) -> None:
    """Raise CannotJudge for a baseline that is what a run is about."""
    if baseline == ".":
        words = "is the working folder, which this run judges; name a commit or an earlier report"
        raise CannotJudge(Problem(Place("baseline"), words, code=Code.BASE_UNAVAILABLE))


def refuse_base_elsewhere(options: Settings, effects: Effects) -> None:
    """Raise CannotJudge for a setting that needs the base commit of an event where none is known."""
    if options.policy_ref == "base":
        _refuse_unknown_base("policy-ref", _HEAD_HERE, effects)
        if not effects.context.subject.base_sha:
            raise CannotJudge(Problem(Place("policy-ref"), _NO_BASE, code=Code.BASE_UNAVAILABLE))
    elif options.on_weakened == "fail" and not (options.shard or source.names_commit(options.baseline)):
        _refuse_unknown_base("on-weakened", WARN_HERE, effects)


def is_needed_by_base(effects: Effects, snapshots: Snapshots) -> bool:
    """Return whether the base commit's config lets a weaker gate break the run; no other file of it is read."""
    if effects.context.subject.base_sha:
        with suppress(CannotJudge):
            head = snapshots.head_settings
            patterns = [*map(Pattern, config_paths(head.config))]
            own = snapshots.config_of("base", patterns, is_required=head.baseline_required)
            return own is not None and own.on_weakened == "fail"
    return False
