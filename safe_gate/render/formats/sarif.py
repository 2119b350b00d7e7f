"""SARIF 2.1.0: a result for each metric or check of a case that somebody must see to. Pure.

GitHub's code scanning refuses files over 25,000 results or 10 MB, and shows 5,000 results. The most important results
are written and the rest are counted. A result must have a place in a file, so broken rules are notifications.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from heapq import nsmallest
from itertools import count
from typing import Any, NamedTuple

from safe_gate.core.figures import plural
from safe_gate.core.jsontext import digest, line
from safe_gate.evaluators.registry import EVALUATORS, parts_of
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import Place
from safe_gate.model.report import Report, Verdict, Waiver
from safe_gate.model.results import Explanation, Judgement, Severity, Untrusted
from safe_gate.render.comparison import NEWLY_FAILING
from safe_gate.render.formats import (
    WHOLE_CASE,
    JudgedCase,
    RenderedRun,
    is_compared,
    judged_cases,
    judgement_message,
    repository_path,
)
from safe_gate.render.untrusted import address, plain, quote_phrase, sarif
from safe_gate.render.view import ReportView, report_filter_sentence, rule_message, rule_name

_MOST = 5_000
_MOST_BYTES = 9_000_000  # of results; what else there is takes little
_MOST_NOTIFICATIONS = 1_000
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_WHOLE = Explanation(
    "Case to look at",
    "The case has a readable English reply, and fails if it should fail.",
    "Look at the case: no metric or check measures what is wrong.",
)


def _draw(source: RenderedRun) -> Iterator[str]:
    view, (_, folder, *_), _ = source
    report = view.report
    rules = _rules(report)
    index = {rule["id"]: place for place, rule in enumerate(rules)}
    results, left_out = _first_results(_ranked_results(view, folder, index))
    driver = {"name": "SAFE Gate", "version": report.tool.version, "rules": rules}
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": "safe-gate/"},
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the repository."}}},
        "invocations": [_invocation(report, folder, left_out)],
    }
    if words := report_filter_sentence(report):
        run["properties"] = {"filter": quote_phrase(words)}
    yield f'{{"$schema": {line(_SCHEMA)}, "version": "2.1.0", "runs": [{{\n'
    yield from (f"{line(key)}: {line(value)},\n" for key, value in run.items())
    yield '"results": ['
    yield from (f"{',' if place else ''}\n{result}" for place, result in enumerate(results))
    yield "]}]}\n"


FILES = {"safe-gate.sarif": _draw}
_ROOT = "%SRCROOT%"


def _rules(report: Report) -> list[dict[str, Any]]:
    explained = {
        f"{one.name}/{by}": _WHOLE if by == WHOLE_CASE else one.present.explanation(by)
        for one, part in parts_of(report.parts)
        for by in (*one.present.measure_names(part), WHOLE_CASE)
    }
    return [
        {
            "id": rule,
            "name": words.title.title().replace(" ", ""),
            "shortDescription": {"text": f"{words.title}."},
            "fullDescription": {"text": words.asks},
            "help": {"text": words.advice, "markdown": f"{words.asks}\n\n{words.advice}"},
            "defaultConfiguration": {"level": "warning"},
            "properties": {"tags": ["evaluation", rule.partition("/")[0]], "problem.severity": "warning"},
        }
        for rule, words in explained.items()
    ]


# --- results ------------------------------------------------------------------------------------


class _RankedResult(NamedTuple):
    """A result as JSON, after its sort keys: its rank and its place in the report."""

    rank: tuple[bool, bool, bool, bool]
    place: int
    text: str


def _first_results(results: Iterator[_RankedResult]) -> tuple[list[str], int]:
    """Return the first results by rank, as many as the format allows, and the number of those left out."""
    number = count()
    texts: list[str] = []
    size = 0
    for one, _ in nsmallest(_MOST, zip(results, number, strict=False)):
        size += len(one.text)
        if size > _MOST_BYTES:
            break
        texts.append(one.text)
    return texts, next(number) - len(texts)


def _ranked_results(view: ReportView, folder: str, index: Mapping[str, int]) -> Iterator[_RankedResult]:
    is_any_compared = any(is_compared(view.report, name) for name in EVALUATORS)
    place = count()
    for case in judged_cases(view):
        breaks = bool(case.finding and case.finding.breaks)
        for one in case.judgements_to_review():
            result = _result(case, one, folder, index)
            if is_any_compared:
                state = _STATES.get(case.change, "unchanged")  # SARIF section 3.27.24
                result["baselineState"] = state if is_compared(view.report, case.evaluator.name) else "new"
            is_new, is_failing = case.change == NEWLY_FAILING, one.severity is Severity.FAILING
            rank = (one.by in case.waivers, not breaks, not is_new, not is_failing)
            yield _RankedResult(rank, next(place), line(result))


def _result(case: JudgedCase, judgement: Judgement, folder: str, index: Mapping[str, int]) -> dict[str, Any]:
    rule, name = f"{case.evaluator.name}/{judgement.by}", plain(Untrusted(case.id))
    hits = [{"rule": hit.rule, "field": hit.field, "start": hit.start, "end": hit.end} for hit in judgement.hits[:10]]
    waiver = case.waivers.get(judgement.by)
    return {
        "ruleId": rule,
        "ruleIndex": index[rule],
        "level": case.level(judgement),
        "message": {"text": sarif(judgement_message(case, judgement))},
        "locations": [
            {
                **_location(case.place, folder),
                "logicalLocations": [{"name": name, "fullyQualifiedName": f"{case.evaluator.name}/{name}"}],
            }
        ],
        "partialFingerprints": {
            "primaryLocationLineHash": f"{digest([case.evaluator.name, case.id, judgement.by])[:32]}:1"
        },
        **({"suppressions": [_suppression(waiver)]} if waiver else {}),
        "properties": {"label": judgement.label, **({"hits": hits} if hits else {})},
    }


def _suppression(waiver: Waiver) -> JsonObject:
    reason, owner, expires = (plain(Untrusted(one), 300) for one in (waiver.reason, waiver.owner, waiver.expires))
    words = f"Waived until {expires} by {owner}: {reason}"
    return {"kind": "external", "status": "accepted", "justification": words}


def _location(place: Place, folder: str) -> dict[str, Any]:
    """Return the location of a case or a problem."""
    path = repository_path(place, folder)
    uri = address(path.encode("utf-8", "surrogatepass"))
    where = {"uri": f"file://{uri}"} if path.startswith("/") else {"uri": uri, "uriBaseId": _ROOT}
    region = {"startLine": max(1, place.line), "startColumn": 1}
    return {"physicalLocation": {"artifactLocation": where, "region": region}}


_STATES = {
    **dict.fromkeys(("newly failing", "new case"), "new"),
    **dict.fromkeys(("worse", "better", "mixed", "fixed"), "updated"),
}


# --- the run ------------------------------------------------------------------------------------


def _invocation(report: Report, folder: str, left_out: int) -> dict[str, Any]:
    said = [
        _notification("error", f"{quote_phrase(rule_message(rule))} ({rule_name(rule)})") for rule in report.broken()
    ]
    if left_out:
        words = f"{plural(left_out, 'more result')} left out, least important first; the JSON report has all."
        said = [_notification("warning", words), *said]
    faults = [
        {
            **_notification("error", plain(Untrusted(problem.message), 500)),
            **({"locations": [_location(problem.place, folder)]} if problem.place.line else {}),
        }
        for problem in report.problems
    ]
    return {
        "executionSuccessful": report.verdict is not Verdict.ERROR,
        "toolExecutionNotifications": said[:_MOST_NOTIFICATIONS],
        "toolConfigurationNotifications": faults[:_MOST_NOTIFICATIONS],
    }


def _notification(level: str, words: str) -> dict[str, Any]:
    return {"level": level, "message": {"text": sarif(words)}}
