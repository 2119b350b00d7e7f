"""Selects the files of a commit that patterns name, without a file system, to fetch them before reading.

Pure. If in doubt it selects a file: `files` matches fetched files again, as in the working folder.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from safe_gate.inputs.finding import globs
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
