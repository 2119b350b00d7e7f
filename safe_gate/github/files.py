"""The files through which a step tells the runner its outputs and its summary.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from pathlib import Path


def write_outputs(path: str, values: Mapping[str, str]) -> None:
    """Append step outputs, each as a heredoc under a delimiter no value can know.

    Raises OSError if the file cannot be written.
    """
    with Path(path).open("a", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        for name, value in values.items():
            delimiter = f"ghadelimiter_{uuid.uuid4()}"
            file.write(f"{name}<<{delimiter}\n{value}\n{delimiter}\n")


def append_summary(path: str, text: str) -> None:
    """Append to the job summary, ending in a newline. Raises OSError if the file cannot be written."""
    with Path(path).open("a", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        file.write(text if text.endswith("\n") else text + "\n")
