"""Where the evidence of a SAFE v0 case stands in its texts."""

from __future__ import annotations

import pytest

from safe_gate.evaluators.safe_v0.present import marks
from tests.support.safe_v0 import scored


@pytest.mark.parametrize("before", ["", "I", "\u0130", "\u0130\u0130 and "], ids=ascii)
def test_a_mark_has_its_place_in_the_text_as_it_was_recorded(before: str) -> None:
    text = f"{before}Fever since noon."  # U+0130 is two characters in lower case
    result = scored(must_find_signals=("fever",), summary=text)
    (mark,) = marks(result, {"summary": text})
    assert (mark.start, mark.end) == (len(before), len(before) + len("Fever"))
