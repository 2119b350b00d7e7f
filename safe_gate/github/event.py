"""What started the run: the event, the pull request and the commit it is about.

Touches the runner's environment (given) and the event file it names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Context:
    """Where a run stands. Empty strings and None outside of GitHub Actions."""

    in_actions: bool = False
    event: str = ""
    actor: str = ""
    from_fork: bool = False
    repository: str = ""
    pull_request: int | None = None
    head_sha: str = ""
    api_url: str = ""
    server_url: str = ""
    output_file: str = ""
    summary_file: str = ""

    @property
    def is_read_only(self) -> bool:
        """Whether GitHub gives the event's own token no right to write, whatever `permissions:` says.

        So it does for pull requests from forks and Dependabot's, but not under pull_request_target.
        """
        return self.event == "pull_request" and (self.from_fork or self.actor == "dependabot[bot]")

    @property
    def blob_url(self) -> str:
        """Where the repository's files are shown at the judged commit, or nothing if unknown."""
        if not (self.server_url and self.repository and self.head_sha):
            return ""
        return f"{self.server_url}/{self.repository}/blob/{self.head_sha}"


def context(environ: Mapping[str, str]) -> Context:
    """Return the context of this run from the variables GitHub documents for every runner.

    An event file that is missing or broken leaves the pull request unknown: a verdict never
    depends on it.
    """
    name = environ.get("GITHUB_EVENT_NAME", "")
    event = _event(environ.get("GITHUB_EVENT_PATH", ""))
    number, sha = _subject(name, event)
    return Context(
        in_actions=environ.get("GITHUB_ACTIONS") == "true",
        event=name,
        actor=environ.get("GITHUB_ACTOR", ""),
        from_fork=_is_from_fork(event),
        repository=environ.get("GITHUB_REPOSITORY", ""),
        pull_request=number,
        head_sha=sha or environ.get("GITHUB_SHA", ""),
        api_url=environ.get("GITHUB_API_URL", "https://api.github.com").rstrip("/"),
        server_url=environ.get("GITHUB_SERVER_URL", "https://github.com").rstrip("/"),
        output_file=environ.get("GITHUB_OUTPUT", ""),
        summary_file=environ.get("GITHUB_STEP_SUMMARY", ""),
    )


def _event(path: str) -> Mapping[str, Any]:
    try:
        event = json.loads(Path(path).read_text("utf-8")) if path else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return event if isinstance(event, dict) else {}


def _subject(name: str, event: Mapping[str, Any]) -> tuple[int | None, str]:
    """Return the pull request's number, if it has one, and the commit the event is about."""
    # GITHUB_SHA is a merge commit on pull_request and the default branch's on pull_request_target.
    if name in ("pull_request", "pull_request_target"):
        pull = _object(event, "pull_request")
        number = pull.get("number")
        return (number if isinstance(number, int) else None), str(_object(pull, "head").get("sha", ""))
    if name == "merge_group":  # may hold several pull requests: gate and summarise, but do not comment
        return None, str(_object(event, "merge_group").get("head_sha", ""))
    return None, ""


def _is_from_fork(event: Mapping[str, Any]) -> bool:
    """Tell whether a pull request's head lies in another repository, or did before that was deleted."""
    pull = _object(event, "pull_request")
    head, base = (_object(_object(pull, side), "repo").get("full_name") for side in ("head", "base"))
    return bool(pull) and head != base


def _object(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}
