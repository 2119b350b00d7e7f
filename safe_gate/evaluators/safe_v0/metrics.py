"""The metrics and labels of SAFE v0, and what they follow from unless settings say otherwise. Data.

Sections 2.1, 3 and 3.3 of the specification.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

METRICS = ("CR", "AH", "AC")


class Label(StrEnum):
    """The three labels of a case."""

    PASS = "Pass"
    REVIEW = "Review"
    FAIL = "Fail"


THRESHOLDS: Mapping[str, Mapping[str, float]] = {
    "CR": {"pass": 0.8, "review": 0.5},
    "AH": {"pass": 1.0, "review": 0.5},
    "AC": {"pass": 0.8, "review": 0.5},
}

WEIGHTS: Mapping[str, float] = dict.fromkeys(METRICS, 1.0)
