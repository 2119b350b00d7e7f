"""The command `score` (SAFE v0 spec section 7). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from safe_gate.core.command import VERBOSE, Ending, ScoresInFormats
from safe_gate.core.model import JsonObject
from safe_gate.evaluators.safe_v0.metrics import Label
from safe_gate.evaluators.safe_v0.part import Part


class Score(ScoresInFormats):
    """`score`: the worst label decides the exit code."""

    file = "--output"
    asks_for = ("--batch", "a SAFE v0 batch file or glob, such as --batch 'I25_batch_*'")
    formats = "report_formats"

    def ending(self, part: JsonObject, _settings: Mapping[str, Any]) -> Ending:
        """Return 1 for a Fail, 2 for a Review without a Fail, 0 if all cases pass."""
        labels = Part.from_json(part).rates.labels
        return (1 if labels[Label.FAIL] else 2 if labels[Label.REVIEW] else 0), ""

    def stem(self, part: JsonObject) -> str:
        """Return `SAFE_v0_<concern>_<timestamp>`; a concern id may hold anything."""
        found = Part.from_json(part)
        concern = "".join(c if c.isascii() and (c.isalnum() or c in "-_,") else "_" for c in found.concern_id)
        return f"SAFE_v0_{concern[:80]}_{found.generated_at.replace('-', '').replace(':', '')}"


COMMANDS = {
    "score": Score(
        place=3,
        summary="score SAFE v0 batches only, without the rules of the gate",
        exit_codes="0 all Pass, 1 a Fail, 2 no Fail but a Review, 3 error",
        arguments={
            "--output": {
                "default": "",
                "metavar": "PATH",
                "help": "write the report to this file; .json and .md choose its format",
            },
            "--verbose": VERBOSE,
        },
    )
}
"""The commands by name."""
