"""What a user waits for, as ratios that one machine measures in one run: `python benchmarks/cost.py [ROUNDS]`.

Start: `eval` of the 28 cases in `examples/` against `python -c "import pydantic_settings"`, in wall time. Memory: the
peak of `eval` on 10,000 and on 60,000 short cases, on Linux, where `ru_maxrss` is in KiB. Cases: whole runs on
generated cases, in processor seconds less those of a run on ten cases, against `orjson.loads` (the floor: nothing in
Python reads the same text faster) and `json.loads` of it. With two jobs, the processor seconds are those of the busier
side, the parent or half of its workers, which is the wall time where two cores are free. What is compared takes turns;
the fastest of the rounds counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import orjson
from generate import write

FLOOR = [sys.executable, "-c", "import pydantic_settings"]
EVAL = [sys.executable, "-I", "-m", "safe_gate", "eval", "--quiet", "--cases"]
CASES = Path(__file__).parent.parent / "examples" / "empathy.jsonl"
SOME, MANY = 10_000, 60_000
MOST_START, MOST_GROWTH, MOST_MEMORY = 2.5, 1.5, 160
"""The most that start-up, growth of memory, and MiB of 10,000 cases may be."""
_SPLIT = """
import resource, sys
from safe_gate.cli import main
main(sys.argv[1:])
own, workers = (sum(resource.getrusage(of)[:2]) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
print(max(own, workers / 2), file=sys.stderr)
"""
KINDS = {
    "short": ["eval", "--cases"],
    "long": ["eval", "--cases"],
    "long, 2 jobs": ["eval", "--jobs", "2", "--cases"],
    "safe": ["score", "--format", "json", "--output", "o.json", "--batch"],
}
COUNT, PASSES = 1_000, 10
MOST = {"short": 20, "long": 40}
"""How many times the floor a case of a kind should cost at most."""


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


def cost(command: list[str], path: Path) -> float:
    """Return the processor seconds of a run on a file, beside which it writes: those of its busier side."""
    run = [sys.executable, "-I", "-c", _SPLIT, *command, path.name]
    ran = subprocess.run(run, cwd=path.parent, capture_output=True, text=True, check=False)
    return float(ran.stderr.split()[-1])


def parsing(loads: Callable[[bytes], object], path: Path) -> float:
    """Return the processor seconds that a parser takes for a file's lines, the fewest of some passes: each is short."""
    lines, taken = path.read_bytes().splitlines(), []
    for _ in range(PASSES):
        start = time.process_time()
        for line in lines:
            loads(line)
        taken.append(time.process_time() - start)
    return min(taken)


def main() -> None:
    """Print a line for each figure."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    turns = [(seconds(FLOOR), seconds([*EVAL, str(CASES)])) for _ in range(rounds)]
    floor, start = (min(some) for some in zip(*turns, strict=True))
    print(f"eval of 28 cases: {start / floor:.2f} times the import of pydantic_settings (at most {MOST_START})")
    with tempfile.TemporaryDirectory() as folder:
        many, few = Path(folder) / "many.json", Path(folder) / "few.json"
        held = []
        for count in (SOME, MANY):
            write("short", count, many)
            held.append(peak([*EVAL, str(many)]))
        print(f"peak memory of {SOME:,} cases: {held[0]:.0f} MiB (at most {MOST_MEMORY})")
        print(f"{MANY:,} against {SOME:,} cases: {held[1] / held[0]:.2f} times (at most {MOST_GROWTH})")
        for name, command in KINDS.items():
            for path, count in ((many, COUNT), (few, 10)):
                write(name.partition(",")[0], count, path)
            found = [
                (
                    cost(command, many),
                    cost(command, few),
                    parsing(orjson.loads, many),
                    parsing(json.loads, many),
                )
                for _ in range(max(1, rounds // 3))
            ]
            most, least, floor, parsed = (min(column) for column in zip(*found, strict=True))
            spent = most - least
            wanted = f", at most {MOST[name]} wanted" if name in MOST else ""
            print(
                f"{name:14} {1e6 * spent / COUNT:6.0f} us a case, {spent / floor:5.0f} x orjson.loads"
                f" ({1e6 * floor / COUNT:.1f} us{wanted}), {spent / parsed:5.0f} x json.loads"
            )


if __name__ == "__main__":
    main()
