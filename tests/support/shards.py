"""A run in shards."""

import io
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from safe_gate import cli
from tests.support.cases import SafeGate, read_json, write_json


def scored(safe_gate: SafeGate, of: int, *flags: str) -> list[str]:
    """Score a run in shards; return their files."""
    for index in range(1, of + 1):
        assert safe_gate("run", "--shard", f"{index}/{of}", "--report-dir", "shards", *flags).code == 0
    return [f"shards/safe-gate.shard-{index}-of-{of}.json" for index in range(1, of + 1)]


content = read_json


def edit(file: str, change: Callable[[Any], object]) -> None:
    found = content(file)
    change(found)
    write_json(file, found)


def refusal(safe_gate: SafeGate, *arguments: str) -> str:
    """Merge shards, which cannot be, and return why."""
    ran = safe_gate("merge", *arguments)
    assert ran.code == 3, ran.log
    return ran.err


def written(folder: str = "reports") -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(folder).iterdir() if "shard" not in path.name}


def ran(*arguments: str) -> tuple[int, str]:
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(out):
        code = cli.main(list(arguments))
    return code, out.getvalue()
