"""Results of evaluation tools: Inspect, DeepEval and lm-evaluation-harness."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from safe_gate.addons.importers.conversations import are_messages, ended, exchange, is_message, parsed, said_in
from safe_gate.addons.importers.fields import id_at, unused
from safe_gate.addons.importers.files import MOST
from safe_gate.addons.importers.rows import (
    Asked,
    Format,
    LeftOut,
    NotACase,
    Record,
    Refused,
    Row,
    Said,
    each,
    error_of,
    id_of,
    samples,
    texts,
)

_HEADERS = ("header.json", "_journal/start.json")
_ATTACHMENT = "attachment://"


def _is_inspect(record: Record) -> bool:
    """Return whether a record is a sample of a log, or of its header."""
    value = record.value
    is_eval = record.path == ("eval",) and "task" in value
    return is_eval or _is_header(record) or {"id", "epoch", "input"} <= value.keys()


def _rows_of_inspect(records: Iterable[Record]) -> Iterator[Row | Refused | LeftOut]:
    """Yield each sample; that a log is not complete, or has no samples, is a refusal of its own."""
    statuses: list[Any] = []
    has_samples = False
    for record in records:
        if record.path == ("status",):
            statuses.append(record.value)
        elif _is_header(record):
            statuses.append(record.value.get("status"))
        elif record.path != ("eval",):
            has_samples = True
            yield from each(_of_inspect, [record])
    for status in statuses or [None]:
        is_told = isinstance(status, str)
        words = f'has the status "{status[:40]}"' if is_told else "has no header with a status, as after a killed run"
        if status != "success":
            yield Refused(f'{words}, so samples may be missing; expected "success"')
    if not has_samples:
        yield Refused("has no samples; write the log with its samples (log_samples)")


def _is_header(record: Record) -> bool:
    value = record.value
    return isinstance(value, dict) and (record.name in _HEADERS or {"status", "eval"} <= value.keys())


def _of_inspect(value: dict[str, Any]) -> Iterator[Row | Refused]:
    id_ = id_of(value.get("id"))
    error = value.get("error")
    if words := error_of(error.get("message", error) if isinstance(error, dict) else error):
        raise NotACase(f"is an error: {words}", id_)
    attached = value.get("attachments")
    attachments = attached if isinstance(attached, dict) else {}
    if sum(_added(value.get(name), attachments) for name in ("input", "output", "messages")) > MOST:
        raise NotACase(f"has attachments that expand to more than {MOST} characters", id_)
    said = _resolved(value.get("input"), attachments)
    replies = _replies(_resolved(value.get("output"), attachments))
    user, left_out = _user(said, _resolved(value.get("messages"), attachments))
    fields = unused(value, "epoch", "input", "messages", "output", "error", "attachments")
    row = Row(id_, user, None, (), {"x_epoch": value.get("epoch")}, left_out, fields)
    yield from samples(row, replies, "output.choices[0].message.content")


def _user(said: Any, messages: Any) -> tuple[Asked, tuple[str, ...]]:
    """Return what the user wrote before the last reply: the sample's input, unless other turns followed it."""
    if not isinstance(messages, list | None):
        raise NotACase("has messages that are not a list")
    asked = said if isinstance(said, str) else exchange(said).user
    if not are_messages(messages):
        return asked, ()
    found = exchange(messages)
    return asked if isinstance(asked, str) and isinstance(found.user, str) else found.user, found.left_out


def _replies(output: Any) -> list[Said]:
    if not isinstance(output, dict):
        return [Said(None)]
    choices = output.get("choices")
    if isinstance(choices, list) and choices:
        messages = [choice.get("message") if isinstance(choice, dict) else None for choice in choices]
        return [said_in([one]) if is_message(one) else Said(None) for one in messages]
    completion = output.get("completion")
    return [Said(completion if isinstance(completion, str) and completion else None)]


def _added(value: Any, attachments: dict[str, Any]) -> int:
    """Return how many characters attachments add: a few bytes may refer to one a million times."""
    if isinstance(value, str):
        text = attachments.get(value.removeprefix(_ATTACHMENT)) if value.startswith(_ATTACHMENT) else None
        return len(text) if isinstance(text, str) else 0
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(_added(one, attachments) for one in inner)


def _resolved(value: Any, attachments: dict[str, Any]) -> Any:
    """Return a value with the texts that attachments hold in place of the references to them."""
    if isinstance(value, str) and value.startswith(_ATTACHMENT):
        return attachments.get(value.removeprefix(_ATTACHMENT), value)
    if isinstance(value, list):
        return [_resolved(one, attachments) for one in value]
    if isinstance(value, dict):
        return {key: _resolved(one, attachments) for key, one in value.items()}
    return value


INSPECT = Format(
    "inspect", "an Inspect log", _is_inspect, _rows_of_inspect, paths=(("status",), ("eval",), ("samples",))
)
"""`.json` logs, or `.eval`, an archive of samples. Epochs are samples of one prompt.

Source: `inspect_ai.log.EvalLog` and `EvalSample`.
"""


_DEEPEVAL_LISTS = ("testCases", "conversationalTestCases")
_DEEPEVAL_PATHS = (
    *((one,) for one in _DEEPEVAL_LISTS),
    *(("testRunData", one) for one in _DEEPEVAL_LISTS),
    ("test_cases",),
)
_DEEPEVAL_REPLY = ("actualOutput", "actual_output")


def _is_deepeval(record: Record) -> bool:
    """Return whether a record is a test case or a golden."""
    value = record.value
    is_case = "input" in value and any(name in value for name in _DEEPEVAL_REPLY)
    return is_case or {"scenario", "turns"} <= value.keys() or are_messages(parsed(value.get("turns")))


def _rows_of_deepeval(records: Iterable[Record]) -> Iterator[Row | Refused | LeftOut]:
    """Yield each test case."""
    return each(_of_deepeval, map(_set, records))


def _set(record: Record) -> Record:
    """Return a record without the empty cells of CSV: DeepEval writes them for fields that are not set."""
    if record.shape == "json" or not isinstance(record.value, dict):
        return record
    return record._replace(value={name: one for name, one in record.value.items() if one != ""})


def _of_deepeval(value: dict[str, Any]) -> Iterator[Row]:
    id_ = id_at(value, {}) or id_of(value.get("name"))
    tags = texts(parsed(value.get("tags")))
    if value.get("turns") is not None or "scenario" in value:
        found = ended(parsed(value.get("turns")), id_)
        fields = unused(value, "turns", "name", "tags")
        yield Row(id_, found.user, found.assistant, tags, {}, found.left_out, fields)
        return
    reply = next((value[name] for name in _DEEPEVAL_REPLY if value.get(name) is not None), None)
    if not isinstance(value.get("input"), str):
        raise NotACase("has no text in input", id_)
    if reply is None:
        raise NotACase("has no reply; expected text in actual_output", id_)
    yield Row(id_, value["input"], reply, tags, fields=unused(value, "input", *_DEEPEVAL_REPLY, "name", "tags"))


DEEPEVAL = Format("deepeval", "DeepEval test cases", _is_deepeval, _rows_of_deepeval, paths=_DEEPEVAL_PATHS)
"""The file of a test run, or a data set saved as JSON, JSONL or CSV.

Source: `deepeval.test_run.TestRun` and `deepeval.dataset.EvaluationDataset.save_as`.
"""


def _is_lm_eval(record: Record) -> bool:
    """Return whether a record is a sample."""
    return bool(record.value.keys() >= {"doc_id", "arguments", "resps"})


def _rows_of_lm_eval(records: Iterable[Record]) -> Iterator[Row | Refused | LeftOut]:
    """Yield each response of each sample."""
    return each(partial(_of_lm_eval, filters=[], known=set()), records)


def _of_lm_eval(value: dict[str, Any], filters: list[Any], known: set[bytes]) -> Iterator[Row | LeftOut]:
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


LM_EVAL = Format("lm-eval", "samples of lm-evaluation-harness", _is_lm_eval, _rows_of_lm_eval)
"""`samples_*.jsonl`, as `--log_samples` writes it. Repeats are samples of one prompt.

A task with several filters lists every document once per filter, with the same responses. So only the first filter's
responses are read. Earlier versions do not write the filter: there a document with the responses of an earlier one is
another filter's. Source: `lm_eval.evaluator.evaluate`.
"""
