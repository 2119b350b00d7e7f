"""What a function returns for texts, kept up to a bound: a text is full of words that were seen before. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

_MOST, _LONGEST = 8_000, 40

T = TypeVar("T")


class Kept(dict[str, T]):
    """What a function returns for texts. Holds what was asked for, but for long texts; if it is full, it forgets."""

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
