"""The formats that `safe-gate import` reads: how to recognise a record of each, and how to read it. Pure.

A reader gets a record and what it has `seen` in its file, and yields the exchanges of the record. All else is the same
for all formats: errors, ids, tags, the last reply of a conversation, and the fields that are left out (`reading.py`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from safe_gate.addons.importers import promptfoo
from safe_gate.addons.importers.fields import IDS, has_fields, has_known_fields, known_sides, read_row, with_input
from safe_gate.addons.importers.files import MOST_BYTES, Record, RefusedRecord, has_value, id_text, parse_json
from safe_gate.addons.importers.messages import (
    Message,
    Messages,
    Sample,
    are_messages,
    find_reply,
    is_message,
    join_messages,
    parse_embedded_json,
    prompt_of,
    read_messages,
    read_side,
    refuse_unfinished,
    replies_of,
    unused_side_fields,
)
from safe_gate.core.jsontext import JsonError, value_at
from safe_gate.evaluators.replies import without_reasoning
from safe_gate.model import record

Value = dict[str, Any]
Seen = dict[Any, Any]
Rows = list[Record]
Outcome = Sample | RefusedRecord | str
"""The results of reading a record. A text says what it is, in the plural, if it is not meant to be a case."""

Reader = Callable[[Record, Seen], Iterable[Outcome]]


@record
class Format:
    """A format: its `name` in `--from`, its `title` in a sentence, how to recognise a record, and how to read it.

    A record of it has all of some `keys`, separated by blanks, or it `detects` the record. Lists of records are in a
    JSON document at one of `paths`, keys with blanks between. `shape` is the only shape of a file that it reads, "" for
    any. The first of the fields `ids` has the id. Of `only` records with a value in a field are read, and there are
    words for the others. A field `error` that is set is a failed call. `arrange` returns the records of a file as they
    are read, such as sorted; it sees those of all files too, or none where fields are mapped. It checks what stands
    beside the records if it `is_log`.
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
    arrange: Callable[[Rows, Rows], Rows] = lambda rows, _: rows
    is_log: bool = False

    def knows(self, record: Record) -> bool:
        """Return whether a record, an object, is of this format."""
        if self.shape not in ("", record.shape) or (record.is_header and not self.is_log):
            return False
        return any(record.value.keys() >= {*keys.split()} for keys in self.keys) or self.detects(record)


def detect_format(record: Record) -> Format | None:
    """Return the format that a record is of: one that a tool writes before rows of any kind. None if there is none."""
    formats = (*_OF_TOOLS, *_OF_ROWS) if isinstance(record.value, dict) else ()
    return next((one for one in formats if one.knows(record)), None)


def is_row(record: Record, paths: Mapping[str, str]) -> bool:
    """Return whether an object is a record, whatever lists it holds: by its fields at mapped `paths`, or its format."""
    found = detect_format(record)
    return has_fields(record.value, paths) or (found is not None and not found.is_log)


# --- conversations, rows and pairs of replies ------------------------------------------------------

_TALKS = ("messages", "conversations", "conversation", "turns")


def _is_pair(value: Value) -> bool:
    """Return whether a record holds two replies to compare."""
    return {"chosen", "rejected"} <= value.keys()


def _talk_of(value: Value, *names: str) -> Any:
    """Return the first of some fields that a record has, parsed if it is JSON text."""
    return next((parse_embedded_json(value[name]) for name in names if name in value), None)


def _read_chat(record: Record, seen: Seen) -> Iterable[Outcome]:
    """Return the exchange of a conversation, or of named fields beside which a file may have conversations."""
    value = record.value
    if _is_pair(value):
        return _read_trl(record, seen)
    name = next((name for name in _TALKS if name in value), "")
    talk = _talk_of(value, name)
    if not name or (has_known_fields(value) and not are_messages(talk)):
        return [read_row(value, {})]
    told = read_messages(talk)
    known = [_words(one.text) for one in told if one.role == "assistant"]
    for other in known_sides(value)["assistant"]:
        found = list[list[str]]()
        with suppress(RefusedRecord):
            found = [_words(one.text) for said in replies_of(value[other]) if (one := find_reply(said))]
        # An `answer` beside it may be the right one of a data set.
        if any(found) and not any(one in known for one in found) and other.lower() != "answer":
            words = f'has a reply in "{other}" that "{name}" has not'
            raise RefusedRecord(f"{words}; name both sides: --map user={name},assistant={other} or assistant={name}")
    return [Sample([], told, [name])]


def _words(text: Any) -> list[str]:
    return without_reasoning(text).split() if isinstance(text, str) else []


def _is_trl(record: Record) -> bool:
    value = record.value
    if _is_pair(value):
        return not are_messages(_talk_of(value, "conversations", "conversation"))
    has_both = {"prompt", "completion"} <= value.keys()
    return has_both and (are_messages(value["prompt"]) or isinstance(value.get("label"), bool))


def _read_trl(record: Record, _: Seen) -> Iterator[Sample | RefusedRecord]:
    """Yield each reply with what it answers. A whole conversation beside them is one more, if its reply is another."""
    value = record.value
    names = [name for name in ("prompt", "question", "query", "instruction", "input") if has_value(value.get(name))]
    is_alpaca = names == ["instruction", "input"]
    asked = names if is_alpaca else names[:1]
    prompt: Messages = []
    if asked:
        prompt = read_side(with_input(*map(value.get, asked)) if is_alpaca else value[asked[0]], "user")
    talk = next((name for name in _TALKS if are_messages(_talk_of(value, name))), "")
    told = read_messages(_talk_of(value, talk)) if talk else []
    reply = find_reply(told)
    before = join_messages(prompt, [one for one in told if one is not reply])
    used = ["completion", "chosen", "rejected", *asked, talk]
    sides, replies = [side for side in used[:3] if value.get(side) is not None], []
    for side in sides:
        try:
            said = read_side(value[side], "assistant")
        except RefusedRecord as refused:  # the other reply stays
            yield refused
            continue
        replies.append(find_reply(said))
        yield Sample(before, said, used, tags=(side,) if side != "completion" else ())
    if not sides:
        raise RefusedRecord("has no completion, chosen or rejected")
    if reply and reply.text not in [one and one.text for one in replies]:
        yield Sample(prompt, told, used)


# --- calls that a tool recorded -------------------------------------------------------------------


def _read_call(value: Value, given: str, answered: str, *used: str) -> Iterator[Sample]:
    """Yield each output of a model or an application with its input, both in any form."""
    refuse_unfinished(value)
    asked = prompt_of(value.get(given))
    for said in replies_of(value.get(answered)):
        yield Sample(asked, said, [given, answered, *used])


def _decode_cells(rows: Rows, _: Rows) -> Rows:
    """Return rows with the texts that cells of CSV hold as JSON, without its quotes if there is no comma.

    The cells of a file are plain if one is no JSON.
    """
    tables = [{} if one.fault else one.value for one in rows if one.fault or one.shape in ("csv", "tsv")]
    held = [{name: _held(cell) for name, cell in row.items()} for row in tables]
    if len(tables) < len(rows) or any(None in cells.values() for cells in held):
        return rows
    texts = ({name: one for name, one in cells.items() if isinstance(one, str)} for cells in held)
    return [one if one.fault else one._replace(value=one.value | more) for one, more in zip(rows, texts, strict=True)]


def _held(cell: str) -> Any:
    """Return the text, object or list that a cell holds as JSON, None for none."""
    for text in (cell, *[f'"{cell}"'] * ("," not in cell)):
        with suppress(JsonError):
            if text.startswith(('"', "{", "[")):
                return parse_json(text)
    return None


def _read_langfuse(record: Record, _: Seen) -> Iterable[Outcome]:
    value = record.value
    if str(value.get("level", "")).upper() == "ERROR":
        words = value.get("status_message") or value.get("statusMessage") or "unknown"
        raise RefusedRecord(f"is an error: {str(words)[:80]}")
    if value.get("output") in (None, ""):  # an output that is not set is exported as an empty text
        raise RefusedRecord("has no reply: its output is not set")
    return _read_call(value, "input", "output", "type", "level")


def _read_lm_eval(record: Record, seen: Seen) -> Iterator[Sample | str]:
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
        yield "samples of another filter, with the same responses"
        return
    asked, responses = value.get("arguments"), value.get("resps")
    while isinstance(asked, list | dict):
        asked = next(iter(asked.values() if isinstance(asked, dict) else asked), None)
    if not isinstance(asked, str):
        raise RefusedRecord("has no prompt in arguments")
    several = (some if isinstance(some, list) else [some] for some in responses) if isinstance(responses, list) else ()
    replies = [reply for some in several for reply in some]
    if not replies or not all(isinstance(reply, str) for reply in replies):
        raise RefusedRecord("has no text in resps; expected responses of a generate_until task, not likelihoods")
    used = ("doc_id", "arguments", "resps", "filter")
    for reply in replies:
        yield Sample(read_side(asked, "user"), [Message("assistant", reply)], used)


# --- OpenAI Batch ---------------------------------------------------------------------------------


def _join_batch(rows: Rows, of_all: Rows) -> Rows:
    """Return the responses of a file with their requests in `request`, and the requests that have none.

    A request that is sent again asks the same, under one id. Rows whose fields are mapped are whole.
    """
    if not of_all:
        return rows
    asked, answered, unlike = dict[str, Any](), set[str](), set[str]()
    for row in of_all:
        if not _is_request(row):
            answered.add(_batch_id(row))
        elif asked.setdefault(_batch_id(row), row.value["body"]) != row.value["body"]:
            unlike.add(_batch_id(row))
    found = []
    for row in rows:
        id_, fault = _batch_id(row), row.fault
        if isinstance(row.value, dict) and not id_:
            fault = "has no custom_id"
        elif id_ in unlike:
            fault = "has a custom_id of requests that differ; give each its own, or import each batch by itself"
        elif _is_request(row) and id_ in answered:
            continue
        elif _is_request(row):
            fault = "has no response in these files; name the file of responses too"
        joined = {**row.value, "request": asked.get(id_)} if isinstance(row.value, dict) else row.value
        found.append(row._replace(value=joined, fault=fault))
    return found


def _is_request(row: Record) -> bool:
    return isinstance(row.value, dict) and "body" in row.value


def _batch_id(row: Record) -> str:
    with suppress(RefusedRecord):
        return id_text(row.value.get("custom_id")) if isinstance(row.value, dict) else ""
    return ""


def _read_batch(record: Record, _: Seen) -> Iterator[Sample]:
    """Yield each reply of a response to its request."""
    response, body = record.value.get("response"), record.value["request"]
    if not isinstance(response, dict) or response.get("status_code") != 200:
        why = f"status {response.get('status_code')}" if isinstance(response, dict) else "no response"
        raise RefusedRecord(f"is an error: {why}")
    if not isinstance(body, dict):
        raise RefusedRecord("answers no request of these files; name the file of requests too")
    name = next((name for name in ("messages", "input", "prompt") if name in body), "")
    asked = read_side(body.get(name), "user")
    if find_reply(asked):
        raise RefusedRecord("has a request that ends with a reply; expected a message of the user")
    for said in replies_of(response.get("body")):
        yield Sample([*unused_side_fields(body, "request", [name]), *asked], said, ["request", "response"])


# --- Inspect --------------------------------------------------------------------------------------

_ATTACHMENT = "attachment://"


def _read_inspect(record: Record, _: Seen) -> Iterator[Sample]:
    """Yield each choice of a sample; its messages, if they go on after it. Epochs are samples of one prompt."""
    value = record.value
    refuse_unfinished(value)
    attached, room = value.get("attachments"), [MOST_BYTES]
    attachments = attached if isinstance(attached, dict) else {}
    given, output, messages = (
        _resolve_attachments(value.get(name), attachments, room) for name in ("input", "output", "messages")
    )
    asked = [Message("user", given)] if isinstance(given, str) else read_side(given, "user")
    whole = read_messages(messages) if messages else []
    keys = [one.get("id") or one for one in messages] if isinstance(messages, list) else []
    reply = find_reply(whole) or find_reply([one for one in whole if not one.is_empty])  # an agent submits by a tool
    told = [one for one in whole if one is not reply]
    if any(one.role == "assistant" and not one.is_empty for one in (*asked, *told)):  # other turns follow the input
        asked = told or asked
    else:
        asked = [*(one for one in told if one.role != "user"), *asked]
    fields = output if isinstance(output, dict) else {}
    completion = fields.get("completion") or None  # also the answer that an agent submitted
    if completion is None:  # the text beside an error is what a person saw, as of a moderated reply
        refuse_unfinished(fields)
    choices = fields.get("choices") or [{"message": {"role": "assistant", "content": completion}}]
    for index, choice in enumerate(choices if isinstance(choices, list) else [choices]):
        held = choice if isinstance(choice, dict) else {}
        message: Any = held.get("message") if is_message(held.get("message")) else {}
        said = read_messages(message) if message else []
        if said and said[0].is_empty and not index and isinstance(completion, str):
            said = [said[0]._replace(text=completion, is_empty=not completion.strip())]
        is_told = index or (said and said[0].text == completion)
        aside = unused_side_fields(fields, "output", ("choices", "completion" if is_told else ""))
        aside += unused_side_fields(held, "output", ("message",))
        key = message.get("id") or message
        later = whole[keys.index(key) + 1 :] if key in keys else ()
        is_old = any(one.role == "user" or (one.role == "assistant" and not one.is_empty) for one in later)
        before, after = ([], [*aside, *whole]) if is_old else ([*aside, *asked], said)
        used = ("epoch", "input", "messages", "output", "attachments")
        yield Sample(before, after, used, extra={"x_epoch": value.get("epoch")})


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


def _check_log(rows: Rows, _: Rows) -> Rows:
    """Return the samples of a log, and what is wrong with it as a whole."""
    samples = [one for one in rows if not isinstance(one.value, dict) or "input" in one.value]
    number = sum(one.value is not None for one in samples)
    header: Value = next((one.value for one in rows if isinstance(one.value, dict) and "input" not in one.value), {})
    status, total, faults = header.get("status"), value_at(header, "results", "total_samples"), []
    if status != "success":
        words = "has no header with a status, as after a killed run"
        words = f'has the status "{status[:40]}"' if isinstance(status, str) else words
        faults.append(f'{words}, so samples may be missing; expected "success"')
    elif isinstance(total, int) and total > number > 0:
        faults.append(f"has {number} of {total} samples, as results.total_samples says; import the whole log")
    if not number:
        faults.append("has no samples; write the log with its samples (log_samples)")
    return [*samples, *(Record(0, None, fault=one) for one in faults)]


# --- all formats ----------------------------------------------------------------------------------


_OF_TOOLS = (
    # The file of a test run, or a data set saved as JSON, JSONL or CSV. Source: `deepeval.test_run.TestRun` and
    # `deepeval.dataset.EvaluationDataset.save_as`.
    Format(
        "deepeval",
        "DeepEval test cases",
        _read_chat,
        keys=("input actualOutput", "input actual_output", "scenario turns"),
        detects=lambda record: are_messages(_talk_of(record.value, "turns")),
        paths=(
            "test_cases",
            *(more + name for more in ("", "testRunData ") for name in ("testCases", "conversationalTestCases")),
        ),
        ids=(*IDS, "name"),
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
        error="",
        arrange=_check_log,
        is_log=True,
    ),
    # Observations and traces, as exported (JSON, JSONL or CSV) or as pages of the API. In CSV, versions before July
    # 2026 write each text as JSON. In the oldest, one without a comma loses its quotes (`transformStreamToCsv`).
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
        arrange=_decode_cells,
        only=("type", "GENERATION", "observations that are not generations"),
    ),
    # Runs of a model, and examples of a data set. The chains and tools around runs of type `llm` repeat their texts.
    Format(
        "langsmith",
        "a LangSmith export",
        lambda record, _: _read_call(record.value, "inputs", "outputs", "run_type"),
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
        arrange=_join_batch,
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
        arrange=lambda rows, _: sorted(rows, key=promptfoo.place),
    ),
    # Objects with `conversations` of `from` and `value`.
    Format(
        "sharegpt",
        "ShareGPT conversations",
        _read_chat,
        detects=lambda record: are_messages(_talk_of(record.value, "conversations", "conversation")),
    ),
    # `prompt` with `completion`, or with `chosen` and `rejected`, which are two samples. Each is text or messages.
    # Other tools write the same with the conversation up to the replies in `messages` or `conversations`, or the prompt
    # under another name. Source: the dataset formats of TRL's documentation, and LLaMA-Factory's.
    Format("trl", "a TRL data set", _read_trl, detects=_is_trl),
)

_OF_ROWS = tuple(
    Format(name, title, _read_chat, shape=name, detects=lambda record: has_known_fields(record.value), paths=paths)
    for name, title, paths in (
        ("csv", "CSV", ()),
        ("jsonl", "JSON objects with named fields", ("data", "examples", "rows")),
        ("parquet", "Parquet", ()),
        ("tsv", "TSV", ()),
    )
)

FORMATS: Mapping[str, Format] = {one.name: one for one in sorted((*_OF_TOOLS, *_OF_ROWS), key=lambda one: one.name)}
"""All formats by name, in the order of the names."""

AUTO = "auto"
CHOICES = (AUTO, *FORMATS)
"""What may be asked for."""

PATHS = tuple(dict.fromkeys(tuple(path.split()) for one in FORMATS.values() for path in one.paths))
"""The keys that lead to the records of any format in a JSON document."""
