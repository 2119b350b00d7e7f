"""The wall time of whole runs as ratios to `python -c pass`, measured in turn on this machine.

Each command runs several times, the commands taking turns so that a busy moment hits all of them;
the ratio is that of the fastest runs. Then, by command, the modules that take longest to import
themselves (`-X importtime`). `python benchmarks/startup.py [ROUNDS]`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
SLOWEST = 8
GATE = [sys.executable, "-I", "-m", "safe_gate"]
COMMANDS = {
    "python -c pass": [sys.executable, "-I", "-c", "pass"],
    "safe-gate --version": [*GATE, "--version"],
    "safe-gate score (5 cases)": [*GATE, "score", "--batch", str(EXAMPLES / "clinical/I25_batch_1")],
    "safe-gate eval (the examples)": [*GATE, "eval", "--cases", str(EXAMPLES / "empathy.jsonl")],
    "safe-gate run (all examples)": [
        *GATE,
        *("run", "--safe-batch", str(EXAMPLES / "clinical/*"), "--synthesis-cases", str(EXAMPLES / "empathy.jsonl")),
    ],
    "the same, a number set": [
        *GATE,
        *("run", "--safe-batch", str(EXAMPLES / "clinical/*"), "--synthesis-cases", str(EXAMPLES / "empathy.jsonl")),
        *("--max-unexpected-failures", "3"),
    ],
}


def fastest(rounds: int) -> dict[str, float]:
    """Return the fastest wall time of each command in seconds."""
    best = dict.fromkeys(COMMANDS, float("inf"))
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for name, command in COMMANDS.items():
                start = time.perf_counter()
                subprocess.run(command, cwd=folder, capture_output=True, check=False)
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def imports(command: list[str]) -> tuple[float, list[tuple[float, str]]]:
    """Return how long a command imports in all, and its slowest modules less what they import, in ms."""
    with tempfile.TemporaryDirectory() as folder:
        timed = [command[0], "-X", "importtime", *command[1:]]
        log = subprocess.run(timed, cwd=folder, capture_output=True, text=True, check=False).stderr
    marked = (line for line in log.splitlines() if line.startswith("import time:"))
    lines = [line.removeprefix("import time:").split("|") for line in marked]
    own = [(int(self) / 1000, name.strip()) for self, _, name in lines if self.strip().isdigit()]
    return sum(ms for ms, _ in own), sorted(own, reverse=True)[:SLOWEST]


def main() -> None:
    """Print a line for each command, and one for what it imports."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    times = fastest(rounds)
    floor = times["python -c pass"]
    for name, seconds in times.items():
        print(f"{name:32} {seconds / floor:6.1f} x  ({seconds * 1000:.0f} ms here)")
    for name, command in COMMANDS.items():
        total, slowest = imports(command)
        print(f"{name} imports for {total:.0f} ms: {', '.join(f'{module} {ms:.1f}' for ms, module in slowest)}")


if __name__ == "__main__":
    main()
