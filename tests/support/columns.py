"""Lines cut to the columns of a terminal."""

from __future__ import annotations


def cut(line: str, span: tuple[int, int]) -> str:
    """Return what a line has between two columns of UTF-16 code units."""
    start, end = (2 * (column - 1) for column in span)
    return line.encode("utf-16-le", "surrogatepass")[start:end].decode("utf-16-le", "surrogatepass")
