"""A headless Chromium that tests look at pages with, driven over pipes by its DevTools Protocol.

`TESTS_CHROMIUM` names another command. A test that finds none is skipped and says so.
"""

import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars", "--disable-extensions"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-pipe"),
)
_ON_PIPES = 'exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1'
"""Runs a command that reads from descriptor 3 and writes to 4."""
_PATIENCE = 60  # seconds


class Browser:
    """A browser with one page."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin
        assert process.stdout
        self._read, self._write = process.stdout.fileno(), process.stdin.fileno()
        self._buffer = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []
        target = self._send("Target.createTarget", {"url": "about:blank"})["targetId"]
        attached = self._send("Target.attachToTarget", {"targetId": target, "flatten": True})
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Return what the page answers to a command of the protocol."""
        return self._send(method, parameters, self._session)

    def _send(self, method: str, parameters: dict[str, Any], session: str = "") -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        os.write(self._write, json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            assert select.select([self._read], [], [], _PATIENCE)[0], "the browser does not answer"
            some = os.read(self._read, 1 << 20)
            assert some, "the browser is gone"
            self._buffer += some
        one, _, self._buffer = self._buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(one)
        return found

    def wait(self, method: str) -> None:
        """Read events until one of a name comes."""
        while not self._told(method):
            self.events.append(self._next())

    def open(self, path: Path, fragment: str = "", *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=scheme)
        for address in ("about:blank", path.absolute().as_uri() + fragment):
            self.events.clear()
            self.call("Page.navigate", url=address)
            self.wait("Page.loadEventFired")

    def run(self, script: str) -> Any:
        """Return what an expression, or a promise of it, comes to on the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        codes = {"Tab": 9, "Enter": 13, " ": 32}
        text = {"Enter": "\r", " ": " "}.get(key)
        common = {"key": key, "code": {" ": "Space"}.get(key, key), "windowsVirtualKeyCode": codes[key]}
        self.call("Input.dispatchKeyEvent", type="keyDown", **common, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def requests(self) -> list[str]:
        """Return the addresses that were asked for since the page was opened."""
        return [one["request"]["url"] for one in self._told("Network.requestWillBeSent")]

    def complaints(self) -> list[str]:
        """Return what the page threw or logged since it was opened."""
        self.run("0")  # so that all that was said is here
        thrown = [json.dumps(one) for one in self._told("Runtime.exceptionThrown")]
        return thrown + [one["entry"]["text"] for one in self._told("Log.entryAdded")]

    def _told(self, method: str) -> list[dict[str, Any]]:
        return [one["params"] for one in self.events if one.get("method") == method]


@contextmanager
def chromium() -> Iterator[Browser]:
    """Give a browser, or skip the test where there is none."""
    command = os.environ.get("TESTS_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if not command:
        pytest.skip("no chromium is here, and TESTS_CHROMIUM names none")
    with tempfile.TemporaryDirectory() as profile:
        words = ["sh", "-c", _ON_PIPES, command, *_FLAGS, f"--user-data-dir={profile}"]
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        with process:
            try:
                yield Browser(process)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
