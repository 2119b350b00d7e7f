"""The config file as a value. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple


class Config(NamedTuple):
    """The config file: its path as reports show it, its values by the schema's keys, and the line of each key.

    `locate` returns a path that the file names from the working folder.
    """

    path: str
    content: Mapping[str, Any]
    line_of: Callable[[Sequence[str | int]], int] = lambda _: 0
    locate: Callable[[str], str] = lambda path: path
