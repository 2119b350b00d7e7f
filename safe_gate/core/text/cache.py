"""A bounded cache of a function of texts, because texts repeat their words. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

_MOST, _LONGEST = 8_000, 40

T = TypeVar("T")


class Cache(dict[str, T]):
    """A cache of a function of texts. It skips long texts, and empties itself when it is full."""

    def __init__(self, function: Callable[[str], T]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, text: str) -> T:
        found = self._function(text)
        if len(text) <= _LONGEST:
            if len(self) >= _MOST:
                self.clear()
            self[text] = found
        return found
