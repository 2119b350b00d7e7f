"""Which pull request a run is about, asked of GitHub where the event does not say.

https://docs.github.com/en/rest/commits/commits#list-pull-requests-associated-with-a-commit
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from safe_gate.github import Api
from safe_gate.github.event import Context


def number(api: Api, context: Context) -> int | None:
    """Return the number of the pull request that a run is about, None if there is none. Asks GitHub at most once."""
    if context.subject.pull_request is not None:
        return context.subject.pull_request
    return min(_open_at_head(api, context), default=None)


def confirmed(api: Api, context: Context, wanted: int | None) -> int | None:
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
