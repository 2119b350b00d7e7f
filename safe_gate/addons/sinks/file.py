"""Events as lines of a file, each a CloudEvent. Touches the file system."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from safe_gate.addons.sinks import SinkError, Timer
from safe_gate.addons.sinks.events import Event, Run, cloud_events
from safe_gate.inputs import writing
from safe_gate.render.jsonreport import line
from safe_gate.settings.destinations import Sink


def send(events: Iterator[Event], run: Run, sink: Sink, _timer: Timer) -> None:
    """Write all events to the file, or leave it as it was. Raises CannotJudge, or SinkError if it is another file."""
    path = Path(sink.to)
    if path.is_file():
        with path.open("rb") as file:
            if file.read(len(_START)) not in (b"", _START):
                raise SinkError("the file exists and does not hold events; name another file")
    writing.write(path, (f"{line(event)}\n" for event in cloud_events(events, run)))


_START = b'{"specversion": "1.0"'
