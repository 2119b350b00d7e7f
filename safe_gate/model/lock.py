"""The recording lock: what each file of recordings was recorded from, and which of them are stale. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Locked:
    """A file of recordings at one time: its SHA-256, the model's id, the time, and the SHA-256 of its sources by path.

    The time is ISO 8601 in UTC, the id "" if nobody gave it.
    """

    sha256: str
    model: str
    recorded_at: str
    sources: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Lock:
    """The file `safe-gate.lock.json`: its entries by the paths of recordings."""

    recordings: Mapping[str, Locked]


class Fault(StrEnum):
    """Why a recording is stale, in the words of reports."""

    NOT_LOCKED = "has no entry in the lock"
    SOURCES_CHANGED = "is older than its sources"
    NOT_RENEWED = "changed without a new entry in the lock"
    NOT_RECORDED_AGAIN = "has the base's outputs, although its sources changed"
    TOO_OLD = "is too old"
    IN_FUTURE = "is newer than the judged commit"


@dataclass(frozen=True, slots=True)
class Stale:
    """A file of recordings that is stale, why, and the files that tell: its changed sources.

    `days` is the age of one that is too old, in whole days at the judged commit's time.
    """

    recording: str
    fault: Fault
    files: tuple[str, ...] = ()
    days: int = 0


@dataclass(frozen=True, slots=True)
class Recordings:
    """The recordings that were compared with the lock, and those that are stale.

    `on_stale` is `fail` or `warn`; `max_age` is in days, None without a limit.
    """

    on_stale: str
    max_age: int | None
    compared: int
    stale: tuple[Stale, ...]
