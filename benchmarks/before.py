"""What scoring and `eval` cost beside the commit before the phrase book, measured in turn in one run, as ratios.

Its package is taken from the clone (`git archive`). Both have their bytecode, as an installed package has.
The targets are those of the issue that asked for the phrase book. `python benchmarks/before.py [ROUNDS]`.
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
PASS = "python -c pass"
REPLY, FEW, MANY = "a reply of some 150 words", "eval of 28 cases", "eval of 20,000 short cases"
LEAST = {REPLY: 8, MANY: 4}
"""How many times as fast a measure should be at least."""
MOST_PASSES = 15
"""How many times `python -c pass` an `eval` of 28 cases should take at most."""

IMPORTS = {
    "now": """
from safe_gate.core.model import Place
from safe_gate.evaluators.synthesis.names import CHECKS
from safe_gate.evaluators.synthesis.result import Result
from safe_gate.evaluators.synthesis.deciding.score import Case, score_case
from safe_gate.evaluators import EVALUATORS
from safe_gate.inputs.own_rules import NO_FILES, load
from safe_gate.scoring import asked
from safe_gate.settings.model import Settings

result_json = Result.to_json
rules = load(EVALUATORS["synthesis"], asked.settings(Settings()), NO_FILES)
""",
    "before": """
from safe_gate import packs
from safe_gate.evaluators.synthesis import CHECKS, Case, result_json, score_case
from safe_gate.model import Place

rules = packs.load()
""",
}
SCORE = """
import json, sys, time

cases = [json.loads(line) for line in sys.stdin]
cases = [Case(c["id"], c["user"], c["assistant"], tuple(CHECKS)[:3], {}, (), Place("")) for c in cases]  # those of both
best = float("inf")
for _ in range(4):
    start = time.process_time()
    for case in cases:
        result_json(score_case(case, rules))
    best = min(best, time.process_time() - start)
print(best / len(cases))
"""


def run(tree: Path, compiled: Path, *command: str, given: str = "") -> tuple[str, float]:
    """Return what a command of a tree says, and its processor time in seconds. Bytecode is kept in a folder."""
    before = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environ |= {"PYTHONPATH": str(tree), "PYTHONPYCACHEPREFIX": str(compiled)}
    line = [sys.executable, *command]
    ran = subprocess.run(line, input=given, capture_output=True, text=True, cwd=tree, env=environ, check=False)
    if ran.returncode not in (0, 2):  # 2: cases fail, as some are meant to
        raise SystemExit(ran.stderr[:2000])
    return ran.stdout, sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - before


def main() -> None:
    """Print a line for each measure: now, before, and how many times as fast."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    lines = (DATA / "dev.jsonl").read_text("utf-8").splitlines()
    known = ("id", "user", "assistant", "checks")  # fields of either commit
    recorded = [{key: case[key] for key in known} for case in map(json.loads, lines)]
    long = "".join(f"{json.dumps(c)}\n" for c in recorded if FEWEST <= len(c["assistant"].split()) <= MOST)
    short = [c for c in recorded if len(c["assistant"].split()) <= 40]
    best: dict[tuple[str, str], float] = {}

    def note(what: str, which: str, seconds: float) -> None:
        best[what, which] = min(seconds, best.get((what, which), seconds))

    with TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", BEFORE], cwd=ROOT, capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
            packed.extractall(folder, filter="data")
        trees = {"now": ROOT, "before": Path(folder)}
        compiled = Path(folder) / "compiled"
        many, few = Path(folder) / "many.jsonl", ROOT / "examples" / "empathy.jsonl"
        lines = [json.dumps({**short[n % len(short)], "id": str(n)}) for n in range(SHORT_CASES)]
        many.write_text("\n".join(lines) + "\n", "utf-8")
        for _ in range(rounds):
            for _ in range(5):  # short, so often
                note(PASS, "now", run(ROOT, compiled, "-c", "pass")[1])
                for which, tree in trees.items():
                    note(FEW, which, run(tree, compiled, *_eval(few, folder))[1])
            for which, tree in trees.items():
                note(REPLY, which, float(run(tree, compiled, "-c", IMPORTS[which] + SCORE, given=long)[0]))
                note(MANY, which, run(tree, compiled, *_eval(many, folder))[1])
    for what in (REPLY, FEW, MANY):
        now, before = best[what, "now"], best[what, "before"]
        wanted = f" (at least {LEAST[what]} wanted)" if what in LEAST else ""
        print(f"{what}: {1e3 * now:.2f} ms, before {1e3 * before:.2f} ms: {before / now:.1f} times as fast{wanted}")
    print(f"{FEW}: {best[FEW, 'now'] / best[PASS, 'now']:.1f} times {PASS} (at most {MOST_PASSES} wanted)")


def _eval(cases: Path, folder: str) -> tuple[str, ...]:
    return "-m", "safe_gate", "eval", "--cases", str(cases), "--out", f"{folder}/out.json"


if __name__ == "__main__":
    main()
