"""GitHub: event, REST API, comment, files of the runner, hand-over to a trusted workflow, and publishing.

Nothing in this room decides a verdict. Here is what started a run, where it stands and what it may do: the event, the
checkout, the clock, the API. It touches the runner's environment (given) and the event file it names.
https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows

Under `pull_request_target` a workflow has the base repository's token and secrets, so files of a pull request need
explicit permission. `.git` folders are read, nothing is run.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from enum import StrEnum
from functools import lru_cache, partial
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple, Protocol, TypeVar

from safe_gate.core.jsontext import parse, value_at
from safe_gate.model.problems import CannotJudge, Code
from safe_gate.model.report import Origin
from safe_gate.settings import Access

HAND_OVER = "safe-gate.comment.json"
"""The name of the file in the report folder that a run leaves for a trusted workflow."""


class Refusal(StrEnum):
    """Why a request failed, where it matters to the next step."""

    CREDENTIALS = "credentials"  # 401: the token is invalid or has expired
    PERMISSION = "permission"  # 403 in one of its meanings: this token may not do this
    LOCKED = "locked"  # 403 in another: nobody may comment here
    NOT_FOUND = "not found"  # 404: not there, or not for this token to see
    RATE_LIMIT = "rate limit"  # 429, and 403 in its two other meanings
    INVALID = "invalid"  # 422: GitHub does not take this body
    DEADLINE = "deadline"  # no time is left for this or any other request
    UNCLEAR = "unclear"  # no answer, or a server's error: a write may still have happened
    OTHER = "other"


class ApiError(Exception):
    """GitHub refused a request or could not be reached.

    `retry_after` is how many seconds the answer asks to wait, 0 if it does not.
    """

    def __init__(self, message: str, refusal: Refusal = Refusal.OTHER, retry_after: float = 0) -> None:
        super().__init__(message)
        self.refusal = refusal
        self.retry_after = retry_after


class Api(Protocol):
    """GitHub's REST API as the modules here use it; `client.Client` is the real one."""

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Mapping[str, Any]:
        """Return the object that answers a request, empty if there is none. Raises ApiError."""

    def raw(self, path: str) -> bytes:
        """Return the bytes of a file in a repository. Raises ApiError."""

    def pages(self, path: str) -> Iterator[Mapping[str, Any]]:
        """Yield the entries of a list over all its pages. Raises ApiError."""


OF_A_HEAD = ("pull_request", "pull_request_review", "pull_request_review_comment")
"""The events of a pull request that run the workflow of its merged head."""


class WorkflowRun(NamedTuple):
    """A workflow run and its attempt. Later ones compare greater."""

    id: int
    attempt: int


NO_RUN = WorkflowRun(0, 0)
"""A run we know nothing of, as outside of GitHub Actions."""


class Subject(NamedTuple):
    """What an event is about, by its payload: empty strings and None where it does not say.

    `head_label` is the head's `owner:branch`, by which its pull request can be found. `trigger` is the run that a
    `workflow_run` event is about. `trigger_event` is the event that started that run.
    """

    pull_request: int | None = None
    head_sha: str = ""
    base_sha: str = ""
    head_label: str = ""
    trigger: WorkflowRun = NO_RUN
    trigger_workflow: str = ""
    trigger_event: str = ""


class Context(NamedTuple):
    """Where a run stands. Empty strings and None outside of GitHub Actions.

    `sha` is GITHUB_SHA, the commit whose workflow runs; `subject.head_sha` is the one that is judged.
    `broken_event_file` is the path of an event file that cannot be read. `workspace` is the folder that the runner
    checks out into.
    """

    in_actions: bool = False
    event: str = ""
    sha: str = ""
    actor: str = ""
    from_fork: bool = False
    subject: Subject = Subject()
    repository: str = ""
    run: WorkflowRun = NO_RUN
    workflow: str = ""
    job: str = ""
    api_url: str = ""
    server_url: str = ""
    output_file: str = ""
    summary_file: str = ""
    workspace: str = ""
    broken_event_file: str = ""

    @property
    def has_runner(self) -> bool:
        """Whether there is a runner to tell something, or a part of one."""
        return self.in_actions or bool(self.output_file or self.summary_file or self.workspace)

    @property
    def is_read_only(self) -> bool:
        """Whether GitHub gives the event's own token no right to write, whatever `permissions:` says.

        So it does for pull requests from forks and Dependabot's, but not under pull_request_target.
        """
        return self.event in OF_A_HEAD and (self.from_fork or self.actor == "dependabot[bot]")

    @property
    def named_commits(self) -> frozenset[str]:
        """The commits that the event names besides its head: GITHUB_SHA and the base."""
        return frozenset({self.sha, self.subject.base_sha} - {""})

    def origin(self, folder: str, gate_id: str, checkout: str) -> Origin:
        """Return where a result comes from that was found in a folder of a checkout of the repository."""
        repository = f"{self.server_url}/{self.repository}" if self.server_url and self.repository else ""
        return Origin(repository, folder, self.subject.head_sha, self.run.id, gate_id, checkout, self.job)

    @property
    def may_have_pull_request(self) -> bool:
        """Whether the event names a pull request, or is one whose commit may be the head of one."""
        return self.subject.pull_request is not None or self.event in {"push", "workflow_dispatch", "workflow_run"}


def context(environ: Mapping[str, str]) -> Context:
    """Return the context of this run from the variables GitHub documents for every runner.

    An event file that is missing or broken leaves the pull request unknown: a verdict never
    depends on it.
    """
    name = environ.get("GITHUB_EVENT_NAME", "")
    path, sha = environ.get("GITHUB_EVENT_PATH", ""), environ.get("GITHUB_SHA", "")
    readable = _event(path) if path else {}
    event = readable or {}
    pull = partial(value_at, event, "pull_request")  # its head is in another repository, which may be deleted by now
    from_fork = bool(pull()) and pull("head", "repo", "full_name") != pull("base", "repo", "full_name")
    subject, repository = _subject_of(name, event), environ.get("GITHUB_REPOSITORY", "")
    if not subject.head_sha:
        subject = subject._replace(head_sha=sha)
    return Context(
        in_actions=environ.get("GITHUB_ACTIONS") == "true",
        event=name,
        sha=sha,
        actor=environ.get("GITHUB_ACTOR", ""),
        from_fork=from_fork,
        subject=subject,
        repository=repository,
        run=WorkflowRun(_whole(environ.get("GITHUB_RUN_ID")), _whole(environ.get("GITHUB_RUN_ATTEMPT"))),
        workflow=_workflow(environ.get("GITHUB_WORKFLOW_REF"), environ.get("GITHUB_WORKFLOW"), repository),
        job=environ.get("GITHUB_JOB") or environ.get("CI_JOB_NAME", ""),  # GitLab's: it tells gates apart there, too
        api_url=environ.get("GITHUB_API_URL", "https://api.github.com").rstrip("/"),
        server_url=environ.get("GITHUB_SERVER_URL", "https://github.com").rstrip("/"),
        output_file=environ.get("GITHUB_OUTPUT", ""),
        summary_file=environ.get("GITHUB_STEP_SUMMARY", ""),
        workspace=environ.get("GITHUB_WORKSPACE", ""),
        broken_event_file=path if readable is None else "",
    )


_LARGEST = 32 << 20  # characters; GitHub's own limit on a payload is 25 MB


def _event(path: str) -> Mapping[str, Any] | None:
    """Return an event file's content, None if it is missing or broken."""
    try:
        with Path(path).open("rb") as file:
            text = file.read(_LARGEST + 1).decode("utf-8")
        event = None if len(text) > _LARGEST else parse(text)
    except (OSError, ValueError):
        return None
    return event if isinstance(event, dict) else None


def _subject_of(name: str, event: Mapping[str, Any]) -> Subject:
    """Return what an event is about, by its payload.

    GITHUB_SHA does not say it: it is a merge commit on pull_request, and the default branch's on pull_request_target
    and workflow_run.
    """
    at = partial(value_at, event)
    if name in (*OF_A_HEAD, "pull_request_target"):
        pull = partial(at, "pull_request")
        return Subject(_number(pull("number")), _sha(pull("head", "sha")), _sha(pull("base", "sha")))
    if name == "merge_group":  # it may hold several pull requests: it is gated and summarised, but not commented on
        return Subject(None, _sha(at("merge_group", "head_sha")), _sha(at("merge_group", "base_sha")))
    if name == "push":  # of an annotated tag `after` is the tag's own id, and head_commit the commit that it points to
        return Subject(None, _sha(at("head_commit", "id")) or _sha(at("after")), _sha(at("before")))
    return _subject_of_run(event) if name == "workflow_run" else Subject()


def _subject_of_run(event: Mapping[str, Any]) -> Subject:
    """Read a workflow_run. Its list of pull requests is empty where their heads are in forks."""
    run = partial(value_at, event, "workflow_run")
    listed, home = run("pull_requests"), value_at(event, "repository")
    pulls = [pull for pull in listed if isinstance(pull, dict)] if isinstance(listed, list) else []
    if value_at(home, "fork"):  # its runs list the pull requests that they are the heads of elsewhere
        pulls = [pull for pull in pulls if value_at(pull, "base", "repo", "id") == value_at(home, "id")]
    pull = next(iter(pulls), None)
    owner, branch = _text(run("head_repository", "owner", "login")), _text(run("head_branch"))
    return Subject(
        pull_request=_number(value_at(pull, "number")),
        head_sha=_sha(run("head_sha")),
        base_sha=_sha(value_at(pull, "base", "sha")),
        head_label=f"{owner}:{branch}" if owner and branch else "",
        trigger=WorkflowRun(_whole(run("id")), _whole(run("run_attempt"))),
        trigger_workflow=_workflow(value_at(event, "workflow", "path"), value_at(event, "workflow", "name")),
        trigger_event=_text(run("event")),
    )


def _workflow(path: Any, name: Any, repository: str = "") -> str:
    """Return the path of a workflow's file, its name if it is one of this repository, or the workflow's if unknown."""
    file = re.sub(r"(\.ya?ml)@.*", r"\1", _text(path), flags=re.DOTALL).removeprefix(f"{repository}/")
    return file.removeprefix(".github/workflows/") or _text(name)


# Zeros are no commit: `before` of a new branch, `after` of a deleted one.
_SHA = re.compile(r"(?!0{40})[0-9a-f]{40}(?:[0-9a-f]{24})?")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _sha(value: Any) -> str:
    return value if isinstance(value, str) and _SHA.fullmatch(value) else ""


def _number(value: Any) -> int | None:
    return value if type(value) is int and value > 0 else None  # true is an int, too


def _whole(value: Any) -> int:
    """Return a whole number of at most 18 digits that a variable or a payload holds, else 0."""
    text = str(value) if isinstance(value, str | int) else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else 0


_LAST_SECOND = 253_402_300_799  # the end of the year 9999


class Effects(NamedTuple):
    """Where a command prints, its time (ISO 8601 in UTC), its place on GitHub, and what it tells programs.

    `folder` is the working folder's path in the repository, "" at its root. `checkout` is the commit that it is at, ""
    unless the event names it. `tell` takes a fact by name, or what computes it: programs get it by `--json`
    (docs/json.md).
    """

    out: Callable[[str], None]
    err: Callable[[str], None]
    generated_at: str
    context: Context
    folder: str = ""
    checkout: str = ""
    tell: Callable[[str, Any], None] = lambda _name, _fact: None

    @classmethod
    def of(
        cls, environ: Mapping[str, str], generated_at: str, out: Callable[[str], None], err: Callable[[str], None]
    ) -> Effects:
        """Return what a command may do in an environment at a time, with where it prints."""
        folder = working_folder(environ.get("GITHUB_WORKSPACE", ""))
        where, own = context(environ), ""
        with suppress(OSError):  # a folder that is gone
            own = commit_of(Path.cwd())
        return cls(out, err, generated_at, where, folder, own if own in where.named_commits else "")

    def connect(self, access: Access) -> Api:
        """Return GitHub's API: one for each timeout, so that all requests for the same purpose share a deadline."""
        return _client(self.context.api_url, access, self.out)


def time_of(environ: Mapping[str, str]) -> str:
    """Return the time of the run as ISO 8601 in UTC, or the one SOURCE_DATE_EPOCH fixes. Raises CannotJudge."""
    epoch = environ.get("SOURCE_DATE_EPOCH", "").strip()
    if epoch and not (re.fullmatch(r"[0-9]{1,12}", epoch) and int(epoch) <= _LAST_SECOND):
        words = f"is {epoch[:40]!r}; expected whole seconds from 1970 to 9999"
        raise CannotJudge.at("SOURCE_DATE_EPOCH", words, Code.INVALID_SETTING)
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(epoch) if epoch else None))


Given = TypeVar("Given")


def within(seconds: float, action: Callable[[], Given]) -> Given:
    """Return what an action returns, or raise what it raises. Raises TimeoutError if it takes longer than `seconds`.

    An action that takes longer goes on in its thread unheard, and does not keep the process from ending.
    """
    if seconds <= 0:
        raise TimeoutError
    outcome: Future[Given] = Future()

    def act() -> None:
        try:
            outcome.set_result(action())
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            outcome.set_exception(error)

    Thread(target=act, daemon=True).start()
    return outcome.result(timeout=seconds)


@lru_cache(maxsize=2)
def _client(api_url: str, access: Access, say: Callable[[str], None]) -> Api:
    from safe_gate.github.client import Client  # `requests` only where GitHub is asked

    return Client(api_url, access.token, say=say, seconds=access.seconds, sleep=time.sleep)


_LONGEST = 10_000_000  # characters: the refs of a large repository


def working_folder(workspace: str) -> str:
    """Return the working folder's path from the root of its repository, "" at the root or where there is none.

    The root is the nearest folder upwards with a `.git`, else `workspace`, the folder that the runner checks out
    into. A checkout may lie in a subfolder of the workspace. A step may work in a subfolder of the checkout.
    """
    try:
        here = Path.cwd()
        path = here.relative_to(visible_root(here) or Path(workspace or here)).as_posix()
    except (OSError, ValueError):  # a folder that is gone, one outside the workspace
        return ""
    return "" if path == "." else path


def foreign_checkout(context: Context, paths: Iterable[Path]) -> str:
    """Return the first checkout among those that files lie in that `pull_request_target` cannot trust, or nothing.

    A checkout is trusted at a commit that the event names as the base's. Nothing identifies a head: its branch moves
    on after the event, and it may belong to another pull request. Files that lie in no checkout tell nothing and
    pass.
    """
    if context.event != "pull_request_target":
        return ""
    roots = {visible_root(Path(os.path.realpath(path))) for path in paths}
    foreign = (os.path.relpath(root) for root in roots if root and _head(root) not in context.named_commits)
    return min(foreign, default="")


def judged_commit(context: Context, paths: Iterable[Path]) -> str:
    """Return the commit whose files are judged: the event's, unless all are checked out at a base or another commit.

    Another is one that the working folder is at, under events that name what actions/checkout takes for the change. A
    checkout inside another one, such as a submodule, is never at a commit that an event names.
    """
    strays = context.named_commits
    commits = (commit_of(Path(os.path.realpath(path))) for path in paths)
    first = next(commits, "")
    if first and context.event in (*OF_A_HEAD, "merge_group", "push"):
        top = visible_root(Path.cwd())
        own = {commit_of(top)} if top and not visible_root(top.parent) else set()
        strays = (strays | own) - {context.sha}
    return first if first in strays and all(one == first for one in commits) else context.subject.head_sha


def is_merge_of_event(context: Context) -> bool:
    """Return whether the working folder is at the merge commit that GitHub made for a pull request's event.

    GITHUB_SHA names it there, and no author of a change can choose it. It may have been made for another head.
    """
    return context.event in OF_A_HEAD and bool(context.sha) and commit_of(Path.cwd()) == context.sha


def commit_of(folder: Path) -> str:
    """Return the commit that the checkout around a folder is at, "" if there is none."""
    root = visible_root(folder)
    return _sha(_head(root)) if root else ""


def visible_root(path: Path) -> Path | None:
    """Return the nearest folder with a `.git`, from an absolute path upwards, None if none is seen."""
    with suppress(OSError):
        return next((folder for folder in (path, *path.parents) if (folder / ".git").exists()), None)
    return None


def _head(root: Path) -> str:
    """Return the commit that a checkout's HEAD names, directly or by a branch, or nothing.

    In a worktree `.git` is a file that names the git folder. Packed refs are older than loose ones.
    """
    link = _text_of(root / ".git")
    git = root / link.removeprefix("gitdir: ") if link.startswith("gitdir: ") else root / ".git"
    head = _text_of(git / "HEAD")
    if not head.startswith("ref: "):
        return head
    name = head.removeprefix("ref: ")
    common = git / (_text_of(git / "commondir") or ".")
    if loose := _text_of(common / name):
        return loose
    packed = (line.partition(" ") for line in _text_of(common / "packed-refs").split("\n"))
    return next((sha for sha, _, ref in packed if ref == name and _SHA.fullmatch(sha)), "")


def _text_of(path: Path) -> str:
    try:
        if not path.is_file():
            return ""
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(_LONGEST).strip()
    except (OSError, ValueError):
        return ""
