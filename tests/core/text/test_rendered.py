"""Texts without their markup: as long as they were, and what is left of them."""

from hypothesis import given

from safe_gate.core.text.rendered import shown
from tests.support.cases import DATA, read_lines
from tests.support.texts import any_text


@given(any_text)
def test_a_bare_text_has_the_places_of_the_text(text: str) -> None:
    assert len(shown(text)) == len(text)


def test_what_is_left_of_a_text() -> None:
    rows = read_lines(DATA / "texts.jsonl")
    left = {row["text"]: row["shown"] for row in rows if "shown" in row}
    assert {text: shown(text).replace("\u200b", "") for text in left} == left != {}
