"""What scoring and `eval` cost beside the last commit that added weights, measured in turn in one run, as ratios.

Its package is taken from the clone (`git archive`). `python benchmarks/before.py [ROUNDS]`.
"""

from __future__ import annotations

import io
import json
import os
import resource
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent.parent
BEFORE = "e173bf5"
DATA = ROOT / "data" / "synthesis"
FEWEST, MOST = 120, 180
SHORT_CASES = 20_000

SCORE = """
import json, sys, time
from safe_gate.scoring import measure
from safe_gate.settings.options import Options
from safe_gate.evaluators.synthesis.names import CHECKS
from safe_gate.evaluators.synthesis.report import result_json
from safe_gate.evaluators.synthesis.score import Case, score_case
from safe_gate.core.model import Place

cases = [json.loads(line) for line in sys.stdin]
cases = [Case(c["id"], c["user"], c["assistant"], tuple(CHECKS), {}, (), Place("")) for c in cases]
rules = measure.synthesis_rules(Options())
best = float("inf")
for _ in range(4):
    start = time.process_time()
    for case in cases:
        result_json(score_case(case, rules))
    best = min(best, time.process_time() - start)
print(best / len(cases))
"""


def run(tree: Path, *command: str, given: str = "") -> tuple[str, float]:
    """Return what a command of a tree says, and its processor time in seconds."""
    before = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    environ = {**os.environ, "PYTHONPATH": str(tree)}
    line = [sys.executable, *command]
    ran = subprocess.run(line, input=given, capture_output=True, text=True, cwd=tree, env=environ, check=False)
    if ran.returncode not in (0, 2):  # 2: cases fail, as some are meant to
        raise SystemExit(ran.stderr[:2000])
    return ran.stdout, sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - before


def main() -> None:
    """Print a line for each measure: now, before, and how many times as fast."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    lines = [line for path in sorted(DATA.glob("dev_*.jsonl")) for line in path.read_text("utf-8").splitlines()]
    known = ("id", "user", "assistant", "checks")  # fields of either commit
    recorded = [{key: case[key] for key in known} for case in map(json.loads, lines)]
    long = "".join(f"{json.dumps(c)}\n" for c in recorded if FEWEST <= len(c["assistant"].split()) <= MOST)
    short = [c for c in recorded if len(c["assistant"].split()) <= 40]
    with TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", BEFORE], cwd=ROOT, capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
            packed.extractall(folder, filter="data")
        trees = {"now": ROOT, "before": Path(folder)}
        many = Path(folder) / "many.jsonl"
        lines = [json.dumps({**short[n % len(short)], "id": str(n)}) for n in range(SHORT_CASES)]
        many.write_text("\n".join(lines) + "\n", "utf-8")
        few = ROOT / "examples" / "empathy.jsonl"
        best: dict[tuple[str, str], float] = {}

        def note(what: str, which: str, seconds: float) -> None:
            best[what, which] = min(seconds, best.get((what, which), seconds))

        for _ in range(rounds):
            note("python -c pass", "now", run(ROOT, "-c", "pass")[1])
            for which, tree in trees.items():
                note("a reply of some 150 words", which, float(run(tree, "-c", SCORE, given=long)[0]))
                for what, cases in (("eval of 28 cases", few), ("eval of 20,000 short cases", many)):
                    command = ("-m", "safe_gate", "eval", "--cases", str(cases), "--out", f"{folder}/out.json")
                    note(what, which, run(tree, *command)[1])
    for what in ("a reply of some 150 words", "eval of 28 cases", "eval of 20,000 short cases"):
        now, before = best[what, "now"], best[what, "before"]
        sys.stdout.write(
            f"{what}: {1e3 * now:.2f} ms, before {1e3 * before:.2f} ms: {before / now:.1f} times as fast\n"
        )
    ratio = best["eval of 28 cases", "now"] / best["python -c pass", "now"]
    sys.stdout.write(f"eval of 28 cases: {ratio:.1f} times python -c pass\n")


if __name__ == "__main__":
    main()
