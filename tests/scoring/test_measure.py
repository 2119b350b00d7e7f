"""Columns of recorded texts in the line of JSON that holds them."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from safe_gate.core.jsontext import offsets
from safe_gate.model.results import Mark, Side
from safe_gate.scoring.measure import deciding_columns
from tests.support.columns import cut

_TEXTS = st.text(st.characters(exclude_categories=()))


def against(field: str, start: int, end: int) -> Mark:
    return Mark(field, start, end, "", Side.AGAINST, "check", "says")


@given(_TEXTS, _TEXTS, st.data(), st.booleans())
def test_a_column_is_that_of_the_raw_line(before: str, text: str, data: st.DataObject, is_ascii: bool) -> None:
    value = json.loads(json.dumps({before: before, "user": before, "assistant": text}))  # halves that meet are one
    line = json.dumps(value, ensure_ascii=is_ascii)
    length = len(value["assistant"])
    start = data.draw(st.integers(0, length))
    end = data.draw(st.integers(start, length))
    spans = deciding_columns(line, dict(offsets(line)), "assistant", [against("assistant", start, end)])
    assert json.loads(f'"{cut(line, spans["check"])}"') == value["assistant"][start:end]
    assert json.loads(f'"{cut(line, spans[""])}"') == value["assistant"]


@given(st.lists(_TEXTS.filter(bool), min_size=1, max_size=3), st.data())
def test_a_message_has_its_text_as_content_or_in_parts(parts: list[str], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(parts) - 1))
    start = sum(len(part) for part in parts[:place])
    content: Any = [{"type": "text", "text": part} for part in parts]
    for one, first in ((content, start), (parts[place], 0)):
        line = json.dumps({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": one}]})
        spans = deciding_columns(
            line, dict(offsets(line)), "messages[1]", [against("messages[1]", first, first + len(parts[place]))]
        )
        assert cut(line, spans["check"]) == json.dumps(parts[place])[1:-1]


def test_the_first_words_against_a_case_decide_and_a_field_elsewhere_has_no_column() -> None:
    line = '{"assistant": "one two", "user": {"no": "text"}}'
    marks = [
        Mark("assistant", 0, 3, "one", Side.FOR, "check", "says"),
        against("assistant", 4, 7),
        against("assistant", 0, 3),
        Mark("user", 0, 2, "", Side.AGAINST, "other", "says"),
    ]
    assert deciding_columns(line, dict(offsets(line)), "assistant", marks) == {"": (16, 23), "check": (20, 23)}
    assert deciding_columns(line, dict(offsets(line)), "summary", ()) == {}
