"""Shell: the paths that a glob names on disk. Lists folders.

Unlike `glob.glob`, this reports a folder that cannot be read. `**` enters each folder once, whatever links lead
there, because a link to `.` has no end.
"""

from __future__ import annotations

import errno
import os
from collections import deque
from collections.abc import Iterable, Iterator
from glob import has_magic
from pathlib import Path

from safe_gate.inputs.finding import globs

Unread = list[tuple[Path, OSError]]


def matches(patterns: Iterable[str], folder: Path) -> tuple[list[Path], Unread]:
    """Return the paths below a folder that globs name, none for a pattern without wildcards.

    With them come the folders that they lead to and that cannot be read, each once, and why.
    """
    unread: Unread = []
    found = [
        path
        for one in patterns
        if has_magic(one)
        for path in _matches(folder, Path(one).parts, unread)
        if not one.endswith("/") or is_folder(path)
    ]
    return found, unread


def is_folder(path: os.PathLike[str]) -> bool:
    """Return whether a path leads to a folder, directly or through links. A loop of links leads nowhere."""
    return os.path.isdir(path)  # noqa: PTH112 - the methods of paths and entries raise there


def is_there(path: Path) -> bool:
    """Return whether something has this path, even a broken link. An impossible file name does not exist.

    Raises OSError if that is unknown, such as in an unreadable folder.
    """
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return False
        raise
    return True


def _matches(folder: Path, names: tuple[str, ...], unread: Unread) -> Iterable[Path]:
    """Return the paths below a folder that a glob's names lead to, each once, however many `**` lead there."""
    reached: Iterable[Path] = [folder]
    *inner, last = globs.segments(names)
    for name in inner:
        reached = dict.fromkeys(_step(reached, name, unread))
    found = _step(reached, last, unread)
    return found if has_magic(last) else (path for path in found if _is_seen(path, unread))


def _is_seen(path: Path, unread: Unread) -> bool:
    try:
        return is_there(path)
    except OSError as error:
        _tell(path.parent, error, unread)
        return False


def _step(folders: Iterable[Path], name: str, unread: Unread) -> Iterator[Path]:
    if name == globs.ANY_DEPTH:
        yield from _folders(folders, unread)
    elif has_magic(name):
        for folder in folders:
            yield from (folder / one.name for one in _entries(folder, unread) if globs.fits(one.name, name))
    else:
        yield from (folder / name for folder in folders)


def _folders(tops: Iterable[Path], unread: Unread) -> Iterator[Path]:
    """Yield folders and those below them, each once, by its own path before those of links to it."""
    here, behind_links = deque[Path](), deque[Path]()
    for top in tops:
        is_behind_link = any(map(os.path.islink, (top, *top.parents)))
        (behind_links if is_behind_link else here).append(top)
    seen: set[tuple[int, int]] = set()
    while here or behind_links:
        folder = (here or behind_links).popleft()
        try:
            found = folder.stat()
        except (OSError, ValueError):  # ValueError: a name that no file can have
            continue
        if (found.st_dev, found.st_ino) in seen:
            continue
        seen.add((found.st_dev, found.st_ino))
        yield folder
        for entry in _entries(folder, unread):
            if globs.is_entered(entry.name) and is_folder(entry):
                (behind_links if entry.is_symlink() else here).append(folder / entry.name)


def _entries(folder: Path, unread: Unread) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a name that no file can have
        return []
    except OSError as error:
        _tell(folder, error, unread)
        return []


def _tell(folder: Path, error: OSError, unread: Unread) -> None:
    if all(folder != path for path, _ in unread):
        unread.append((folder, error))
