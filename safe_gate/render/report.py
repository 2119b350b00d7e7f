"""What every format says of a report in the same words. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from safe_gate.evaluators import EVALUATORS
from safe_gate.figures import plural
from safe_gate.model import JsonObject, Phrase, Untrusted

_NAMED = 5


def conclusion(report: JsonObject) -> str:
    """Return how many rules hold, in words.

    >>> conclusion({"verdict": "fail", "rules": [{"passed": False}, {"passed": True}]})
    '1 of 2 rules broken'
    """
    total = len(report["rules"])
    broken = sum(not rule["passed"] for rule in report["rules"])
    if report["verdict"] == "error":
        return "could not judge"
    if broken:
        return f"{broken} of {plural(total, 'rule')} broken"
    return "the only rule holds" if total == 1 else f"all {total} rules hold"


def not_run(report: JsonObject) -> list[Phrase]:
    """Return a sentence for each evaluator without input: that its rules did not apply must be seen."""
    return [
        (f"{evaluator.title} did not run: it was given no input, and none of its rules applies.",)
        for name, evaluator in EVALUATORS.items()
        if report[name] is None and report["verdict"] != "error"
    ]


def departures(report: JsonObject) -> list[Phrase]:
    """Return a sentence for each setting that is not the default and that a reader of the report must know of."""
    policy = report["provenance"]["policy"]
    sentences: list[Phrase] = []
    if commit := report["provenance"].get("policy_commit"):
        judged_by = "Judged by the config file and the rule packs of the base commit ("
        sentences.append((judged_by, Untrusted(commit[:7]), "), not by this change's own."))
    if policy.get("text") == "none":
        sentences.append(("Recorded text is withheld: a hash stands for each.",))
    if report["synthesis"] is None:
        return sentences
    if policy["profile"] != "weighted" or policy["sensitivity"] != "balanced":
        sentences.append((f"Synthesis ran with profile {policy['profile']}, sensitivity {policy['sensitivity']}.",))
    if policy["rules"]:
        sentences.append((f"Synthesis ran with {plural(len(policy['rules']), 'rule pack')} of the repository's own.",))
    if off := policy["rules_off"]:
        switched = plural(len(off), "rule or pack", "rules or packs")
        sentences.append((f"Synthesis ran with {switched} off: ", *_some(off), "."))
    if weights := policy.get("rule_weights"):
        own = plural(len(weights), "weight")
        sentences.append((f"Synthesis ran with {own} of the repository's own: ", *_some(list(weights)), "."))
    return sentences


def _some(ids: Sequence[str]) -> Phrase:
    """Return the first ids of many."""
    words = [word for one in ids[:_NAMED] for word in (Untrusted(one), ", ")]
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return (*words[:-1], more)
