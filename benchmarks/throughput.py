"""What cases cost, as ratios to parsing them: `python benchmarks/throughput.py [CASES] [ROUNDS]`.

Whole runs of `eval` and `score` on generated cases, in processor seconds less those of a run on ten cases,
against `orjson.loads` (the floor: nothing in Python reads the same text faster) and `json.loads` of it; in turn,
the fastest of the rounds. With two jobs: the processor seconds of the busier side, the parent or half of its
workers, which is the wall time where two cores are free.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import orjson
from generate import write

_SPLIT = """
import resource, sys
from safe_gate.cli import main
main(sys.argv[1:])
own, workers = (sum(resource.getrusage(of)[:2]) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
print(own, workers, file=sys.stderr)
"""
KINDS = {
    "short": ["eval", "--cases"],
    "long": ["eval", "--cases"],
    "long, 2 jobs": ["eval", "--jobs", "2", "--cases"],
    "safe": ["score", "--format", "json", "--output", "o.json", "--batch"],
}
PASSES = 10
MOST = {"short": 20, "long": 40}
"""How many times the floor a case of a kind should cost at most."""


def split(command: list[str], path: Path) -> tuple[float, float]:
    """Return the processor seconds of a run on a file, beside which it writes: its own, and those of its workers."""
    run = [sys.executable, "-I", "-c", _SPLIT, *command, path.name]
    ran = subprocess.run(run, cwd=path.parent, capture_output=True, text=True, check=False)
    own, workers = ran.stderr.split()[-2:]
    return float(own), float(workers)


def cost(command: list[str], path: Path) -> float:
    """Return the processor seconds of a run, those of the busier side if it has two workers."""
    own, workers = split(command, path)
    return max(own, workers / 2)


def parsing(loads: Callable[[bytes], object], path: Path) -> float:
    """Return the processor seconds that a parser takes for a file's lines, the fewest of some passes: each is short."""
    lines = path.read_bytes().splitlines()
    best = math.inf
    for _ in range(PASSES):
        start = time.process_time()
        for line in lines:
            loads(line)
        best = min(best, time.process_time() - start)
    return best


def main() -> None:
    """Print a line a kind."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with tempfile.TemporaryDirectory() as folder:
        many, few = Path(folder) / "many.json", Path(folder) / "few.json"
        for name, command in KINDS.items():
            for path, cases in ((many, count), (few, 10)):
                write(name.partition(",")[0], cases, path)
            found = [
                (cost(command, many), cost(command, few), parsing(orjson.loads, many), parsing(json.loads, many))
                for _ in range(rounds)
            ]
            most, least, floor, parsed = (min(column) for column in zip(*found, strict=True))
            spent = most - least
            wanted = f", at most {MOST[name]} wanted" if name in MOST else ""
            print(
                f"{name:14} {1e6 * spent / count:6.0f} us a case, {spent / floor:5.0f} x orjson.loads"
                f" ({1e6 * floor / count:.1f} us{wanted}), {spent / parsed:5.0f} x json.loads"
            )


if __name__ == "__main__":
    main()
