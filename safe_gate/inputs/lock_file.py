"""Shell: reads `safe-gate.lock.json`, and the recordings and their sources as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from safe_gate.inputs import checked, disk, globs
from safe_gate.inputs.commit_files import FilePath
from safe_gate.inputs.disk import HERE
from safe_gate.model import codec
from safe_gate.model.problems import CannotJudge
from safe_gate.model.report import Lock, Locked
from safe_gate.settings.model import LOCK_FILE


def read(root: FilePath = HERE) -> Lock | None:
    """Return the lock below a folder, None if there is none. Raises CannotJudge with every problem of it."""
    path = root / LOCK_FILE
    return codec.from_json(Lock, checked.document(path, "lock")) if disk.exists(path) else None


def as_they_are(
    recordings: Mapping[str, Sequence[str]], model: str = "", at: str = "", *, needs_sources: bool = False
) -> dict[str, Locked]:
    """Return recordings as they are below the working folder, each with its sources, which paths and globs name.

    Raises CannotJudge for a file that cannot be read, and where sources are needed for each pattern that names none.
    """
    found = {recording: globs.expand(patterns, "") for recording, patterns in recordings.items()}
    unmatched = dict.fromkeys(one for _, problems in found.values() for one in problems)
    if needs_sources and unmatched:
        raise CannotJudge(*unmatched)
    digest = cache(disk.sha256)  # several recordings may have one source
    return {
        recording: Locked(
            _sha256(recording), model, at, {disk.shown(path): digest(str(path)) for path in sorted(paths)}
        )
        for recording, (paths, _) in found.items()
    }


def _sha256(recording: str) -> str:
    try:
        return disk.sha256(recording)
    except CannotJudge as error:
        raise CannotJudge(*(replace(one, field="recordings") for one in error.problems)) from error
