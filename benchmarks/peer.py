"""SAFE v0 against a peer: `python benchmarks/peer.py [CASES] [ROUNDS]`.

promptfoo asks the same of the same recorded outputs: its provider `echo` gives them back, and every signal and phrase
to find is an `icontains`, every forbidden term a `not-icontains`. It is installed from npm, once, into the user's cache
folder, without running anybody's install scripts. It writes no report here, and `safe-gate score` does. Both take
turns, whole runs, start-up included; the fastest of the rounds. Where Node or the package is not to be had, one line
says so.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

from generate import safe_cases, write

PEER = "promptfoo@0.121.20"  # the last that runs on Node 20
GATE = "safe-gate score"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "safe-gate"
SCORED = {PEER: (0, 100), GATE: (0, 1, 2)}
"""The exit codes that say that all cases were scored."""


class NotHere(Exception):
    """The peer cannot be had, and why."""


def installed() -> Path:
    """Return the peer's program, installed if it is not yet. Raises NotHere."""
    if not (shutil.which("node") and shutil.which("npm")):
        raise NotHere("node and npm are not on the PATH")
    folder = CACHE / PEER
    program = folder / "node_modules" / ".bin" / PEER.partition("@")[0]
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        print(f"Installing {PEER} into {folder} (2 GB, some minutes) ...", flush=True)
        quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--omit=peer"]
        npm = ["npm", "install", "--prefix", str(folder), *quiet, PEER]
        if subprocess.run(npm, capture_output=True, check=False).returncode:
            shutil.rmtree(folder)
            raise NotHere(f"npm could not install it; `npm install {PEER}` says why")
    return program


def asked(case: dict[str, Any]) -> dict[str, Any]:
    """Return a SAFE v0 case as a test of the peer: one text, and an assertion for each thing expected of it."""
    output, wanted = case["output"], case["expectations"]
    found = [*wanted["signal_generation"]["must_find_signals"], *wanted["event_summary"]["must_contain_phrases"]]
    return {
        "vars": {"output": "\n".join([*output["signals"], output["summary"], *output["followup_questions"]])},
        "assert": [
            *({"type": "icontains", "value": text} for text in found),
            *({"type": "not-icontains", "value": text} for text in wanted["followup_questions"]["forbidden_terms"]),
        ],
    }


def cost(name: str, command: list[str], folder: str) -> tuple[float, float]:
    """Return a command's wall time and processor time in seconds. Raises NotHere if it did not score."""
    quiet = {"PROMPTFOO_CONFIG_DIR": folder, "PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1"}
    before, start = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]), time.perf_counter()
    ran = subprocess.run(command, cwd=folder, env=os.environ | quiet, capture_output=True, text=True, check=False)
    wall = time.perf_counter() - start
    if ran.returncode not in SCORED[name]:
        raise NotHere(f"{name} ended with {ran.returncode}: {ran.stderr.strip()[-200:]}")
    return wall, sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - before


def compare(program: Path, count: int, rounds: int) -> dict[str, tuple[float, ...]]:
    """Return the wall time and the processor time of both on so many cases, in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        tests = [asked(case) for case in islice(safe_cases(), count)]
        config = {"prompts": ["{{output}}"], "providers": ["echo"], "tests": tests}
        (Path(folder) / "peer.json").write_text(json.dumps(config), "utf-8")
        write("safe", count, Path(folder) / "safe.json")
        quiet = ["--no-cache", "--no-write", "--no-table", "--no-progress-bar"]
        score = ["score", "--format", "json", "--output", "o.json", "--batch", "safe.json"]
        commands = {
            PEER: ["node", str(program), "eval", *quiet, "--config", "peer.json"],
            GATE: [sys.executable, "-I", "-m", "safe_gate", *score],
        }
        taken = [{name: cost(name, command, folder) for name, command in commands.items()} for _ in range(rounds)]
    return {name: tuple(map(min, zip(*(times[name] for times in taken), strict=True))) for name in commands}


def main() -> None:
    """Print a line each, and the ratio."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    try:
        best = compare(installed(), count, rounds)
    except NotHere as why:
        print(f"No comparison with {PEER}: {why}.")
        return
    for name, (wall, processor) in best.items():
        print(f"{name:20} {count} cases: {wall:6.2f} s, {processor:6.2f} processor seconds")
    wall, processor = (slow / fast for slow, fast in zip(best[PEER], best[GATE], strict=True))
    print(f"{PEER} takes {wall:.0f} times the wall time of {GATE}, {processor:.0f} times its processor time")


if __name__ == "__main__":
    main()
