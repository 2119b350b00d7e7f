"""promptfoo results: the JSON, JSONL or CSV of `promptfoo eval --output`. Providers are samples of one prompt.

The second prompt of a file, in the order of its results, adds `/prompt-1` to the ids, the third `/prompt-2`. A test
with the description of an earlier one, but other variables, adds a digest of them.

Source: promptfoo's `EvaluateResult`, whose version 2 has no `testCase`. A failed assertion fills `error` too, so what
says that there is no reply is the response. CSV has a column `[provider] prompt` for each prompt, which columns such as
`Status` follow (`buildCsvHeaders`); earlier versions write the status into the cell (`outputToSimpleString`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import takewhile
from typing import Any

from safe_gate.addons.importers.conversations import ASKED, are_messages, exchange, parsed
from safe_gate.addons.importers.fields import each, unused
from safe_gate.addons.importers.files import Twice
from safe_gate.addons.importers.rows import Found, LeftOut, Record, Refused, Row, error_of, id_of
from safe_gate.core.text.patterns import later

_COLUMN = later(r"\[([^\]]*+)\] (.+)", re.DOTALL)
_FILE = later(r"\S+\.[a-z0-9]+: ")  # before a prompt that is read from a file
_CELL = later(r"\[(PASS|FAIL|ERROR)\] ?(.*)", re.DOTALL)
_GRADED = later(r"\A\([0-9.]+(?:, [^)]*)?\)\n\n(.*?)(?:\n\n(?:Pass|Fail) Reason: .*)?\Z", re.DOTALL)
_VARIABLE = later(r"\{\{-?\s*(\w+)\s*-?\}\}")
_TEMPLATE = later(r"\{\{|\{%|\{#")
_USED = ("prompt", "promptId", "promptIdx", "provider", "vars", "testCase", "description", "response", "error")


def detects(record: Record) -> bool:
    """Return whether a record is a result, or a row of results."""
    value = record.value
    is_result = {"prompt", "vars", "success"} <= value.keys()
    return is_result or (record.shape != "json" and bool(_cells(value)))


def rows(records: Iterable[Record]) -> Iterator[Found]:
    """Yield the reply of each result."""
    return each(partial(_read, prompts={}, described={}), records, lambda _: "")


def _read(value: dict[str, Any], prompts: dict[Any, int], described: dict[str, str]) -> Iterator[Found]:
    if cells := _cells(value):
        yield from _of_cells(value, cells, prompts, described)
        return
    case = value.get("testCase")
    test: dict[str, Any] = case if isinstance(case, dict) else {}
    place = prompts.setdefault(_prompt(value), len(prompts))
    id_ = _id(value, test, described) + (f"/prompt-{place}" if place else "")
    answer = value.get("response")
    response: dict[str, Any] = answer if isinstance(answer, dict) else {}
    reply = response.get("output")
    if error := error_of(response.get("error")) or (error_of(value.get("error")) if reply is None else ""):
        raise Refused(f"is an error: {error}", id_=id_)
    if reply is None:
        raise Refused("has no reply; expected response.output", id_=id_)
    prompt = value.get("prompt")
    raw = prompt.get("raw") if isinstance(prompt, dict) else prompt
    if not isinstance(raw, str):
        raise Refused("has no prompt; expected text in prompt.raw", id_=id_)
    provider = value.get("provider")
    name = provider.get("label") or provider.get("id") if isinstance(provider, dict) else provider
    yield _row(id_, parsed(raw), reply, name, unused(value, *_USED))


def _row(id_: str, prompt: Any, reply: Any, provider: Any, fields: Mapping[str, Any]) -> Row:
    """Return the row of a prompt, which may be messages, and its reply."""
    extra = {"x_provider": provider} if isinstance(provider, str) else {}
    if are_messages(prompt):
        found = exchange([*prompt, {"role": "assistant", "content": ""}])
        return Row(found.user, reply, found.left_out, fields, (), extra, id_)
    return Row(prompt if isinstance(prompt, str) else json.dumps(prompt), reply, (), fields, (), extra, id_)


def _cells(value: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Return provider, prompt, reply and status of each result in a row of CSV; none of other records.

    The status is PASS, FAIL or ERROR, "" where a prompt has no result.
    """
    found = [
        (column[1], column[2], cell)
        for name, cells in value.items()
        if (column := _COLUMN.fullmatch(name))
        for cell in (cells if isinstance(cells, Twice) else (cells,))
    ]
    statuses = value.get("Status", ())
    statuses = statuses if isinstance(statuses, tuple) else (statuses,)
    if len(statuses) == len(found):
        return [(*one, str(status)) for one, status in zip(found, statuses, strict=True)]
    marked = [(one, _CELL.fullmatch(one[2]) if isinstance(one[2], str) else None) for one in found]
    if not all(cell or one[2] == "" for one, cell in marked):
        return []
    # A score before the reply and the grader's reason after it may enclose it.
    return [(*one[:2], _GRADED.sub(r"\1", cell[2]), cell[1]) if cell else (*one, "") for one, cell in marked]


def _of_cells(
    value: dict[str, Any], cells: list[tuple[str, str, str, str]], prompts: dict[Any, int], described: dict[str, str]
) -> Iterator[Found]:
    names = takewhile(lambda name: not _COLUMN.fullmatch(name), value)
    given = {name: value[name] for name in names if name != "Description"}
    test = {"description": value.get("Description", "")}
    columns = [name for name in value if _COLUMN.fullmatch(name)]
    fields = unused(value, *given, *columns, "Description", "Status")
    for provider, label, reply, status in cells:
        place = prompts.setdefault(label, len(prompts))
        if not status:
            yield LeftOut("cells without a result")
            continue
        id_ = _id({"vars": given}, test, described) + (f"/prompt-{place}" if place else "")
        prompt = _rendered(label, given)
        if status == "ERROR":
            yield Refused(f"is an error: {reply[:80] or 'unknown'}", id_=id_)
        elif prompt is None:
            words = "cannot be told from the variables; import the JSON of promptfoo, or name both sides with --map"
            yield Refused(f"has a reply to the prompt {json.dumps(label[:40])}, whose text {words}", id_=id_)
        else:
            yield _row(id_, prompt, reply, provider, fields)


def _rendered(label: str, given: Mapping[str, Any]) -> Any:
    """Return a prompt, as text or messages, with its variables filled in; None where that cannot be told.

    A prompt that is only named is taken to be its only variable, or the only one with the name of a message.
    """
    file = _FILE.match(label)
    template = label[file.end() :] if file else label
    used = _VARIABLE.findall(template)
    if _TEMPLATE.search(_VARIABLE.sub("", template)) or not {*used} <= given.keys():
        return None
    if not used:
        said = [one for name, one in given.items() if len(given) == 1 or name.lower() in ASKED]
        return said[0] if len(said) == 1 else None
    return _filled(parsed(template), given)


def _filled(value: Any, given: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        return _VARIABLE.sub(lambda found: str(given[found[1]]), value)
    if isinstance(value, dict):
        return {name: _filled(one, given) for name, one in value.items()}
    return [_filled(one, given) for one in value] if isinstance(value, list) else value


def _prompt(value: dict[str, Any]) -> Any:
    """Return the key of a prompt within a test, because `promptIdx` restarts for each provider."""
    prompt = value.get("prompt")
    label = prompt.get("label", prompt.get("display")) if isinstance(prompt, dict) else None
    names = (value.get("promptId"), label, value.get("promptIdx"))
    return next((one for one in names if isinstance(one, str | int) and one != ""), None)


def _id(value: dict[str, Any], test: dict[str, Any], described: dict[str, str]) -> str:
    """Return the id of a test: its own, its description or a digest of its variables.

    `described` holds the digest of the first test with each description: another test with it adds its own digest.
    """
    data = test.get("metadata")
    own = id_of(data.get("testCaseId")) if isinstance(data, dict) else ""
    given = value.get("vars") or test.get("vars") or {}
    digest = hashlib.sha256(json.dumps(given, sort_keys=True).encode("utf-8")).hexdigest()[:16]
    description = id_of(test.get("description") or value.get("description"))
    if own or not description:
        return own or f"vars-{digest}"
    is_first = described.setdefault(description, digest) == digest
    return description if is_first else f"{description}/vars-{digest}"
