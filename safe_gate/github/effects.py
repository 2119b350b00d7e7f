"""What a command knows of its surroundings, and what it does to them: the clock, GitHub, lines of two streams."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from safe_gate.github import Api, checkout, event
from safe_gate.github.event import Context
from safe_gate.model.problems import CannotJudge, Code, Place, Problem

if TYPE_CHECKING:
    from safe_gate.settings.destinations import Access

_LAST_SECOND = 253_402_300_799  # the end of the year 9999


class Effects(NamedTuple):
    """Where a command prints, its time (ISO 8601 in UTC), its place on GitHub, and what it tells programs.

    `folder` is the working folder's path in the repository, "" at its root. `tell` takes a fact by name, or what
    computes it: programs get it by `--json` (docs/json.md). `given` are the settings that no config file has: those
    that a command line must repeat.
    """

    out: Callable[[str], None]
    err: Callable[[str], None]
    generated_at: str
    context: Context
    folder: str = ""
    given: frozenset[str] = frozenset()
    tell: Callable[[str, Any], None] = lambda _name, _fact: None

    @classmethod
    def of(
        cls, environ: Mapping[str, str], generated_at: str, out: Callable[[str], None], err: Callable[[str], None]
    ) -> Effects:
        """Return what a command may do in an environment at a time, with where it prints."""
        folder = checkout.working_folder(environ.get("GITHUB_WORKSPACE", ""))
        return cls(out, err, generated_at, event.context(environ), folder)

    def connect(self, access: Access) -> Api:
        """Return GitHub's API: one for each timeout, so that all requests for the same purpose share a deadline."""
        return _client(self.context.api_url, access, self.out)


def time_of(environ: Mapping[str, str]) -> str:
    """Return the time of the run as ISO 8601 in UTC, or the one SOURCE_DATE_EPOCH fixes. Raises CannotJudge."""
    epoch = environ.get("SOURCE_DATE_EPOCH", "").strip()
    if epoch and not (re.fullmatch(r"[0-9]{1,12}", epoch) and int(epoch) <= _LAST_SECOND):
        words = f"is {epoch[:40]!r}; expected whole seconds from 1970 to 9999"
        raise CannotJudge(Problem(Place("SOURCE_DATE_EPOCH"), words, code=Code.INVALID_SETTING))
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(epoch) if epoch else None))


@lru_cache(maxsize=2)
def _client(api_url: str, access: Access, say: Callable[[str], None]) -> Api:
    from safe_gate.github.client import Client  # `requests` only where GitHub is asked

    return Client(api_url, access.token, say=say, seconds=access.seconds, sleep=time.sleep)
