"""How the gate is weaker than before: compares the terms of two runs. Pure.

A run's terms are its settings, its rules, its waivers, and the expectations of every case. A change that asks for
more is not reported. A change of unknown direction is reported: a reviewer would rather see a harmless change than
miss a weakening.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from enum import StrEnum
from typing import Any, NamedTuple

from safe_gate.core.case import Case, PackFact, Way, leaves_out_more, selects, wanted_and_unwanted
from safe_gate.core.evaluator import Count, Evaluator
from safe_gate.core.setting import ALL_ENTRIES
from safe_gate.evaluators.registry import EVALUATORS
from safe_gate.gate.stored import without_texts
from safe_gate.gate.waivers import Waivable
from safe_gate.model.codec import JsonObject
from safe_gate.model.report import RuleOutcome, Waiver, Weakened, Weakening


class What(StrEnum):
    """How a part of the terms changed."""

    LOOSER = "looser"
    CHANGED = "changed"
    DROPPED = "dropped"
    ADDED = "added"


class CaseTerms(NamedTuple):
    """The terms of a case: its id and its expectations.

    The expectations are `Case.asks()` with the parts of a case that it lacks: its input, and the groups it counts with.
    A report does not have them. `judges` are those of recorded verdicts, by check, and `file` is where its output
    stands. `reply` is the digest of what is seen of its output, if its evaluator has one.
    """

    id: str
    asks: JsonObject
    judges: Mapping[str, str] = {}
    file: str = ""
    reply: str = ""

    @classmethod
    def of(cls, case: Case) -> CaseTerms:
        """Return the terms of a case."""
        asks = {**case.asks(), **case.given(), "cluster": case.cluster or None}
        digests = case.digests()
        return cls(case.id, asks, case.judges(), case.recording, digests.get("reply", digests["output"]))


Cases = Mapping[str, Sequence[CaseTerms]]
"""The terms of cases, by evaluator."""


class Terms(NamedTuple):
    """The terms of a run.

    `settings` are those of `WEAKER` by the names of options. `rules` are the shipped rules and a team's own by id.
    `waivers` are the entries of the waivers' file.
    """

    settings: Mapping[str, Any]
    cases: Cases
    rules: Mapping[str, PackFact]
    waivers: Sequence[Waiver] = ()


def moves(base: Cases, head: Cases) -> Mapping[str, Set[str]]:
    """Return for each file with outputs of the base those with the outputs of the same cases in the head."""
    found = defaultdict[str, set[str]](set)
    for name, cases in base.items():
        files = {one.id: one.file for one in head.get(name, ())}
        for one in cases:
            if file := files.get(one.id):
                found[one.file].add(file)
    return found


def weakenings(base: Terms, head: Terms) -> list[Weakening]:
    """Return how the head's terms are weaker than the base's: settings, rules, waivers, cases."""
    return [
        *_settings(base.settings, head.settings),
        *_rules(base, head),
        *_waivers(base, head),
        *_cases(base, head),
    ]


# --- settings -----------------------------------------------------------------------------------


_OWNERS = {setting: one.settings for one in EVALUATORS.values() for setting in one.settings.model_fields}
OWN_LIMITS = [setting for setting in _OWNERS if setting.startswith(("min_", "max_"))]
"""The settings of evaluators that are limits. Each says by its name the change that weakens it."""

WEAKER: Mapping[str, Way | tuple[str, ...]] = {
    **{setting: Way.LOWER if setting.startswith("min_") else Way.HIGHER for setting in OWN_LIMITS},
    **{setting: way for evaluator in EVALUATORS.values() for setting, way in evaluator.settings.weaker.items()},
    "tag": Way.FEWER_CASES,
    "max_no_reply": Way.HIGHER,
    "max_same_reply": Way.HIGHER,
    "max_vacuous": Way.HIGHER,
    "recordings": Way.LOWER,
    "stale_recordings": ("fail", "warn", "off"),
    "max_age": Way.HIGHER,
    "min_group": Way.HIGHER,
    "baseline": Way.ANY_ONCE_SET,
    "allow_missing": Way.HIGHER,
    "protect": Way.LOWER,
    "max_regressions": Way.HIGHER,
    "max_score_drop": Way.HIGHER,
    "significance": Way.HIGHER,  # of min-drop; `_way` has that of alpha
    "cluster_key": Way.ANY,
    "on_weakened": ("fail", "warn"),
    "policy_ref": ("base", "head"),
    "comment": ("always changes", "on-failure", "never"),
    "text": ("full", "none"),
}
"""The settings that judge, or show the result; for choices, from the strictest to the weakest, equals in one text."""

_OFF = [evaluator.rule_files.off for evaluator in EVALUATORS.values() if evaluator.rule_files]
_OF_GROUPS = {evaluator.grouping.setting for evaluator in EVALUATORS.values()}

Path = tuple[str, ...]
"""Which part of a setting: the entry of a list, the keys that lead to a member of a mapping, () for all of it."""


def _settings(base: Mapping[str, Any], head: Mapping[str, Any]) -> Iterator[Weakening]:
    """Yield the parts of two runs' settings that ask for less. None is no value.

    Where a group has no number of its own, the general one applies. Whether a baseline may be missing counts only if
    both runs name one.
    """
    for name, general in WEAKER.items():
        old, new = (dict(_parts(settings[name], is_one=general is Way.FEWER_CASES)) for settings in (base, head))
        for path in sorted({*old, *new}):
            before, after = old.get(path, _unset(name, path, base)), new.get(path, _unset(name, path, head))
            way, id_, part = _way(name, path), name.replace("_", "-"), ".".join(path)
            is_moot = (name, part) == ("allow_missing", "baseline") and not (base["baseline"] and head["baseline"])
            if is_moot or not _is_weaker(way, before, after):
                continue
            if path and (before is True or after is True):
                yield Weakening("setting", id_, part, What.ADDED if after else What.DROPPED)
            elif way is Way.ANY_ONCE_SET and not after:
                yield Weakening("setting", id_, part, What.DROPPED, before, after)
            else:
                what = What.CHANGED if way in (Way.ANY, Way.ANY_ONCE_SET) else What.LOOSER
                yield Weakening("setting", id_, part, what, before, after)


def _parts(value: Any, *, is_one: bool = False) -> Iterator[tuple[Path, Any]]:
    """Yield each part of a setting with its value; `is_one` for a filter, which is one part."""
    if is_one:
        yield (), sorted([value] if value and isinstance(value, str) else value)
    elif isinstance(value, Mapping):
        for key, member in value.items():
            yield from (((key, *path), leaf) for path, leaf in _parts(member))
    elif isinstance(value, list | tuple):
        yield from (((entry if isinstance(entry, str) else json.dumps(entry),), True) for entry in value)
    elif value is not None:
        yield (), value


def _unset(name: str, path: Path, settings: Mapping[str, Any]) -> Any:
    """Return the value of a part that is not set: False for an entry of a list, else what its evaluator says.

    The cases of a group without rules may be absent.
    """
    if name in _OF_GROUPS and path[1:] == ("optional",):
        return path[0] not in (settings[name] or {})
    if isinstance(settings[name], list | tuple) or name == "recordings":  # lists by the names of files
        return False
    return _OWNERS[name].unset(name, path, settings) if name in _OWNERS else None


def _way(name: str, path: Path) -> Way | tuple[str, ...]:
    """Return which change of a part asks for less: a group's own limit says it by its name."""
    if (name, path) == ("significance", ("alpha",)):
        return Way.LOWER
    if path and name in _OWNERS and (way := _OWNERS[name].way_of(name, path)):
        return way
    last = path[-1] if path and name in _OF_GROUPS else ""
    if last.startswith("min-"):
        return Way.LOWER
    return Way.HIGHER if last.startswith("max-") or last == "optional" else WEAKER[name]


def _is_weaker(way: Way | tuple[str, ...], before: Any, after: Any) -> bool:
    if isinstance(way, tuple):
        old, new = (next(place for place, alike in enumerate(way) if one in alike.split()) for one in (before, after))
        return new > old
    if way in (Way.ANY, Way.ANY_ONCE_SET):
        return bool(before != after and (before not in (None, "") or way is Way.ANY))
    if way is Way.FEWER_CASES:
        return leaves_out_more(after, before)
    if before is None or after is None:
        return before is not None
    return bool(after < before if way is Way.LOWER else after > before)


# --- rules --------------------------------------------------------------------------------------


def _rules(base: Terms, head: Terms) -> Iterator[Weakening]:
    new = head.rules.keys() - base.rules.keys()  # among them checks, which can only fail more cases
    counted = frozenset[str]().union(*(rule.counts_in for rule in base.rules.values()))

    def loosens(rule: PackFact) -> bool:
        return bool(rule.lets_pass - new or rule.replaces_in & counted)

    for one in sorted(base.rules.keys() | head.rules.keys()):
        before, after = base.rules.get(one), head.rules.get(one)
        if after is None:
            yield Weakening("rule", one, "", What.DROPPED)
        elif before is None:
            if loosens(after):
                yield Weakening("rule", one, "", What.ADDED)
        elif before.sha256 != after.sha256:  # the rest follows from settings, which are reported
            yield Weakening("rule", one, "", What.CHANGED)
    off, still_off = ({one for name in _OFF for one in terms.settings[name]} for terms in (base, head))
    for one in sorted(off - still_off):
        if any(loosens(rule) for name, rule in head.rules.items() if name == one or name.startswith(f"{one}/")):
            yield Weakening("rule", one, "", What.ADDED)


# --- waivers ------------------------------------------------------------------------------------


def _waivers(base: Terms, head: Terms) -> Iterator[Weakening]:
    before, after = ({Waivable.of(one): one.expires for one in terms.waivers} for terms in (base, head))
    for waived, until in sorted(after.items()):
        earlier = before.get(waived)
        if earlier is None or until > earlier:
            what = What.LOOSER if earlier else What.ADDED
            yield Weakening("waiver", waived.case_id, waived.name, what, earlier, until)


# --- cases --------------------------------------------------------------------------------------


_MEANT_TO_FAIL = "meant to fail"


def _cases(base: Terms, head: Terms) -> Iterator[Weakening]:
    settings = base.settings, head.settings
    keys = ("protect", *(evaluator.grouping.setting for evaluator in EVALUATORS.values()))
    named = frozenset(group for one in settings for key in keys for group in one.get(key) or ())
    are_other = base.settings != head.settings  # they may excuse a case that is as before
    for name, evaluator in EVALUATORS.items():
        compared, found = _Compared(evaluator, *settings, named), list[Weakening]()
        judges = set[tuple[str, str, str]]()
        now = head.cases.get(name, ())
        places = {one.id: place for place, one in enumerate(now)}  # they may be too many to hold
        for before in base.cases.get(name, ()):
            place = places.get(before.id)
            if place is None:
                found.append(Weakening(name, before.id, "", What.DROPPED))
            elif before != (after := now[place]) or are_other:
                found += [Weakening(name, before.id, *way) for way in compared.ways(before, after)]
                both = before.judges.keys() & after.judges.keys()
                judges |= {(check, before.judges[check], after.judges[check]) for check in both}
        swapped = (one for one in sorted(judges) if one[1] != one[2])
        yield from (Weakening("rule", check, "", What.CHANGED, *who) for check, *who in swapped)
        yield from sorted(found, key=lambda one: one.id)


class _Compared(NamedTuple):
    """Compares what two runs ask of cases; `named` are the groups that the settings of either run name."""

    evaluator: Evaluator
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    named: Set[str]

    def ways(self, before: CaseTerms, after: CaseTerms) -> Iterator[tuple[Any, ...]]:
        """Yield how a case asks for less, as the fields of a `Weakening` after its id."""
        excuses = self._excuses(before, self.before), self._excuses(after, self.after)
        is_turned = bool(excuses[1] and not excuses[0])
        for key, old in before.asks.items():
            new = after.asks[key]
            if not self._counts(key, old):
                continue
            if key == self.evaluator.grouping.key:
                yield from ((key, *way) for way in self._groups(old, new, excuses))
                is_turned = is_turned and {*excuses[1]} <= {*old}  # a new tag that turned it is named
            elif key in self.evaluator.weaker_if_more:
                if (new or 0) > (old or 0):
                    yield key, What.LOOSER, old or 0, new
            elif isinstance(old, Mapping):
                yield from ((f"{key}.{part}", *way) for part, *way in self._labels(old, new, before.asks))
            elif isinstance(old, list):
                yield from ((key, *way) for way in self._entries(key, before.asks, after.asks))
            elif old != new and (old is not None or key in self.evaluator.settings.weaker):  # it replaces the setting
                yield key, What.ADDED if old is None else What.CHANGED
        if is_turned:
            yield _MEANT_TO_FAIL, What.ADDED, None, excuses[1]

    def _counts(self, key: str, before: Any) -> bool:
        """Return whether a change of what a case asks for counts, given what it asked for.

        Another `cluster-key` is reported itself. The field of a filter counts only where that left the case in.
        """
        if key == "cluster":
            return bool(self.before.get("cluster_key") == self.after.get("cluster_key"))
        chosen = self.evaluator.input.case_filter
        return not chosen or key != chosen.field or self.after.get(chosen.setting) == before

    def _labels(self, before: JsonObject, after: JsonObject, asks: JsonObject) -> Iterator[tuple[Any, ...]]:
        """Yield the labels that changed or are gone; new ones too, if the base limits how many of such agree.

        One more label that agrees hides one that does not.
        """
        names = [rule.name for rule in self.evaluator.gate.group_rules if rule.blames]
        by_check = [self.before.get(name.replace("-", "_")) or {} for name in names]
        by_group, groups = self.before.get(self.evaluator.grouping.setting) or {}, asks[self.evaluator.grouping.key]
        limits = [*by_check, *({ALL_ENTRIES: by_group.get(one, {}).get(name)} for name in names for one in groups)]
        for name in sorted({*before, *after}):
            if name not in before:
                if any(one.get(name) or one.get(ALL_ENTRIES) for one in limits):
                    yield name, What.ADDED, None, after[name]
            elif name not in after or before[name] != after[name]:
                yield name, What.CHANGED if name in after else What.DROPPED, before[name], after.get(name)

    def _excuses(self, one: CaseTerms, settings: Mapping[str, Any]) -> Sequence[str]:
        """Return the groups of a case that say under the settings of its run that it is meant to fail."""
        groups = one.asks.get(self.evaluator.grouping.key, ())
        every = [groups] if isinstance(groups, str) else groups
        return [group for group in every if self.evaluator.gate.is_excused(group, one.asks, settings)]

    def _entries(self, key: str, before: JsonObject, after: JsonObject) -> Iterator[tuple[Any, ...]]:
        """Yield how a list asks for less. A longer list lets an output miss more entries, which may be earlier ones."""
        gone, new = _less(before[key] or (), after[key] or ()), _less(after[key] or (), before[key] or ())
        if gone:
            yield What.CHANGED if new else What.DROPPED, gone, new
        elif new:
            could_miss, can_miss = (self.evaluator.gate.allowed_misses(key, one, self.after) for one in (before, after))
            if any(now > then for then, now in zip(could_miss, can_miss, strict=True)):
                yield What.ADDED, None, new

    def _groups(self, before: Any, after: Any, excuses: Sequence[Sequence[str]]) -> Iterator[tuple[Any, ...]]:
        """Yield the groups that a case joined or left, if the change weakens the gate.

        A joined group may excuse the case; `excuses` are such groups before and after. If the base limits its rate, one
        more case dilutes its failures. A group that was left may be named by the settings. It may also mark the case as
        meant to fail, if the gate counts such cases that pass. Either may make the filter leave out the case.
        """
        is_single = isinstance(before, str)  # an evaluator with one group per case
        groups, groups_now = ([one] if is_single else one for one in (before, after))
        tag, tag_now = (one.get("tag", ()) for one in (self.before, self.after))  # a narrower filter itself is reported
        is_left_out = selects(tag, groups) and selects(tag_now, groups) and not selects(tag_now, groups_now)
        wanted, unwanted = wanted_and_unwanted(tag_now if is_left_out else ())
        if is_single:
            if before != after and (self.named | wanted | unwanted) & {before, after}:
                yield What.CHANGED, before, after
            return
        by_group = self.before.get(self.evaluator.grouping.setting) or {}
        counting = self.evaluator.gate.pass_counting_settings
        counts = any(one.get(limit) is not None for one in (self.before, self.after) for limit in counting)
        gone, new = _less(before, after), _less(after, before)
        rated = {group for group in new if any(limit.startswith("min-") for limit in by_group.get(group, ()))}
        if joined := [group for group in new if group in rated | unwanted or (group in excuses[1] and not excuses[0])]:
            yield What.ADDED, None, joined
        excused = excuses[0] if counts and not excuses[1] else ()
        if left := [group for group in gone if group in self.named | wanted or group in excused]:
            yield What.DROPPED, left, None


def _less(these: Sequence[str], those: Sequence[str]) -> list[str]:
    """Return the texts without the others, each removed as often as it occurs there."""
    return sorted((Counter(these) - Counter(those)).elements())


# --- in the report ------------------------------------------------------------------------------


def withheld(finding: Weakening) -> Weakening:
    """Return a finding with hashes for the recorded texts that a case asks for."""
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
    words = Count(ways, "way in which the gate itself got weaker", "ways in which the gate itself got weaker")
    names = tuple(dict.fromkeys(one.id for one in weakened.findings))
    return (RuleOutcome("on-weakened", "gate", ways, 0, ways == 0, words.against(0), names=names),)
