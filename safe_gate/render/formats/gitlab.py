"""GitLab's code quality report: an issue for each metric or check of a case that somebody must see to. Pure.

Source: GitLab, "Code Quality report format". Waived failures are none: the widget would count them as degraded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from safe_gate.core.jsontext import digest, line
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import Place
from safe_gate.render.console import problem_line
from safe_gate.render.formats import LONGEST_MESSAGE, gate_of, judgement_message
from safe_gate.render.untrusted import quote_phrase
from safe_gate.render.view import ReportView, rule_message

_PIPELINE = ".gitlab-ci.yml"
"""Where the settings of a job come from that are not in a file, and a file that is there: at the root."""

_SEVERITIES = {"error": "critical", "warning": "major", "note": "minor"}


def _draw(view: ReportView) -> Iterator[str]:
    separator = "[\n"
    for issue in _issues(view):
        yield f"{separator}{line(issue)}"
        separator = ",\n"
    yield "[]\n" if separator == "[\n" else "\n]\n"


FILES = {"safe-gate.gitlab.json": _draw}


def _issues(view: ReportView) -> Iterator[JsonObject]:
    report, folder = view.report, view.origin.folder
    gate: tuple[object, ...] = gate_of(view)
    inputs = [one.path for one in report.provenance.inputs]
    for one in report.problems:
        place = one.place
        key = (*gate, "problem", place.path, place.line, one.case_id, one.field, one.message)
        if not place.line and place.path not in inputs:  # a setting, or no file at all
            place = Place(inputs[0] if inputs else _PIPELINE)
        yield _issue("input", problem_line(one), key, "blocker", place, "" if place.path == _PIPELINE else folder)
    for rule in report.broken():
        place = Place(inputs[0])  # an issue must have one
        key = (*gate, "rule", rule.evaluator, rule.rule, rule.group)
        yield _issue(f"gate/{rule.rule}", quote_phrase(rule_message(rule)), key, "blocker", place, folder)
    for case in view.cases():
        name, result = case.evaluator.name, case.result
        for judged in case.judgements_to_review():
            if judged.by not in case.waivers:
                words, severity = judgement_message(case, judged), _SEVERITIES[case.level(judged)]
                key = (*gate, name, result.id, judged.by)
                yield _issue(f"{name}/{judged.by}", words, key, severity, result.place, folder)


def _issue(check: str, words: str, key: Sequence[object], severity: str, place: Place, folder: str) -> JsonObject:
    return {
        "type": "issue",
        "check_name": check,
        "description": words[:LONGEST_MESSAGE],
        "categories": ["Bug Risk"],
        "fingerprint": digest(list(key)),
        "severity": severity,
        "location": {"path": place.within(folder) or place.path, "lines": {"begin": max(1, place.line)}},
    }
