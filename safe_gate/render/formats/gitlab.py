"""GitLab's code quality report: an issue for each metric or check of a case that somebody must see to. Pure.

Source: GitLab, "Code Quality report format". Waived failures are none: the widget would count them as degraded.
"""

from __future__ import annotations

from collections.abc import Iterator

from safe_gate.core.jsontext import digest, line
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import Place
from safe_gate.model.results import Untrusted
from safe_gate.render.formats import LONGEST_MESSAGE, RenderedRun, judged_cases, judgement_message, repository_path
from safe_gate.render.untrusted import plain, quote_phrase
from safe_gate.render.view import ReportView, rule_message, rule_name


def _draw(run: RenderedRun) -> Iterator[str]:
    separator = "[\n"
    for issue in _issues(run.view, run.origin.folder):
        yield f"{separator}{line(issue)}"
        separator = ",\n"
    yield "[]\n" if separator == "[\n" else "\n]\n"


FILES = {"safe-gate.gitlab.json": _draw}


def _issues(view: ReportView, folder: str) -> Iterator[JsonObject]:
    report = view.report
    for problem in report.problems:
        words = plain(Untrusted(problem.message), 500)
        key = ["problem", problem.place.path, problem.place.line, problem.case_id, problem.field, problem.message]
        yield _issue("input", words, key, "blocker", repository_path(problem.place, folder), problem.place.line)
    for rule in view.broken:
        key = ["rule", rule.evaluator, rule.rule, rule.group]
        path = repository_path(Place(report.provenance.inputs[0].path), folder)  # an issue must have one
        yield _issue(f"gate/{rule_name(rule)}", quote_phrase(rule_message(rule)), key, "blocker", path, 1)
    for case in judged_cases(view):
        for one in case.judgements_to_review():
            if one.by not in case.waivers:
                words, name = judgement_message(case, one), case.evaluator.name
                severity = {"error": "critical", "warning": "major", "note": "minor"}[case.level(one)]
                path = repository_path(case.place, folder)
                yield _issue(f"{name}/{one.by}", words, [name, case.id, one.by], severity, path, case.place.line)


def _issue(check: str, words: str, key: list[object], severity: str, path: str, number: int) -> JsonObject:
    return {
        "type": "issue",
        "check_name": check,
        "description": words[:LONGEST_MESSAGE],
        "categories": ["Bug Risk"],
        "fingerprint": digest(key),
        "severity": severity,
        "location": {"path": path, "lines": {"begin": max(1, number)}},
    }
