"""How the gate is weaker than before: compares the terms of two runs. Pure.

A run's terms are its settings, its rules, its waivers, and the expectations of every case. A change that asks for
more is not reported. A change of unknown direction is reported: a reviewer would rather see a harmless change than
miss a weakening.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from safe_gate.core.comparison import Against, Weakened, Weakening
from safe_gate.core.figures import plural
from safe_gate.core.given import PackFact, Way
from safe_gate.core.model import RuleOutcome
from safe_gate.core.report import Report, Waiver
from safe_gate.evaluators import EVALUATORS, without_texts
from safe_gate.gate import limits
from safe_gate.gate.waivers import Waivable
from safe_gate.gate.weakening_cases import Cases, What, of_cases


@dataclass(frozen=True, slots=True)
class Terms:
    """The known terms of a run.

    `settings` are by the names of options. A setting that either run lacks is not compared. `cases` are by evaluator
    and id. `rules` are the shipped rules and a team's own by id. They are None if only their digest, `packs_sha256`,
    is known. `waivers` are the entries of the waivers' file.
    """

    settings: Mapping[str, Any]
    cases: Cases
    rules: Mapping[str, PackFact] | None
    packs_sha256: str
    waivers: Sequence[Waiver] = field(default=())


def weakenings(base: Terms, head: Terms) -> list[Weakening]:
    """Return how the head's terms are weaker than the base's: settings, rules, waivers, cases.

    >>> base, head = (Terms({"min_pass_rate": limit}, {}, {}, "") for limit in (0.9, 0.8))
    >>> [(one.id, str(one.what), one.before, one.after) for one in weakenings(base, head)]
    [('min-pass-rate', 'looser', 0.9, 0.8)]
    >>> weakenings(head, base)
    []
    """
    return [
        *_settings(base.settings, head.settings),
        *_rules(base, head),
        *_waivers(base.waivers, head.waivers),
        *of_cases(base.cases, head.cases, (base.settings, head.settings)),
    ]


# --- settings -----------------------------------------------------------------------------------


WEAKER: Mapping[str, Way | tuple[str, ...]] = {
    **{setting: way for evaluator in EVALUATORS.values() for setting, way in evaluator.weaker.items()},
    "tag": Way.FEWER_OF_ALL,
    "not_tag": Way.HIGHER,
    "max_no_reply": Way.HIGHER,
    "max_same_reply": Way.HIGHER,
    "max_vacuous": Way.HIGHER,
    "min_group": Way.HIGHER,
    "baseline": Way.ANY_ONCE_SET,
    "baseline_required": Way.LOWER,
    "allow_removed": Way.HIGHER,
    "protect": Way.LOWER,
    "max_regressions": Way.HIGHER,
    "max_score_drop": Way.HIGHER,
    "min_drop": Way.HIGHER,
    "alpha": Way.LOWER,
    "cluster_key": Way.ANY,
    "on_weakened": ("fail", "warn"),
    "policy_ref": ("base", "head"),
    "comment": ("always changes", "on-failure", "never"),
}
"""The settings that judge, or show the result; for choices, from the strictest to the weakest, equals in one text."""

_OWNERS = {setting: evaluator for evaluator in EVALUATORS.values() for setting in evaluator.weaker}
_OFF = [evaluator.rule_files.off for evaluator in EVALUATORS.values() if evaluator.rule_files]
_OF_GROUPS = {evaluator.grouping.setting for evaluator in EVALUATORS.values()}

Path = tuple[str, ...]
"""Which part of a setting: the entry of a list, the keys that lead to a member of a mapping, () for all of it."""


def in_force(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[str, Path, Any, Any]]:
    """Yield each part of two runs' settings: name, part, and both values; None is no value.

    Where a group has no number of its own, the general one applies.
    """
    for name, way in WEAKER.items():
        if name not in before or name not in after:
            continue
        if way is Way.FEWER_OF_ALL:
            yield name, (), sorted(before[name]), sorted(after[name])
        else:
            own = [dict(_parts(settings[name])) for settings in (before, after)]
            for path in sorted({*own[0], *own[1]}):
                was, is_ = (
                    parts.get(path, _general(name, path, settings))
                    for parts, settings in zip(own, (before, after), strict=True)
                )
                yield name, path, was, is_


def _parts(value: Any) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, Mapping):
        for key, member in value.items():
            yield from (((key, *path), leaf) for path, leaf in _parts(member))
    elif isinstance(value, list | tuple):
        yield from (((entry if isinstance(entry, str) else json.dumps(entry),), True) for entry in value)
    elif value is not None:
        yield (), value


def _general(name: str, path: Path, settings: Mapping[str, Any]) -> Any:
    """Return the value of a part that is not set: False for an entry of a list, else what its evaluator says."""
    if isinstance(settings[name], list | tuple):
        return False
    return _OWNERS[name].unset(name, path, settings) if name in _OWNERS else None


def _settings(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Weakening]:
    for name, path, was, is_ in in_force(before, after):
        way = _way(name, path)
        if _is_weaker(way, was, is_):
            id_, part = name.replace("_", "-"), ".".join(path)
            if path and isinstance(is_, bool):
                yield Weakening("setting", id_, part, What.ADDED if is_ else What.DROPPED)
            elif way is Way.ANY_ONCE_SET and not is_:
                yield Weakening("setting", id_, part, What.DROPPED, was, is_)
            else:
                what = What.CHANGED if way in (Way.ANY, Way.ANY_ONCE_SET) else What.LOOSER
                yield Weakening("setting", id_, part, what, was, is_)


def _way(name: str, path: Path) -> Way | tuple[str, ...]:
    """Return which change of a part asks for less: a group's own limit says it by its name."""
    if path and name in _OWNERS and (way := _OWNERS[name].way_of(name, path)):
        return way
    last = path[-1] if path and name in _OF_GROUPS else ""
    if last.startswith("min-"):
        return Way.LOWER
    return Way.HIGHER if last.startswith("max-") or last == "optional" else WEAKER[name]


def _is_weaker(way: Way | tuple[str, ...], was: Any, is_: Any) -> bool:
    if isinstance(way, tuple):
        before, after = (next(place for place, alike in enumerate(way) if one in alike.split()) for one in (was, is_))
        return after > before
    if way in (Way.ANY, Way.ANY_ONCE_SET):
        return bool(was != is_ and (was or way is Way.ANY))
    if way is Way.FEWER_OF_ALL:
        return bool(is_) and not (was and {*was} <= {*is_})
    if was is None or is_ is None:
        return was is not None
    return bool(is_ < was if way is Way.LOWER else is_ > was)


# --- rules --------------------------------------------------------------------------------------


def _rules(base: Terms, head: Terms) -> Iterator[Weakening]:
    if base.rules is None or head.rules is None:
        if base.packs_sha256 != head.packs_sha256:
            yield Weakening("rule", "", "", What.CHANGED, base.packs_sha256[:12], head.packs_sha256[:12])
        return
    for one in sorted(base.rules.keys() | head.rules.keys()):
        was, is_ = base.rules.get(one), head.rules.get(one)
        if is_ is None:
            yield Weakening("rule", one, "", What.DROPPED)
        elif was is None:
            if is_.lets_pass:
                yield Weakening("rule", one, "", What.ADDED)
        elif was.sha256 != is_.sha256:  # the rest follows from settings, which are reported
            yield Weakening("rule", one, "", What.CHANGED)
    off, still_off = ({one for name in _OFF for one in terms.settings.get(name, ())} for terms in (base, head))
    for one in sorted(off - still_off):
        if any(rule.lets_pass for name, rule in head.rules.items() if name == one or name.startswith(f"{one}/")):
            yield Weakening("rule", one, "", What.ADDED)


# --- waivers ------------------------------------------------------------------------------------


def _waivers(base: Sequence[Waiver], head: Sequence[Waiver]) -> Iterator[Weakening]:
    before, after = ({Waivable.of(one): one.expires for one in waivers} for waivers in (base, head))
    for waived, until in sorted(after.items()):
        was = before.get(waived)
        if was is None or until > was:
            yield Weakening("waiver", waived.case_id, waived.name, What.LOOSER if was else What.ADDED, was, until)


# --- in the report ------------------------------------------------------------------------------


def section(
    found: Sequence[Weakening], against: Against | None, *, partial: bool, fails: bool, texts: bool
) -> Weakened:
    """Return the weakenings as a section of the report.

    `against` is the baseline of the comparison, None if there was none. `partial` says that it is a report, which has
    only limits and digests. Without `texts`, a hash replaces each recorded text.
    """
    findings = found if texts else [_withheld(one) for one in found]
    return Weakened(against, partial, "fail" if fails else "warn", findings)


def _withheld(finding: Weakening) -> Weakening:
    """Return a finding without the recorded texts that a case asks for."""
    if finding.kind not in EVALUATORS:
        return finding
    before, after = (
        without_texts(finding.kind, {finding.field: value})[finding.field] for value in (finding.before, finding.after)
    )
    return replace(finding, before=before, after=after)


def judge(weakened: Weakened) -> tuple[RuleOutcome, ...]:
    """Return the outcome of the rule `on-weakened` on the report's section, none if it only warns."""
    if weakened.on_weakened != "fail" or weakened.against is None:
        return ()
    ways = len(weakened.findings)
    words = plural(ways, "way in which the gate itself got weaker", "ways in which the gate itself got weaker")
    return (RuleOutcome("on-weakened", "gate", ways, 0, ways == 0, f"{words}, 0 allowed"),)


def breaks_the_run(base: Terms, head: Terms) -> bool:
    """Return whether a weaker gate fails the run: yes, if either side sets `on-weakened: fail`."""
    # With the change's own setting alone, a change could approve itself.
    return "fail" in (base.settings.get("on_weakened"), head.settings.get("on_weakened"))


def settings_of(report: Report) -> dict[str, Any]:
    """Return the settings that a report records, by the names of options."""
    policy = limits.by_entry(report.provenance.policy)
    policy = {"tag": [], "not_tag": []} | policy  # earlier reports have no filters
    return {name: policy[name] for name in WEAKER if name in policy}
