"""Tables of text, drawn with `tabulate`, as wide as a terminal is if it is known. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING

from safe_gate.core.shown import Table
from safe_gate.render.untrusted import plain

if TYPE_CHECKING:
    from tabulate import TableFormat


_ALIGN = {"<": "left", ">": "right", "^": "center"}
_NARROWEST = 8  # columns that a cell keeps on a terminal that is too narrow for a table
_columns: ContextVar[int] = ContextVar("columns", default=0)


def drawn(table: Table, form: str | TableFormat, min_widths: tuple[int, ...] = ()) -> str:
    """Return a table in a format of `tabulate`, as wide as `fit` allows. A cell that is longer is broken."""
    widths = min_widths or table.min_widths or (0,) * len(table.header)
    import tabulate  # takes as long to import as a hundred cases to score

    tabulate.MIN_PADDING = 0  # a column as wide as its widest text, header or not, as the spec draws it
    alignments = [_ALIGN[sign] for sign in table.align]
    rows = [[plain(cell, 60) for cell in row] for row in table.rows]
    headers = [
        centre(name, columns) if sign == "^" else fill(name, columns)
        for name, columns, sign in zip(table.header, widths, table.align, strict=True)
    ]
    is_framed = not isinstance(form, str)  # as wide as it is: what does not fit gets no frame
    if not (is_framed or _fits([headers, *rows])):
        headers = list(table.header)
    widest = None if is_framed else _fitting([headers, *rows])
    return tabulate.tabulate(
        rows,
        headers=headers,
        tablefmt=form,
        maxcolwidths=widest,
        maxheadercolwidths=widest,
        colalign=alignments,
        headersalign=alignments,
        disable_numparse=True,
        preserve_whitespace=True,
    )


def fit(columns: int) -> None:
    """Let tables be at most so many columns wide in this context; 0 for any width."""
    _columns.set(columns)


def most_columns() -> int:
    """Return how many columns wide tables may be in this context; 0 for any width."""
    return _columns.get()


def _fits(rows: Sequence[Sequence[str]]) -> bool:
    return _columns.get() == 0 or sum(_widths(rows)) <= _room(rows)


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(width, cells)) for cells in zip(*rows, strict=True)]


def _room(rows: Sequence[Sequence[str]]) -> int:
    """Return the columns that the texts of a table's row may take, without blanks and lines between them."""
    return _columns.get() - 3 * len(rows[0]) - 1


def _fitting(rows: Sequence[Sequence[str]]) -> list[int] | None:
    """Return how wide each column of a table may be, None if it fits: the widest ones give way, down to a few."""
    if _fits(rows):
        return None
    widths, room = _widths(rows), _room(rows)
    while sum(widths) > room and max(widths) > _NARROWEST:
        widths[widths.index(max(widths))] -= 1
    return widths


@cache
def box_format() -> TableFormat:
    """Return the frame of a table in a box."""
    from tabulate import DataRow, Line, TableFormat

    return TableFormat(
        lineabove=None,
        linebelowheader=Line("╠", "─", "┼", "╣"),
        linebetweenrows=None,
        linebelow=None,
        headerrow=DataRow("║", "│", "║"),
        datarow=DataRow("║", "│", "║"),
        padding=1,
        with_header_hide=None,
    )


def width(text: str) -> int:
    """Return how many columns a text takes on a terminal."""
    from wcwidth import wcswidth

    return max(wcswidth(text), 0)


def fill(text: str, columns: int) -> str:
    """Return a text with blanks after it, so many columns wide."""
    return text + " " * (columns - width(text))


def centre(text: str, columns: int) -> str:
    """Return a text with blanks around it, so many columns wide."""
    room = columns - width(text)
    return " " * (room // 2) + text + " " * (room - room // 2)
