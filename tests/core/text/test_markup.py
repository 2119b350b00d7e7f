"""Texts without their markup: as long as they were, and what is left of them."""

from __future__ import annotations

import pytest
from hypothesis import given

from safe_gate.core.text.markup import bare
from tests.support.texts import any_text


@given(any_text)
def test_a_bare_text_has_the_places_of_the_text(text: str) -> None:
    assert len(bare(text)) == len(text)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("plain text", "plain text"),
        ("a < b and c > d", "a < b and c > d"),
        ("<a title='<b>'>b</a>", "b"),
        ("a<hr>b<HR/>c</x>d", "a\nb\ncd"),
        ("a<!-- b --><? c ?>d", "ad"),
        ("[a](b 'c') ![d](e) [f](g_(h)) [i] (j)", "a  f [i] (j)"),
        ("[a] [b][c]", "[a] [b][c]"),
        ("[a] [b][c] [^1]\n[a]: d", "a b [^1]\n[a]: d"),
        ("`a` ``b``", "a b"),
        ("a\\\nb\n  > > c\n>d", "a\nb\nc\nd"),
    ],
)
def test_what_is_left_of_a_text(text: str, left: str) -> None:
    assert bare(text).replace("\u200b", "") == left
