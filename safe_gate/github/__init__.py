"""GitHub: event, REST API, comment, files of the runner, hand-over to a trusted workflow, and publishing.

Nothing here decides a verdict. Most runs publish nothing, so `github.publishing` is loaded when it is first used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from safe_gate.github import publishing as publishing
    from safe_gate.github import runner_files as runner_files

HAND_OVER = "safe-gate.comment.json"
"""The name of the file in the report folder that a run leaves for a trusted workflow."""


def __getattr__(name: str) -> Any:
    """Return a module of the room."""
    if name not in ("publishing", "runner_files"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")


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
    """GitHub refused a request or could not be reached; `status` is 0 where no answer came.

    `retry_after` is how many seconds the answer asks to wait, 0 if it does not.
    """

    def __init__(self, message: str, refusal: Refusal = Refusal.OTHER, status: int = 0, retry_after: float = 0) -> None:
        super().__init__(message)
        self.refusal = refusal
        self.status = status
        self.retry_after = retry_after


class Api(Protocol):
    """GitHub's REST API as the modules here use it; `client.Client` is the real one."""

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Mapping[str, Any]:
        """Return the object that answers a request, empty if there is none. Raises ApiError."""

    def raw(self, path: str) -> bytes:
        """Return the bytes of a file in a repository. Raises ApiError."""

    def pages(self, path: str) -> Iterator[Mapping[str, Any]]:
        """Yield the entries of a list over all its pages. Raises ApiError."""
