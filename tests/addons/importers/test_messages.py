"""What a conversation loses and keeps: parts, refusals, reasoning, tools, messages without text, fields beside it."""

import json
from typing import Any

import pytest

from tests.support.cases import SafeGate
from tests.support.importing import (
    ASK,
    EARLIER,
    LANGFUSE,
    REPLY,
    SYSTEM,
    TURNS,
    cases_of,
    exchanges,
    imported,
    left_out,
    lm_eval,
    refusal,
    request,
    write,
)

HALVES = [REPLY[:7], REPLY[7:]]
LOOK = "Let me look."
TOOLS, REASONING, EMPTY = "calls and answers of tools", "reasoning", "messages without text"
NOT_TEXT, SYSTEMS = "parts that are not text", "system messages"
CALLS = [{"id": "c", "type": "function", "function": {"name": "find", "arguments": "{}"}}]
ITEMS = [
    {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "Hm."}]},
    {"type": "function_call", "call_id": "c", "name": "find", "arguments": "{}"},
]
ANSWERED = {"type": "function_call_output", "call_id": "c", "output": "here"}


def field(name: str, of: str = "") -> str:
    return f'the field "{name}"{of}'


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def reply(content: Any, **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **fields}


def block(text: str, kind: str = "text") -> dict[str, Any]:
    return {"type": kind, "text": text}


def item(*texts: str) -> dict[str, Any]:
    parts = [block(text, "output_text") | {"annotations": []} for text in texts]
    return {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": parts}


def lc(name: str, content: Any, **fields: Any) -> dict[str, Any]:
    kwargs = {"content": content, "type": name[:2].lower(), **fields}
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": kwargs}


def run(outputs: Any, **fields: Any) -> dict[str, Any]:
    asked = {"messages": [[lc("HumanMessage", ASK)]]}
    return {"id": "a", "run_type": "llm", "inputs": asked, "outputs": outputs} | fields


def generation(message: Any, text: str = "") -> dict[str, Any]:
    return run({"generations": [[{"text": text, "type": "ChatGeneration", "message": message}]]})


def talk(*messages: Any, **fields: Any) -> dict[str, Any]:
    return {"id": "a", "messages": list(messages)} | fields


# fmt: off
KEPT: dict[str, tuple[dict[str, Any], list[str]]] = {
    "OpenAI parts": (talk(user([block(ASK[:5]), {"type": "image_url", "image_url": {}}, block(ASK[5:])]), reply([*map(block, HALVES)])), [NOT_TEXT]),
    "OpenAI refusal": (talk(TURNS[0], reply(None, refusal=REPLY)), []),
    "OpenAI refusal of no text": (talk(TURNS[0], reply("", refusal=REPLY)), []),
    "OpenAI refusal in a part": (talk(TURNS[0], reply([{"type": "refusal", "refusal": REPLY}])), []),
    "OpenAI refusal in both": (talk(TURNS[0], reply([{"type": "refusal", "refusal": REPLY}], refusal=REPLY)), []),
    "calls with no text": (talk(TURNS[0], reply("", tool_calls=CALLS), {"role": "tool", "content": "x"}, reply([], tool_calls=CALLS), {"role": "tool", "content": "x"}, reply(None, tool_calls=CALLS), TURNS[1]), [TOOLS]),
    "a call as older models write it": (talk(TURNS[0], reply("\n", function_call={"name": "x"}), {"role": "function", "name": "x", "content": "x"}, TURNS[1]), [TOOLS]),
    "fields beside the text": (talk(user(ASK) | {"name": "Ann"}, reply(REPLY, weight=0, reasoning_content="Hm.", tool_calls=[], audio=None)), [REASONING, field("name", " of messages"), field("weight", " of messages")]),
    "fields beside the messages": (talk(*TURNS, system="S", tools=[{}], images=["x"], label=False, instructions="I", n=None), [field(name) for name in ("images", "instructions", "label", "system", "tools")]),
    "messages without text": (talk(user(""), user(" "), *TURNS), [EMPTY]),
    "Responses items": (talk(TURNS[0], *ITEMS, ANSWERED, item(*HALVES)), [TOOLS, REASONING]),
    "a response": ({"id": "a", "input": [user([block(ASK, "input_text")]), *ITEMS, ANSWERED], "output": [ITEMS[0], item(HALVES[0]), {"type": "web_search_call"}, item(HALVES[1])], "instructions": "I"}, [TOOLS, REASONING, field("instructions")]),
    "a refused response": ({"id": "a", "input": ASK, "output": [item() | {"content": [{"type": "refusal", "refusal": REPLY}]}]}, []),
    "Anthropic": (talk(TURNS[0], reply([{"type": "thinking", "thinking": "Hm."}, {"type": "tool_use", "id": "u"}]), user([{"type": "tool_result", "tool_use_id": "u", "content": "x"}]), reply([{"type": "redacted_thinking", "data": "x"}, *map(block, HALVES)]), system="S"), [TOOLS, REASONING, field("system")]),
    "Gemini": (talk({"role": "user", "parts": [{"text": ASK}]}, {"role": "model", "parts": [{"functionCall": {}, "thoughtSignature": "x"}]}, {"role": "user", "parts": [{"functionResponse": {}}]}, {"role": "model", "parts": [{"text": "Hm.", "thought": True}, *({"text": half} for half in HALVES)]}), [TOOLS, REASONING]),
    "thoughts before a reply": (talk(user(ASK), reply(f"<think>\nHm.\n</think>\n\n{REPLY}")), [REASONING]),
    "thoughts before a call": (talk(user(ASK), reply("<think>Hm.</think>", tool_calls=CALLS), {"role": "tool", "content": "x"}, reply(REPLY)), [TOOLS, REASONING]),
    "thoughts that a template opens": (talk(user(ASK), reply(f"Hm.</think>{REPLY}")), [REASONING]),
    "Bedrock": (talk(user([{"text": ASK}]), reply([{"toolUse": {}}]), user([{"toolResult": {}}]), reply([{"reasoningContent": {}}, *({"text": half} for half in HALVES)])), [TOOLS, REASONING]),
    "OpenAI Assistants": (talk(user([{"type": "text", "text": {"value": ASK, "annotations": []}}]), reply([{"type": "text", "text": {"value": REPLY}}])), []),
    "LangSmith blocks": (generation(lc("AIMessage", [{"type": "reasoning", "reasoning": "Hm."}, *(block(half) | {"index": n} for n, half in enumerate(HALVES))], additional_kwargs={"refusal": None}), HALVES[0]), [REASONING]),
    "LangSmith refusal": (generation(lc("AIMessageChunk", "", additional_kwargs={"refusal": REPLY}, response_metadata={"x": 1})), [field("response_metadata", " of messages")]),
    "LangSmith refusal without a role": (run({"content": "", "refusal": REPLY}), []),
    "LangSmith texts": (run({"generations": [[{"text": REPLY, "type": "Generation", "generation_info": {"x": 1}}]]}, inputs={"prompts": [ASK]}, extra={"x": 1}), [field("extra"), field("generation_info", " of the output")]),
    "LangSmith of a graph": (run({"messages": [lc("HumanMessage", ASK), lc("AIMessage", "", tool_calls=CALLS), {"type": "tool", "content": "x"}, {"type": "ai", "content": REPLY}]}, inputs={"messages": [TURNS[0]], "context": "C"}), [TOOLS, field("context", " of the input")]),
    "LangSmith of a response": (run({"id": "x", "output": [*ITEMS, item(*HALVES)]}, inputs={"input": [TURNS[0]], "instructions": "I"}), [TOOLS, REASONING, field("instructions", " of the input")]),
    "Langfuse of Gemini": (LANGFUSE | {"id": "a", "type": "GENERATION", "input": {"contents": [{"role": "user", "parts": [{"text": ASK}]}]}, "output": {"candidates": [{"content": {"parts": [{"text": half} for half in HALVES]}}]}}, [field(name) for name in ("environment", "start_time", "trace_id")]),
    "Langfuse of JSON": (LANGFUSE | {"id": "a", "type": "GENERATION", "input": ASK, "output": json.dumps([block(half) for half in HALVES])}, [field(name) for name in ("environment", "start_time", "trace_id")]),
    "ShareGPT": ({"id": "a", "conversations": [{"from": "system", "value": "S"}, {"from": "human", "value": ASK}, {"from": "function_call", "value": "{}"}, {"from": "observation", "value": "x"}, {"from": "gpt", "value": REPLY}], "tools": "[]", "system": "S"}, [TOOLS, SYSTEMS, field("system"), field("tools")]),
    "KTO": ({"id": "a", "prompt": ASK, "completion": REPLY, "label": False}, [field("label")]),
    "TRL": ({"id": "a", "prompt": [SYSTEM, TURNS[0]], "completion": TURNS[1:], "tools": [{}]}, [SYSTEMS, field("tools")]),
    "rows": ({"id": "a", "prompt": ASK, "response": [*map(block, HALVES)], "system": "S"}, [field("system")]),
    "rows with parts without a type": ({"id": "a", "prompt": ASK, "response": [{"text": half} for half in HALVES]}, []),
    "rows with JSON text": ({"id": "a", "prompt": ASK, "response": json.dumps([*map(block, HALVES), {"type": "tool_use"}])}, [TOOLS]),
    "rows with a message": ({"id": "a", "prompt": [block(ASK), {"type": "image"}], "response": reply([*map(block, HALVES)], tool_calls=CALLS)}, [TOOLS, NOT_TEXT]),
    "DeepEval": ({"name": "a", "input": ASK, "actual_output": REPLY, "expected_output": "E", "context": ["C"], "retrieval_context": None}, [field("context"), field("expected_output")]),
    "DeepEval turns": ({"name": "a", "scenario": "S", "turns": [TURNS[0], TURNS[1] | {"tools_called": [{}]}]}, [TOOLS, field("scenario")]),
    "Inspect": ({"id": "a", "epoch": 1, "input": ASK, "messages": [SYSTEM, TURNS[0], reply("", tool_calls=CALLS), {"role": "tool", "content": "x"}, TURNS[1]], "output": {"choices": [{"message": reply([{"type": "reasoning", "reasoning": "Hm."}, block(REPLY)])}]}, "target": "T"}, [TOOLS, REASONING, SYSTEMS, field("target")]),
}
# fmt: on


@pytest.mark.parametrize("name", KEPT)
def test_a_reply_is_all_of_its_parts_and_what_is_no_text_is_counted(safe_gate: SafeGate, name: str) -> None:
    record, lost = KEPT[name]
    write("in.json", {"status": "success", "eval": {}, "samples": [record]} if name == "Inspect" else record)
    assert left_out(safe_gate, "in.json", "--skip-invalid") == [f"{one} (1 record)" for one in sorted(lost)]
    assert exchanges(cases_of("out.jsonl")) == [("a", ASK, REPLY)]


def test_what_a_model_says_around_a_call_stays(safe_gate: SafeGate) -> None:
    called = reply([block(LOOK), {"type": "tool_use", "id": "u"}])
    write("in.jsonl", talk(TURNS[0], called, user([{"type": "tool_result", "content": "x"}]), TURNS[1]))
    assert imported(safe_gate, "in.jsonl") == [talk(TURNS[0], reply(LOOK), TURNS[1])]


@pytest.mark.parametrize(
    "end",
    [
        [reply(LOOK, tool_calls=CALLS), {"role": "tool", "content": "x"}],
        [reply(LOOK, tool_calls=CALLS), {"role": "tool", "content": "x"}, reply(None)],
        [reply(LOOK), user([block("", "input_audio")]), reply(None, audio={"transcript": "x"})],
        [reply(LOOK), reply([])],
        [reply(LOOK), reply([{"type": "thinking", "thinking": "Hm."}])],
        [item(LOOK), *ITEMS, ANSWERED],
        [item(LOOK), *ITEMS, ANSWERED, *ITEMS],
        *([*some, {"type": "web_search_call", "id": "w"}] for some in ([item(LOOK)], [item(LOOK), item(LOOK)])),
    ],
)
def test_an_earlier_reply_does_not_stand_for_a_last_answer_that_is_missing(safe_gate: SafeGate, end: Any) -> None:
    write("in.jsonl", talk(TURNS[0], *end))
    assert "in.jsonl:1: a: ends with a message without text; expected a reply\n" in refusal(safe_gate, "in.jsonl")
    write("in.jsonl", run({"messages": [TURNS[0], *end]}))
    assert "in.jsonl:1: a: has no reply; if another" in refusal(safe_gate, "in.jsonl")


@pytest.mark.parametrize(
    "end", [[reply(REPLY, tool_calls=CALLS)], [item(*HALVES), *ITEMS], [{"from": "gpt", "value": REPLY}, ITEMS[1]]]
)
def test_a_call_beside_the_last_text_is_left_out(safe_gate: SafeGate, end: list[Any]) -> None:
    write("in.jsonl", talk(TURNS[0], *end))
    assert exchanges(imported(safe_gate, "in.jsonl")) == [("a", ASK, REPLY)]


@pytest.mark.parametrize(
    ("record", "mapping"),
    [
        (run({"content": REPLY}, status="pending"), ()),
        (run({"content": REPLY}, status="error"), ()),
        (run({"output": [item(REPLY)], "status": "incomplete"}), ()),
        (run({"object": "response", "output": [item(REPLY)], "status": "requires_action"}), ()),
        (run([item(REPLY) | {"status": "IN_PROGRESS"}]), ()),
        (run([item(REPLY) | {"status": "incomplete"}]), ()),
        (talk(TURNS[0], reply(REPLY, status="failed")), ()),
        (
            {"id": "a", "q": ASK, "r": {"o": [item(REPLY) | {"status": "incomplete"}]}},
            ("--map", "user=q,assistant=r.o"),
        ),
    ],
)
def test_a_reply_that_is_not_complete_is_an_error_in_any_shape(
    safe_gate: SafeGate, record: dict[str, Any], mapping: tuple[str, ...]
) -> None:
    write("in.jsonl", record)
    assert "in.jsonl:1: a: is an error: status " in refusal(safe_gate, "in.jsonl", *mapping)


def test_a_status_or_an_error_of_an_application_is_not_that_of_the_call(safe_gate: SafeGate) -> None:
    for own in ({"status": "pending"}, {"error": "no sources"}):
        write("in.jsonl", {"id": "a", "inputs": {"question": ASK}, "outputs": {"answer": REPLY} | own})
        assert exchanges(imported(safe_gate, "in.jsonl")) == [("a", ASK, REPLY)]


def test_an_error_of_an_earlier_reply_does_not_count(safe_gate: SafeGate) -> None:
    for earlier in (reply("", error="timeout"), reply(LOOK, status="incomplete")):
        write("in.jsonl", talk(TURNS[0], earlier, user("Hello?"), TURNS[1]))
        assert imported(safe_gate, "in.jsonl")[0]["id"] == "a"
    write("in.jsonl", run([item(HALVES[0]) | {"status": "incomplete"}, item(HALVES[1])]))
    assert "in.jsonl:1: a: is an error: status incomplete\n" in refusal(safe_gate, "in.jsonl")


def test_a_batch_counts_what_is_beside_request_and_response(safe_gate: SafeGate) -> None:
    body = {"object": "response", "output": [*ITEMS, item(HALVES[0]), item(HALVES[1])], "usage": {"total_tokens": 9}}
    write("in.jsonl", request("a") | {"body": {"model": "m", "instructions": "I", "input": ASK}})
    write("out-1.jsonl", {"custom_id": "a", "response": {"status_code": 200, "body": body}, "error": None})
    lost = left_out(safe_gate, "in.jsonl", "out-1.jsonl")
    assert exchanges(cases_of("out.jsonl")) == [("a", ASK, REPLY)]
    for what in (TOOLS, REASONING, field("instructions", " of the request"), field("usage", " of the output")):
        assert f"{what} (1 record)" in lost


def test_a_reply_that_is_json_stays_text(safe_gate: SafeGate) -> None:
    replies = ['{"status": "failed"}', '[{"text": "a"}]', '[{"type": "item", "text": "a"}]', "[]", '["a", "b"]']
    for rows in (
        [{"id": "a", "prompt": ASK, "response": one} for one in replies],
        [run({"content": one}, id=str(n)) for n, one in enumerate(replies)],
        [run({"output": one}, id=str(n)) for n, one in enumerate(replies)],
        [LANGFUSE | {"id": str(n), "type": "GENERATION", "input": ASK, "output": one} for n, one in enumerate(replies)],
    ):
        write("in.jsonl", *rows)
        assert [text for _, _, text in exchanges(imported(safe_gate, "in.jsonl"))] == replies


MEH = "Buy plastic."
LONG = [*EARLIER, TURNS[0]]


@pytest.mark.parametrize(
    ("value", "asked"),
    [
        ({"prompt": ASK + "\n", "chosen": TURNS, "rejected": [TURNS[0], reply(MEH)], "messages": TURNS}, TURNS[:1]),
        ({"chosen": TURNS, "rejected": [TURNS[0], reply(MEH)]}, TURNS[:1]),
        ({"prompt": [SYSTEM, TURNS[0]], "chosen": TURNS, "rejected": [SYSTEM, TURNS[0], reply(MEH)]}, TURNS[:1]),
        ({"prompt": LONG, "chosen": [TURNS[1]], "rejected": [reply(MEH)]}, LONG),
        ({"prompt": LONG, "chosen": TURNS, "rejected": [*LONG, reply(MEH)]}, LONG),
        ({"prompt": ASK, "chosen": [*LONG, TURNS[1]], "rejected": [*LONG, reply(MEH)]}, LONG),
        ({"prompt": "Hello", "chosen": [*LONG, TURNS[1]], "rejected": [*LONG, reply(MEH)]}, LONG),
        ({"messages": LONG, "chosen": REPLY, "rejected": reply(MEH)}, LONG),
        ({"question": ASK, "system": "S", "chosen": REPLY, "rejected": MEH}, TURNS[:1]),
        ({"instruction": "My pa", "input": "late.", "chosen": REPLY, "rejected": MEH}, [user("My pa\n\nlate.")]),
        ({"conversations": [{"from": "human", "value": ASK}], "chosen": {"from": "gpt", "value": REPLY}, "rejected": {"from": "gpt", "value": MEH}}, TURNS[:1]),
        ({"conversations": [{"from": "human", "value": ASK}, {"from": "gpt", "value": REPLY}], "chosen": REPLY, "rejected": MEH}, TURNS[:1]),
    ],
)  # fmt: skip
def test_both_replies_of_a_preference_answer_once(safe_gate: SafeGate, value: Any, asked: list[Any]) -> None:
    write("in.jsonl", {"id": "a", **value, "images": ["x"]})
    name = "messages" if "messages" in value else "sharegpt" if "conversations" in value else "trl"
    cases = imported(safe_gate, "in.jsonl", "--from", name)
    assert [case["tags"] for case in cases] == [["chosen"], ["rejected"]]
    said = [one.get("messages") or [user(one["user"]), reply(one["assistant"])] for one in cases]
    assert [[one if one["content"] != ASK + "\n" else user(ASK) for one in some] for some in said] == [
        [*asked, reply(text)] for text in (REPLY, MEH)
    ]
    assert 'the field "images" (1 record)' in left_out(safe_gate, "in.jsonl")
    assert cases_of("out.jsonl") == cases


def test_a_conversation_with_another_reply_than_both_is_a_case_too(safe_gate: SafeGate) -> None:
    both = {"messages": [TURNS[0], reply("Hm.")], "chosen": TURNS, "rejected": MEH}
    write("in.jsonl", {"id": "a", "tags": ["t"]} | both)
    found = [(case["id"], case["assistant"], case["tags"]) for case in imported(safe_gate, "in.jsonl")]
    assert found == [("a#1", REPLY, ["chosen", "t"]), ("a#2", MEH, ["rejected", "t"]), ("a#3", "Hm.", ["t"])]


@pytest.mark.parametrize("order", [(0, 1, 0, 1), (0, 0, 1, 1)])
def test_an_old_log_of_lm_eval_gives_each_document_once(safe_gate: SafeGate, order: tuple[int, ...]) -> None:
    logs = [*map(lm_eval, order), lm_eval(1, resps=[["Another."]])]
    write("in.jsonl", *({name: one for name, one in log.items() if name != "filter"} for log in logs))
    asked = ("Question 0?", "Question 1?", "Question 1?")
    replies = ("Answer 0.", "Answer 1.", "Another.")
    assert exchanges(imported(safe_gate, "in.jsonl")) == [*zip(("0", "1#1", "1#2"), asked, replies, strict=True)]
    assert "samples of another filter, with the same responses (2 records)" in left_out(safe_gate, "in.jsonl")
