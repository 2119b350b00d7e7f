"""lm-evaluation-harness: `samples_*.jsonl`, as `--log_samples` writes it. Repeats are samples of one prompt.

A task with several filters lists every document once per filter, with the same responses. So only the first filter's
responses are read. Source: `lm_eval.evaluator.evaluate`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from safe_gate.importers.formats._chat import are_messages, exchange, parsed
from safe_gate.importers.formats._rows import LeftOut, NotACase, Record, Refused, Row, each, id_of

TITLE = "samples of lm-evaluation-harness"


def detects(record: Record) -> bool:
    """Return whether a record is a sample."""
    return isinstance(record.value, dict) and {"doc_id", "arguments", "resps"} <= record.value.keys()


def rows(records: Iterable[Record]) -> Iterator[Row | Refused | LeftOut]:
    """Yield each response of each sample."""
    filters: list[Any] = []
    return each(partial(_read, filters=filters), records)


def _read(value: dict[str, Any], filters: list[Any]) -> Iterator[Row | LeftOut]:
    filters[:] = filters[:1] or [value.get("filter")]
    if value.get("filter") != filters[0]:
        yield LeftOut("samples of another filter, with the same responses")
        return
    id_ = id_of(value.get("doc_id"))
    asked = _first(value.get("arguments"))
    while isinstance(asked, list | dict):
        asked = _first(asked)
    if not isinstance(asked, str):
        raise NotACase("has no prompt in arguments", id_)
    messages = parsed(asked)  # with a chat template
    responses = value.get("resps")
    replies = (
        [one for some in responses for one in (some if isinstance(some, list) else [some])]
        if isinstance(responses, list)
        else []
    )
    if not replies:
        raise NotACase("has no response in resps", id_)
    if not all(isinstance(reply, str) for reply in replies):
        raise NotACase("has likelihoods in resps; expected text, as generate_until tasks record", id_)
    found = exchange([*messages, {"role": "assistant", "content": ""}]) if are_messages(messages) else None
    for reply in replies:
        yield Row(id_, found.user, reply, (), {}, found.left_out) if found else Row(id_, asked, reply)


def _first(value: Any) -> Any:
    if isinstance(value, dict):
        return next(iter(value.values()), None)
    return value[0] if isinstance(value, list) and value else None
