"""A time limit for an action on the network, whatever the other side does."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

Given = TypeVar("Given")


def within(seconds: float, action: Callable[[], Given]) -> Given:
    """Return what an action returns, or raise what it raises. Raises TimeoutError if it takes longer than `seconds`.

    An action that takes longer goes on in its thread unheard, and does not keep the process from ending.
    """
    if seconds <= 0:
        raise TimeoutError
    outcome: Future[Given] = Future()

    def act() -> None:
        try:
            outcome.set_result(action())
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            outcome.set_exception(error)

    Thread(target=act, daemon=True).start()
    return outcome.result(timeout=seconds)
