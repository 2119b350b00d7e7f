"""promptfoo results: the JSON of `promptfoo eval --output`, or its JSONL. Providers are samples of one prompt.

The second prompt of a file, in the order of its results, adds `/prompt-1` to the ids, the third `/prompt-2`. A test
with the description of an earlier one, but other variables, adds a digest of them.

Source: promptfoo's `EvaluateResult`. A failed assertion fills `error` too, so what says that there is no reply is the
response.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from safe_gate.importers.formats._chat import are_messages, exchange, parsed
from safe_gate.importers.formats._rows import LeftOut, NotACase, Record, Refused, Row, each, error_of, id_of

TITLE = "promptfoo results"
PATHS = (("results", "results"),)


def detects(record: Record) -> bool:
    """Return whether a record is a result."""
    value = record.value
    return isinstance(value, dict) and {"prompt", "vars", "testCase"} <= value.keys() and "success" in value


def rows(records: Iterable[Record]) -> Iterator[Row | Refused | LeftOut]:
    """Yield the reply of each result."""
    return each(partial(_read, prompts={}, described={}), records)


def _read(value: dict[str, Any], prompts: dict[Any, int], described: dict[str, str]) -> Iterator[Row]:
    case = value.get("testCase")
    test: dict[str, Any] = case if isinstance(case, dict) else {}
    place = prompts.setdefault(_prompt(value), len(prompts))
    id_ = _id(value, test, described) + (f"/prompt-{place}" if place else "")
    answer = value.get("response")
    response: dict[str, Any] = answer if isinstance(answer, dict) else {}
    reply = response.get("output")
    if error := error_of(response.get("error")) or (error_of(value.get("error")) if reply is None else ""):
        raise NotACase(f"is an error: {error}", id_)
    if reply is None:
        raise NotACase("has no reply; expected response.output", id_)
    prompt = value.get("prompt")
    raw = prompt.get("raw") if isinstance(prompt, dict) else prompt
    if not isinstance(raw, str):
        raise NotACase("has no prompt; expected text in prompt.raw", id_)
    provider = value.get("provider")
    name = provider.get("label") or provider.get("id") if isinstance(provider, dict) else provider
    extra = {"x_provider": name} if isinstance(name, str) else {}
    if are_messages(messages := parsed(raw)):
        found = exchange([*messages, {"role": "assistant", "content": ""}])
        yield Row(id_, found.user, reply, (), extra, found.left_out)
    else:
        yield Row(id_, raw, reply, (), extra)


def _prompt(value: dict[str, Any]) -> Any:
    """Return the key of a prompt within a test, because `promptIdx` restarts for each provider."""
    prompt = value.get("prompt")
    label = prompt.get("label") if isinstance(prompt, dict) else None
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
    description = id_of(test.get("description"))
    if own or not description:
        return own or f"vars-{digest}"
    is_first = described.setdefault(description, digest) == digest
    return description if is_first else f"{description}/vars-{digest}"
