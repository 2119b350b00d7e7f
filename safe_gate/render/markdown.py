"""The Markdown scorecard: pull-request comment, job summary, report file. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from safe_gate.core.figures import plural
from safe_gate.model.problems import Problem, number
from safe_gate.model.report import NOWHERE, Origin, Report, Verdict, Weakened
from safe_gate.model.results import NOTHING_RECORDED, Recorded, Section, Table, Untrusted
from safe_gate.render import markdown_parts as parts
from safe_gate.render.comparison import (
    WEAKENED,
    WEAKENED_ROWS,
    baseline_words,
    headline,
    notes,
    weakened_headline,
    weakened_remarks,
    weakened_table,
)
from safe_gate.render.untrusted import markdown
from safe_gate.render.view import (
    LONGEST_PROBLEM,
    NO_VERDICT,
    Ranked,
    ReportView,
    ShownPart,
    about,
    conclusion,
    message,
    names,
    problems_table,
    rule_name,
    state,
)

COMMENT_LIMIT = 65_000
"""Bytes a comment's text has at most: GitHub takes 65,536 characters, and a marker comes on top."""

_ICONS = {"pass": "✅", "fail": "❌", "error": "⚠️"}
_VERDICTS = {"pass": "passed", "fail": "failed", "error": "has no verdict"}
_MARKS = {"ok": "✅", "warning": "⚠️", "broken": "❌", "skipped": "⏭️"}

_GROUPS = 10
"""Broken rules of groups that are named at most; of rules on all cases there are few."""

_CASES_ALONE = "Only the cases to look at fit here; the JSON report has the rest."
_COUNTS_ALONE = "Only the counts fit here; the JSON report has the cases."
_NAMELESS = "Only the rules fit here; the JSON report has everything else."


def from_longest(
    view: ReportView, *, limit: int, origin: Origin = NOWHERE, recorded: Recorded = NOTHING_RECORDED
) -> Iterator[str]:
    """Yield the report for a reviewer in the lengths that fit, longest first, for a place that may refuse one.

    There are at most three, each with the verdict and the broken rules:

    - everything;
    - everything but folded parts, with as many of the cases to look at as fit;
    - counts only, or rules without recorded names if the names alone exceed the limit.

    Each has at most `limit` bytes of UTF-8. Escaped names may be fourteen times as long; rules without
    names take a few thousand bytes whatever the limit. Cases link to their lines in the repository of the `origin`. The
    last line links to its commit and its run. A case shows a line of its reply, if its text is `recorded`.
    """
    found = parts.ranked_of(view.sections)
    quotes = parts.deciding_lines(view.report.parts, recorded, found.first)

    def draw(rows: int, *, folded: bool = False) -> str:
        return "\n".join(_lines(view, found, quotes, origin, rows, folded=folded)) + "\n"

    def exceeds(text: str) -> bool:
        return len(text.encode("utf-8", "replace")) > limit

    full, rows = draw(parts.ROWS, folded=True), parts.ROWS
    if exceeds(full):
        rows = bisect_left(range(1, parts.ROWS + 1), True, key=lambda rows: exceeds(draw(rows)))
    else:
        yield full
    if rows:
        yield draw(rows)
    counts = draw(0)
    yield "\n".join(_nameless(view, origin)) + "\n" if exceeds(counts) else counts


def scorecard(view: ReportView, *, limit: int, origin: Origin = NOWHERE, recorded: Recorded = NOTHING_RECORDED) -> str:
    """Return the longest of the `from_longest`."""
    return next(from_longest(view, limit=limit, origin=origin, recorded=recorded))


def section_report(section: Section) -> str:
    """Return one evaluator's scorecard as a document of its own."""
    return "\n".join(
        (
            f"# {parts.words_of(section.title)}",
            "",
            *parts.counts(section),
            *parts.notes_of(section),
            *parts.measured(section),
            *parts.details(section, parts.ROWS),
            *parts.findings(parts.ranked_of([section]), parts.ROWS, NOWHERE),
        )
    )


def _lines(
    view: ReportView, found: Ranked, quotes: parts.Quotes, origin: Origin, rows: int, *, folded: bool
) -> Iterator[str]:
    """Yield the report with what is `folded` or without, tables of at most `rows` rows; with none, counts alone."""
    report = view.report
    yield from _heading(view, origin)
    if view.problems:
        yield from _problems(view.problems, rows, origin)
    yield from _broken(view)
    yield from _weakened(report.weakened, rows, folded=folded)
    if compared := report.comparison:
        yield f"**Compared with {parts.words_of(baseline_words(compared.baseline))}** · {headline(compared)}  "
        yield from (*(f"{parts.words_of(note)}  " for note in notes(compared)), "")
    if view.known_failures:
        yield from (f"**Known failures** · {parts.words_of(view.known_failures)}", "")
    yield from _headlines(view)
    yield ""
    for sentence in view.remarks:
        yield from (parts.words_of(sentence), "")
    if rows and found.number:
        findings = parts.findings(found, rows, origin, quotes)
        if report.verdict is Verdict.PASS:
            yield from parts.folded("<b>Cases to look at</b> · within what the rules allow", findings)
        else:
            yield from (f"**Cases to look at** · {found.number}", "", *findings)
    if folded:
        yield from _folds(view, rows, origin)
    elif view.parts:
        yield _CASES_ALONE if rows else _COUNTS_ALONE
    yield from _footer(report, origin)


def _nameless(view: ReportView, origin: Origin) -> Iterator[str]:
    """Yield verdict, broken rules and counts, with no recorded name but the gate's and the baseline's."""
    yield from _heading(view, origin)
    if view.problems:
        yield from _problems(view.problems, 0, origin)
    yield from _broken(view, named=False)
    yield from _weakened(view.report.weakened, 0, folded=False)
    yield from (f"{_headline(part)}  " for part in view.parts)
    yield from ("", _NAMELESS)
    yield from _footer(view.report, origin)


def _heading(view: ReportView, origin: Origin) -> Iterator[str]:
    gate = f" {markdown(Untrusted(origin.gate))}" if origin.gate else ""
    verdict = view.report.verdict
    yield from (f"### {_ICONS[verdict]} SAFE Gate{gate} {_VERDICTS[verdict]} · {conclusion(view.report)}", "")


def _footer(report: Report, origin: Origin) -> Iterator[str]:
    yield ""
    tool, digests = report.tool, report.provenance.digests
    proof = f" · digest <code>{digests.all[:12]}</code>" if digests else ""
    same = "the same inputs give the same result"
    yield f"<sub>{tool.name} {tool.version}{proof} · {same}{parts.way_on(origin)}</sub>"


def _headlines(view: ReportView) -> Iterator[str]:
    """Yield a line an evaluator, with its figures if one of its rules is broken."""
    for part in view.parts:
        if part.is_broken:
            yield from (_headline(part), "", *parts.notes_of(part.section), *parts.measured(part.section))
        else:
            yield from (f"{words}  " for words in (_headline(part), *map(parts.words_of, part.section.notes)))


def _headline(part: ShownPart) -> str:
    return f"**{part.evaluator.title}** · {part.section.headline}"


def _folds(view: ReportView, rows: int, origin: Origin) -> Iterator[str]:
    """Yield the details. The figures of an evaluator with a broken rule are above."""
    for _, section, is_broken in view.parts:
        measured = () if is_broken else parts.measured(section)
        details = (*parts.counts(section), *measured, *parts.details(section, rows))
        yield from parts.folded(f"<b>{parts.words_of(section.title)}</b>", details)
    if view.comparison:
        yield from _changes(view.comparison, rows, origin)
    if view.waivers.rows:
        yield from parts.folded("<b>Known failures</b> · the waivers and their state", parts.cut(view.waivers, rows))
    if view.report.rules:
        yield from parts.folded("<b>Rules</b> · limits and results", _rules(view.report, rows))


def _changes(section: Section, rows: int, origin: Origin) -> Iterator[str]:
    """Yield the comparison with a baseline in full, folded."""
    both = [
        one._replace(evidence=(*(("before: ", *was) for was in one.before), *(("now: ", *now) for now in one.evidence)))
        for one in section.findings
    ]
    details = (
        *parts.measured(section),
        *parts.details(section, rows),
        *parts.findings(parts.ranked_of([section._replace(findings=both)]), rows, origin),
    )
    yield from parts.folded(f"<b>{parts.words_of(section.title)}</b>", details)


def _broken(view: ReportView, *, named: bool = True) -> Iterator[str]:
    """Yield the broken rules in words, then those that only warn, what was found in bold."""
    warned = [rule for rule in view.report.rules if rule.warns]
    for kind, rules in (("CAUTION", view.broken), ("WARNING", warned)):
        of_all, of_groups = ([rule for rule in rules if bool(rule.group) is group] for group in (False, True))
        lines = []
        for rule in (*of_all, *of_groups[:_GROUPS]):
            detail = f": {rule.detail}" if rule.detail else ""
            group, blamed = (parts.words_of(about(rule)), parts.words_of(names(rule))) if named else ("", "")
            lines.append(f"- {group}**{rule.found}**{detail}{blamed} (`{rule_name(rule)}`)")
        if len(of_groups) > _GROUPS:
            lines.append(f"- and {plural(len(of_groups) - _GROUPS, 'more rule')} of groups: see the JSON report")
        if lines:
            yield from parts.alert(kind, lines)


def _weakened(weakened: Weakened | None, rows: int, *, folded: bool) -> Iterator[str]:
    """Yield the weakenings of the gate: the first ones open, the rest folded."""
    if not weakened or not (headline := weakened_headline(weakened)):
        return
    yield from parts.alert("WARNING", [f"**{WEAKENED}**{parts.words_of(headline)}"])
    if rows:
        findings = weakened.findings
        others = findings[WEAKENED_ROWS:]
        yield from parts.table_of(weakened_table(findings[:WEAKENED_ROWS]))
        if others and folded:
            yield from ("", *parts.folded(f"… and {len(others)} more", parts.cut(weakened_table(others), rows)))
        else:
            yield from parts.left_out(len(others))
        yield ""


def _rules(report: Report, rows: int) -> Iterator[str]:
    judged = tuple((f"`{rule_name(r)}`", parts.words_of(message(r)), _MARKS[state(r)]) for r in report.rules)
    yield from parts.cut(Table(("Rule", "Found", "Outcome"), "<<^", judged), rows)
    for sentence in weakened_remarks(report.weakened):
        yield from (parts.words_of(sentence), "")


def _problems(problems: Sequence[Problem], rows: int, origin: Origin) -> Iterator[str]:
    commit = f" on commit {parts.short_commit(origin.commit)}" if origin.commit else ""
    yield from parts.alert("WARNING", [f"No verdict{commit}: {NO_VERDICT}."])
    if rows:
        table = problems_table(problems)
        yield from parts.table_of(table._replace(rows=table.rows[:rows]), LONGEST_PROBLEM)
        yield from (*parts.left_out(number(problems) - rows), "")
    else:
        yield from (f"{plural(number(problems), 'problem')}: see the JSON report.", "")
