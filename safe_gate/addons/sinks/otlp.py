"""Events as `gen_ai.evaluation.result` over OTLP/HTTP, by the official SDK (the extra `otel`). Touches the network.

Sources: OpenTelemetry's semantic conventions of generative AI, tests, VCS and CI/CD. The SDK reads its own variables
too, such as OTEL_EXPORTER_OTLP_HEADERS and OTEL_RESOURCE_ATTRIBUTES.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING

from safe_gate import __version__
from safe_gate.addons.sinks import SinkError, Timer
from safe_gate.addons.sinks.events import VERDICT, Event, Run
from safe_gate.addons.sinks.webhook import Session
from safe_gate.core.figures import plural
from safe_gate.github.client import failure
from safe_gate.model.codec import JsonObject
from safe_gate.settings import Sink

if TYPE_CHECKING:
    from opentelemetry.sdk._logs import ReadableLogRecord

_NAME = "gen_ai.evaluation.result"
_MOST_RECORDS = 512  # of a request, as in the SDK's own processor
_RUN_STATUS = {"pass": "success", "fail": "failure", "error": "aborted"}
_PATH = "/v1/logs"


def send(events: Iterator[Event], run: Run, sink: Sink, timer: Timer) -> None:
    """Export all events, in order. Raises SinkError at the first request that is not accepted."""
    try:
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
        from opentelemetry.sdk._logs.export import LogRecordExportResult
    except ImportError:
        raise SinkError("OpenTelemetry's SDK is not installed; install SAFE Gate with the extra `otel`") from None

    logger = logging.getLogger("opentelemetry")  # silenced: its messages may hold the address or a header
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    session = Session()
    endpoint = f"{sink.to.rstrip('/').removesuffix(_PATH)}{_PATH}"
    exporter = OTLPLogExporter(endpoint, timeout=timer.left, session=session)
    records, sent = _records(events, run), 0
    while batch := list(islice(records, _MOST_RECORDS)):
        try:
            result = timer.within(timer.left, lambda batch=batch: exporter.export(batch))  # type: ignore[misc]
        except TimeoutError as error:
            raise SinkError(f"{failure(error)[0]}; {plural(sent, 'event')} sent before") from None
        if result is not LogRecordExportResult.SUCCESS:
            raise SinkError(f"{session.outcome}; {plural(sent, 'event')} sent before")
        if rejected := _rejected_count(session.answer):
            raise SinkError(f"{plural(rejected, 'event')} rejected; {plural(sent, 'event')} sent before")
        sent += len(batch)


def _rejected_count(answer: bytes) -> int:
    """Return how many records a receiver says it did not take, although it took the request."""
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse

    with suppress(DecodeError):
        return int(ExportLogsServiceResponse.FromString(answer).partial_success.rejected_log_records)
    return 0


def _records(events: Iterator[Event], run: Run) -> Iterator[ReadableLogRecord]:
    """Yield a record for each evaluation of each event."""
    from opentelemetry._logs import LogRecord
    from opentelemetry.sdk._logs import ReadableLogRecord
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

    origin = {"vcs.repository.url.full": run.repository, "cicd.pipeline.run.url.full": run.url}
    known = {name: value for name, value in origin.items() if value}
    resource = Resource({"service.name": "safe-gate", "service.version": __version__, **known})
    resource = resource.merge(OTELResourceDetector().detect())  # the user's own words stand
    scope = InstrumentationScope("safe-gate", __version__)
    for event in events:
        about: JsonObject = {}
        if event.type == VERDICT:
            commit = event.data["commit"]
            about = {"test.suite.run.status": _RUN_STATUS[event.data["verdict"]]}
            about |= {"vcs.ref.head.revision": commit} if commit else {}
        elif event.status:
            about = {"test.case.name": event.subject, "test.case.result.status": event.status}
        time = int(datetime.fromisoformat(event.data["timestamp"]).timestamp()) * 1_000_000_000
        for one in event.evaluations:
            attributes = {
                "gen_ai.evaluation.name": one.name,
                **({} if one.score is None else {"gen_ai.evaluation.score.value": float(one.score)}),
                **({"gen_ai.evaluation.score.label": one.label} if one.label else {}),
                **({"gen_ai.evaluation.explanation": one.explanation} if one.explanation else {}),
                **({"test.suite.name": event.batch} if event.batch else {}),
                **about,
                "safe_gate.event.type": event.type,
            }
            record = LogRecord(timestamp=time, observed_timestamp=time, attributes=attributes, event_name=_NAME)
            yield ReadableLogRecord(record, resource, scope)
