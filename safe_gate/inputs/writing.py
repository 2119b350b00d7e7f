"""Shell: writes files, all of them or none, and temporary folders. Deletes what a killed run left of either."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory, gettempdir

from safe_gate.inputs.disk import reason, shown
from safe_gate.model.problems import CannotJudge, Code

_DEVICES = Path("/dev")
_DRAFT = (".safe-gate-", ".tmp")
"""How the name of a temporary file begins and ends, which replaces another file once it is complete."""
_DRAFTS = re.compile(r"\.safe-gate-\w{8}\.tmp")
_FOLDERS = re.compile(r"safe-gate-\w{8}")
_OLD = 3_600  # seconds: by then a run has locked its folder, however slow the machine


def write(path: Path, text: str | Iterable[str]) -> None:
    """Write a text, or its pieces, as `write_all` does."""
    write_all({path: text})


def write_all(texts: Mapping[Path, str | Iterable[str]]) -> None:
    """Write texts, or their pieces, as UTF-8, all of them or none, and make their folders. Raises CannotJudge.

    No existing file or link is replaced before all are written. A device or a pipe is refused:
    nothing could replace it.
    """
    drafts: dict[Path, Path] = {}
    path = Path()
    try:
        with ExitStack() as held:  # an open draft is locked, so no other run deletes it
            for path, text in texts.items():
                _write_draft(path, text, drafts, held)
            for path, draft in drafts.items():
                draft.replace(path)
    except BaseException as error:  # leave no draft, whatever happens
        for draft in drafts.values():
            draft.unlink(missing_ok=True)
        if isinstance(error, OSError | ValueError):
            raise CannotJudge.at(shown(path), f"cannot be written: {reason(error)}", Code.UNWRITABLE_FILE) from error
        raise


def _write_draft(path: Path, text: str | Iterable[str], drafts: dict[Path, Path], held: ExitStack) -> None:
    """Write what is to become a file beside it, and note in `drafts` where it is."""
    if (path.exists() and not path.is_file()) or path.absolute().parent == _DEVICES:
        raise OSError("Not a regular file")
    nearest = next((folder for folder in path.parents if folder.exists()), path.parent)
    if not nearest.is_dir():
        raise OSError(f"{shown(nearest)} is a file, and a folder is needed there; move it, or name another place")
    path.parent.mkdir(parents=True, exist_ok=True)
    _delete_drafts(path.parent)
    begin, end = _DRAFT
    # Nobody can guess the name and plant a link there. Later steps, which are not root, can read the file.
    make = partial(NamedTemporaryFile, "w", encoding="utf-8", newline="", dir=path.parent, delete=False)
    file = held.enter_context(make(prefix=begin, suffix=end))
    while not _hold_draft(file.fileno()):
        file = held.enter_context(make(prefix=begin, suffix=end))
    drafts[path] = Path(file.name)
    file.writelines([text] if isinstance(text, str) else text)
    file.flush()
    drafts[path].chmod(0o644)


def write_or_remove(path: Path, text: str | Iterable[str]) -> None:
    """Write a text as `write` does. If that fails, try to remove the file that it should replace."""
    try:
        write(path, text)
    except CannotJudge:
        with suppress(OSError, ValueError):  # ValueError: a name that no file can have
            path.unlink()


def _delete_drafts(folder: Path) -> None:
    """Delete the drafts in a folder that no run holds any more, if the system allows it."""
    for draft in _named(folder, _DRAFTS):
        if draft.is_file(follow_symlinks=False):
            with suppress(OSError), _locked(draft.path):
                Path(draft).unlink()


def _hold_draft(handle: int) -> bool:
    """Lock an open draft until it is closed. Return whether it is still there: a run may delete it before."""
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
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)
