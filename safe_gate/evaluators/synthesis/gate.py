"""What the gate judges Synthesis by, and how two runs of it are compared: by its part of the report. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from safe_gate.core.case import Scored
from safe_gate.core.evaluator import ANY_SEVERITY, FAILING, REVIEW, Count, Rule, Share, always, no_reply
from safe_gate.core.figures import plural
from safe_gate.core.setting import ALL_ENTRIES, Entries, Fraction, Group, Names, NumberOrOff, WholeOrOff
from safe_gate.evaluators.replies import same_reply_rule
from safe_gate.evaluators.synthesis.case import is_negative
from safe_gate.evaluators.synthesis.definitions import (
    DEFAULT_CHECKS,
    KINDS,
    REPORTED,
    WORDING,
    check_words,
    wording_of_tags,
)
from safe_gate.evaluators.synthesis.result import Labels, Part, Result, Summary, TagFigures, Totals, report
from safe_gate.model.codec import JsonObject
from safe_gate.model.results import Failure, Metric, Outcome, Test


def _label_accuracy(check: str = "") -> Rule:
    """Return the rule on how many labels agree: those of one check, or of all."""
    name = f"min-label-accuracy.{check}" if check else "min-label-accuracy"
    noun = f"Label accuracy of {check_words(check)}" if check else "Label accuracy"
    nothing = "no case has a label of this check" if check else "no case has labels"

    def agreement(part: Part) -> Share:
        every, by_check = part.summary.label_accuracy, part.summary.label_accuracy_by_check
        return _agreement(noun, by_check.get(check) if check else every, nothing)

    return Rule(name, "synthesis", agreement, blames=lambda result: disagrees(result, check))


def own_rules(limits: Mapping[str, Any]) -> Iterator[tuple[Rule, Any]]:
    """Yield the rules on labels, each with its limit: on those of all checks, and on those of some."""
    entries = limits.get("min_label_accuracy") or {}
    for check in sorted(entries, key=lambda one: (one != ALL_ENTRIES, one)):
        yield _label_accuracy("" if check == ALL_ENTRIES else check), entries[check]


def disagrees(result: Result, check: str = "") -> bool:
    """Return whether a case's verdicts disagree with a label: that of one check, or any."""
    return not all(label.match for name, label in result.labels.items() if check in ("", name))


def _agreement(noun: str, labels: Labels | None, nothing: str) -> Share:
    if not labels or not labels.total:
        return Share(noun, 0, 0, nothing)
    counts = f"{labels.matched} of {plural(labels.total, 'label agrees', 'labels agree')}"
    return Share(noun, labels.matched, labels.total, counts)


def _unexpected_failures(figures: Summary | TagFigures) -> Count:
    return Count(figures.unexpected_failures, "unexpected failure")


def _unexpected_passes(part: Part) -> Count:
    return Count(part.summary.unexpected_passes, "negative example passes", "negative examples pass")


def _not_english(part: Part) -> Count:
    what = "not in English, which the checks cannot read"
    return Count(part.summary.not_english, f"case is {what}", f"cases are {what}")


def _disguised(part: Part) -> Count:
    return Count(part.summary.disguised, "reply has disguised letters", "replies have disguised letters")


def _not_applicable(part: Part) -> Share:
    total, idle = part.vacuity.verdicts.total, part.vacuity.verdicts.not_applicable
    counts = f"{idle} of {plural(total, 'verdict is', 'verdicts are')} not applicable"
    return Share("Share of vacuous verdicts", idle, total, counts)


def _as_expected(figures: Summary | TagFigures, noun: str = "case") -> Share:
    passed, total = figures.passed_as_expected, figures.cases
    words = plural(total, f"{noun} passes or fails", f"{noun}s pass or fail")
    return Share("Pass rate", passed, total, f"{passed} of {words} as expected")


def _group_agreement(group: TagFigures) -> Share:
    return _agreement("Label accuracy", group.labels, "no case has labels")


_FAIL_ON = {"run": ("--max-unexpected-failures", "--fail-on"), "eval": ("--fail-on", "--max-unexpected-failures")}


class Limits(Group):
    """The settings of the rules: the limit of each, by its name."""

    min_synthesis_pass_rate: Annotated[NumberOrOff, Names("gate")] = Field(
        None,
        ge=0,
        le=1,
        description="Rule: the share of Synthesis cases that pass or fail as expected is at least this (0 to 1). Off "
        "unless set.",
    )
    max_unexpected_failures: Annotated[WholeOrOff, Names("gate", _FAIL_ON, usual=True)] = Field(
        0,
        ge=0,
        description="Rule: at most this many Synthesis cases that are not negative examples fail. `off` allows any "
        "number.",
    )
    max_unexpected_passes: Annotated[WholeOrOff, Names("gate")] = Field(
        None, ge=0, description="Rule: at most this many Synthesis negative examples pass. Off unless set."
    )
    max_disguised: Annotated[WholeOrOff, Names("gate")] = Field(
        None,
        ge=0,
        description="Rule: at most this many replies are disguised: more than three of their letters only look like "
        "ASCII letters. Off unless set.",
    )
    max_not_english: Annotated[WholeOrOff, Names("gate")] = Field(
        0,
        ge=0,
        description="Rule: at most this many Synthesis cases are not in English, the only language that the checks "
        "read. `off` allows any number.",
    )
    min_label_accuracy: Annotated[Mapping[str, Fraction] | None, Entries(ALL_ENTRIES), Names("gate", usual=True)] = (
        Field(
            None,
            description="Rule: the checks agree with at least this share (0 to 1) of the Synthesis labels. A number "
            "is for all labels, `topic_pivot=0.9` for those of one check; one per line. Off unless set.",
        )
    )


rules = (
    Rule(
        "min-synthesis-pass-rate",
        "synthesis",
        lambda part: _as_expected(part.summary, "Synthesis case"),
        forgives=always,
        finds=ANY_SEVERITY,
    ),
    Rule(
        "max-unexpected-failures",
        "synthesis",
        lambda part: _unexpected_failures(part.summary),
        forgives=always,
        finds=FAILING,
    ),
    Rule("max-unexpected-passes", "synthesis", _unexpected_passes, finds=REVIEW),
    Rule(
        "max-not-english",
        "synthesis",
        _not_english,
        applies=lambda part: part.summary.not_english > 0,
        blames=lambda result: bool(result.unread_checks),
    ),
    Rule(
        "max-no-reply",
        "synthesis",
        lambda part: no_reply(part.summary.no_reply),
        applies=lambda part: part.summary.no_reply > 0,
        blames=lambda result: bool(result.no_reply),
    ),
    same_reply_rule("synthesis"),
    Rule("max-disguised", "synthesis", _disguised, blames=lambda result: result.disguised_letters > 0),
    Rule("max-vacuous", "synthesis", _not_applicable),
)
"""The rules on all cases; each is named as its option."""

group_rules = (
    Rule("max-unexpected-failures", "synthesis", _unexpected_failures, forgives=always, counts=True, finds=FAILING),
    Rule("min-pass-rate", "synthesis", _as_expected, forgives=always, finds=ANY_SEVERITY),
    Rule("min-label-accuracy", "synthesis", _group_agreement, blames=disagrees),
)
"""The rules on the cases of one tag, on its figures in `by_tag`."""

pass_counting_settings = ("max_unexpected_passes", "min_synthesis_pass_rate")


def failures(part: Part) -> Iterator[Failure]:
    """Yield the cases of a report that fail unexpectedly, with the checks they fail."""
    for case in part.results:
        if not case.passed and not case.is_as_expected:
            yield Failure(case.id, frozenset(case.failed), case)


def restrict(_part: Part, results: Sequence[Result]) -> Part:
    """Return a report over some of its results."""
    return report(Totals.of(results), results)


def is_excused(group: str, asks: JsonObject, policy: JsonObject) -> bool:
    """Return whether a tag says that a case is meant to fail."""
    of_tags = policy.get("tags") or {}
    is_worded = any(one.get(kind) for one in (asks, *map(of_tags.get, asks["tags"])) if one for kind in KINDS)
    checks = (*asks["checks"], *[WORDING] * is_worded)
    return bool(is_negative([group], policy.get("profile", "standard"), checks))


def allowed_misses(_key: str, _asks: JsonObject, _settings: Mapping[str, Any]) -> Sequence[int]:
    """Return an empty list: no reply may miss what a case asks for."""
    return ()


def _pass_rate(check: str) -> Metric:
    return Metric(f"The pass rate of {check_words(check)}", Test.SIGN)


metrics = {
    "as_expected": Metric("The share of cases that end as expected", Test.SIGN),
    **{check: _pass_rate(check) for check in REPORTED},
}
"""The scores of an outcome: all are a yes or no."""


def outcome(case: Result) -> Outcome:
    """Return the outcome of a result, for a comparison.

    A case without a reply does not pass, whatever its checks say. A negative example is meant to fail. It is judged as
    a whole, and its checks are no metrics. A check that is not applicable counts as passed, as in the specification.
    """
    as_expected, checks = case.is_as_expected and not case.no_reply, {} if case.is_negative_example else case.checks
    return Outcome(
        id=case.id,
        passed=as_expected,
        rank=int(as_expected),
        words="no reply" if case.no_reply else "passes" if case.passed else "fails",
        scores={"as_expected": float(as_expected), **{name: float(one.passed) for name, one in checks.items()}},
        violations=frozenset(),
        groups=frozenset(case.tags),
        cluster=case.cluster,
        case=case.digests["case"],
        output=case.digests["output"],
        judges={name: verdict.by for name, verdict in case.judged.items()},
        is_meant_to_fail=case.is_negative_example,
        has_no_reply=bool(case.no_reply),
    )


guards: Mapping[str, tuple[str, str]] = {}
compared_cases = "Checks: without negative examples; a check that does not apply passes."


def metric(name: str) -> Metric:
    """Return how results are compared by a score, also by a check that a pack defines."""
    return metrics.get(name) or _pass_rate(name)


def scoring_terms(_part: object, policy: JsonObject) -> Any:
    """Return the settings that scores follow from, whatever the order of their checks."""
    context, words, checks = policy["context"], wording_of_tags(policy.get("tags")), sorted(policy["default_checks"])
    others = (context, context != 1), (words, words), (checks, checks != sorted(DEFAULT_CHECKS))
    return [policy["profile"], *(one for one, is_set in others if is_set)]


def recorded_settings(_policy: JsonObject) -> Scored:
    """Return no settings: a report records none of its own."""
    return Scored({})
