"""Whose code lies in the workspace: a pull request's own, or the repository's.

Reads `.git` folders, runs nothing. Under `pull_request_target` a workflow runs with the base
repository's token and secrets; what a pull request brings along must then be asked for in words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from safe_gate.github.event import Context

_LONGEST = 10_000_000  # characters: the refs of a large repository
_SHA = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


def head_checkout(context: Context, workspace: Path) -> str:
    """Return the folder that holds the pull request's own code under `pull_request_target`, or nothing.

    The workspace and the folders directly in it are looked at, where actions/checkout puts code.
    """
    if context.event != "pull_request_target":
        return ""
    theirs = {context.subject.head_sha, context.subject.merge_sha} - {""}
    for folder in (workspace, *sorted(path.parent for path in workspace.glob("*/.git"))):
        git = _git_folder(folder)
        merge_ref = git / f"refs/remotes/pull/{context.subject.pull_request}/merge"  # as actions/checkout names it
        if theirs & set(_heads(git)) or _read(merge_ref):
            return folder.relative_to(workspace).as_posix()
    return ""


def _git_folder(folder: Path) -> Path:
    """Return a checkout's git folder; in a worktree `.git` is a file that names it."""
    link = _read(folder / ".git")
    return folder / link.removeprefix("gitdir: ") if link.startswith("gitdir: ") else folder / ".git"


def _heads(git: Path) -> Iterator[str]:
    """Yield the commit that HEAD names, directly or by a branch."""
    head = _read(git / "HEAD")
    if not head.startswith("ref: "):
        yield head
        return
    name = head.removeprefix("ref: ")
    common = git / (_read(git / "commondir") or ".")
    yield _read(common / name)
    for line in _read(common / "packed-refs").split("\n"):
        sha, _, ref = line.partition(" ")
        if ref == name and _SHA.fullmatch(sha):
            yield sha


def _read(path: Path) -> str:
    try:
        if not path.is_file():
            return ""
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(_LONGEST).strip()
    except (OSError, ValueError):
        return ""
