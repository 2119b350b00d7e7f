"""A run as one page for people: verdict and rules, figures with intervals, every case with its evidence. Pure.

The page holds its cases as JSON, one per line. Its scripts filter them and draw the visible ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import count, groupby
from typing import Any

from safe_gate.addons.page.markup import page
from safe_gate.core.figures import plural
from safe_gate.evaluators.registry import parts_of
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import number
from safe_gate.model.report import Change, Origin, Report
from safe_gate.model.results import Judgement, Mark, Phrase, Rate, Severity, Table, Untrusted
from safe_gate.render import comparison
from safe_gate.render import view as render_view
from safe_gate.render.cases import ShownCase, ShownPart, compared_part, rank_of
from safe_gate.render.view import VERDICTS, ReportView, waiver_phrase

# The words for the states of rules, what somebody must see to first.
_STATES = {"broken": "broken", "warning": "warns", "skipped": "skipped", "ok": "holds"}
_BLOCK = 1_000  # cases of one element: a browser holds no text of more than half a gigabyte


def _draw(view: ReportView) -> Iterator[str]:
    report = view.report
    inputs = tuple((Untrusted(one.path), one.kind, Untrusted(one.sha256)) for one in report.provenance.inputs)
    numbers = count()
    shown = {
        "title": f"SAFE Gate: {VERDICTS[report.verdict]}",
        "view": view,
        "report": report,
        "render": render_view,
        "comparison": comparison,
        "origin": _origin(report, view.origin),
        "problem_count": plural(number(report.problems), "problem"),
        "states": _STATES,
        "rates": partial(_rates, report),
        "inputs": Table(("File", "Kind", "SHA-256"), "<<<", inputs),
        "about_cases": _common_facts(view),
        "blocks": groupby(_cases(view), lambda _: next(numbers) // _BLOCK),
    }
    return page("report.html", shown, ("text.js", "case.js", "list.js"))


FILES = {"safe-gate.html": _draw}


def _origin(report: Report, origin: Origin) -> Iterator[Phrase]:
    """Yield where a report comes from: its repository, commit, gate, time, tool and digest."""
    repository, tool, digests = origin.repository.partition("//")[2], report.tool, report.provenance.digests
    whence = ("repository ", repository), ("commit ", origin.commit[:12]), ("gate ", origin.name)
    yield from ((title, Untrusted(name)) for title, name in whence if name)
    yield (report.generated_at.replace("T", " ").replace("Z", " UTC"),)
    yield (f"{tool.name} {tool.version}",)
    if digests:
        yield ("digest ", Untrusted(digests.all[:12]))


def _rates(report: Report, part: ShownPart) -> Iterator[tuple[str, list[tuple[Rate, float | None]]]]:
    """Yield the rates of an evaluator by their titles, each with the least that a rule of the gate allows."""
    limits = {(rule.evaluator, rule.rule, rule.group): rule.threshold for rule in report.rules}
    for about, rates in groupby(part.evaluator.present.figures(part.part).rates, lambda rate: rate.about):
        yield about, [(rate, limits.get((part.evaluator.name, rate.rule, rate.group))) for rate in rates]


# --- cases --------------------------------------------------------------------------------------

_LAST = 9  # the rank of a case that needs no look
_LONGEST_QUOTE = 300


def _common_facts(view: ReportView) -> dict[str, Any]:
    shown = [(part.evaluator, part.evaluator.present, part.part) for part in view.parts]
    return {
        "evaluators": [
            {
                "name": one.name,
                "title": one.title,
                "noun": one.grouping.noun,
                "checks": {by: present.explanation(by).title for by in present.measure_names(part)},
                "fields": dict(present.field_titles),
            }
            for one, present, part in shown
        ],
        "compared": any(compared_part(view.report, part.evaluator.name) for part in view.parts),
        "texts": bool(view.recorded.now),
        "withheld": view.report.provenance.policy["text"] == "none",
    }


def _cases(view: ReportView) -> Iterator[dict[str, Any]]:
    """Yield what the page shows of each case; one is held at a time."""
    texts = {name: iter(some) for name, some in view.recorded.now.items()}
    compared = parts_of(view.report.comparison.parts) if view.report.comparison else ()
    changes = {evaluator.name: {change.id: change for change in part.changes} for evaluator, part in compared}
    for case in view.cases():
        name = case.evaluator.name
        now = next(texts.get(name, iter(())), {})
        old = view.recorded.before(name, case.result.id) or {}
        yield _case_json(view.report.parts[name], case, now, old, changes.get(name, {}).get(case.result.id))


def _case_json(part: Any, case: ShownCase, now: JsonObject, old: JsonObject, change: Change | None) -> dict[str, Any]:
    """Return what the page shows of a case; what is empty is left out."""
    present, result, finding = case.evaluator.present, case.result, case.finding
    decided, fields = present.decisions(part, result), present.result_fields(result, {**now, **old})
    changed = {field: old[field] for field in old if old[field] != now.get(field)}
    before = change.before if change else None
    shown = _filled(
        {
            "evaluator": case.evaluator.name,
            "id": result.id,
            "place": f"{result.place.path}:{result.place.line}",
            "label": case.outcome.words,
            "kind": _kind(case),
            "rank": rank_of(finding) if finding else _LAST - bool(case.change),
            "what": finding.what if finding else "",
            "news": case.change,
            "groups": list(result.groups),
            "excused": list(case.excused_by),
            "evidence": [_phrase_json(one) for one in finding.evidence] if finding else [],
            "checks": [_judgement_json(one, decided.get(one.by, ())) for one in case.judgements],
            "waivers": {by: _phrase_json(("waived ", *waiver_phrase(one))) for by, one in case.waivers.items()},
            "fields": {} if fields == present.field_titles else dict(fields),
            "texts": {field: now[field] for field in fields if now.get(field)},
            "marks": [_mark_json(one) for one in present.marks(result, now)],
            "because": change.because if change else [],
            "labels": change.labels if change else [],
            "old": changed,
            "oldMarks": [_mark_json(one) for one in present.marks(before, old)] if before and changed else [],
        }
    )
    # An empty list means: no evidence before.
    return {**shown, "before": [_phrase_json(one) for one in present.finding(before).evidence]} if before else shown


def _filled(shown: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in shown.items() if value not in ("", [], (), {}, None)}


def _kind(case: ShownCase) -> str:
    """Return the style of a case in the list: fail, review, expected or pass."""
    if case.finding:
        return "fail" if case.finding.severity is Severity.FAILING else "review"
    if case.excused_by:
        return "expected"
    return "pass" if case.outcome.passed else "review"


def _judgement_json(judgement: Judgement, decided: Phrase) -> dict[str, Any]:
    kind = {None: "pass", Severity.REVIEW: "review", Severity.FAILING: "fail"}[judgement.severity]
    return _filled(
        {
            "by": judgement.by,
            "label": judgement.label,
            "kind": "none" if judgement.label == "not applicable" else kind,
            "score": judgement.score,
            "evidence": [_phrase_json(found) for found in judgement.evidence],
            "decided": _phrase_json(decided),
        }
    )


def _mark_json(mark: Mark) -> list[Any]:
    place, text = (mark.field, mark.start, mark.end), mark.text if mark.end - mark.start <= _LONGEST_QUOTE else ""
    return [*place, str(mark.side), mark.by, mark.says, mark.rule, _phrase_json(mark.why), text]


def _phrase_json(parts: Phrase) -> list[Any]:
    """Return a phrase for the scripts: our own words as strings, recorded ones each in a list."""
    return [[one.text] if isinstance(one, Untrusted) else one for one in parts]
