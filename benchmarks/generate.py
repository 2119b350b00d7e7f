"""Cases to measure by, as many as asked for, the same each time: `python benchmarks/generate.py KIND COUNT PATH`.

KIND is `short` or `long` (Synthesis cases, whose replies are sentences of `data/synthesis`, some 20 or 240
words) or `safe` (a SAFE v0 batch, its outputs inline).
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent.parent / "data" / "synthesis"
CHECKS = ["agency_language", "unverifiable_reassurance", "topic_pivot"]
_END = re.compile(r"(?<=[.!?])\s+")
WORDS = {"short": (8, 14), "long": (30, 233)}
"""The least words of a message and of a reply, by kind."""
_SIGNALS = "fever, low blood pressure, fall, wound opened, no consent form, delayed antibiotic, rash, readmitted"
SIGNALS = _SIGNALS.split(", ")


def synthesis_cases(kind: str) -> Iterator[dict[str, Any]]:
    """Yield cases without end: sentences that people wrote, drawn again for each text."""
    draw = random.Random(kind)
    turns = [json.loads(line) for line in (DATA / "dev.jsonl").read_text("utf-8").splitlines()]
    sentences = {field: [one for turn in turns for one in _END.split(turn[field])] for field in ("user", "assistant")}
    least = dict(zip(("user", "assistant"), WORDS[kind], strict=True))
    for number in count(1):
        texts: dict[str, str] = {}
        for field, words in least.items():
            text = draw.choice(sentences[field])
            while len(text.split()) < words:
                text += " " + draw.choice(sentences[field])
            texts[field] = text
        labels = {name: draw.random() < 0.5 for name in CHECKS}
        yield {"id": f"{kind}-{number}", **texts, "checks": CHECKS, "expected": labels, "tags": [f"tag-{number % 7}"]}


def safe_cases() -> Iterator[dict[str, Any]]:
    """Yield test cases without end, most of which find what they must."""
    draw = random.Random("safe")
    for number in count(1):
        asked, told = draw.sample(SIGNALS, 3), draw.sample(SIGNALS, 6)
        yield {
            "test_id": f"safe-{number}",
            "concern_id": f"C{number % 5}",
            "archetype": f"archetype {number % 4}",
            "expectations": {
                "signal_generation": {"must_find_signals": asked},
                "event_summary": {"must_contain_phrases": asked[:2]},
                "followup_questions": {"forbidden_terms": ["policy", "blame"]},
            },
            "output": {
                "signals": told,
                "summary": f"The patient had {', '.join(told)} and went home on day {number % 9}.",
                "followup_questions": [f"When was {one} seen?" for one in told],
            },
        }


def write(kind: str, how_many: int, path: Path) -> None:
    """Write so many cases of a kind, as the command that scores them reads them."""
    if kind == "safe":
        path.write_text(json.dumps({"test_cases": list(islice(safe_cases(), how_many))}), "utf-8")
        return
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(case) + "\n" for case in islice(synthesis_cases(kind), how_many))


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
