"""promptfoo results: the JSON, JSONL or CSV of `promptfoo eval --output`. Providers are samples of one prompt. Pure.

The second prompt of a file, in the order of its results, adds `/prompt-1` to the ids, the third `/prompt-2`. A test
with the description of an earlier one, but other variables, adds a digest of them.

Source: promptfoo's `EvaluateResult`, whose version 2 has no `testCase`. A failed assertion fills `error` too, so beside
an output it counts only if `failureReason` says that the call failed. CSV has a column `[provider] prompt` for each
prompt, which columns such as `Status` follow (`buildCsvHeaders`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from safe_gate.addons.importers.files import Record, RefusedRecord, column_name, error_text, id_text
from safe_gate.addons.importers.messages import (
    Messages,
    Sample,
    are_messages,
    parse_embedded_json,
    prompt_of,
    read_side,
    unused_side_fields,
)

Value = dict[str, Any]
Seen = dict[Any, Any]

_FAILED = 2  # as `failureReason`; 1 is an assertion that failed
_COLUMN = re.compile(r"\[([^\]]*+)\] (.+)", re.DOTALL)
_FILE = re.compile(r"\S+\.[a-z0-9]+: ")  # before a prompt that is read from a file
_VARIABLE = re.compile(r"\{\{-?\s*(\w+)\s*-?\}\}")
_TEMPLATE = re.compile(r"\{\{|\{%|\{#")
_NO_PROMPT, _NO_OUTPUT = "[prompt stripped]", "[output stripped]"  # where the environment says to strip them
_CHAT = re.compile(r'- role:|\[?\s*\{\s*"')  # how a prompt in YAML or JSON begins
_USED = tuple("prompt promptId promptIdx provider vars testCase description response error failureReason".split())


def is_row(record: Record) -> bool:
    """Return whether a record is a row of a table of results."""
    return record.shape != "jsonl" and bool(_split_cells(record.value))


def place(row: Record) -> tuple[int, int, list[str]]:
    """Return what a result is sorted by, since promptfoo keeps no order: its test, prompt and provider, if numbered."""
    value = row.value if isinstance(row.value, dict) else {}
    test, prompt = (one if isinstance(one := value.get(name), int) else -1 for name in ("testIdx", "promptIdx"))
    provider = one if isinstance(one := value.get("provider"), dict) else {"id": one}
    return test, prompt, [str(provider.get(name)) for name in ("id", "label")] if test >= 0 else []


def read(record: Record, seen: Seen) -> Iterator[Sample | RefusedRecord | str]:
    """Yield the reply of each result in a record."""
    value = record.value
    if cells := [] if record.shape == "jsonl" else _split_cells(value):
        yield from _cell_samples(value, cells, seen)
        return
    if record.shape in ("csv", "tsv"):
        words = "has no column Status after each column of replies, [provider] prompt, as a CSV of promptfoo has"
        raise RefusedRecord(f"{words}; import the JSON of promptfoo, or name both sides with --map")
    test, response, prompt, provider = (
        one if isinstance(one := value.get(name), dict) else {}
        for name in ("testCase", "response", "prompt", "provider")
    )
    names = (value.get("promptId"), prompt.get("label", prompt.get("display")), value.get("promptIdx"))
    # Not by the index alone, because it restarts for each provider.
    label = next((one for one in names if isinstance(one, str | int) and one != ""), None)
    id_ = _id(test, value.get("description"), value.get("vars"), label, seen)
    reply, raw = response.get("output"), prompt.get("raw", value.get("prompt"))
    failed = value.get("failureReason") == _FAILED
    own = value.get("error") if failed or reply is None else None
    fault = ""
    if error := error_text(response.get("error")) or error_text(own) or "unknown" * failed:
        fault = f"is an error: {error}"
    elif not isinstance(raw, str) or raw == _NO_PROMPT:
        fault = "has no prompt; expected text in prompt.raw"
    elif raw.lstrip().startswith("- role:"):
        fault = "has a chat in YAML in its prompt; write it as JSON, or name both sides with --map"
    if fault:
        raise RefusedRecord(fault, id_=id_)
    data = test.get("metadata")
    rest = {key: one for key, one in data.items() if key != "testCaseId"} if isinstance(data, dict) else data
    aside = unused_side_fields(response, "response", ("output", "error"))
    aside += unused_side_fields({**test, "metadata": rest}, "test", ("description", "vars"))
    body = parse_embedded_json(raw)
    is_body = isinstance(body, dict) and (are_messages(body.get("messages")) or isinstance(body.get("contents"), list))
    asked = prompt_of(body) if is_body else read_side(raw, "user")
    name = provider.get("label") or provider.get("id", value.get("provider"))
    yield _sample(id_, [*aside, *asked], reply, name, _USED)


def _sample(id_: str, prompt: Messages, reply: Any, provider: Any, used: Sequence[str]) -> Sample | RefusedRecord:
    extra = {"x_provider": provider} if isinstance(provider, str) else {}
    try:
        said = [] if reply in (None, _NO_OUTPUT) else read_side(reply, "assistant")
    except RefusedRecord as refused:
        return RefusedRecord(str(refused), id_=id_)
    return Sample(prompt, said, used, extra=extra, id=id_)


def _id(test: Value, description: Any, variables: Any, label: Any, seen: Seen) -> str:
    """Return the id of a test: its own, its description or a digest of its variables; and the number of its prompt.

    `seen` holds the labels of prompts, and the digest of the first test with each description.
    """
    data, given = test.get("metadata"), variables or test.get("vars") or {}
    own = id_text(data.get("testCaseId")) if isinstance(data, dict) else ""
    digest = "vars-" + hashlib.sha256(json.dumps(given, sort_keys=True).encode("utf-8")).hexdigest()[:16]
    described = id_text(test.get("description") or description)
    if described and seen.setdefault(("description", described), digest) != digest:
        described = f"{described}/{digest}"
    prompts = seen.setdefault("prompts", {})
    place = prompts.setdefault(label, len(prompts))
    return (own or described or digest) + (f"/prompt-{place}" if place else "")


# --- CSV ------------------------------------------------------------------------------------------


def _split_cells(value: Value) -> list[tuple[str, str, str, str]]:
    """Return provider, prompt, reply and status of each result in a row of CSV; none of other records.

    The status is PASS, FAIL or ERROR, "" where a prompt has no result. In place of an empty reply, an ERROR has the
    reason of the grade.
    """
    found = [
        (column[1], column[2], cell) for name, cell in value.items() if (column := _COLUMN.fullmatch(column_name(name)))
    ]
    statuses, reasons = (
        [cell for name, cell in value.items() if column_name(name) == grade] for grade in ("Status", "Grader Reason")
    )
    if len(statuses) != len(found):
        return []
    reasons = reasons if len(reasons) == len(found) else [""] * len(found)
    return [
        (provider, label, cell or (reason if status == "ERROR" else ""), str(status))
        for (provider, label, cell), status, reason in zip(found, statuses, reasons, strict=True)
    ]


def _cell_samples(
    value: Value, cells: list[tuple[str, str, str, str]], seen: Seen
) -> Iterator[Sample | RefusedRecord | str]:
    names = takewhile(lambda name: not _COLUMN.fullmatch(name), value)
    given = {name: value[name] for name in names if name != "Description"}
    used = [*given, "Description", "Status"]  # of the columns of all prompts, the first of each name is listed
    used += [name for name in value if column_name(name) != name or _COLUMN.fullmatch(name)]
    for provider, label, reply, status in cells:
        if not status:
            seen.setdefault("prompts", {}).setdefault(label, len(seen["prompts"]))
            yield "cells without a result"
            continue
        id_, prompt = _id({}, value.get("Description", ""), given, label, seen), _render_prompt(label, given)
        if status == "ERROR":
            yield RefusedRecord(f"is an error: {reply[:80] or 'unknown'}", id_=id_)
        elif prompt is None:
            words = "cannot be told from the variables; import the JSON of promptfoo, or name both sides with --map"
            yield RefusedRecord(f"has a reply to the prompt {json.dumps(label[:40])}, whose text {words}", id_=id_)
        else:
            yield _sample(id_, prompt, reply, provider, used)


def _render_prompt(label: str, given: Mapping[str, Any]) -> Messages | None:
    """Return a prompt with its variables filled in; None where the column has only its name, or not all of it."""
    used, is_broken = _VARIABLE.findall(label), _CHAT.match(label) and parse_embedded_json(label) is label
    has_other = _TEMPLATE.search(_VARIABLE.sub("", label)) or not {*used} <= given.keys()
    if not used or _FILE.match(label) or is_broken or has_other:
        return None
    return [
        one._replace(text=_VARIABLE.sub(lambda found: str(given[found[1]]), one.text or ""))
        for one in read_side(label, "user")
    ]
