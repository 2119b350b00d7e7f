"""What scoring a new reply of about 150 words costs, by three checks, as microseconds and as a ratio.

Each reply is scored once, after a hundred others, in a process of its own for each round. The ratio is to parsing the
same cases with `json.loads`, fastest of the rounds: times of a shared machine mean little.
`python benchmarks/reply.py [ROUNDS]`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from safe_gate.evaluators.registry import EVALUATORS
from safe_gate.evaluators.synthesis.case import Case
from safe_gate.evaluators.synthesis.checks.score import score_case
from safe_gate.inputs.case_files import NO_FILES, load_rules
from safe_gate.model.problems import Place
from safe_gate.scoring.sides import scoring_settings
from safe_gate.settings import Settings

DATA = Path(__file__).parent.parent / "data" / "synthesis"
FEWEST, MOST = 120, 180
CHECKS = ("agency_language", "unverifiable_reassurance", "topic_pivot")
PROFILES = ("standard", "spec")


def read(name: str) -> list[str]:
    """Return the lines of a data set whose replies are of about 150 words."""
    lines = (DATA / name).read_text("utf-8").splitlines()
    return [line for line in lines if FEWEST <= len(json.loads(line)["assistant"].split()) <= MOST]


def measure(profile: str) -> tuple[float, float, float]:
    """Return the seconds that scoring and parsing a new reply take under a profile, and its words."""
    rules = load_rules(EVALUATORS["synthesis"], scoring_settings(Settings().replace(profile=profile)), NO_FILES)
    lines = read("voice.jsonl")
    before, new = (
        [Case(c["id"], c["user"], c["assistant"], CHECKS, {}, (), Place("")) for c in map(json.loads, some)]
        for some in (read("dev.jsonl"), lines)
    )
    for case in before:
        score_case(case, rules)
    started = time.process_time()
    for case in new:
        score_case(case, rules)
    scored = time.process_time()
    for line in lines:
        json.loads(line)
    parsed = time.process_time()
    words = sum(len(case.assistant.split()) for case in new)
    return (scored - started) / len(new), (parsed - scored) / len(new), words / len(new)


def main() -> None:
    """Print a line a profile."""
    if sys.argv[1:2] == ["--once"]:
        print(*measure(sys.argv[2]))
        return
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    for profile in PROFILES:
        once = [sys.executable, __file__, "--once", profile]
        told = [subprocess.run(once, capture_output=True, text=True, check=True).stdout.split() for _ in range(rounds)]
        scored, parsed, words = (min(map(float, column)) for column in zip(*told, strict=True))
        print(f"{profile}: {1e6 * scored:.0f} us a new reply of {words:.0f} words, {scored / parsed:.0f} x json.loads")


if __name__ == "__main__":
    main()
