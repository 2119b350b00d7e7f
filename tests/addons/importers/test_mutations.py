"""Recordings with random faults: each is imported or refused in a sentence, and what is written is valid."""

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.addons.importers.test_formats import FORMS
from tests.support.cases import SafeGate
from tests.support.importing import CSV, FIXTURES, OUTPUT, TURNS, request, response

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 5, -1.5, float("nan"), float("inf"), 10**400, "", " ", "x", "null", "\ud800", "\x00", [], [None], [[]],
    [5], {}, {"a": None}, {"role": "user"}, {"role": 5, "content": []}, {"type": "text", "text": 5}, [{"type": "text"}], TURNS,
    [TURNS], "[" * 200, json.dumps(TURNS), '{"role": "assistant", "content": {}}', "attachment://a", "[PASS] x", "GENERATION",
)  # fmt: skip
"""Values that any field may hold by mistake."""
PIECES = (
    b"", b'"', b"\\", b",", b";", b"\n", b"\r\n", b"\x00", b"\xff", b"{", b"}", b"[", b"]", b":", b"NaN", b"1e999", b"-Infinity",
    b"null", b"\xef\xbb\xbf", b"\xff\xfe", b"\\ud800", b"\\u0000", b"sep=;\n", b"PAR1", b"PK\x03\x04", b"9" * 5_000, b"[" * 500,
)  # fmt: skip
OWN = {"id": "a", "user": "x", "assistant": "y", "checks": ["topic_pivot"], "expected": {"topic_pivot": None}, "x_a": 1}


def samples() -> dict[str, Any]:
    """Return records of every format by the name of a file, and files as they are."""
    files = {path.name: path.read_bytes() for path in FIXTURES.iterdir()}
    logs = {name: json.loads(files[name]) for name in ("inspect.json", "promptfoo.json", "deepeval.json")}
    return files | logs | {f"{name.replace(' ', '-')}.jsonl": records for name, (_, records, _) in FORMS.items()} | {
        "rows.csv": CSV.encode(),
        "langfuse.csv": b'id,traceId,type,input,output\na,t,GENERATION,"[{}]","""x\\n"""\n',
        "batch.jsonl": [request("a", TURNS[0]), response("a", "y")],
        "own.jsonl": [OWN],
        "outputs.jsonl": [{"test_id": "a", "output": OUTPUT}, {"test_id": "b"} | OUTPUT],
    }  # fmt: skip


def mutated(value: Any, chance: random.Random) -> Any:
    """Return a value with another value, or none, at one place in it."""
    value = copy.deepcopy(value)
    inside = value
    for _ in range(chance.randint(1, 8)):
        if not isinstance(inside, dict | list) or not inside:
            break
        keys = list(inside) if isinstance(inside, dict) else range(len(inside))
        key = chance.choice(keys)
        if not isinstance(inside[key], dict | list) or chance.random() < 0.2:
            if isinstance(inside, dict) and chance.random() < 0.2:
                del inside[key]
            else:
                inside[key] = chance.choice(VALUES)
            break
        inside = inside[key]
    return value


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Return bytes with other ones at a few places."""
    for _ in range(chance.randint(1, 3)):
        start = chance.randrange(len(data) + 1)
        data = data[:start] + chance.choice(PIECES) + data[start + chance.choice((0, 1, 5, 1_000)) :]
    return data


def encoded(name: str, value: Any, chance: random.Random) -> tuple[str, bytes]:
    """Return the file of some records: of lines, a list, one document or a table."""
    stem = name.split(".", maxsplit=1)[0]
    if not isinstance(value, list) or chance.random() < 0.3:
        return f"{stem}.json", json.dumps(value, indent=chance.choice((None, 1))).encode()
    return f"{stem}.jsonl", "".join(json.dumps(one) + "\n" for one in value).encode()


def recordings(number: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """Yield files with random faults."""
    chance, originals = random.Random(seed), list(samples().items())
    for _ in range(number):
        name, value = chance.choice(originals)
        if isinstance(value, bytes):
            yield name, damaged(value, chance)
            continue
        for _ in range(chance.randint(0, 3)):
            value = mutated(value, chance)
        named, data = encoded(name, value, chance)
        yield named, damaged(data, chance) if chance.random() < 0.3 else data


FLAGS: tuple[tuple[str, ...], ...] = (
    *[(), ("--skip-invalid",), ("--skip-invalid",)] * 2,
    ("--skip-invalid", "--evaluator", "safe_v0"),
    ("--skip-invalid", "--map", "user=input,assistant=output"),
)


@pytest.mark.parametrize(
    ("number", "seed"), [(40, 99), *(pytest.param(2_000, seed, marks=pytest.mark.soak) for seed in range(10))]
)
def test_what_comes_of_faulty_recordings_is_cases_or_a_sentence(safe_gate: SafeGate, number: int, seed: int) -> None:
    for place, (name, data) in enumerate(recordings(number, seed)):
        flags = FLAGS[place % len(FLAGS)]
        Path(name).write_bytes(data)
        ran = safe_gate("import", name, "--out", "out.jsonl", "--force", *flags)
        told = f"{name} {flags} {data[:2_000]!r}\n{ran.log[:2_000]}"
        assert ran.code in (0, 3), told
        assert not [one for one in ("internal error", "Traceback") if one in ran.log], told
        if ran.code == 0:
            valid = safe_gate("validate", "out.jsonl")
            assert valid.code == 0, f"{told}\n{valid.log}"
        Path("out.jsonl").unlink(missing_ok=True)
        Path(name).unlink()
