"""Shell: reads `safe-gate.lock.json`, and the recordings and their sources as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from safe_gate.inputs import checked, disk, globs
from safe_gate.inputs.disk import HERE
from safe_gate.model import codec
from safe_gate.model.lock import Lock, Locked
from safe_gate.model.problems import CannotJudge
from safe_gate.settings.model import LOCK_FILE


def read(root: Path = HERE) -> Lock | None:
    """Return the lock below a folder, None if there is none. Raises CannotJudge with every problem of it."""
    path = root / LOCK_FILE
    return codec.from_json(Lock, checked.document(str(path), "lock")) if disk.exists(path) else None


def as_is(recording: str, sources: Sequence[str], model: str = "", at: str = "") -> Locked:
    """Return a recording and its sources as they are below the working folder: paths and globs, which may name none.

    Raises CannotJudge for a file that cannot be read.
    """
    try:
        sha256 = disk.sha256(recording)
    except CannotJudge as error:
        raise CannotJudge(*(replace(one, field="recordings") for one in error.problems)) from error
    return Locked(sha256, model, at, _digests(globs.expand(sources, "")[0]))


def locked(recordings: Mapping[str, Sequence[str]], model: str, at: str) -> dict[str, Locked]:
    """Return the entries of recordings at a time. Raises CannotJudge with each pattern that names no source."""
    unmatched = [one for sources in recordings.values() for one in globs.expand(sources, "")[1]]
    if unmatched:
        raise CannotJudge(*dict.fromkeys(unmatched))
    return {recording: as_is(recording, sources, model, at) for recording, sources in recordings.items()}


def _digests(paths: Sequence[Path]) -> dict[str, str]:
    return {disk.shown(path): disk.sha256(str(path)) for path in sorted(paths)}
