"""Shell: GitHub's side of a run. Touches the runner's files and GitHub's REST API.

One job a module: `event` what happened, `client` HTTP, `comment` the pull request's comment,
`files` step outputs and job summary, `commands` annotations. Nothing here decides a verdict.
"""


class ApiError(Exception):
    """GitHub refused a request or could not be reached; `status` is 0 where no answer came."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status
