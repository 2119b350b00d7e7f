"""Events posted to an address as batches of CloudEvents, signed. Touches the network and the clock.

Source: https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/bindings/http-protocol-binding.md section 3.3

No redirect is followed. No message holds an address, whose path may be a secret, or a server's words, which may echo
one.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from collections.abc import Iterable, Iterator
from typing import Any

import requests

from safe_gate.addons.sinks import SinkError, Timer
from safe_gate.addons.sinks.events import Event, Run, cloud_events
from safe_gate.core.figures import plural
from safe_gate.core.jsontext import line
from safe_gate.github import client
from safe_gate.github.client import NO_ANSWER, failure
from safe_gate.settings import Sink

_LONGEST = 30.0  # seconds from a request to the end of its answer, at most
_TIMEOUT = (5, 30)  # seconds to connect, seconds between bytes


class Session(client.Session):
    """A session that keeps what became of its last request in `outcome`, and reads only the start of an answer."""

    outcome = ""
    answer = b""

    def request(self, method: str | bytes, url: str | bytes, *args: Any, **more: Any) -> requests.Response:
        """Send a request. `answer` holds the part of the answer's body that is read. Raises RequestException."""
        self.outcome = ""
        try:
            with super().request(method, url, *args, **more | {"stream": True, "timeout": _TIMEOUT}) as answer:
                self.outcome = f"HTTP {answer.status_code}"
                self.answer = answer.raw.read(1 << 20, decode_content=True)
                if not (200 <= answer.status_code < 300 or 400 <= answer.status_code < 600):
                    raise requests.exceptions.InvalidURL  # no library takes it for a success, or sends it again
                return answer
        except NO_ANSWER as error:
            self.outcome = self.outcome or failure(error)[0]
            raise


_MOST_EVENTS = 500
_MOST_BYTES = 256 << 10  # of a batch; an event that is larger goes alone
_BACKOFF = (1.0, 2.0, 4.0, 8.0)  # seconds before the second to the fifth try, at least


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
        why, wait = _post_once(body, sink, timer)
        if not why:
            return ""
        tries += 1
        if wait is None or tries > len(_BACKOFF) or not timer.wait(max(_BACKOFF[tries - 1], wait)):
            return f"{why} ({plural(tries, 'try', 'tries')})"


def _post_once(body: bytes, sink: Sink, timer: Timer) -> tuple[str, float | None]:
    """Post a batch once. Return why it was refused, "" if it was not, and how many seconds the server asks to wait.

    None stands for a refusal that no later try changes.
    """
    headers = {
        "Content-Type": "application/cloudevents-batch+json",
        "Idempotency-Key": hashlib.sha256(body).hexdigest()[:32],
        **_signature(body, sink.secret, int(time.time())),
    }
    session = Session()  # one that was abandoned may still be at work
    try:
        answer = timer.within(_LONGEST, lambda: session.post(sink.to, data=body, headers=headers))
    except NO_ANSWER as error:
        cause, may_pass = failure(error)
        return cause if isinstance(error, TimeoutError) else session.outcome, 0.0 if may_pass else None
    if answer.ok:
        return "", None
    if answer.status_code not in {408, 425, 429} and answer.status_code < 500:
        return session.outcome, None
    asked = answer.headers.get("Retry-After", "")  # a date counts for nothing
    return session.outcome, float(asked) if re.fullmatch("[0-9]{1,9}", asked) else 0.0


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
