"""Shell: keeps data that is too large for memory in temporary files. Touches the temporary folder.

Small data stays in memory: a run of few cases touches no file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any
from weakref import finalize

from safe_gate.core.lazy import View
from safe_gate.core.model import CannotJudge, Code, JsonObject, Place, Problem

if TYPE_CHECKING:
    from sqlite3 import Cursor

_IN_MEMORY = 4 << 20
"""Bytes of a temporary file that are held in memory."""

_FEW = 2_000
"""Keys of a store that need no file."""

_AT_ONCE = 1 << 16
"""Bytes of a spool that are read at once, and the rest of the line."""

_decoded = json.JSONDecoder().raw_decode
_encoded = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def temporary_file(owner: object) -> SpooledTemporaryFile[bytes]:
    """Return a temporary file that is closed when its owner goes."""
    file = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - its owner closes it

    def close() -> None:
        with suppress(OSError):  # writers flush, so they already reported this error
            file.close()

    finalize(owner, close)
    return file


class Spool(View[JsonObject]):
    """JSON objects in the order they were added, read again whenever they are looked at."""

    def __init__(self) -> None:
        super().__init__(self._read)
        self._file = temporary_file(self)
        self._size = self._length = 0

    def take(self, some: bytes) -> None:
        """Add objects, as `lines`. Raises CannotJudge if there is no room."""
        try:
            self._file.seek(self._size)
            self._file.write(some)
            self._file.flush()  # a full disk must fail here, not when reading
        except OSError as error:
            raise _no_room(error) from None
        self._size += len(some)
        self._length = len(self) + some.count(b"\n")

    def _read(self) -> Iterator[JsonObject]:
        place = 0  # of this reader; there may be others
        while place < self._size:
            self._file.seek(place)
            for line in self._file.readlines(_AT_ONCE):
                place += len(line)
                yield _decoded(line.decode("ascii"))[0]


def lines(entries: Iterable[JsonObject]) -> bytes:
    r"""Return objects in a spool's form, one per line, so that workers can encode them.

    >>> lines([{"a": "\xe9"}, {}])
    b'{"a":"\\u00e9"}\n{}\n'
    """
    return b"".join(f"{_encoded(entry)}\n".encode("ascii") for entry in entries)


class Store:
    """JSON values by text, in the order of insertion; up to `held` of them stay in memory."""

    def __init__(self, held: int = _FEW) -> None:
        self._kept: dict[str, Any] | _OnDisk = {}
        self._held = held

    def setdefault(self, key: str, value: Any) -> Any:
        """Return what a key has: this very value if it had none. Raises CannotJudge where there is no room for it."""
        if isinstance(self._kept, dict) and len(self._kept) >= self._held:
            self._kept = _OnDisk(self._kept)
        return self._kept.setdefault(key, value)

    def get(self, key: str) -> Any:
        """Return what a key has; None if it has nothing."""
        return self._kept.get(key)

    def pop(self, key: str) -> Any:
        """Return what a key has, which is taken out; None if it has nothing."""
        return self._kept.pop(key, None)

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return keys with what they have."""
        return self._kept.items()

    def __bool__(self) -> bool:
        return any(True for _ in self.items())

    def __len__(self) -> int:
        return sum(1 for _ in self.items())


class _OnDisk:
    """A store on disk: a database in a file that is deleted with it (SQLite, "Temporary Databases")."""

    def __init__(self, kept: Mapping[str, Any]) -> None:
        import sqlite3

        self._broken = sqlite3.Error
        # One thread uses it, but the garbage collector may close it in another.
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        finalize(self, self._database.close)
        self._run("PRAGMA journal_mode = OFF")
        self._run("CREATE TABLE kept (key BLOB UNIQUE, value TEXT)")
        self._run("BEGIN")
        for key, value in kept.items():
            self.setdefault(key, value)

    def _run(self, statement: str, *values: Any) -> Cursor:
        try:
            return self._database.execute(statement, values)
        except self._broken as error:
            raise _no_room(error) from None

    def setdefault(self, key: str, value: Any) -> Any:
        if self._run("INSERT OR IGNORE INTO kept VALUES (?, ?)", _blob(key), _encoded(value)).rowcount:
            return value
        return self.get(key)

    def pop(self, key: str, _default: None) -> Any:
        value = self.get(key)
        self._run("DELETE FROM kept WHERE key = ?", _blob(key))
        return value

    def items(self) -> Iterator[tuple[str, Any]]:
        try:
            for key, value in self._database.execute("SELECT key, value FROM kept ORDER BY rowid"):
                yield key.decode("utf-8", "surrogatepass"), json.loads(value)
        except self._broken as error:
            raise _no_room(error) from None

    def get(self, key: str) -> Any:
        row = self._run("SELECT value FROM kept WHERE key = ?", _blob(key)).fetchone()
        return json.loads(row[0]) if row else None


def _blob(key: str) -> bytes:
    return key.encode("utf-8", "surrogatepass")  # half a surrogate pair is no text to SQLite


def _no_room(error: Exception) -> CannotJudge:
    why = getattr(error, "strerror", None) or error
    words = f"is full: {why}; free some space in it, or name another folder with the variable TMPDIR"
    return CannotJudge(Problem(Place("the temporary folder"), words, code=Code.UNAVAILABLE))
