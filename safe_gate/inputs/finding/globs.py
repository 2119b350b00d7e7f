"""Shell: globs, on disk and in a list of paths: `*`, `?` and `[...]` within a name, `**` for any depth. Lists folders.

As in `glob.glob`, only a pattern that begins with a dot matches a name that does. Unlike it, `matches` reports a
folder that cannot be read. `**` enters each folder once, whatever links lead there, because a link to `.` has no end.
"""

from __future__ import annotations

import errno
import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from glob import has_magic
from itertools import accumulate
from pathlib import Path

_ANY_DEPTH = "**"

Unread = dict[Path, OSError]


def _segments(glob: tuple[str, ...]) -> tuple[str, ...]:
    """Return the segments of a glob; `**` at its end names what is below a folder, not the folder itself."""
    return (*glob, "*") if glob[-1:] == (_ANY_DEPTH,) else glob


def _fits(name: str, segment: str) -> bool:
    return fnmatchcase(name, segment) and (segment.startswith(".") or _is_entered(name))


def _is_entered(name: str) -> bool:
    """Return whether `**` goes into a folder of this name. A forged tree may have `..`: it is found, and so refused."""
    return name == ".." or not name.startswith(".")


def names(glob: tuple[str, ...], path: Sequence[str]) -> bool:
    """Return whether a glob names a path, both as segments. A segment also names itself, whatever it holds."""
    *_, whole = _reached(glob, path)
    return whole[-1]


def leads_into(glob: tuple[str, ...], folder: Sequence[str]) -> bool:
    """Return whether a glob may name something below a folder.

    >>> leads_into(("a", "**", "*.json"), ("a", "b")), leads_into(("a", "*.json"), ("a", "b"))
    (True, False)
    """
    *parts, _ = _reached(glob, folder)
    return any(part[-1] for part in parts)


def _reached(glob: tuple[str, ...], path: Sequence[str]) -> Iterator[list[bool]]:
    """Yield for 0, 1, 2 ... first segments of a glob which first names of a path they match."""
    reached = [True, *(False for _ in path)]
    yield reached
    for segment in _segments(glob):
        if segment == _ANY_DEPTH:
            deeper = zip(reached[1:], path, strict=True)
            reached = list(
                accumulate(deeper, lambda was, at: at[0] or (was and _is_entered(at[1])), initial=reached[0])
            )
        else:
            steps = zip(reached, path, strict=False)
            reached = [False, *(was and (name == segment or _fits(name, segment)) for was, name in steps)]
        yield reached


def matches(patterns: Iterable[str], folder: Path) -> tuple[list[Path], Unread]:
    """Return the paths below a folder that globs name, none for a pattern without wildcards.

    With them come the folders that they lead to and that cannot be read, each once, and why.
    """
    unread: Unread = {}
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
    *inner, last = _segments(names)
    for name in inner:
        reached = dict.fromkeys(_step(reached, name, unread))
    found = _step(reached, last, unread)
    return found if has_magic(last) else (path for path in found if _is_seen(path, unread))


def _is_seen(path: Path, unread: Unread) -> bool:
    try:
        return is_there(path)
    except OSError as error:
        unread.setdefault(path.parent, error)
        return False


def _step(folders: Iterable[Path], name: str, unread: Unread) -> Iterator[Path]:
    if name == _ANY_DEPTH:
        yield from _folders(folders, unread)
    elif has_magic(name):
        for folder in folders:
            yield from (folder / one.name for one in _entries(folder, unread) if _fits(one.name, name))
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
            if _is_entered(entry.name) and is_folder(entry):
                (behind_links if entry.is_symlink() else here).append(folder / entry.name)


def _entries(folder: Path, unread: Unread) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a name that no file can have
        return []
    except OSError as error:
        unread.setdefault(folder, error)
        return []
