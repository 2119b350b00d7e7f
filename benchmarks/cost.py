"""What a user waits for, as ratios that one machine measures in one run: `python benchmarks/cost.py [ROUNDS]`.

Start: `eval` of the 28 cases in `examples/` against `python -c "import pydantic_settings"`: wall time, in turn, the
fastest of the rounds. Memory: the peak of `eval` on 10,000 and on 60,000 short cases, on Linux, where `ru_maxrss` is in
KiB.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from generate import write

FLOOR = [sys.executable, "-c", "import pydantic_settings"]
EVAL = [sys.executable, "-I", "-m", "safe_gate", "eval", "--quiet", "--cases"]
CASES = Path(__file__).parent.parent / "examples" / "empathy.jsonl"
SOME, MANY = 10_000, 60_000
MOST_START, MOST_GROWTH, MOST_MEMORY = 2.5, 1.5, 160
"""The most that start-up, growth of memory, and MiB of 10,000 cases may be."""


def seconds(command: list[str]) -> float:
    """Return the wall time of a command."""
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return time.perf_counter() - start


def peak(command: list[str]) -> float:
    """Return the most memory that a command holds, in MiB."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0
    return usage.ru_maxrss / 1024


def main() -> None:
    """Print a line for each figure."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cases.jsonl"
        floor, start = (
            min(some)
            for some in zip(*((seconds(FLOOR), seconds([*EVAL, str(CASES)])) for _ in range(rounds)), strict=True)
        )
        print(f"eval of 28 cases: {start / floor:.2f} times the import of pydantic_settings (at most {MOST_START})")
        held = []
        for count in (SOME, MANY):
            write("short", count, path)
            held.append(peak([*EVAL, str(path)]))
        print(f"peak memory of {SOME:,} cases: {held[0]:.0f} MiB (at most {MOST_MEMORY})")
        print(f"{MANY:,} against {SOME:,} cases: {held[1] / held[0]:.2f} times (at most {MOST_GROWTH})")


if __name__ == "__main__":
    main()
