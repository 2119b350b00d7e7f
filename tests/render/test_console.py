"""Tables of text: each cell stands in its column, whatever the width of its characters."""

from contextvars import copy_context

from hypothesis import given
from hypothesis import strategies as st
from wcwidth import wcswidth

from safe_gate.model.results import Section, Table, Untrusted
from safe_gate.render import console

CELLS = st.text("ab \u4e2d\u00e9\U0001f642", max_size=6)


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=3), st.permutations("<>^"), CELLS)
def test_all_lines_of_a_box_are_as_wide(rows: list[tuple[str, ...]], align: list[str], title: str) -> None:
    table = Table(("A", "Bcd", "\u4e2d"), "".join(align), tuple(rows), (9, 0, 2))
    lines = console.scorecard(Section((Untrusted(title),), "", ("1", "2"), table, ("footer",), ())).splitlines()
    assert len(lines) == 10 + len(rows)
    assert len({wcswidth(line) for line in lines}) == 1
    for row, line in zip(rows, lines[7:], strict=False):
        assert [cell.strip() for cell in line[1:-1].split("\u2502")] == [cell.strip() for cell in row]


def drawn(table: Table, columns: int) -> str:
    """Return a table as a terminal of so many columns shows it."""
    context = copy_context()
    context.run(console.limit_width, columns)
    return context.run(console.draw_table, table)


def test_a_table_with_too_many_columns_for_a_terminal_is_text() -> None:
    header = ("Metric", "Baseline", "This run", "p", "Worse", "Better", "Same")
    table = Table(header, "<" + ">" * 6, (("agency language", "90.5%", "80.2% (70.1 to 85.5)", "", "3", "1", "20"),))
    assert drawn(table, 44).split("\n") == [
        "agency language",
        "  Baseline 90.5%",
        "  This run 80.2% (70.1 to 85.5) · Worse 3",
        "  Better 1 · Same 20",
    ]


def test_a_table_is_text_where_the_name_of_a_check_would_be_broken() -> None:
    table = Table(("Check", "Against"), "<<", (("unverifiable_reassurance", "guarantee, mind_reading"),))
    assert "│ unverifiable_reassurance │ guarantee,   │" in drawn(table, 45)
    assert drawn(table, 30) == "unverifiable_reassurance\n  Against guarantee, mind_reading"
