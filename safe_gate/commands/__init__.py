"""The commands, one module each. The package finds them in this folder; a command has the name of its module.

A module has `COMMAND`, which describes the command, and `main(call)`, which runs it and returns the exit code.
Modules whose names begin with an underscore are shared. Only the named command's module is imported; `--help` of
safe-gate itself imports all.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from safe_gate.commands._command import Call, Command


class Module(Protocol):
    """The module of a command."""

    COMMAND: Command

    def main(self, call: Call) -> int:
        """Run the command and return the exit code. Raises CannotJudge."""


@cache
def _files() -> Mapping[str, str]:
    """Return the names of the commands' modules by command name, in alphabetical order."""
    files = sorted(one.stem for one in Path(__file__).parent.glob("[!_]*.py"))
    return {file.rstrip("_"): file for file in files}  # `import` is a word of Python


def names() -> tuple[str, ...]:
    """Return the names of all commands, in alphabetical order."""
    return tuple(_files())


def module(name: str) -> Module:
    """Return the module of a command."""
    return cast("Module", import_module(f"{__name__}.{_files()[name]}"))


def every() -> dict[str, Command]:
    """Return all commands by name, in the order that `--help` lists them."""
    commands = {name: module(name).COMMAND for name in names()}
    return dict(sorted(commands.items(), key=lambda item: item[1].place))
