"""JUnit XML: a suite for the gate's rules, then one for each case, with a test for each metric or check. Pure.

Valid under junit-10.xsd of Jenkins' xUnit plugin, which knows properties of suites and none of tests. A suite per
case holds them and needs no count of all cases before the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from safe_gate.core.figures import plural
from safe_gate.model.problems import Place
from safe_gate.model.report import Report
from safe_gate.model.results import Judgement, Severity
from safe_gate.render.cases import WHOLE_CASE, ShownCase
from safe_gate.render.formats import why_look
from safe_gate.render.untrusted import LONGEST_REASON, name_in_full, phrase_line, problem_text, quote_phrase, xml
from safe_gate.render.view import ReportView, filter_sentence, rule_message, waiver_phrase


class _Test(NamedTuple):
    """A test: its class and its name; `outcome` is failure, error or skipped, "" of one that passes."""

    group: str
    name: str
    outcome: str = ""
    why: str = ""
    details: Sequence[str] = ()


def _draw(view: ReportView) -> Iterator[str]:
    report = view.report
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="SAFE Gate">\n'
    facts = [("version", report.tool.version)]
    if words := filter_sentence(report.provenance.policy, report.provenance.left_out):
        facts.append(("filter", quote_phrase(words)))
    yield _suite("gate", "gate", [*_gate_tests(report)], facts)
    for case in view.cases():
        name, place = name_in_full(case.result.id), case.result.place
        place = replace(place, path=place.within(view.origin.folder) or place.path)
        tests = [*_case_tests(case, name, _place_line(place))]
        yield _suite(name, case.evaluator.name, tests, [*_properties(case)], name_in_full(place.path))
    yield "</testsuites>\n"


FILES = {"safe-gate.junit.xml": _draw}


def _suite(
    name: str, package: str, tests: Sequence[_Test], properties: Sequence[tuple[str, str]], file: str = ""
) -> str:
    """Return a suite; attributes and texts are escaped here alone."""
    of = Counter(test.outcome for test in tests)
    counts = f'tests="{len(tests)}" failures="{of["failure"]}" errors="{of["error"]}" skipped="{of["skipped"]}"'
    where = f' file="{xml(file)}"' if file else ""
    lines = [f'<testsuite name="{xml(name)}" package="{xml(package)}" {counts}{where}>', "<properties>"]
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


def _gate_tests(report: Report) -> Iterator[_Test]:
    """Yield a test for each rule and problem; a recording that is stale for two reasons has two, numbered."""
    seen = Counter[str]()
    for rule in report.rules:
        name = f"{rule.rule} {rule.evaluator}{f' {name_in_full(rule.group)}' if rule.group else ''}"
        seen[name] += 1
        outcome = "skipped" if rule.skipped else "" if rule.passed else "failure"
        words = quote_phrase(rule_message(rule))
        yield _Test("gate.rules", name + f" ({seen[name]})" * (seen[name] > 1), outcome, words, (words,))
    for one in report.problems:
        more = f" (and {plural(one.count - 1, 'more problem')})" if one.count > 1 else ""
        field = f"{name_in_full(one.field)}: " if one.field else ""
        words = f"{field}{problem_text(one.message)}{more}"
        name = _place_line(one.place) + f" {name_in_full(one.case_id)}" * bool(one.case_id)
        yield _Test("gate.input", name, "error", words, (words,))


def _case_tests(case: ShownCase, name: str, place: str) -> Iterator[_Test]:
    """Yield a test for each metric or check, and one for a case that a broken rule counts whole."""
    judged = [(one, *_outcome(case, one)) for one in case.judgements]
    whole = (one for one in case.judgements_to_review() if one.by == WHOLE_CASE)
    judged += [(one, "failure", one.label) for one in whole if one.severity is Severity.FAILING]
    for one, outcome, why in judged:
        details = [place, *map(quote_phrase, one.evidence)] if outcome else []
        yield _Test(f"{case.evaluator.name}.{one.by}", f"{name} {one.by}", outcome, why, details)


def _outcome(case: ShownCase, judgement: Judgement) -> tuple[str, str]:
    """Return the outcome of the test of a metric or check, and why."""
    if judgement.severity and case.excused_by:
        tags = ", ".join(map(name_in_full, case.excused_by))
        return "skipped", f"expected failure: a negative example, by its {case.evaluator.grouping.noun} {tags}"
    if judgement.severity and judgement.by in case.waivers:
        return "skipped", phrase_line(("waived ", *waiver_phrase(case.waivers[judgement.by])), LONGEST_REASON)
    if judgement.severity is not Severity.FAILING and not (judgement.severity and case.breaks):
        return "", ""
    figure = "" if judgement.score is None else f" {judgement.score:.2f}"
    return "failure", f"{case.evaluator.present.explanation(judgement.by).title}{figure}: {judgement.label}"


def _properties(case: ShownCase) -> Iterator[tuple[str, str]]:
    yield "label", case.outcome.words
    yield "line", str(case.result.place.line)
    for group in case.result.groups:
        yield case.evaluator.grouping.noun, name_in_full(group)
    for one in case.judgements:
        if one.score is not None:
            yield f"{one.by}.score", repr(one.score)
        yield f"{one.by}.label", one.label
    if case.change:
        yield "since-baseline", case.change
    if why := why_look(case):
        yield "to-look-at", why


def _place_line(place: Place) -> str:
    return name_in_full(place.path) + f":{place.line}" * bool(place.line)
