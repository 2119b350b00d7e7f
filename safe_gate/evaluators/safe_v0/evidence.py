"""Where in the texts of a SAFE v0 case its evidence stands, and how each metric decided. Pure, from the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from safe_gate.core.figures import plural, score
from safe_gate.core.given import Scored
from safe_gate.core.model import JsonObject, Phrase
from safe_gate.core.shown import Mark, Side
from safe_gate.evaluators.safe_v0.metrics import METRICS
from safe_gate.evaluators.safe_v0.part import Part
from safe_gate.evaluators.safe_v0.result import Result
from safe_gate.evaluators.safe_v0.score import RecordedPolicy

FIELDS = {"signals": "Signals", "summary": "Summary", "followup_questions": "Follow-up questions"}

_LOOKED = {
    "CR": (("signals", "summary"), Side.FOR, "is a required signal"),
    "AH": (("followup_questions",), Side.AGAINST, "is a forbidden term"),
    "AC": (("summary",), Side.FOR, "is a required phrase"),
}
"""By metric: in which fields of the output its needles are found, which way they count, and what they are."""

_MOST = 50  # places of one needle in one text that are marked


def marks(case: Result, texts: JsonObject) -> Iterator[Mark]:
    """Yield the places of each metric's needles in the texts. Like scoring, this ignores case."""
    for metric, (fields, side, says) in _LOOKED.items():
        for field in fields:
            text = texts.get(field, "")
            lowered, places = _lowered(text)
            for needle in dict.fromkeys(case.found[metric]):
                for start, end in _places(needle.lower(), lowered):
                    begin, stop = places[start], places[end - 1] + 1
                    yield Mark(field, begin, stop, text[begin:stop], side, metric, says)


def _lowered(text: str) -> tuple[str, list[int] | range]:
    """Return a text in lower case, and of each of its characters the place that it comes from."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered, range(len(text))
    return lowered, [place for place, char in enumerate(text) for _ in char.lower()]


def _places(needle: str, text: str) -> Iterator[tuple[int, int]]:
    end = 0
    for _ in range(_MOST if needle else 0):
        start = text.find(needle, end)
        if start < 0:
            return
        end = start + len(needle)
        yield start, end


def decisions(part: Part | Scored, case: Result) -> Mapping[str, Phrase]:
    """Return for each metric how it came to its score and label."""
    policy = RecordedPolicy(part.policy)
    thresholds = policy.thresholds_for(case.archetype)
    told: dict[str, Phrase] = {}
    for metric in METRICS:
        limits = thresholds[metric]
        if metric == "AH":
            strict = ", and under strict-ah one is enough" if policy.strict_ah else ""
            counted = f"{plural(len(case.against[metric]), 'forbidden term')} used{strict}"
        else:
            found, total = len(case.found[metric]), len(case.found[metric]) + len(case.against[metric])
            noun = "signal" if metric == "CR" else "phrase"
            counted = f"{found} of {plural(total, f'required {noun}')} found" if total else f"no {noun} is required"
        shown = score(case.scores[metric])
        limited = f"Pass from {score(limits.pass_)}, Review from {score(limits.review)}."
        told[metric] = (f"{counted[0].upper()}{counted[1:]}: {shown}. {limited}",)
    return told
