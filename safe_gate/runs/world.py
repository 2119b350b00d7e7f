"""What commands do to the world, for real: the clock, GitHub and sinks."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from safe_gate.core.model import CannotJudge, Code, Place, Problem
from safe_gate.github import Api, event, repository, runner_files
from safe_gate.publish.effects import Effects

if TYPE_CHECKING:
    from safe_gate.core.report import Report
    from safe_gate.settings.destinations import Access, Sinks
    from safe_gate.sinks.events import Run

_LAST_SECOND = 253_402_300_799  # the end of the year 9999


def effects(
    environ: Mapping[str, str], generated_at: str, out: Callable[[str], None], err: Callable[[str], None]
) -> Effects:
    """Return what a command may do in an environment at a time, with where it prints."""
    return Effects(
        out=out,
        err=err,
        generated_at=generated_at,
        context=event.context(environ),
        connect=_connect,
        write_outputs=runner_files.write_outputs,
        append_summary=runner_files.append_summary,
        deliver=_deliver,
        folder=repository.working_folder(environ.get("GITHUB_WORKSPACE", "")),
    )


def time_of(environ: Mapping[str, str]) -> str:
    """Return the time of the run as ISO 8601 in UTC, or the one SOURCE_DATE_EPOCH fixes. Raises CannotJudge."""
    epoch = environ.get("SOURCE_DATE_EPOCH", "").strip()
    if epoch and not (re.fullmatch(r"[0-9]{1,12}", epoch) and int(epoch) <= _LAST_SECOND):
        problem = Problem(
            Place("SOURCE_DATE_EPOCH"),
            f"is {epoch[:40]!r}; expected whole seconds from 1970 to 9999",
            code=Code.INVALID_SETTING,
        )
        raise CannotJudge(problem)
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(epoch) if epoch else None))


@lru_cache(maxsize=2)  # one for each timeout: all that a run reads shares one deadline, all that it publishes another
def _connect(api_url: str, access: Access, say: Callable[[str], None]) -> Api:
    from safe_gate.github.client import Client  # `requests` only where there is something to post

    return Client(api_url, access.token, ca_bundle=access.ca_bundle, say=say, seconds=access.seconds, sleep=time.sleep)


def _deliver(report: Report, run: Run, to: Sinks) -> Sequence[str]:
    from safe_gate import sinks

    return sinks.deliver(report, run, to, time.sleep)
