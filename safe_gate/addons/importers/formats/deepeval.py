"""DeepEval: the file of a test run, or a data set saved as JSON, JSONL or CSV.

Source: `deepeval.test_run.TestRun` and `deepeval.dataset.EvaluationDataset.save_as`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from safe_gate.addons.importers.conversations import are_messages, ended, parsed
from safe_gate.addons.importers.fields import id_at, unused
from safe_gate.addons.importers.rows import Format, LeftOut, NotACase, Record, Refused, Row, each, id_of, texts

_LISTS = ("testCases", "conversationalTestCases")
_PATHS = (*((one,) for one in _LISTS), *(("testRunData", one) for one in _LISTS), ("test_cases",))
_REPLY = ("actualOutput", "actual_output")


def _detects(record: Record) -> bool:
    """Return whether a record is a test case or a golden."""
    value = record.value
    is_case = "input" in value and any(name in value for name in _REPLY)
    return is_case or {"scenario", "turns"} <= value.keys() or are_messages(parsed(value.get("turns")))


def _rows(records: Iterable[Record]) -> Iterator[Row | Refused | LeftOut]:
    """Yield each test case."""
    return each(_read, map(_set, records))


def _set(record: Record) -> Record:
    """Return a record without the empty cells of CSV: DeepEval writes them for fields that are not set."""
    if record.shape == "json" or not isinstance(record.value, dict):
        return record
    return record._replace(value={name: one for name, one in record.value.items() if one != ""})


def _read(value: dict[str, Any]) -> Iterator[Row]:
    id_ = id_at(value, {}) or id_of(value.get("name"))
    tags = texts(parsed(value.get("tags")))
    if value.get("turns") is not None or "scenario" in value:
        found = ended(parsed(value.get("turns")), id_)
        fields = unused(value, "turns", "name", "tags")
        yield Row(id_, found.user, found.assistant, tags, {}, found.left_out, fields)
        return
    reply = next((value[name] for name in _REPLY if value.get(name) is not None), None)
    if not isinstance(value.get("input"), str):
        raise NotACase("has no text in input", id_)
    if reply is None:
        raise NotACase("has no reply; expected text in actual_output", id_)
    yield Row(id_, value["input"], reply, tags, fields=unused(value, "input", *_REPLY, "name", "tags"))


FORMAT = Format(
    "deepeval",
    "DeepEval test cases",
    _detects,
    _rows,
    paths=_PATHS,
)
