"""Shell: the files of a commit that patterns name, read from the clone around the working folder by `git`.

`Selection` chooses without a file system, and a file if in doubt: `globs` matches the fetched files again, as in the
working folder.

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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from itertools import pairwise, takewhile
from tempfile import TemporaryFile
from typing import IO, NamedTuple

from safe_gate.inputs import globs
from safe_gate.model.problems import CannotJudge, Code, Place, Problem


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit: its full id, when it was made (ISO 8601 in UTC, "" where that is not known), and its parents' ids."""

    sha: str
    made_at: str
    parents: tuple[str, ...] = ()


class Kind(StrEnum):
    """The kind of a tree entry; links and submodules are not followed."""

    FILE = "file"
    LINK = "symbolic link"
    SUBMODULE = "submodule"


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, link or submodule of a commit: its path from the repository's root, and its blob's id."""

    path: str
    kind: Kind
    blob: str
    size: int = 0


class Missing(Exception):
    """A commit or some of its objects are missing here; the words say why."""


def two_commits(ref: str, names: Sequence[str]) -> CannotJudge:
    """Return the refusal of a ref that is a tag and a different branch: tags may have weaker protection."""
    words = (
        f"is a tag and a branch at different commits ({', '.join(names)}); use the full ref, such as refs/heads/NAME"
    )
    return CannotJudge(Problem(Place(ref), words, code=Code.BASE_UNAVAILABLE))


class Pattern(NamedTuple):
    """A path or a glob, and whether it means batches: then a final wildcard matches only JSON."""

    path: str
    is_batch: bool = False


@dataclass(frozen=True, slots=True)
class Selection:
    """The files that patterns name in a repository, each pattern as its segments from the root.

    `narrow` patterns mean only JSON, and the file with the pattern as its name. `left` are folders that patterns enter
    and leave by `..`. If such a folder is a link, the path leads elsewhere.

    >>> chosen = Selection.of([Pattern("clinical/*_batch_*", is_batch=True), Pattern("../shared/**/*.jsonl")], "evals")
    >>> chosen.has("evals/clinical/I25_batch_1.json"), chosen.has("evals/clinical/I25_batch_1.outputs.jsonl")
    (True, True)
    >>> chosen.has("shared/a/b/c.jsonl"), chosen.has("evals/clinical/README.md"), chosen.has("evals/c.jsonl")
    (True, False, False)
    >>> chosen.leads_into("evals"), chosen.leads_into("shared/a"), chosen.leads_into("docs")
    (True, True, False)
    """

    patterns: tuple[tuple[str, ...], ...]
    narrow: frozenset[tuple[str, ...]]
    left: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of(cls, patterns: Iterable[Pattern], folder: str) -> Selection:
        """Return what patterns name that start from a folder of the repository; a suffix `.json` may be left out."""
        patterns = tuple(patterns)
        paths = {(posixpath.normpath(posixpath.join(folder, one.path)), one.is_batch) for one in patterns if one.path}
        narrow = {path for path, is_batch in paths if is_batch and path.endswith(("*", "?", "]"))}
        narrow -= {path for path, is_batch in paths if not is_batch}
        named = {path for path, _ in paths}
        return cls(
            tuple(tuple(path.split("/")) for path in sorted(named | {f"{path}.json" for path in named})),
            frozenset(tuple(path.split("/")) for path in narrow),
            tuple(sorted({left for one in patterns for left in _left(folder, one.path)})),
        )

    def has(self, path: str) -> bool:
        """Return whether a path is a file that is named, or the outputs beside a batch that is."""
        stem = path.removesuffix(".outputs.jsonl")
        names = {path} if stem == path else {path, f"{stem}.json"}
        is_json, own = path.lower().endswith((".json", ".jsonl")), tuple(path.split("/"))
        patterns = [one for one in self.patterns if is_json or one not in self.narrow or one == own]
        if stem != path:  # outputs of a batch with another suffix
            names.add(stem)
            patterns += [(*one[:-1], posixpath.splitext(one[-1])[0]) for one in patterns]
        return any(globs.names(pattern, name.split("/")) for pattern in patterns for name in names)

    def leads_into(self, folder: str) -> bool:
        """Return whether something below a folder may be named, or a path goes through it; "" is the root."""
        parts = folder.split("/") if folder else []
        return any(globs.leads_into(pattern, parts) for pattern in (*self.patterns, *self.left))

    def meets(self, entry: Entry) -> bool:
        """Return whether an entry is a file that is named, or a link or submodule that a pattern might follow."""
        return self.has(entry.path) or (entry.kind is not Kind.FILE and self.leads_into(entry.path))


def _left(folder: str, path: str) -> Iterator[tuple[str, ...]]:
    """Yield each folder that a path goes through and leaves by `..`, with a wildcard for what lies in it."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    for place, (inner, part) in enumerate(pairwise(parts), 1):
        if part == ".." != inner:
            yield (*posixpath.normpath(posixpath.join(folder, *parts[:place])).split("/"), "*")


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
_KINDS = {b"100644": Kind.FILE, b"100755": Kind.FILE, b"100664": Kind.FILE, b"120000": Kind.LINK}
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

    def entries(self, commit: str, selection: Selection) -> list[Entry]:
        """Return what patterns meet at a commit. Raises Missing."""
        listed = [_entry(line) for line in _git("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0") if line]
        leads_into = cache(selection.leads_into)  # asked of a folder once: most hold nothing that is named
        met = [one for one in listed if leads_into(posixpath.dirname(one.path)) and selection.meets(one)]
        found = [entry for entry in met if entry.kind is Kind.FILE]
        sizes = _git("cat-file", "--batch-check=%(objectsize)", data=_blobs(found)).splitlines()
        if any(not size.isdigit() for size in sizes):  # `<id> missing`
            raise Missing("it does not have all files of the commit")
        files = [replace(entry, size=int(size)) for entry, size in zip(found, sizes, strict=True)]
        return [entry for entry in met if entry.kind is not Kind.FILE] + files

    def contents(self, commit: str, files: Sequence[Entry]) -> Iterator[bytes]:  # noqa: ARG002 - blobs have ids
        """Yield each of a commit's files, in their order. Raises Missing."""
        with TemporaryFile() as file:
            _git("cat-file", "--batch=%(objectsize)", data=_blobs(files), into=file)
            file.seek(0)
            for _ in files:
                yield file.read(int(file.readline()))
                file.readline()


def _twins(name: str) -> list[str]:
    """Return a tag and the branches of one name, here or fetched, if they are at different commits."""
    kinds = ("tags", "heads", "remotes", "remotes/*")
    named = _git("for-each-ref", "--format=%(refname)", *(f"refs/{kind}/{name}" for kind in kinds))
    found = [one for one in os.fsdecode(named).splitlines() if one.endswith(f"/{name}")]  # it also names paths below
    if f"refs/tags/{name}" not in found:
        return []
    commits = _git("rev-parse", *(f"{one}^{{commit}}" for one in found)).split()
    return found if len(set(commits)) > 1 else []


def _entry(line: bytes) -> Entry:
    facts, _, path = line.partition(b"\t")
    mode, _, blob = facts.split(b" ")
    return Entry(os.fsdecode(path), _KINDS.get(mode, Kind.SUBMODULE), blob.decode())


def _blobs(files: Sequence[Entry]) -> bytes:
    return b"".join(f"{file.blob}\n".encode() for file in files)


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
