"""Which recordings are stale, by the lock, and the rule on them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Set

from safe_gate.core.figures import plural
from safe_gate.evaluators import parts_of
from safe_gate.model.report import Comparison, Fault, Lock, Locked, Recordings, RuleOutcome, Stale

RULE = "stale-recordings"

_AGAIN = "record it again, then run safe-gate lock"
_ADVICE = {
    Fault.NOT_LOCKED: "run safe-gate lock when it is recorded",
    Fault.SOURCES_CHANGED: _AGAIN,
    Fault.NOT_RENEWED: "run safe-gate lock when it is recorded",
    Fault.NOT_RECORDED_AGAIN: _AGAIN,
    Fault.TOO_OLD: _AGAIN,
    Fault.IN_FUTURE: _AGAIN,
}


def entry_before(path: str, sources: Collection[str], base: Lock, named: Collection[str]) -> Locked | None:
    """Return what the base's lock says of a recording, None if it is new.

    A recording that the base's lock does not have may be one that it has by another name: then its `sources` count as
    they were for those of the base that are no longer `named`.
    """
    gone = [one for name, one in base.recordings.items() if name not in named]
    if path in base.recordings or not gone:
        return base.recordings.get(path)
    return Locked("", "", "", {name: sha for one in gone for name, sha in one.sources.items() if name in sources})


def has_outputs_of_base(cases: Mapping[str, Set[str]], compared: Comparison) -> bool:
    """Return whether cases, as ids by evaluator, have the base's outputs: all that the base has, and at least one."""
    count = 0
    for evaluator, part in parts_of(compared.parts):
        shared = cases.get(evaluator.name, frozenset()) - {one.id for one in part.cases.added}
        if not shared.isdisjoint(part.cases.changed_outputs):
            return False
        count += len(shared)
    return count > 0


def stale(path: str, now: Locked, entry: Locked | None, before: Locked | None, *, is_same: bool) -> Iterator[Stale]:
    """Yield why a recording is stale, nothing if it is not.

    `now` is the recording as it is, with the sources that are there; `entry` is what the lock says of it, `before` what
    the lock of the base commit says. It `is_same` if its cases have the base's outputs.
    """
    if entry is None:
        yield Stale(path, Fault.NOT_LOCKED)
        return
    if changed := _different(entry, now):
        yield Stale(path, Fault.SOURCES_CHANGED, changed)
    if now.sha256 != entry.sha256:
        yield Stale(path, Fault.NOT_RENEWED)
    elif before and (is_same or before.sha256 == now.sha256) and (moved := _different(before, entry)):
        yield Stale(path, Fault.NOT_RECORDED_AGAIN, moved)


def _different(before: Locked, after: Locked) -> tuple[str, ...]:
    """Return the sources that changed, or that one of the two lacks."""
    every = sorted({*before.sources, *after.sources})
    return tuple(path for path in every if before.sources.get(path) != after.sources.get(path))


def judge(found: Recordings) -> Iterator[RuleOutcome]:
    """Yield the outcome of the rule for each stale recording, or one if none is stale."""
    warns = found.on_stale == "warn"
    for one in found.stale:
        allowed = f", {plural(one.days, 'day')}; at most {found.max_age}" if one.days else ""
        yield RuleOutcome(
            RULE,
            "gate",
            1,
            0,
            passed=warns,
            found=f"{one.fault}{allowed}",
            detail=f"{_ADVICE[one.fault]}; changed" if one.files else _ADVICE[one.fault],
            group=one.recording,
            names=one.files,
            warns=warns,
        )
    if not found.stale:
        words = f"{plural(found.compared, 'recording')}, none stale"
        yield RuleOutcome(RULE, "gate", 0, 0, passed=True, found=words)
