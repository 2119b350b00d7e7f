"""Matches globs on disk and in a commit's tree: `*`, `?` and `[...]` within a name, `**` for any depth.

Pure. As in `glob.glob`, only a pattern that begins with a dot matches a name that does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import accumulate

ANY_DEPTH = "**"


def segments(glob: tuple[str, ...]) -> tuple[str, ...]:
    """Return the segments of a glob; `**` at its end names what is below a folder, not the folder itself."""
    return (*glob, "*") if glob[-1:] == (ANY_DEPTH,) else glob


def fits(name: str, segment: str) -> bool:
    """Return whether a segment of a glob names a file or folder."""
    return fnmatchcase(name, segment) and (segment.startswith(".") or is_entered(name))


def is_entered(name: str) -> bool:
    """Return whether `**` goes into a folder of this name. A forged tree may have `..`: it is found, and so refused."""
    return name == ".." or not name.startswith(".")


def names(glob: tuple[str, ...], path: Sequence[str]) -> bool:
    """Return whether a glob names a path, both as segments. A segment also names itself, whatever it holds."""
    *_, whole = _reached(glob, path)
    return whole[-1]


def leads_into(glob: tuple[str, ...], folder: Sequence[str]) -> bool:
    """Return whether a glob may name something below a folder.

    >>> leads_into(("a", "**", "*.json"), ("a", "b")), leads_into(("a", "*.json"), ("a", "b"))
    (True, False)
    """
    *parts, _ = _reached(glob, folder)
    return any(part[-1] for part in parts)


def _reached(glob: tuple[str, ...], path: Sequence[str]) -> Iterator[list[bool]]:
    """Yield for 0, 1, 2 ... first segments of a glob which first names of a path they match."""
    reached = [True, *(False for _ in path)]
    yield reached
    for segment in segments(glob):
        if segment == ANY_DEPTH:
            deeper = zip(reached[1:], path, strict=True)
            reached = list(accumulate(deeper, lambda was, at: at[0] or (was and is_entered(at[1])), initial=reached[0]))
        else:
            steps = zip(reached, path, strict=False)
            reached = [False, *(was and (name == segment or fits(name, segment)) for was, name in steps)]
        yield reached
