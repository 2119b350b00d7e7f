"""The formats that `safe-gate import` reads: how to recognise a record of each, and how to read it. Pure.

A reader gets a record and what it has `seen` in its file, and yields the exchanges of the record. All else is the same
for all formats: errors, ids, tags, the last reply of a conversation, and the fields that are left out (`reading.py`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from safe_gate.addons.importers import promptfoo
from safe_gate.addons.importers.fields import IDS, KEPT, has_known_fields, read_row
from safe_gate.addons.importers.files import parse_json
from safe_gate.addons.importers.messages import (
    are_messages,
    content_text,
    is_message,
    join_messages,
    last_exchange,
    last_reply_text,
    messages_or_value,
    parse_embedded_json,
    prompt_of_input,
    replies_of_output,
    unused_side_fields,
)
from safe_gate.addons.importers.records import (
    MOST_BYTES,
    LeftOut,
    Record,
    RefusedRecord,
    Row,
    Sample,
    has_value,
    id_text,
)

Value = dict[str, Any]
Outcome = Row | RefusedRecord | LeftOut
"""The results of reading a record."""

Seen = dict[Any, Any]
Reader = Callable[[Record, Seen], Iterable[Sample | Outcome]]


@dataclass(frozen=True, slots=True)
class Format:
    """A format: its `name` in `--from`, its `title` in a sentence, how to recognise a record, and how to read it.

    A record of it has all of some `keys`, separated by blanks, or it `detects` the record. Lists of records are in a
    JSON document at one of `paths`, keys with blanks between. `shape` is the only shape of a file that it reads, "" for
    any. The first of the fields `ids` has the id. Of `only` records with a value in a field are read, and there are
    words for the others. A field `error` that is set is a failed call. `reply` says where a reply is expected. What
    stands beside the records is read if it `has_header`; `ending` yields what is wrong with the file as a whole. If it
    `joins`, a row may hold one half of an exchange, with the other half under the same id elsewhere.
    """

    name: str
    title: str
    read: Reader
    keys: tuple[str, ...] = ()
    detects: Callable[[Record], bool] = lambda _: False
    paths: tuple[str, ...] = ()
    shape: str = ""
    ids: tuple[str, ...] = IDS
    only: tuple[str, str, str] | None = None
    error: str = "error"
    reply: str = "text or a message in its output"
    has_header: bool = False
    ending: Callable[[Seen], Iterable[RefusedRecord]] = lambda _: ()
    joins: bool = False

    def knows(self, record: Record) -> bool:
        """Return whether a record, an object, is of this format."""
        if self.shape not in ("", record.shape) or (record.is_header and not self.has_header):
            return False
        return any(record.value.keys() >= {*keys.split()} for keys in self.keys) or self.detects(record)


def detect_format(record: Record) -> Format | None:
    """Return the format that a record is of: one that a tool writes before rows of any kind. None if there is none."""
    formats = (*_OF_TOOLS, *_OF_ROWS) if isinstance(record.value, dict) else ()
    return next((one for one in formats if one.knows(record)), None)


def is_row(record: Record) -> bool:
    """Return whether an object is a record itself, whatever lists it holds."""
    found = detect_format(record)
    return found is not None and not found.has_header


def row_format(shape: str) -> Format:
    """Return the format of rows with named fields in a shape of a file, whatever their names."""
    return next(one for one in _OF_ROWS if one.shape == shape)


# --- conversations, rows and pairs of replies ------------------------------------------------------

_REPLY_SIDES = ("completion", "chosen", "rejected")
_TALKS = ("messages", "conversations", "conversation", "turns")


def _is_pair(value: Value) -> bool:
    """Return whether a record holds two replies to compare."""
    return {"chosen", "rejected"} <= value.keys()


def _messages_of(value: Value, *names: str) -> Any:
    return next((parse_embedded_json(value[name]) for name in names if name in value), None)


def _read_chat(record: Record, seen: Seen) -> Iterable[Sample]:
    """Return the exchange of a conversation, or of named fields beside which a file may have conversations."""
    value = record.value
    if _is_pair(value):
        return _read_trl(record, seen)
    name = next((name for name in _TALKS if name in value), "")
    if not name or (has_known_fields(value) and not are_messages(parse_embedded_json(value[name]))):
        return [read_row(value)]
    # Our own case stays a conversation, because its labels, marks and turns refer to its messages.
    messages = parse_embedded_json(value[name])
    labelled = (one for one in messages if isinstance(one, dict)) if isinstance(messages, list) else ()
    is_ours = any(key in KEPT or key[:2] == "x_" for key in value) or any("expected" in one for one in labelled)
    return [Sample([], messages, [name], whole=is_ours and name == "messages")]


def _is_trl(record: Record) -> bool:
    value = record.value
    if _is_pair(value):
        return not are_messages(_messages_of(value, "conversations", "conversation"))
    has_both = {"prompt", "completion"} <= value.keys()
    return has_both and (are_messages(value["prompt"]) or isinstance(value.get("label"), bool))


def _read_trl(record: Record, _: Seen) -> Iterator[Sample]:
    """Yield each reply with what it answers. A whole conversation beside them is one more, if its reply is another."""
    value = record.value
    asked = [name for name in ("prompt", "question", "query", "instruction", "input") if has_value(value.get(name))]
    is_in_two = asked == ["instruction", "input"] and all(isinstance(value[name], str) for name in asked)
    asked = asked if is_in_two else asked[:1]
    prompt = (
        "\n\n".join(value[one] for one in asked) if is_in_two else messages_or_value(value[asked[0]]) if asked else []
    )
    talk = next((name for name in _TALKS if are_messages(_messages_of(value, name))), "")
    told = _messages_of(value, talk) if talk else []
    sides = {side: messages_or_value(value[side]) for side in _REPLY_SIDES if value.get(side) is not None}
    if not sides:
        raise RefusedRecord("has no completion, chosen or rejected")
    used, before, whole = [*_REPLY_SIDES, *asked, talk], prompt, list[Any]()
    if talk:
        start = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
        is_whole = last_exchange(told).assistant is not None
        before, whole = join_messages(start, told[:-1] if is_whole else told), told if is_whole else []
    for side, reply in sides.items():
        yield Sample(before, reply, used, tags=(side,) if side in ("chosen", "rejected") else ())
    said = [last_reply_text(one).text if are_messages(one) else content_text(one).text for one in sides.values()]
    if whole and last_reply_text(whole).text not in said:
        yield Sample(prompt, whole, used)


# --- calls that a tool recorded -------------------------------------------------------------------


def _call_reader(given: str, answered: str, *used: str) -> Reader:
    """Return a reader of the input and the output of a model or an application, in any form."""

    def read(record: Record, seen: Seen) -> Iterator[Sample]:
        value = record.value if record.shape == "json" else _decode_cells(record.value, seen)
        asked, left_out = prompt_of_input(value.get(given))
        for messages, more in replies_of_output(value.get(answered)):
            yield Sample(asked, messages, [given, answered, *used], (*left_out, *more))

    return read


_CONTROL = re.compile(r"[\x00-\x1f]")


def _decode_cells(value: Value, seen: Seen) -> Value:
    """Return a row of CSV with the texts that its cells hold as JSON.

    A cell may be JSON without its quotes until a cell has what JSON escapes, or a comma outside of JSON.
    """
    cells = {name: (one, _json(one)) for name, one in value.items() if isinstance(one, str)}
    is_plain = any(_CONTROL.search(one) or ("," in one and held is None) for one, held in cells.values())
    seen["is_plain"] = seen.get("is_plain", False) or is_plain
    bare = {} if seen["is_plain"] else {name: _json(f'"{one}"') for name, (one, held) in cells.items() if held is None}
    found = {name: held for name, (_, held) in cells.items()} | bare
    return value | {name: one for name, one in found.items() if isinstance(one, str)}


def _json(text: str) -> Any:
    """Return the text, object or list that a text holds as JSON, None for none."""
    try:
        return parse_json(text) if text.startswith(('"', "{", "[")) else None
    except (ValueError, RecursionError):
        return None


def _read_langfuse(record: Record, seen: Seen) -> Iterable[Sample | Outcome]:
    value = record.value
    if str(value.get("level", "")).upper() == "ERROR":
        words = value.get("status_message") or value.get("statusMessage") or "unknown"
        raise RefusedRecord(f"is an error: {str(words)[:80]}")
    if value.get("output") in (None, ""):  # an output that is not set is exported as an empty text
        raise RefusedRecord("has no reply: its output is not set")
    return _call_reader("input", "output", "type", "level")(record, seen)


def _read_deepeval(record: Record, seen: Seen) -> Iterable[Sample]:
    value = record.value
    if has_value(value.get("turns")) or "scenario" in value:
        return [one._replace(used=[*one.used, "name"]) for one in _read_chat(record, seen)]
    if not isinstance(value.get("input"), str):
        raise RefusedRecord("has no text in input")
    unset = (None,) if record.shape == "json" else (None, "")  # in CSV, an empty cell
    names = ("actualOutput", "actual_output")
    reply = next((value[one] for one in names if value.get(one) not in unset), None)
    return [Sample(value["input"], reply, ["input", *names, "name"])]


def _read_lm_eval(record: Record, seen: Seen) -> Iterator[Sample | LeftOut]:
    """Yield each response. A task with several filters lists every document once per filter, with the same responses.

    Earlier versions do not write the filter: there a document with the responses of an earlier one is another filter's.
    """
    value = record.value
    is_again = value.get("filter") != seen.setdefault("filter", value.get("filter"))
    if "filter" not in value:
        said = json.dumps([value.get(name) for name in ("doc_id", "arguments", "resps")])
        digest = hashlib.sha256(said.encode("utf-8")).digest()[:8]
        is_again = digest in seen
        seen[digest] = True
    if is_again:
        yield LeftOut("samples of another filter, with the same responses")
        return
    asked = given if isinstance(given := value.get("arguments"), list | dict) else None
    while isinstance(asked, list | dict):
        asked = next(iter(asked.values() if isinstance(asked, dict) else asked), None)
    if not isinstance(asked, str):
        raise RefusedRecord("has no prompt in arguments")
    responses = value.get("resps")
    several = (some if isinstance(some, list) else [some] for some in responses) if isinstance(responses, list) else ()
    replies = [reply for some in several for reply in some]
    if not replies:
        raise RefusedRecord("has no response in resps")
    if not all(isinstance(reply, str) for reply in replies):
        raise RefusedRecord("has likelihoods in resps; expected text, as generate_until tasks record")
    for reply in replies:
        yield Sample(messages_or_value(asked), reply, ["doc_id", "arguments", "resps", "filter"])


# --- OpenAI Batch ---------------------------------------------------------------------------------


def _read_batch(record: Record, _: Seen) -> Iterator[Row | RefusedRecord]:
    value = record.value
    if not id_text(value.get("custom_id")):
        raise RefusedRecord("has no custom_id")
    if "body" in value:
        yield _request(value["body"] if isinstance(value["body"], dict) else {})
        return
    response = value.get("response")
    if not isinstance(response, dict) or response.get("status_code") != 200:
        why = f"status {response.get('status_code')}" if isinstance(response, dict) else "no response"
        raise RefusedRecord(f"is an error: {why}")
    for messages, left_out in replies_of_output(response.get("body")):
        text, more = last_reply_text(messages)
        words = "has no reply; expected text in choices[0].message.content"
        yield Row(None, text, (*left_out, *more)) if text is not None else RefusedRecord(words)


def _request(body: Value) -> Row:
    name = next((name for name in ("messages", "input", "prompt") if name in body), "")
    left_out = unused_side_fields(body, "request", name)
    if isinstance(asked := body.get(name), str):
        return Row(asked, None, left_out)
    found = last_exchange(asked)
    if found.assistant is not None:
        raise RefusedRecord("has a request that ends with a reply; expected a message of the user")
    return Row(found.user, None, (*left_out, *found.left_out))


# --- Inspect --------------------------------------------------------------------------------------

_ATTACHMENT = "attachment://"


def _read_inspect(record: Record, seen: Seen) -> Iterator[Sample]:
    """Yield each choice of a sample. Epochs are samples of one prompt."""
    value = record.value
    if record.is_header or "input" not in value:
        seen["status"] = value.get("status")
        return
    seen["has_samples"] = True
    attached, room = value.get("attachments"), [MOST_BYTES]
    attachments = attached if isinstance(attached, dict) else {}
    said, output, messages = (
        _resolve_attachments(value.get(name), attachments, room) for name in ("input", "output", "messages")
    )
    if not isinstance(messages, list | None):
        raise RefusedRecord("has messages that are not a list")
    asked = said if isinstance(said, str) else last_exchange(said).user
    found = last_exchange(messages) if are_messages(messages) else None
    if found and not (isinstance(asked, str) and isinstance(found.user, str)):  # other turns follow the input
        asked = found.user
    left_out = found.left_out if found else ()
    used = ("epoch", "input", "messages", "output", "attachments")
    for answer in _choices(output):
        prompt = asked if isinstance(asked, str) else list(asked)
        yield Sample(prompt, answer, used, left_out, extra={"x_epoch": value.get("epoch")})


def _choices(output: Any) -> list[Any]:
    """Return each reply in the output of a sample, at least one."""
    fields = output if isinstance(output, dict) else {}
    choices, completion = fields.get("choices"), fields.get("completion")
    if isinstance(choices, list) and choices:
        messages = (one.get("message") if isinstance(one, dict) else None for one in choices)
        return [[one] if is_message(one) else None for one in messages]
    return [completion if isinstance(completion, str) and completion else None]


def _resolve_attachments(value: Any, attachments: Value, room: list[int]) -> Any:
    """Return a value with the texts of attachments in place of references, of which a few bytes may hold a million."""
    if isinstance(value, str) and value.startswith(_ATTACHMENT):
        text = attachments.get(value.removeprefix(_ATTACHMENT), value)
        room[0] -= len(text) if isinstance(text, str) else 0
        if room[0] < 0:
            raise RefusedRecord(f"has attachments that expand to more than {MOST_BYTES} characters")
        return text
    if isinstance(value, list):
        return [_resolve_attachments(one, attachments, room) for one in value]
    if isinstance(value, dict):
        return {key: _resolve_attachments(one, attachments, room) for key, one in value.items()}
    return value


def _inspect_ending(seen: Seen) -> Iterator[RefusedRecord]:
    status, words = seen.get("status"), "has no header with a status, as after a killed run"
    if isinstance(status, str):
        words = f'has the status "{status[:40]}"'
    if status != "success":
        yield RefusedRecord(f'{words}, so samples may be missing; expected "success"')
    if "has_samples" not in seen:
        yield RefusedRecord("has no samples; write the log with its samples (log_samples)")


# --- all formats ----------------------------------------------------------------------------------


_OF_TOOLS = (
    # The file of a test run, or a data set saved as JSON, JSONL or CSV. Source: `deepeval.test_run.TestRun` and
    # `deepeval.dataset.EvaluationDataset.save_as`.
    Format(
        "deepeval",
        "DeepEval test cases",
        _read_deepeval,
        keys=("input actualOutput", "input actual_output", "scenario turns"),
        detects=lambda record: are_messages(_messages_of(record.value, "turns")),
        paths=(
            "test_cases",
            *(more + name for more in ("", "testRunData ") for name in ("testCases", "conversationalTestCases")),
        ),
        ids=(*IDS, "name"),
        reply="text in actual_output",
    ),
    # `.json` logs, or `.eval`, an archive of samples. Source: `inspect_ai.log.EvalLog` and `EvalSample`.
    Format(
        "inspect",
        "an Inspect log",
        _read_inspect,
        keys=("status eval", "id epoch input"),
        detects=lambda record: record.is_header and bool(record.name),
        paths=("samples",),
        ids=("id",),
        reply="output.choices[0].message.content",
        has_header=True,
        ending=_inspect_ending,
    ),
    # Observations and traces, as exported (JSON, JSONL or CSV) or as pages of the API. In CSV, versions before July
    # 2026 write each text as JSON, and one without a comma loses its quotes (`transformStreamToCsv`).
    Format(
        "langfuse",
        "a Langfuse export",
        _read_langfuse,
        keys=(
            "input output timestamp userId release",
            *(f"type input output {mark}" for mark in ("trace_id", "trace_name", "start_time")),
            *(f"type input output {mark}" for mark in ("traceId", "traceName", "startTime")),
        ),
        paths=("data",),
        only=("type", "GENERATION", "observations that are not generations"),
    ),
    # Runs of a model, and examples of a data set. The chains and tools around runs of type `llm` repeat their texts.
    Format(
        "langsmith",
        "a LangSmith export",
        _call_reader("inputs", "outputs", "run_type"),
        keys=("inputs outputs",),
        only=("run_type", "llm", "runs that are not of type llm"),
    ),
    # `samples_*.jsonl`, as `--log_samples` writes it. Repeats are samples of one prompt. Source:
    # `lm_eval.evaluator.evaluate`.
    Format(
        "lm-eval", "samples of lm-evaluation-harness", _read_lm_eval, keys=("doc_id arguments resps",), ids=("doc_id",)
    ),
    # Objects with `messages`, as for fine-tuning. Records beside them may have named fields, as our cases.
    Format(
        "messages",
        "OpenAI chat messages",
        _read_chat,
        detects=lambda record: are_messages(record.value.get("messages")) and not _is_pair(record.value),
    ),
    # The file of requests and the file of responses, joined by `custom_id`.
    Format(
        "openai-batch",
        "OpenAI Batch requests and responses",
        _read_batch,
        keys=("custom_id body", "custom_id response", "custom_id error"),
        ids=("custom_id",),
        joins=True,
    ),
    Format(
        "promptfoo",
        "promptfoo results",
        promptfoo.read,
        keys=("prompt vars success",),
        detects=promptfoo.is_row,
        paths=("results results",),
        ids=(),
        error="",
        reply="response.output",
    ),
    # Objects with `conversations` of `from` and `value`.
    Format(
        "sharegpt",
        "ShareGPT conversations",
        _read_chat,
        detects=lambda record: are_messages(_messages_of(record.value, "conversations", "conversation")),
    ),
    # `prompt` with `completion`, or with `chosen` and `rejected`, which are two samples. Each is text or messages.
    # Other tools write the same with the conversation up to the replies in `messages` or `conversations`, or the prompt
    # under another name. Source: the dataset formats of TRL's documentation, and LLaMA-Factory's.
    Format("trl", "a TRL data set", _read_trl, detects=_is_trl),
)

_OF_ROWS = tuple(
    Format(name, title, _read_chat, shape=shape, detects=lambda record: has_known_fields(record.value), paths=paths)
    for name, title, shape, paths in (
        ("csv", "CSV", "commas", ()),
        ("jsonl", "JSON objects with named fields", "json", ("data", "examples", "rows")),
        ("parquet", "Parquet", "columns", ()),
        ("tsv", "TSV", "tabs", ()),
    )
)

FORMATS: Mapping[str, Format] = {one.name: one for one in sorted((*_OF_TOOLS, *_OF_ROWS), key=lambda one: one.name)}
"""All formats by name, in the order of the names."""

PATHS = tuple(dict.fromkeys(tuple(path.split()) for one in FORMATS.values() for path in one.paths))
"""The keys that lead to the records of any format in a JSON document."""
