"""Events posted to an address as batches of CloudEvents, signed. Touches the network and the clock.

Source: https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/bindings/http-protocol-binding.md section 3.3
"""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from collections.abc import Iterable, Iterator, Mapping

from safe_gate.addons.sinks import SinkError, Timer, _http
from safe_gate.addons.sinks.events import Run, Stream, cloud_events
from safe_gate.core.figures import plural
from safe_gate.render.jsonreport import line
from safe_gate.settings.destinations import Sink

_MOST_EVENTS = 500
_MOST_BYTES = 256 << 10  # of a batch; an event that is larger goes alone
_BACKOFF = (1.0, 2.0, 4.0, 8.0)  # seconds before the second to the fifth try, at least
_PASSING = frozenset({408, 425, 429})


class _Refused(Exception):
    """A batch was refused. `retry_after` are the seconds that the server asks for, None if a retry is useless."""

    def __init__(self, words: str, retry_after: float | None) -> None:
        super().__init__(words)
        self.retry_after = retry_after


def send(stream: Stream, run: Run, sink: Sink, timer: Timer) -> None:
    """Post all events, in order. Raises SinkError at the first batch that is not taken."""
    sent = 0
    for batch in _batches(line(event) for event in cloud_events(stream(), run)):
        body = f"[{','.join(batch)}]".encode("ascii")
        try:
            _post(body, sink, timer)
        except _Refused as error:
            raise SinkError(f"{error}; {plural(sent, 'event')} sent before") from None
        sent += len(batch)


def _batches(lines: Iterable[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for one in lines:
        if batch and (len(batch) == _MOST_EVENTS or size + len(one) > _MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(one)
        size += len(one) + 1
    if batch:
        yield batch


def _post(body: bytes, sink: Sink, timer: Timer) -> None:
    """Post a batch, again where that can help. Raises _Refused."""
    key = hashlib.sha256(body).hexdigest()[:32]
    for tries, pause in enumerate((*_BACKOFF, None), 1):
        try:
            _once(body, key, sink, timer)
        except _Refused as error:
            if error.retry_after is None or pause is None or not timer.wait(max(pause, error.retry_after)):
                raise _Refused(f"{error} after {plural(tries, 'try', 'tries')}", None) from None
        else:
            return


def _once(body: bytes, key: str, sink: Sink, timer: Timer) -> None:
    headers = {
        "Content-Type": "application/cloudevents-batch+json",
        "Idempotency-Key": key,
        **_signature(body, sink.secret, int(time.time())),
    }
    session = _http.Session(sink.ca_bundle)  # one that was abandoned may still be at work
    try:
        answer = timer.within(_http.LONGEST, lambda: session.post(sink.to, data=body, headers=headers))
    except _http.ERRORS as error:
        words = _http.cause(error) if isinstance(error, TimeoutError) else session.outcome
        raise _Refused(words, 0.0 if _http.is_passing(error) else None) from None
    if not answer.ok:
        may_pass = answer.status_code in _PASSING or answer.status_code >= 500
        raise _Refused(session.outcome, _asked_wait(answer.headers) if may_pass else None)


def _signature(body: bytes, secret: str, timestamp: int) -> dict[str, str]:
    """Return the headers that a receiver verifies: the time of sending, and HMAC-SHA256 over it and the body.

    >>> _signature(b"[]", "key", 1)["SAFE-Gate-Signature"]
    'sha256=74844a5a51cfee4367dd6f6d7903d46a076eb27921483686e5a7cac98f726d1c'
    """
    stamp = {"SAFE-Gate-Timestamp": str(timestamp)}
    if not secret:
        return stamp
    code = hmac.new(secret.encode("utf-8", "surrogateescape"), b"%d.%b" % (timestamp, body), hashlib.sha256)
    return {**stamp, "SAFE-Gate-Signature": f"sha256={code.hexdigest()}"}


def _asked_wait(headers: Mapping[str, str]) -> float:
    """Return the seconds that an answer asks to wait for, 0 if it does not or names a date."""
    asked = headers.get("Retry-After", "")
    return float(asked) if re.fullmatch("[0-9]{1,9}", asked) else 0.0
