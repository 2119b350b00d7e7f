"""The JSON report: the bytes that the standard library would write, but for what a runner's log could obey."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from safe_gate.model.report import Verdict
from safe_gate.render.jsonreport import to_json

_SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.tuples(inner) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
)


@given(st.dictionaries(st.text(max_size=3), _VALUES, max_size=3))
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
