"""The gate's one comment on a pull request: created once, then updated in place.

A hidden first line says whose it is and what it tells of. Only a comment that we wrote counts as
ours, because anybody can write that line.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote

from safe_gate.github import Api, ApiError, Refusal
from safe_gate.github.event import NO_RUN, Run

_ACTIONS_BOT = "github-actions[bot]"
_LONGEST_GATE = 200
_MARKER = re.compile(
    r"<!-- safe-gate gate=(?P<gate>\S*) head=(?P<head>\S*) run=(?P<id>\d{1,18})\.(?P<attempt>\d{1,18})"
    r" leg=(?P<leg>\w*) result=(?P<result>\w*) -->\n?"
)

# Another run of the same commit with the same result says nothing new.
_RUN = re.compile(r"\[run \d+\]\(\S+/actions/runs/\d+\)")


class Marker(NamedTuple):
    """What a comment tells of: the gate, the commit, the run, which job of it (`leg`), a digest of the result."""

    gate: str
    head: str
    run: Run
    leg: str
    result: str

    @classmethod
    def read(cls, body: str) -> Marker | None:
        """Return the marker that a comment starts with, if it does."""
        found = _MARKER.match(body)
        if found is None:
            return None
        run = Run(int(found["id"]), int(found["attempt"]))
        return cls(found["gate"], found["head"], run, found["leg"], found["result"])

    def line(self) -> str:
        """Return the hidden line, which can be read back and holds nothing that could end an HTML comment."""
        run = f"{self.run.id}.{self.run.attempt}"
        return f"<!-- safe-gate gate={self.gate} head={self.head} run={run} leg={self.leg} result={self.result} -->"


@dataclass(frozen=True, slots=True)
class Draft:
    """A comment to be: its marker, and its text in several lengths, the longest first.

    `mode` is the option `comment`, `passed` whether the gate did.
    """

    marker: Marker
    bodies: Sequence[str]
    mode: str
    passed: bool


@dataclass(frozen=True, slots=True)
class Posted:
    """What became of a comment (the step output `comment-status`), where it is, and what is to be said of it."""

    status: str
    url: str = ""
    warning: str = ""


@dataclass(frozen=True, slots=True)
class _Comment:
    id: int
    body: str
    url: str
    marker: Marker

    def says(self, text: str) -> bool:
        """Tell whether a text stands under the marker, by whichever run, and whichever line ends a browser sent."""
        ours = _MARKER.sub("", self.body.replace("\r\n", "\n"), count=1)
        return _RUN.sub("", ours).strip() == _RUN.sub("", text).strip()


def gate_name(words: str) -> str:
    r"""Return a gate's name as the marker holds it: readable where that is safe.

    >>> gate_name("evals/a --> b")
    'evals/a%20%2D%2D%3E%20b'
    """
    name = quote(words, safe="/", errors="replace").replace("-", "%2D")
    return name if len(name) <= _LONGEST_GATE else hashlib.sha256(name.encode()).hexdigest()


def post(api: Api, repository: str, pull_request: int, draft: Draft, author: str = "") -> Posted:
    """Create or update the gate's comment on a pull request.

    `author` is who writes with our token; if empty, GitHub is asked. Raises ApiError if GitHub refuses.
    """
    place = f"/repos/{repository}/issues/{pull_request}/comments"
    known = author
    author = author or _login(api)
    ours = list(_ours(api, place, author, draft.marker.gate))
    if not ours:
        if draft.mode == "on-failure" and draft.passed:
            return Posted("skipped-passed")
        return _create(api, place, draft, author, asked=not known)
    latest = max(ours, key=lambda comment: comment.marker.run)
    kept, *twins = ours
    if draft.marker.run != NO_RUN and latest.marker.run > draft.marker.run:
        return Posted("skipped-outdated", latest.url)
    if _is_another_leg(latest.marker, draft.marker):
        return Posted("skipped-same-gate", latest.url, _SAME_GATE)
    for twin in twins:  # two runs at once may each have found none
        with suppress(ApiError):
            api.call("DELETE", f"/repos/{repository}/issues/comments/{twin.id}")
    if _says_the_same(kept, draft):
        return Posted("unchanged", kept.url)
    answer = _write(api, "PATCH", f"/repos/{repository}/issues/comments/{kept.id}", draft)
    return Posted("updated", _text(answer, "html_url"))


_SAME_GATE = (
    "Another job of this run has already written the comment of a gate with the same id, which was left as it is:"
    " give each job or matrix leg a gate-id of its own"
)


def _is_another_leg(theirs: Marker, ours: Marker) -> bool:
    """Tell whether a comment was written by another job of the same run: a job keeps its runner while it lasts."""
    same_run = theirs.run == ours.run != NO_RUN
    return same_run and bool(theirs.leg and ours.leg) and theirs.leg != ours.leg


def _says_the_same(comment: _Comment, draft: Draft) -> bool:
    """Tell whether a comment need not be written again.

    With `changes` the result decides. Else its links must lead to this commit, and nobody may have
    edited it.
    """
    if comment.marker.result != draft.marker.result:
        return False
    if draft.mode == "changes":
        return True
    return comment.marker.head == draft.marker.head and any(map(comment.says, draft.bodies))


def _login(api: Api) -> str:
    """Return who we are; a workflow's own token may not ask and is the Actions bot."""
    try:
        return _text(api.call("GET", "/user"), "login")
    except ApiError as error:
        if error.refusal is Refusal.PERMISSION:
            return _ACTIONS_BOT
        raise


def _ours(api: Api, place: str, author: str, gate: str) -> Iterator[_Comment]:
    """Yield the comments that we wrote for this gate, oldest first."""
    for comment in api.pages(f"{place}?per_page=100"):
        user, body, id_ = comment.get("user"), comment.get("body"), comment.get("id")
        if isinstance(user, dict) and user.get("login") == author and isinstance(body, str) and isinstance(id_, int):
            marker = Marker.read(body)
            if marker and marker.gate == gate:
                yield _Comment(id_, body, _text(comment, "html_url"), marker)


def _create(api: Api, place: str, draft: Draft, author: str, *, asked: bool) -> Posted:
    try:
        answer = _write(api, "POST", place, draft)
    except ApiError as error:
        if error.refusal is not Refusal.UNCLEAR:
            raise
        # It may have been created although no answer came: look before trying once more.
        for comment in _ours(api, place, author, draft.marker.gate):
            return Posted("created", comment.url)
        answer = _write(api, "POST", place, draft)
    user = answer.get("user")
    wrote = user.get("login") if isinstance(user, dict) else author
    warning = "" if wrote == author or not asked else f"{_UNKNOWN_AUTHOR} {wrote}"
    return Posted("created", _text(answer, "html_url"), warning)


_UNKNOWN_AUTHOR = (
    "The comment will not be found again, because this token cannot ask whose it is: set comment-author to"
)


def _write(api: Api, method: str, path: str, draft: Draft) -> Mapping[str, Any]:
    """Write the longest text that GitHub takes."""
    *longer, shortest = draft.bodies
    for text in longer:
        try:
            return api.call(method, path, {"body": f"{draft.marker.line()}\n{text}"})
        except ApiError as error:
            if error.refusal is not Refusal.INVALID:
                raise
    return api.call(method, path, {"body": f"{draft.marker.line()}\n{shortest}"})


def _text(answer: Mapping[str, Any], key: str) -> str:
    if not isinstance(answer.get(key), str):
        raise ApiError(f"the answer has no {key}: it is not GitHub's")
    return str(answer[key])
