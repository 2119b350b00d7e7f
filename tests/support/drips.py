"""Servers on the loopback; one answers byte by byte, without end. How long a client waits for it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import BaseRequestHandler
from threading import Event, Thread
from typing import Any

import pytest

from safe_gate.github import Given, within

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
DRIPS = {  # what comes at once, then what comes again and again
    "nothing": (b"", b""),
    "status line": (b"HTTP/1.1 200 ", b"O"),
    "headers": (b"HTTP/1.1 200 OK\r\nX-Slow: ", b"y"),
    "100 Continue": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "chunk sizes": (CHUNKED, b"0"),
    "chunks": (CHUNKED, b"1\r\n \r\n"),
    "trailers": (CHUNKED + b"2\r\n[]\r\n0\r\n", b"T"),
    "body": (b"HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\n", b" "),
}
LONG_ENOUGH = 0.2  # seconds, in which some twenty drips come


def limits(monkeypatch: pytest.MonkeyPatch, module: str) -> list[float]:
    """Return the seconds that a module gives each exchange on the network.

    A test asserts these rather than the time that passes, which depends on the machine. A client that waits for the
    end of a drip never comes back.
    """
    given: list[float] = []

    def noted(seconds: float, action: Callable[[], Given]) -> Given:
        given.append(seconds)
        return within(seconds, action)

    monkeypatch.setattr(f"{module}.within", noted)
    return given


class QuietHandler(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's parameter
        pass


@contextmanager
def serving(handler: type[BaseRequestHandler]) -> Iterator[str]:
    """Give the address of a server, which stops in the end."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


@contextmanager
def dripping(at_once: bytes, again: bytes) -> Iterator[str]:
    """Give the address of a server that answers every request so until the test ends."""
    ended = Event()

    class Handler(BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(65_536)
            with suppress(OSError):  # nobody has to listen
                self.request.sendall(at_once)
                while not ended.wait(0.01):  # a pause between drips: without one, this server is a fast one
                    self.request.sendall(again)

    with serving(Handler) as url:
        try:
            yield url
        finally:
            ended.set()
