"""Send the messages of the cases to your application and record its answers.

Fill in `reply` for Synthesis cases, `pipeline` for SAFE v0 cases, and `MODEL`. Then run `python evals/record.py`.
Nothing is written unless every case is answered.
A case with a tag of `KEPT`, such as a negative example, keeps its last reply.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
MODEL = ""  # the id of your application's model, for safe-gate.lock.json

KEPT = {"negative_example"}  # add the tags of yours that say that a reply should fail, such as pivot-fail


def reply(message: Any) -> str:
    """Return the reply to a message: what the person wrote (`user`), or the list of `messages` before the reply."""
    raise NotImplementedError("reply")


def pipeline(payload: Any) -> dict[str, Any]:
    """Return the output for the `patient_payload` of a case.

    Its keys are `signals` (a list of texts), `summary` (text) and `followup_questions` (a list of texts).
    """
    raise NotImplementedError("pipeline")


def main() -> int:
    """Record the answers to all cases, and run `safe-gate lock`. Returns 0, 1 if nothing is written, or lock's code."""
    written: dict[Path, list[bytes]] = {}
    place = "the config file"
    try:
        known = _config().get("recordings") or ()
        for path in sorted(FOLDER.glob("*.jsonl")):
            if path.name.endswith(".outputs.jsonl"):
                continue
            written[path] = []
            for number, line in enumerate(path.read_text("utf-8-sig").split("\n"), start=1):
                place = f"{path.name}:{number}"
                if line.strip():
                    case = json.loads(line)
                    _replace_replies(case)
                    written[path].append(_line(case))
        for path in sorted(FOLDER.glob("*_batch_*.json")):
            place = path.name
            outputs = written[path.with_suffix(".outputs.jsonl")] = []
            for case in json.loads(path.read_text("utf-8-sig"))["test_cases"]:
                place = f"{path.name}: {case['test_id']}"
                if "patient_payload" not in case:
                    raise ValueError("the case has no patient_payload, which the pipeline gets; add it")
                output = _output(pipeline(case["patient_payload"]))
                outputs.append(_line({"test_id": case["test_id"], "output": output}))
        for path, lines in written.items():
            place = path.name
            path.write_bytes(b"".join(lines))
            print(f"{path.name}: {len(lines)} written")
    except NotImplementedError as error:
        print(f"record.py: fill in the function {error} first; nothing is written", file=sys.stderr)
        return 1
    except Exception as error:  # whatever the application raises
        print(f"{place}: {type(error).__name__}: {error}; nothing is written", file=sys.stderr)
        return 1
    if not find_spec("safe_gate"):
        print("recorded; now run safe-gate lock")
        return 0
    named = [one for one in known if FOLDER.parent / one in written]
    command = [sys.executable, "-m", "safe_gate", "lock", *map(str, named or written), "--model", MODEL]
    return subprocess.run(command, check=False, cwd=FOLDER.parent).returncode  # noqa: S603


def _replace_replies(case: dict[str, Any]) -> None:
    """Replace the reply of a case; of a conversation the last reply, or all with `turns: all` in case or config.

    A conversation that ends with another message gets a reply at its end.
    """
    keeps_last = not KEPT.isdisjoint(case.get("tags", ()))
    if "messages" not in case:
        if not keeps_last:
            case["assistant"] = _text(reply(case["user"]))
        return
    messages, turns = case["messages"], case.get("turns", _config().get("turns"))
    if messages[-1]["role"] != "assistant" and not keeps_last:
        messages.append({"role": "assistant", "content": ""})
    for place, message in enumerate(messages):
        is_judged = not keeps_last if place == len(messages) - 1 else turns == "all"
        if message["role"] == "assistant" and is_judged:
            before = [{key: one[key] for key in ("role", "content")} for one in messages[:place]]
            message["content"] = _text(reply(before))


@cache
def _config() -> dict[str, Any]:
    """Return the config file beside this folder, which may have comments."""
    texts = (path.read_text("utf-8-sig") for path in FOLDER.parent.glob("safe*.config.json"))
    bare = (_COMMENT.sub(lambda found: found[1] or "", one) for one in texts)
    return {key: value for one in bare for key, value in json.loads(one).items()}


_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)


def _line(row: dict[str, Any]) -> bytes:
    return (json.dumps(row, ensure_ascii=False) + "\n").encode()  # before any file is opened: it may be no text


def _text(answer: Any) -> str:
    if not isinstance(answer, str):
        raise TypeError(f"reply returned {type(answer).__name__}; expected text")
    return answer


def _output(answer: Any) -> dict[str, Any]:
    keys = {"signals", "summary", "followup_questions"}
    if not (isinstance(answer, dict) and set(answer) == keys):
        raise TypeError("pipeline returned something else; expected signals, summary and followup_questions")
    return answer


if __name__ == "__main__":
    sys.exit(main())
