"""Shell: the files that paths and globs name, and what may be meant by those that name none."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from safe_gate.core.validate import suggestion
from safe_gate.inputs.disk import DASH, HERE, STANDARD_INPUT, exists, location, shown, unreadable
from safe_gate.inputs.finding import globs
from safe_gate.model.problems import CannotJudge, Code, Place, Problem

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
        matched, unread = globs.matches([pattern], root)
        matched = [path for path in matched if not _is_own(path)]
        literal = () if unread else (root / pattern,)  # an unreadable place counts as there
        files = [path for path in (*literal, *matched) if exists(path) and not globs.is_folder(path)]
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
    return distinct(path for path in globs.matches(inside, root)[0] if _is_own(path))


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
        raise CannotJudge(Problem(Place(name), words, code=Code.UNREADABLE_FILE))
    return (file, name) if path or exists(file) else None


def no_match(pattern: str, suffix: str, root: Path) -> Problem:
    """Return the problem of a pattern that names no file, with what may have been meant."""
    named, path = Path(pattern), root / pattern
    if globs.is_folder(path):
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
