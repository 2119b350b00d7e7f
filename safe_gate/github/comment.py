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
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from urllib.parse import quote

from safe_gate.github import NO_RUN, Api, ApiError, Context, Refusal, WorkflowRun

_ACTIONS_BOT = "github-actions[bot]"
_LONGEST_GATE = 200
_MARKER = re.compile(
    r"<!-- safe-gate gate=(?P<gate>\S*) head=(?P<head>\S*) run=(?P<id>\d{1,18})\.(?P<attempt>\d{1,18})"
    r" result=(?P<result>\w*) text=(?P<text>\w*) -->\n?"
)


class Marker(NamedTuple):
    """What a comment is about: the gate, the commit, the run, a digest of the result.

    `text` is a digest of the text below, so that an edit shows.
    """

    gate: str
    head: str
    run: WorkflowRun
    result: str
    text: str = ""

    @classmethod
    def read(cls, body: str) -> Marker | None:
        """Return the marker that a comment starts with, if it does."""
        found = _MARKER.match(body)
        if found is None:
            return None
        run = WorkflowRun(int(found["id"]), int(found["attempt"]))
        return cls(found["gate"], found["head"], run, found["result"], found["text"])

    def line(self) -> str:
        """Return the hidden line, which can be read back and holds nothing that could end an HTML comment."""
        facts = f"gate={self.gate} head={self.head} run={self.run.id}.{self.run.attempt}"
        return f"<!-- safe-gate {facts} result={self.result} text={self.text} -->"

    def above(self, text: str) -> str:
        """Return a comment's body: a text under its marker."""
        return f"{self._replace(text=_digest(text)).line()}\n{text}"


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

    @property
    def text(self) -> str:
        """The text under the marker."""
        return _MARKER.sub("", self.body, count=1)


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

    `author` is the account of the token. If empty, GitHub is asked; if the token may not ask, it counts as a
    workflow's own. Raises ApiError if GitHub refuses.
    """
    place = f"/repos/{repository}/issues/{pull_request}/comments"
    author = author or (_login(api) if may_ask else _ACTIONS_BOT)

    def put(ours: Sequence[_Comment]) -> Posted:
        if ours:
            return _update(api, repository, ours, draft)
        if draft.mode == "on-failure" and draft.passed:
            return Posted("skipped-passed")
        return _create(api, repository, place, draft, author)

    ours = list(_own_comments(api, place, author, draft.marker.gate))
    try:
        return put(ours)
    except ApiError as error:
        if error.refusal is not (Refusal.NOT_FOUND if ours else Refusal.UNCLEAR):
            raise
    # It has been deleted since, or may have been created although no answer came: look before trying once more.
    found = list(_own_comments(api, place, author, draft.marker.gate))
    for comment in found:
        if not ours and comment.marker._replace(text="") == draft.marker:
            return _keep_oldest(api, repository, found, comment.id, draft) or Posted("created", comment.url)
    return put(found)


def _keep_oldest(api: Api, repository: str, ours: Sequence[_Comment], created: int, draft: Draft) -> Posted | None:
    """Give way to an older comment of the gate, by its id. Return None if the new comment is the oldest.

    Another first run may have created the older one at the same time. It is rewritten before ours is deleted.
    """
    others = [comment for comment in ours if comment.id != created]
    if not others or created < others[0].id:
        return None
    posted = _update(api, repository, others, draft)
    with suppress(ApiError):
        api.call("DELETE", f"/repos/{repository}/issues/comments/{created}")
    return posted


def _update(api: Api, repository: str, ours: Sequence[_Comment], draft: Draft) -> Posted:
    """Update the oldest of our comments, then delete its duplicates: one may be the newest if the update fails."""
    latest = max(ours, key=lambda comment: comment.marker.run)
    kept, *twins = ours
    if draft.marker.run != NO_RUN and latest.marker.run > draft.marker.run:
        return Posted("skipped-outdated", latest.url)
    is_of_this_run = latest.marker.run == draft.marker.run != NO_RUN
    if is_of_this_run and latest.marker.result != draft.marker.result:  # a gate has one result in a run
        return Posted("skipped-same-gate", latest.url, _SAME_GATE)
    place = f"/repos/{repository}/issues/comments"
    posted = _rewrite(api, f"{place}/{kept.id}", kept, draft)
    for twin in twins:  # two runs at once may each have found none
        with suppress(ApiError):
            api.call("DELETE", f"{place}/{twin.id}")
    return posted


def _rewrite(api: Api, path: str, kept: _Comment, draft: Draft) -> Posted:
    """Replace a comment's text with that of a draft, unless it says the same."""
    same = _is_same_text(kept, draft)
    if same and draft.marker.run <= kept.marker.run:
        return Posted("unchanged", kept.url)
    if same:  # otherwise a run between the two could overwrite it
        draft = replace(draft, marker=kept.marker._replace(run=draft.marker.run), bodies=(kept.text,))
    answer = _write(api, "PATCH", path, draft)
    if _is_overwritten(api, path, draft.marker.run):
        answer = _write(api, "PATCH", path, draft)
    return Posted("unchanged" if same else "updated", _text(answer, "html_url"))


_SAME_GATE = (
    "Another job of this run posted a different result under this gate-id."
    " Give each job, matrix leg or step its own gate-id."
)


def _is_same_text(comment: _Comment, draft: Draft) -> bool:
    """Return whether a comment's text may stay: the result is the same, and nobody has edited it.

    But for `changes` its links must lead to this commit, too.
    """
    theirs, ours = comment.marker, draft.marker
    same = theirs.result == ours.result and (draft.mode == "changes" or theirs.head == ours.head)
    return same and theirs.text == _digest(comment.text)


def _digest(text: str) -> str:
    """Return a digest of a comment's text, whatever its line ends: a browser that edits sends others."""
    return hashlib.sha256(text.replace("\r\n", "\n").strip().encode("utf-8", "replace")).hexdigest()[:16]


def _is_overwritten(api: Api, path: str, run: WorkflowRun) -> bool:
    """Return whether an older run has overwritten what was just written: it had read the comment before."""
    with suppress(ApiError):  # it was written despite the error
        body = api.call("GET", path).get("body")
        marker = Marker.read(body) if isinstance(body, str) else None
        return marker is not None and marker.run < run
    return False


def _login(api: Api) -> str:
    """Return who we are; a workflow's own token may not ask and is the Actions bot."""
    try:
        return _text(api.call("GET", "/user"), "login")
    except ApiError as error:
        if error.refusal is Refusal.PERMISSION:
            return _ACTIONS_BOT
        raise


def _own_comments(api: Api, place: str, author: str, gate: str) -> Iterator[_Comment]:
    """Yield the comments that we wrote for this gate, oldest first."""
    for comment in api.pages(f"{place}?per_page=100"):
        user, body, id_ = comment.get("user"), comment.get("body"), comment.get("id")
        if isinstance(user, dict) and user.get("login") == author and isinstance(body, str) and isinstance(id_, int):
            marker = Marker.read(body)
            if marker and marker.gate == gate:
                yield _Comment(id_, body, _text(comment, "html_url"), marker)


def _create(api: Api, repository: str, place: str, draft: Draft, author: str) -> Posted:
    """Create the gate's comment, unless another run has done so by now: then keep theirs, the older one."""
    answer = _write(api, "POST", place, draft)
    if isinstance(id_ := answer.get("id"), int):
        with suppress(ApiError):  # the comment is there; the next run deletes a twin
            if kept := _keep_oldest(
                api, repository, list(_own_comments(api, place, author, draft.marker.gate)), id_, draft
            ):
                return kept
    user = answer.get("user")
    wrote = user.get("login") if isinstance(user, dict) else author
    lost = f"The next run will not find this comment: {wrote} has written it, not {author}"
    lost = f"{lost}; set SAFE_GATE_COMMENT_AUTHOR to {wrote}"
    return Posted("created", _text(answer, "html_url"), "" if wrote == author else lost)


def _write(api: Api, method: str, path: str, draft: Draft) -> Mapping[str, Any]:
    """Write the longest text that GitHub takes."""
    *longer, shortest = draft.bodies
    for text in longer:
        try:
            return api.call(method, path, {"body": draft.marker.above(text)})
        except ApiError as error:
            if error.refusal is not Refusal.INVALID:
                raise
    return api.call(method, path, {"body": draft.marker.above(shortest)})


def _text(answer: Mapping[str, Any], key: str) -> str:
    if not isinstance(answer.get(key), str):
        raise ApiError(f"the answer has no {key}: it is not from GitHub")
    return str(answer[key])


def pull_request_of(api: Api, context: Context) -> int | None:
    """Return the number of the pull request of a run, None if there is none. Asks GitHub at most once."""
    if context.subject.pull_request is not None:
        return context.subject.pull_request
    return min(_open_at_head(api, context), default=None)


def confirmed_pull_request(api: Api, context: Context, wanted: int | None) -> int | None:
    """Return the number of an open pull request whose head is the context's commit by GitHub's own word.

    `wanted` chooses among several. None if no open pull request has this head: it has moved on.
    """
    found = sorted(_open_at_head(api, context))
    return wanted if wanted in found else next(iter(found), None)


def _open_at_head(api: Api, context: Context) -> Iterator[int]:
    """Yield the open pull requests with the context's head: by owner and branch, else by the commit.

    GitHub finds a fork's commit by its branch only. By commit it finds pushes to the repository itself or to a
    deleted fork.
    """
    repository, label = context.repository, context.subject.head_label
    if not context.head_sha:
        return
    if label:
        path = f"/repos/{repository}/pulls?state=open&head={quote(label, safe=':', errors='replace')}&per_page=100"
    else:
        path = f"/repos/{repository}/commits/{context.head_sha}/pulls?per_page=100"
    for pull in api.pages(path):
        base = pull.get("base")
        home = base.get("repo") if isinstance(base, dict) else None
        is_ours = isinstance(home, dict) and home.get("full_name") == repository
        head = pull.get("head")
        is_at_head = isinstance(head, dict) and head.get("sha") == context.head_sha
        if is_ours and is_at_head and pull.get("state") == "open" and isinstance(pull.get("number"), int):
            yield pull["number"]
