"""The commands `eval` and `rules` (Synthesis spec). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from safe_gate.core.command import OUT, VERBOSE, Ending, LearnsRules, Scores
from safe_gate.core.figures import plural
from safe_gate.core.model import JsonObject
from safe_gate.evaluators.synthesis.part import Part


class Eval(Scores):
    """`eval`: the exit code says whether more cases fail unexpectedly than allowed."""

    asks_for = ("--cases", "a JSONL file of Synthesis cases, such as --cases evals.jsonl")

    def ending(self, part: JsonObject, settings: Mapping[str, Any]) -> Ending:
        """Return 2 if too many cases fail, 0 if not, and a line that says so."""
        summary, allowed = Part.from_json(part).summary, settings["max_unexpected_failures"]
        failures, foreign, missing = summary.unexpected_failures, summary.not_english, summary.no_reply
        is_broken = allowed is not None and failures > allowed
        unread = f"; {plural(foreign, 'case')} not in English" if foreign else ""
        unread += f"; {plural(missing, 'case')} without a reply" if missing else ""
        limit = "any number" if allowed is None else allowed
        verdict = "FAIL" if is_broken else "PASS"
        line = f"Eval: {verdict} ({plural(failures, 'unexpected failure')}, {limit} allowed{unread})"
        return (2 if is_broken else 0), line


COMMANDS = {
    "eval": Eval(
        place=4,
        summary="evaluate Synthesis cases only; the only rule is max-unexpected-failures",
        exit_codes="0 passed, 2 more unexpected failures than allowed, 3 error",
        arguments={"--out": OUT, "--verbose": VERBOSE},
    ),
    "rules": LearnsRules(
        place=6,
        summary="list the Synthesis rules, test the rules of a pack, or learn rules from marked cases",
        exit_codes="0 listed, passed or learned; 3 a failed test or another problem",
        arguments={
            "words": {
                "nargs": "*",
                "metavar": "test|train FILE",
                "help": "test PACK...: test the rules of packs; train CASES...: learn rules from marked cases",
            },
            "--out": {
                "default": "",
                "metavar": "FOLDER",
                "help": "train: write the learned rules to this folder, a pack for each group",
            },
        },
        own_word="test|train",
    ),
}
"""The commands by name."""
