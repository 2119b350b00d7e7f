"""The gate's one comment on a pull request: created once, then updated in place.

A hidden first line names its gate, commit and run. Only a comment that we wrote counts as ours, because anybody can
write that line. The pull request is that of the event, or one that GitHub lists for the head.
https://docs.github.com/en/rest/commits/commits#list-pull-requests-associated-with-a-commit
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import quote

from safe_gate.core.jsontext import value_at
from safe_gate.github import NO_RUN, Api, ApiError, Context, Refusal, WorkflowRun
from safe_gate.model import record

_ACTIONS_BOT = "github-actions[bot]"
_LONGEST_GATE = 200
_MOST_LOOKS = 5  # after the first: as many runs may race
_MARKER = re.compile(
    r"<!-- safe-gate gate=(?P<gate>\S*) head=(?P<head>\S*) run=(?P<id>\d{1,18})\.(?P<attempt>\d{1,18})"
    r" result=(?P<result>\w*) text=(?P<text>\w*)(?P<pull> pull)? -->\n?"
)


class Marker(NamedTuple):
    """What a comment is about: the gate, the commit, the run, a digest of the result.

    `text` is a digest of the text below, so that an edit shows. `pull` is whether the run's event was a pull request's.
    """

    gate: str
    head: str
    run: WorkflowRun
    result: str
    text: str = ""
    pull: bool = False

    @classmethod
    def read(cls, body: str) -> Marker | None:
        """Return the marker that a comment starts with, if it does."""
        found = _MARKER.match(body)
        if found is None:
            return None
        run = WorkflowRun(int(found["id"]), int(found["attempt"]))
        return cls(found["gate"], found["head"], run, found["result"], found["text"], bool(found["pull"]))

    def line(self) -> str:
        """Return the hidden line, which can be read back and holds nothing that could end an HTML comment."""
        facts = f"gate={self.gate} head={self.head} run={self.run.id}.{self.run.attempt}"
        return f"<!-- safe-gate {facts} result={self.result} text={self.text}{' pull' * self.pull} -->"

    def yields_to(self, other: Marker) -> bool:
        """Return whether another run outranks this one: a newer one, but at the same commit that of a pull request.

        An event of another kind has another base commit, or none.
        """
        if self.head == other.head and self.pull != other.pull:
            return other.pull
        return self.run < other.run

    def above(self, text: str) -> str:
        """Return a comment's body: a text under its marker."""
        return f"{self._replace(text=_digest(text)).line()}\n{text}"


@record
class Draft:
    """A comment to be: its marker, and its text in several lengths, the longest first.

    `mode` is the option `comment`, `passed` whether the gate did.
    """

    marker: Marker
    bodies: Sequence[str]
    mode: str
    passed: bool


@record
class Posted:
    """What became of a comment (the step output `comment-status`), where it is, and what is to be said of it."""

    status: str
    url: str = ""
    warning: str = ""


def gate_name(workflow: str, gate: str) -> str:
    r"""Return a gate's name as the marker holds it: readable where that is safe, one slash between its parts.

    >>> gate_name("evals", "a/b --> c")
    'evals/a%2Fb%20%2D%2D%3E%20c'
    """
    name = "/".join(quote(part, safe="", errors="replace") for part in (workflow, gate)).replace("-", "%2D")
    return name if len(name) <= _LONGEST_GATE else hashlib.sha256(name.encode()).hexdigest()


def post(
    api: Api, repository: str, pull_request: int, draft: Draft, author: str = "", *, may_ask: bool = True
) -> Posted:
    """Create or update the gate's comment on a pull request.

    GitHub has no conditional writes, and runs may race. So after each write we look again, until nothing is left to
    write. `author` is the account of the token. If empty, GitHub is asked; if the token may not ask, it counts as a
    workflow's own. Raises ApiError if GitHub refuses the first write.
    """
    author = author or (_login(api) if may_ask else _ACTIONS_BOT)
    thread = _Thread(api, f"/repos/{repository}/issues", pull_request, draft, author)
    ours = thread.ours()
    try:
        posted, is_written = thread.put(ours)
    except ApiError as error:
        if error.refusal is not (Refusal.NOT_FOUND if ours else Refusal.UNCLEAR):
            raise
        # It has been deleted since, or may have been created although no answer came: look before trying once more.
        posted, is_written = thread.put(thread.ours())
        if not ours and posted.status == "unchanged":
            posted = replace(posted, status="created")
    with suppress(ApiError):  # the comment is there; the next run does the rest
        for _ in range(_MOST_LOOKS):
            if not is_written or not (ours := thread.ours()):
                break
            again, is_written = thread.put(ours)
            if again.status != "unchanged" or again.url != posted.url:
                posted = again
    return posted


def _login(api: Api) -> str:
    """Return who we are; a workflow's own token may not ask and is the Actions bot."""
    try:
        return _required(api.call("GET", "/user"), "login")
    except ApiError as error:
        if error.refusal is Refusal.PERMISSION:
            return _ACTIONS_BOT
        raise


def _required(answer: Mapping[str, Any], key: str) -> str:
    if not isinstance(answer.get(key), str):
        raise ApiError(f"the answer has no {key}: it is not from GitHub")
    return str(answer[key])


class _Comment(NamedTuple):
    id: int
    body: str
    url: str
    marker: Marker

    def text(self) -> str:
        """Return the text under the marker."""
        return _MARKER.sub("", self.body, count=1)

    def says(self, draft: Draft) -> bool:
        """Return whether the text may stay: the result is a draft's, and nobody has edited it.

        But for `changes` its links must lead to this commit, too.
        """
        theirs, ours = self.marker, draft.marker
        same = theirs.result == ours.result and (draft.mode == "changes" or theirs.head == ours.head)
        return same and theirs.text == _digest(self.text())


class _Thread(NamedTuple):
    """The comments of a pull request, what is to be written there, and who we are."""

    api: Api
    issues: str
    pull_request: int
    draft: Draft
    author: str

    def ours(self) -> list[_Comment]:
        """Return the comments that we wrote for this gate, oldest first."""
        found: list[_Comment] = []
        for one in self.api.pages(f"{self.issues}/{self.pull_request}/comments?per_page=100"):
            body, id_ = one.get("body"), one.get("id")
            if value_at(one, "user", "login") == self.author and isinstance(body, str) and isinstance(id_, int):
                marker = Marker.read(body)
                if marker and marker.gate == self.draft.marker.gate:
                    found.append(_Comment(id_, body, _required(one, "html_url"), marker))
        return found

    def put(self, ours: Sequence[_Comment]) -> tuple[Posted, bool]:
        """Create our comment or rewrite the oldest one; return whether a text was written, so one must look again.

        If its text may stay, its twins are deleted: before, one may be the only one with the newest result. Of those
        that stand behind another run's, only what this run has created is deleted. The oldest comment always stays.
        """
        draft, marker = self.draft, self.draft.marker
        if not ours:
            is_due = draft.mode != "on-failure" or not draft.passed
            return (self._create(), True) if is_due else (Posted("skipped-passed"), False)
        latest, kept, twins = max(ours, key=lambda comment: comment.marker.run), ours[0], ours[1:]
        result = Posted("unchanged", kept.url)
        if marker.run != NO_RUN and (over := [one for one in ours if marker.yields_to(one.marker)]):
            result = Posted("skipped-outdated", over[-1].url)
        elif latest.marker.run == marker.run != NO_RUN and latest.marker.result != marker.result:
            result = Posted("skipped-same-gate", latest.url, _SAME_GATE)  # a gate has one result in a run
        elif not kept.says(draft) or kept.marker.yields_to(marker):
            return self._rewrite(kept), True
        for twin in twins:  # two runs at once may each have found none
            if result.status == "unchanged" or twin.marker._replace(text="") == marker:
                with suppress(ApiError):  # the next run deletes it
                    self.api.call("DELETE", f"{self.issues}/comments/{twin.id}")
        return result, False

    def _create(self) -> Posted:
        answer = self._write("POST", f"{self.issues}/{self.pull_request}/comments", self.draft)
        wrote = value_at(answer, "user", "login") if isinstance(answer.get("user"), dict) else self.author
        lost = f"The next run will not find this comment: {wrote} has written it, not {self.author}"
        lost = f"{lost}; set SAFE_GATE_COMMENT_AUTHOR to {wrote}"
        return Posted("created", _required(answer, "html_url"), "" if wrote == self.author else lost)

    def _rewrite(self, kept: _Comment) -> Posted:
        """Replace a comment's text with that of the draft, or its marker alone if it says the same."""
        draft, same = self.draft, kept.says(self.draft)
        if same:  # otherwise a run between the two could overwrite it
            marker = kept.marker._replace(head=draft.marker.head, run=draft.marker.run, pull=draft.marker.pull)
            draft = replace(draft, marker=marker, bodies=(kept.text(),))
        answer = self._write("PATCH", f"{self.issues}/comments/{kept.id}", draft)
        return Posted("unchanged" if same else "updated", _required(answer, "html_url"))

    def _write(self, method: str, path: str, draft: Draft) -> Mapping[str, Any]:
        """Write the longest text that GitHub takes."""
        *longer, shortest = draft.bodies
        for text in longer:
            try:
                return self.api.call(method, path, {"body": draft.marker.above(text)})
            except ApiError as error:
                if error.refusal is not Refusal.INVALID:
                    raise
        return self.api.call(method, path, {"body": draft.marker.above(shortest)})


_SAME_GATE = (
    "Another job of this run posted a different result under this gate-id."
    " Give each job, matrix leg or step its own gate-id."
)


def _digest(text: str) -> str:
    """Return a digest of a comment's text, whatever its line ends: a browser that edits sends others."""
    return hashlib.sha256(text.replace("\r\n", "\n").strip().encode("utf-8", "replace")).hexdigest()[:16]


def pull_request_of(context: Context, api: Api) -> int | None:
    """Return the number of the pull request of a run, None if there is none. Asks GitHub at most once."""
    if context.subject.pull_request is not None:
        return context.subject.pull_request
    return min(_open_at_head(context, api), default=None)


def confirmed_pull_request(context: Context, wanted: int | None, api: Api) -> int | None:
    """Return the number of an open pull request whose head is the context's commit by GitHub's own word.

    `wanted` chooses among several. None if no open pull request has this head: it has moved on.
    """
    return min(_open_at_head(context, api), key=lambda number: (number != wanted, number), default=None)


def _open_at_head(context: Context, api: Api) -> Iterator[int]:
    """Yield the open pull requests with the context's head: by owner and branch, else by the commit.

    GitHub finds a fork's commit by its branch only. By commit it finds pushes to the repository itself or to a
    deleted fork.
    """
    repository, head, label = context.repository, context.subject.head_sha, context.subject.head_label
    if not head:
        return
    if label:
        path = f"/repos/{repository}/pulls?state=open&head={quote(label, safe=':', errors='replace')}&per_page=100"
    else:
        path = f"/repos/{repository}/commits/{head}/pulls?per_page=100"
    for pull in api.pages(path):
        is_ours = value_at(pull, "base", "repo", "full_name") == repository
        is_at_head = value_at(pull, "head", "sha") == head
        if is_ours and is_at_head and pull.get("state") == "open" and isinstance(pull.get("number"), int):
            yield pull["number"]
