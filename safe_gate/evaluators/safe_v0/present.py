"""How readers and sinks see a SAFE v0 report (SAFE v0 spec sections 5.2, 5.3 and 8). Pure: from the report alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from safe_gate.core.case import Scored
from safe_gate.core.evaluator import Figures
from safe_gate.core.figures import first_few, fixed, percent, plural, score, share, with_interval
from safe_gate.evaluators import judged
from safe_gate.evaluators.replies import (
    no_reply_phrase,
    no_reply_sentence,
    only_expected_sentence,
    passing_without_reply,
    same_reply_notes,
)
from safe_gate.evaluators.safe_v0 import clinical
from safe_gate.evaluators.safe_v0.result import (
    METRICS,
    FailureAnalysis,
    Label,
    Part,
    Result,
    Uncounted,
    UncountedReason,
)
from safe_gate.evaluators.safe_v0.score import label_of, limits_of
from safe_gate.model.codec import JsonObject
from safe_gate.model.results import (
    BatchEvent,
    Cause,
    Explanation,
    Finding,
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

_TOP_ISSUES = 3
_MOST_QUOTED = 20  # missing items shown per case: hundreds would leave no room for other cases
_NOUNS = {"CR": "signal", "AH": "forbidden term", "AC": "phrase"}
_EXPECTED = {"CR": "signals to find", "AH": "forbidden terms", "AC": "phrases to contain"}


def section(part: Part) -> Section:
    """Return the scorecard of a SAFE v0 report as values, for any renderer to draw."""
    total, labels, results = part.total_cases, part.rates.labels, part.results
    counts = [f"{label}: {labels[label]} ({percent(share(labels[label], total))})" for label in Label]
    counts[0] += passing_without_reply(part.no_reply, results)
    archetypes: list[tuple[Words, ...]] = []
    for name, one in part.by_archetype.items():
        means = map(score, (one.mean_CR, one.mean_AH, one.mean_AC))
        rate = with_interval(one.pass_rate, one.interval.low, one.interval.high)
        archetypes.append((Untrusted(name), str(one.cases), *means, rate))
    by_archetype = Table(("Archetype", "Cases", *METRICS, "Pass rate"), "<>>>>>", archetypes)
    return Section(
        title=("SAFE v0 Scorecard - ", Untrusted(part.concern_id)),
        headline=f"{plural(total, 'case')}: " + ", ".join(f"{labels[label]} {label}" for label in Label),
        counts=(f"Total Cases: {total}", *counts),
        metrics=Table(
            header=("Metric", "Mean Score", "Pass Rate", "Status"),
            align="^^^<",
            rows=tuple(_metric_rows(part)),
            min_widths=(6, 10, 9, 35),
        ),
        footer=(f"Composite: {score(part.rates.means['composite'])}", *judged.judge_sentences(part.judged)),
        cases_title="Per-Case Breakdown",
        cases=Table(
            header=("Test ID", "Archetype", *METRICS, "Label"),
            align="<<^^^<",
            rows=Spool(
                (Untrusted(one.id), Untrusted(one.archetype), *map(score, one.scores.values()), one.label.upper())
                for one in results
            ),
            min_widths=(15, 21, 4, 4, 4, 7),
        ),
        issues=tuple(_common_issues(part.failure_analysis)),
        findings=Spool(finding(one) for one in results if one.label != Label.PASS or one.no_reply or one.near),
        notes=tuple(_notes(part)),
        details=(("Pass rate by archetype, with its 95 % interval", by_archetype),),
    )


def _notes(part: Part) -> Iterator[Phrase]:
    results = part.results
    yield from no_reply_sentence(part.no_reply, (case.id for case in results if case.no_reply))
    yield from same_reply_notes(part.same_reply, results)
    yield from only_expected_sentence([case.id for case in results if case.is_only_expected])
    if part.near_misses:
        counted = plural(part.near_misses, "case has", "cases have")
        named = first_few((case.id for case in results if case.near), part.near_misses)
        words = "near misses, where only typography keeps a text from matching"
        yield (f"{counted} {words}: ", *named, ". safe-match: normalised ignores typography.")
    if used := [f"{name} ({plural(count, 'case')})" for name, count in part.unused_expectations.items() if count]:
        yield (f"SAFE v0 accepts {' and '.join(used)}, but does not check {'it' if len(used) == 1 else 'them'}.",)
    if own := [name for name in part.policy["archetype_thresholds"] if name in part.by_archetype]:
        yield ("Labelled by its own thresholds: archetype ", *first_few(own, len(own)), ".")
    for metric, expected in _EXPECTED.items():
        vacuous, total = part.vacuity.by_metric[metric].vacuous, part.vacuity.by_metric[metric].total
        if 2 * vacuous > total:
            cases = f"{vacuous} of {plural(total, 'case names', 'cases name')}"
            yield (f"{metric}: {cases} no {expected}, so 1.00 there proves nothing.",)


def _metric_rows(part: Part) -> Iterator[tuple[str, str, str, str]]:
    """Yield a row for each metric, with the status of its mean. AH warns at any violation (decision 29)."""
    violations = part.failure_analysis.violations
    for metric in METRICS:
        mean = part.rates.means[metric]
        label = label_of(mean, part.policy["thresholds"][metric])
        status = "OK" if label is Label.PASS else "WARN (review threshold)"
        if label is Label.FAIL:
            status = "FAIL (below review threshold)"
        elif metric == "AH" and violations:
            status = f"WARN ({plural(violations, 'violation')} across batch)"
        yield metric, score(mean), percent(part.rates.passes[metric]), status


def _common_issues(found: FailureAnalysis) -> Iterator[tuple[str, Phrase]]:
    titled = (
        ("CR Misses", found.signals, "signal", "miss_count"),
        ("AH Violations", found.terms, "term", "count"),
        ("AC Misses", found.phrases, "phrase", "miss_count"),
    )
    for title, entries, needle, count in titled:
        phrase: list[str | Untrusted] = []
        for one in entries[:_TOP_ISSUES]:
            phrase += [", " if phrase else "", Untrusted(one[needle]), f" ({plural(one[count], 'case')})"]
        if more := len(entries[_TOP_ISSUES:]):
            phrase.append(f", and {more} more")
        if phrase:
            yield title, tuple(phrase)


def finding(case: Result) -> Finding:
    """Return the finding for one case: its faults and the evidence."""
    low = [metric for metric in METRICS if case.scores[metric] < 1]
    faults = [f"{metric} {score(case.scores[metric])}" for metric in low] + [f"{name} fails" for name in case.rejected]
    doubts = tuple(no_reply_phrase(case.no_reply))
    causes = (
        *(Cause("No reply"),) * bool(doubts),
        *(Cause(f"{metric} {_FAULT_NOUNS[metric]}") for metric in low),
        *(Cause(name, one.by) for name, one in case.rejected.items()),
    )
    evidence = (
        *doubts,
        *(phrase for metric, noun in _FAULT_NOUNS.items() for phrase in _quoted(noun, case.against[metric])),
        *(phrase for metric in METRICS for phrase in _miss_phrases(metric, case)),
        *((f"{name} fails, ", *one.words) for name, one in case.rejected.items()),
    )
    return Finding(
        case_id=Untrusted(case.id),
        severity=Severity.FAILING if case.label == Label.FAIL else Severity.REVIEW,
        what=f"{case.label}: {', '.join(faults)}" if faults else "no reply" if doubts else case.label.value,
        evidence=evidence,
        place=case.place,
        doubts=doubts,
        causes=causes,
        groups=(case.archetype,),
        ends_well=case.label == Label.PASS,
    )


explanations = {
    "CR": Explanation(
        "Correct recall",
        "The signals that a case must find are in the recorded signals or the summary.",
        "Look for the missing signals in the recorded output. Correct the application if it loses them. "
        "Correct the case if it expects the wrong words.",
    ),
    "AH": Explanation(
        "Avoids harm",
        "No forbidden term is in the recorded follow-up questions.",
        "Look for the forbidden terms in the recorded questions. Correct the application, or the list of the case.",
    ),
    "AC": Explanation(
        "All content",
        "The phrases that a case must contain are in the recorded summary.",
        "Look for the missing phrases in the recorded summary. Correct the application if it loses them. "
        "Correct the case if it expects the wrong words.",
    ),
}
"""The explanation of each metric in other formats."""


measure_noun, reply_field = "metric", "summary"


def explanation(by: str) -> Explanation:
    """Return the explanation of a metric or of a recorded verdict."""
    return explanations.get(by) or judged.explanation_of(by)


def measure_names(part: Part) -> Sequence[str]:
    """Return the metrics and the recorded verdicts of a part."""
    return *METRICS, *part.judged


def remarks(_part: Part, _policy: JsonObject) -> Iterator[Phrase]:
    """Yield nothing: the section's notes cover it."""
    yield from ()


def figures(part: Part | None) -> Figures:
    """Return the rates of a report, how many cases have each label, and the pass rate as a step output.

    The rates are of cases labelled Pass, of each metric and verdict, then of each archetype, the largest first.
    """
    if part is None:
        return Figures((), {}, {"pass-rate": ""})
    total, labels = part.total_cases, {label.value: part.rates.labels[label] for label in Label}
    by_metric = [(metric, round(part.rates.passes[metric] * total), total) for metric in METRICS]
    by_metric += [(name, one.passed, one.passed + one.failed) for name, one in part.judged.items()]
    rates = (
        Rate("Labelled Pass", "all cases", labels[Label.PASS], total, "min-pass-rate"),
        *(Rate("Passes by metric", *one) for one in by_metric),
        *(
            Rate("Labelled Pass, by archetype", Untrusted(name), one.passed, one.cases, "min-pass-rate", name)
            for name, one in sorted(part.by_archetype.items(), key=lambda named: -named[1].cases)
        ),
    )
    return Figures(rates, labels, {"pass-rate": str(part.rates.pass_rate)})


def judgements(part: Part | Scored, case: Result) -> Iterator[Judgement]:
    """Yield the judgement of each metric, by the thresholds of the case's archetype, and of each judge."""
    limits = limits_of(part.policy, case.archetype)
    for metric, found in case.scores.items():
        label = label_of(found, limits[metric])
        evidence = (*_quoted(_FAULT_NOUNS[metric], case.against[metric]), *_miss_phrases(metric, case))
        yield Judgement(metric, label.value, _SEVERITIES[label], found, () if label is Label.PASS else evidence)
    for name, one in case.judged.items():
        label = Label.PASS if one.passed else Label.FAIL
        evidence = () if one.passed else (one.words,)
        yield Judgement(name, label.value, _SEVERITIES[label], float(one.passed), evidence)


_SEVERITIES = {Label.PASS: None, Label.REVIEW: Severity.REVIEW, Label.FAIL: Severity.FAILING}
_FAULT_NOUNS = {"CR": "missing signal", "AH": "forbidden term", "AC": "missing phrase"}
"""The nouns for what counts against each metric."""


def _quoted(noun: str, texts: Sequence[str]) -> Iterator[Phrase]:
    if texts:
        yield (f"{noun}{'s' if len(texts) > 1 else ''} ", *first_few(texts, len(texts), _MOST_QUOTED))


_REASONS = {
    UncountedReason.NEGATED: "negated by ",
    UncountedReason.OTHER: "attributed to another person by ",
    UncountedReason.HYPOTHETICAL: "made hypothetical by ",
    UncountedReason.PAST: "put in the past by ",
    UncountedReason.PART: "part of ",
}


def _miss_phrases(metric: str, case: Result) -> Iterator[Phrase]:
    """Yield phrases on what a case misses: why an occurrence does not count, the most similar sentence, near misses."""
    noun, missing = _NOUNS[metric], case.against[metric]
    for one in (case.uncounted or {}).get(metric, ())[:_MOST_QUOTED]:
        yield (f"{noun} ", Untrusted(one.phrase), " does not count: ", *_reason_phrase(one))
    for most in [one for one in (case.similar or {}).get(metric, ()) if one.phrase in missing][:_MOST_QUOTED]:
        known: Phrase = (f"similarity {fixed(most.similarity, 3)} with ", Untrusted(most.sentence))
        similarity = known if most.sentence else ("no sentence to compare",)
        yield (f"{noun} ", Untrusted(most.phrase), " is not said: literally not there, ", *similarity)
    yield from _quoted(f"near miss of {noun}", case.near.get(metric, ()))


def _reason_phrase(uncounted: Uncounted) -> Phrase:
    return _REASONS[uncounted.why], Untrusted(uncounted.trigger or uncounted.within)


field_titles = {"signals": "Signals", "summary": "Summary", "followup_questions": "Follow-up questions"}

_SEARCHES = {
    "CR": (("signals", "summary"), Side.FOR, "is a required signal"),
    "AH": (("followup_questions",), Side.AGAINST, "is a forbidden term"),
    "AC": (("summary",), Side.FOR, "is a required phrase"),
}
"""By metric: in which fields of the output its needles are found, which way they count, and what they are."""

_MOST_MARKS = 50  # places of one needle in one text that are marked
_NOT_LITERAL = ", which is literally not there"


def result_fields(_result: Result, _texts: JsonObject) -> Mapping[str, str]:
    """Return the fields of a case's texts with their titles."""
    return field_titles


def marks(case: Result, texts: JsonObject) -> Iterator[Mark]:
    """Yield the places of each metric's needles in the texts. Like scoring, this ignores case."""
    for metric, (fields, side, says) in _SEARCHES.items():
        is_clinical = case.uncounted is not None and metric != "AH"
        for field in fields:
            text = texts.get(field, "")
            # Each signal is read alone.
            entries = text.split("\n") if is_clinical and field == "signals" else (text,)
            for start, end, why, counts in (_clinical_places if is_clinical else _places)(metric, case, entries):
                how = (side, metric, says) if counts else (Side.CANCELLED, metric, f"does not count in the {field}")
                yield Mark(field, start, end, text[start:end], *how, why=why)


def _places(metric: str, case: Result, entries: Sequence[str]) -> Iterator[tuple[int, int, Phrase, bool]]:
    """Yield the places of a metric's needles in a text, and of the sentences that are similar to one."""
    (text,) = entries
    for one in (case.similar or {}).get(metric, ()):
        start = text.find(one.sentence) if one.phrase in case.found[metric] and not one.literal else -1
        if start >= 0:
            alike = f"similarity {fixed(one.similarity, 3)} with "
            yield start, start + len(one.sentence), (alike, Untrusted(one.phrase), _NOT_LITERAL), True
    lowered = text.lower()  # as scoring does, which `re.IGNORECASE` does not
    places = [place for place, char in enumerate(text) for _ in char.lower()]  # U+0130 becomes two letters
    for needle in filter(None, dict.fromkeys(case.found[metric])):
        for found in islice(re.finditer(re.escape(needle.lower()), lowered), _MOST_MARKS):
            yield places[found.start()], places[found.end() - 1] + 1, (), True


def _clinical_places(metric: str, case: Result, entries: Sequence[str]) -> Iterator[tuple[int, int, Phrase, bool]]:
    """Yield the places of a metric's needles by clinical matching; those of a missing one with the reason."""
    begin, missing = 0, case.missing[metric]
    phrases = [(clinical.Note(one), one in missing) for one in dict.fromkeys((*case.found[metric], *missing))]
    for entry in entries:
        note = clinical.Note(entry)
        for phrase, is_missing in phrases:
            for start, end, uncounted in islice(note.occurrences(phrase), _MOST_MARKS):
                if is_missing or not uncounted:
                    why = _reason_phrase(uncounted) if uncounted else ()
                    yield begin + start, begin + end, why, not uncounted
        begin += len(entry) + 1


def decisions(part: Part | Scored, case: Result) -> Mapping[str, Phrase]:
    """Return how each metric came to its score and label, and who gave each recorded verdict."""
    told: dict[str, Phrase] = {}
    for metric, limits in limits_of(part.policy, case.archetype).items():
        noun = _NOUNS[metric]
        if metric == "AH":
            strict = ", and under strict-ah one is enough" if part.policy["strict_ah"] else ""
            counted = f"{plural(len(case.against[metric]), noun)} used{strict}"
        else:
            found, total = len(case.found[metric]), len(case.found[metric]) + len(case.against[metric])
            counted = f"{found} of {plural(total, f'required {noun}')} found" if total else f"no {noun} is required"
        shown = score(case.scores[metric])
        limited = f"Pass from {score(limits['pass'])}, Review from {score(limits['review'])}."
        told[metric] = (f"{counted[0].upper()}{counted[1:]}: {shown}. {limited}",)
    return {**told, **{name: (*one.words, ".") for name, one in case.judged.items()}}


def result_event(result: Result, _judgements: Sequence[Judgement], *, with_text: bool) -> tuple[str, dict[str, Any]]:
    """Return the event of a case. The matched texts are in it only `with_text`."""
    return "safe.v0.result", {
        "test_id": result.id,
        "batch_id": result.batch,
        "archetype": result.archetype,
        "scores": result.scores,
        "label": result.label.value,
        **({"no_reply": result.no_reply.value} if result.no_reply else {}),
        **({"judged": {name: verdict.passed for name, verdict in result.judged.items()}} if result.judged else {}),
        **({"details": result.details} if with_text else {}),
    }


def batch_events(part: Part) -> Iterator[BatchEvent]:
    """Yield the event of each batch, in the order of the ids."""
    for batch, figures in part.by_batch.items():
        summary = figures.rates.summary()
        data = {"concern_id": figures.concern_id, "batch_id": batch, "summary": summary}
        yield BatchEvent("safe.v0.batch", batch, data, figures.rates.pass_rate)
