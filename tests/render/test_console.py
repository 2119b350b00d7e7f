"""Tables of text: each cell stands in its column, whatever the width of its characters."""

from __future__ import annotations

from contextvars import copy_context

from hypothesis import given
from hypothesis import strategies as st
from tabulate import DataRow, Line, TableFormat
from wcwidth import wcswidth

from safe_gate.model.results import Table
from safe_gate.render import console

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
    lines = console.draw_box(table)
    assert len({wcswidth(line) for line in lines}) == 1
    assert lines == console.draw_table(table, BOX).split("\n")  # type: ignore[arg-type]


def test_a_table_with_too_many_columns_for_a_terminal_is_text() -> None:
    header = ("Metric", "Baseline", "This run", "p", "Worse", "Better", "Same")
    table = Table(header, "<" + ">" * 6, (("agency language", "90.5%", "80.2% (70.1 to 85.5)", "", "3", "1", "20"),))

    def drawn() -> str:
        console.limit_width(44)
        return console.draw_table(table, "simple_outline")

    assert copy_context().run(drawn).split("\n") == [
        "agency language",
        "  Baseline 90.5%",
        "  This run 80.2% (70.1 to 85.5) · Worse 3",
        "  Better 1 · Same 20",
    ]
