"""A run as one page for people: verdict and rules, figures with intervals, every case with its evidence. Pure.

The page holds its cases as JSON, one per line. Its scripts filter them and draw the visible ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from safe_gate.addons.page import cases, charts
from safe_gate.addons.page.frame import page
from safe_gate.addons.page.markup import folded, paragraphs, phrase, table
from safe_gate.core.figures import plural
from safe_gate.evaluators import parts_of, present
from safe_gate.model.problems import in_order, number
from safe_gate.model.report import Origin, Report
from safe_gate.model.shown import Table
from safe_gate.model.untrusted import Phrase, Untrusted, Words
from safe_gate.render.cases import is_compared
from safe_gate.render.comparison import (
    baseline_words,
    headline,
    notes,
    weakened_headline,
    weakened_remarks,
    weakened_table,
)
from safe_gate.render.formats import Shown
from safe_gate.render.jsonreport import line
from safe_gate.render.untrusted import address, embedded, html
from safe_gate.render.view import (
    ReportView,
    about,
    conclusion,
    names,
    rule_name,
    state,
)

_VERDICTS = {"pass": "Passed", "fail": "Failed", "error": "No verdict"}
_STATES = {"ok": "holds", "broken": "broken", "skipped": "skipped"}
_SCRIPTS = ("text.js", "case.js", "list.js")
_BLOCK = 1_000  # cases of one element: a browser holds no text of more than half a gigabyte


def _draw(run: Shown) -> Iterator[str]:
    title = f"SAFE Gate: {_VERDICTS[run.report.verdict].lower()}"
    return page(title, chain(_body(run), _data(run)), _SCRIPTS)


FILES = {"safe-gate.html": _draw}
SHOWS_TEXTS = True


def _body(run: Shown) -> Iterator[str]:
    view, report = run.view, run.report
    yield '<a class="skip" href="#cases">Skip to the cases</a>\n'
    yield from _header(view, run.origin)
    yield "<main>\n"
    yield from _problems(report)
    yield from _rules(view)
    yield from _weakened(report)
    yield from _list(run)
    yield from _compared(view)
    yield from _figures(view)
    if view.waivers.rows:
        yield "<section><h2>Known failures</h2>\n"
        yield from paragraphs([view.known_failures] if view.known_failures else [])
        yield from table(view.waivers, "Waivers and their state")
        yield "</section>\n"
    yield "</main>\n"
    yield from _footer(report)


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
    yield f"<h1>{_VERDICTS[verdict]}</h1>\n<p>{html(conclusion(view.report))}</p>\n"
    yield f'<p class="facts">{" · ".join(map(phrase, facts))}</p>\n</div></header>\n'


def _problems(report: Report) -> Iterator[str]:
    problems = in_order(report.problems)
    if not problems:
        return
    rows: tuple[tuple[Words, ...], ...] = tuple(
        (
            Untrusted(one.place.path + (f":{one.place.line}" if one.place.line else "")),
            Untrusted(one.case_id) if one.case_id else "",
            Untrusted(one.field) if one.field else "",
            Untrusted(one.message),
        )
        for one in problems
    )
    yield "<section><h2>Problems</h2>\n<p>The input or the settings have problems, so the gate did not pass.</p>\n"
    yield from table(Table(("Place", "Case", "Field", "Problem"), "<<<<", rows), plural(number(problems), "problem"))
    yield "</section>\n"


def _rules(view: ReportView) -> Iterator[str]:
    report = view.report
    if report.rules:
        yield '<section><h2>Rules of the gate</h2>\n<ul class="rules">\n'
        compared = parts_of(report.comparison.parts) if report.comparison else ()
        gone = {(evaluator.name, one.id) for evaluator, part in compared for one in part.cases.removed}
        for rule in sorted(report.rules, key=lambda one: _ORDER.index(state(one))):
            became = state(rule)
            links = "".join(
                f'<a href="#case={address(one.text.encode("utf-8", "replace"))}">{phrase((one,))}</a>'
                if isinstance(one, Untrusted) and (rule.evaluator, one.text) not in gone
                else phrase((one,))
                for one in names(rule)
            )
            said = f"{phrase(about(rule))}{html(rule.message)}{links}"
            yield f'<li class="{became}"><span class="state">{_STATES[became]}</span> <span>{said}'
            yield f' <span class="muted">{html(rule_name(rule))}</span></span></li>\n'
        yield "</ul>\n"
        yield from paragraphs(weakened_remarks(report.weakened))
        yield from paragraphs(view.remarks)
        yield "</section>\n"


_ORDER = ("broken", "skipped", "ok")


def _weakened(report: Report) -> Iterator[str]:
    if report.weakened and (said := weakened_headline(report.weakened)):
        yield f'<section class="warning"><h2>This change weakens the gate</h2>\n<p>Weaker{phrase(said)}.</p>\n'
        yield from table(weakened_table(report.weakened.findings), "How the gate is weaker")
        yield "</section>\n"


def _compared(view: ReportView) -> Iterator[str]:
    comparison, section = view.report.comparison, view.comparison
    if comparison is None:
        return
    against = phrase(baseline_words(comparison.baseline))
    yield f"<section><h2>Compared with {against}</h2>\n<p>{html(headline(comparison))}</p>\n"
    yield from paragraphs(notes(comparison))
    if section:
        yield from table(section.metrics, "Metrics of both runs")
        yield f'<p class="muted">{html("    ".join(section.footer))}</p>\n'
        for title, ids in section.issues:
            yield f"<p>{html(title)}: {phrase(ids)}</p>\n"
    yield "</section>\n"


def _figures(view: ReportView) -> Iterator[str]:
    report = view.report
    limits = {(rule.evaluator, rule.rule, rule.group): rule.threshold for rule in report.rules}
    for (evaluator, part), section in zip(parts_of(report.parts), view.sections, strict=True):
        yield f"<section><h2>{html(evaluator.title)}</h2>\n<p>{html(section.headline)}</p>\n"
        yield from paragraphs(section.notes)
        yield from charts.rates(
            (rate, limits.get((evaluator.name, rate.rule, rate.group)))
            for rate in evaluator.present.figures(part).rates
        )
        yield from folded("All figures", _details(section.metrics, section.details, section.issues))
        yield "</section>\n"


def _details(
    metrics: Table, details: tuple[tuple[str, Table], ...], issues: tuple[tuple[str, Phrase], ...]
) -> Iterator[str]:
    yield from table(metrics, "Scorecard")
    for title, found in issues:
        yield f"<p>{html(title)}: {phrase(found)}</p>\n"
    for title, shown in details:
        yield f"<h3>{html(title)}</h3>\n"
        yield from table(shown, title)


# --- cases --------------------------------------------------------------------------------------


def _list(run: Shown) -> Iterator[str]:
    """Yield the list of cases, which the scripts fill."""
    is_any_compared = any(is_compared(run.report, name) for name in present(run.report.parts))
    if present(run.report.parts):
        yield '<section id="cases" tabindex="-1"><h2>Cases</h2>\n'
        yield "<noscript><p>The list of cases needs JavaScript.</p></noscript>\n"
        yield '<form id="filters" class="filters" role="search" aria-label="Filter the cases"></form>\n'
        if run.recorded.now:
            yield _LEGEND.format(_CHANGED if is_any_compared else "")
        yield '<p id="shown" role="status"></p>\n<ol id="list" class="cases"></ol>\n'
        yield '<button id="more" type="button" hidden>Show more</button>\n</section>\n'


def _data(run: Shown) -> Iterator[str]:
    """Yield the data with which the scripts fill the list of cases."""
    report = run.report
    if present(report.parts):
        yield f"{_DATA.format('about')}{embedded(line(cases.about(report, run.recorded)))}</script>\n"
        for place, one in enumerate(cases.lines(run)):
            if place % _BLOCK == 0:
                yield "</script>\n" * bool(place) + _DATA.format("cases")
            yield f"{embedded(one)}\n"
        yield "</script>\n"


_LEGEND = (
    '<p class="legend"><span><mark class="for">counts for the reply</mark></span>'
    '<span><mark class="against">counts against it</mark></span>'
    '<span><mark class="neither">is disclosed</mark></span>'
    '<span><mark class="cancelled">does not count</mark></span>{}</p>\n'
)
_CHANGED = "<span><del>removed</del> and <ins>added</ins> since the baseline</span>"
_DATA = '<script type="application/json" class="{}">'


def _footer(report: Report) -> Iterator[str]:
    yield "<footer>\n"
    inputs: tuple[tuple[Words, ...], ...] = tuple(
        (Untrusted(one.path), one.kind, Untrusted(one.sha256)) for one in report.provenance.inputs
    )
    if inputs:
        shown = table(Table(("File", "Kind", "SHA-256"), "<<<", inputs), "The files that were read")
        yield from folded("The files that were read", shown)
    yield '<p class="muted">The same inputs give the same result.</p>\n</footer>\n'
