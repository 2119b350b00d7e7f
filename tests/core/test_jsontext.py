"""JSON as text: where values stand, and the bytes that the standard library would write, but for what a log could obey."""

import json
from collections import Counter
from enum import Enum
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from safe_gate.core.jsontext import JsonError, item_lines, line, parse, places, to_json
from safe_gate.model.report import Verdict

_FINITE = st.floats(allow_nan=False, allow_infinity=False)
_VALUES = st.recursive(
    st.none() | st.booleans() | _FINITE | st.text(),
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
    assert list(item_lines(json.dumps({"a": content}), "list")) == [], "none is at the top"
    assert list(item_lines(text, "list")) == [line for path, line in places(text) if path[:-1] == ("list",)]


LONG = "9" * 5000


@pytest.mark.parametrize(
    ("number", "words"),
    [
        ("NaNs", "NaN is not a JSON number"),
        ("-Infinity1", "-Infinity is not a JSON number"),
        ("1e999x", "a number is too large"),
        *((number, "a number has too many digits") for number in (LONG, f"-{LONG}x", f"{LONG}.x")),
    ],
)
def test_a_number_that_is_refused_has_its_line_whatever_follows_it(number: str, words: str) -> None:
    with pytest.raises(JsonError) as error:
        parse(f'{{"a": {LONG}e-5000,\n"b": "{LONG}", "c": -12,\n"d": {number}]}}]')
    assert (str(error.value), error.value.line) == (words, 3)


def _named(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.text(max_size=3), values, max_size=3)


_JSON_LIKE = st.recursive(
    st.none() | st.booleans() | st.integers() | _FINITE | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner) | _named(inner),
)


@given(_named(_JSON_LIKE))
@example({"a": [], "b": {}, "c": (1, "x"), "d": Counter("aab"), "e": Verdict.PASS, "f": -0.0, "g": 1e300, "h": 10**40})
@example({"half a pair": "\ud800", "control": "\x00\x1b\x7f", "deep": [[[{"a": [{}]}]]]})
def test_a_report_is_written_as_the_standard_library_would(report: dict[str, Any]) -> None:
    text = to_json(report)
    assert text == json.dumps(report, indent=2).replace("\x7f", "\\u007f").replace("##[", "#\\u0023[") + "\n"
    assert json.loads(text) == json.loads(json.dumps(report))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_json_has_no_number_for_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_json({"results": [{"score": value}]})


def test_a_member_of_an_enumeration_is_written_as_its_value() -> None:
    colour = Enum("colour", {"GREEN": "green"})
    assert line([colour.GREEN]) == '["green"]'
    with pytest.raises(TypeError, match="object is no JSON"):
        line([object()])
