"""lm-evaluation-harness: `samples_*.jsonl`, as `--log_samples` writes it. Repeats are samples of one prompt.

A task with several filters lists every document once per filter, with the same responses. So only the first filter's
responses are read. Earlier versions do not write the filter: there a document with the responses of an earlier one is
another filter's. Source: `lm_eval.evaluator.evaluate`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from safe_gate.addons.importers.conversations import are_messages, exchange, parsed
from safe_gate.addons.importers.fields import unused
from safe_gate.addons.importers.rows import Format, LeftOut, NotACase, Record, Refused, Row, each, id_of


def _detects(record: Record) -> bool:
    """Return whether a record is a sample."""
    return bool(record.value.keys() >= {"doc_id", "arguments", "resps"})


def _rows(records: Iterable[Record]) -> Iterator[Row | Refused | LeftOut]:
    """Yield each response of each sample."""
    return each(partial(_read, filters=[], known=set()), records)


def _read(value: dict[str, Any], filters: list[Any], known: set[bytes]) -> Iterator[Row | LeftOut]:
    filters[:] = filters[:1] or [value.get("filter")]
    is_again = value.get("filter") != filters[0]
    if "filter" not in value:
        said = json.dumps([value.get(name) for name in ("doc_id", "arguments", "resps")])
        digest = hashlib.sha256(said.encode("utf-8")).digest()[:8]
        is_again = digest in known
        known.add(digest)
    if is_again:
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
    fields = unused(value, "doc_id", "arguments", "resps", "filter")
    user, left_out = (found.user, found.left_out) if found else (asked, ())
    for reply in replies:
        yield Row(id_, user, reply, (), {}, left_out, fields)


def _first(value: Any) -> Any:
    if isinstance(value, dict):
        return next(iter(value.values()), None)
    return value[0] if isinstance(value, list) and value else None


FORMAT = Format("lm-eval", "samples of lm-evaluation-harness", _detects, _rows)
