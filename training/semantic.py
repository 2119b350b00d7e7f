"""What semantic matching finds of labelled sentences, and what it costs: `python training/semantic.py`, with its extra.

Prints the figures of `docs/semantic-matching.md`.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from evaluate import with_interval

from safe_gate.evaluators.safe_v0.result import SIMILARITY
from safe_gate.evaluators.safe_v0.semantic import most_similar

THRESHOLDS = (0.3, 0.35, 0.4, SIMILARITY, 0.5, 0.55, 0.6, 0.7)
SENTENCES = 10


def main() -> None:
    """Print a table by threshold, how many pairs are told apart, and the time of a text."""
    lines = Path(__file__).parents[1].joinpath("data/safe_v0/semantic.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    most_similar(["ready"], ["ready"], [])
    start = time.process_time()
    found = [(row["counts"], most_similar([row["phrase"]], [row["sentence"]], [])[0]) for row in rows]
    cost = (time.process_time() - start) / (1.5 * len(rows))  # a phrase has two sentences
    pairs = list(zip(found[::2], found[1::2], strict=True))
    others = [
        most_similar([row["phrase"]], [rows[(2 * at + 2 + 38 * step + step % 2) % len(rows)]["sentence"]], [])[0]
        for at, row in enumerate(rows[::2])
        for step in range(SENTENCES)
    ]
    notes = [others[at : at + SENTENCES] for at in range(0, len(others), SENTENCES)]
    for threshold in THRESHOLDS:
        said = [counts for counts, one in found if one.is_match(threshold)]
        matched = sum(any(one.is_match(threshold) for one in note) for note in notes)
        counts = sum(said), len(said) - sum(said), matched
        cells = [" % ".join(with_interval(count, len(pairs))) for count in counts]
        precision = f"{sum(said) / len(said):.2f}" if said else "-"
        sys.stdout.write(f"| {threshold} | {cells[0]} | {cells[1]} | {precision} | {cells[2]} |\n")
    closer = sum(paraphrase.similarity > miss.similarity for (_, paraphrase), (_, miss) in pairs)
    sys.stdout.write(
        f"The paraphrase is closer in {closer} of {len(pairs)} pairs. A text takes {1000 * cost:.0f} ms.\n"
    )


if __name__ == "__main__":
    main()
