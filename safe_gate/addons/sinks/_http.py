"""Requests to sinks: no redirect is followed, and errors have our own words. Touches the network.

No message holds an address, whose path may be a secret, or a server's words, which may echo one.
"""

from __future__ import annotations

from typing import Any

import requests
from urllib3.exceptions import HTTPError

LONGEST = 30.0
"""Seconds from a request to the end of its answer, at most."""

ERRORS = (OSError, ValueError, HTTPError)
"""What a request raises that gets no whole answer."""

_TIMEOUT = (5, 30)  # seconds to connect, seconds between bytes
_MOST_OF_ANSWER = 1 << 20


class Session(requests.Session):
    """A session that keeps what became of its last request in `outcome`, and reads only the start of an answer."""

    def __init__(self) -> None:
        super().__init__()
        self.outcome = ""
        self.answer = b""
        self.headers["User-Agent"] = "safe-gate"

    def get_redirect_target(self, resp: requests.Response) -> None:
        """Return nothing: the secret of one address is not for another."""

    def request(self, method: str | bytes, url: str | bytes, *args: Any, **more: Any) -> requests.Response:
        """Send a request. `answer` holds the part of the answer's body that is read. Raises RequestException."""
        self.outcome, self.answer = "no answer", b""
        more |= {"stream": True, "timeout": _TIMEOUT}
        try:
            with super().request(method, url, *args, **more) as answer:
                self.outcome = f"HTTP {answer.status_code}"
                self.answer = answer.raw.read(_MOST_OF_ANSWER, decode_content=True)
                if not (200 <= answer.status_code < 300 or 400 <= answer.status_code < 600):
                    raise requests.exceptions.InvalidURL  # no library takes it for a success, or sends it again
                return answer
        except ERRORS as error:
            if self.outcome == "no answer":
                self.outcome = cause(error)
            raise


# The first kind that an error is of; the narrower ones come first.
_CAUSES: tuple[tuple[type[Exception], str], ...] = (
    (TimeoutError, "no answer in time"),
    (requests.Timeout, "no answer in time"),
    (requests.exceptions.ProxyError, "no connection to the proxy: correct HTTPS_PROXY or NO_PROXY"),
    (
        requests.exceptions.SSLError,
        ("the server's certificate is not trusted: set the PEM file of its authority in REQUESTS_CA_BUNDLE"),
    ),
    (requests.ConnectionError, "no connection"),
    (requests.exceptions.ChunkedEncodingError, "the answer ended early"),
    (HTTPError, "the answer ended early"),
    (ValueError, "the address cannot be used"),
    (OSError, "the certificate file cannot be read: correct REQUESTS_CA_BUNDLE"),
)


def cause(error: Exception) -> str:
    """Return what went wrong, and what to correct where it is a setting."""
    return next(words for kind, words in _CAUSES if isinstance(error, kind))


def is_passing(error: Exception) -> bool:
    """Return whether a retry may help; not for a wrong address or certificate."""
    return isinstance(error, requests.RequestException | HTTPError | TimeoutError) and not isinstance(
        error, ValueError | requests.exceptions.SSLError
    )
