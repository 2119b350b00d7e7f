"""Shell: the JSON files of an evaluator's package. Reads them, nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path


@dataclass(frozen=True, slots=True, eq=False)
class Package:
    """The JSON files of a package, by their paths from its folder with `/`."""

    folder: Path
    names: Sequence[str]

    def read(self, name: str) -> bytes:
        """Return the bytes of one."""
        return self.folder.joinpath(name).read_bytes()


@cache
def shipped(module: str) -> Package:
    """Return the JSON files beside a module and below. They are read when they are asked for."""
    folder = Path(import_module(module).__file__ or "").parent
    return Package(folder, sorted(file.relative_to(folder).as_posix() for file in folder.glob("**/*.json")))
