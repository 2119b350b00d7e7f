"""The data of a run's page: a line of JSON for each case, and what all cases share. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from safe_gate.evaluators import EVALUATORS, parts_of
from safe_gate.model.codec import JsonObject
from safe_gate.model.comparison import Change
from safe_gate.model.report import Report, Waiver
from safe_gate.model.results import Judgement, Recorded, Severity
from safe_gate.model.shown import Mark
from safe_gate.model.untrusted import Phrase, Untrusted
from safe_gate.render.cases import JudgedCase, is_compared, judged_cases
from safe_gate.render.comparison import NEWLY_FAILING
from safe_gate.render.formats import Shown
from safe_gate.render.jsonreport import line


def about(report: Report, recorded: Recorded) -> dict[str, Any]:
    """Return what the cases of a report have in common."""
    return {
        "evaluators": [
            {
                "name": one.name,
                "title": one.title,
                "noun": one.grouping.noun,
                "checks": {by: one.present.explanation(by).title for by in one.present.measured(part)},
                "fields": dict(one.present.fields),
            }
            for one, part in parts_of(report.parts)
        ],
        "compared": any(is_compared(report, name) for name in EVALUATORS),
        "texts": bool(recorded.now),
        "withheld": report.provenance.withholds_texts,
    }


def lines(run: Shown) -> Iterator[str]:
    """Yield a line of JSON for each case; one is held at a time."""
    texts = {name: iter(some) for name, some in run.recorded.now.items()}
    compared = parts_of(run.report.comparison.parts) if run.report.comparison else ()
    changes = {evaluator.name: {change.id: change for change in part.changes} for evaluator, part in compared}
    for case in judged_cases(run.view):
        name = case.evaluator.name
        now = next(texts.get(name, iter(())), {})
        old = run.recorded.before(name, case.id) or {}
        yield line(_case(run.report.parts[name] or {}, case, now, old, changes.get(name, {}).get(case.id)))


def _case(
    part: JsonObject, case: JudgedCase, now: JsonObject, old: JsonObject, change: Change | None
) -> dict[str, Any]:
    """Return what the page shows of a case; what is empty is left out."""
    evaluator, finding = case.evaluator, case.finding
    decided = evaluator.present.decisions(part, case.result)
    fields = evaluator.present.fields_of(case.result, {**now, **old})
    shown = {
        "evaluator": evaluator.name,
        "id": case.id,
        "place": f"{case.place.path}:{case.place.line}",
        "label": case.label,
        "kind": _kind(case),
        "rank": _rank(case),
        "what": finding.what if finding else "",
        "news": case.change,
        "groups": list(case.groups),
        "excused": list(case.excused_by),
        "evidence": [_as_json(one) for one in finding.evidence] if finding else [],
        "checks": [_judged(one, decided.get(one.by, ())) for one in case.judgements],
        "waivers": {by: _waived(waiver) for by, waiver in case.waivers.items()},
        "fields": {} if fields == evaluator.present.fields else dict(fields),
        "texts": {field: now[field] for field in fields if now.get(field)},
        "marks": [_mark(one) for one in evaluator.present.marks(case.result, now)],
    }
    if change:
        shown["because"] = change.because
        shown["labels"] = change.labels
    changed = {field: old[field] for field in old if old[field] != now.get(field)}
    before = change.before if change else None
    if changed:
        shown["old"] = changed
        shown["oldMarks"] = [_mark(one) for one in evaluator.present.marks(before, old)] if before else []
    filled = {key: value for key, value in shown.items() if value not in ("", [], {}, None)}
    if before:
        # An empty list means: no evidence before.
        filled["before"] = [_as_json(one) for one in evaluator.present.finding(before).evidence]
    return filled


def _kind(case: JudgedCase) -> str:
    """Return what a case looks like in the list: fail, review, expected or pass."""
    if case.excused_by and not case.finding:
        return "expected"
    if not case.finding:
        return "pass" if case.passed else "review"
    return "fail" if case.finding.severity is Severity.FAILING else "review"


def _rank(case: JudgedCase) -> int:
    """Return how much a case matters, 0 the most: as what is shown first elsewhere."""
    if not case.finding:
        return _LAST - bool(case.change)
    breaks, is_new = case.finding.breaks, case.change == NEWLY_FAILING
    is_failing = case.finding.severity is Severity.FAILING
    return 4 * (not breaks) + 2 * (not is_new) + (not is_failing)


_LAST = 9


def _judged(one: Judgement, decided: Phrase) -> dict[str, Any]:
    kind = {None: "pass", Severity.REVIEW: "review", Severity.FAILING: "fail"}[one.severity]
    shown = {
        "by": one.by,
        "label": one.label,
        "kind": "none" if one.label == "not applicable" else kind,
        "score": one.score,
        "evidence": [_as_json(found) for found in one.evidence],
        "decided": _as_json(decided),
    }
    return {key: value for key, value in shown.items() if value not in ([], None)}


def _mark(one: Mark) -> list[Any]:
    text = "" if one.end - one.start > _LONGEST_QUOTE else one.text
    return [one.field, one.start, one.end, str(one.side), one.by, one.says, one.rule, _as_json(one.why), text]


_LONGEST_QUOTE = 300


def _waived(waiver: Waiver) -> list[Any]:
    until, owner, reason = map(Untrusted, (waiver.expires, waiver.owner, waiver.reason))
    return _as_json(("waived until ", until, " by ", owner, ": ", reason))


def _as_json(parts: Phrase) -> list[Any]:
    """Return a phrase for the scripts: our own words as strings, recorded ones each in a list."""
    return [[one.text] if isinstance(one, Untrusted) else one for one in parts]
