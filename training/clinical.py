"""How often clinical matching is right about labelled sentences: `python training/clinical.py`.

Prints the present figures of `docs/clinical-matching.md`.
"""

from __future__ import annotations

import json
import sys
from itertools import groupby
from pathlib import Path

from safe_gate.core.stats import wilson
from safe_gate.evaluators.safe_v0.clinical import Note, match_phrases


def main() -> None:
    """Print a row of a table for each voice, and one for all together: precision and recall."""
    lines = Path(__file__).parents[1].joinpath("data/safe_v0/clinical.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    voices = [(voice, [*some]) for voice, some in groupby(rows, lambda row: row["voice"])]
    for voice, some in (*voices, ("together", rows)):
        found = [row["counts"] for row in some if match_phrases([row["phrase"]], [Note(row["sentence"])])[0]]
        right, affirmed = sum(found), sum(row["counts"] for row in some)
        name = voice.replace("_", " ")
        sys.stdout.write(f"| {name} | {_share(right, len(found))} | {_share(right, affirmed)} |\n")


def _share(part: int, whole: int) -> str:
    least, most = wilson(part, whole)
    return f"{part}/{whole} = {part / whole:.3f} ({least:.2f} to {most:.2f})"


if __name__ == "__main__":
    main()
