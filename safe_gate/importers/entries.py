"""Imported rows as lines of ours: a case, or an output of SAFE v0. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from safe_gate.core.model import JsonObject
from safe_gate.importers.formats import Row
from safe_gate.importers.formats._chat import parsed

AUTO = "auto"

CHECKS = ("unverifiable_reassurance", "topic_pivot")
"""The checks of imported cases: seven of eight ordinary replies fail `agency_language`, so a team asks for that."""

_LONGEST_ID = 180  # leaves room for the number of a sample


@dataclass(frozen=True, slots=True)
class Request:
    """What is imported as what: a format or `AUTO`, paths of fields, the checks and tags of every case."""

    evaluator: str = "synthesis"
    format: str = AUTO
    mapping: Mapping[str, str] = field(default_factory=dict)
    checks: tuple[str, ...] = CHECKS
    tags: tuple[str, ...] = ()


def entry_of(row: Row, request: Request) -> JsonObject:
    """Return a row as a line of a case file, not yet validated."""
    if request.evaluator == "safe_v0":
        return {"test_id": short(row.id), "output": parsed(row.assistant), **row.extra}
    user = row.user or ""
    said = user if isinstance(user, str) else "\n\n".join(one["content"] for one in _since_a_reply(user))
    tags = tuple(dict.fromkeys((*request.tags, *row.tags)))
    return {
        "id": short(row.id) or f"user-{_digest(said)}",
        **(
            {"user": user, "assistant": row.assistant}
            if isinstance(user, str)
            else {"messages": [*user, {"role": "assistant", "content": row.assistant}]}
        ),
        "checks": list(request.checks),
        **({"tags": list(tags)} if tags else {}),
        **row.extra,
    }


def _since_a_reply(messages: Sequence[Mapping[str, str]]) -> Iterator[Mapping[str, str]]:
    """Yield the messages of the user that stand after the last reply."""
    last = max(place for place, one in enumerate(messages) if one["role"] == "assistant")
    yield from (one for one in messages[last:] if one["role"] == "user")


def short(id_: str) -> str:
    """Return an id, of a long one the beginning and a digest: a case's has at most 200 characters."""
    return id_ if len(id_) <= _LONGEST_ID else f"{id_[:150]}-{_digest(id_)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def as_line(entry: JsonObject) -> str:
    """Return an entry as a line of JSON, as UTF-8 where that can hold it."""
    text = json.dumps(entry, ensure_ascii=False)
    return text if text.isascii() or _is_utf_8(text) else json.dumps(entry)


def _is_utf_8(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can only escape
        return False
    return True
