"""The records of a JSON document, wherever its lists are."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from safe_gate.addons.importers import files
from safe_gate.addons.importers.rows import Record

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(json_values, max_size=5), st.sampled_from([None, 1]), json_values)
@example([12], 1, "]}")
@settings(max_examples=150)
def test_a_list_is_read_wherever_it_is(items: list[Any], indent: int | None, other: Any) -> None:
    def read(value: Any, paths: set[tuple[str, ...]]) -> list[Any]:
        found = list(files.read(json.dumps(value, indent=indent).encode(), "document", paths))
        assert all(isinstance(one, Record) for one in found)
        return [one.value for one in found if isinstance(one, Record)]

    assert read(items, set()) == items
    inside = {"x": other, "results": {"before": other, "results": items, "after": other}, "y": other}
    assert read(inside, {("results", "results")}) == items
