"""OpenAI chat: objects with `messages`, as for fine-tuning. Records beside them may have named fields, as our cases."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from safe_gate.addons.importers.conversations import are_messages, ended
from safe_gate.addons.importers.fields import id_at, is_known, row, unused
from safe_gate.addons.importers.formats.trl import has_sides, sides
from safe_gate.addons.importers.rows import Format, NotACase, Record, Row, each, texts
from safe_gate.evaluators import EVALUATORS

_KEPT = frozenset(name for one in EVALUATORS.values() if one.imports for name in one.imports.keeps)


def _detects(record: Record) -> bool:
    """Return whether a record holds a conversation."""
    value = record.value
    return are_messages(value.get("messages")) and not has_sides(value)


def _read(value: dict[str, Any]) -> Iterator[Row]:
    if has_sides(value):
        yield from sides(value)
        return
    if "messages" not in value or (is_known(value) and not are_messages(value["messages"])):
        yield row(value, {})
        return
    id_, fields, messages = id_at(value, {}), unused(value, "messages", "tags"), value.get("messages")
    # Our own case stays a conversation, because its labels, marks and turns refer to its messages.
    labelled = (one for one in messages if isinstance(one, dict)) if isinstance(messages, list) else ()
    is_ours = any(name in _KEPT or name[:2] == "x_" for name in fields) or any("expected" in one for one in labelled)
    found = ended(messages, id_, whole=is_ours)
    if found.labels is not None:
        if "expected" in fields:
            raise NotACase("has labels of the last message twice; keep one", id_)
        fields["expected"] = found.labels
    yield Row(id_, found.user, found.assistant, texts(value.get("tags")), {}, found.left_out, fields)


FORMAT = Format("messages", "OpenAI chat messages", _detects, partial(each, _read))
