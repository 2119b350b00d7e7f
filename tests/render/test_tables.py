"""Tables of text: each cell stands in its column, whatever the width of its characters."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tabulate import DataRow, Line, TableFormat
from wcwidth import wcswidth

from safe_gate.core.shown import Table
from safe_gate.render import tables

BOX = TableFormat(
    lineabove=None,
    linebelowheader=Line("╠", "─", "┼", "╣"),
    linebetweenrows=None,
    linebelow=None,
    headerrow=DataRow("║", "│", "║"),
    datarow=DataRow("║", "│", "║"),
    padding=1,
    with_header_hide=None,
)
CELLS = st.text(alphabet="aB 1│\u4e2d\u00e9\U0001f642", max_size=6)


@given(
    st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=3),
    st.permutations("<>^"),
    st.lists(st.integers(0, 9), min_size=3, max_size=3),
)
def test_a_boxed_table_is_what_tabulate_draws(rows: list[tuple[str, ...]], align: list[str], widths: list[int]) -> None:
    table = Table(("A", "Bcd", "\u4e2d"), "".join(align), tuple(rows), tuple(widths))
    lines = tables.boxed(table)
    assert len({wcswidth(line) for line in lines}) == 1
    assert lines == tables.drawn(table, BOX).split("\n")  # type: ignore[arg-type]
