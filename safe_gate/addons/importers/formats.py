"""The formats that `safe-gate import` reads: each says how to recognise and how to read its records. Pure.

A reader gets the value of a record and yields its rows; `each` adds the record and its id.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from safe_gate.addons.importers import promptfoo
from safe_gate.addons.importers.conversations import (
    are_messages,
    are_parts,
    beside,
    continued,
    ended,
    exchange,
    is_message,
    parsed,
    recorded,
    replies_of,
    said_in,
)
from safe_gate.addons.importers.fields import each, id_at, is_known, row, rows, tags_at, unused
from safe_gate.addons.importers.files import MOST, value_of
from safe_gate.addons.importers.rows import (
    Asked,
    Found,
    LeftOut,
    Record,
    Refused,
    Row,
    Said,
    error_of,
    id_of,
    is_set,
    samples,
    texts,
)
from safe_gate.core.text.patterns import later
from safe_gate.evaluators import EVALUATORS

Value = dict[str, Any]
Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Format:
    """A format: its `name` in `--from`, its `title` in a sentence, how to recognise a record, and how to read all.

    `paths` are the keys that lead to its records in a JSON document, and `shape` is the only shape of a file that it
    reads, "" for any. If it `joins`, a row may hold one half of an exchange, with the other half under the same id
    elsewhere.
    """

    name: str
    title: str
    detects: Callable[[Record], bool]
    rows: Callable[[Iterable[Record]], Iterator[Found]]
    paths: tuple[Path, ...] = ()
    shape: str = ""
    joins: bool = False


def detected(record: Record) -> Format | None:
    """Return the format that a record is of: one that a tool writes before rows of any kind. None if there is none."""
    if not isinstance(record.value, dict):
        return None
    known = (*_OF_TOOLS, *_OF_ROWS)
    return next((one for one in known if one.shape in ("", record.shape) and one.detects(record)), None)


def of_rows(shape: str) -> Format:
    """Return the format of rows with named fields in a shape of a file, whatever their names."""
    of_json = {"lines": "json", "document": "json", "archive": "json"}
    return next(one for one in _OF_ROWS if one.shape == of_json.get(shape, shape))


# --- pairs of replies -----------------------------------------------------------------------------

_SIDES = ("completion", "chosen", "rejected")
_TALKS = ("messages", "conversations", "conversation")
_PROMPTS = ("prompt", "question", "query", "instruction", "input")


def _is_pair(value: Value) -> bool:
    """Return whether a record holds two replies to compare."""
    return {"chosen", "rejected"} <= value.keys()


def _is_trl(value: Value) -> bool:
    if _is_pair(value):
        return not are_messages(_turns(value))
    return {"prompt", "completion"} <= value.keys() and (
        are_messages(value["prompt"]) or isinstance(value.get("label"), bool)
    )


def _trl(value: Value) -> Iterator[Row]:
    """Yield each reply with what it answers. A whole conversation beside them is one more, if its reply is another."""
    asked = [name for name in _PROMPTS if is_set(value.get(name))]
    is_in_two = asked == ["instruction", "input"] and all(isinstance(value[name], str) for name in asked)
    asked = asked if is_in_two else asked[:1]
    prompt = (
        _messages("\n\n".join(value[one] for one in asked) if is_in_two else value[asked[0]], "user") if asked else []
    )
    talk = next((name for name in _TALKS if are_messages(parsed(value.get(name)))), "")
    told, whole = parsed(value[talk]) if talk else [], None
    if talk and is_message(told[-1]) and (ending := exchange(told)).assistant is not None:
        whole = ended(continued(prompt, told))
        told = _messages(ending.user if isinstance(ending.user, str) else list(ending.user), "user")
    before = continued(prompt, told)
    found = {
        side: ended(continued(before, _messages(value[side], "assistant")))
        for side in _SIDES
        if value.get(side) is not None
    }
    if not found:
        raise Refused("has no completion, chosen or rejected")
    if whole and all(whole[:2] != one[:2] for one in found.values()):
        found[""] = whole
    tags, fields = tags_at(value), unused(value, *_SIDES, *asked, talk, "tags")
    for side, one in found.items():
        own = (side,) if side in ("chosen", "rejected") else ()
        yield Row(one.user, one.assistant, one.left_out, fields, (*own, *tags))


def _messages(value: Any, role: str) -> list[Any]:
    """Return a side of an exchange as messages: it may be text, a message, messages or the parts of a text."""
    inner = parsed(value)
    if are_messages(inner):
        return list(inner)
    if is_message(inner):
        return [inner]
    if isinstance(value, str) or are_parts(value):
        return [{"role": role, "content": value}]
    raise Refused("has a side that is neither text nor messages; expected text or a list of messages")


# --- conversations --------------------------------------------------------------------------------

_KEPT = frozenset(name for one in EVALUATORS.values() if one.imports for name in one.imports.keeps)


def _turns(value: Value) -> Any:
    return value.get("conversations", value.get("conversation"))


def _sharegpt(value: Value) -> Iterator[Row]:
    if _is_pair(value):
        yield from _trl(value)
        return
    found, fields = ended(_turns(value)), unused(value, "conversations", "conversation", "tags")
    yield Row(found.user, found.assistant, found.left_out, fields, tags_at(value))


def _chat(value: Value) -> Iterator[Row]:
    if _is_pair(value):
        yield from _trl(value)
        return
    if "messages" not in value or (is_known(value) and not are_messages(value["messages"])):
        yield row(value)
        return
    fields, messages = unused(value, "messages", "tags"), value.get("messages")
    # Our own case stays a conversation, because its labels, marks and turns refer to its messages.
    labelled = (one for one in messages if isinstance(one, dict)) if isinstance(messages, list) else ()
    is_ours = any(name in _KEPT or name[:2] == "x_" for name in fields) or any("expected" in one for one in labelled)
    found = ended(messages, whole=is_ours)
    if found.labels is not None:
        if "expected" in fields:
            raise Refused("has labels of the last message twice; keep one")
        fields["expected"] = found.labels
    yield Row(found.user, found.assistant, found.left_out, fields, texts(value.get("tags")))


# --- OpenAI Batch ---------------------------------------------------------------------------------

_OK = 200


def _custom_id(value: Value) -> str:
    if not (found := id_of(value.get("custom_id"))):
        raise Refused("has no custom_id")
    return found


def _batch(value: Value) -> Iterator[Found]:
    if "body" in value:
        yield _request(value["body"] if isinstance(value["body"], dict) else {})
        return
    response, error = value.get("response"), value.get("error")
    if error or not isinstance(response, dict) or response.get("status_code") != _OK:
        why = f"status {response.get('status_code')}" if isinstance(response, dict) else "no response"
        if isinstance(error, dict):
            why = str(error.get("message") or error.get("code") or "unknown")[:80]
        raise Refused(f"is an error: {why}")
    for messages, left_out in replies_of(response.get("body")):
        yield from samples(Row(None, None, left_out), [said_in(messages)], "text in choices[0].message.content")


def _request(body: Value) -> Row:
    name = next((name for name in ("messages", "input", "prompt") if name in body), "")
    others = beside(body, "request", name)
    if isinstance(asked := body.get(name), str):
        return Row(asked, None, others)
    found = exchange(asked)
    if found.assistant is not None:
        raise Refused("has a request that ends with a reply; expected a message of the user")
    return Row(found.user, None, (*others, *found.left_out))


# --- exports of what an application did -----------------------------------------------------------

_TRACE = frozenset(("input", "output", "timestamp", "userId", "release"))
_CONTROL = later(r"[\x00-\x1f]")
_MARKS = {"trace_id", "traceId", "trace_name", "traceName", "start_time", "startTime"}


def _langfuse(value: Value) -> Iterator[Found]:
    if value.get("type", "GENERATION") != "GENERATION":
        yield LeftOut("observations that are not generations")
        return
    if str(value.get("level", "")).upper() == "ERROR":
        words = value.get("status_message") or value.get("statusMessage") or "unknown"
        raise Refused(f"is an error: {str(words)[:80]}")
    if value.get("output") in (None, ""):
        raise Refused("has no reply: its output is not set")
    fields = unused(value, "type", "level", "input", "output", "tags")
    yield from recorded(value.get("input"), value["output"], texts(parsed(value.get("tags"))), fields)


def _decoded(records: Iterable[Record]) -> Iterator[Record]:
    """Yield records, those of CSV with the texts that their cells hold as JSON.

    A cell may be JSON without its quotes until a cell has what JSON escapes, or a comma outside of JSON.
    """
    is_bare = True
    for record in records:
        if record.shape == "json" or not isinstance(record.value, dict):
            yield record
            continue
        cells = {name: (one, _json(one)) for name, one in record.value.items() if isinstance(one, str)}
        is_bare &= not any(_CONTROL.search(one) or ("," in one and held is None) for one, held in cells.values())
        found = {name: _json(f'"{one}"') if is_bare and held is None else held for name, (one, held) in cells.items()}
        yield record._replace(value=record.value | {name: one for name, one in found.items() if isinstance(one, str)})


def _json(text: str) -> Any:
    """Return the text, object or list that a text holds as JSON, None for none."""
    if not text.startswith(('"', "{", "[")):
        return None
    try:
        return value_of(text)
    except (ValueError, RecursionError):
        return None


def _langsmith(value: Value) -> Iterator[Found]:
    if value.get("run_type", "llm") != "llm":
        yield LeftOut("runs that are not of type llm")
        return
    if error := error_of(value.get("error")):
        raise Refused(f"is an error: {error}")
    fields = unused(value, "run_type", "error", "inputs", "outputs", "tags")
    yield from recorded(value.get("inputs"), value.get("outputs"), texts(value.get("tags")), fields)


# --- Inspect --------------------------------------------------------------------------------------

_ATTACHMENT = "attachment://"


def _is_header(record: Record) -> bool:
    value, is_named = record.value, record.name in ("header.json", "_journal/start.json")
    return isinstance(value, dict) and (is_named or {"status", "eval"} <= value.keys())


def _is_inspect(record: Record) -> bool:
    value, is_eval = record.value, record.path == ("eval",) and "task" in record.value
    return is_eval or _is_header(record) or {"id", "epoch", "input"} <= value.keys()


def _inspect_log(records: Iterable[Record]) -> Iterator[Found]:
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
            yield from each(_inspect, [record], lambda value: id_of(value.get("id")))
    for status in statuses or [None]:
        is_told = isinstance(status, str)
        words = f'has the status "{status[:40]}"' if is_told else "has no header with a status, as after a killed run"
        if status != "success":
            yield Refused(f'{words}, so samples may be missing; expected "success"')
    if not has_samples:
        yield Refused("has no samples; write the log with its samples (log_samples)")


def _inspect(value: Value) -> Iterator[Found]:
    error = value.get("error")
    if words := error_of(error.get("message", error) if isinstance(error, dict) else error):
        raise Refused(f"is an error: {words}")
    attached = value.get("attachments")
    attachments = attached if isinstance(attached, dict) else {}
    if sum(_added(value.get(name), attachments) for name in ("input", "output", "messages")) > MOST:
        raise Refused(f"has attachments that expand to more than {MOST} characters")
    said, output, messages = (_resolved(value.get(name), attachments) for name in ("input", "output", "messages"))
    replies = _choices(output)
    user, left_out = _before_last_reply(said, messages)
    fields = unused(value, "epoch", "input", "messages", "output", "error", "attachments")
    row = Row(user, None, left_out, fields, extra={"x_epoch": value.get("epoch")})
    yield from samples(row, replies, "output.choices[0].message.content")


def _before_last_reply(said: Any, messages: Any) -> tuple[Asked, tuple[str, ...]]:
    """Return what the user wrote before the last reply: the sample's input, unless other turns followed it."""
    if not isinstance(messages, list | None):
        raise Refused("has messages that are not a list")
    asked = said if isinstance(said, str) else exchange(said).user
    if not are_messages(messages):
        return asked, ()
    found = exchange(messages)
    return asked if isinstance(asked, str) and isinstance(found.user, str) else found.user, found.left_out


def _choices(output: Any) -> list[Said]:
    """Return each reply in the output of a sample, at least one."""
    if not isinstance(output, dict):
        return [Said(None)]
    choices, completion = output.get("choices"), output.get("completion")
    if isinstance(choices, list) and choices:
        messages = [choice.get("message") if isinstance(choice, dict) else None for choice in choices]
        return [said_in([one]) if is_message(one) else Said(None) for one in messages]
    return [Said(completion if isinstance(completion, str) and completion else None)]


def _added(value: Any, attachments: Value) -> int:
    """Return how many characters attachments add: a few bytes may refer to one a million times."""
    if isinstance(value, str):
        text = attachments.get(value.removeprefix(_ATTACHMENT)) if value.startswith(_ATTACHMENT) else None
        return len(text) if isinstance(text, str) else 0
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(_added(one, attachments) for one in inner)


def _resolved(value: Any, attachments: Value) -> Any:
    """Return a value with the texts that attachments hold in place of the references to them."""
    if isinstance(value, str) and value.startswith(_ATTACHMENT):
        return attachments.get(value.removeprefix(_ATTACHMENT), value)
    if isinstance(value, list):
        return [_resolved(one, attachments) for one in value]
    if isinstance(value, dict):
        return {key: _resolved(one, attachments) for key, one in value.items()}
    return value


# --- DeepEval and lm-evaluation-harness -----------------------------------------------------------

_TEST_CASES = ("testCases", "conversationalTestCases")
_ACTUAL = ("actualOutput", "actual_output")


def _is_deepeval(value: Value) -> bool:
    is_case = "input" in value and any(name in value for name in _ACTUAL)
    return is_case or {"scenario", "turns"} <= value.keys() or are_messages(parsed(value.get("turns")))


def _without_empty_cells(record: Record) -> Record:
    """Return a record without the empty cells of CSV: DeepEval writes them for fields that are not set."""
    if record.shape == "json" or not isinstance(record.value, dict):
        return record
    return record._replace(value={name: one for name, one in record.value.items() if one != ""})


def _deepeval(value: Value) -> Iterator[Row]:
    tags = texts(parsed(value.get("tags")))
    if value.get("turns") is not None or "scenario" in value:
        found = ended(parsed(value.get("turns")))
        yield Row(found.user, found.assistant, found.left_out, unused(value, "turns", "name", "tags"), tags)
        return
    reply = next((value[name] for name in _ACTUAL if value.get(name) is not None), None)
    if not isinstance(value.get("input"), str):
        raise Refused("has no text in input")
    if reply is None:
        raise Refused("has no reply; expected text in actual_output")
    yield Row(value["input"], reply, (), unused(value, "input", *_ACTUAL, "name", "tags"), tags)


def _lm_eval(value: Value, filters: list[Any], known: set[bytes]) -> Iterator[Found]:
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
    asked = given if isinstance(given := value.get("arguments"), list | dict) else None
    while isinstance(asked, list | dict):
        asked = next(iter(asked.values() if isinstance(asked, dict) else asked), None)
    if not isinstance(asked, str):
        raise Refused("has no prompt in arguments")
    responses = value.get("resps")
    several = (some if isinstance(some, list) else [some] for some in responses) if isinstance(responses, list) else ()
    replies = [reply for some in several for reply in some]
    if not replies:
        raise Refused("has no response in resps")
    if not all(isinstance(reply, str) for reply in replies):
        raise Refused("has likelihoods in resps; expected text, as generate_until tasks record")
    messages = parsed(asked)  # with a chat template
    found = exchange([*messages, {"role": "assistant", "content": ""}]) if are_messages(messages) else None
    user, left_out = (found.user, found.left_out) if found else (asked, ())
    for reply in replies:
        yield Row(user, reply, left_out, unused(value, "doc_id", "arguments", "resps", "filter"))


# --- all formats ----------------------------------------------------------------------------------

_OF_TOOLS = (
    # The file of a test run, or a data set saved as JSON, JSONL or CSV. Source: `deepeval.test_run.TestRun` and
    # `deepeval.dataset.EvaluationDataset.save_as`.
    Format(
        "deepeval",
        "DeepEval test cases",
        lambda record: _is_deepeval(record.value),
        lambda records: each(
            _deepeval, map(_without_empty_cells, records), lambda value: id_at(value) or id_of(value.get("name"))
        ),
        paths=(*((one,) for one in _TEST_CASES), *(("testRunData", one) for one in _TEST_CASES), ("test_cases",)),
    ),
    # `.json` logs, or `.eval`, an archive of samples. Epochs are samples of one prompt. Source:
    # `inspect_ai.log.EvalLog` and `EvalSample`.
    Format("inspect", "an Inspect log", _is_inspect, _inspect_log, paths=(("status",), ("eval",), ("samples",))),
    # Observations and traces, as exported (JSON, JSONL or CSV) or as pages of the API. Of observations only generations
    # are read. An unset output is exported as an empty text, so that counts as a missing reply. In CSV, versions before
    # July 2026 write each text as JSON, and one without a comma loses its quotes (`transformStreamToCsv`).
    Format(
        "langfuse",
        "a Langfuse export",
        lambda record: (
            ({"type", "input", "output"} <= record.value.keys() and bool(_MARKS & record.value.keys()))
            or record.value.keys() >= _TRACE
        ),
        lambda records: each(_langfuse, _decoded(records), lambda value: id_of(value.get("id"))),
        paths=(("data",),),
    ),
    # Runs of a model, and examples of a data set. Only the runs of type `llm` in a trace are read: the chains and tools
    # around them repeat the same texts.
    Format(
        "langsmith",
        "a LangSmith export",
        lambda record: record.value.keys() >= {"inputs", "outputs"},
        partial(each, _langsmith, name=lambda value: id_of(value.get("id"))),
    ),
    # `samples_*.jsonl`, as `--log_samples` writes it. Repeats are samples of one prompt. A task with several filters
    # lists every document once per filter, with the same responses, so only the first filter's are read. Earlier
    # versions do not write the filter: there a document with the responses of an earlier one is another filter's.
    # Source: `lm_eval.evaluator.evaluate`.
    Format(
        "lm-eval",
        "samples of lm-evaluation-harness",
        lambda record: record.value.keys() >= {"doc_id", "arguments", "resps"},
        lambda records: each(
            partial(_lm_eval, filters=[], known=set()), records, lambda value: id_of(value.get("doc_id"))
        ),
    ),
    # Objects with `messages`, as for fine-tuning. Records beside them may have named fields, as our cases.
    Format(
        "messages",
        "OpenAI chat messages",
        lambda record: are_messages(record.value.get("messages")) and not _is_pair(record.value),
        partial(each, _chat),
    ),
    # The file of requests and the file of responses, joined by `custom_id`.
    Format(
        "openai-batch",
        "OpenAI Batch requests and responses",
        lambda record: "custom_id" in record.value and bool({"body", "response", "error"} & record.value.keys()),
        partial(each, _batch, name=_custom_id),
        joins=True,
    ),
    Format("promptfoo", "promptfoo results", promptfoo.detects, promptfoo.rows, paths=(("results", "results"),)),
    # Objects with `conversations` of `from` and `value`.
    Format(
        "sharegpt",
        "ShareGPT conversations",
        lambda record: are_messages(_turns(record.value)),
        partial(each, _sharegpt),
    ),
    # `prompt` with `completion`, or with `chosen` and `rejected`, which are two samples. Each is text or messages.
    # Other tools write the same with the conversation up to the replies in `messages` or `conversations`, or the prompt
    # under another name. Source: the dataset formats of TRL's documentation, and LLaMA-Factory's.
    Format("trl", "a TRL data set", lambda record: _is_trl(record.value), partial(each, _trl)),
)


def _names_both_sides(record: Record) -> bool:
    """Return whether the fields of a record name both sides of an exchange."""
    return is_known(record.value)


_OF_ROWS = (
    Format("csv", "CSV", _names_both_sides, rows, shape="commas"),
    Format(
        "jsonl",
        "JSON objects with named fields",
        _names_both_sides,
        partial(each, _chat),
        paths=(("data",), ("examples",), ("rows",)),
        shape="json",
    ),
    Format("parquet", "Parquet", _names_both_sides, rows, shape="columns"),
    Format("tsv", "TSV", _names_both_sides, rows, shape="tabs"),
)

FORMATS: Mapping[str, Format] = {one.name: one for one in sorted((*_OF_TOOLS, *_OF_ROWS), key=lambda one: one.name)}
"""All formats by name, in the order of the names."""

PATHS = frozenset(path for one in FORMATS.values() for path in one.paths)
"""The keys that lead to the records of any format in a JSON document."""
