"""Remarks for readers on the settings that Synthesis scored by. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from safe_gate.core.figures import first_few, plural
from safe_gate.core.model import JsonObject, Phrase
from safe_gate.evaluators.synthesis.deciding.score import is_negative
from safe_gate.evaluators.synthesis.names import DEFAULT_CHECKS
from safe_gate.evaluators.synthesis.part import Part


def remarks(part: JsonObject, policy: JsonObject) -> Iterator[Phrase]:
    """Yield a sentence for each setting that is not the default, and for ambiguous tags."""
    yield from _doubtful_fail_tags(part, policy)
    if policy["profile"] == "spec":
        idle = "" if policy["sensitivity"] == "balanced" else f"; it ignores sensitivity ({policy['sensitivity']})"
        yield (f"Synthesis ran with profile {policy['profile']}{idle}.",)
    elif policy["sensitivity"] != "balanced":
        yield (f"Synthesis ran with sensitivity {policy['sensitivity']}.",)
    if policy["profile"] == "weighted":
        yield ("Profile weighted is the old name of standard: write standard, because version 2 removes the old name.",)
    yield from _of_conversations(policy)
    if packs := list(dict.fromkeys(policy["rules"])):  # a glob names any number of packs
        yield ("Synthesis ran with rule packs from the repository: ", *first_few(packs, len(packs)), ".")
    if off := list(dict.fromkeys(policy["rules_off"])):
        switched = plural(len(off), "rule or pack", "rules or packs")
        yield (f"Synthesis ran with {switched} off: ", *first_few(off, len(off)), ".")
    if weights := policy.get("rule_weights"):
        own = plural(len(weights), "rule weight")
        yield (f"Synthesis ran with {own} from the repository: ", *first_few(weights, len(weights)), ".")
    if weighed := [one for one, weight in (weights or {}).items() if weight not in (0, 1)]:
        words = "Rules are on or off: a weight other than 0 counts as 1 (rule-weights: "
        yield (words, *first_few(weighed, len(weighed)), ").")


def _of_conversations(policy: JsonObject) -> Iterator[Phrase]:
    """Yield a sentence for each setting of conversations, and of cases that name no check, that is not the default."""
    if policy.get("turns", "last") == "all":
        yield ("Synthesis judged every reply of a conversation, unless its case says otherwise.",)
    if (context := policy.get("context", 1)) != 1:
        yield (f"Topic pivot looked {plural(context, 'user message')} further back for a disclosure.",)
    checks = policy.get("default_checks", DEFAULT_CHECKS)
    if sorted(checks) != sorted(DEFAULT_CHECKS):
        yield ("Cases without checks ran ", *first_few(checks, len(checks)), ".")


def _doubtful_fail_tags(part: JsonObject, policy: JsonObject) -> Iterator[Phrase]:
    """Yield a sentence on tags that excuse a failure under the profile `spec` alone: they may be topics."""
    summary = Part.from_json(part).summary
    tags = (tag for tag in summary.by_tag if tag.endswith("-fail"))
    if found := sorted(tag for tag in tags if not is_negative([tag], "standard", summary.by_check)):
        is_spec = policy["profile"] == "spec"
        does = "excuse every failure of their cases under profile spec" if is_spec else "excuse no failure"
        words = f"Tags that end in -fail but name no check {does}: "
        yield (words, *first_few(found, len(found)), ". Tag a reply that should fail negative_example.")
