"""Records of files, and what becomes of those that are no cases."""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

MOST_BYTES = 16 << 20
"""The most bytes or characters of a line, of a document in an archive, and of what attachments add to a record."""


class Record(NamedTuple):
    """A JSON value of a file, with the line that it starts in (of Parquet: the row; from 1; 0 for none).

    `shape` is the file's: `json`, `commas` or `tabs` between fields, or `columns` of Parquet. `name` is the document of
    an archive. What stands beside the lists of a document is its `is_header`.
    """

    line: int
    value: Any
    shape: str = "json"
    name: str = ""
    is_header: bool = False


NO_RECORD = Record(0, None)
"""Stands for a file as a whole."""


class RepeatedColumn(tuple[str, ...]):
    """The cells of columns with the same name, in their order."""


class RefusedRecord(Exception):
    """A record that cannot become a case, raised or as a value. The text says why, and `field` where in the case.

    `id` is the id of its case, "" for that of the record. `record` is needed for a value of a file alone.
    """

    def __init__(self, why: str, record: Record = NO_RECORD, *, id_: str = "", field: str = "") -> None:
        super().__init__(why)
        self.id, self.record, self.field = id_, record, field


class LeftOut(NamedTuple):
    """A record that is not meant to be a case, such as a span that is no generation: `what` it is, in the plural."""

    what: str


def is_json(value: Any) -> bool:
    """Return whether a value that was read holds no NaN and no infinite number."""
    if isinstance(value, dict | list):
        return all(map(is_json, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, float) or math.isfinite(value)


def has_value(value: Any) -> bool:
    """Return whether a field holds anything."""
    return value not in (None, "", [], {})


def field_words(name: str) -> str:
    """Return the name of a field as it is written in a sentence."""
    return f"the field {json.dumps(name[:40])}"


def id_text(value: Any) -> str:
    """Return an id as text: a text as it is, a number in digits, "" for anything else. Raises RefusedRecord for NaN."""
    if not is_json(value):
        raise RefusedRecord("has an id that JSON cannot hold; expected text or a number")
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def list_texts(value: Any) -> tuple[str, ...]:
    """Return the texts of a list, none of anything else."""
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def error_text(value: Any) -> str:
    """Return what an error says, an object as JSON; "" for none, which CSV may hold as `null` or `false`."""
    if isinstance(value, dict):
        value = value.get("message") or value.get("code") or value
    if isinstance(value, str):
        return "" if value.strip().lower() in ("", "null", "none", "false") else value[:80]
    is_none = not value or value != value  # noqa: PLR0124 - pandas writes NaN
    return "" if is_none else json.dumps(value, ensure_ascii=False)[:80]
