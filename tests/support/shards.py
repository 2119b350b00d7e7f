"""A run in shards."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from safe_gate import cli
from tests.support.cases import SafeGate


def scored(safe_gate: SafeGate, of: int, *flags: str) -> list[str]:
    """Score a run in shards; return their files."""
    for index in range(1, of + 1):
        assert safe_gate("run", "--shard", f"{index}/{of}", "--report-dir", "shards", *flags).code == 0
    return [f"shards/safe-gate.shard-{index}-of-{of}.json" for index in range(1, of + 1)]


def written(folder: str = "reports") -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(folder).iterdir() if "shard" not in path.name}


def ran(*arguments: str) -> tuple[int, str]:
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(out):
        code = cli.main(list(arguments))
    return code, out.getvalue()
