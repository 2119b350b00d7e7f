"""The command line: argv and environ in, an exit code out. The only place that catches all exceptions.

It imports the rest inside its `try`, so an interrupt or a broken installation shows no traceback either.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from safe_gate.publish.effects import Effects

_COULD_NOT_JUDGE = 3
_INTERRUPTED = 130
_FEW_CYCLES = 200_000  # objects that may wait for the garbage collector: a start makes nearly as many, and no garbage


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; no exception but SystemExit 0 of --help escapes."""
    gc.set_threshold(_FEW_CYCLES)
    atexit.register(gc.freeze)  # all memory goes back at once: no need to look through it for garbage at the end
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # the same bytes whatever the locale
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        Path.cwd()
    except FileNotFoundError:
        _print("safe-gate: the working folder no longer exists; change to another one", sys.stderr)
        return _COULD_NOT_JUDGE
    try:
        return copy_context().run(_main, arguments, os.environ)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except Exception as error:  # noqa: BLE001 - a traceback helps no user; a gate that breaks does not pass
        with suppress(Exception):  # the cause may prevent this report too: no memory, no more open files
            return _surprised(error, arguments, os.environ)
        _print(f"safe-gate: internal error: {type(error).__name__}", sys.stderr)
        return _COULD_NOT_JUDGE


def _main(argv: list[str], environ: Mapping[str, str]) -> int:
    from safe_gate import commands
    from safe_gate.commands import _parsing
    from safe_gate.core.model import CannotJudge
    from safe_gate.settings.old_names import OLD_NAMES
    from safe_gate.settings.options import Options

    flags: dict[str, Any] = {}
    effects = None
    is_read = False
    try:
        if not argv:
            _print(_parsing.help_text(), sys.stdout)
            return _COULD_NOT_JUDGE
        arguments = _parsing.parsed(argv)
        is_read = True
        from safe_gate.commands import _command  # after --help and --version, which need none of it
        from safe_gate.inputs import disk
        from safe_gate.runs import world
        from safe_gate.settings.environment import switched_on

        name = arguments.pop("command")
        known = {*Options.__dataclass_fields__, *(old.name for old in OLD_NAMES)}
        flags = {name: value for name, value in arguments.items() if name in known}
        is_followed = flags["follow_links"] if "follow_links" in flags else switched_on("follow_links", environ)
        disk.follow_links(is_on=bool(is_followed))
        disk.hold()
        command = commands.module(name)
        effects = _effects(environ, world.time_of(environ), is_log=command.COMMAND.judges)
        return command.main(_command.Call(name, arguments, flags, environ, effects))
    except CannotJudge as error:
        from safe_gate.commands import _command
        from safe_gate.runs.exit_codes import complain

        effects = effects or _effects(environ, _known_time(environ))
        if _refuses_aloud(argv) and (is_read or effects.context.in_actions):  # otherwise no run with reports began
            from safe_gate.runs.conclusion import refuse

            options = _command.reporting_options(_parsing.peeked(argv) | flags, environ)
            return refuse(error.problems, options, effects)
        return complain(error.problems, effects)


def _surprised(error: Exception, argv: list[str], environ: Mapping[str, str]) -> int:
    """Report an internal error or lack of memory in a sentence; for `run` also in reports and on GitHub. Returns 3."""
    from safe_gate.core.model import Place, Problem, Untrusted
    from safe_gate.render.untrusted import plain

    what = f"internal error: {type(error).__name__}"
    advice = "this is a defect of safe-gate: please report it with the command and the input"
    words = f"{what}: {plain(Untrusted(str(error)))}; {advice}"
    problem = Problem(Place("safe-gate"), words, text_free=f"{what}; {advice}")
    if isinstance(error, MemoryError):
        words = "ran out of memory; give it more, set fewer jobs, or split the largest file"
        problem = Problem(Place("safe-gate"), words)
    shown = problem.without_texts()
    with suppress(Exception):
        from safe_gate.commands import _command, _parsing

        options = _command.reporting_options(_parsing.peeked(argv), environ)
        shown = problem if options.text == "full" else shown
        if _refuses_aloud(argv):
            from safe_gate.runs.conclusion import refuse

            return refuse((problem,), options, _effects(environ, _known_time(environ)))
    _print(f"{shown.place.path}: {shown.message}", sys.stderr)
    return _COULD_NOT_JUDGE


def _refuses_aloud(argv: Sequence[str]) -> bool:
    """Tell whether a command line that fails is also reported in reports and to GitHub."""
    from safe_gate import commands

    name = next(iter(argv), "")
    return name in commands.names() and commands.module(name).COMMAND.refuses_aloud


def _known_time(environ: Mapping[str, str]) -> str:
    """Return the time of a refused run: the clock's if SOURCE_DATE_EPOCH is invalid."""
    from safe_gate.core.model import CannotJudge
    from safe_gate.runs.world import time_of

    with suppress(CannotJudge):
        return time_of(environ)
    return time_of({})


def _effects(environ: Mapping[str, str], generated_at: str, *, is_log: bool = True) -> Effects:
    from safe_gate.runs import terminal, world

    say = terminal.printer(environ, partial(_print, is_log=is_log))
    return world.effects(environ, generated_at, lambda line: say(line, sys.stdout), lambda line: say(line, sys.stderr))


def _print(line: str, stream: TextIO, *, is_log: bool = True) -> None:
    """Print a line. Raises CannotJudge if it is lost, as on a full disk, and is more than a log."""
    try:
        print(line, file=stream, flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # the exit code is still owed
        if not (is_log or stream is sys.stderr or isinstance(error, BrokenPipeError)):  # a reader may leave (`| head`)
            from safe_gate.core.model import CannotJudge, Place, Problem

            raise CannotJudge(Problem(Place("standard output"), f"cannot be written: {error.strerror}")) from error
