"""Which recordings are stale, by the lock, and the rule on them. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from safe_gate.core.figures import plural
from safe_gate.model.lock import Fault, Locked, Recordings, Stale
from safe_gate.model.report import RuleOutcome

_RULE = "stale-recordings"

_AGAIN = "record it again, then run safe-gate lock"
_ADVICE = {
    Fault.NOT_LOCKED: "run safe-gate lock when it is recorded",
    Fault.SOURCES_CHANGED: _AGAIN,
    Fault.NOT_RENEWED: "run safe-gate lock when it is recorded",
    Fault.NOT_RECORDED_AGAIN: _AGAIN,
    Fault.TOO_OLD: _AGAIN,
}


def stale(
    path: str, now: Locked, entry: Locked | None, before: Locked | None, *, days: int = 0, max_age: int | None = None
) -> Iterator[Stale]:
    """Yield why a recording is stale, nothing if it is not.

    `now` is the recording as it is, with the sources that are there; `entry` is what the lock says of it, `before` what
    the lock of the base commit says. `days` is its age at the judged commit, and `max_age` the limit, None for none.
    """
    if entry is None:
        yield Stale(path, Fault.NOT_LOCKED)
        return
    if changed := _different(entry, now):
        yield Stale(path, Fault.SOURCES_CHANGED, changed)
    if now.sha256 != entry.sha256:
        yield Stale(path, Fault.NOT_RENEWED)
    elif before and before.sha256 == now.sha256 and (moved := _different(before, entry)):
        yield Stale(path, Fault.NOT_RECORDED_AGAIN, moved)
    if max_age is not None and days > max_age:
        yield Stale(path, Fault.TOO_OLD, days=days)


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
            _RULE,
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
        yield RuleOutcome(_RULE, "gate", 0, 0, passed=True, found=words)
