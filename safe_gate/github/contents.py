"""A commit's files by GitHub's API, where the clone does not have them: completely or not at all.

A list that GitHub may have cut, a symbolic link on the path, and bytes with a wrong hash are errors. GitHub's HEAD is
not that of the clone, so it is asked for names and ids of commits only.

https://docs.github.com/en/rest/repos/contents#get-repository-content
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from safe_gate.github import Api, ApiError, Refusal
from safe_gate.inputs.commit_files import Commit, Entry, Kind, Missing, Selection, two_commits

_MOST_ENTRIES = 1_000  # per folder: GitHub silently cuts its list there
_MOST_REQUESTS = 500  # for one commit: a job's token has 1,000 an hour, for all that the workflow does
_LARGEST_FILE = 100_000_000  # bytes: GitHub gives no larger ones
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?Z", re.ASCII)
_NAME = re.compile(r"(?!\.\.?\Z)[^/\0\ud800-\udfff]+")
_WRITTEN_OUT = re.compile(rf"{_SHA.pattern}\Z|(?:refs|heads|tags)/")
_OF_A_CLONE = re.compile(r"(?:@|HEAD)\Z|.*(?:[\\~^:?*\[\s]|\.\.|@\{)")
_ADVICE = {
    Refusal.CREDENTIALS: "; the token is wrong or has expired: correct github-token",
    Refusal.PERMISSION: "; the token needs contents: read",
    Refusal.NOT_FOUND: "; the commit does not exist, or the token lacks contents: read",
    Refusal.INVALID: "; the commit does not exist",
    Refusal.RATE_LIMIT: ", and waiting did not help or would take too long",
    Refusal.DEADLINE: "; GitHub is slow: run again, or raise timeouts.fetch",
}


class Contents:
    """A repository, `owner/name`, as GitHub has it."""

    def __init__(self, api: Api, repository: str) -> None:
        self._api = api
        self._repository = repository
        self._requests = 0

    def commit(self, ref: str) -> Commit:
        """Return the commit that a branch, a tag or an id names. Raises Missing if GitHub does not say.

        Raises CannotJudge for a tag by the name of a branch elsewhere: GitHub does not say which it takes.
        """
        if _OF_A_CLONE.match(ref):
            raise Missing("only a clone can resolve it")  # its HEAD is another than ours
        try:
            found = self._commit(ref)
        except ApiError as error:
            raise _missing(error) from None
        if not _WRITTEN_OUT.match(ref):
            branch, tag = f"heads/{ref}", f"tags/{ref}"  # as in GitHub's documentation
            tagged = self._known(tag)
            if tagged and self._known(branch) not in (None, tagged):
                raise two_commits(ref, (branch, tag))
        return found

    def entries(self, commit: str, selection: Selection) -> list[Entry]:
        """Return what patterns meet at a commit. Raises Missing if GitHub does not list all of it."""
        return [entry for entry in self._below("", commit, selection) if selection.meets(entry)]

    def contents(self, commit: str, files: Sequence[Entry]) -> Iterator[bytes]:
        """Yield a commit's files, in their order. Raises Missing where GitHub does not give one whole."""
        for file in files:
            if file.size > _LARGEST_FILE:
                raise Missing(f"{file.path} is larger than the {_LARGEST_FILE} bytes that it returns")
            self._count()
            try:
                data = self._api.raw(self._address(file.path, commit))
            except ApiError as error:
                raise _missing(error) from None
            if _blob(data, file.blob) != file.blob:
                raise Missing(f"it returned different bytes for {file.path} than the commit's")
            yield data

    def _commit(self, ref: str) -> Commit:
        found = self._api.call("GET", f"/repos/{self._repository}/commits/{quote(ref, safe='')}?per_page=1")
        sha = found.get("sha")
        if not isinstance(sha, str) or not _SHA.fullmatch(sha):
            raise Missing("the answer has no commit")
        listed = found.get("parents")
        parents = [str(one.get("sha")) for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
        return Commit(sha, _made_at(found), tuple(parents) if all(map(_SHA.fullmatch, parents)) else ())

    def _known(self, ref: str) -> Commit | None:
        """Return the commit that a ref names, None if there is no such ref."""
        try:
            return self._commit(ref)
        except ApiError as error:
            if error.refusal in (Refusal.NOT_FOUND, Refusal.INVALID):
                return None
            raise _missing(error) from None

    def _below(self, folder: str, commit: str, selection: Selection) -> Iterator[Entry]:
        """Yield the entries of a folder and of those in it that patterns lead into."""
        for name, listed in self._listed(folder, commit):
            path = f"{folder}/{name}" if folder else name
            if listed.get("type") == "dir":
                if selection.leads_into(path):
                    yield from self._below(path, commit, selection)
                continue
            size = listed.get("size")
            yield Entry(path, _kind(listed), str(listed.get("sha")), size if isinstance(size, int) else 0)

    def _listed(self, folder: str, commit: str) -> list[tuple[str, Mapping[str, Any]]]:
        self._count()
        try:
            listed = list(self._api.pages(self._address(folder, commit)))
        except ApiError as error:
            raise _missing(error) from None
        if len(listed) >= _MOST_ENTRIES:
            where = folder or "the root"
            raise Missing(f"it lists at most {_MOST_ENTRIES} entries of a folder, and {where} may have more")
        names = [_name(entry) for entry in listed]
        if "" in names:
            raise Missing("the answer is not from GitHub")
        return list(zip(names, listed, strict=True))

    def _address(self, path: str, commit: str) -> str:
        below = f"/{quote(path, safe='')}" if path else ""  # one parameter, however many folders
        return f"/repos/{self._repository}/contents{below}?ref={commit}"

    def _count(self) -> None:
        self._requests += 1
        if self._requests > _MOST_REQUESTS:
            raise Missing(f"reading these files needs more than {_MOST_REQUESTS} requests")


def _name(listed: Mapping[str, Any]) -> str:
    """Return an entry's name, nothing if no file can have it: it becomes a path."""
    name = listed.get("name")
    return name if isinstance(name, str) and _NAME.fullmatch(name) else ""


def _kind(listed: Mapping[str, Any]) -> Kind:
    """Return the kind of an entry that is no folder. GitHub calls a submodule a file, but its address is a tree's."""
    if listed.get("type") == "symlink":
        return Kind.LINK
    return Kind.FILE if listed.get("type") == "file" and "/git/blobs/" in str(listed.get("git_url")) else Kind.SUBMODULE


def _made_at(found: Mapping[str, Any]) -> str:
    commit = found.get("commit")
    committer = commit.get("committer") if isinstance(commit, dict) else None
    date = committer.get("date") if isinstance(committer, dict) else None
    time = _TIME.fullmatch(date) if isinstance(date, str) else None
    return f"{time[1]}Z" if time else ""


def _blob(data: bytes, like: str) -> str:
    """Return the id that git gives to a file's bytes, in the hash that another id is in."""
    name = "sha256" if len(like) == 64 else "sha1"
    return hashlib.new(name, b"blob %d\0%b" % (len(data), data), usedforsecurity=False).hexdigest()


def _missing(error: ApiError) -> Missing:
    return Missing(f"{error}{_ADVICE.get(error.refusal, '')}")
