"""What a run does to the world, as a value: the shell passes it in, tests pass in another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from safe_gate.github import Api
from safe_gate.github.event import Context

if TYPE_CHECKING:
    from safe_gate.core.report import Report
    from safe_gate.settings.destinations import Access, Sinks
    from safe_gate.sinks.events import Run


class Effects(NamedTuple):
    """What a run does to the world: lines to two streams, a time, GitHub, and sinks.

    `connect` gives GitHub's API at an address, with what requests are sent with and where to say that it waits.
    `deliver` sends a report's events to sinks, and returns a sentence for each sink that did not get them all.
    `folder` is the working folder's path in the repository, "" at its root. `tell` takes a fact by name, or what
    computes it: programs get it by `--json` (docs/json.md). `given` are the settings that no config file has: those
    that a command line must repeat.
    """

    out: Callable[[str], None]
    err: Callable[[str], None]
    generated_at: str
    context: Context
    connect: Callable[[str, Access, Callable[[str], None]], Api]
    write_outputs: Callable[[str, Mapping[str, str]], None]
    append_summary: Callable[[str, Sequence[str]], None]
    deliver: Callable[[Report, Run, Sinks], Sequence[str]]
    folder: str = ""
    given: frozenset[str] = frozenset()
    tell: Callable[[str, Any], None] = lambda _name, _fact: None
