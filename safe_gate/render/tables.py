"""Tables of text, most of them drawn with `tabulate`, as wide as a terminal is if it is known. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextvars import ContextVar
from math import inf

from safe_gate.model.results import Table
from safe_gate.render.untrusted import plain

_ALIGN = {"<": "left", ">": "right", "^": "center"}
_NARROW = re.compile("[ -~\u2500-\u257f]*")  # signs of one column: ASCII and lines
_NARROWEST = 8  # columns that a cell keeps on a terminal that is too narrow for a table
_columns: ContextVar[int] = ContextVar("columns", default=0)


def drawn(table: Table, form: str, indent: str = "") -> str:
    """Return a table in a format of `tabulate`, as wide as `fit` allows, its lines after an indent.

    A cell that is longer is broken. With too many columns for that, each row is text.
    """
    import tabulate  # takes as long to import as a hundred cases to score

    tabulate.MIN_PADDING = 0  # a column as wide as its widest text, header or not, as the spec draws it
    alignments = [_ALIGN[sign] for sign in table.align]
    headers, *rows = _cells(table, table.min_widths)
    room = _columns.get() - len(indent) - 3 * len(headers) - 1 if _columns.get() else inf  # less blanks and lines
    if sum(_widths([headers, *rows])) > room:
        headers = list(table.header)
    widest = _fitting([headers, *rows], room)
    if widest and sum(widest) > room:
        return "\n".join(_as_text(headers, row) for row in rows)
    text = tabulate.tabulate(
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
    return "\n".join(f"{indent}{line}" for line in text.split("\n"))


def _as_text(headers: Sequence[str], row: Sequence[str]) -> str:
    """Return a row as its first cell, and below it the others with their headers, as many on a line as fit."""
    lines = [row[0]]
    for name, cell in zip(headers[1:], row[1:], strict=True):
        fact = f"{name.strip()} {cell.strip()}"
        if not cell.strip():
            continue
        if len(lines) > 1 and width(lines[-1]) + width(fact) + 3 <= _columns.get():
            lines[-1] += f" · {fact}"
        else:
            lines.append(f"  {fact}")
    return "\n".join(lines)


def boxed(table: Table, min_widths: Sequence[int] = ()) -> list[str]:
    """Return the lines of a boxed table at full width, without the box's top and bottom.

    Every `eval` shows one, so it is drawn without `tabulate`.
    """
    cells = _cells(table, min_widths or table.min_widths)
    widths = _widths(cells)
    header, *rows = (
        f"║ {' │ '.join(_PAD[sign](cell, size) for cell, size, sign in zip(row, widths, table.align, strict=True))} ║"
        for row in cells
    )
    return [header, f"╠{'┼'.join('─' * (size + 2) for size in widths)}╣", *rows]


def _cells(table: Table, min_widths: Sequence[int]) -> list[list[str]]:
    """Return the cells of a table, its header first, which is as wide as its columns must be."""
    header = [
        centre(name, columns) if sign == "^" else fill(name, columns)
        for name, columns, sign in zip(table.header, min_widths or (0,) * len(table.header), table.align, strict=True)
    ]
    return [header, *([plain(cell, 60) for cell in row] for row in table.rows)]


def fit(columns: int) -> None:
    """Limit the width of tables in this context, in columns; 0 is no limit."""
    _columns.set(columns)


def most_columns() -> int:
    """Return how many columns wide tables may be in this context; 0 for any width."""
    return _columns.get()


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(width, cells)) for cells in zip(*rows, strict=True)]


def _fitting(rows: Sequence[Sequence[str]], room: float) -> list[int] | None:
    """Return the widths of a table's columns, None if it fits. The widest columns shrink first."""
    widths = _widths(rows)
    if sum(widths) <= room:
        return None
    while sum(widths) > room and max(widths) > _NARROWEST:
        widths[widths.index(max(widths))] -= 1
    return widths


def width(text: str) -> int:
    """Return how many columns a text takes on a terminal."""
    if _NARROW.fullmatch(text):
        return len(text)
    from wcwidth import wcswidth

    return max(wcswidth(text), 0)


def fill(text: str, columns: int) -> str:
    """Return a text padded on the right to a width of columns."""
    return text + " " * (columns - width(text))


def centre(text: str, columns: int) -> str:
    """Return a text centred in a width of columns."""
    room = columns - width(text)
    return " " * (room // 2) + text + " " * (room - room // 2)


_PAD = {"<": fill, ">": lambda text, columns: " " * (columns - width(text)) + text, "^": centre}
