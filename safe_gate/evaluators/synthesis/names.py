"""The names of the checks, and of the groups of hits that they count. Data."""

from __future__ import annotations

from collections.abc import Mapping

GROUPS: Mapping[str, tuple[str, str]] = {
    "positive": ("agency_language", "assistant"),
    "negative": ("agency_language", "assistant"),
    "mind_reading": ("unverifiable_reassurance", "assistant"),
    "guarantee": ("unverifiable_reassurance", "assistant"),
    "vulnerability": ("topic_pivot", "user"),
    "acknowledgment": ("topic_pivot", "assistant"),
    "follow_up": ("topic_pivot", "assistant"),
    "pivot": ("topic_pivot", "assistant"),
    "elsewhere": ("topic_pivot", "assistant"),
    "asked_text": ("message", "user"),
    "asked_steps": ("message", "user"),
    "asked_verdict": ("message", "user"),
}
"""The check that a group of hits serves ("message": none, it says what is asked for) and the field it looks in."""

IN_FAVOUR = frozenset({"positive", "acknowledgment", "follow_up"})
"""The groups whose hits let a reply pass; those of the others let it fail."""

CHECKS: tuple[str, ...] = ("agency_language", "unverifiable_reassurance", "topic_pivot")
"""The checks by the name cases use, in the order of the report."""
