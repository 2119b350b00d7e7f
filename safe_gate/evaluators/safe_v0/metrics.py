"""The metrics of SAFE v0, and what they are judged by unless settings say otherwise (sections 2.1 and 3.3). Data."""

from __future__ import annotations

from collections.abc import Mapping

METRICS = ("CR", "AH", "AC")

THRESHOLDS: Mapping[str, Mapping[str, float]] = {
    "CR": {"pass": 0.8, "review": 0.5},
    "AH": {"pass": 1.0, "review": 0.5},
    "AC": {"pass": 0.8, "review": 0.5},
}

WEIGHTS: Mapping[str, float] = dict.fromkeys(METRICS, 1.0)
