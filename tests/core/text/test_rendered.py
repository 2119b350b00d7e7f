"""Texts without their markup: as long as they were, and what is left of them."""

from __future__ import annotations

import pytest
from hypothesis import given

from safe_gate.core.text.rendered import shown
from tests.support.texts import any_text


@given(any_text)
def test_a_bare_text_has_the_places_of_the_text(text: str) -> None:
    assert len(shown(text)) == len(text)


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
        ("[a] [b][c] [*d*][a] [^1]\n\n[a]: d", "a [b][c] d [^1]\n\n[a]: d"),
        ("a [b](<c d> 'e') *f*\n> *g* \\*h\\* `*i*` &lt;j &amp k", "a b f\ng *h* *i* \u2039j & k"),
        ("a<script>b</script>c<style media='>'>d</STYLE >e<template>f", "acef"),
        ("a<b hidden>c</b>d<b style='display: none'>e</b>f", "adf"),
        ("`a` ``b``", "a b"),
        ("a\\\nb\n  > > c\n>d", "a\nb\nc\nd"),
    ],
)
def test_what_is_left_of_a_text(text: str, left: str) -> None:
    assert shown(text).replace("\u200b", "") == left
