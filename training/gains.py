"""What a team's own labelled cases gain: each of the six dev files in turn plays the team's, all others ship.

`python training/gains.py` learns packs from all files but that one, corrects them from 50, 100 or four fifths of
its cases, and scores its last fifth, over all fifths and files, as `safe-gate rules train` does. It
writes the table of `docs/own-rules.md` between its markers.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from ship import DATA, learn, load_turns
from tables import fill, share

from safe_gate import packs
from safe_gate.evaluators.synthesis import CHECKS, Case, Rules
from safe_gate.evaluators.synthesis.gain import Gain, gains
from safe_gate.files import synthesis_cases
from safe_gate.fit import TASKS, JsonObject, Turn, correct

DOCUMENT = Path(__file__).parent.parent / "docs" / "own-rules.md"
SIZES = {"50": 50, "100": 100, "160 to 208": 208}
"""How many cases are learned from at the most, by what the table calls it; four fifths of a file are its largest."""


def gained(file: Path, bases: dict[str, JsonObject], size: int) -> tuple[Gain, ...]:
    """Return what the cases of a file gain packs that never saw it, learning from so many cases at the most."""
    cases = [case for case in synthesis_cases([str(file)]) if isinstance(case, Case)]
    today = [bases.get(pack["pack"], pack) for pack in packs.shipped()]

    def taught(some: Sequence[Case]) -> Rules:
        turns = [Turn.of(case) for case in some[:size]]
        weights = {task.pack: correct(task, bases[task.pack], turns, packs.lexicon()) for task in TASKS}
        return packs.rules([*today, *(packs.correction(bases[pack], added) for pack, added in weights.items())])

    return gains(cases, tuple(CHECKS), packs.rules(today), taught)


def row(size: str, check: str, found: Sequence[Gain]) -> str:
    """Return the gain of a check over all files as a row of the table."""
    counts = (sum(getattr(one, name) for one in found) for name in ("labels", "before", "mended", "spoiled"))
    whole = Gain(check, *counts)
    cells = [" ".join(share(count, whole.labels)) for count in (whole.before, whole.after)]
    gain = f"{100 * (whole.after - whole.before) / whole.labels:+.1f}"
    words = "yes" if whole.is_beyond_chance else "no"
    ending = f"{gain} | {whole.mended} | {whole.spoiled} | {words} |"
    return f"| {size} | {check.replace('_', ' ')} | {' | '.join(cells)} | {ending}"


def main() -> None:
    """Write the table and print it."""
    turns = load_turns()
    found: dict[str, list[Gain]] = {size: [] for size in SIZES}
    for file in sorted(DATA.glob("dev_*.jsonl")):
        others = [turn for turn in turns if turn.file != file.stem]
        bases = {task.pack: learn(task, others) for task in TASKS}
        for name, size in SIZES.items():
            found[name] += gained(file, bases, size)
        sys.stderr.write(f"{file.stem} done\n")
    rows = [
        "| cases | check | before | with the correction | gain | mended | spoiled | beyond chance |",
        "|--:|:--|--:|--:|--:|--:|--:|:--|",
        *(row(size, check, [g for g in found[size] if g.check == check]) for size in SIZES for check in CHECKS),
    ]
    fill(DOCUMENT, {"gains": rows})
    sys.stdout.write("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
