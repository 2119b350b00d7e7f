"""Weakenings of single cases: where less is asked of them than before. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from safe_gate.core.comparison import Weakening
from safe_gate.core.model import JsonObject
from safe_gate.evaluators import EVALUATORS


class What(StrEnum):
    """How a part of the terms changed."""

    LOOSER = "looser"
    CHANGED = "changed"
    DROPPED = "dropped"
    ADDED = "added"


@dataclass(frozen=True, slots=True)
class Asked:
    """The expectations of a case: its digest and `Case.asks()`, None if only the digest is known.

    It also has the parts of a case that `asks()` lacks: its input, and the groups it counts with. If only the digest is
    known, `excuses` are the groups of a case that is meant to fail.
    """

    digest: str
    asks: JsonObject | None
    excuses: Sequence[str] = ()


class OfCases(Protocol):
    """The expectations of an evaluator's cases by id, such as a dict."""

    def items(self) -> Iterable[tuple[str, Asked]]:
        """Return the expectations of each case, with its id."""
        ...

    def get(self, case_id: str, /) -> Asked | None:
        """Return the expectations of a case, None if there is no such case."""
        ...


Cases = Mapping[str, OfCases]
"""What is asked of cases, by evaluator."""


def of_cases(before: Cases, after: Cases, settings: Sequence[Mapping[str, Any]]) -> Iterator[Weakening]:
    """Yield how cases ask for less than before. `settings` are the settings of both runs, the earlier first."""
    keys = ("protect", *(evaluator.grouping.setting for evaluator in EVALUATORS.values()))
    named = {group for one in settings for key in keys for group in one.get(key) or ()}
    are_other = settings[0] != settings[1]  # they may excuse a case that is as before
    for name in EVALUATORS:
        found: list[Weakening] = []
        now = after.get(name) or dict[str, Asked]()
        for case_id, was in before[name].items() if name in before else ():
            is_ = now.get(case_id)
            if is_ is None:
                found.append(Weakening(name, case_id, "", What.DROPPED))
            elif was != is_ or are_other:
                found += _asked(name, case_id, was, is_, settings, named)
        yield from sorted(found, key=lambda one: one.id)


def _asked(
    name: str,
    case_id: str,
    before: Asked,
    after: Asked,
    settings: Sequence[Mapping[str, Any]],
    named: Set[str],
) -> Iterator[Weakening]:
    """Yield how a case asks for less. `named` are the groups that the settings of either run name."""
    excuses = [_excuses(name, one, own) for one, own in zip((before, after), settings, strict=True)]
    turned = bool(excuses[1] and not excuses[0])
    if before.asks is None or after.asks is None:
        if before.digest != after.digest:
            yield Weakening(name, case_id, "", What.CHANGED)
        elif turned:
            yield Weakening(name, case_id, _MEANT_TO_FAIL, What.ADDED, None, excuses[1])
        return
    keys = {one.get("cluster_key") for one in settings}
    for key, was in before.asks.items():
        is_ = after.asks[key]
        if key == "cluster" and len(keys) > 1:  # the setting itself is reported
            continue
        if key == EVALUATORS[name].groups_key:
            yield from (
                Weakening(name, case_id, key, *how) for how in _groups(name, was, is_, excuses, settings, named)
            )
            turned = turned and {*excuses[1]} <= {*was}  # a new tag that turned it is named
        elif isinstance(was, Mapping):
            for part in sorted(was):
                if part not in is_ or was[part] != is_[part]:
                    what = What.CHANGED if part in is_ else What.DROPPED
                    yield Weakening(name, case_id, f"{key}.{part}", what, was[part], is_.get(part))
        elif isinstance(was, list):
            asks = before.asks, after.asks
            yield from (Weakening(name, case_id, key, *how) for how in _entries(name, key, asks, settings[1]))
        elif was is not None and was != is_:
            yield Weakening(name, case_id, key, What.CHANGED)
    if turned:
        yield Weakening(name, case_id, _MEANT_TO_FAIL, What.ADDED, None, excuses[1])


_MEANT_TO_FAIL = "meant to fail"


def _excuses(name: str, one: Asked, settings: Mapping[str, Any]) -> Sequence[str]:
    """Return the groups of a case that say under the settings of its run that it is meant to fail."""
    if one.asks is None:
        return one.excuses
    groups = one.asks.get(EVALUATORS[name].groups_key, ())
    every = [groups] if isinstance(groups, str) else groups
    return [group for group in every if EVALUATORS[name].is_excused(group, one.asks, settings)]


def _entries(
    name: str, key: str, asks: tuple[JsonObject, JsonObject], settings: Mapping[str, Any]
) -> Iterator[tuple[What, Any, Any]]:
    """Yield how a list asks for less. With more entries, an output may miss more of them: one of before, too."""
    before, after = (one[key] or () for one in asks)
    gone, new = _less(before, after), _less(after, before)
    if gone:
        yield What.CHANGED if new else What.DROPPED, gone, new
    elif new:
        could_miss, can_miss = (EVALUATORS[name].missable(key, one, settings) for one in asks)
        if any(now > then for then, now in zip(could_miss, can_miss, strict=True)):
            yield What.ADDED, None, new


def _groups(
    name: str,
    before: Any,
    after: Any,
    excuses: Sequence[Sequence[str]],
    settings: Sequence[Mapping[str, Any]],
    named: Set[str],
) -> Iterator[tuple[What, Any, Any]]:
    """Yield the groups that a case joined or left, if the change weakens the gate.

    A joined group may excuse the case; `excuses` are such groups before and after. If the base limits its rate, one
    more case dilutes its failures. A group that was left may be named by the settings. It may also mark the case as
    meant to fail, if the gate counts such cases that pass.
    """
    if isinstance(before, str):  # an evaluator with one group per case
        if before != after and named & {before, after}:
            yield What.CHANGED, before, after
        return
    limits = settings[0].get(EVALUATORS[name].grouping.setting) or {}
    counts = any(one.get(limit) is not None for one in settings for limit in EVALUATORS[name].counting_passes)
    gone, new = _less(before, after), _less(after, before)
    rated = {group for group in new if any(limit.startswith("min-") for limit in limits.get(group, ()))}
    if joined := [group for group in new if group in rated or (group in excuses[1] and not excuses[0])]:
        yield What.ADDED, None, joined
    if left := [group for group in gone if group in named or (counts and group in excuses[0] and not excuses[1])]:
        yield What.DROPPED, left, None


def _less(these: Sequence[str], those: Sequence[str]) -> list[str]:
    """Return the texts without the others, each removed as often as it occurs there."""
    return sorted((Counter(these) - Counter(those)).elements())
