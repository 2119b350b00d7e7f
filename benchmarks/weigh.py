"""What a Synthesis case weighs, as the arguments of a simulation: `python benchmarks/weigh.py KIND [CASES] [ROUNDS]`.

`python benchmarks/simulate.py $(python benchmarks/weigh.py long)` works out a cluster by what is measured here. KIND
is `short` or `long`. Processor microseconds a case, the fewest of the rounds: `score` of a whole run in one process,
less those of a run on few cases; `collect` of the parent whose two workers score, less those on half of the cases.
Bytes: of a `case` as read, of its `result` and of all `totals` in the report, without blanks. `merge`: microseconds in
which two totals are added up.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Sequence
from operator import add
from pathlib import Path

from generate import write
from throughput import cost, split

from safe_gate.core.model import JsonObject
from safe_gate.evaluators.synthesis.totals import Totals

FEW = 10
EVAL = ["eval", "--out", "report.json"]


def whole(path: Path) -> float:
    """Return the processor seconds of a run in one process, whose report stands beside the cases."""
    return cost([*EVAL, "--cases"], path)


def parent(path: Path) -> float:
    """Return the processor seconds of the parent of two workers."""
    return split([*EVAL, "--jobs", "2", "--cases"], path)[0]


def merging(results: Sequence[JsonObject]) -> float:
    """Return the seconds in which the totals of so many results are added to themselves."""
    totals = Totals.of(results)
    start = time.process_time()
    for _ in range(100):
        add(totals, totals)
    return (time.process_time() - start) / 100


def main() -> None:
    """Print the arguments on one line."""
    kind = sys.argv[1] if len(sys.argv) > 1 else "long"
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 2
    with tempfile.TemporaryDirectory() as folder:
        many, half, few = (Path(folder) / name for name in ("many.jsonl", "half.jsonl", "few.jsonl"))
        for path, cases in ((many, count), (half, count // 2), (few, FEW)):
            write(kind, cases, path)
        runs = ((whole, few), (parent, half), (parent, many), (whole, many))
        started, half_taken_in, taken_in, scored = (min(spent(path) for _ in range(rounds)) for spent, path in runs)
        report = json.loads((Path(folder) / "report.json").read_text("utf-8"))
        size = {part: len(json.dumps(value, separators=(",", ":"))) for part, value in report.items()}
        weights = {
            "score": 1e6 * (scored - started) / (count - FEW),
            "collect": 1e6 * (taken_in - half_taken_in) / (count - count // 2),
            "case": many.stat().st_size / count,
            "result": size["results"] / count,
            "totals": sum(size.values()) - size["results"] - size["failures"],
            "merge": 1e6 * merging(report["results"]),
        }
    print(*(f"--{name} {float(f'{value:.3g}'):g}" for name, value in weights.items()))  # three digits, none as 1e+03


if __name__ == "__main__":
    main()
