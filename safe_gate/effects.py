"""What a run does to the world, as a value: the shell passes it in, tests pass in another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from safe_gate.github import Api
from safe_gate.github.event import Context
from safe_gate.options import Options


@dataclass(frozen=True, slots=True)
class Effects:
    """What a run does to the world: lines to two streams, a time, and GitHub.

    `connect` gives GitHub's API at an address, with the token and the certificates of the options, and
    with where to say that it waits; `folder` is the working folder's path in the repository, "" at its root.
    """

    out: Callable[[str], None]
    err: Callable[[str], None]
    generated_at: str
    context: Context
    connect: Callable[[str, Options, Callable[[str], None]], Api]
    write_outputs: Callable[[str, Mapping[str, str]], None]
    append_summary: Callable[[str, Sequence[str]], None]
    folder: str = ""
