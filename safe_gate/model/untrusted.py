"""Recorded text, which only a renderer may show, and our own words. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn


@dataclass(frozen=True, slots=True)
class Untrusted:
    """Text that somebody recorded: case ids, quotes, file names, tags.

    It refuses to become part of another string. It must be escaped by a renderer for its format
    (see `render/untrusted.py`).
    """

    text: str

    def __str__(self) -> NoReturn:
        raise TypeError("escape untrusted text with a function of render/untrusted.py; str() is refused")

    def __format__(self, spec: str) -> NoReturn:
        raise TypeError("escape untrusted text with a function of render/untrusted.py; an f-string is refused")


Words = str | Untrusted
"""Our own words (`str`, shown as they are) or recorded ones (`Untrusted`, always escaped)."""


Phrase = tuple[Words, ...]
"""Words in a row, shown without anything between them."""
