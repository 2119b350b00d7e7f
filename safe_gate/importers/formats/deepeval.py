"""DeepEval: the file of a test run, or a data set saved as JSON.

Source: `deepeval.test_run.TestRun` and `deepeval.dataset.EvaluationDataset.save_as`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from safe_gate.importers.formats._chat import are_messages, ended
from safe_gate.importers.formats._fields import id_at
from safe_gate.importers.formats._rows import LeftOut, NotACase, Record, Refused, Row, each, id_of, texts

TITLE = "DeepEval test cases"
_LISTS = ("testCases", "conversationalTestCases")
PATHS = (*((one,) for one in _LISTS), *(("testRunData", one) for one in _LISTS), ("test_cases",))
_REPLY = ("actualOutput", "actual_output")


def detects(record: Record) -> bool:
    """Tell whether a record is a test case."""
    value = record.value
    if not isinstance(value, dict):
        return False
    return ("input" in value and any(name in value for name in _REPLY)) or (
        record.path in PATHS and are_messages(value.get("turns"))
    )


def rows(records: Iterable[Record]) -> Iterator[Row | Refused | LeftOut]:
    """Yield each test case."""
    return each(_read, records)


def _read(value: dict[str, Any]) -> Iterator[Row]:
    id_ = id_at(value, {}) or id_of(value.get("name"))
    tags = texts(value.get("tags"))
    if "turns" in value:
        found = ended(value["turns"])
        yield Row(id_, found.user, found.assistant, tags, {}, found.left_out)
        return
    reply = next((value[name] for name in _REPLY if value.get(name) is not None), None)
    if not isinstance(value.get("input"), str):
        raise NotACase("has no text in input", id_)
    if reply is None:
        raise NotACase("has no reply; expected text in actual_output", id_)
    yield Row(id_, value["input"], reply, tags)
