"""The gate's rules on SAFE v0: what they look for in its part of the report. Pure."""

from __future__ import annotations

from safe_gate.core.figures import plural
from safe_gate.core.rules import ANY_SEVERITY, FAILING, Count, Rule, Share, anything, no_reply
from safe_gate.evaluators import same_reply
from safe_gate.evaluators.safe_v0.metrics import Label
from safe_gate.evaluators.safe_v0.part import Archetype, Part


def _labelled_pass(part: Part) -> Share:
    return _passed(part.rates.labels[Label.PASS], part.total_cases)


def _passed(passed: int, total: int) -> Share:
    return Share("Pass rate", passed, total, f"{passed} of {plural(total, 'SAFE v0 case')} labelled Pass")


def _labelled_fail(part: Part) -> Count:
    return Count(part.rates.labels[Label.FAIL], "SAFE v0 case labelled Fail", "SAFE v0 cases labelled Fail")


def _nothing_expected(part: Part) -> Share:
    total, vacuous = part.vacuity.scores.total, part.vacuity.scores.vacuous
    words = f"{vacuous} of {plural(total, 'score has', 'scores have')} nothing to look for"
    return Share("Share of vacuous scores", vacuous, total, words)


def _group_passed(group: Archetype) -> Share:
    return _passed(group.passed, group.cases)


RULES = (
    Rule("min-pass-rate", "safe_v0", _labelled_pass, forgives=anything, finds=ANY_SEVERITY),
    Rule(
        "max-fail-labels",
        "safe_v0",
        _labelled_fail,
        forgives=lambda result: result.label == Label.FAIL,
        finds=FAILING,
    ),
    Rule(
        "max-no-reply",
        "safe_v0",
        lambda part: no_reply(part.no_reply),
        applies=lambda part: part.no_reply > 0,
        blames=lambda result: bool(result.no_reply),
    ),
    same_reply.rule("safe_v0"),
    Rule("max-vacuous", "safe_v0", _nothing_expected),
)
"""The rules on all cases; each is named as its option."""

GROUP_RULES = (Rule("min-pass-rate", "safe_v0", _group_passed, forgives=anything, finds=ANY_SEVERITY),)
"""The rules on the cases of one archetype, on its figures in `by_archetype`."""
