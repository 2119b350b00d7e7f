"""Shell: the repository around the working folder, read by `git`, and the files of its commits.

A commit is listed once. Each file is read when it is first asked for, and kept in a folder until then. A `CommitPath`
stands where a `Path` of the disk may. It leads to nothing outside the repository, and through no link: where a pattern
meets one, the commit cannot be read.

`git` only reads. The configuration of the user and the system does not count. A repository's own configuration cannot
make git run anything: no hook, pager, prompt or signature program. Missing objects are not fetched. `git archive` is
not used, because attributes of the repository could hide files from it.
"""

from __future__ import annotations

import os
import posixpath
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from functools import cached_property
from itertools import accumulate, takewhile
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, NamedTuple, Protocol

from safe_gate.model import record
from safe_gate.model.problems import CannotJudge, Code, Place, Problem

LFS_POINTER = b"version https://git-lfs.github.com/spec/"
"""The first bytes of a pointer file of Git LFS."""

MOST_BYTES = 2_000_000_000
"""The most bytes that are read of one commit."""


class Commit(NamedTuple):
    """A commit: its full id, when it was made (ISO 8601 in UTC, "" where that is not known), and its parents' ids."""

    sha: str
    made_at: str
    parents: tuple[str, ...] = ()


class EntryKind(StrEnum):
    """The kind of a tree entry; links and submodules are not followed."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "symbolic link"
    SUBMODULE = "submodule"


_KINDS = {
    "040000": EntryKind.FOLDER,
    "100644": EntryKind.FILE,
    "100755": EntryKind.FILE,
    "100664": EntryKind.FILE,
    "120000": EntryKind.LINK,
}


def entry_kind(mode: str) -> EntryKind:
    """Return the kind of a tree entry by its mode, as git writes it."""
    return _KINDS.get(mode, EntryKind.SUBMODULE)


class Entry(NamedTuple):
    """What a commit has at a path from the repository's root, and the id of its bytes; `size` is 0 if not known."""

    path: str
    kind: EntryKind
    blob: str = ""
    size: int = 0


class Missing(Exception):
    """A commit or some of its objects are missing here; the words say why."""


class TooManyBytes(Exception):
    """A file is larger than what may still be read of its commit."""


class Repository(Protocol):
    """A source of commits. Raises Missing for what it lacks."""

    def commit(self, ref: str) -> Commit:
        """Return the commit that a ref names."""

    def entries(self, commit: str) -> Iterable[Entry]:
        """Return what a commit holds, its folders too."""

    def read(self, file: Entry, into: BinaryIO, most: int) -> None:
        """Write a file's bytes. Raises TooManyBytes if it has more than `most`."""


def unavailable(what: str, words: str) -> CannotJudge:
    """Return the refusal of a baseline, of a path in one, or of a setting that needs one."""
    return CannotJudge(Problem(Place(what), words, code=Code.BASE_UNAVAILABLE))


class CommitFiles:
    """The files of the commit `sha`, by paths from the working folder, which is `folder` in the repository.

    `listed` and `read` ask a repository, and raise CannotJudge where nobody has what is asked for. `kept` is an empty
    folder for files that were read.
    """

    def __init__(
        self,
        sha: str,
        folder: str,
        listed: Callable[[], Iterable[Entry]],
        read: Callable[[Entry, BinaryIO, int], None],
        kept: Path,
    ) -> None:
        self.folder = folder
        self._sha = sha
        self._listed, self._read, self._kept = listed, read, kept
        self._above = {"", *accumulate(PurePosixPath(folder).parts, posixpath.join)}
        self._paths: dict[str, Path] = {}
        self._left = MOST_BYTES

    @cached_property
    def _entries(self) -> dict[str, Entry]:
        found = {"": Entry("", EntryKind.FOLDER)} | {one.path: one for one in self._listed()}
        if strange := next((path for path in found if not {".", "..", ".git"}.isdisjoint(path.split("/"))), None):
            raise unavailable(strange, "is a path that no checkout can have; correct the commit")
        return found

    @cached_property
    def names(self) -> Mapping[str, Sequence[str]]:
        """The names in each folder that has any, in their order."""
        found: dict[str, list[str]] = {}
        for path in sorted(self._entries.keys() - {""}):
            folder, _, name = path.rpartition("/")
            found.setdefault(folder, []).append(name)
        return found

    def entry(self, path: PurePosixPath) -> Entry | None:
        """Return the entry at a path, None if there is nothing.

        Raises CannotJudge for a path out of the repository, or through a link or a submodule.
        """
        at, found, is_there = "", self._entries.get(""), True
        for part in (*PurePosixPath(self.folder).parts, *path.parts):
            if path.is_absolute() or (part == ".." and not at):
                why = "is absolute" if path.is_absolute() else "leads out of the repository"
                words = f"{why}, so no commit has it; write it relative to the working folder"
                raise unavailable(str(path), words)
            is_there = is_there and (at in self._above or (found is not None and found.kind is EntryKind.FOLDER))
            at = posixpath.dirname(at) if part == ".." else posixpath.join(at, part)
            found = self._entries.get(at)
            if found and found.kind in (EntryKind.LINK, EntryKind.SUBMODULE):
                words = f"is a {found.kind}, which is not followed at commit {self._sha[:7]}"
                advice = "name a report as the baseline, or remove it from that branch, or let no pattern lead to it"
                raise unavailable(found.path, f"{words}; {advice}")
        return found if is_there else None

    def named(self, names: Collection[str]) -> Iterator[str]:
        """Yield the files of these names, by paths from the working folder."""
        for path, one in self._entries.items():
            if one.kind is EntryKind.FILE and posixpath.basename(path) in names:
                yield posixpath.relpath(f"/{path}", f"/{self.folder}")

    def open(self, file: Entry) -> BinaryIO:
        """Open a file, which is read from the repository once. Raises OSError, and CannotJudge as `entry` does."""
        if file.blob not in self._paths:
            path = self._kept / str(len(self._paths))
            with path.open("wb") as into:
                try:
                    self._read(file, into, self._left)
                except TooManyBytes:
                    words = f"is too large: at most {MOST_BYTES} bytes of a commit are read; narrow the patterns"
                    raise unavailable(file.path, words) from None
                self._left -= into.tell()
            self._paths[file.blob] = path
        opened = self._paths[file.blob].open("rb")
        if opened.read(len(LFS_POINTER)) == LFS_POINTER:
            opened.close()
            pointer = "is stored in Git LFS, and a commit contains only a pointer to it"
            raise unavailable(file.path, f"{pointer}; name a report as the baseline instead")
        opened.seek(0)
        return opened


@record
class CommitPath:
    """A path in a commit, from the working folder. Its methods raise CannotJudge as `CommitFiles.entry` does."""

    files: CommitFiles
    path: PurePosixPath

    def __truediv__(self, path: str | PurePosixPath) -> CommitPath:
        return CommitPath(self.files, self.path / path)

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.name

    @property
    def stem(self) -> str:
        """The name without its suffix."""
        return self.path.stem

    @property
    def suffix(self) -> str:
        """How the name ends, with its dot."""
        return self.path.suffix

    @property
    def parent(self) -> CommitPath:
        """The folder of the path."""
        return CommitPath(self.files, self.path.parent)

    def with_name(self, name: str) -> CommitPath:
        """Return a path with another name in the same folder."""
        return CommitPath(self.files, self.path.with_name(name))

    def normal(self) -> CommitPath:
        """Return the shortest spelling of the path."""
        here = f"/{self.files.folder}"
        return CommitPath(self.files, PurePosixPath(posixpath.relpath(posixpath.join(here, self.path), here)))

    def exists(self) -> bool:
        """Return whether the commit has something there."""
        return self.files.entry(self.path) is not None

    def is_folder(self) -> bool:
        """Return whether the commit has a folder there."""
        found = self.files.entry(self.path)
        return found is not None and found.kind is EntryKind.FOLDER

    def children(self) -> Iterator[CommitPath]:
        """Yield what is in a folder, by name; nothing if there is no folder."""
        found = self.files.entry(self.path)
        return (self / name for name in (self.files.names.get(found.path, ()) if found else ()))

    def open(self) -> BinaryIO:
        """Open a file. Raises OSError if there is none."""
        found = self.files.entry(self.path)
        if found is None:
            raise FileNotFoundError("the commit has no such file; add it in one change, and name it in the next")
        if found.kind is not EntryKind.FILE:
            raise OSError(A_FOLDER if found.kind is EntryKind.FOLDER else NO_FILE)
        return self.files.open(found)


A_FOLDER = "it is a folder, and a file is needed there; move it, or name a file"
NO_FILE = "it is not a regular file; name a file"

FilePath = Path | CommitPath
"""A path on the disk or in a commit."""


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
_NO_BRANCH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z|(?:HEAD|@)(?![\w/.-])")  # a clone has origin/HEAD, too
_MADE_AT = re.compile(r"^committer .* (\d{1,20}) [+-]\d+$", re.MULTILINE)


class Clone:
    """The repository that contains the working folder."""

    def commit(self, ref: str) -> Commit:
        """Return the commit that a ref names. Raises Missing if the clone does not have it, or there is no git."""
        sha = ""
        for folder in () if _NO_BRANCH.match(ref) else ("refs/heads", "refs/remotes", "refs/remotes/origin"):
            with suppress(Missing):  # a tag of the branch's name, which git takes, may be less protected
                sha = sha or _id_of(f"{folder}/{ref}")
        sha = sha or _id_of(ref)
        # The raw commit has its parents, also at the end of a shallow clone.
        header, _, _ = _git("cat-file", "commit", sha).decode("utf-8", "replace").partition("\n\n")
        parents = takewhile(lambda line: line.startswith("parent "), header.split("\n")[1:])
        seconds = int(made[1]) if (made := _MADE_AT.search(header)) else -1
        is_time = 0 <= seconds <= _LAST_SECOND  # a commit may claim any
        made_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)) if is_time else ""
        return Commit(sha, made_at, tuple(line.removeprefix("parent ") for line in parents))

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
                yield Entry(os.fsdecode(path), entry_kind(mode), blob)

    def read(self, file: Entry, into: BinaryIO, most: int) -> None:
        """Write a file's bytes. Raises Missing if the clone lacks it, and TooManyBytes if it has more than `most`."""
        size = _git("cat-file", "--batch-check=%(objectsize)", data=f"{file.blob}\n".encode()).strip()
        if not size.isdigit():  # `<id> missing`
            raise Missing("it does not have all files of the commit")
        if int(size) > most:
            raise TooManyBytes
        _git("cat-file", "blob", file.blob, into=into)


def _id_of(ref: str) -> str:
    return _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}").decode().strip()


def _git(*arguments: str, data: bytes = b"", into: IO[bytes] | None = None) -> bytes:
    """Return the output of a git command, empty if it is written `into` a file. Raises Missing if the command fails."""
    if (program := shutil.which("git")) is None:
        raise Missing("git is not installed")
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
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
