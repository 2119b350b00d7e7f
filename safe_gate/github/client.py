"""GitHub's REST API through `requests`: JSON in, JSON out, errors as one sentence.

Touches the network, and only here; waits through the `sleep` it is given. Each exchange runs in a thread of its own,
because a socket's timeout covers only one read: a server that drips bytes never exceeds it.
https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

import requests
from requests import exceptions as errors
from urllib3.exceptions import HTTPError, LocationValueError, ReadTimeoutError

from safe_gate.github import ApiError, Refusal, within

_MOST_PAGES = 100  # of 100 comments each: a server whose pages never end must not hold the job
_MOST_REDIRECTS = 3
_PATIENCE = 60  # seconds that a client waits in total
_BACKOFF = (1.0, 2.0)  # seconds before the second and the third try, at least
_SECONDARY_LIMIT = 60  # seconds GitHub asks to wait for at least where the answer names none
_TIMEOUT = (5, 15)  # seconds to connect, seconds between bytes
_REPEATED_VERBATIM = frozenset({301, 302, 307, 308})  # GitHub asks for the same request at the new address


class _Media(NamedTuple):
    """A kind of answer: its media type, the most bytes it may have, the seconds from request to last byte."""

    type: str
    largest: int
    longest: float


_JSON = _Media("application/vnd.github+json", 50_000_000, 30)  # a hundred of the longest comments are 26 MB
_RAW = _Media("application/vnd.github.raw+json", 100_000_000, 300)  # GitHub gives no larger files
_SHORTEST_TOKEN = 16


class _Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    links: Mapping[str, Mapping[str, str]]
    data: bytes


class Session(requests.Session):
    """A session that follows no redirect: the secret of one address is not for another.

    requests turns a redirected POST into a GET. Even if it does not follow, it reads the whole answer and the next
    address, however long and malformed.
    """

    def __init__(self) -> None:
        super().__init__()
        self.headers["User-Agent"] = "safe-gate"

    def get_redirect_target(self, resp: requests.Response) -> None:
        """Return nothing: an answer leads nowhere by itself."""


class Client:
    """A session with one GitHub (or GitHub Enterprise Server) and one token.

    Proxies and REQUESTS_CA_BUNDLE are read from the environment.
    `say` gets a line before a wait. All requests and waits together take at most `seconds`.
    """

    def __init__(
        self,
        api_url: str,
        token: str,
        *,
        say: Callable[[str], None],
        seconds: float,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api_url = api_url
        self._token = token
        self._say = say
        self._sleep = sleep
        self._clock = clock
        self._waited = 0.0
        self._left = seconds
        self._session = Session()
        self._session.auth = self._add_token  # a `.netrc` in the shared home cannot override it
        self._session.headers["X-GitHub-Api-Version"] = "2022-11-28"

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Mapping[str, Any]:
        """Return the object that answers a request, empty if there is none. Raises ApiError unless it succeeds."""
        answer = self._send(method, f"{self._api_url}{path}", _JSON, body)
        if answer.status == 204:
            return {}
        found = _json(answer)
        if not isinstance(found, dict):
            raise self._error(f"{method} {path}: the answer is not from GitHub")
        return found

    def raw(self, path: str) -> bytes:
        """Return the bytes of a file in a repository. Raises ApiError."""
        return self._send("GET", f"{self._api_url}{path}", _RAW).data

    def pages(self, path: str) -> Iterator[Mapping[str, Any]]:
        """Yield the entries of a list, page after page, as the `Link` header leads."""
        url = f"{self._api_url}{path}"
        for _ in range(_MOST_PAGES):
            answer = self._send("GET", url, _JSON)
            entries = _json(answer)
            if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
                raise self._error(f"GET {path}: the answer is not from GitHub")
            yield from entries
            following = answer.links.get("next", {}).get("url", "")
            if not following:
                return
            url = self._onward(url, following, f"GET {path}: the next page lies")
        raise self._error(f"GET {path}: more than {_MOST_PAGES} pages")

    def _add_token(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if not (self._token.isascii() and self._token.isprintable()):
            raise errors.InvalidHeader
        request.headers["Authorization"] = f"Bearer {self._token}"
        return request

    def _send(self, method: str, url: str, media: _Media, body: dict[str, Any] | None = None) -> _Answer:
        """Return the answer to a request that succeeded, tried again where that can help."""
        for pause in _BACKOFF:
            try:
                return self._once(method, url, media, body)
            except ApiError as error:
                is_unclear = error.refusal is Refusal.UNCLEAR and method != "POST"  # a second POST could create a twin
                may_repeat = is_unclear or error.refusal is Refusal.RATE_LIMIT
                if not may_repeat or not self._wait(max(pause, error.retry_after)):
                    raise
        return self._once(method, url, media, body)

    def _once(self, method: str, url: str, media: _Media, body: dict[str, Any] | None) -> _Answer:
        """Return the answer if it is success, after redirects."""
        path = url.removeprefix(self._api_url)
        for _ in range(_MOST_REDIRECTS + 1):
            answer = self._request(method, url, media, body)
            if 200 <= answer.status < 300:
                return answer
            if answer.status not in _REPEATED_VERBATIM or "Location" not in answer.headers:
                message = f"{method} {path}: HTTP {answer.status}{_reason(answer)}"
                raise self._error(message, _refusal_of(answer), _retry_after(answer))
            url = self._onward(url, answer.headers["Location"], f"{method} {path}: redirected to an address")
        raise self._error(f"{method} {path}: redirected more than {_MOST_REDIRECTS} times")

    def _onward(self, url: str, target: str, what: str) -> str:
        """Return the address that an answer leads to. Another host is not followed: it would get the token."""
        with suppress(ValueError):  # an invalid address
            onward = urljoin(url, target)
            if _origin(onward) == _origin(self._api_url):
                return onward
        raise self._error(f"{what} on another host, which safe-gate does not follow")

    def _request(self, method: str, url: str, media: _Media, body: dict[str, Any] | None) -> _Answer:
        """Return the answer to one request, whatever its status. Raises ApiError if none comes in time."""
        started, is_last = self._clock(), self._left <= media.longest
        try:
            return within(min(media.longest, self._left), lambda: self._exchange(method, url, media, body))
        except NO_ANSWER as error:
            cause, may_pass = failure(error)
            refusal = Refusal.UNCLEAR if may_pass else Refusal.OTHER
            if is_last and isinstance(error, TimeoutError):
                refusal = Refusal.DEADLINE
            raise self._error(f"{method} {url.removeprefix(self._api_url)}: {cause}", refusal) from None
        finally:
            self._left -= self._clock() - started

    def _exchange(self, method: str, url: str, media: _Media, body: dict[str, Any] | None) -> _Answer:
        """Return an answer without our token. Raises OSError if it is too large."""
        headers, data = {"Accept": media.type}, bytearray()
        # The environment would outrank a session's own `verify`.
        with self._session.request(method, url, headers=headers, json=body, timeout=_TIMEOUT, stream=True) as answer:
            while chunk := answer.raw.read1(65_536, decode_content=True):
                data += chunk
                if len(data) > media.largest:
                    raise requests.ReadTimeout
        # Before anybody reads it: text that is cut or quoted later could hide pieces of the token.
        # Short strings are not GitHub tokens. File bytes are never printed.
        if len(self._token) >= _SHORTEST_TOKEN and not (media is _RAW and answer.ok):
            data = data.replace(self._token.encode(), b"***")
        return _Answer(answer.status_code, answer.headers, answer.links, bytes(data))

    def _error(self, message: str, refusal: Refusal = Refusal.OTHER, retry_after: float = 0) -> ApiError:
        """Return an error that does not quote the token, whatever a server said."""
        words = message.replace(self._token, "***") if self._token else message
        return ApiError(words, refusal, retry_after)

    def _wait(self, seconds: float) -> bool:
        """Wait, unless that would be more than this client waits, or has left, in all."""
        if self._waited + seconds > _PATIENCE or seconds >= self._left:
            return False
        self._waited += seconds
        self._left -= seconds
        self._say(f"Asking GitHub again in {seconds:.0f} s.")
        self._sleep(seconds)
        return True


_MEANINGS = {401: Refusal.CREDENTIALS, 403: Refusal.PERMISSION, 404: Refusal.NOT_FOUND, 422: Refusal.INVALID}


def _refusal_of(answer: _Answer) -> Refusal:
    """Return what a refusal means. 403 has four meanings: no permission, a lock, and two kinds of rate limit."""
    status, headers = answer.status, answer.headers
    limited = (
        "Retry-After" in headers
        or headers.get("X-RateLimit-Remaining") == "0"
        or re.search(r"rate limit|abuse detection", _reason(answer).lower())  # the latter on older servers
    )
    if status == 429 or (status == 403 and limited):
        return Refusal.RATE_LIMIT
    if status == 403 and "is locked" in _reason(answer).lower():
        return Refusal.LOCKED
    return _MEANINGS.get(status, Refusal.UNCLEAR if status >= 500 else Refusal.OTHER)


def _retry_after(answer: _Answer) -> float:
    """Return the seconds that an answer asks to wait for before the next try, 0 if it does not."""
    asked = answer.headers.get("Retry-After", "")
    if asked.isascii() and asked.isdigit():
        return float(asked[:9])
    reset = answer.headers.get("X-RateLimit-Reset", "")
    if answer.headers.get("X-RateLimit-Remaining") == "0" and reset.isascii() and reset.isdigit():
        with suppress(ValueError, OverflowError):  # by the server's clock, not by ours
            return max(float(reset[:12]) - parsedate_to_datetime(answer.headers.get("Date", "")).timestamp(), 1.0)
    return float(_SECONDARY_LIMIT) if _refusal_of(answer) is Refusal.RATE_LIMIT else 0.0


def _origin(url: str) -> tuple[str, str]:
    """Return an address's scheme, and its host with the port: what a token may be sent to."""
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


NO_ANSWER = (OSError, ValueError, HTTPError)
"""What a request raises that gets no whole answer; OSError for a CA bundle that is not there, too."""

# The first kinds that an error is of; the narrower ones come first.
_CAUSES: tuple[tuple[tuple[type[Exception], ...], str], ...] = (
    ((TimeoutError, requests.Timeout, ReadTimeoutError), "no answer in time"),
    ((errors.InvalidProxyURL,), "the proxy's address is invalid: correct HTTPS_PROXY"),
    ((errors.ProxyError,), "no connection to the proxy: correct HTTPS_PROXY or NO_PROXY"),
    (
        (errors.SSLError,),
        "the server's certificate is not trusted: set the PEM file of its authority in REQUESTS_CA_BUNDLE",
    ),
    (
        (errors.InvalidSchema, errors.InvalidURL, errors.MissingSchema, LocationValueError),
        "the address is invalid, or neither http nor https: correct GITHUB_API_URL, sinks or HTTPS_PROXY",
    ),
    (
        (errors.InvalidHeader,),
        "the token or a header contains an invalid character: correct github-token or OTEL_EXPORTER_OTLP_HEADERS",
    ),
    ((requests.ConnectionError,), "no connection"),
    ((requests.RequestException, HTTPError), "the answer ended early"),
    ((ValueError,), "the answer cannot be read"),
    ((OSError,), "the certificate file cannot be read: correct REQUESTS_CA_BUNDLE"),
)


def failure(error: Exception) -> tuple[str, bool]:
    """Return why no whole answer came, and whether one may come later; its own words may quote a secret."""
    cause = next(words for kinds, words in _CAUSES if isinstance(error, kinds))
    is_lasting = isinstance(error, ValueError | errors.SSLError)  # a wrong address or certificate
    return cause, isinstance(error, requests.RequestException | HTTPError | TimeoutError) and not is_lasting


def _json(answer: _Answer) -> Any:
    """Return an answer's JSON, None if it is none: a proxy's page may come with status 200."""
    try:
        return json.loads(answer.data)
    except (ValueError, RecursionError):
        return None


def _reason(answer: _Answer) -> str:
    """Return GitHub's words on a refusal: its message, and its words on each field."""
    error = _json(answer)
    if not isinstance(error, dict) or "message" not in error:
        return ""
    fields = error["errors"] if isinstance(error.get("errors"), list) else []
    of_fields = (str(one["message"]) for one in fields if isinstance(one, dict) and "message" in one)
    return f" ({'; '.join((str(error['message']), *of_fields))[:200]})"
