"""The wall time of whole runs as ratios to `python -c pass`, measured in turn on this machine.

Each command runs several times, the commands taking turns so that a busy moment hits all of them;
the ratio is that of the fastest runs. The reference is the Node program whose three checks Synthesis
specifies: 150 ms for 26 cases where `python -c pass` took 11 ms. Then, by command, the modules that take
longest to import themselves (`-X importtime`). `python benchmarks/startup.py [ROUNDS]`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
SLOWEST = 8
REFERENCE = 150 / 11
"""How many times `python -c pass` the reference takes."""
FLOOR = "python -c pass"
GATE = [sys.executable, "-I", "-m", "safe_gate"]
SCORE = [*GATE, "score", "--batch", str(EXAMPLES / "clinical/I25_batch_1")]
EVAL = [*GATE, "eval", "--cases", str(EXAMPLES / "empathy.jsonl")]
RUN = [*GATE, "run", "--safe-batch", str(EXAMPLES / "clinical/*"), "--cases", str(EXAMPLES / "empathy.jsonl")]
POSTED = "run (all examples), a comment posted"
COMMANDS = {
    FLOOR: [sys.executable, "-I", "-c", "pass"],
    **({"node -e 0": ["node", "-e", "0"]} if shutil.which("node") else {}),
    "safe-gate --version": [*GATE, "--version"],
    "score (5 cases)": SCORE,
    "eval (28 cases)": EVAL,
    "eval, a number set": [*EVAL, "--fail-on", "3"],
    "run (all examples)": RUN,
    "run, a number set": [*RUN, "--max-unexpected-failures", "3"],
    POSTED: RUN,
}
MOST = {"score (5 cases)": 0.5, "eval (28 cases)": 0.5, "eval, a number set": 1.3, POSTED: 2.0}
"""How many times the reference a command should take at most."""


class _GitHub(BaseHTTPRequestHandler):
    """No comment is there, and any may be written."""

    def do_GET(self) -> None:
        if "/comments" in self.path:
            self._answer(200, [])
        else:
            self._answer(403, {})  # a job's token may not ask who it is

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(201, {"id": 1, "html_url": "https://github.com/o/r/pull/2#issuecomment-1"})

    def _answer(self, status: int, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response_only(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def pull_request(folder: Path) -> dict[str, str]:
    """Return the variables of a step on a pull request of a GitHub started for it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _GitHub)
    Thread(target=server.serve_forever, daemon=True).start()
    commits = {side: {"sha": sha * 40, "repo": {"full_name": "o/r"}} for side, sha in (("head", "a"), ("base", "b"))}
    event = {"action": "opened", "number": 2, "pull_request": {"number": 2, **commits}}
    (folder / "event.json").write_text(json.dumps(event), "utf-8")
    return {
        "GITHUB_ACTIONS": "true",
        "GITHUB_API_URL": f"http://127.0.0.1:{server.server_address[1]}",
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_REPOSITORY": "o/r",
        "GITHUB_SHA": "c" * 40,
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": str(folder / "event.json"),
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
        "GITHUB_WORKFLOW": "evals",
        "GITHUB_JOB": "gate",
        "GITHUB_RUN_ID": "1",
        "GITHUB_RUN_ATTEMPT": "1",
        "INPUT_GITHUB-TOKEN": "ghs_token",
        "NO_PROXY": "127.0.0.1",
    }


def seconds(command: list[str], folder: str, environ: Mapping[str, str]) -> float:
    """Return the wall time of a command."""
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, env=environ, capture_output=True, check=False)
    return time.perf_counter() - start


def fastest(rounds: int) -> dict[str, float]:
    """Return the fastest wall time of each command in seconds."""
    best = dict.fromkeys(COMMANDS, float("inf"))
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "INPUT_"))}
    with tempfile.TemporaryDirectory() as folder:
        step = outside | pull_request(Path(folder))
        for _ in range(rounds):
            for name, command in COMMANDS.items():
                best[name] = min(best[name], seconds(command, folder, step if name == POSTED else outside))
        if "\ncreated\n" not in (Path(folder) / "output").read_text("utf-8"):
            raise SystemExit(f"{POSTED}: no comment was posted")
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
    for name, taken in times.items():
        ratio = taken / times[FLOOR]
        wanted = f", {ratio / REFERENCE:.2f} x the reference, at most {MOST[name]} wanted" if name in MOST else ""
        print(f"{name:38} {ratio:6.1f} x {FLOOR}  ({taken * 1000:.0f} ms here){wanted}")
    for name, command in COMMANDS.items():
        if command[0] == sys.executable and name != POSTED:
            total, slowest = imports(command)
            print(f"{name} imports for {total:.0f} ms: {', '.join(f'{module} {ms:.1f}' for ms, module in slowest)}")


if __name__ == "__main__":
    main()
