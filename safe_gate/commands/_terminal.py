"""What a terminal shows beyond plain text: colour, tables of its width, and the progress of a run.

Anything that is no terminal, such as a log, a file or a pipe, gets plain text with tables of 80 columns.
"""

from __future__ import annotations

import re
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TextIO

from safe_gate.render import console
from safe_gate.scoring import workers

Print = Callable[[str, TextIO], None]
"""Prints a line to a stream."""

_PATIENCE = 2.0
"""Seconds before a run shows how far it is."""

_PAUSE = 0.1  # seconds between two such lines
_RED, _GREEN, _YELLOW = "31", "32", "33"
_COLOURS = {
    **dict.fromkeys(("FAIL", "BROKEN", "ERROR", "fails"), _RED),
    **dict.fromkeys(("PASS", "ok", "OK"), _GREEN),
    **dict.fromkeys(("REVIEW", "WARN", "skipped"), _YELLOW),
}
# A word of ours at the start of a table's cell, or as the verdict of the last line.
_PAINTED = re.compile(rf"((?:^(?:Gate|Eval|Compare): |[│║] +))({'|'.join(_COLOURS)})(?=[ │║(]|$)", re.MULTILINE)


def has_colour(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Return whether a stream gets colours: a terminal does, unless NO_COLOR is set; FORCE_COLOR gives them to any.

    Sources: https://no-color.org and https://force-color.org.
    """
    if environ.get("NO_COLOR"):
        return False
    if forced := environ.get("FORCE_COLOR"):
        return forced not in ("0", "false")
    return stream.isatty() and environ.get("TERM") != "dumb"


def coloured(text: str) -> str:
    r"""Return a text with its verdicts in colour.

    >>> coloured("Gate: FAIL (1 of 2 rules broken)")
    'Gate: \x1b[31mFAIL\x1b[0m (1 of 2 rules broken)'
    """
    return _PAINTED.sub(lambda found: f"{found[1]}\x1b[{_COLOURS[found[2]]}m{found[2]}\x1b[0m", text)


def printer(environ: Mapping[str, str], printed: Print) -> Print:
    """Return a function that prints a line. On a terminal the line has colours and replaces the progress line."""
    console.fit(shutil.get_terminal_size().columns)  # 80 where it goes elsewhere, unless COLUMNS says more
    if not (environ.get("FORCE_COLOR") or sys.stdout.isatty() or sys.stderr.isatty()):
        return printed
    shown = Progress(sys.stderr)
    if sys.stderr.isatty():
        workers.listen(shown.add)

    def say(line: str, stream: TextIO) -> None:
        shown.clear()
        printed(coloured(line) if has_colour(stream, environ) else line, stream)

    return say


class Progress:
    """A progress line on a terminal: how many cases of a long run are scored. The next output replaces it."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._next = clock() + _PATIENCE
        self._cases = 0
        self._is_shown = False

    def add(self, cases: int) -> None:
        """Count more cases, and show how many there are now if it is time."""
        self._cases += cases
        if (now := self._clock()) >= self._next:
            self._next, self._is_shown = now + _PAUSE, True
            self._show(f"\r{self._cases:,} cases scored ...")

    def clear(self) -> None:
        """Take the line away."""
        if self._is_shown:
            self._is_shown = False
            self._show("\r\x1b[K")

    def _show(self, text: str) -> None:
        with suppress(OSError):  # a terminal that is gone
            self._stream.write(text)
            self._stream.flush()
