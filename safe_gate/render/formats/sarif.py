"""SARIF 2.1.0: a result for each metric or check of a case that somebody must see to. Pure.

GitHub's code scanning refuses files over 25,000 results or 10 MB, and shows 5,000 results. The most important results
are written and the rest are counted. A result must have a place in a file, so broken rules are notifications.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import nsmallest
from itertools import count
from typing import Any

from safe_gate.core.figures import plural
from safe_gate.core.jsontext import digest, line
from safe_gate.evaluators.registry import parts_of
from safe_gate.model.problems import Place
from safe_gate.model.report import Verdict
from safe_gate.model.results import Explanation, Severity
from safe_gate.render.cases import WHOLE_CASE, ShownPart
from safe_gate.render.comparison import FAILS_BY_RULES, NEW_CASE, NEWLY_FAILING
from safe_gate.render.console import problem_line
from safe_gate.render.formats import gate_of, judgement_message
from safe_gate.render.untrusted import LONGEST_REASON, address, name_in_full, phrase_line, quote_phrase, sarif
from safe_gate.render.view import ReportView, filter_sentence, rule_message, waiver_phrase

_MOST = 5_000
_MOST_BYTES = 9_000_000  # of results; what else there is takes little
_MOST_NOTIFICATIONS = 1_000
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_WHOLE = Explanation(
    "Case to look at",
    "The case has a readable English reply, and fails if it should fail.",
    "Look at the case: no metric or check measures what is wrong.",
)


def _draw(view: ReportView) -> Iterator[str]:
    report = view.report
    rules = _rules(view.parts)
    results, left_out = _first_results(_ranked_results(view, [rule["id"] for rule in rules]))
    facts = {
        "tool": {"driver": {"name": "SAFE Gate", "version": report.tool.version, "rules": rules}},
        "automationDetails": {"id": "/".join(("safe-gate", *gate_of(view), ""))},
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the repository."}}},
        "invocations": [_invocation(view, left_out)],
    }
    if words := filter_sentence(report.provenance.policy, report.provenance.left_out):
        facts["properties"] = {"filter": quote_phrase(words)}
    yield f'{{"$schema": {line(_SCHEMA)}, "version": "2.1.0", "runs": [{{\n'
    yield from (f"{line(key)}: {line(value)},\n" for key, value in facts.items())
    yield '"results": ['
    yield from (f"{',' if place else ''}\n{result}" for place, result in enumerate(results))
    yield "]}]}\n"


FILES = {"safe-gate.sarif": _draw}
_ROOT = "%SRCROOT%"


def _rules(parts: Sequence[ShownPart]) -> list[dict[str, Any]]:
    explained = {
        f"{one.evaluator.name}/{by}": _WHOLE if by == WHOLE_CASE else one.evaluator.present.explanation(by)
        for one in parts
        for by in (*one.evaluator.present.measure_names(one.part), WHOLE_CASE)
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


def _first_results(results: Iterator[tuple[Sequence[bool], str]]) -> tuple[list[str], int]:
    """Return the first results by rank, as many as the format allows, and the number of those left out."""
    number = count()
    texts: list[str] = []
    size = 0
    for _, _, text in nsmallest(_MOST, ((rank, next(number), text) for rank, text in results)):
        size += len(text)
        if size > _MOST_BYTES:
            break
        texts.append(text)
    return texts, next(number) - len(texts)


def _ranked_results(view: ReportView, rules: Sequence[str]) -> Iterator[tuple[Sequence[bool], str]]:
    """Yield each result as JSON, after its rank."""
    changed = {
        evaluator.name: {*part.cases.changed_outputs, *(one.id for one in part.changes if one.scores)}
        for evaluator, part in (parts_of(view.report.comparison.parts) if view.report.comparison else ())
    }
    for case in view.cases():
        name, id_ = case.evaluator.name, name_in_full(case.result.id)
        logical = {"name": id_, "fullyQualifiedName": f"{name}/{id_}"}
        place = {**_location(case.result.place, view.origin.folder), "logicalLocations": [logical]}
        for one in case.judgements_to_review():
            key = digest([*gate_of(view), name, case.result.id, one.by])[:32]
            hits = [{"rule": hit.rule, "field": hit.field, "start": hit.start, "end": hit.end} for hit in one.hits[:10]]
            result: dict[str, Any] = {
                "ruleId": f"{name}/{one.by}",
                "ruleIndex": rules.index(f"{name}/{one.by}"),
                "level": case.level(one),
                "message": {"text": sarif(judgement_message(case, one))},
                "locations": [place],
                "partialFingerprints": {"primaryLocationLineHash": f"{key}:1"},
            }
            if waiver := case.waivers.get(one.by):
                words = phrase_line(("Waived ", *waiver_phrase(waiver)), LONGEST_REASON)
                result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": words}]
            result["properties"] = {"label": one.label, **({"hits": hits} if hits else {})}
            if changed:
                same = "updated" if case.result.id in changed.get(name, ()) else "unchanged"
                result["baselineState"] = _STATES.get(case.change, same) if name in changed else "new"
            is_new, is_failing = case.change == NEWLY_FAILING, one.severity is Severity.FAILING
            yield (one.by in case.waivers, not case.breaks, not is_new, not is_failing), line(result)


_STATES = {
    **dict.fromkeys((NEWLY_FAILING, FAILS_BY_RULES, NEW_CASE), "new"),
    **dict.fromkeys(("worse", "better", "mixed", "fixed"), "updated"),
}
"""SARIF section 3.27.24."""


def _location(place: Place, folder: str) -> dict[str, Any]:
    path = place.within(folder) or place.path
    uri = address(path.encode("utf-8", "surrogatepass"))
    where = {"uri": f"file://{uri}"} if path.startswith("/") else {"uri": uri, "uriBaseId": _ROOT}
    region = {"startLine": max(1, place.line), "startColumn": 1}
    return {"physicalLocation": {"artifactLocation": where, "region": region}}


# --- the run ------------------------------------------------------------------------------------


def _invocation(view: ReportView, left_out: int) -> dict[str, Any]:
    report = view.report
    said = [_notification("error", f"{quote_phrase(rule_message(rule))} ({rule.rule})") for rule in report.broken()]
    if left_out:
        words = f"{plural(left_out, 'more result')} left out, least important first; the JSON report has all."
        said = [_notification("warning", words), *said]
    faults = []
    for problem in report.problems[:_MOST_NOTIFICATIONS]:
        fault = _notification("error", problem_line(problem))
        if problem.place.line:
            fault["locations"] = [_location(problem.place, view.origin.folder)]
        faults.append(fault)
    return {
        "executionSuccessful": report.verdict is not Verdict.ERROR,
        "toolExecutionNotifications": said[:_MOST_NOTIFICATIONS],
        "toolConfigurationNotifications": faults,
    }


def _notification(level: str, words: str) -> dict[str, Any]:
    return {"level": level, "message": {"text": sarif(words)}}
