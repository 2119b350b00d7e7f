"""A commit's files by GitHub's API, where the clone does not have them: completely or not at all.

A list that GitHub has cut and bytes with a wrong hash are errors. GitHub's HEAD is not that of the clone, so it is
asked for names and ids of commits only.

https://docs.github.com/en/rest/git/trees#get-a-tree
https://docs.github.com/en/rest/git/blobs#get-a-blob
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any, BinaryIO
from urllib.parse import quote

from safe_gate.core.jsontext import value_at
from safe_gate.github import Api, ApiError, Refusal
from safe_gate.inputs.commit_files import Commit, Entry, EntryKind, Missing, TooManyBytes, entry_kind

_MOST_REQUESTS = 500  # for one commit: a job's token has 1,000 an hour, for all that the workflow does
_LARGEST_FILE = 100_000_000  # bytes: GitHub gives no larger ones
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?Z", re.ASCII)
_WRITTEN_OUT = re.compile(rf"{_SHA.pattern}\Z|(?:refs|heads|tags)/")
_OF_A_CLONE = re.compile(r"(?:@|HEAD)\Z|.*(?:[\\~^:?*\[\s]|\.\.|@\{)")
_ADVICE = {
    Refusal.CREDENTIALS: "; the token is wrong or has expired: correct github-token",
    Refusal.PERMISSION: "; the token needs contents: read",
    Refusal.NOT_FOUND: "; the commit does not exist, or the job lacks contents: read",
    Refusal.INVALID: "; the commit does not exist",
    Refusal.RATE_LIMIT: ", and waiting did not help or would take too long: run again later",
    Refusal.UNCLEAR: "; run again, or let the run reach GitHub",
    Refusal.DEADLINE: "; GitHub is slow: run again, or raise timeouts.fetch",
}


class Contents:
    """A repository, `owner/name`, as GitHub has it. Raises Missing for what GitHub does not give, or not whole."""

    def __init__(self, api: Api, repository: str) -> None:
        self._api = api
        self._repository = f"/repos/{repository}"
        self._requests = 0

    def commit(self, ref: str) -> Commit:
        """Return the commit that a branch, a tag or an id names: the branch if there is a tag of its name, too."""
        if _OF_A_CLONE.match(ref):
            raise Missing("only a clone can resolve it")  # its HEAD is another than ours
        try:
            branch = None if _WRITTEN_OUT.match(ref) else self._branch(ref)
            return branch or self._commit(ref)
        except ApiError as error:
            name = ref.removeprefix("origin/")
            if name != ref and error.refusal is Refusal.INVALID:
                raise Missing(f"no branch has this name; write {name} without origin/") from None
            raise _missing(error) from None

    def entries(self, commit: str) -> Iterator[Entry]:
        """Yield what a commit holds, its folders too."""
        self._count()
        try:
            found = self._api.call("GET", f"{self._repository}/git/trees/{commit}?recursive=1")
        except ApiError as error:
            raise _missing(error) from None
        if found.get("truncated") is not False:
            raise Missing("it lists at most 100,000 entries of a commit, and this one has more")
        listed = found.get("tree")
        yield from map(_entry, listed if isinstance(listed, list) else [None])

    def read(self, file: Entry, into: BinaryIO, most: int) -> None:
        """Write a file's bytes. Raises TooManyBytes if it has more than `most`."""
        if file.size > _LARGEST_FILE:
            raise Missing(f"{file.path} is larger than the {_LARGEST_FILE} bytes that it returns")
        if file.size > most:
            raise TooManyBytes
        self._count()
        try:
            data = self._api.raw(f"{self._repository}/git/blobs/{file.blob}")
        except ApiError as error:
            raise _missing(error) from None
        name = "sha256" if len(file.blob) == 64 else "sha1"  # as git makes the id of a file's bytes
        if hashlib.new(name, b"blob %d\0%b" % (len(data), data), usedforsecurity=False).hexdigest() != file.blob:
            raise Missing(f"it returned different bytes for {file.path} than the commit's")
        into.write(data)

    def _commit(self, ref: str) -> Commit:
        found = self._api.call("GET", f"{self._repository}/commits/{quote(ref, safe='')}?per_page=1")
        sha = found.get("sha")
        if not isinstance(sha, str) or not _SHA.fullmatch(sha):
            raise Missing("the answer has no commit")
        listed = found.get("parents")
        parents = [str(one.get("sha")) for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
        date = value_at(found, "commit", "committer", "date")
        time = _TIME.fullmatch(date) if isinstance(date, str) else None
        return Commit(sha, f"{time[1]}Z" if time else "", tuple(parents) if all(map(_SHA.fullmatch, parents)) else ())

    def _branch(self, name: str) -> Commit | None:
        try:
            return self._commit(f"heads/{name}")
        except ApiError as error:
            if error.refusal in (Refusal.NOT_FOUND, Refusal.INVALID):
                return None
            raise

    def _count(self) -> None:
        self._requests += 1
        if self._requests > _MOST_REQUESTS:
            raise Missing(f"reading these files needs more than {_MOST_REQUESTS} requests")


def _entry(listed: Any) -> Entry:
    """Return an entry of a list. Raises Missing for one that GitHub does not write."""
    facts = listed if isinstance(listed, dict) else {}
    path, mode, sha, size = (facts.get(name) for name in ("path", "mode", "sha", "size"))
    kind = entry_kind(mode) if isinstance(mode, str) else EntryKind.SUBMODULE
    is_sized = kind is not EntryKind.FILE or type(size) is int
    if not (isinstance(path, str) and path and isinstance(sha, str) and _SHA.fullmatch(sha) and is_sized):
        raise Missing("the answer is not from GitHub")
    return Entry(path, kind, sha, size if isinstance(size, int) else 0)


def _missing(error: ApiError) -> Missing:
    return Missing(f"{error}{_ADVICE.get(error.refusal, '')}")
