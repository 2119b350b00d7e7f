"""JUnit XML: a suite for the gate's rules, then one for each case, with a test for each metric or check. Pure.

Valid under junit-10.xsd of Jenkins' xUnit plugin, which knows properties of suites and none of tests. A suite per
case holds them and needs no count of all cases before the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from safe_gate.core.figures import plural
from safe_gate.model.problems import Place, Problem
from safe_gate.model.report import Report, Waiver
from safe_gate.model.results import Severity, Untrusted
from safe_gate.render.formats import WHOLE_CASE, JudgedCase, RenderedRun, judged_cases
from safe_gate.render.untrusted import plain, quote_phrase, xml
from safe_gate.render.view import report_filter_sentence, rule_message, rule_name


class _Test(NamedTuple):
    """A test: its class and its name; `outcome` is failure, error or skipped, "" of one that passes."""

    group: str
    name: str
    outcome: str = ""
    why: str = ""
    details: Sequence[str] = ()


def _draw(run: RenderedRun) -> Iterator[str]:
    report = run.report
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="SAFE Gate">\n'
    facts = [("version", report.tool.version)]
    if words := report_filter_sentence(report):
        facts.append(("filter", quote_phrase(words)))
    yield _suite("gate", "gate", [*_rule_tests(report), *map(_problem_test, report.problems)], facts)
    for case in judged_cases(run.view):
        properties = [*_properties(case)]
        yield _suite(
            _full_name(case.id), case.evaluator.name, [*_case_tests(case)], properties, _full_name(case.place.path)
        )
    yield "</testsuites>\n"


FILES = {"safe-gate.junit.xml": _draw}


def _suite(
    name: str, package: str, tests: Sequence[_Test], properties: Sequence[tuple[str, str]], file: str = ""
) -> str:
    """Return a suite; attributes and texts are escaped here alone."""
    counts = {
        "tests": len(tests),
        **{f"{one}s": sum(test.outcome == one for test in tests) for one in ("failure", "error")},
        "skipped": sum(test.outcome == "skipped" for test in tests),
    }
    where = f' file="{xml(file)}"' if file else ""
    counted = "".join(f' {key}="{count}"' for key, count in counts.items())
    lines = [f'<testsuite name="{xml(name)}" package="{xml(package)}"{counted}{where}>', "<properties>"]
    lines += [f'<property name="{xml(key)}" value="{xml(value)}"/>' for key, value in properties]
    lines += ["</properties>", *map(_test, tests), "</testsuite>"]
    return "\n".join(lines) + "\n"


def _test(test: _Test) -> str:
    start = f'<testcase classname="{xml(test.group)}" name="{xml(test.name)}"'
    if not test.outcome:
        return f"{start}/>"
    kind = "" if test.outcome == "skipped" else f' type="{xml(test.group)}"'
    details = "\n".join(map(xml, test.details))
    return f'{start}>\n<{test.outcome}{kind} message="{xml(test.why)}">{details}</{test.outcome}>\n</testcase>'


def _rule_tests(report: Report) -> Iterator[_Test]:
    for rule in report.rules:
        group = f" {plain(Untrusted(rule.group))}" if rule.group else ""
        outcome = "skipped" if rule.skipped else "" if rule.passed else "failure"
        words = quote_phrase(rule_message(rule))
        yield _Test("gate.rules", f"{rule_name(rule)} {rule.evaluator}{group}", outcome, words, (words,))


def _problem_test(problem: Problem) -> _Test:
    name = _place_line(problem.place) + f" {plain(Untrusted(problem.case_id))}" * bool(problem.case_id)
    more = f" (and {plural(problem.count - 1, 'more problem')})" if problem.count > 1 else ""
    field = f"{plain(Untrusted(problem.field))}: " if problem.field else ""
    words = f"{field}{plain(Untrusted(problem.message), 500)}{more}"
    return _Test("gate.input", name, "error", words, (words,))


def _case_tests(case: JudgedCase) -> Iterator[_Test]:
    """Yield a test for each metric or check, and one for a case that a broken rule counts whole."""
    for one in case.judgements:
        outcome, why = "", ""
        if one.severity and case.excused_by:
            tags = ", ".join(plain(Untrusted(group)) for group in case.excused_by)
            why = f"expected failure: a negative example, by its {case.evaluator.grouping.noun} {tags}"
            outcome = "skipped"
        elif one.severity and one.by in case.waivers:
            outcome, why = "skipped", _waived(case.waivers[one.by])
        elif one.severity is Severity.FAILING:
            figure = "" if one.score is None else f" {one.score:.2f}"
            outcome, why = "failure", f"{case.evaluator.present.explanation(one.by).title}{figure}: {one.label}"
        details = [_place_line(case.place), *map(quote_phrase, one.evidence)] if outcome else []
        yield _Test(f"{case.evaluator.name}.{one.by}", f"{_full_name(case.id)} {one.by}", outcome, why, details)
    for one in case.judgements_to_review():
        if one.by == WHOLE_CASE and case.finding and case.finding.breaks:
            details = [_place_line(case.place), *map(quote_phrase, one.evidence)]
            name = f"{_full_name(case.id)} {WHOLE_CASE}"
            yield _Test(f"{case.evaluator.name}.{WHOLE_CASE}", name, "failure", one.label, details)


def _properties(case: JudgedCase) -> Iterator[tuple[str, str]]:
    yield "label", case.label
    yield "line", str(case.place.line)
    for group in case.groups:
        yield case.evaluator.grouping.noun, plain(Untrusted(group))
    for one in case.judgements:
        if one.score is not None:
            yield f"{one.by}.score", repr(one.score)
        yield f"{one.by}.label", one.label
    if case.change:
        yield "since-baseline", case.change
    if case.finding:
        yield "to-look-at", case.finding.what


def _waived(waiver: Waiver) -> str:
    reason, owner, expires = (plain(Untrusted(one), 2_000) for one in (waiver.reason, waiver.owner, waiver.expires))
    return f"waived until {expires} by {owner}: {reason}"


def _place_line(place: Place) -> str:
    return _full_name(place.path) + f":{place.line}" * bool(place.line)


def _full_name(text: str) -> str:
    """Return a recorded name in full: names that differ only at their ends stay distinct."""
    return plain(Untrusted(text), len(text))
