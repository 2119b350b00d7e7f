"""TRL data sets: `prompt` with `completion`, or with `chosen` and `rejected`, which are two samples.

Each is text or messages.

Source: the dataset formats of TRL's documentation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from safe_gate.importers.formats._chat import are_messages, ended, text_of
from safe_gate.importers.formats._fields import id_at
from safe_gate.importers.formats._rows import LeftOut, NotACase, Record, Refused, Row, each

TITLE = "a TRL data set"
_SIDES = ("completion", "chosen", "rejected")


def detects(record: Record) -> bool:
    """Return whether a record holds two replies, or a conversation with its completion."""
    value = record.value
    if not isinstance(value, dict):
        return False
    return {"chosen", "rejected"} <= value.keys() or (
        {"prompt", "completion"} <= value.keys()
        and (are_messages(value["prompt"]) or isinstance(value.get("label"), bool))
    )


def rows(records: Iterable[Record]) -> Iterator[Row | Refused | LeftOut]:
    """Yield each reply with what it answers; `chosen` and `rejected` are tags."""
    return each(_read, records)


def _read(value: dict[str, Any]) -> Iterator[Row]:
    sides = [side for side in _SIDES if value.get(side) is not None]
    if not sides:
        raise NotACase("has no completion, chosen or rejected")
    prompt, id_ = value.get("prompt"), id_at(value, {})
    for side in sides:
        said = value[side]
        tags = () if side == "completion" else (side,)
        if isinstance(prompt, str) and isinstance(said, str):
            yield Row(id_, prompt, said, tags)
            continue
        before = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt or []
        after = said if are_messages(said) else [{"role": "assistant", "content": text_of(said)}]
        if not isinstance(before, list):
            raise NotACase("has no prompt; expected text or a list of messages", id_)
        found = ended([*before, *after], id_)
        yield Row(id_, found.user, found.assistant, tags, {}, found.left_out)
