"""What started the run: the event, the pull request and the commits it is about.

Touches the runner's environment (given) and the event file it names.
https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from safe_gate.core.jsontext import parse
from safe_gate.model.report import Origin

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


NOTHING = Subject()
"""The subject of an event that is about no commit."""


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
    subject: Subject = NOTHING
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
    def head_sha(self) -> str:
        """The commit that the event is about."""
        return self.subject.head_sha

    @property
    def is_read_only(self) -> bool:
        """Whether GitHub gives the event's own token no right to write, whatever `permissions:` says.

        So it does for pull requests from forks and Dependabot's, but not under pull_request_target.
        """
        return self.event in OF_A_HEAD and (self.from_fork or self.actor == "dependabot[bot]")

    def origin(self, folder: str, gate_id: str) -> Origin:
        """Return where a result comes from that was found in a folder of the repository."""
        repository = f"{self.server_url}/{self.repository}" if self.server_url and self.repository else ""
        return Origin(repository, folder, self.head_sha, self.run.id, gate_id)

    @property
    def may_have_pull_request(self) -> bool:
        """Whether the event names a pull request, or is one whose commit may be the head of one."""
        return self.subject.pull_request is not None or self.event in _LOOKED_UP

    def of_trigger(self) -> Context:
        """Return the context of the run that a `workflow_run` event is about, as the event alone says."""
        return self._replace(run=self.subject.trigger, workflow=self.subject.trigger_workflow)


def context(environ: Mapping[str, str]) -> Context:
    """Return the context of this run from the variables GitHub documents for every runner.

    An event file that is missing or broken leaves the pull request unknown: a verdict never
    depends on it.
    """
    name = environ.get("GITHUB_EVENT_NAME", "")
    path, sha = environ.get("GITHUB_EVENT_PATH", ""), environ.get("GITHUB_SHA", "")
    readable = _event(path) if path else {}
    event = readable or {}
    subject = _SUBJECTS[name](event) if name in _SUBJECTS else NOTHING
    if not subject.head_sha:
        subject = subject._replace(head_sha=sha)
    return Context(
        in_actions=environ.get("GITHUB_ACTIONS") == "true",
        event=name,
        sha=sha,
        actor=environ.get("GITHUB_ACTOR", ""),
        from_fork=_is_from_fork(event),
        subject=subject,
        repository=environ.get("GITHUB_REPOSITORY", ""),
        run=WorkflowRun(_whole(environ.get("GITHUB_RUN_ID")), _whole(environ.get("GITHUB_RUN_ATTEMPT"))),
        workflow=environ.get("GITHUB_WORKFLOW", ""),
        job=environ.get("GITHUB_JOB", ""),
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


# GITHUB_SHA is a merge commit on pull_request and the default branch's on pull_request_target and workflow_run,
# so the payload of each event decides.


def _pull_request(event: Mapping[str, Any]) -> Subject:
    pull = _object(event, "pull_request")  # its head.repo is null where the fork was deleted
    return Subject(
        pull_request=_number(pull),
        head_sha=_sha(_object(pull, "head"), "sha"),
        base_sha=_sha(_object(pull, "base"), "sha"),
    )


def _merge_group(event: Mapping[str, Any]) -> Subject:
    # A group may hold several pull requests: it is gated and summarised, but not commented on.
    group = _object(event, "merge_group")
    return Subject(head_sha=_sha(group, "head_sha"), base_sha=_sha(group, "base_sha"))


def _push(event: Mapping[str, Any]) -> Subject:
    # Of an annotated tag `after` is the tag's own id, and head_commit the commit that it points to.
    head = _sha(_object(event, "head_commit"), "id") or _sha(event, "after")
    return Subject(head_sha=head, base_sha=_sha(event, "before"))


def _workflow_run(event: Mapping[str, Any]) -> Subject:
    """Read a workflow_run. Its list of pull requests is empty where their heads are in forks."""
    run, repository = _object(event, "workflow_run"), _object(event, "repository")
    listed = run.get("pull_requests")
    pulls = [pull for pull in listed if isinstance(pull, dict)] if isinstance(listed, list) else []
    if repository.get("fork"):  # a fork's runs list the pull requests that they are the heads of elsewhere
        pulls = [p for p in pulls if _object(_object(p, "base"), "repo").get("id") == repository.get("id")]
    pull = pulls[0] if pulls else {}
    owner = _text(_object(_object(run, "head_repository"), "owner"), "login")
    branch = _text(run, "head_branch")
    return Subject(
        pull_request=_number(pull),
        head_sha=_sha(run, "head_sha"),
        base_sha=_sha(_object(pull, "base"), "sha"),
        head_label=f"{owner}:{branch}" if owner and branch else "",
        trigger=WorkflowRun(_whole(run.get("id")), _whole(run.get("run_attempt"))),
        trigger_workflow=_text(_object(event, "workflow"), "name"),
        trigger_event=_text(run, "event"),
    )


_SUBJECTS: Mapping[str, Callable[[Mapping[str, Any]], Subject]] = {
    **dict.fromkeys(OF_A_HEAD, _pull_request),
    "pull_request_target": _pull_request,
    "merge_group": _merge_group,
    "push": _push,
    "workflow_run": _workflow_run,
}
_LOOKED_UP = frozenset({"push", "workflow_dispatch", "workflow_run"})
# Zeros are no commit: `before` of a new branch, `after` of a deleted one.
_SHA = re.compile(r"(?!0{40})[0-9a-f]{40}(?:[0-9a-f]{24})?")


def _is_from_fork(event: Mapping[str, Any]) -> bool:
    """Return whether a pull request's head is in another repository, which may be deleted by now."""
    pull = _object(event, "pull_request")
    head, base = (_object(_object(pull, side), "repo").get("full_name") for side in ("head", "base"))
    return bool(pull) and head != base


def _object(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def _text(value: Mapping[str, Any], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""


def _sha(value: Mapping[str, Any], key: str) -> str:
    return found if _SHA.fullmatch(found := _text(value, key)) else ""


def _number(pull: Mapping[str, Any]) -> int | None:
    number = pull.get("number")
    return number if type(number) is int and number > 0 else None  # true is an int, too


def _whole(value: Any) -> int:
    """Return a whole number of at most 18 digits that a variable or a payload holds, else 0."""
    text = str(value) if isinstance(value, str | int) else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else 0
