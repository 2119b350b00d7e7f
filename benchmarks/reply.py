"""What scoring one reply of about 150 words costs, in one process, as microseconds and as a ratio.

The ratio is to parsing the same cases with `json.loads`, read in turn, fastest of the rounds: times of a
shared machine mean little. `python benchmarks/reply.py [ROUNDS]`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

from safe_gate.evaluators.registry import EVALUATORS
from safe_gate.evaluators.synthesis.checks.score import Case, score_case
from safe_gate.evaluators.synthesis.definitions import CHECKS
from safe_gate.inputs.case_files import NO_FILES, load_rules
from safe_gate.model.problems import Place
from safe_gate.scoring.sides import scoring_settings
from safe_gate.settings import Settings

DATA = Path(__file__).parent.parent / "data" / "synthesis"
FEWEST, MOST = 120, 180


def fastest(steps: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the fastest process time of each step in seconds."""
    best = dict.fromkeys(steps, float("inf"))
    for _ in range(rounds):
        for name, step in steps.items():
            start = time.process_time()
            step()
            best[name] = min(best[name], time.process_time() - start)
    return best


def main() -> None:
    """Print a line a profile."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    lines = (DATA / "dev.jsonl").read_text("utf-8").splitlines()
    lines = [line for line in lines if FEWEST <= len(json.loads(line)["assistant"].split()) <= MOST]
    recorded = [json.loads(line) for line in lines]
    cases = [Case(c["id"], c["user"], c["assistant"], tuple(CHECKS), {}, (), Place("")) for c in recorded]
    words = sum(len(case.assistant.split()) for case in cases) / len(cases)
    rules = {
        profile: load_rules(EVALUATORS["synthesis"], scoring_settings(Settings().replace(profile=profile)), NO_FILES)
        for profile in ("standard", "spec")
    }
    best = fastest(
        {
            "parse": lambda: [json.loads(line) for line in lines],
            "standard": lambda: [score_case(case, rules["standard"]) for case in cases],
            "spec": lambda: [score_case(case, rules["spec"]) for case in cases],
        },
        rounds,
    )
    for profile in rules:
        each = 1e6 * best[profile] / len(cases)
        ratio = best[profile] / best["parse"]
        sys.stdout.write(f"{profile}: {each:.0f} us a reply of {words:.0f} words, {ratio:.0f} times json.loads\n")


if __name__ == "__main__":
    main()
