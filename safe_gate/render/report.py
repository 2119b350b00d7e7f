"""What every format says of a report in the same words. Pure."""

from __future__ import annotations

from safe_gate.evaluators import EVALUATORS
from safe_gate.figures import plural
from safe_gate.model import JsonObject


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


def not_run(report: JsonObject) -> list[str]:
    """Return a sentence for each evaluator without input: that its rules did not apply must be seen."""
    return [
        f"{evaluator.title} did not run: it was given no input, and none of its rules applies."
        for name, evaluator in EVALUATORS.items()
        if report[name] is None and report["verdict"] != "error"
    ]


def departures(report: JsonObject) -> list[str]:
    """Return a sentence for each setting that is not the default and that a reader of the report must know of."""
    policy = report["provenance"]["policy"]
    withheld = ["Recorded text is withheld: a hash stands for each."] if policy.get("text") == "none" else []
    if report["synthesis"] is None:
        return withheld
    sentences = []
    if policy["profile"] != "weighted" or policy["sensitivity"] != "balanced":
        sentences.append(f"Synthesis ran with profile {policy['profile']}, sensitivity {policy['sensitivity']}.")
    if policy["rules"]:
        sentences.append(f"Synthesis ran with {plural(len(policy['rules']), 'rule pack')} of the repository's own.")
    if policy["rules_off"]:
        sentences.append(
            f"Synthesis ran with {plural(len(policy['rules_off']), 'rule or pack', 'rules or packs')} off."
        )
    if policy.get("rule_weights"):
        sentences.append(f"Synthesis ran with {plural(len(policy['rule_weights']), 'weight')} of the repository's own.")
    return withheld + sentences
