"""What a command knows of its surroundings, and what it does to them: the clock, GitHub, lines of two streams.

Also the checkout of a path: its root, its commit, and whose code it is. Under `pull_request_target` a workflow has the
base repository's token and secrets, so files of a pull request need explicit permission. `.git` folders are read,
nothing is run.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from safe_gate.github import Api, event
from safe_gate.github.event import OF_A_HEAD, Context
from safe_gate.model.problems import CannotJudge, Code, Place, Problem

if TYPE_CHECKING:
    from safe_gate.settings.model import Access

_LAST_SECOND = 253_402_300_799  # the end of the year 9999


class Effects(NamedTuple):
    """Where a command prints, its time (ISO 8601 in UTC), its place on GitHub, and what it tells programs.

    `folder` is the working folder's path in the repository, "" at its root. `tell` takes a fact by name, or what
    computes it: programs get it by `--json` (docs/json.md). `given` are the settings that no config file has: those
    that a command line must repeat.
    """

    out: Callable[[str], None]
    err: Callable[[str], None]
    generated_at: str
    context: Context
    folder: str = ""
    given: frozenset[str] = frozenset()
    tell: Callable[[str, Any], None] = lambda _name, _fact: None

    @classmethod
    def of(
        cls, environ: Mapping[str, str], generated_at: str, out: Callable[[str], None], err: Callable[[str], None]
    ) -> Effects:
        """Return what a command may do in an environment at a time, with where it prints."""
        folder = working_folder(environ.get("GITHUB_WORKSPACE", ""))
        return cls(out, err, generated_at, event.context(environ), folder)

    def connect(self, access: Access) -> Api:
        """Return GitHub's API: one for each timeout, so that all requests for the same purpose share a deadline."""
        return _client(self.context.api_url, access, self.out)


def time_of(environ: Mapping[str, str]) -> str:
    """Return the time of the run as ISO 8601 in UTC, or the one SOURCE_DATE_EPOCH fixes. Raises CannotJudge."""
    epoch = environ.get("SOURCE_DATE_EPOCH", "").strip()
    if epoch and not (re.fullmatch(r"[0-9]{1,12}", epoch) and int(epoch) <= _LAST_SECOND):
        words = f"is {epoch[:40]!r}; expected whole seconds from 1970 to 9999"
        raise CannotJudge(Problem(Place("SOURCE_DATE_EPOCH"), words, code=Code.INVALID_SETTING))
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(epoch) if epoch else None))


@lru_cache(maxsize=2)
def _client(api_url: str, access: Access, say: Callable[[str], None]) -> Api:
    from safe_gate.github.client import Client  # `requests` only where GitHub is asked

    return Client(api_url, access.token, say=say, seconds=access.seconds, sleep=time.sleep)


_LONGEST = 10_000_000  # characters: the refs of a large repository
_SHA = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


def root(path: Path) -> Path | None:
    """Return the nearest folder with a `.git`, from an absolute path upwards, None if there is none. Raises OSError."""
    return next((folder for folder in (path, *path.parents) if (folder / ".git").exists()), None)


def working_folder(workspace: str) -> str:
    """Return the working folder's path from the root of its repository, "" at the root or where there is none.

    The root is the nearest folder upwards with a `.git`, else `workspace`, the folder that the runner checks out
    into. A checkout may lie in a subfolder of the workspace. A step may work in a subfolder of the checkout.
    """
    try:
        here = Path.cwd()
        path = here.relative_to(root(here) or Path(workspace or here)).as_posix()
    except (OSError, ValueError):  # a folder that is gone or may not be searched, one outside the workspace
        return ""
    return "" if path == "." else path


def foreign_checkout(context: Context, paths: Iterable[Path]) -> str:
    """Return the first checkout among those that files lie in that `pull_request_target` cannot trust, or nothing.

    A checkout is trusted at a commit that the event names as the base's. Nothing identifies a head: its branch moves
    on after the event, and it may belong to another pull request. Files that lie in no checkout tell nothing and
    pass.
    """
    if context.event != "pull_request_target":
        return ""
    trusted = {context.sha, context.subject.base_sha} - {""}
    roots = {root_in_sight(Path(os.path.realpath(path))) for path in paths} - {None}
    foreign = sorted(os.path.relpath(root) for root in roots if root and _head(_git_folder(root)) not in trusted)
    return foreign[0] if foreign else ""


def is_merge_of_event(context: Context) -> bool:
    """Return whether the working folder is at the merge commit that GitHub made for a pull request's event.

    GITHUB_SHA names it there, and no author of a change can choose it. It may have been made for another head.
    """
    root = root_in_sight(Path.cwd()) if context.event in OF_A_HEAD else None
    return root is not None and bool(context.sha) and _head(_git_folder(root)) == context.sha


def commit_of(folder: Path) -> str:
    """Return the commit that the checkout around a folder is at, "" if there is none."""
    root = root_in_sight(folder)
    found = _head(_git_folder(root)) if root else ""
    return found if _SHA.fullmatch(found) else ""


def root_in_sight(path: Path) -> Path | None:
    """Return what `root` does, None also where nobody may look, for nothing is read from there."""
    with suppress(OSError):
        return root(path)
    return None


def _git_folder(folder: Path) -> Path:
    """Return a checkout's git folder; in a worktree `.git` is a file that names it."""
    link = _read(folder / ".git")
    return folder / link.removeprefix("gitdir: ") if link.startswith("gitdir: ") else folder / ".git"


def _head(git: Path) -> str:
    """Return the commit that HEAD names, directly or by a branch, or nothing; packed refs are older than loose ones."""
    head = _read(git / "HEAD")
    if not head.startswith("ref: "):
        return head
    name = head.removeprefix("ref: ")
    common = git / (_read(git / "commondir") or ".")
    if loose := _read(common / name):
        return loose
    packed = (line.partition(" ") for line in _read(common / "packed-refs").split("\n"))
    return next((sha for sha, _, ref in packed if ref == name and _SHA.fullmatch(sha)), "")


def _read(path: Path) -> str:
    try:
        if not path.is_file():
            return ""
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(_LONGEST).strip()
    except (OSError, ValueError):
        return ""
