"""Learn the packs `safe_gate/evaluators/synthesis/packs/*-learned.json` from `data/synthesis/`.

`python training/ship.py [PACK...]` writes the packs; the same libraries on the same kind of machine write
the same bytes. How they are learned is in `safe_gate/fit.py`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from safe_gate.evaluators import synthesis
from safe_gate.fit import TASKS, JsonObject, Task, Turn, train
from safe_gate.packs import lexicon
from safe_gate.render.jsonreport import pack_json
from safe_gate.text import normalise

DATA = Path(__file__).parent.parent / "data" / "synthesis"
FILES = tuple(path for kind in ("dev", "voice") for path in sorted(DATA.glob(f"{kind}_*.jsonl")))
"""The files of labelled cases that packs are learned from, each of another voice."""
PACKS = Path(synthesis.__file__).parent / "packs"


def load_turns(paths: Iterable[Path] = FILES) -> list[Turn]:
    """Return the labelled cases of some files, file by file."""
    turns = []
    for path in paths:
        for case in map(json.loads, path.read_text("utf-8").splitlines()):
            user, assistant = normalise(case["user"]), normalise(case["assistant"])
            turns.append(Turn(path.stem, case["id"], case["tags"][0], user, assistant, case["expected"]))
    return turns


def load_bank(name: str) -> list[JsonObject]:
    """Return a bank's sentences, normalised, of all files whose name begins with it."""
    paths = sorted(DATA.glob(f"bank_{name}*.jsonl"))
    entries = [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]
    return [{**e, **{key: normalise(e[key]) for key in ("text", "context") if key in e}} for e in entries]


def learn(task: Task, turns: Sequence[Turn]) -> JsonObject:
    """Return the pack learned for a task from some cases and its banks of sentences."""
    return train(task, turns, [entry for bank in task.banks for entry in load_bank(bank)], lexicon())


def main() -> None:
    """Learn the packs that are named, or all."""
    turns = load_turns()
    wanted = sys.argv[1:] or [task.pack for task in TASKS]
    for task in TASKS:
        if task.pack in wanted:
            pack = learn(task, turns)
            (PACKS / f"{task.pack}.json").write_text(pack_json(pack), "utf-8")
            sys.stdout.write(f"{task.pack}.json: {len(pack['weights'])} features\n")


if __name__ == "__main__":
    main()
