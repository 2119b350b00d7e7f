"""The quick validator and the one with the words agree: whatever one calls valid, so does the other."""

import copy
import json
from collections.abc import Iterator
from functools import reduce
from itertools import product
from operator import getitem
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safe_gate.core.validate import Schema
from safe_gate.inputs.checked import load_schema
from tests.support.cases import REPOSITORY, safe_case, turn

SCHEMAS = {
    path.name.removesuffix(".schema.json"): json.loads(path.read_text("utf-8"))
    for path in (REPOSITORY / "schemas").glob("*.json")
}
VALID: dict[str, Any] = {
    "synthesis-case": turn("T-1", expected={"topic_pivot": None}, tags=["a"], marks={"stays": ["a"]}, x_more={"n": [1.5, None]}),
    "safe-batch": {"batch_plan": {"scenarios": [{"archetype": "A"}]}, "test_cases": [safe_case("S-1"), safe_case("S-2")]},
    "safe-output": {"test_id": "S-1", "output": safe_case("S-1")["output"]},
    "config": {"min-pass-rate": 0.5, "thresholds": {"CR": {"pass": 0.5}}, "rules-off": ["a"], "significance": {"alpha": 0.1}},
}  # fmt: skip
BLANK = [*filter(str.isspace, map(chr, range(0x10000))), "\ufeff"]
"""What is space to somebody: engines of regular expressions do not agree on it."""
ODD = st.sampled_from(BLANK) | st.sampled_from(
    [None, True, 0, 1.0, -1, 10**40, 1e308, "", "x" * 300, "\ud800", "\x00", [], [1, 1], {}, {"a": 1}, {"x_": 2}]
)


def nodes(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from nodes(one, (*path, key))


def mutated(value: Any, path: tuple[Any, ...], how: str, odd: Any) -> Any:
    """Return a value in which one is replaced or dropped, or has one more beside it, in a dictionary of the name `how`."""
    if not path:
        return odd
    value = copy.deepcopy(value)
    holder = reduce(getitem, path[:-1], value)
    if how == "drop":
        del holder[path[-1]]
    elif how == "replace" or isinstance(holder, dict):
        holder[path[-1] if how == "replace" else how] = odd
    else:
        holder.append(odd)
    return value


@pytest.mark.parametrize("name", VALID)
@given(data=st.data())
def test_both_validators_agree_on_mutated_inputs(name: str, data: st.DataObject) -> None:
    value = VALID[name]
    assert load_schema(name).faults(value) == ()
    for _ in range(data.draw(st.integers(0, 2))):
        path = data.draw(st.sampled_from(list(nodes(value))))
        value = mutated(value, path, data.draw(st.sampled_from(["replace", "drop", "more", "x_more"])), data.draw(ODD))
    schema = load_schema(name)
    slow, quick = schema._validator.is_valid(value), schema._is_plainly_valid(value)
    assert slow or not quick, "a value that is not valid must never pass quickly"
    assert quick or not slow or not is_plain(value), "a plain value that is valid must not take the slow way"
    assert bool(load_schema(name).faults(value)) == (not slow)


def patterns(schema: Any) -> Iterator[str]:
    for path in nodes(schema):
        if path[-1:] == ("pattern",) and isinstance(found := reduce(getitem, path, schema), str):
            yield found


@pytest.mark.parametrize("pattern", sorted({one for schema in SCHEMAS.values() for one in patterns(schema)}))
def test_both_validators_agree_on_a_pattern(pattern: str) -> None:
    schema = Schema({"pattern": pattern})
    for text in ("", *map(chr, range(0x700)), *BLANK, *map("a{}".format, BLANK)):
        assert schema._validator.is_valid(text) == schema._is_plainly_valid(text)


def test_a_line_break_stands_behind_no_end() -> None:
    schema = Schema({"pattern": "^[0-9]+$"})
    assert schema.faults("1") == ()
    assert [fault.message for fault in schema.faults("1\n")] == ['is "1\\n"; expected another value']


def test_blank_text_is_refused_whatever_else_is_wrong() -> None:
    case = safe_case("S-1")
    for blank, other in product(BLANK, ({}, {"typo": 1})):
        case["expectations"]["followup_questions"]["forbidden_terms"] = [blank]
        faults = load_schema("safe-batch").faults({"test_cases": [case], **other})
        assert [fault.field for fault in faults if "forbidden_terms" in fault.field] != []
        assert len(faults) == 1 + len(other)


def is_plain(value: Any) -> bool:
    return "\\ud8" not in json.dumps(value)
