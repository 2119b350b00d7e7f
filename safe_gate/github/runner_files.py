"""The files through which a step tells the runner its outputs and its summary.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from safe_gate.render import SUMMARY_LIMIT


def write_outputs(path: str, values: Mapping[str, str]) -> None:
    """Append step outputs, each as a heredoc under a delimiter no value can know.

    Raises OSError if the file cannot be written.
    """
    end = _line_end(path)
    with Path(path).open("a", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        file.write(end)
        for name, value in values.items():
            delimiter = f"ghadelimiter_{os.urandom(16).hex()}"
            file.write(f"{name}<<{delimiter}\n{value}\n{delimiter}\n")


def append_summary(path: str, texts: Sequence[str]) -> None:
    """Append to the job summary the first of some texts, longest first, that its limit has room for.

    The runner drops a step's summary over `SUMMARY_LIMIT` bytes. An earlier part of the step may have written to it.
    Raises OSError if the file cannot be written or has no room left.
    """
    end = _line_end(path)
    with Path(path).open("ab") as file:
        room = SUMMARY_LIMIT - (file.tell() if file.seekable() else 0)
        for text in texts:
            data = (end + text if text.endswith("\n") else f"{end}{text}\n").encode("utf-8", "backslashreplace")
            if len(data) <= room:
                file.write(data)
                return
    raise OSError(f"{max(room, 0)} bytes are left of the {SUMMARY_LIMIT} that the runner takes")


def _line_end(path: str) -> str:
    """Return what ends a file's last line if nothing does: left open, it would swallow the first of ours."""
    file = Path(path)
    if not file.is_file() or not file.stat().st_size:
        return ""
    with file.open("rb") as written:
        written.seek(-1, os.SEEK_END)
        return "" if written.read() == b"\n" else "\n"
