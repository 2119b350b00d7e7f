"""The formats of a run's reports: a module each, named as the setting `reports` names it. Pure.

A module has `FILES`: its files by name, each with what draws it. Pieces come one by one, so that what is held does
not grow with the cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module

from safe_gate.core.model import JsonObject

Draw = Callable[[JsonObject, str], Iterable[str]]
"""Gives the text of a file in pieces, from a report and the working folder's path in the repository."""


def files(formats: Iterable[str]) -> Iterator[tuple[str, Draw]]:
    """Yield the files of formats by name with what draws each, every format once."""
    for name in dict.fromkeys(formats):
        drawn: Mapping[str, Draw] = import_module(f"{__name__}.{name}").FILES
        yield from drawn.items()
