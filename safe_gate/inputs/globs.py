"""Shell: the files that paths and globs name, and what may be meant by those that name none. Lists folders.

A glob has `*`, `?` and `[...]` within a name, and `**` for any depth, on disk and in a commit.

As in `glob.glob`, only a pattern that begins with a dot matches a name that does. Unlike it, `match_globs` reports a
folder that cannot be read. `**` enters each folder once, whatever links lead there, because a link to `.` has no end.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import partial
from glob import has_magic
from pathlib import Path
from typing import NamedTuple

from safe_gate.inputs.commit_files import CommitPath, FilePath
from safe_gate.inputs.disk import (
    DASH,
    HERE,
    STANDARD_INPUT,
    P,
    Unread,
    children,
    display_path,
    exists,
    identity,
    is_there,
    location,
    similar_name_hint,
    unreadable_problem,
)
from safe_gate.model.problems import CannotJudge, Code, Place, Problem

_ANY_DEPTH = "**"


def match_globs(patterns: Iterable[str], folder: FilePath) -> tuple[list[FilePath], Unread]:
    """Return the paths below a folder that globs name, none for a pattern without wildcards.

    With them come the folders that they lead to and that cannot be read, each once, and why. Raises CannotJudge where
    a commit cannot be read.
    """
    unread: Unread = {}
    found = [
        path
        for one in patterns
        if has_magic(one)
        for path in _match_glob(folder, Path(one).parts, unread)
        if not one.endswith("/") or is_folder(path)
    ]
    return found, unread


def is_folder(path: FilePath) -> bool:
    """Return whether a path leads to a folder, directly or through links. A loop of links leads nowhere."""
    return path.is_folder() if isinstance(path, CommitPath) else os.path.isdir(path)  # noqa: PTH112 - `is_dir` raises


def _match_glob(folder: FilePath, names: tuple[str, ...], unread: Unread) -> Iterable[FilePath]:
    """Return the paths below a folder that a glob's names lead to, each once, however many `**` lead there."""
    reached: Iterable[FilePath] = [folder]
    # `**` at the end names what is below a folder, not the folder itself.
    *inner, last = (*names, "*") if names[-1:] == (_ANY_DEPTH,) else names
    for name in inner:
        reached = dict.fromkeys(_step(reached, name, unread))
    found = _step(reached, last, unread)
    return found if has_magic(last) else (path for path in found if _is_seen(path, unread))


def _is_seen(path: FilePath, unread: Unread) -> bool:
    try:
        return is_there(path)
    except OSError as error:
        unread.setdefault(path.parent, error)
        return False


def _step(folders: Iterable[FilePath], name: str, unread: Unread) -> Iterator[FilePath]:
    if name == _ANY_DEPTH:
        yield from _folders(folders, unread)
    elif has_magic(name):
        for folder in folders:
            for one in children(folder, unread):
                if fnmatchcase(one.name, name) and (name.startswith(".") or not one.name.startswith(".")):
                    yield one
    else:
        yield from (folder / name for folder in folders)


def _folders(tops: Iterable[FilePath], unread: Unread) -> Iterator[FilePath]:
    """Yield folders and those below them, each once, by its own path before those of links to it."""
    here, behind_links = deque[FilePath](), deque[FilePath]()
    for top in tops:
        is_behind_link = isinstance(top, Path) and any(map(_is_link, (top, *top.parents)))
        (behind_links if is_behind_link else here).append(top)
    seen: set[object] = set()
    while here or behind_links:
        folder = (here or behind_links).popleft()
        if not is_folder(folder) or (found := identity(folder)) in seen:
            continue
        seen.add(found)
        yield folder
        for one in children(folder, unread):
            if not one.name.startswith(".") and is_folder(one):
                (behind_links if _is_link(one) else here).append(one)


def _is_link(path: FilePath) -> bool:
    return isinstance(path, Path) and os.path.islink(path)  # noqa: PTH114 - `is_symlink` raises


class MatchedFiles(NamedTuple):
    """The files that patterns name, their problems, and the files that a glob matches and skips."""

    paths: list[FilePath]
    problems: list[Problem]
    skipped: list[FilePath]


_OWN_CASES = "safe-gate.cases.jsonl"


def is_own(path: FilePath) -> bool:
    """Return whether a file is named like those that the gate writes. Globs of batches and of sources skip these."""
    return path.name.startswith("safe-gate.")


def expand_patterns(patterns: Sequence[str], suffix: str = ".jsonl", *, root: FilePath = HERE) -> MatchedFiles:
    """Return the files of paths and globs, sorted, each once, and a problem for each pattern without files.

    `-` is standard input, which a commit does not have. Globs skip judged cases, as a run writes them. `suffix` is the
    expected suffix, for the problem's words. `root` is the working folder, on the disk or in a commit.
    """
    return match_each(patterns, partial(_match_pattern, suffix=suffix, root=root))


def _match_pattern(pattern: str, *, suffix: str, root: FilePath) -> MatchedFiles:
    if pattern == DASH:
        return MatchedFiles([STANDARD_INPUT] if root == HERE else [], [], [])
    matched, unread = match_globs([pattern], root)
    literal = () if unread else (root / pattern,)  # an unreadable place counts as there
    some = [*literal, *(path for path in matched if path.name != _OWN_CASES)]
    files = [path for path in some if exists(path) and not is_folder(path)]
    problems = [unreadable_problem(path, why) for path, why in unread.items()]
    problems += folder_problems(pattern, matched) if suffix else ()
    if not (files or problems):
        problems.append(no_match_problem(pattern, suffix, root))
    return MatchedFiles(files, problems, [path for path in matched if path.name == _OWN_CASES])


def match_each(patterns: Iterable[str], match: Callable[[str], MatchedFiles]) -> MatchedFiles:
    """Return what a function finds for each pattern: the files sorted, each once, and each problem once."""
    found, problems, skipped = list[FilePath](), list[Problem](), list[FilePath]()
    for pattern in patterns:
        try:
            one = match(pattern)
        except CannotJudge as error:
            problems += error.problems
            continue
        found += one.paths
        problems += one.problems
        skipped += one.skipped
    return MatchedFiles(unique_paths(found), list(dict.fromkeys(problems)), unique_paths(skipped))


def expand_on_disk(patterns: Sequence[str], suffix: str = ".jsonl") -> tuple[list[Path], list[Problem]]:
    """Return the files that patterns name on the disk, and the problems, as `expand_patterns` does."""
    paths, problems, _ = expand_patterns(patterns, suffix)
    return [path for path in paths if isinstance(path, Path)], problems


def unique_paths(paths: Iterable[P]) -> list[P]:
    """Return paths of files, sorted as reports show them. Of several spellings of one file the first is kept."""
    found: dict[FilePath, P] = {}
    for path in paths:
        found.setdefault(location(path), path)
    return sorted(found.values(), key=lambda path: Path(display_path(path)))


def folder_problems(pattern: str, matched: Iterable[FilePath]) -> Iterator[Problem]:
    """Yield a problem for each folder on the disk that a glob matches, if the glob ends in a suffix as files have.

    A folder stays as it is in a commit, against which a change that renames it must be judged, and if the glob matches
    all that is in it.
    """
    suffix, paths = Path(pattern).suffix, {path for path in matched if isinstance(path, Path)}
    for path in sorted(paths) if suffix and not has_magic(suffix) else ():
        if is_folder(path) and not all(one in paths or is_folder(one) for one in path.rglob("*")):
            words = f"is a folder; rename it, or name the files in it and the others in place of {pattern}"
            yield Problem(Place(display_path(path)), words, code=Code.UNREADABLE_FILE)


def no_match_problem(pattern: str, suffix: str, root: FilePath) -> Problem:
    """Return the problem of a pattern that matches no file, with a hint at a similar name."""
    named, path = Path(pattern), root / pattern
    if is_folder(path):
        hint = f"is a folder; name the files in it, such as {(named / f'*{suffix}').as_posix()}"
    else:
        slashes = "; write paths with /" if "\\" in pattern else ""
        hint = f"matches no file{similar_name_hint(pattern, root)}; correct the path or the pattern{slashes}"
    return Problem(Place(pattern), hint, code=Code.UNREADABLE_FILE)
