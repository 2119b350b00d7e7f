"""Where values stand in a JSON text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safe_gate.core.jsontext import JsonError, item_places, offsets, parse, units

_VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@pytest.mark.untraced
@given(st.dictionaries(st.text(), _VALUES), st.lists(_VALUES), st.booleans(), st.none() | st.integers(0, 3))
def test_items_stand_where_every_value_is_found(
    around: dict[str, Any], items: list[Any], is_first: bool, indent: int | None
) -> None:
    listed = {"list": items}
    content = {**listed, **around, **listed} if is_first else {**around, **listed}
    text = json.dumps(content, indent=indent, ensure_ascii=is_first)
    found = [text[:place].split("\n") for path, place in offsets(text) if path[:-1] == ("list",)]
    assert list(item_places(text, "list")) == [(len(lines), 1 + units(lines[-1])) for lines in found]


def test_a_list_that_is_not_there_has_no_items() -> None:
    assert list(item_places('{"a": {"list": [1]}}', "list")) == []


def test_a_number_of_too_many_digits_has_its_line() -> None:
    with pytest.raises(JsonError) as error:
        parse('{"a": "' + "1" * 5000 + '",\n"b": -12,\n"c": ' + "9" * 5000 + "}")
    assert (str(error.value), error.value.line) == ("a number has too many digits", 3)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("NaNs", "NaN is not a JSON number"),
        ("-Infinity1", "-Infinity is not a JSON number"),
        ("1e999x", "a number is too large"),
        ("-" + "9" * 5000 + "x", "a number has too many digits"),
        ("9" * 5000 + ".x", "a number has too many digits"),
    ],
)
def test_a_number_that_is_refused_has_its_line_whatever_follows_it(value: str, words: str) -> None:
    with pytest.raises(JsonError) as error:
        parse('{"a": ' + "9" * 5000 + 'e-5000,\n"b": ' + value + "]}]")
    assert (str(error.value), error.value.line) == (words, 2)
