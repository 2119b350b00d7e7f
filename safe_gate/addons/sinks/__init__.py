"""Shell: sends the results of a run as events to sinks: a file, or a module here with the function `send`.

A sink never changes the verdict: any failure becomes a sentence in a warning.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TypeVar

from safe_gate.addons.sinks.events import Event, Run, cloud_events, report_events
from safe_gate.core.jsontext import line
from safe_gate.github import within
from safe_gate.inputs import disk
from safe_gate.model.problems import CannotJudge
from safe_gate.model.report import Report
from safe_gate.settings import Sink, Sinks

__all__ = ["Run", "SinkError", "Timer", "deliver", "report_events"]

Given = TypeVar("Given")


class SinkError(Exception):
    """A sink did not get all events. The message says why, without secrets, addresses and words of a server."""


class Timer:
    """The time that a sink has left. It ends at a fixed moment, whatever happens."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """The seconds that are left, negative if none are."""
        return self._end - time.monotonic()

    def wait(self, seconds: float) -> bool:
        """Wait, unless that would take longer than is left. Return whether it waited."""
        if seconds >= self.left:
            return False
        time.sleep(seconds)
        return True

    def within(self, most: float, action: Callable[[], Given]) -> Given:
        """Return what an action returns within `most` seconds and those that are left. Raises TimeoutError."""
        return within(min(most, self.left), action)


_START = b'{"specversion": "1.0"'


def to_file(events: Iterator[Event], run: Run, sink: Sink, _timer: Timer) -> None:
    """Write events as lines of a file, each a CloudEvent, or leave it as it was.

    Raises CannotJudge, or SinkError if the file holds something else.
    """
    path = Path(sink.to)
    if path.is_file():
        with path.open("rb") as file:
            if file.read(len(_START)) not in (b"", _START):
                raise SinkError("the file exists and does not hold events; name another file")
    disk.write(path, (f"{line(event)}\n" for event in cloud_events(events, run)))


def deliver(report: Report, run: Run, to: Sinks) -> list[str]:
    """Send the events of a report to every sink. Return a sentence for each that did not get them all.

    Each sink has its share of `timeouts.sinks`, and what the ones before it left.
    """
    failures = list[str]()
    end = time.monotonic() + to.timeout
    for place, sink in enumerate(to.each):
        timer = Timer((end - time.monotonic()) / (len(to.each) - place))
        name = f"sink {place + 1} ({sink.kind})"
        try:
            send = to_file if sink.kind == "file" else import_module(f"{__name__}.{sink.kind}").send
            send(report_events(report, run, with_text=to.with_text), run, sink, timer)
        except SinkError as error:
            failures.append(f"{name}: {error}")
        except CannotJudge as error:
            failures.append(f"{name}: {error.problems[0].place.path}: {error.problems[0].message}")
        except Exception as error:  # noqa: BLE001 - no defect of a library changes a verdict
            failures.append(f"{name}: {type(error).__name__}")
    return failures
