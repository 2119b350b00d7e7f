"""The event of a workflow that another one started."""

from typing import Any

from tests.support.github import BASE, HEAD, REPOSITORY

OTHER = "380387fbc80638b734a49e1be1c4dfec1c01b33c"
HERE = {"id": 186853002, "full_name": REPOSITORY, "fork": False}


def workflow_run(pulls: list[dict[str, Any]] | None = None, **run: Any) -> dict[str, Any]:
    """Return the payload of a workflow_run as GitHub sends it, of a branch of the repository itself."""
    facts = {
        "id": 77,
        "run_attempt": 1,
        "event": "pull_request",
        "head_branch": "changes",
        "head_sha": HEAD,
        "pull_requests": pulls or [],
        "head_repository": {"id": 186853002, "full_name": REPOSITORY, "owner": {"login": "Codertocat"}},
    }
    workflow = {"name": "evals", "path": ".github/workflows/evals.yml"}
    return {"action": "completed", "repository": HERE, "workflow": workflow, "workflow_run": facts | run}


LISTED = {"number": 2, "head": {"sha": HEAD}, "base": {"sha": BASE, "repo": {"id": 186853002}}}
