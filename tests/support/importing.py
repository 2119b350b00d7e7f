"""Files of other tools, imported."""

import json
from pathlib import Path
from typing import Any

from safe_gate.core.case import CaseAt
from safe_gate.model.problems import Place
from safe_gate.scoring import sides
from safe_gate.settings import Settings
from tests.support.cases import DATA, SYNTHESIS, SafeGate

FIXTURES = DATA / "import"
PLACE, SETTINGS = Place("out.jsonl", 1), sides.scoring_settings(Settings())
ASK, REPLY = "My parcel is late.", "I am sorry. It left our shop on Monday."
EARLIER = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Good morning."}]
SYSTEM = {"role": "system", "content": "Be kind."}
TURNS = [{"role": "user", "content": ASK}, {"role": "assistant", "content": REPLY}]


def imported(safe_gate: SafeGate, *arguments: str | Path) -> list[dict[str, Any]]:
    """Import, which succeeds, and return the lines written, which are valid."""
    said(safe_gate, *arguments)
    cases = cases_of("out.jsonl")
    if "test_id" not in cases[0]:
        assert safe_gate("validate", "out.jsonl").code == 0
    return cases


def cases_of(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_bytes().decode("utf-8").split("\n")[:-1]]


def refusal(safe_gate: SafeGate, *arguments: str | Path) -> str:
    """Import, which is refused and writes nothing, and return what it says of the problems."""
    ran = safe_gate("import", *arguments, "--out", "none.jsonl")
    assert ran.code == 3, ran.log
    assert not Path("none.jsonl").exists()
    return ran.err


def said(safe_gate: SafeGate, *arguments: str | Path) -> list[str]:
    """Import, which succeeds, and return the lines that say what was read, left out and written."""
    ran = safe_gate("import", *arguments, "--out", "out.jsonl", "--force")
    assert ran.code == 0, ran.log
    return ran.out.splitlines()


def left_out(safe_gate: SafeGate, *arguments: str | Path) -> list[str]:
    """Import, and return what is left out of how many records."""
    lines = said(safe_gate, *arguments)
    return [line.removeprefix("Left out: ") for line in lines if line.startswith("Left out: ")]


def exchanges(cases: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Return the id of each case, and its last reply with what it answers."""
    found: Any = (case for one in cases for case in SYNTHESIS.parse(one, CaseAt(PLACE, ""), SETTINGS))
    return [(case.id, case.user, case.assistant) for case in found]


def write(name: str, *values: Any, is_list: bool = False, indent: int | None = None) -> str:
    """Write values, each on a line or all in a list; `indent` spreads each value over lines."""
    lines = "".join(json.dumps(value, indent=indent) + "\n" for value in values)
    text = json.dumps(values, indent=1) if is_list else lines
    Path(name).write_text(text, "utf-8")
    return name


def result(test: int, provider: str, response: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "id": f"{test}-{provider}",
        "testIdx": test,
        "promptIdx": 0,
        "promptId": "p",
        "provider": {"id": provider, "label": ""},
        "prompt": {"raw": f"Where is parcel {test}?", "label": "Where is parcel {{n}}?"},
        "vars": {"n": test},
        "testCase": {"vars": {"n": test}, "assert": [], "metadata": {"testCaseId": f"t{test}"}},
        "response": response,
        "success": True,
        "failureReason": 0,
        "score": 1,
    } | fields


def promptfoo(*results: dict[str, Any]) -> dict[str, Any]:
    inner = {"version": 3, "timestamp": "t", "prompts": [{"raw": "x"}], "results": results, "stats": {"errors": 1}}
    return {"evalId": "e", "results": inner, "config": {"tests": [{"vars": {"n": ']}"{'}}]}, "shareableUrl": None}


def request(id_: str, *messages: dict[str, Any]) -> dict[str, Any]:
    body = {"model": "m", "messages": list(messages)}
    return {"custom_id": id_, "method": "POST", "url": "/v1/chat/completions", "body": body}


def response(id_: str, text: str | None, status: int = 200) -> dict[str, Any]:
    body = {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]}
    return {"id": f"r-{id_}", "custom_id": id_, "response": {"status_code": status, "body": body}, "error": None}


LANGFUSE = {"trace_id": "t", "start_time": "2026-01-01", "environment": "default", "metadata": {}}


def lm_eval(doc: int, **fields: Any) -> dict[str, Any]:
    arguments = {"gen_args_0": {"arg_0": f"Question {doc}?", "arg_1": {"until": ["\n"]}}}
    return {
        "doc_id": doc, "doc": {"q": 1}, "target": "x", "arguments": arguments, "resps": [[f"Answer {doc}."]],
        "filtered_resps": [f"Answer {doc}."], "filter": "none", "metrics": ["exact_match"], "exact_match": 1.0,
    } | fields  # fmt: skip


CSV = '\ufeffid;"prompt";response;topic\r\na;"late;\r\nagain "" ";" sorry ";x\r\nb;null;7;\r\nc;hello;;y\r\n'
OUTPUT = {"signals": ["Fever"], "summary": "She went home.", "followup_questions": ["Who called?"]}
