"""Shell: a run's recordings and their sources, compared with the lock, and with the lock of the base commit."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from safe_gate.baseline.judging import Judging, Snapshots
from safe_gate.baseline.source import Baseline
from safe_gate.gate import staleness
from safe_gate.inputs import lock_file
from safe_gate.inputs.clone import Clone
from safe_gate.inputs.commit_files import Missing
from safe_gate.model.lock import Lock, Recordings, Stale
from safe_gate.model.problems import CannotJudge, Code


def of(rules: Judging, compared: Baseline | None, snapshots: Snapshots) -> Recordings | None:
    """Return the recordings that are stale, None if none is to be compared with a lock.

    `compared` is the baseline, if any. Raises CannotJudge for a broken lock, for a recording or source that cannot be
    read, and for `recordings.max-age` where the time of the judged commit is not known.
    """
    asked, on_stale = rules.options.recordings, rules.options.recordings.stale
    if not asked.sources or on_stale == "off":
        return None
    lock = lock_file.read()
    before = _base_lock(rules, compared, snapshots, is_needed=lock is not None or on_stale == "fail")
    if lock is None and before is None and on_stale == "warn":
        return None
    judged_at = _judged_at(asked.max_age)
    stale = list[Stale]()
    for path, now in sorted(lock_file.as_they_are(asked.sources).items()):
        entry = lock.recordings.get(path) if lock else None
        stale += staleness.stale(
            path,
            now,
            entry,
            before.recordings.get(path) if before else None,
            days=(judged_at - datetime.fromisoformat(entry.recorded_at)).days if entry and judged_at else 0,
            max_age=asked.max_age,
        )
    return Recordings(on_stale, asked.max_age, len(asked.sources), tuple(stale))


def _base_lock(rules: Judging, compared: Baseline | None, snapshots: Snapshots, *, is_needed: bool) -> Lock | None:
    """Return the lock of the commit that the run is compared with, None if it has none.

    If it `is_needed`, the event's base commit is read where the run is compared with no commit.
    """
    is_commit = compared is not None and compared.report is None
    base = rules.base or (compared if is_commit else None)
    with suppress(CannotJudge):  # whatever needs the base reports an unreadable one; this change may repair its lock
        if base is None and is_needed:
            base = snapshots.open("base")
        return lock_file.read(base.root) if base else None
    return None


def _judged_at(max_age: int | None) -> datetime | None:
    """Return the time of the judged commit, None if no age is asked for. Raises CannotJudge if it is not known."""
    if max_age is None:
        return None
    with suppress(Missing):
        if at := Clone().commit("HEAD").made_at:
            return datetime.fromisoformat(at)
    words = "needs the time of the judged commit, and this folder is in no repository; check it out, or unset this"
    raise CannotJudge.at("recordings.max-age", words, Code.INVALID_SETTING)
