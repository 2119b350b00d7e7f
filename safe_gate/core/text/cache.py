"""A bounded cache of a function of texts, because texts repeat their words. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

_MOST, _LONGEST = 30_000, 40

T = TypeVar("T")


class Cache(dict[str, T]):
    """A cache of a function of texts. It skips long texts, and keeps what it has when it is full."""

    def __init__(self, function: Callable[[str], T]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, text: str) -> T:
        found = self._function(text)
        if len(text) <= _LONGEST and len(self) < _MOST:
            self[text] = found
        return found
