"""The gate's rules on SAFE v0: what they look for in its part of the report. Pure."""

from __future__ import annotations

from safe_gate.core.figures import plural
from safe_gate.core.model import JsonObject
from safe_gate.core.rules import ALL, FAILING, Count, Rule, Share, anything, has_none, no_reply
from safe_gate.evaluators.safe_v0.metrics import Label
from safe_gate.evaluators.safe_v0.result import Entry


def _labelled_pass(part: JsonObject) -> Share:
    return _passed(part["label_distribution"]["Pass"], part["total_cases"])


def _passed(passed: int, total: int) -> Share:
    return Share("Pass rate", passed, total, f"{passed} of {plural(total, 'SAFE v0 case')} labelled Pass")


def _labelled_fail(part: JsonObject) -> Count:
    return Count(part["label_distribution"]["Fail"], "SAFE v0 case labelled Fail", "SAFE v0 cases labelled Fail")


def _nothing_expected(part: JsonObject) -> Share:
    vacuous, total = part["vacuity"]["scores"]["vacuous"], part["vacuity"]["scores"]["total"]
    words = f"{vacuous} of {plural(total, 'score has', 'scores have')} nothing to look for"
    return Share("Share of vacuous scores", vacuous, total, words)


def _group_passed(group: JsonObject) -> Share:
    return _passed(group["passed"], group["count"])


RULES = (
    Rule("min-pass-rate", "safe_v0", _labelled_pass, forgives=anything, finds=ALL),
    Rule(
        "max-fail-labels",
        "safe_v0",
        _labelled_fail,
        forgives=lambda result: Entry(result).label == Label.FAIL,
        finds=FAILING,
    ),
    Rule("max-no-reply", "safe_v0", no_reply, applies=lambda part: bool(part["no_reply"]), blames=has_none),
    Rule("max-vacuous", "safe_v0", _nothing_expected),
)
"""The rules on all cases; each is named as its option."""

GROUP_RULES = (Rule("min-pass-rate", "safe_v0", _group_passed, forgives=anything, finds=ALL),)
"""The rules on the cases of one archetype, on its figures in `by_archetype`."""
