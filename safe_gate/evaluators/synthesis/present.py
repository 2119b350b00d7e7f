"""How readers and sinks see a Synthesis report. Pure: from the report alone, so that a stored one shows the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import chain
from typing import Any

from safe_gate.core.evaluator import Figures
from safe_gate.core.figures import enumerated, first_few, fixed, format_distinct, percent, plural, share, with_interval
from safe_gate.core.jsontext import is_stand_in
from safe_gate.core.stats import wilson
from safe_gate.evaluators import judged, replies
from safe_gate.evaluators.synthesis.case import field_of, is_negative
from safe_gate.evaluators.synthesis.checks.check_result import (
    SIMILARITY_THRESHOLD,
    CheckResult,
    ClauseEvidence,
    PivotEvidence,
    WordingEvidence,
    count_hits,
)
from safe_gate.evaluators.synthesis.definitions import (
    ASKS,
    DEFAULT_CHECKS,
    FRAME,
    HEDGE,
    RESTATED,
    SHIPPED,
    WORDING,
    check_title,
    check_words,
    sort_checks,
)
from safe_gate.evaluators.synthesis.reasons import (
    GROUP_PREDICATES,
    evidence_phrases,
    group_name,
    learned_words,
    leave_phrases,
    wording_phrases,
)
from safe_gate.evaluators.synthesis.result import Part, Quality, Result, Summary, TagFigures
from safe_gate.model.codec import JsonObject
from safe_gate.model.results import (
    BatchEvent,
    Cause,
    Explanation,
    Finding,
    Hit,
    Judgement,
    Mark,
    Phrase,
    Rate,
    Section,
    Severity,
    Side,
    Table,
    Untrusted,
    Words,
)
from safe_gate.model.spool import Spool

_DISGUISED = "disguised letters, read as the ones they look like"
_LEAST_CASES = 5  # labels, or cases, of a tag that is shown; an interval of fewer says nothing


def section(part: Part) -> Section:
    """Return the scorecard of a Synthesis report as values, for any renderer to draw."""
    summary, results = part.summary, part.results
    shown = [at for at, case in enumerate(results) if not case.is_as_expected or any(_doubts(case))]
    return Section(
        title=("Synthesis Scorecard",),
        headline=f"{plural(summary.cases, 'case')}: "
        f"{plural(summary.unexpected_failures, 'unexpected failure')}, {summary.expected_failures} expected, "
        + _labels(part),
        counts=(
            f"Total Cases: {summary.cases}",
            f"Passed: {summary.passed} ({percent(share(summary.passed, summary.cases))})"
            + replies.passing_without_reply(summary.no_reply, results),
            f"Expected failures: {summary.expected_failures}",
            f"Unexpected failures: {summary.unexpected_failures}",
        ),
        metrics=Table(
            header=("Check", "Passed", "Failed", "N/A", "Labels", "False alarms", "Misses"),
            align="<>>><>>",
            rows=tuple(_check_row(name, summary) for name in sort_checks(summary.by_check)),
        ),
        footer=(
            f"Negative examples that pass: {summary.unexpected_passes}",
            _labels(part),
            *judged.judge_sentences(summary.judged),
        ),
        cases_title="Cases to look at",
        cases=Table(
            header=("Case", "Result", "Checks"),
            align="<<<",
            rows=Spool(_case_row(results[at]) for at in shown),
        ),
        findings=Spool(finding(results[at]) for at in shown),
        notes=tuple(_notes(part)),
        details=(*_tag_table(summary), *_quality_table(summary)),
    )


def _large_tags(summary: Summary) -> list[tuple[str, TagFigures]]:
    """Return the tags of enough cases with their figures, the largest first."""
    tags = [(tag, group) for tag, group in summary.by_tag.items() if group.cases >= _LEAST_CASES]
    return sorted(tags, key=lambda one: -one[1].cases)


def _tag_table(summary: Summary) -> Iterator[tuple[str, Table]]:
    rows = tuple(
        (
            Untrusted(tag),
            str(group.cases),
            str(group.unexpected_failures),
            with_interval(group.pass_rate, group.interval.low, group.interval.high),
        )
        for tag, group in _large_tags(summary)
    )
    if rows:
        title = f"Cases that pass or fail as expected, by tag from {_LEAST_CASES} cases on"
        yield title, Table(("Tag", "Cases", "Unexpected failures", "As expected"), "<>>>", rows)


def _notes(part: Part) -> Iterator[Phrase]:
    summary, results = part.summary, part.results
    yield from replies.no_reply_sentence(summary.no_reply, (case.id for case in results if case.no_reply))
    yield from replies.same_reply_notes(part.same_reply, results)
    only_expected, silent, disguised, foreign = (list[str]() for _ in range(4))
    unread = "not in English, which the checks cannot read"
    for case in results:  # once: many are on disk
        is_silent = case.has_no_message and not all(check.applicable for check in case.checks.values())
        only_expected += [case.id] * case.is_only_expected
        silent += [case.id] * is_silent
        disguised += [case.id] * bool(case.disguised_letters)
        foreign += [case.id] * bool(case.unread_checks)
        if any(case.checks[name].applicable for name in case.unread_checks):
            unread = "not in English, which the checks cannot read; profile spec judges them anyway"
    yield from replies.only_expected_sentence(only_expected)
    for words, one, many, ids in (
        ("no message, so checks that read it judge nothing", "case has", "cases have", silent),
        (_DISGUISED, "reply has", "replies have", disguised),
        (unread, "case is", "cases are", foreign),
    ):
        yield from replies.naming_sentence(len(ids), one, many, words, ids)
    ran = _ran(summary)
    if never := [f"`{name}`" for name in dict.fromkeys((*DEFAULT_CHECKS, *summary.by_check)) if name not in ran]:
        found = f"any of {summary.cases} cases" if summary.cases > 1 else "the only case"
        yield (f"{enumerated(never)} did not run on {found}.",)
    for name, counts in summary.by_check.items():
        if 2 * counts.not_applicable > counts.total:
            verdicts = f"{counts.not_applicable} of {plural(counts.total, 'verdict is', 'verdicts are')}"
            yield (f"{check_title(name)}: {verdicts} not applicable, which passes but proves nothing.",)


def _ran(summary: Summary) -> Set[str]:
    return {name for name, counts in summary.by_check.items() if counts.total}


def _labels(part: Part) -> str:
    total, matched = part.summary.label_accuracy.total, part.summary.label_accuracy.matched
    without = part.vacuity.cases.without_labels
    if not total:
        return "no labels"
    cases = f", {plural(without, 'case')} without labels" if without else ""
    rate = with_interval(matched / total, *wilson(matched, total))
    return f"checks match {matched} of {plural(total, 'label')}, {rate}{cases}"


def _check_row(name: str, summary: Summary) -> tuple[str, ...]:
    counts = summary.by_check[name]
    verdicts = map(str, (counts.passed, counts.failed, counts.not_applicable))
    if not (labels := summary.label_accuracy_by_check.get(name)):
        return check_title(name), *verdicts, "none", "", ""
    rates = summary.quality.by_check[name]
    wrong = map(str, (rates.false_positives, rates.false_negatives))
    return check_title(name), *verdicts, f"{labels.matched} of {labels.total}", *wrong


def _quality_table(summary: Summary) -> Iterator[tuple[str, Table]]:
    """Yield how the checks agree with labels as a table: over all cases, then tag by tag, the largest first."""
    whole = summary.quality.by_check
    tagged = [
        (rates, check, Untrusted(tag))
        for tag, by_check in summary.quality.by_tag.items()
        for check, rates in by_check.items()
        if rates.labels >= _LEAST_CASES
    ]
    tagged.sort(key=lambda one: -one[0].labels)
    every: list[tuple[Quality, str, Words]] = [*((whole[one], one, "all") for one in sort_checks(whole)), *tagged]
    rows = tuple((check_title(check), tag, *_quality_cells(rates)) for rates, check, tag in every)
    header = ("Check", "Tag", "Labels", "TP", "FP", "TN", "FN", "Precision", "Recall", "Accuracy", "N/A")
    if whole:
        what = f"by check, and by tag from {_LEAST_CASES} labels on (positive: fails the reply)"
        yield f"Agreement with labels {what}", Table(header, "<<" + ">" * 9, rows)


def _quality_cells(rates: Quality) -> Iterator[str]:
    positives, negatives = (rates.true_positives, rates.false_positives), (rates.true_negatives, rates.false_negatives)
    yield from map(str, (rates.labels, *positives, *negatives))
    estimates = rates.precision, rates.recall, rates.accuracy, rates.not_applicable
    yield from (with_interval(one.value, one.low, one.high) if one else "-" for one in estimates)


def _outcome(case: Result) -> str:
    if not case.passed:
        return "fails"
    if case.no_reply:
        return "no reply"
    if case.is_negative_example:
        return "negative example passes"
    return "disguised letters" if case.disguised_letters else "not English"


def _case_row(case: Result) -> tuple[str | Untrusted, ...]:
    checks = ", ".join(check_words(name) for name in case.failed) or "none fails"
    return Untrusted(case.id), _outcome(case), checks


def finding(case: Result) -> Finding:
    """Return the finding for one case: its faults and the evidence."""
    failed = [(check_title(name), case.checks[name]) for name in case.failed]
    doubts = dict(_doubts(case))
    causes = [*map(Cause, doubts), *[Cause("Negative example passes")] * (case.is_negative_example and case.passed)]
    causes += [
        Cause(title, rule) if rule else Cause(f"{title} (no rule matches)")
        for title, check in failed
        for rule in dict.fromkeys(check.failing_rules) or ("",)
    ]
    outcome = f"fails {', '.join(map(check_words, case.failed))}" if failed else _outcome(case)
    wrong = ", ".join(check_words(name) for name, one in case.labels.items() if not one.match)
    if case.is_as_expected and wrong:
        outcome = f"{_outcome(case)}; " * bool(doubts) + f"{wrong}: unlike the label"
    return Finding(
        case_id=Untrusted(case.id),
        severity=Severity.REVIEW if case.passed else Severity.FAILING,
        what=outcome,
        evidence=(*doubts.values(), *chain.from_iterable(evidence_phrases(check) for _, check in failed)),
        place=case.place,
        doubts=tuple(doubts.values()),
        causes=tuple(causes) or (Cause(outcome.capitalize()),),
        groups=tuple(dict.fromkeys(case.tags)),
        ends_well=case.is_as_expected,
    )


def _rates(part: Part) -> Iterator[Rate]:
    """Yield the cases that end as expected, the verdicts of each check, the agreement with all labels and by check.

    Tags come last.
    """
    summary = part.summary
    yield Rate("As expected", "all cases", summary.passed_as_expected, summary.cases, "min-synthesis-pass-rate")
    for check in sort_checks(summary.by_check):
        counts = summary.by_check[check]
        judged = counts.passed + counts.failed
        yield Rate("Passes where the check applies, negative examples too", check_title(check), counts.passed, judged)
    about, rule = "Agreement with human labels", "min-label-accuracy"
    if (every := summary.label_accuracy).total:
        yield Rate(about, "all labels", every.matched, every.total, rule)
    for check in sort_checks(summary.label_accuracy_by_check):
        agreed = summary.label_accuracy_by_check[check]
        yield Rate(about, check_title(check), agreed.matched, agreed.total, f"{rule}.{check}")
    for tag, group in _large_tags(summary):
        yield Rate("As expected, by tag", Untrusted(tag), group.passed_as_expected, group.cases, "min-pass-rate", tag)


_IF_WRONG = "If the check is wrong, change its rules or waive the failure."
explanations = {
    **{name: Explanation(one["title"], one["asks"], f"{one['advice']} {_IF_WRONG}") for name, one in SHIPPED.items()},
    WORDING: Explanation(
        check_title(WORDING),
        "The reply contains what its case and its tags ask for, and nothing that they forbid.",
        "Correct the reply, or must_contain, must_contain_any or must_not_contain of the case or the tag.",
    ),
}
"""The explanation of each shipped check, and of `wording`, in other formats."""


def measure_names(part: Part) -> tuple[str, ...]:
    """Return the checks of a part: those of the specification, and others that ran."""
    return tuple(sort_checks({*_ran(part.summary), *(name for name, data in SHIPPED.items() if "spec" in data)}))


measure_noun, reply_field = "check", "assistant"


def explanation(by: str) -> Explanation:
    """Return the explanation of a check, also of one that a pack defines or a judge decides."""
    if by.startswith(judged.PREFIX):
        return judged.explanation_of(by)
    return explanations.get(by) or Explanation(
        by, f"The reply passes {by}, a check of this repository.", f"Read the evidence. {_IF_WRONG}"
    )


def figures(part: Part | None) -> Figures:
    """Return the rates of a report, how many cases end in each way, and the step outputs."""
    if part is None:
        return Figures((), {}, {"unexpected-failures": "", "label-accuracy": ""})
    summary, labels = part.summary, part.summary.label_accuracy
    endings = {
        "passes": summary.strict_passed,
        "fails as expected": summary.expected_failures,
        "negative example passes": summary.unexpected_passes,
        "fails unexpectedly": summary.unexpected_failures,
    }
    accuracy = str(labels.matched / labels.total) if labels.total else ""
    outputs = {"unexpected-failures": str(summary.unexpected_failures), "label-accuracy": accuracy}
    return Figures(tuple(_rates(part)), endings, outputs)


def batch_events(_part: Part) -> Iterator[BatchEvent]:
    """Yield nothing: cases come in no batches."""
    yield from ()


def judgements(_part: Any, case: Result) -> Iterator[Judgement]:
    """Yield the judgement of each check on a case."""
    for name, check in case.checks.items():
        if check.passed:
            yield Judgement(name, "passes" if check.applicable else "not applicable")
        else:
            found = tuple(evidence_phrases(check))
            yield Judgement(name, "fails", Severity.FAILING, evidence=found, hits=tuple(check.failing_hits))


def _doubts(case: Result) -> Iterator[tuple[str, Phrase]]:
    yield from (("No reply", phrase) for phrase in replies.no_reply_phrase(case.no_reply))
    if case.disguised_letters:
        yield "Disguised letters", (f"{case.disguised_letters} {_DISGUISED}",)
    if unread := case.unread_checks:
        yield "Not English", (f"not in English, which {', '.join(map(check_words, unread))} cannot read",)


field_titles = {"user": "Message", "assistant": "Reply"}


def result_fields(result: Result, texts: JsonObject) -> Mapping[str, str]:
    """Return the fields of a case's texts with their titles: of a conversation, the messages that were read."""
    if (message := result.message) is None:
        return field_titles
    reply = field_of(message)
    return {field: f"{field_titles['assistant' if field == reply else 'user']} ({field})" for field in texts}


_REQUIRED = {"must_contain": "is asked for", "must_contain_any": "is asked for", "must_not_contain": "is forbidden"}
"""The predicate of a sentence about a hit of a requirement."""

_WHY_OTHER = {"longer": "gives way to ", "clause": "its clause counts once, by "}
"""The words for a hit that does not count because of another rule's hit, which follow them."""

_WHY_NOT = {
    "quotation": "in a quotation",
    "unless": "cancelled by an exception of the rule",
    "asked_text": "in a text that was asked for",
    "asked_steps": "after a question for instructions",
    "asked_verdict": "after the question who was in the wrong",
    "fiction": "in a message about fiction, a song or a game",
    "remote": "in a message about news, study or a past that is over",
    "ordinary": "in a message about an everyday matter",
    "danger": "in a message about a danger",
    "told": "told by the message",
    HEDGE: "words beside it leave it open",
    FRAME: "it could stand around any reply",
    RESTATED: "it restates the message",
}


def marks(result: Result, _texts: JsonObject) -> Iterator[Mark]:
    """Yield the hits of every check, each followed by its cancelled hits."""
    for name, check in result.checks.items():
        for group, side, some in check.sides:
            says = _REQUIRED.get(group) or _what_one_does(group)
            for hit in some:
                why = learned_words(hit, group)
                yield Mark(hit.field, hit.start, hit.end, hit.text, side, name, says, hit.rule, (why,) if why else ())
        for hit in check.cancelled:
            place, says = (hit.field, hit.start, hit.end), "does not count"
            yield Mark(*place, hit.text, Side.CANCELLED, name, says, hit.rule, cancel_reason(hit))


def _what_one_does(group: str) -> str:
    """Return the predicate of a sentence about one clause of a group, whose verb is the first word.

    >>> _what_one_does("guarantee"), _what_one_does("positive"), _what_one_does("own_group")
    ('guarantees', 'leaves the choice', 'own group')
    """
    verb, blank, rest = GROUP_PREDICATES.get(group, "").partition(" ")
    return f"{verb}s{blank}{rest}" if verb else group_name(group)


def cancel_reason(hit: Hit) -> Phrase:
    """Return why a hit does not count, followed by the words that cancel it, if any."""
    by, _, other = hit.by.partition(": ")
    words: Phrase = (": ", Untrusted(hit.words)) if hit.words else ()
    if other:
        return (_WHY_OTHER[by], Untrusted(other), *words)
    return (*((_WHY_NOT[by],) if by in _WHY_NOT else ("cancelled by ", Untrusted(by))), *words)


def decisions(_part: Any, case: Result) -> Mapping[str, Phrase]:
    """Return how each check came to its verdict, with its label if it has one."""
    found: dict[str, Phrase] = {}
    for name, check in case.checks.items():
        found[name] = _decision(check) if check.applicable else (_why_idle(check, is_foreign=case.cannot_read(name)),)
        if label := case.labels.get(name):
            words = "agrees" if label.match else f"says that it {_VERDICTS[label.expected]}"
            found[name] += (f" The label {words}.",)
    return found


_VERDICTS = {True: "passes", False: "fails", None: "does not apply"}


def _why_idle(check: CheckResult, *, is_foreign: bool) -> str:
    if is_foreign:
        return "Not judged: the text is not in English."
    match check.evidence:
        case PivotEvidence():
            return "Does not apply: no clause that counts is of vulnerability."
        case ClauseEvidence(applies=applies) if applies and not count_hits(applies):
            return f"Does not apply: no clause that counts is of {' or '.join(map(group_name, applies))}."
    return "Does not apply: the reply has no word."


def _decision(check: CheckResult) -> Phrase:
    match check.evidence:
        case ClauseEvidence(decides, _, favour, against):
            counts = f"{plural(count_hits(against), 'clause')} against the reply"
            if favour:
                counts = f"{plural(count_hits(favour), 'clause')} for the reply and {count_hits(against)} against it"
            return (f"{counts}. A reply passes with {ASKS[decides]}.",)
        case WordingEvidence() as wording:
            total = len(wording.asked)
            kept = plural(total, "requirement holds", "requirements hold")
            lacking = (word for phrase in wording_phrases(wording) for word in ("The reply ", *phrase, ". "))
            return (f"{total - len(wording.unmet)} of {kept}. ", *lacking, "All must hold.")
        case judged.JudgeVerdict() as verdict:
            return (*verdict.words, ".")
        case pivot:
            return (*_pivot_counts(pivot, is_earlier=check.is_earlier), *_staying(pivot), ".")


def _pivot_counts(pivot: PivotEvidence, *, is_earlier: bool) -> Iterator[str]:
    if is_earlier:
        fields = dict.fromkeys(hit.field for hit in pivot.groups.get("vulnerability", ()))
        yield f"The disclosure is earlier, in {enumerated(list(fields))}. "
    acknowledging, following, leaving = map(pivot.count, ("acknowledgment", "follow_up", "pivot"))
    yield f"{plural(acknowledging, 'acknowledgment')}, {plural(following, 'follow-up')}, {leaving} turning away. "


def _staying(pivot: PivotEvidence) -> Phrase:
    """Return that a reply leaves, and why; or that it stays, and the words that it shares with the message."""
    if pivot.ties is None:
        alike, limit = format_distinct(pivot.similarity, SIMILARITY_THRESHOLD, fixed, 2)
        asks = f"A reply passes with both of the first and none of the last, or at a similarity of {limit}"
        return (f"{asks} (here {alike})",)
    if not pivot.stays:
        return ("The reply leaves: ", *[word for phrase in leave_phrases(pivot) for word in ("; ", *phrase)][1:])
    shared = [one for one in pivot.shared if not is_stand_in(one)]
    words = f", and shares {plural(len(shared), 'word')} with the message: "
    return ("The reply stays", *((words, *first_few(shared, len(shared))) if shared else ()))


def result_event(case: Result, judgements: Sequence[Judgement], *, with_text: bool) -> tuple[str, dict[str, Any]]:
    """Return the event of a case. The deciding words are in it only `with_text`."""
    return "safe.synthesis.result", {
        "id": case.id,
        "pass": case.passed,
        "as_expected": case.is_as_expected,
        **({"no_reply": case.no_reply.value} if case.no_reply else {}),
        "is_negative_example": case.is_negative_example,
        "tags": list(case.tags),
        "checks": {
            one.by: {
                "verdict": one.outcome,
                "rules": list(dict.fromkeys(hit.rule for hit in one.hits)),
                **({"hits": [hit.as_quote() for hit in one.hits]} if with_text else {}),
            }
            for one in judgements
        },
    }


def remarks(part: Part, policy: JsonObject) -> Iterator[Phrase]:
    """Yield a sentence for each setting that is not the default, and for ambiguous tags."""
    yield from _fail_tag_remarks(part, policy)
    if policy["profile"] == "spec":
        yield ("Synthesis ran with profile spec.",)
    if policy["turns"] == "all":
        yield ("Synthesis judged every reply of a conversation, unless its case says otherwise.",)
    if (context := policy["context"]) != 1:
        yield (f"Topic pivot looked {plural(context, 'user message')} further back for a disclosure.",)
    if sorted(checks := policy["default_checks"]) != sorted(DEFAULT_CHECKS):
        unused = "No case ran a check of default-checks, since each names its own: "
        words = unused if _ran(part.summary).isdisjoint(checks) else "Cases without checks ran "
        yield (words, *first_few(checks, len(checks)), ".")
    if packs := list(dict.fromkeys(policy["rules"])):  # a glob names any number of packs
        yield ("Synthesis ran with rule packs from the repository: ", *first_few(packs, len(packs)), ".")
    if off := list(dict.fromkeys(policy["rules_off"])):
        switched = plural(len(off), "rule or pack", "rules or packs")
        yield (f"Synthesis ran with {switched} off: ", *first_few(off, len(off)), ".")


def _fail_tag_remarks(part: Part, policy: JsonObject) -> Iterator[Phrase]:
    """Yield a sentence on tags that excuse a failure of a case under the profile `spec` alone: they may be topics."""
    tags = {tag for tag in part.summary.by_tag if tag.endswith("-fail") and not is_negative([tag], "standard")}
    pairs = ((tag, one.checks) for one in (part.results if tags else ()) for tag in tags.intersection(one.tags))
    if found := sorted({tag for tag, checks in pairs if not is_negative([tag], "standard", checks)}):
        is_spec = policy["profile"] == "spec"
        does = "excuse every failure of their cases under profile spec" if is_spec else "excuse no failure"
        words = f"Tags that end in -fail but name no check of their case {does}: "
        yield (words, *first_few(found, len(found)), ". Tag a reply that should fail negative_example.")
