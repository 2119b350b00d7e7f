"""Servers that receive events: they keep what is posted, and answer as a test says."""

import gzip
import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse

from tests.support.drips import QuietHandler, serving

DROP = 0
"""In place of a status: the connection is cut without an answer."""


@dataclass
class Post:
    """A request as it came."""

    path: str
    headers: Message
    body: bytes

    @property
    def events(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.body)
        return found

    def is_signed(self, secret: str) -> bool:
        """Verify a signature as docs/sinks.md tells a receiver to."""
        signed = self.headers["SAFE-Gate-Timestamp"].encode() + b"." + self.body
        expected = "sha256=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
        return hmac.compare_digest(expected, self.headers.get("SAFE-Gate-Signature", ""))


@dataclass
class Receiver:
    """A server that answers each request by the next of `answers`, a status and headers, then by 200."""

    url: str = ""
    answers: list[tuple[int, Mapping[str, str]]] = field(default_factory=list)
    body: bytes = b""
    posts: list[Post] = field(default_factory=list)

    @property
    def events(self) -> list[dict[str, Any]]:
        return [event for post in self.posts for event in post.events]

    @property
    def records(self) -> list[dict[str, Any]]:
        """The log records of all requests, each with its attributes as an object and its resource's."""
        found = []
        for post in self.posts:
            assert (post.path, post.headers["Content-Type"]) == ("/v1/logs", "application/x-protobuf")
            body = gzip.decompress(post.body) if post.headers["Content-Encoding"] == "gzip" else post.body
            for resource in MessageToDict(ExportLogsServiceRequest.FromString(body))["resourceLogs"]:
                records = (record for scope in resource["scopeLogs"] for record in scope["logRecords"])
                of_all = {"resource": _attributes(resource["resource"])}
                found += [{**record, "attributes": _attributes(record), **of_all} for record in records]
        return found


def rejecting(count: int) -> bytes:
    """Return what a collector answers that takes a request but not all of its records."""
    response = ExportLogsServiceResponse()
    response.partial_success.rejected_log_records = count
    return bytes(response.SerializeToString())


def _attributes(value: Mapping[str, Any]) -> dict[str, Any]:
    return {one["key"]: next(iter(one["value"].values())) for one in value["attributes"]}


@contextmanager
def receiving(*answers: int | tuple[int, Mapping[str, str]], body: bytes = b"") -> Iterator[Receiver]:
    """Give a server on the loopback, which stops in the end."""
    receiver = Receiver(answers=[one if isinstance(one, tuple) else (one, {}) for one in answers], body=body)

    class Handler(QuietHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:  # noqa: N802 - the name is http.server's
            data = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.posts.append(Post(self.path, self.headers, data))
            status, headers = receiver.answers.pop(0) if receiver.answers else (200, {})
            self.close_connection = status == DROP
            if status != DROP:
                self.send_response_only(status)
                for name, value in {"Content-Length": str(len(receiver.body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(receiver.body)

    with serving(Handler) as receiver.url:
        yield receiver
