"""Shell: a function applied to many items by several processes, in order, and its progress. Starts processes."""

from __future__ import annotations

import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from itertools import chain, islice
from threading import Thread
from typing import Any, TypeVar

from safe_gate.model.problems import CannotJudge, Code

_listener: ContextVar[Callable[[int], None] | None] = ContextVar("listener", default=None)


def listen_for_scored(listener: Callable[[int], None]) -> None:
    """Set the function that is called with the number of cases each time some are scored."""
    _listener.set(listener)


def report_scored(cases: int) -> None:
    """Report a number of scored cases to the listener."""
    if listener := _listener.get():
        listener(cases)


Item = TypeVar("Item")
Result = TypeVar("Result")


def cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_in_order(
    function: Callable[[Item], Result], items: Iterable[Item], processes: int, fewest: int = 2
) -> Iterator[Result]:
    """Yield what a function returns for each item, in order, computed by several processes.

    Fewer items than `fewest` are not worth starting them. Windows cannot fork, so there is one process. Raises
    CannotJudge if they cannot be started, and if a process dies.
    """
    stream = iter(items)
    head = list(islice(stream, fewest))
    if processes == 1 or len(head) < fewest or sys.platform == "win32":
        yield from (function(item) for item in chain(head, stream))  # `map` would end at a StopIteration
        return
    first, stream = head[0], chain(head[1:], stream)
    from concurrent.futures import Future, ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import active_children, get_context

    # Forked, so that rules are compiled already and a function need not be sent; there are no threads yet.
    context = get_context("fork")
    waiting: deque[Future[Any]] = deque()
    # A half-started pool cannot be stopped, so an interrupt waits until all have started.
    heard = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        pool = ProcessPoolExecutor(processes, context, initializer=_init_worker, initargs=(function,))
        waiting.append(pool.submit(_call_worker_function, first))
    except (OSError, RuntimeError) as error:  # too many processes, open files or threads
        for process in active_children():
            process.kill()
            process.join()
        signal.pthread_sigmask(signal.SIG_SETMASK, heard)
        why = getattr(error, "strerror", None) or error
        words = f"their processes cannot be started: {why}; set fewer jobs and run again"
        raise CannotJudge.at("jobs", words, Code.UNAVAILABLE) from None
    with pool:
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, heard)
            for item in stream:
                waiting.append(pool.submit(_call_worker_function, item))
                if len(waiting) > 2 * processes:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the processes end first
            pool.shutdown(cancel_futures=True)
            raise
        except BrokenProcessPool:
            words = "a process that scored cases died, perhaps for lack of memory; set fewer jobs and run again"
            raise CannotJudge.at("jobs", words, Code.UNAVAILABLE) from None


_worker_function: list[Callable[[Any], Any]] = []


def _init_worker(function: Callable[[Any], Any]) -> None:
    _worker_function[:] = [function]
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process when its parent has ended, because a killed parent cannot end it."""
    from multiprocessing import parent_process

    if parent := parent_process():
        parent.join()
        os._exit(1)


def _call_worker_function(item: Any) -> Any:
    return _worker_function[0](item)
