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
from safe_gate.addons.sinks.events import Event, Run, cloud_events
from safe_gate.core.figures import plural
from safe_gate.render.jsonreport import line
from safe_gate.settings.destinations import Sink

_MOST_EVENTS = 500
_MOST_BYTES = 256 << 10  # of a batch; an event that is larger goes alone
_BACKOFF = (1.0, 2.0, 4.0, 8.0)  # seconds before the second to the fifth try, at least
_PASSING = frozenset({408, 425, 429})


def send(events: Iterator[Event], run: Run, sink: Sink, timer: Timer) -> None:
    """Post all events, in order. Raises SinkError at the first batch that is not taken."""
    sent = 0
    for batch in _batches(line(event) for event in cloud_events(events, run)):
        if why := _refusal(f"[{','.join(batch)}]".encode("ascii"), sink, timer):
            raise SinkError(f"{why}; {plural(sent, 'event')} sent before")
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


def _refusal(body: bytes, sink: Sink, timer: Timer) -> str:
    """Post a batch, again where that can help. Return why it was not taken, "" if it was."""
    tries = 0
    while True:
        why, wait = _posted(body, sink, timer)
        if not why:
            return ""
        tries += 1
        if wait is None or tries > len(_BACKOFF) or not timer.wait(max(_BACKOFF[tries - 1], wait)):
            return f"{why} after {plural(tries, 'try', 'tries')}"


def _posted(body: bytes, sink: Sink, timer: Timer) -> tuple[str, float | None]:
    """Post a batch once. Return why it was refused, "" if it was not, and how many seconds the server asks to wait.

    None stands for a refusal that no later try changes.
    """
    headers = {
        "Content-Type": "application/cloudevents-batch+json",
        "Idempotency-Key": hashlib.sha256(body).hexdigest()[:32],
        **_signature(body, sink.secret, int(time.time())),
    }
    session = _http.Session()  # one that was abandoned may still be at work
    try:
        answer = timer.within(_http.LONGEST, lambda: session.post(sink.to, data=body, headers=headers))
    except _http.ERRORS as error:
        words = _http.cause(error) if isinstance(error, TimeoutError) else session.outcome
        return words, 0.0 if _http.is_passing(error) else None
    if answer.ok:
        return "", None
    may_pass = answer.status_code in _PASSING or answer.status_code >= 500
    return session.outcome, _asked_wait(answer.headers) if may_pass else None


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
