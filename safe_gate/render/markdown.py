"""The Markdown scorecard: pull-request comment, job summary, report file. Pure.

For a case to look at, it has the line of its reply that decides, from the recorded texts.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from safe_gate.core.figures import plural
from safe_gate.evaluators.registry import results_of
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import Place, number
from safe_gate.model.report import NOWHERE, Origin, Report, Verdict, Weakened
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
from safe_gate.render.cases import RankedFindings, ShownPart, rank
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
from safe_gate.render.untrusted import LONGEST, LONGEST_PROBLEM, address, markdown, quotation
from safe_gate.render.view import (
    NO_VERDICT,
    ReportView,
    blamed_names,
    known_failures,
    misplaced_sentence,
    problems_table,
    remarks,
    rule_message,
    rule_state,
    rule_subject,
    rules_summary,
    waivers_table,
)

COMMENT_LIMIT = 65_000
"""The most bytes of a comment's text. GitHub takes 65,536 characters, and a marker comes on top."""

_ROWS = HELD  # of a table
_GROUPS = 10  # broken rules of groups that are named: there are few rules on all cases
_ICONS = {"pass": "✅", "fail": "❌", "error": "⚠️"}
_VERDICTS = {"pass": "passed", "fail": "failed", "error": "has no verdict"}
_MARKS = {"ok": "✅", "warning": "⚠️", "broken": "❌", "skipped": "⏭️"}
_DOTS = {Severity.FAILING: "🔴", Severity.REVIEW: "🟡"}
_ALIGN = {"<": ":--", ">": "--:", "^": ":-:"}

Quote = Sequence[tuple[Untrusted, bool]]
"""A line of a reply in pieces, each with whether it holds deciding words."""

Quotes = Mapping[tuple[str, Place], Quote]
"""Deciding lines by the id and the place of their case."""


def scorecards_by_length(
    view: ReportView, *, limit: int, origin: Origin = NOWHERE, recorded: Recorded = NOTHING_RECORDED
) -> Iterator[str]:
    """Yield the report for a reviewer in the lengths that fit, longest first, for a place that may refuse one.

    There are at most three, each with the verdict and the broken rules:

    - everything;
    - everything but folded parts, with as many of the cases to look at as fit;
    - counts alone, without a recorded name but the gate's and the baseline's.

    Each has at most `limit` bytes of UTF-8, but the last one takes a few thousand whatever the limit. Cases link to
    their lines in the repository of the `origin`. The last line links to its commit and its run. A case shows a line of
    its reply, if its text is `recorded`.
    """
    found = rank((finding for part in view.parts for finding in part.section.findings), _ROWS)
    quotes = deciding_lines(view.parts, recorded, found.first)

    def draw(rows: int, *, folded: bool = False) -> str:
        return "\n".join(_report_lines(view, found, quotes, origin, rows, folded=folded)) + "\n"

    def exceeds(text: str) -> bool:
        return len(text.encode("utf-8", "replace")) > limit

    full, rows = draw(_ROWS, folded=True), _ROWS
    if exceeds(full):
        rows = bisect_left(range(1, _ROWS + 1), True, key=lambda rows: exceeds(draw(rows)))
    else:
        yield full
    if rows:
        yield draw(rows)
    yield draw(0)


def scorecard(view: ReportView, *, limit: int, origin: Origin = NOWHERE, recorded: Recorded = NOTHING_RECORDED) -> str:
    """Return the longest of the `scorecards_by_length`."""
    return next(scorecards_by_length(view, limit=limit, origin=origin, recorded=recorded))


def section_report(section: Section) -> str:
    """Return one evaluator's scorecard as a separate document."""
    return "\n".join(
        (
            *(f"# {phrase_line(section.title)}", "", " · ".join(section.counts), ""),
            *(line for note in section.notes for line in (phrase_line(note), "")),
            *_table(section.metrics),
            *_detail_lines(section, _ROWS),
            *_finding_lines(rank(section.findings, _ROWS), _ROWS),
        )
    )


def _report_lines(
    view: ReportView, ranked: RankedFindings, quotes: Quotes, origin: Origin, rows: int, *, folded: bool
) -> Iterator[str]:
    """Yield the report with what is `folded` or without, and tables of at most `rows` rows.

    With no rows it has counts alone, and no recorded name but the gate's and the baseline's.
    """
    report = view.report
    yield from _heading(report, origin)
    if report.problems:
        table = _first_rows(problems_table(report.problems), rows, number(report.problems), LONGEST_PROBLEM)
        yield from table if rows else (f"{plural(number(report.problems), 'problem')}: see the JSON report.", "")
    yield from _broken_rule_lines(report, named=bool(rows))
    yield from _weakened_lines(report.weakened, rows, folded=folded)
    if compared := report.comparison:
        yield f"**Compared with {phrase_line(describe_baseline(compared.baseline))}** · {headline(compared)}  "
        yield from (*(f"{phrase_line(note)}  " for note in comparison_notes(compared) if rows), "")
    if known := known_failures(report):
        yield from (f"**Known failures** · {phrase_line(known)}", "")
    for part in view.parts:
        notes = map(phrase_line, part.section.notes if rows else ())
        words = f"**{part.evaluator.title}** · {part.section.headline}"
        if part.is_broken and rows:
            yield from (words, "", *(line for note in notes for line in (note, "")), *_table(part.section.metrics))
        else:
            yield from (f"{line}  " for line in (words, *notes))
    yield ""
    for sentence in remarks(report) if rows else ():
        yield from (phrase_line(sentence), "")
    if ranked.number and rows:
        findings = _finding_lines(ranked, rows, origin, quotes)
        if report.verdict is Verdict.PASS:
            yield from _fold("<b>Cases to look at</b> · within what the rules allow", findings)
        else:
            yield from (f"**Cases to look at** · {ranked.number}", "", *findings)
    if folded:
        yield from _detail_folds(view, rows, origin)
    elif view.parts:
        yield f"Only the {'cases to look at' if rows else 'counts'} fit here; the JSON report has the rest."
    yield from _footer(report, origin)


def _heading(report: Report, origin: Origin) -> Iterator[str]:
    gate, verdict = f" {markdown(Untrusted(origin.gate))}" if origin.gate else "", report.verdict
    yield from (f"### {_ICONS[verdict]} SAFE Gate{gate} {_VERDICTS[verdict]} · {rules_summary(report)}", "")
    if report.problems:
        commit = f" on commit {markdown(Untrusted(origin.commit[:7]))}" if origin.commit else ""
        yield from _alert("WARNING", [f"No verdict{commit}: {NO_VERDICT}."])
    if words := misplaced_sentence(report, origin):
        yield from _alert("WARNING", [phrase_line(words)])


def _broken_rule_lines(report: Report, *, named: bool) -> Iterator[str]:
    """Yield the broken rules in words, then those that only warn, what was found in bold."""
    warned = [rule for rule in report.rules if rule.warns]
    for kind, rules in (("CAUTION", report.broken()), ("WARNING", warned)):
        of_groups = [rule for rule in rules if rule.group]
        lines = []
        for rule in (*(rule for rule in rules if not rule.group), *of_groups[:_GROUPS]):
            detail = f": {rule.detail}" if rule.detail else ""
            group, blamed = (phrase_line(rule_subject(rule)), phrase_line(blamed_names(rule))) if named else ("", "")
            lines.append(f"- {group}**{rule.found}**{detail}{blamed} (`{rule.rule}`)")
        if len(of_groups) > _GROUPS:
            lines.append(f"- and {plural(len(of_groups) - _GROUPS, 'more rule')} of groups: see the JSON report")
        if lines:
            yield from _alert(kind, lines)


def _weakened_lines(weakened: Weakened | None, rows: int, *, folded: bool) -> Iterator[str]:
    """Yield the weakenings of the gate: the first ones open, the rest folded."""
    if not weakened or not (headline := weakened_headline(weakened)):
        return
    yield from _alert("WARNING", [f"**{WEAKENED}**{phrase_line(headline)}"])
    if rows:
        findings, others = weakened.findings[:WEAKENED_ROWS], weakened.findings[WEAKENED_ROWS:]
        yield from table_lines(weakened_table(findings))
        if others and folded:
            yield from ("", *_fold(f"… and {len(others)} more", _first_rows(weakened_table(others), rows)))
        else:
            yield from _left_out(len(others))
        yield ""


def _finding_lines(
    ranked: RankedFindings, rows: int, origin: Origin = NOWHERE, quotes: Quotes | None = None
) -> Iterator[str]:
    """Yield the cases to look at, each with its evidence and its place."""
    if not ranked.number:
        return
    for noun, counts, others in ranked.counts:
        shown = " · ".join(f"{phrase_line(phrase)} **{cases}**" for phrase, cases in counts)
        more = f" · … and {others}" if others else ""
        yield from (f"By {noun}: {shown}{more}", "")
    cells = [
        (
            "🔻" if finding.news == NEWLY_FAILING else _DOTS[finding.severity],
            _linked(finding.case_id, finding.place, origin),
            finding.what + f"<br>{finding.news}" * bool(finding.news),
            _evidence(finding, (quotes or {}).get((finding.case_id.text, finding.place))),
        )
        for finding in ranked.first
    ]
    yield from _first_rows(Table(("", "Case", "What", "Evidence"), "^<<<", cells), rows, ranked.number)


def _evidence(finding: Finding, line: Quote | None) -> str:
    """Return the deciding line of the reply, if any, and the evidence. With a line, sums are left out."""
    shown = [
        phrase_line(phrase)
        for phrase in finding.evidence
        if not (line is not None and all(isinstance(words, str) and _ARITHMETIC.search(words) for words in phrase))
    ]
    return (quotation(line) if line else "") + "<br>".join(shown)


_ARITHMETIC = re.compile(r"[0-9]\D+[0-9]")  # one figure beside another


def _linked(case_id: Untrusted, place: Place, origin: Origin) -> str:
    """Return a case's id as a link to its line, or with its place beside it."""
    try:
        name = place.within(origin.folder).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a surrogate pair: a stored report may say so, no file system does
        name = b""
    if not (name and origin.repository and origin.commit):
        return f"{markdown(case_id)}<br>{markdown(Untrusted(f'{place.path}:{place.line}'))}"
    return _link(markdown(case_id), origin, f"blob/{origin.checkout or origin.commit}/{address(name)}#L{place.line}")


def _detail_folds(view: ReportView, rows: int, origin: Origin) -> Iterator[str]:
    """Yield the details. The figures of an evaluator with a broken rule are above."""
    for part in view.parts:
        section = part.section
        metrics = () if part.is_broken else _table(section.metrics)
        details = (" · ".join(section.counts), "", *metrics, *_detail_lines(section, rows))
        yield from _fold(f"<b>{phrase_line(section.title)}</b>", details)
    if compared := view.comparison:
        both = (
            one._replace(
                evidence=(*(("before: ", *was) for was in one.before), *(("now: ", *now) for now in one.evidence))
            )
            for one in compared.findings
        )
        changed = _finding_lines(rank(both, _ROWS), rows, origin)
        details = (*_table(compared.metrics), *_detail_lines(compared, rows), *changed)
        yield from _fold(f"<b>{phrase_line(compared.title)}</b>", details)
    if (waivers := waivers_table(view.report)).rows:
        yield from _fold("<b>Known failures</b> · the waivers and their state", _first_rows(waivers, rows))
    if rules := view.report.rules:
        judged = tuple((f"`{one.rule}`", phrase_line(rule_message(one)), _MARKS[rule_state(one)]) for one in rules)
        table = _first_rows(Table(("Rule", "Found", "Outcome"), "<<^", judged), rows)
        unweakened = (line for one in weakened_remarks(view.report.weakened) for line in (phrase_line(one), ""))
        yield from _fold("<b>Rules</b> · limits and results", (*table, *unweakened))


def _detail_lines(section: Section, rows: int) -> Iterator[str]:
    """Yield the rest of a section: its cases, issues and tables, limited to `rows`."""
    yield from (" · ".join(section.footer), "")
    if section.cases.rows:
        yield from (f"{section.cases_title}:", "", *_first_rows(section.cases, rows))
    if section.issues:
        yield from (*(f"- {title}: {phrase_line(phrase)}" for title, phrase in section.issues), "")
    for title, table in section.details:
        yield from (*_fold(title, _first_rows(table, rows)), "")


def _footer(report: Report, origin: Origin) -> Iterator[str]:
    proof = f" · digest <code>{digests.all[:12]}</code>" if (digests := report.provenance.digests) else ""
    links = ""
    if origin.repository and origin.commit:
        links += f" · commit {_link(markdown(Untrusted(origin.commit[:7])), origin, f'commit/{origin.commit}')}"
    if origin.repository and origin.run:
        links += f" · {_link(f'run {origin.run} with its artifacts', origin, f'actions/runs/{origin.run}#artifacts')}"
    same = f"{proof} · the same inputs give the same result{links}"
    yield from ("", f"<sub>{report.tool.name} {report.tool.version}{same}</sub>")


# --- pieces of Markdown -------------------------------------------------------------------------


def phrase_line(phrase: Phrase) -> str:
    """Return a phrase with its recorded text escaped."""
    return "".join(markdown(words) for words in phrase)


def table_lines(table: Table, longest: int = LONGEST) -> Iterator[str]:
    """Yield the lines of a table; `longest` characters of a recorded text are shown."""
    yield _row(table.header)
    yield _row([_ALIGN[sign] for sign in table.align])
    for row in table.rows:
        yield _row([markdown(cell, longest) for cell in row])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _table(table: Table) -> Iterator[str]:
    return _first_rows(table, len(table.rows))


def _first_rows(table: Table, rows: int, number: int | None = None, longest: int = LONGEST) -> Iterator[str]:
    """Yield the first rows of a table, and how many more there are: of `number`, or of the table's own."""
    first = table._replace(rows=table.rows[:rows])
    yield from (*table_lines(first, longest), *_left_out((number or len(table.rows)) - rows), "")


def _left_out(number: int) -> Iterator[str]:
    if number > 0:
        yield from ("", f"… and {number} more: see the JSON report.")


def _fold(summary: str, lines: Iterable[str]) -> Iterator[str]:
    yield from (f"<details><summary>{summary}</summary>", "", *lines, "</details>")


def _alert(kind: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield lines as an alert of GitHub's, such as a WARNING."""
    yield from (*(f"> {line}" for line in (f"[!{kind}]", *lines)), "")


def _link(text: str, origin: Origin, path: str) -> str:
    return f"[{text}]({origin.repository}/{path})"


# --- the line of a reply that decides -------------------------------------------------------------

_LONGEST_QUOTE = 200  # characters
_BLANKS = re.compile(r"\s+")
_WORD = 20  # a longer word is cut, so that a text without blanks keeps its characters


def deciding_lines(parts: Iterable[ShownPart], recorded: Recorded, findings: Iterable[Finding]) -> Quotes:
    """Return the deciding line of each failing case to look at whose reply has text. One text is held at a time.

    Texts of other cases are kept for the page alone.
    """
    wanted = {(one.case_id.text, one.place) for one in findings}
    quotes: dict[tuple[str, Place], Quote] = {}
    for part in parts if wanted else ():
        for result, texts in zip(results_of(part.part), recorded.now.get(part.evaluator.name, ()), strict=False):
            case = result.id, result.place
            is_failing = case in wanted and not part.evaluator.compare.outcome(result).passed
            if is_failing and texts and (line := _deciding_line(part, result, texts)):
                quotes[case] = line
    return quotes


def _deciding_line(part: ShownPart, result: CaseResult, texts: JsonObject) -> Quote:
    """Return the line around the first words of what fails.

    Without words against it, it is the line around those that the evidence says do not count, else the reply's start.
    """
    present = part.evaluator.present
    failing = {one.by: one.evidence for one in present.judgements(part.part, result) if one.severity}
    found = [one for one in present.marks(result, texts) if one.by in failing]
    against = [one for one in found if one.side is Side.AGAINST]
    cancelled = (one for one in found if one.side is Side.CANCELLED and one.why)
    told = [one for one in cancelled if any(phrase[-len(one.why) :] == one.why for phrase in failing[one.by])]
    if marks := against or told:
        field = marks[0].field
        return quote_around(texts[field], [(one.start, one.end) for one in marks if one.field == field])
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
