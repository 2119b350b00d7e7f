"""The one comment of the gate on a pull request: created once, then updated in place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from safe_gate.github import ApiError
from safe_gate.github.client import Client

MARKER = "<!-- safe-gate:main -->"
_ACTIONS_BOT = "github-actions[bot]"


@dataclass(frozen=True, slots=True)
class Posted:
    """What became of a comment: `created`, `updated` or `unchanged`, and where it is."""

    status: str
    url: str


def post(client: Client, repository: str, pull_request: int, text: str) -> Posted:
    """Create or update our comment on a pull request. Raises ApiError if GitHub refuses."""
    body = f"{MARKER}\n{text}"
    comments = f"/repos/{repository}/issues/{pull_request}/comments"
    login = _login(client)
    for comment in client.pages(f"{comments}?per_page=100"):
        if _is_ours(comment, login):
            if comment["body"].replace("\r\n", "\n").strip() == body.strip():
                return Posted("unchanged", _text(comment, "html_url"))
            path = f"/repos/{repository}/issues/comments/{comment.get('id')}"
            return Posted("updated", _text(client.call("PATCH", path, {"body": body}), "html_url"))
    return Posted("created", _text(client.call("POST", comments, {"body": body}), "html_url"))


def _login(client: Client) -> str:
    """Return who we are; a workflow's own token may not ask and is the Actions bot."""
    try:
        return _text(client.call("GET", "/user"), "login")
    except ApiError as error:
        if error.status in (401, 403):
            return _ACTIONS_BOT
        raise


def _is_ours(comment: Mapping[str, Any], login: str) -> bool:
    """Anyone can write our marker into a comment: only what we wrote ourselves is ours."""
    user, body = comment.get("user"), comment.get("body")
    return isinstance(user, dict) and user.get("login") == login and isinstance(body, str) and body.startswith(MARKER)


def _text(answer: Mapping[str, Any], key: str) -> str:
    if not isinstance(answer.get(key), str):
        raise ApiError(f"the answer has no {key}: it is not GitHub's")
    return str(answer[key])
