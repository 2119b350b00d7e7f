"""GitHub's REST API through `requests`: JSON in, JSON out, errors as one sentence.

Touches the network, and only here. https://docs.github.com/en/rest
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import requests

from safe_gate.github import ApiError

_MOST_PAGES = 100  # of 100 comments each: a server whose pages never end must not hold the job
_TIMEOUT = (5, 30)  # seconds to connect, seconds between bytes


class _Bearer(requests.auth.AuthBase):
    """The token as an `auth` object, which a `.netrc` in the shared home cannot override."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._token}"
        return request


class Client:
    """A session with one GitHub (or GitHub Enterprise Server) and one token."""

    def __init__(self, api_url: str, token: str) -> None:
        self._api_url = api_url
        self._session = requests.Session()
        self._session.auth = _Bearer(token)
        self._session.headers.update(
            {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28", "User-Agent": "safe-gate"}
        )

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the object that answers a request. Raises ApiError for anything but success."""
        answer = _json(self._send(method, f"{self._api_url}{path}", body))
        if not isinstance(answer, dict):
            raise ApiError(f"{method} {path}: the answer is not GitHub's")
        return answer

    def pages(self, path: str) -> Iterator[dict[str, Any]]:
        """Yield the entries of a list, page after page, as the `Link` header leads."""
        url = f"{self._api_url}{path}"
        for _ in range(_MOST_PAGES):
            answer = self._send("GET", url)
            entries = _json(answer)
            if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
                raise ApiError(f"GET {path}: the answer is not GitHub's")
            yield from entries
            url = answer.links.get("next", {}).get("url", "")
            if not url:
                return
            if not url.startswith(f"{self._api_url}/"):
                raise ApiError("GitHub's next page lies on another host")
        raise ApiError(f"GET {path}: more than {_MOST_PAGES} pages")

    def _send(self, method: str, url: str, body: dict[str, Any] | None = None) -> requests.Response:
        path = url.removeprefix(self._api_url)
        try:
            # A redirected POST would become a GET, and a token must not go to another host.
            answer = self._session.request(method, url, json=body, timeout=_TIMEOUT, allow_redirects=False)
        except (OSError, ValueError) as error:  # a CA bundle that is not there, a token no header can hold, ...
            raise ApiError(f"{method} {path}: {type(error).__name__}") from None
        if not 200 <= answer.status_code < 300:
            raise ApiError(f"{method} {path}: HTTP {answer.status_code}{_reason(answer)}", answer.status_code)
        return answer


def _json(answer: requests.Response) -> Any:
    """Return an answer's JSON, None if it is none: a proxy's page may come with status 200."""
    try:
        return answer.json()
    except ValueError:
        return None


def _reason(answer: requests.Response) -> str:
    error = _json(answer)
    return f" ({str(error['message'])[:200]})" if isinstance(error, dict) and "message" in error else ""
