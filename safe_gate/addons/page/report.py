"""A run as one page for people: verdict and rules, figures with intervals, every case with its evidence. Pure.

The page holds its cases as JSON, one per line. Its scripts filter them and draw the visible ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from safe_gate.addons.page.markup import fold, html_table, listed, page, paragraphs, rate_tables, render_phrase, section
from safe_gate.core.figures import plural
from safe_gate.core.jsontext import line
from safe_gate.evaluators.registry import parts_of
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import number
from safe_gate.model.report import Change, Comparison, Origin, Report
from safe_gate.model.results import Judgement, Mark, Phrase, Severity, Table, Untrusted
from safe_gate.render.cases import ShownCase, ShownPart, compared_part, rank_of
from safe_gate.render.comparison import (
    WEAKENED,
    comparison_notes,
    describe_baseline,
    headline,
    weakened_headline,
    weakened_remarks,
    weakened_table,
)
from safe_gate.render.untrusted import LONGEST_PROBLEM, address, embedded_json, html
from safe_gate.render.view import (
    NO_VERDICT,
    VERDICTS,
    ReportView,
    blamed_names,
    known_failures,
    problems_table,
    remarks,
    rule_name,
    rule_state,
    rule_subject,
    rules_summary,
    waiver_phrase,
    waivers_table,
)

# The words for the states of rules, what somebody must see to first.
_STATES = {"broken": "broken", "warning": "warns", "skipped": "skipped", "ok": "holds"}
_BLOCK = 1_000  # cases of one element: a browser holds no text of more than half a gigabyte


def _draw(view: ReportView) -> Iterator[str]:
    title = f"SAFE Gate: {VERDICTS[view.report.verdict]}"
    return page(title, chain(_body(view), _case_data(view)), ("text.js", "case.js", "list.js"))


FILES = {"safe-gate.html": _draw}


def _body(view: ReportView) -> Iterator[str]:
    report = view.report
    yield '<a class="skip" href="#cases">Skip to the cases</a>\n'
    yield from _header(report, view.origin)
    yield "<main>\n"
    yield from section("Problems", _problems(report))
    yield from section("Rules of the gate", _rules(report))
    yield from section(WEAKENED, _weakened(report), 'class="warning"')
    yield from section("Cases", _case_list(view), 'id="cases" tabindex="-1"')
    if compared := report.comparison:
        against = render_phrase(describe_baseline(compared.baseline))
        yield from section(f"Compared with {against}", _comparison(view, compared))
    for part in view.parts:
        yield from section(html(part.evaluator.title), _figures(report, part))
    yield from section("Known failures", _waivers(report))
    yield "</main>\n<footer>\n"
    files = tuple((Untrusted(one.path), one.kind, Untrusted(one.sha256)) for one in report.provenance.inputs)
    if files:
        title = "The files that were read"
        yield from fold(title, html_table(Table(("File", "Kind", "SHA-256"), "<<<", files), title))
    yield '<p class="muted">The same inputs give the same result.</p>\n</footer>\n'


def _header(report: Report, origin: Origin) -> Iterator[str]:
    verdict, tool, digests = report.verdict, report.tool, report.provenance.digests
    repository = origin.repository.partition("//")[2]
    whence = ("repository ", repository), ("commit ", origin.commit[:12]), ("gate ", origin.gate)
    facts: list[Phrase] = [(title, Untrusted(name)) for title, name in whence if name]
    facts.append((report.generated_at.replace("T", " ").replace("Z", " UTC"),))
    facts.append((f"{tool.name} {tool.version}",))
    if digests:
        facts.append(("digest ", Untrusted(digests.all[:12])))
    yield f'<header class="verdict {html(verdict)}"><div>\n<p class="name">SAFE Gate</p>\n'
    yield f"<h1>{VERDICTS[verdict].capitalize()}</h1>\n<p>{html(rules_summary(report))}</p>\n"
    yield f'<p class="facts">{" · ".join(map(render_phrase, facts))}</p>\n</div></header>\n'


def _problems(report: Report) -> Iterator[str]:
    if problems := report.problems:
        yield f"<p>{NO_VERDICT.capitalize()}.</p>\n"
        yield from html_table(problems_table(problems), plural(number(problems), "problem"), longest=LONGEST_PROBLEM)


def _rules(report: Report) -> Iterator[str]:
    if not report.rules:
        return
    yield '<ul class="rules">\n'
    compared = parts_of(report.comparison.parts) if report.comparison else ()
    gone = {(evaluator.name, one.id) for evaluator, part in compared for one in part.cases.removed}
    by_state = {state: [rule for rule in report.rules if rule_state(rule) == state] for state in _STATES}
    for state, rules in by_state.items():
        for rule in rules:
            links = (
                f'<a href="#case={address(one.text.encode("utf-8", "replace"))}">{render_phrase((one,))}</a>'
                if isinstance(one, Untrusted) and (rule.evaluator, one.text) not in gone
                else render_phrase((one,))
                for one in blamed_names(rule)
            )
            said = f"{render_phrase(rule_subject(rule))}{html(rule.message)}{''.join(links)}"
            yield f'<li class="{state}"><span class="state">{_STATES[state]}</span> <span>{said}'
            yield f' <span class="muted">{html(rule_name(rule))}</span></span></li>\n'
    yield "</ul>\n"
    yield from paragraphs(weakened_remarks(report.weakened))
    yield from paragraphs(remarks(report))


def _weakened(report: Report) -> Iterator[str]:
    if report.weakened and (said := weakened_headline(report.weakened)):
        yield f"<p>Weaker{render_phrase(said)}.</p>\n"
        yield from html_table(weakened_table(report.weakened.findings), "How the gate is weaker")


def _case_list(view: ReportView) -> Iterator[str]:
    """Yield what the scripts fill with cases."""
    if view.parts:
        yield "<noscript><p>The list of cases needs JavaScript.</p></noscript>\n"
        yield '<form id="filters" class="filters" role="search" aria-label="Filter the cases"></form>\n'
        if view.recorded.now:
            yield _LEGEND.format(_CHANGED if _is_compared(view) else "")
        yield '<p id="shown" role="status"></p>\n<ol id="list" class="cases"></ol>\n'
        yield '<button id="more" type="button" hidden>Show more</button>\n'


_LEGEND = (
    '<p class="legend"><span><mark class="for">counts for the reply</mark></span>'
    '<span><mark class="against">counts against it</mark></span>'
    '<span><mark class="neither">is disclosed</mark></span>'
    '<span><mark class="cancelled">does not count</mark></span>{}</p>\n'
)
_CHANGED = "<span><del>removed</del> and <ins>added</ins> since the baseline</span>"


def _is_compared(view: ReportView) -> bool:
    return any(compared_part(view.report, part.evaluator.name) for part in view.parts)


def _comparison(view: ReportView, compared: Comparison) -> Iterator[str]:
    yield f"<p>{html(headline(compared))}</p>\n"
    yield from paragraphs(comparison_notes(compared))
    if found := view.comparison:
        yield from html_table(found.metrics, "Metrics of both runs")
        yield f'<p class="muted">{html("    ".join(found.footer))}</p>\n'
        yield from listed(found.issues)


def _figures(report: Report, part: ShownPart) -> Iterator[str]:
    evaluator, shown = part.evaluator, part.section
    limits = {(rule.evaluator, rule.rule, rule.group): rule.threshold for rule in report.rules}
    rates = evaluator.present.figures(part.part).rates
    yield f"<p>{html(shown.headline)}</p>\n"
    yield from paragraphs(shown.notes)
    yield from rate_tables((rate, limits.get((evaluator.name, rate.rule, rate.group))) for rate in rates)
    details = (chain([f"<h3>{html(title)}</h3>\n"], html_table(table, title)) for title, table in shown.details)
    all_figures = chain(html_table(shown.metrics, "Scorecard"), listed(shown.issues), *details)
    yield from fold("All figures", all_figures)


def _waivers(report: Report) -> Iterator[str]:
    if (waivers := waivers_table(report)).rows:
        yield from paragraphs(filter(None, [known_failures(report)]))
        yield from html_table(waivers, "Waivers and their state")


# --- cases --------------------------------------------------------------------------------------

_DATA = '<script type="application/json" class="{}">'
_LAST = 9  # the rank of a case that needs no look
_LONGEST_QUOTE = 300


def _case_data(view: ReportView) -> Iterator[str]:
    """Yield the data with which the scripts fill the list of cases."""
    if view.parts:
        yield f"{_DATA.format('about')}{embedded_json(line(_common_facts(view)))}</script>\n"
        for place, one in enumerate(_cases(view)):
            if place % _BLOCK == 0:
                yield "</script>\n" * bool(place) + _DATA.format("cases")
            yield f"{embedded_json(line(one))}\n"
        yield "</script>\n"


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
        "compared": _is_compared(view),
        "texts": bool(view.recorded.now),
        "withheld": view.report.provenance.withholds_texts,
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
