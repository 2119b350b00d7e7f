"""Remarks for readers on the settings that Synthesis scored by. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from safe_gate.core.figures import first_few, plural
from safe_gate.core.model import JsonObject, Phrase
from safe_gate.evaluators.synthesis.checks.score import is_negative
from safe_gate.evaluators.synthesis.names import DEFAULT_CHECKS
from safe_gate.evaluators.synthesis.part import Part


def remarks(part: Part, policy: JsonObject) -> Iterator[Phrase]:
    """Yield a sentence for each setting that is not the default, and for ambiguous tags."""
    yield from _doubtful_fail_tags(part, policy)
    if policy["profile"] == "spec":
        yield ("Synthesis ran with profile spec.",)
    yield from _of_conversations(policy)
    if packs := list(dict.fromkeys(policy["rules"])):  # a glob names any number of packs
        yield ("Synthesis ran with rule packs from the repository: ", *first_few(packs, len(packs)), ".")
    if off := list(dict.fromkeys(policy["rules_off"])):
        switched = plural(len(off), "rule or pack", "rules or packs")
        yield (f"Synthesis ran with {switched} off: ", *first_few(off, len(off)), ".")


def _of_conversations(policy: JsonObject) -> Iterator[Phrase]:
    """Yield a sentence for each setting of conversations, and of cases that name no check, that is not the default."""
    if policy["turns"] == "all":
        yield ("Synthesis judged every reply of a conversation, unless its case says otherwise.",)
    if (context := policy["context"]) != 1:
        yield (f"Topic pivot looked {plural(context, 'user message')} further back for a disclosure.",)
    checks = policy["default_checks"]
    if sorted(checks) != sorted(DEFAULT_CHECKS):
        yield ("Cases without checks ran ", *first_few(checks, len(checks)), ".")


def _doubtful_fail_tags(part: Part, policy: JsonObject) -> Iterator[Phrase]:
    """Yield a sentence on tags that excuse a failure under the profile `spec` alone: they may be topics."""
    summary = part.summary
    tags = (tag for tag in summary.by_tag if tag.endswith("-fail"))
    if found := sorted(tag for tag in tags if not is_negative([tag], "standard", summary.by_check)):
        is_spec = policy["profile"] == "spec"
        does = "excuse every failure of their cases under profile spec" if is_spec else "excuse no failure"
        words = f"Tags that end in -fail but name no check {does}: "
        yield (words, *first_few(found, len(found)), ". Tag a reply that should fail negative_example.")
