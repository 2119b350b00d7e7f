"""The command line: argv and environ in, an exit code out. The only place that catches all exceptions.

It imports the rest inside its `try`, so an interrupt or a broken installation shows no traceback either.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from itertools import takewhile
from pathlib import Path
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

if TYPE_CHECKING:
    from safe_gate.commands._command import Print
    from safe_gate.model.problems import Problem

_COULD_NOT_JUDGE = 3
_INTERRUPTED = 130
_HIGHEST = 2  # the number of standard error
_FEW_CYCLES = 200_000  # objects that may wait for the garbage collector: a start makes nearly as many, and no garbage


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; no exception escapes, not even one that ends the process."""
    gc.set_threshold(_FEW_CYCLES)
    atexit.register(gc.freeze)  # all memory goes back at once: no need to look through it for garbage at the end
    _open_streams()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler and current_thread() is main_thread():
        signal.signal(signal.SIGINT, _interrupt)
    code = _run_as_json(list(sys.argv[1:] if argv is None else argv))
    for stream in (sys.stdout, sys.stderr):
        _write(stream.flush, stream)  # argparse prints too: what is lost at the end makes Python exit with 120
    return code


def _run_as_json(arguments: list[str]) -> int:
    """Run a command line. With `--json`, all that it prints is a log, and standard output has what it told."""
    if "--json" not in takewhile("--".__ne__, arguments):
        return _run(arguments, _print, {})
    told: dict[str, Any] = {}
    code = _run(arguments, lambda line, _: _print(line, sys.stderr), told)
    with suppress(Exception):  # no memory
        from safe_gate.commands import _command

        lost = _print(_command.as_json(arguments, code, told), sys.stdout)
        if lost and not isinstance(lost, BrokenPipeError):
            _print(f"standard output: cannot be written: {lost.strerror}", sys.stderr)
            return code or _COULD_NOT_JUDGE
    return code


def _run(arguments: list[str], say: Print, told: dict[str, Any]) -> int:
    try:
        Path.cwd()
    except FileNotFoundError:
        from safe_gate.model.problems import Code, Place, Problem

        words = "the working folder no longer exists; change to another one"
        return _tell(Problem(Place("safe-gate"), words, code=Code.UNREADABLE_FILE), say, told)
    try:
        return copy_context().run(_main, arguments, os.environ, say, told)
    except BaseException as error:  # noqa: BLE001 - a traceback helps no user; a gate that breaks does not pass
        if isinstance(error, KeyboardInterrupt) and error.args == (signal.SIGINT,):  # as `is_interrupt` tells
            return _INTERRUPTED
        say(f"safe-gate: internal error: {type(error).__name__}", sys.stderr)
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


def _main(argv: list[str], environ: Mapping[str, str], say: Print, told: dict[str, Any]) -> int:
    from safe_gate.commands import _command

    if not argv:
        _print(_command.help_text(), sys.stdout)
        return _COULD_NOT_JUDGE
    argv[:] = _command.with_action_inputs(argv, environ)  # what fails later reports as this command
    return _command.run(argv, environ, say, told)


def _tell(problem: Problem, say: Print, told: dict[str, Any]) -> int:
    told["problems"] = (problem,)
    say(f"{problem.place.path}: {problem.message}", sys.stderr)
    return _COULD_NOT_JUDGE


def _print(line: str, stream: TextIO) -> OSError | None:
    """Print a line. Return the error if it is lost, as on a full disk."""
    return _write(partial(print, line, file=stream, flush=True), stream)


def _write(write: Callable[[], None], stream: TextIO) -> OSError | None:
    """Write to a stream. Return the error if something is lost; what comes later is lost without one."""
    try:
        write()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # the command must still return its exit code
        return error
    return None
