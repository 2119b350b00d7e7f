"""The progress of a run: the scorer reports how many cases are scored to a listener of this context."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

_listener: ContextVar[Callable[[int], None] | None] = ContextVar("listener", default=None)


def listen(listener: Callable[[int], None]) -> None:
    """Let a function hear of cases from here on: their number, each time some are scored."""
    _listener.set(listener)


def scored(cases: int) -> None:
    """Say that some cases are scored."""
    if listener := _listener.get():
        listener(cases)
