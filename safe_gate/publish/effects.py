"""What a run does to the world, as a value: the shell passes it in, tests pass in another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from safe_gate.github import Api
from safe_gate.github.event import Context
from safe_gate.settings.options import Options

if TYPE_CHECKING:
    from safe_gate.core.report import Report
    from safe_gate.sinks.events import Run

Timeout = Literal["publish_timeout", "fetch_timeout"]
"""The options that limit the time of requests to GitHub."""


class Effects(NamedTuple):
    """What a run does to the world: lines to two streams, a time, GitHub, and sinks.

    `connect` gives GitHub's API at an address, with the token and the certificates of the options,
    with where to say that it waits, and with the option that limits its time: whoever gives the same one shares
    the time. `deliver` sends a report's events to the sinks of the options, and returns a sentence for each sink that
    did not get them all. `folder` is the working folder's path in the repository, "" at its root.
    """

    out: Callable[[str], None]
    err: Callable[[str], None]
    generated_at: str
    context: Context
    connect: Callable[[str, Options, Callable[[str], None], Timeout], Api]
    write_outputs: Callable[[str, Mapping[str, str]], None]
    append_summary: Callable[[str, Sequence[str]], None]
    deliver: Callable[[Report, Run, Options], Sequence[str]]
    folder: str = ""
