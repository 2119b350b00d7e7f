"""Several replies to one prompt, the two halves of a batch, and ids that stay unique."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import SafeGate
from tests.support.importing import (
    ASK,
    LANGFUSE,
    REPLY,
    TURNS,
    exchanges,
    imported,
    promptfoo,
    request,
    response,
    result,
    write,
)

OTHER = "Sorry, it is lost."
MESSAGES = [TURNS[1], {"role": "assistant", "content": OTHER}]
CHOICES = [{"index": place, "message": message} for place, message in enumerate(MESSAGES)]
BOTH = [("a#1", ASK, REPLY), ("a#2", ASK, OTHER)]


def generation(output: Any) -> dict[str, Any]:
    return LANGFUSE | {"id": "a", "type": "GENERATION", "input": json.dumps(TURNS[:1]), "output": json.dumps(output)}


def run(output: Any) -> dict[str, Any]:
    return {"id": "a", "run_type": "llm", "inputs": {"messages": [TURNS[:1]]}, "outputs": output}


def answered(id_: str, *choices: Any, **body: Any) -> dict[str, Any]:
    found = response(id_, "")
    found["response"]["body"] = {"choices": list(choices)} if choices else body
    return found


SEVERAL: dict[str, list[dict[str, Any]]] = {
    "OpenAI Batch": [request("a", TURNS[0]), answered("a", *CHOICES)],
    "OpenAI Batch of completions": [request("a", TURNS[0]), answered("a", {"text": REPLY}, {"text": OTHER})],
    "two responses of OpenAI Batch": [request("a", TURNS[0]), response("a", REPLY), response("a", OTHER)],
    "LangSmith choices": [run({"choices": CHOICES})],
    "LangSmith generations": [run({"generations": [[{"text": REPLY}, {"text": OTHER}]]})],
    "LangSmith flat generations": [run({"generations": MESSAGES})],
    "LangSmith messages": [run({"generations": [[{"type": "ChatGeneration", "message": one} for one in MESSAGES]]})],
    "Langfuse choices": [generation({"choices": CHOICES})],
    "Langfuse texts": [generation([REPLY, OTHER])],
}


@pytest.mark.parametrize("form", SEVERAL)
def test_each_reply_to_a_prompt_is_a_sample(safe_gate: SafeGate, form: str) -> None:
    write("in.jsonl", *SEVERAL[form])
    assert exchanges(imported(safe_gate, "in.jsonl")) == BOTH


def test_providers_of_promptfoo_are_samples_and_prompts_are_not(safe_gate: SafeGate) -> None:
    def row(place: int, provider: str, prompt: str, **fields: Any) -> dict[str, Any]:
        raw = {"raw": f"{prompt}: dog", "label": f"{prompt}: {{{{animal}}}}"}
        case = {"vars": {"animal": "dog"}, "description": "dog"}
        return result(1, provider, {"output": f"{provider} {prompt}"}, promptIdx=place, promptId=prompt, prompt=raw, testCase=case, **fields)  # fmt: skip

    rows = [row(0, "one", "Describe"), row(1, "two", "Describe")]
    Path("r.json").write_text(json.dumps(promptfoo(*rows)), "utf-8")
    expected = [("dog#1", "Describe: dog", "one Describe"), ("dog#2", "Describe: dog", "two Describe")]
    assert exchanges(imported(safe_gate, "r.json")) == expected
    pairs = [("one", "Describe"), ("one", "Name"), ("two", "Describe"), ("two", "Name")]
    rows = [row(place, *pair) for place, pair in enumerate(pairs)]
    for kept in (rows, [{name: one[name] for name in one if name != "promptId"} for one in rows]):
        write("r.jsonl", *kept)
        assert [(case["id"], case["assistant"]) for case in imported(safe_gate, "r.jsonl")] == [
            ("dog#1", "one Describe"),
            ("dog/prompt-1#1", "one Name"),
            ("dog#2", "two Describe"),
            ("dog/prompt-1#2", "two Name"),
        ]


@pytest.mark.parametrize(
    ("ids", "expected"),
    [(["a", "a#1", "a"], ["a#2", "a#1", "a#3"]), (["a", "a", "a#2", "a#2"], ["a#1", "a#3", "a#2#1", "a#2#2"])],
)
def test_samples_get_no_number_that_an_id_has(safe_gate: SafeGate, ids: list[str], expected: list[str]) -> None:
    write("in.jsonl", *({"id": id_, "prompt": ASK, "response": REPLY} for id_ in ids))
    assert [case["id"] for case in imported(safe_gate, "in.jsonl")] == expected
