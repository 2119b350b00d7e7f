"""Shell: the files that paths and globs name, and what may be meant by those that name none. Lists folders.

A glob has `*`, `?` and `[...]` within a name, and `**` for any depth, on disk and in a list of paths.

As in `glob.glob`, only a pattern that begins with a dot matches a name that does. Unlike it, `matches` reports a
folder that cannot be read. `**` enters each folder once, whatever links lead there, because a link to `.` has no end.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from glob import has_magic
from itertools import accumulate
from pathlib import Path

from safe_gate.core.validate import suggestion
from safe_gate.inputs.disk import DASH, HERE, STANDARD_INPUT, exists, is_there, location, shown, unreadable
from safe_gate.model.problems import CannotJudge, Code, Place, Problem

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


_UP_AGAIN = re.compile(r"[*?\[].*/\.\.(?:/|\Z)", re.DOTALL)  # from a wildcard, which may stand for any depth


def expand(patterns: Sequence[str], suffix: str = ".jsonl", *, root: Path = HERE) -> tuple[list[Path], list[Problem]]:
    """Return the files of paths and globs, sorted, each once, and a problem for each pattern without files.

    `-` is standard input, which a commit does not have. Globs skip `own_cases`. `suffix` is the expected suffix, for
    the problem's words. `root` is the folder that stands for the working folder, such as the folder of a commit's
    files.
    """
    found: list[Path] = []
    problems: list[Problem] = []
    for pattern in patterns:
        if refused := outside(pattern, root):
            problems.append(refused)
            continue
        if pattern == DASH:
            found += [STANDARD_INPUT] if root == HERE else []
            continue
        matched, unread = matches([pattern], root)
        matched = [path for path in matched if not _is_own(path)]
        literal = () if unread else (root / pattern,)  # an unreadable place counts as there
        files = [path for path in (*literal, *matched) if exists(path) and not is_folder(path)]
        problems += [unreadable(path, why, root) for path, why in unread.items()]
        if not files and not unread:
            problems.append(no_match(pattern, suffix, root))
        found += files
    return distinct(found), list(dict.fromkeys(problems))  # two patterns may have the same


_OWN_CASES = "safe-gate.cases.jsonl"
_FIRST_KEY = b'{"evaluator":'


def _is_own(path: Path) -> bool:
    """Return whether a file is of judged cases: it has the name, and begins as a run writes it or is empty."""
    if path.name != _OWN_CASES:
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(_FIRST_KEY)) in (_FIRST_KEY, b"")
    except OSError:
        return False


def own_cases(patterns: Sequence[str], *, root: Path = HERE) -> list[Path]:
    """Return the files of judged cases, written by a run, that globs match: `expand` passes over them."""
    inside = [pattern for pattern in patterns if not outside(pattern, root)]
    return distinct(path for path in matches(inside, root)[0] if _is_own(path))


def distinct(paths: Iterable[Path]) -> list[Path]:
    """Return paths of files, sorted as reports show them, of those that are one file in several spellings the first."""
    found: dict[Path, Path] = {}
    for path in paths:
        found.setdefault(location(path), path)
    return sorted(found.values(), key=lambda path: Path(shown(path)))


def outside(path: str, root: Path) -> Problem | None:
    """Return the problem of a path or glob that leads out of a commit's files, which are below `root`.

    A folder with `.git` is the top of them, as it is of a checkout. The working folder has no outside.
    """
    if root == HERE:
        return None
    top = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)
    is_inside = Path(os.path.normpath(root / path)).is_relative_to(os.path.normpath(top))
    if is_inside and not Path(path).is_absolute() and not _UP_AGAIN.search(path):
        return None
    words = "cannot be read at a commit: it leads out of the repository; write it relative to the working folder"
    return Problem(Place(shown(Path(path))), words, code=Code.UNREADABLE_FILE)


def named_or_default(path: str, default: str, root: Path) -> tuple[Path, str] | None:
    """Return a file and what problems call it, None if none was named and none is there. Raises CannotJudge."""
    if refused := outside(path, root):
        raise CannotJudge(refused)
    file = root / (path or default)
    name = shown(file, root)
    if path and root != HERE and not exists(file):
        words = "cannot be read: the commit has no such file; add it in one change, and name it in the next"
        raise CannotJudge.at(name, words, Code.UNREADABLE_FILE)
    return (file, name) if path or exists(file) else None


def no_match(pattern: str, suffix: str, root: Path) -> Problem:
    """Return the problem of a pattern that names no file, with what may have been meant."""
    named, path = Path(pattern), root / pattern
    if is_folder(path):
        hint = f"is a folder; name the files in it, such as {(named / f'*{suffix}').as_posix()}"
    else:
        slashes = "; write paths with /" if "\\" in pattern else ""
        hint = f"matches no file{close_to(pattern, root)}; correct the path or the pattern{slashes}"
    return Problem(Place(pattern), hint, code=Code.UNREADABLE_FILE)


def close_to(path: str, root: Path = HERE) -> str:
    """Return a hint at the closest file name in the folder of a missing path, "" for none."""
    named, siblings = Path(path), list[Path]()
    with suppress(OSError, ValueError):
        siblings += (root / path).parent.iterdir()
    return suggestion(named.name, {one.name: (named.parent / one.name).as_posix() for one in siblings})
