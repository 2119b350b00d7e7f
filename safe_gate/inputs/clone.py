"""Shell: the repository around the working folder, read by `git`.

`git` only reads. The configuration of the user and the system does not count. A repository's own configuration cannot
make git run anything: no hook, pager, prompt or signature program. Missing objects are not fetched. `git archive` is
not used, because attributes of the repository could hide files from it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from itertools import takewhile
from typing import IO, BinaryIO

from safe_gate.inputs.commit_files import Commit, Entry, Missing, TooManyBytes, kind_of, two_commits

_LAST_SECOND = 253_402_300_799  # the end of the year 9999
_PATIENCE = 120  # seconds for one command
_OPTIONS = (
    *("--no-pager", "--no-replace-objects"),
    *("-c", "safe.directory=*"),  # in a container the checkout is another user's
    *("-c", "protocol.allow=never"),  # before git 2.45 there is no GIT_NO_LAZY_FETCH
    *("-c", "core.fsmonitor=false", "-c", "log.showSignature=false"),
)
_ENVIRON = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
_KEPT = ("PATH", "SYSTEMROOT")
_MADE_AT = re.compile(r"^committer .* (\d{1,20}) [+-]\d+$", re.MULTILINE)
_SUFFIX = re.compile(r"[~^:]|@\{")  # suffixes that a ref's name may have


class Clone:
    """The repository that contains the working folder."""

    def commit(self, ref: str) -> Commit:
        """Return the commit that a ref names. Raises Missing if the clone does not have it, or there is no git.

        Raises CannotJudge for a tag by the name of a branch elsewhere: git would take it.
        """
        sha = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}").decode().strip()
        if twins := _twins(_SUFFIX.split(ref, maxsplit=1)[0]):
            raise two_commits(ref, twins)
        # The raw commit has its parents, also at the end of a shallow clone.
        header, _, _ = _git("cat-file", "commit", sha).decode("utf-8", "replace").partition("\n\n")
        parents = takewhile(lambda line: line.startswith("parent "), header.split("\n")[1:])
        seconds = int(made[1]) if (made := _MADE_AT.search(header)) else -1
        is_time = 0 <= seconds <= _LAST_SECOND  # a commit may claim any
        made_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)) if is_time else ""
        return Commit(sha, made_at, tuple(line.removeprefix("parent ") for line in parents))

    def shape(self) -> tuple[bool, str]:
        """Return whether the clone is shallow, and the filter of a partial one, such as "blob:none". Raises Missing."""
        is_shallow = _git("rev-parse", "--is-shallow-repository").strip() == b"true"
        try:
            found = _git("config", "--local", "--get-regexp", r"^remote\..*\.partialclonefilter$")
        except Missing:
            return is_shallow, ""
        return is_shallow, found.decode("utf-8", "replace").split("\n")[0].partition(" ")[2]

    def remotes(self) -> str:
        """Return the addresses of the clone's remotes, one a line. Raises Missing if there is none."""
        return _git("config", "--local", "--get-regexp", r"^remote\..*\.url$").decode("utf-8", "replace")

    def address(self) -> str:
        """Return the address of the remote `origin`, without user and password. Raises Missing if there is none."""
        found = _git("config", "--local", "--get", "remote.origin.url").decode("utf-8", "replace").strip()
        scheme, _, rest = found.rpartition("://")
        return f"{scheme or 'ssh'}://{rest.rpartition('@')[2].partition('?')[0].removesuffix('.git')}"

    def folder(self) -> str:
        """Return the path of the working folder below the top of the clone, such as "app/". Raises Missing."""
        return _git("rev-parse", "--show-prefix").decode("utf-8", "replace").rstrip("\n")

    def entries(self, commit: str) -> Iterator[Entry]:
        """Yield what a commit holds, its folders too. Raises Missing."""
        for line in _git("ls-tree", "-r", "-t", "-z", "--full-tree", commit).split(b"\0"):
            if line:
                facts, _, path = line.partition(b"\t")
                mode, _, blob = facts.decode("ascii").split(" ")
                yield Entry(os.fsdecode(path), kind_of(mode), blob)

    def read(self, file: Entry, into: BinaryIO, most: int) -> None:
        """Write a file's bytes. Raises Missing if the clone lacks it, and TooManyBytes if it has more than `most`."""
        size = _git("cat-file", "--batch-check=%(objectsize)", data=f"{file.blob}\n".encode()).strip()
        if not size.isdigit():  # `<id> missing`
            raise Missing("it does not have all files of the commit")
        if int(size) > most:
            raise TooManyBytes
        _git("cat-file", "blob", file.blob, into=into)


def _twins(name: str) -> list[str]:
    """Return a tag and the branches of one name, here or fetched, if they are at different commits."""
    kinds = ("tags", "heads", "remotes", "remotes/*")
    named = _git("for-each-ref", "--format=%(refname)", *(f"refs/{kind}/{name}" for kind in kinds))
    found = [one for one in os.fsdecode(named).splitlines() if one.endswith(f"/{name}")]  # it also names paths below
    if f"refs/tags/{name}" not in found:
        return []
    commits = _git("rev-parse", *(f"{one}^{{commit}}" for one in found)).split()
    return found if len(set(commits)) > 1 else []


def _git(*arguments: str, data: bytes = b"", into: IO[bytes] | None = None) -> bytes:
    """Return what a command says, or nothing if that goes into a file. Raises Missing unless it succeeds."""
    program = shutil.which("git")
    if program is None:
        raise Missing("git is not installed")
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    try:
        done = subprocess.run(  # noqa: S603 - a list, no shell; what a user wrote stands behind --end-of-options
            [program, *_OPTIONS, *arguments],
            input=data,
            stdout=into or subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_ENVIRON | kept,
            timeout=_PATIENCE,
            check=False,
        )
    except OSError:
        raise Missing("git cannot be run") from None
    except subprocess.TimeoutExpired:
        raise Missing(f"git took more than {_PATIENCE} s") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().split("\n")[0]
        raise Missing(said.removeprefix("fatal: ")[:200] or "it does not have the commit")
    return done.stdout or b""
