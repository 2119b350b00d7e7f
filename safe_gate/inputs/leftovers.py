"""Shell: temporary files and folders, named so that a later run can delete what a killed run left.

Touches the folders that runs write to, and the temporary folder.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from safe_gate.core.text.patterns import later

DRAFT = (".safe-gate-", ".tmp")
"""How the name of a temporary file begins and ends, which replaces another file once it is complete."""

_DRAFTS = later(r"\.safe-gate-\w{8}\.tmp")
_FOLDERS = later(r"safe-gate-\w{8}")
_OLD = 3_600  # seconds: by then a run has locked its folder, however slow the machine


def delete_drafts(folder: Path) -> None:
    """Delete the drafts in a folder that no run holds any more, if the system allows it."""
    for draft in _named(folder, _DRAFTS):
        if draft.is_file(follow_symlinks=False):
            with suppress(OSError), _locked(draft.path):
                Path(draft).unlink()


def hold_draft(handle: int) -> bool:
    """Lock an open draft until it is closed. Return whether it is still there: a run may delete it before."""
    import fcntl

    with suppress(OSError):  # a file system without locks, on which nobody deletes a draft
        fcntl.flock(handle, fcntl.LOCK_EX)
    return os.fstat(handle).st_nlink > 0


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield an empty folder and delete it afterwards; also delete folders that killed runs left over an hour ago.

    A run that is killed leaves its folder. One that still runs, however long, holds a lock on its own.
    """
    for folder in _named(Path(gettempdir()), _FOLDERS, _OLD):
        if folder.is_dir(follow_symlinks=False) and folder.stat().st_uid == os.getuid():
            with suppress(OSError), _locked(folder.path):
                shutil.rmtree(folder.path, ignore_errors=True)
    with TemporaryDirectory(prefix="safe-gate-") as name, ExitStack() as held:
        with suppress(OSError):  # a file system without locks
            held.enter_context(_locked(name))
        yield Path(name)


def _named(folder: Path, names: re.Pattern[str], age: float = 0) -> Iterator[os.DirEntry[str]]:
    """Yield what has such a name in a folder and is older than `age` seconds."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):  # another run may delete it at the same time
                if names.fullmatch(entry.name) and not (
                    age and entry.stat(follow_symlinks=False).st_mtime > time.time() - age
                ):
                    yield entry


@contextmanager
def _locked(path: str) -> Iterator[None]:
    """Hold the lock of a folder or a file, which ends with the process. Raises OSError if another process holds it."""
    import fcntl

    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)
