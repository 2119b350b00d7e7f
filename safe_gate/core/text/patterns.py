"""Patterns that are compiled when they are first used. Pure.

Python takes a tenth of a millisecond or more per pattern. A command uses few of the patterns in its modules.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from re import Pattern


class _Later:
    """Stands for a compiled pattern. It keeps the methods used, so each is looked up once."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._given = pattern, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(*self._given), name)
        setattr(self, name, found)
        return found


def later(pattern: str, flags: int = 0) -> Pattern[str]:
    r"""Return a pattern that is compiled when it is first used.

    >>> later(r"\d+").sub("#", "4 of 12")
    '# of #'
    """
    return cast("Pattern[str]", _Later(pattern, flags))
