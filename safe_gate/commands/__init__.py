"""The commands: one module each, and those that evaluators bring. The package finds the modules in this folder.

A module has the name of its command. It has `COMMAND`, which describes the command, and `main(call)`, which runs it and
returns the exit code. Modules whose names begin with an underscore are shared. An installed evaluator has the command
of its name. Only the named command's module is imported; `--help` of safe-gate itself imports all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from safe_gate.core.evaluator import Evaluator
from safe_gate.evaluators.registry import BUILT_IN, EVALUATORS

if TYPE_CHECKING:
    from safe_gate.commands._command import Call, Command


class Module(NamedTuple):
    """What the module of a command has: its description, and what runs it. That raises CannotJudge."""

    COMMAND: Command
    main: Callable[[Call], int]


@cache
def _files() -> Mapping[str, str]:
    """Return the names of the commands' modules by command name."""
    files = (one.stem for one in Path(__file__).parent.glob("[!_]*.py"))
    return {file.rstrip("_"): file for file in files}  # `import` is a word of Python


def _installed() -> Mapping[str, Evaluator]:
    """Return the installed evaluators by the names of their commands."""
    return {name: one for one in EVALUATORS.values() if one.name not in BUILT_IN for name in one.commands}


def names() -> tuple[str, ...]:
    """Return the names of all commands, in alphabetical order."""
    return tuple(sorted({*_files(), *_installed()}))


def module(name: str) -> Module:
    """Return what the module of a command has, or what stands for it."""
    if file := _files().get(name):
        found = import_module(f"{__name__}.{file}")
        return Module(found.COMMAND, found.main)
    from safe_gate.commands._alone import of_installed

    return of_installed(_installed()[name])


def every() -> dict[str, Command]:
    """Return all commands by name, in the order that `--help` lists them."""
    commands = {name: module(name).COMMAND for name in names()}
    return dict(sorted(commands.items(), key=lambda item: item[1].place))
