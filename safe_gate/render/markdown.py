"""The Markdown scorecard: pull-request comment, job summary, report file. Pure.

For a case to look at, it has the line of its reply that decides, from the recorded texts.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from safe_gate.core.evaluator import Evaluator
from safe_gate.core.figures import plural
from safe_gate.evaluators.registry import parts_of, results_of
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import Place, Problem, number
from safe_gate.model.report import NOWHERE, Origin, Parts, Report, Verdict, Weakened
from safe_gate.model.results import (
    HELD,
    NOTHING_RECORDED,
    CaseResult,
    Finding,
    Phrase,
    Recorded,
    Section,
    Severity,
    Side,
    Table,
    Untrusted,
)
from safe_gate.render.comparison import (
    NEWLY_FAILING,
    WEAKENED,
    WEAKENED_ROWS,
    comparison_notes,
    describe_baseline,
    headline,
    weakened_headline,
    weakened_remarks,
    weakened_table,
)
from safe_gate.render.untrusted import LONGEST, address, markdown, quotation
from safe_gate.render.view import (
    LONGEST_PROBLEM,
    MOST_COUNTED,
    NO_VERDICT,
    RankedFindings,
    ReportView,
    ShownPart,
    blamed_names,
    finding_counts,
    problems_table,
    rank,
    rule_message,
    rule_name,
    rule_state,
    rule_subject,
    rules_summary,
)

_DOTS = {Severity.FAILING: "🔴", Severity.REVIEW: "🟡"}
_ALIGN = {"<": ":--", ">": "--:", "^": ":-:"}
_ARITHMETIC = re.compile(r"[0-9]\D+[0-9]")  # one figure beside another
_LONGEST_QUOTE = 200  # characters of a line of a reply
_BLANKS = re.compile(r"\s+")
_WORD = 20  # a longer word is cut, so that a text without blanks keeps its characters

Quote = Sequence[tuple[Untrusted, bool]]
"""A line in pieces, each with whether it holds deciding words."""

Quotes = Mapping[tuple[str, Place], Quote]
"""Deciding lines by the id and the place of their case."""

_NO_LINES: Quotes = {}

ROWS = HELD
"""The most rows of a table."""


def source_links(origin: Origin) -> str:
    """Return links to the judged commit and to the run that judged it."""
    commit = f" · commit {_link(short_commit(origin.commit), origin, f'commit/{origin.commit}')}"
    run = f" · {_link(f'run {origin.run} with its artifacts', origin, f'actions/runs/{origin.run}#artifacts')}"
    return commit * bool(origin.repository and origin.commit) + run * bool(origin.repository and origin.run)


def _link(text: str, origin: Origin, path: str) -> str:
    return f"[{text}]({origin.repository}/{path})"


def short_commit(commit: str) -> str:
    """Return the first letters of a commit's name."""
    return markdown(Untrusted(commit[:7]))


def fold(summary: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield lines folded below a summary."""
    yield from (f"<details><summary>{summary}</summary>", "")
    yield from lines
    yield "</details>"


def alert(kind: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield lines as an alert of GitHub's, such as a WARNING."""
    yield from (f"> {line}" for line in (f"[!{kind}]", *lines))
    yield ""


def first_rows(table: Table, rows: int) -> Iterator[str]:
    """Yield the first rows of a table, and how many more there are."""
    yield from table_lines(Table(table.header, table.align, table.rows[:rows]))
    yield from left_out_line(len(table.rows) - rows)
    yield ""


def rank_sections(parts: Sequence[Section]) -> RankedFindings:
    """Return the cases to look at of all sections."""
    return rank((finding for section in parts for finding in section.findings), ROWS)


def finding_lines(ranked: RankedFindings, rows: int, origin: Origin, quotes: Quotes = _NO_LINES) -> Iterator[str]:
    """Yield the cases to look at, each with its evidence and its place."""
    if not ranked.number:
        return
    for noun, counts in finding_counts(ranked):
        shown = " · ".join(f"{phrase_line(phrase)} **{cases}**" for phrase, cases in counts[:MOST_COUNTED])
        more = f" · … and {len(counts) - MOST_COUNTED} more" if len(counts) > MOST_COUNTED else ""
        yield from (f"By {noun}: {shown}{more}", "")
    yield from table_lines(
        Table(
            ("", "Case", "What", "Evidence"),
            "^<<<",
            tuple(
                (
                    "🔻" if finding.news == NEWLY_FAILING else _DOTS[finding.severity],
                    _linked(finding.case_id, finding.place, origin),
                    finding.what + f"<br>{finding.news}" * bool(finding.news),
                    _evidence(finding, quotes),
                )
                for finding in ranked.first[:rows]
            ),
        )
    )
    yield from left_out_line(ranked.number - rows)
    yield ""


def _evidence(finding: Finding, quotes: Quotes) -> str:
    """Return the deciding line of the reply, if any, and the evidence. With a line, sums are left out."""
    line = quotes.get((finding.case_id.text, finding.place))
    shown = [
        phrase_line(phrase)
        for phrase in finding.evidence
        if not (line is not None and all(isinstance(words, str) and _ARITHMETIC.search(words) for words in phrase))
    ]
    return (quotation(line) if line else "") + "<br>".join(shown)


def count_lines(section: Section) -> Iterator[str]:
    """Yield how many cases a section has, by outcome."""
    yield from (" · ".join(section.counts), "")


def metric_lines(section: Section) -> Iterator[str]:
    """Yield what a section measured."""
    yield from (*table_lines(section.metrics), "")


def detail_lines(section: Section, rows: int) -> Iterator[str]:
    """Yield the rest of a section: its cases, issues and tables, limited to `rows`."""
    yield from (" · ".join(section.footer), "")
    if section.cases.rows:
        yield from (f"{section.cases_title}:", "", *first_rows(section.cases, rows))
    if section.issues:
        yield from (*(f"- {title}: {phrase_line(phrase)}" for title, phrase in section.issues), "")
    for title, table in section.details:
        yield from (*fold(title, first_rows(table, rows)), "")


def note_lines(section: Section) -> Iterator[str]:
    """Yield what a reader must know of a section."""
    for note in section.notes:
        yield from (phrase_line(note), "")


def left_out_line(number: int) -> Iterator[str]:
    """Yield a sentence on the number of rows that are left out, if any."""
    if number > 0:
        yield from ("", f"… and {number} more: see the JSON report.")


def table_lines(table: Table, longest: int = LONGEST) -> Iterator[str]:
    """Yield the lines of a table; `longest` characters of a recorded text are shown."""
    yield _row(table.header)
    yield _row([_ALIGN[sign] for sign in table.align])
    for row in table.rows:
        yield _row([markdown(cell, longest) for cell in row])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def phrase_line(phrase: Phrase) -> str:
    """Return a phrase with its recorded text escaped."""
    return "".join(markdown(words) for words in phrase)


def _linked(case_id: Untrusted, place: Place, origin: Origin) -> str:
    """Return a case's id as a link to its line, or with its place beside it."""
    try:
        name = place.within(origin.folder).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a surrogate pair: a stored report may say so, no file system does
        name = b""
    if not (name and origin.repository and origin.commit):
        return f"{markdown(case_id)}<br>{markdown(Untrusted(f'{place.path}:{place.line}'))}"
    return _link(markdown(case_id), origin, f"blob/{origin.commit}/{address(name)}#L{place.line}")


def deciding_lines(parts: Parts, recorded: Recorded, findings: Sequence[Finding]) -> Quotes:
    """Return the deciding line of each case to look at whose reply has text. One text is held at a time."""
    wanted = {(one.case_id.text, one.place) for one in findings}
    return dict(_quotes(parts, recorded, wanted)) if recorded.now and wanted else {}


def _quotes(
    parts: Parts, recorded: Recorded, wanted: set[tuple[str, Place]]
) -> Iterator[tuple[tuple[str, Place], Quote]]:
    for evaluator, part in parts_of(parts):
        for result, texts in zip(results_of(part), recorded.now.get(evaluator.name, ()), strict=False):
            case = result.id, result.place
            if case in wanted:
                wanted.remove(case)
                if texts and (line := _deciding_line(evaluator, part, result, texts)):
                    yield case, line
            if not wanted:
                return


def _deciding_line(evaluator: Evaluator, part: Any, result: CaseResult, texts: JsonObject) -> Quote:
    """Return the line around the first words of what fails.

    Without words against it, it is the line around those that the evidence says do not count, else the reply's start.
    """
    failing = {one.by: one.evidence for one in evaluator.present.judgements(part, result) if one.severity}
    found = [one for one in evaluator.present.marks(result, texts) if one.by in failing]
    against = [one for one in found if one.side is Side.AGAINST]
    cancelled = (one for one in found if one.side is Side.CANCELLED and one.why)
    told = [one for one in cancelled if any(phrase[-len(one.why) :] == one.why for phrase in failing[one.by])]
    if marks := against or told:
        field = marks[0].field
        return quote_around(texts[field], [(one.start, one.end) for one in marks if one.field == field])
    present = evaluator.present
    reply = present.reply_field if present.reply_field in texts else [*present.result_fields(result, texts)][-1]
    return quote_around(texts[reply], [])


def quote_around(text: str, spans: Sequence[tuple[int, int]]) -> Quote:
    r"""Return a line of a text around the first of some spans, at most 200 characters in whole words.

    >>> [(piece.text, decides) for piece, decides in quote_around("a  line\nof words", [(8, 10)])]
    [('a line ', False), ('of', True), (' words', False)]
    >>> sum(len(piece.text) for piece, _ in quote_around("word " * 100, [(250, 254)]))
    196
    """
    start, end = spans[0] if spans else (0, 0)
    room = max(_LONGEST_QUOTE - 2 - (end - start), 0)  # an ellipsis on either side
    before = min(start, max(room // 2, room - (len(text) - end)))
    first, last = start - before, min(len(text), start - before + _LONGEST_QUOTE - 2)
    if first > 0 and (blank := _BLANKS.search(text, first - 1, min(first + _WORD, start))):
        first = blank.end()
    if last < len(text) and (blanks := [*_BLANKS.finditer(text, max(last - _WORD, end), last + 1)]):
        last = blanks[-1].start()
    deciding = {place for one in spans for place in range(max(one[0], first), min(one[1], last))}
    pieces = [
        (_BLANKS.sub(" ", "".join(map(text.__getitem__, places))), decides)
        for decides, places in groupby(range(first, last), deciding.__contains__)
    ]
    shown = [("…" * (first > 0), False), *pieces, ("…" * (last < len(text)), False)]
    return [(Untrusted(piece), decides) for piece, decides in shown if piece] if text.strip() else []


COMMENT_LIMIT = 65_000
"""The most bytes of a comment's text. GitHub takes 65,536 characters, and a marker comes on top."""

_ICONS = {"pass": "✅", "fail": "❌", "error": "⚠️"}
_VERDICTS = {"pass": "passed", "fail": "failed", "error": "has no verdict"}
_MARKS = {"ok": "✅", "warning": "⚠️", "broken": "❌", "skipped": "⏭️"}

_GROUPS = 10
"""The most broken rules of groups that are named. There are few rules on all cases."""

_CASES_ALONE = "Only the cases to look at fit here; the JSON report has the rest."
_COUNTS_ALONE = "Only the counts fit here; the JSON report has the cases."


def scorecards_by_length(
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
    found = rank_sections(view.sections)
    quotes = deciding_lines(view.report.parts, recorded, found.first)

    def draw(rows: int, *, folded: bool = False) -> str:
        return "\n".join(_report_lines(view, found, quotes, origin, rows, folded=folded)) + "\n"

    def exceeds(text: str) -> bool:
        return len(text.encode("utf-8", "replace")) > limit

    full, rows = draw(ROWS, folded=True), ROWS
    if exceeds(full):
        rows = bisect_left(range(1, ROWS + 1), True, key=lambda rows: exceeds(draw(rows)))
    else:
        yield full
    if rows:
        yield draw(rows)
    counts = draw(0)
    yield "\n".join(_minimal_lines(view, origin)) + "\n" if exceeds(counts) else counts


def scorecard(view: ReportView, *, limit: int, origin: Origin = NOWHERE, recorded: Recorded = NOTHING_RECORDED) -> str:
    """Return the longest of the `scorecards_by_length`."""
    return next(scorecards_by_length(view, limit=limit, origin=origin, recorded=recorded))


def section_report(section: Section) -> str:
    """Return one evaluator's scorecard as a separate document."""
    return "\n".join(
        (
            f"# {phrase_line(section.title)}",
            "",
            *count_lines(section),
            *note_lines(section),
            *metric_lines(section),
            *detail_lines(section, ROWS),
            *finding_lines(rank_sections([section]), ROWS, NOWHERE),
        )
    )


def _report_lines(
    view: ReportView, ranked: RankedFindings, quotes: Quotes, origin: Origin, rows: int, *, folded: bool
) -> Iterator[str]:
    """Yield the report with what is `folded` or without, tables of at most `rows` rows; with none, counts alone."""
    report = view.report
    yield from _heading(view, origin)
    if view.problems:
        yield from _problem_lines(view.problems, rows, origin)
    yield from _broken_rule_lines(view)
    yield from _weakened_lines(report.weakened, rows, folded=folded)
    if compared := report.comparison:
        yield f"**Compared with {phrase_line(describe_baseline(compared.baseline))}** · {headline(compared)}  "
        yield from (*(f"{phrase_line(note)}  " for note in comparison_notes(compared)), "")
    if view.known_failures:
        yield from (f"**Known failures** · {phrase_line(view.known_failures)}", "")
    yield from _headlines(view)
    yield ""
    for sentence in view.remarks:
        yield from (phrase_line(sentence), "")
    if rows and ranked.number:
        findings = finding_lines(ranked, rows, origin, quotes)
        if report.verdict is Verdict.PASS:
            yield from fold("<b>Cases to look at</b> · within what the rules allow", findings)
        else:
            yield from (f"**Cases to look at** · {ranked.number}", "", *findings)
    if folded:
        yield from _detail_folds(view, rows, origin)
    elif view.parts:
        yield _CASES_ALONE if rows else _COUNTS_ALONE
    yield from _footer(report, origin)


def _minimal_lines(view: ReportView, origin: Origin) -> Iterator[str]:
    """Yield verdict, broken rules and counts, with no recorded name but the gate's and the baseline's."""
    yield from _heading(view, origin)
    if view.problems:
        yield from _problem_lines(view.problems, 0, origin)
    yield from _broken_rule_lines(view, named=False)
    yield from _weakened_lines(view.report.weakened, 0, folded=False)
    yield from (f"{_headline(part)}  " for part in view.parts)
    yield from ("", "Only the rules fit here; the JSON report has everything else.")
    yield from _footer(view.report, origin)


def _heading(view: ReportView, origin: Origin) -> Iterator[str]:
    gate = f" {markdown(Untrusted(origin.gate))}" if origin.gate else ""
    verdict = view.report.verdict
    yield from (f"### {_ICONS[verdict]} SAFE Gate{gate} {_VERDICTS[verdict]} · {rules_summary(view.report)}", "")


def _footer(report: Report, origin: Origin) -> Iterator[str]:
    yield ""
    tool, digests = report.tool, report.provenance.digests
    proof = f" · digest <code>{digests.all[:12]}</code>" if digests else ""
    same = "the same inputs give the same result"
    yield f"<sub>{tool.name} {tool.version}{proof} · {same}{source_links(origin)}</sub>"


def _headlines(view: ReportView) -> Iterator[str]:
    """Yield a line for each evaluator, with its figures if one of its rules is broken."""
    for part in view.parts:
        if part.is_broken:
            yield from (_headline(part), "", *note_lines(part.section), *metric_lines(part.section))
        else:
            yield from (f"{words}  " for words in (_headline(part), *map(phrase_line, part.section.notes)))


def _headline(part: ShownPart) -> str:
    return f"**{part.evaluator.title}** · {part.section.headline}"


def _detail_folds(view: ReportView, rows: int, origin: Origin) -> Iterator[str]:
    """Yield the details. The figures of an evaluator with a broken rule are above."""
    for _, section, is_broken in view.parts:
        measured = () if is_broken else metric_lines(section)
        details = (*count_lines(section), *measured, *detail_lines(section, rows))
        yield from fold(f"<b>{phrase_line(section.title)}</b>", details)
    if view.comparison:
        yield from _comparison_lines(view.comparison, rows, origin)
    if view.waivers.rows:
        yield from fold("<b>Known failures</b> · the waivers and their state", first_rows(view.waivers, rows))
    if view.report.rules:
        yield from fold("<b>Rules</b> · limits and results", _rule_lines(view.report, rows))


def _comparison_lines(section: Section, rows: int, origin: Origin) -> Iterator[str]:
    """Yield the comparison with a baseline in full, folded."""
    both = [
        one._replace(evidence=(*(("before: ", *was) for was in one.before), *(("now: ", *now) for now in one.evidence)))
        for one in section.findings
    ]
    details = (
        *metric_lines(section),
        *detail_lines(section, rows),
        *finding_lines(rank_sections([section._replace(findings=both)]), rows, origin),
    )
    yield from fold(f"<b>{phrase_line(section.title)}</b>", details)


def _broken_rule_lines(view: ReportView, *, named: bool = True) -> Iterator[str]:
    """Yield the broken rules in words, then those that only warn, what was found in bold."""
    warned = [rule for rule in view.report.rules if rule.warns]
    for kind, rules in (("CAUTION", view.broken), ("WARNING", warned)):
        of_all, of_groups = ([rule for rule in rules if bool(rule.group) is group] for group in (False, True))
        lines = []
        for rule in (*of_all, *of_groups[:_GROUPS]):
            detail = f": {rule.detail}" if rule.detail else ""
            group, blamed = (phrase_line(rule_subject(rule)), phrase_line(blamed_names(rule))) if named else ("", "")
            lines.append(f"- {group}**{rule.found}**{detail}{blamed} (`{rule_name(rule)}`)")
        if len(of_groups) > _GROUPS:
            lines.append(f"- and {plural(len(of_groups) - _GROUPS, 'more rule')} of groups: see the JSON report")
        if lines:
            yield from alert(kind, lines)


def _weakened_lines(weakened: Weakened | None, rows: int, *, folded: bool) -> Iterator[str]:
    """Yield the weakenings of the gate: the first ones open, the rest folded."""
    if not weakened or not (headline := weakened_headline(weakened)):
        return
    yield from alert("WARNING", [f"**{WEAKENED}**{phrase_line(headline)}"])
    if rows:
        findings = weakened.findings
        others = findings[WEAKENED_ROWS:]
        yield from table_lines(weakened_table(findings[:WEAKENED_ROWS]))
        if others and folded:
            yield from ("", *fold(f"… and {len(others)} more", first_rows(weakened_table(others), rows)))
        else:
            yield from left_out_line(len(others))
        yield ""


def _rule_lines(report: Report, rows: int) -> Iterator[str]:
    judged = tuple((f"`{rule_name(r)}`", phrase_line(rule_message(r)), _MARKS[rule_state(r)]) for r in report.rules)
    yield from first_rows(Table(("Rule", "Found", "Outcome"), "<<^", judged), rows)
    for sentence in weakened_remarks(report.weakened):
        yield from (phrase_line(sentence), "")


def _problem_lines(problems: Sequence[Problem], rows: int, origin: Origin) -> Iterator[str]:
    commit = f" on commit {short_commit(origin.commit)}" if origin.commit else ""
    yield from alert("WARNING", [f"No verdict{commit}: {NO_VERDICT}."])
    if rows:
        table = problems_table(problems)
        yield from table_lines(table._replace(rows=table.rows[:rows]), LONGEST_PROBLEM)
        yield from (*left_out_line(number(problems) - rows), "")
    else:
        yield from (f"{plural(number(problems), 'problem')}: see the JSON report.", "")
