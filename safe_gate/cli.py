"""The command line: argv and environ in, an exit code out. The only place that catches all exceptions.

It imports the rest inside its `try`, so an interrupt or a broken installation shows no traceback either.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout, suppress
from contextvars import copy_context
from itertools import takewhile
from threading import current_thread, main_thread
from typing import Any, NoReturn

_COULD_NOT_JUDGE = 3
_INTERRUPTED = 130
_HIGHEST = 2  # the number of standard error
_FEW_CYCLES = 200_000  # objects that may wait for the garbage collector: a start makes nearly as many, and no garbage


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; no exception escapes, not even one that ends the process.

    With `--json`, all that the command prints is a log, and standard output has what it told.
    """
    gc.set_threshold(_FEW_CYCLES)
    atexit.register(gc.freeze)  # all memory goes back at once: no need to look through it for garbage at the end
    _open_streams()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler and current_thread() is main_thread():
        signal.signal(signal.SIGINT, _interrupt)
    arguments, told = list(sys.argv[1:] if argv is None else argv), dict[str, Any]()
    is_json = "--json" in takewhile("--".__ne__, arguments)
    with redirect_stdout(sys.stderr) if is_json else nullcontext():
        code = _run(arguments, told)
    with suppress(Exception):  # no memory, or nothing to write to
        from safe_gate.commands import _command

        if is_json:
            code = _command.print_told(arguments, code, told)
        for stream in (sys.stdout, sys.stderr):  # what is lost at the end makes Python exit with 120
            _command.write(stream.flush, stream)
    return code


def _run(arguments: list[str], told: dict[str, Any]) -> int:
    try:
        from safe_gate.commands import _command

        return copy_context().run(_command.run, arguments, os.environ, told)
    except BaseException as error:  # noqa: BLE001 - a traceback helps no user; a gate that breaks does not pass
        if isinstance(error, KeyboardInterrupt) and error.args == (signal.SIGINT,):  # as `is_interrupt` tells
            return _INTERRUPTED
        with suppress(OSError):
            print(f"safe-gate: internal error: {type(error).__name__}", file=sys.stderr)  # noqa: T201
        return _COULD_NOT_JUDGE


def _interrupt(*_: object) -> NoReturn:
    """Raise what only a signal raises: code that raises KeyboardInterrupt itself must not pass for a user."""
    raise KeyboardInterrupt(signal.SIGINT)


def _open_streams() -> None:
    """Send what is printed to a stream that the caller closed nowhere. Otherwise a report could be opened as one."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= _HIGHEST:
        pass
    os.close(number)
    sys.stdout, sys.stderr = (stream or open(os.devnull, "w") for stream in (sys.stdout, sys.stderr))  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # the same bytes whatever the locale
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
