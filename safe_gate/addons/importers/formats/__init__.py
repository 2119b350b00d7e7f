"""The formats that `safe-gate import` reads, one module each: found by walking this folder, named as the module.

Pure. A module must have:

- `TITLE`: the format's name in a sentence.
- `detects(record)`: whether a record is of the format.
- `rows(records)`: the rows that its records stand for.

It may have:

- `PATHS`: the keys that lead to its records in a JSON document.
- `SHAPE`: the only shape of a file that it reads.
- `JOINS`: whether a row may hold one half of an exchange, with the other half under the same id elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from safe_gate.addons.importers.formats._rows import LeftOut, NotACase, Record, Refused, Row

__all__ = ["Format", "LeftOut", "NotACase", "Record", "Refused", "Row", "detected", "formats", "paths"]

_Rows = Callable[[Iterable[Record]], Iterator[Row | Refused | LeftOut]]


@dataclass(frozen=True, slots=True)
class Format:
    """A format: its `name` in `--from`, and what its module says of it."""

    name: str
    module: ModuleType

    @property
    def title(self) -> str:
        """The format's name in a sentence."""
        return str(self.module.TITLE)

    @property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        """The keys that lead to its records in a JSON document; of a list or lines of records none."""
        return getattr(self.module, "PATHS", ())

    @property
    def shape(self) -> str:
        """The only shape of a file that it reads, "" for any."""
        return getattr(self.module, "SHAPE", "")

    @property
    def joins(self) -> bool:
        """Whether a row may hold one half of an exchange alone."""
        return getattr(self.module, "JOINS", False)

    @property
    def rows(self) -> _Rows:
        """The function that makes rows from records."""
        rows: _Rows = self.module.rows
        return rows

    def detects(self, record: Record) -> bool:
        """Return whether a record is of this format."""
        return bool(self.module.detects(record))


@cache
def formats() -> Mapping[str, Format]:
    """Return all formats by name, in the order of the names."""
    names = sorted(one.name for one in iter_modules(__path__) if not one.name.startswith("_"))
    return {(name := module.replace("_", "-")): Format(name, import_module(f"{__name__}.{module}")) for module in names}


@cache
def paths() -> frozenset[tuple[str, ...]]:
    """Return the keys that lead to the records of any format in a JSON document."""
    return frozenset(path for one in formats().values() for path in one.paths)


def detected(record: Record) -> Format | None:
    """Return the format that a record is of: one that a tool writes before rows of any kind. None if there is none."""
    tools_first = sorted(formats().values(), key=lambda one: bool(one.shape))
    return next((one for one in tools_first if one.shape in ("", record.shape) and one.detects(record)), None)
