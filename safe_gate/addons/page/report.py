"""A run as one page for people: verdict and rules, figures with intervals, every case with its evidence. Pure.

The page holds its cases as JSON, one per line. Its scripts filter them and draw the visible ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from safe_gate.addons.page.markup import fold, html_table, page, paragraphs, rate_tables, render_phrase
from safe_gate.core.figures import plural
from safe_gate.core.jsontext import line
from safe_gate.evaluators.registry import EVALUATORS, evaluators_in, parts_of
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import number
from safe_gate.model.report import Change, Origin, Report
from safe_gate.model.results import Judgement, Mark, Phrase, Recorded, Section, Severity, Table, Untrusted, Words
from safe_gate.render.comparison import (
    NEWLY_FAILING,
    WEAKENED,
    comparison_notes,
    describe_baseline,
    headline,
    weakened_headline,
    weakened_remarks,
    weakened_table,
)
from safe_gate.render.formats import JudgedCase, RenderedRun, is_compared, judged_cases
from safe_gate.render.untrusted import address, embedded_json, html
from safe_gate.render.view import (
    LONGEST_PROBLEM,
    NO_VERDICT,
    VERDICTS,
    ReportView,
    blamed_names,
    problems_table,
    rule_name,
    rule_state,
    rule_subject,
    rules_summary,
)

_STATES = {"ok": "holds", "warning": "warns", "broken": "broken", "skipped": "skipped"}
_BLOCK = 1_000  # cases of one element: a browser holds no text of more than half a gigabyte


def _draw(run: RenderedRun) -> Iterator[str]:
    title = f"SAFE Gate: {VERDICTS[run.report.verdict]}"
    return page(title, chain(_body(run), _case_data(run)), ("text.js", "case.js", "list.js"))


FILES = {"safe-gate.html": _draw}
SHOWS_TEXTS = True


def _body(run: RenderedRun) -> Iterator[str]:
    view, report = run.view, run.report
    yield '<a class="skip" href="#cases">Skip to the cases</a>\n'
    yield from _header(view, run.origin)
    yield "<main>\n"
    if problems := report.problems:
        yield f"<section><h2>Problems</h2>\n<p>{NO_VERDICT.capitalize()}.</p>\n"
        yield from html_table(problems_table(problems), plural(number(problems), "problem"), longest=LONGEST_PROBLEM)
        yield "</section>\n"
    yield from _rules(view)
    if report.weakened and (said := weakened_headline(report.weakened)):
        yield f'<section class="warning"><h2>{WEAKENED}</h2>\n<p>Weaker{render_phrase(said)}.</p>\n'
        yield from html_table(weakened_table(report.weakened.findings), "How the gate is weaker")
        yield "</section>\n"
    is_any_compared = any(is_compared(run.report, name) for name in evaluators_in(run.report.parts))
    if evaluators_in(run.report.parts):
        yield '<section id="cases" tabindex="-1"><h2>Cases</h2>\n'
        yield "<noscript><p>The list of cases needs JavaScript.</p></noscript>\n"
        yield '<form id="filters" class="filters" role="search" aria-label="Filter the cases"></form>\n'
        if run.recorded.now:
            yield _LEGEND.format(_CHANGED if is_any_compared else "")
        yield '<p id="shown" role="status"></p>\n<ol id="list" class="cases"></ol>\n'
        yield '<button id="more" type="button" hidden>Show more</button>\n</section>\n'
    yield from _comparison_section(view)
    yield from _figures(view)
    if view.waivers.rows:
        yield "<section><h2>Known failures</h2>\n"
        yield from paragraphs([view.known_failures] if view.known_failures else [])
        yield from html_table(view.waivers, "Waivers and their state")
        yield "</section>\n"
    yield "</main>\n"
    yield "<footer>\n"
    inputs: tuple[tuple[Words, ...], ...] = tuple(
        (Untrusted(one.path), one.kind, Untrusted(one.sha256)) for one in report.provenance.inputs
    )
    if inputs:
        shown = html_table(Table(("File", "Kind", "SHA-256"), "<<<", inputs), "The files that were read")
        yield from fold("The files that were read", shown)
    yield '<p class="muted">The same inputs give the same result.</p>\n</footer>\n'


def _header(view: ReportView, origin: Origin) -> Iterator[str]:
    report = view.report
    verdict, tool, provenance = report.verdict, report.tool, report.provenance
    repository = origin.repository.partition("//")[2]
    whence = ("repository ", repository), ("commit ", origin.commit[:12]), ("gate ", origin.gate)
    facts: list[Phrase] = [(title, Untrusted(name)) for title, name in whence if name]
    facts.append((report.generated_at.replace("T", " ").replace("Z", " UTC"),))
    facts.append((f"{tool.name} {tool.version}",))
    if provenance.digests:
        facts.append(("digest ", Untrusted(provenance.digests.all[:12])))
    yield f'<header class="verdict {html(verdict)}"><div>\n<p class="name">SAFE Gate</p>\n'
    yield f"<h1>{VERDICTS[verdict].capitalize()}</h1>\n<p>{html(rules_summary(view.report))}</p>\n"
    yield f'<p class="facts">{" · ".join(map(render_phrase, facts))}</p>\n</div></header>\n'


def _rules(view: ReportView) -> Iterator[str]:
    report = view.report
    if report.rules:
        yield '<section><h2>Rules of the gate</h2>\n<ul class="rules">\n'
        compared = parts_of(report.comparison.parts) if report.comparison else ()
        gone = {(evaluator.name, one.id) for evaluator, part in compared for one in part.cases.removed}
        for rule in sorted(report.rules, key=lambda one: ("broken", "warning", "skipped", "ok").index(rule_state(one))):
            became = rule_state(rule)
            links = "".join(
                f'<a href="#case={address(one.text.encode("utf-8", "replace"))}">{render_phrase((one,))}</a>'
                if isinstance(one, Untrusted) and (rule.evaluator, one.text) not in gone
                else render_phrase((one,))
                for one in blamed_names(rule)
            )
            said = f"{render_phrase(rule_subject(rule))}{html(rule.message)}{links}"
            yield f'<li class="{became}"><span class="state">{_STATES[became]}</span> <span>{said}'
            yield f' <span class="muted">{html(rule_name(rule))}</span></span></li>\n'
        yield "</ul>\n"
        yield from paragraphs(weakened_remarks(report.weakened))
        yield from paragraphs(view.remarks)
        yield "</section>\n"


def _comparison_section(view: ReportView) -> Iterator[str]:
    comparison, section = view.report.comparison, view.comparison
    if comparison is None:
        return
    against = render_phrase(describe_baseline(comparison.baseline))
    yield f"<section><h2>Compared with {against}</h2>\n<p>{html(headline(comparison))}</p>\n"
    yield from paragraphs(comparison_notes(comparison))
    if section:
        yield from html_table(section.metrics, "Metrics of both runs")
        yield f'<p class="muted">{html("    ".join(section.footer))}</p>\n'
        for title, ids in section.issues:
            yield f"<p>{html(title)}: {render_phrase(ids)}</p>\n"
    yield "</section>\n"


def _figures(view: ReportView) -> Iterator[str]:
    report = view.report
    limits = {(rule.evaluator, rule.rule, rule.group): rule.threshold for rule in report.rules}
    for (evaluator, part), section in zip(parts_of(report.parts), view.sections, strict=True):
        yield f"<section><h2>{html(evaluator.title)}</h2>\n<p>{html(section.headline)}</p>\n"
        yield from paragraphs(section.notes)
        yield from rate_tables(
            (rate, limits.get((evaluator.name, rate.rule, rate.group)))
            for rate in evaluator.present.figures(part).rates
        )
        yield from fold("All figures", _details(section))
        yield "</section>\n"


def _details(section: Section) -> Iterator[str]:
    yield from html_table(section.metrics, "Scorecard")
    for title, found in section.issues:
        yield f"<p>{html(title)}: {render_phrase(found)}</p>\n"
    for title, shown in section.details:
        yield f"<h3>{html(title)}</h3>\n"
        yield from html_table(shown, title)


# --- cases --------------------------------------------------------------------------------------


def _case_data(run: RenderedRun) -> Iterator[str]:
    """Yield the data with which the scripts fill the list of cases."""
    report = run.report
    if evaluators_in(report.parts):
        yield f"{_DATA.format('about')}{embedded_json(line(_common_facts(report, run.recorded)))}</script>\n"
        for place, one in enumerate(_case_lines(run)):
            if place % _BLOCK == 0:
                yield "</script>\n" * bool(place) + _DATA.format("cases")
            yield f"{embedded_json(one)}\n"
        yield "</script>\n"


_LEGEND = (
    '<p class="legend"><span><mark class="for">counts for the reply</mark></span>'
    '<span><mark class="against">counts against it</mark></span>'
    '<span><mark class="neither">is disclosed</mark></span>'
    '<span><mark class="cancelled">does not count</mark></span>{}</p>\n'
)
_CHANGED = "<span><del>removed</del> and <ins>added</ins> since the baseline</span>"
_DATA = '<script type="application/json" class="{}">'


def _common_facts(report: Report, recorded: Recorded) -> dict[str, Any]:
    """Return the facts that all cases of a report share."""
    return {
        "evaluators": [
            {
                "name": one.name,
                "title": one.title,
                "noun": one.grouping.noun,
                "checks": {by: one.present.explanation(by).title for by in one.present.measure_names(part)},
                "fields": dict(one.present.field_titles),
            }
            for one, part in parts_of(report.parts)
        ],
        "compared": any(is_compared(report, name) for name in EVALUATORS),
        "texts": bool(recorded.now),
        "withheld": report.provenance.withholds_texts,
    }


def _case_lines(run: RenderedRun) -> Iterator[str]:
    """Yield a line of JSON for each case; one is held at a time."""
    texts = {name: iter(some) for name, some in run.recorded.now.items()}
    compared = parts_of(run.report.comparison.parts) if run.report.comparison else ()
    changes = {evaluator.name: {change.id: change for change in part.changes} for evaluator, part in compared}
    for case in judged_cases(run.view):
        name = case.evaluator.name
        now = next(texts.get(name, iter(())), {})
        old = run.recorded.before(name, case.id) or {}
        yield line(_case_json(run.report.parts[name] or {}, case, now, old, changes.get(name, {}).get(case.id)))


def _case_json(
    part: JsonObject, case: JudgedCase, now: JsonObject, old: JsonObject, change: Change | None
) -> dict[str, Any]:
    """Return what the page shows of a case; what is empty is left out."""
    evaluator, finding = case.evaluator, case.finding
    decided = evaluator.present.decisions(part, case.result)
    fields = evaluator.present.result_fields(case.result, {**now, **old})
    shown = {
        "evaluator": evaluator.name,
        "id": case.id,
        "place": f"{case.place.path}:{case.place.line}",
        "label": case.label,
        "kind": _case_kind(case),
        "rank": _rank(case),
        "what": finding.what if finding else "",
        "news": case.change,
        "groups": list(case.groups),
        "excused": list(case.excused_by),
        "evidence": [_phrase_json(one) for one in finding.evidence] if finding else [],
        "checks": [_judgement_json(one, decided.get(one.by, ())) for one in case.judgements],
        "waivers": {
            by: _phrase_json(
                ("waived until ", Untrusted(one.expires), " by ", Untrusted(one.owner), ": ", Untrusted(one.reason))
            )
            for by, one in case.waivers.items()
        },
        "fields": {} if fields == evaluator.present.field_titles else dict(fields),
        "texts": {field: now[field] for field in fields if now.get(field)},
        "marks": [_mark_json(one) for one in evaluator.present.marks(case.result, now)],
    }
    if change:
        shown["because"] = change.because
        shown["labels"] = change.labels
    changed = {field: old[field] for field in old if old[field] != now.get(field)}
    before = change.before if change else None
    if changed:
        shown["old"] = changed
        shown["oldMarks"] = [_mark_json(one) for one in evaluator.present.marks(before, old)] if before else []
    filled = {key: value for key, value in shown.items() if value not in ("", [], {}, None)}
    if before:
        # An empty list means: no evidence before.
        filled["before"] = [_phrase_json(one) for one in evaluator.present.finding(before).evidence]
    return filled


def _case_kind(case: JudgedCase) -> str:
    """Return the style of a case in the list: fail, review, expected or pass."""
    if case.excused_by and not case.finding:
        return "expected"
    if not case.finding:
        return "pass" if case.passed else "review"
    return "fail" if case.finding.severity is Severity.FAILING else "review"


def _rank(case: JudgedCase) -> int:
    """Return the rank of a case in the list, 0 for the most important, as in other reports."""
    if not case.finding:
        return _LAST - bool(case.change)
    breaks, is_new = case.finding.breaks, case.change == NEWLY_FAILING
    is_failing = case.finding.severity is Severity.FAILING
    return 4 * (not breaks) + 2 * (not is_new) + (not is_failing)


_LAST = 9


def _judgement_json(judgement: Judgement, decided: Phrase) -> dict[str, Any]:
    kind = {None: "pass", Severity.REVIEW: "review", Severity.FAILING: "fail"}[judgement.severity]
    shown = {
        "by": judgement.by,
        "label": judgement.label,
        "kind": "none" if judgement.label == "not applicable" else kind,
        "score": judgement.score,
        "evidence": [_phrase_json(found) for found in judgement.evidence],
        "decided": _phrase_json(decided),
    }
    return {key: value for key, value in shown.items() if value not in ([], None)}


def _mark_json(mark: Mark) -> list[Any]:
    text = "" if mark.end - mark.start > _LONGEST_QUOTE else mark.text
    return [
        mark.field,
        mark.start,
        mark.end,
        str(mark.side),
        mark.by,
        mark.says,
        mark.rule,
        _phrase_json(mark.why),
        text,
    ]


_LONGEST_QUOTE = 300


def _phrase_json(parts: Phrase) -> list[Any]:
    """Return a phrase for the scripts: our own words as strings, recorded ones each in a list."""
    return [[one.text] if isinstance(one, Untrusted) else one for one in parts]
