"""Shell: the JSON files of an evaluator's package. Reads them, nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path


@dataclass(frozen=True, slots=True, eq=False)
class Package:
    """The JSON files of a package: a `core.given.Shipped`."""

    folder: Path
    names: Sequence[str]

    def read(self, name: str) -> bytes:
        """Return the bytes of one."""
        return self.folder.joinpath(name).read_bytes()


def shipped(module: str) -> Package:
    """Return the JSON files beside a module and below, which are read when they are asked for."""
    return _below(Path(import_module(module).__file__ or "").parent)


@cache
def _below(folder: Path) -> Package:
    return Package(folder, sorted(file.relative_to(folder).as_posix() for file in folder.glob("**/*.json")))
