"""What an untrusted run leaves behind, and the trusted run that publishes it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.cases import Ran, read_json, write_json
from tests.support.github import Answer, outputs

FILE = Path("reports/safe-gate.comment.json")
FORBIDDEN = Answer(403, '{"message": "Resource not accessible by integration"}')
Publish = Callable[..., "Published"]
Untrusted = Callable[..., None]
"""Run the gate without the right to comment, which leaves a file behind."""


class Published:
    """What the trusted step left behind."""

    def __init__(self, ran: Ran, written: str) -> None:
        self.code, self.log = ran.code, ran.log
        self.outputs = outputs(written)

    @property
    def status(self) -> str:
        return self.outputs["comment-status"]


def edit(change: Callable[[dict[str, Any]], Any]) -> None:
    file = read_json(FILE)
    change(file)
    write_json(FILE, file)
