"""The parts of a Markdown page: tables, folds, alerts, links, escaped words, and what an evaluator shows.

For a case to look at, the line of its reply that decides, from the recorded texts. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from safe_gate.core.evaluator import Evaluator
from safe_gate.evaluators import parts_of
from safe_gate.evaluators.registry import results_of
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import Place
from safe_gate.model.report import Origin, Parts
from safe_gate.model.results import (
    HELD,
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
from safe_gate.render.comparison import NEWLY_FAILING
from safe_gate.render.untrusted import LONGEST, address, markdown, quotation
from safe_gate.render.view import MOST_COUNTED, Ranked, counted, ranked

_DOTS = {Severity.FAILING: "🔴", Severity.REVIEW: "🟡"}
_NEW = "🔻"
_ALIGN = {"<": ":--", ">": "--:", "^": ":-:"}
_ARITHMETIC = re.compile(r"[0-9]\D+[0-9]")  # one figure beside another
_LONGEST_QUOTE = 200  # characters of a line of a reply
_BLANKS = re.compile(r"\s+")
_WORD = 20  # a longer word is cut, so that a text without blanks keeps its characters

Quote = Sequence[tuple[Untrusted, bool]]
"""A line in pieces, each with whether it holds words that decide."""

Quotes = Mapping[tuple[str, Place], Quote]
"""A line by the id and the place of its case."""

_NO_LINES: Quotes = {}

ROWS = HELD
"""Rows a table has at most."""


def way_on(origin: Origin) -> str:
    """Return links to the judged commit and to the run that judged it."""
    commit = f" · commit {_link(short_commit(origin.commit), origin, f'commit/{origin.commit}')}"
    run = f" · {_link(f'run {origin.run} with its artifacts', origin, f'actions/runs/{origin.run}#artifacts')}"
    return commit * bool(origin.repository and origin.commit) + run * bool(origin.repository and origin.run)


def _link(text: str, origin: Origin, path: str) -> str:
    return f"[{text}]({origin.repository}/{path})"


def short_commit(commit: str) -> str:
    """Return the first letters of a commit's name."""
    return markdown(Untrusted(commit[:7]))


def folded(summary: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield lines below a summary that opens them."""
    yield from (f"<details><summary>{summary}</summary>", "")
    yield from lines
    yield "</details>"


def alert(kind: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield lines as an alert of GitHub's, such as a WARNING."""
    yield from (f"> {line}" for line in (f"[!{kind}]", *lines))
    yield ""


def cut(table: Table, rows: int) -> Iterator[str]:
    """Yield the first rows of a table, and how many more there are."""
    yield from table_of(Table(table.header, table.align, table.rows[:rows]))
    yield from left_out(len(table.rows) - rows)
    yield ""


def ranked_of(shown: Sequence[Section]) -> Ranked:
    """Return the cases to look at of all sections."""
    return ranked((finding for section in shown for finding in section.findings), ROWS)


def findings(found: Ranked, rows: int, origin: Origin, quotes: Quotes = _NO_LINES) -> Iterator[str]:
    """Yield the cases to look at, each with its evidence and its place."""
    if not found.number:
        return
    for noun, counts in counted(found):
        shown = " · ".join(f"{words_of(phrase)} **{cases}**" for phrase, cases in counts[:MOST_COUNTED])
        more = f" · … and {len(counts) - MOST_COUNTED} more" if len(counts) > MOST_COUNTED else ""
        yield from (f"By {noun}: {shown}{more}", "")
    yield from table_of(
        Table(
            ("", "Case", "What", "Evidence"),
            "^<<<",
            tuple(
                (
                    _NEW if finding.news == NEWLY_FAILING else _DOTS[finding.severity],
                    _linked(finding.case_id, finding.place, origin),
                    finding.what + f"<br>{finding.news}" * bool(finding.news),
                    _evidence(finding, quotes),
                )
                for finding in found.first[:rows]
            ),
        )
    )
    yield from left_out(found.number - rows)
    yield ""


def _evidence(finding: Finding, quotes: Quotes) -> str:
    """Return the line of the reply that decides, if any, and the evidence that is no sum: a line needs none."""
    line = quotes.get((finding.case_id.text, finding.place))
    shown = [
        words_of(phrase)
        for phrase in finding.evidence
        if not (line is not None and all(isinstance(words, str) and _ARITHMETIC.search(words) for words in phrase))
    ]
    return (quotation(line) if line else "") + "<br>".join(shown)


def counts(section: Section) -> Iterator[str]:
    """Yield how many cases a section has, by outcome."""
    yield from (" · ".join(section.counts), "")


def measured(section: Section) -> Iterator[str]:
    """Yield what a section measured."""
    yield from (*table_of(section.metrics), "")


def details(section: Section, rows: int) -> Iterator[str]:
    """Yield the rest of a section: its cases, issues and tables, limited to `rows`."""
    yield from (" · ".join(section.footer), "")
    if section.cases.rows:
        yield from (f"{section.cases_title}:", "", *cut(section.cases, rows))
    if section.issues:
        yield from (*(f"- {title}: {words_of(phrase)}" for title, phrase in section.issues), "")
    for title, table in section.details:
        yield from (*folded(title, cut(table, rows)), "")


def notes_of(section: Section) -> Iterator[str]:
    """Yield what a reader must know of a section."""
    for note in section.notes:
        yield from (words_of(note), "")


def left_out(number: int) -> Iterator[str]:
    """Yield how many rows are left out, if any."""
    if number > 0:
        yield from ("", f"… and {number} more: see the JSON report.")


def table_of(table: Table, longest: int = LONGEST) -> Iterator[str]:
    """Yield the lines of a table; `longest` characters of a recorded text are shown."""
    yield _row(table.header)
    yield _row([_ALIGN[sign] for sign in table.align])
    for row in table.rows:
        yield _row([markdown(cell, longest) for cell in row])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def words_of(phrase: Phrase) -> str:
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
    """Return a line of each case to look at whose reply has a text. Memory holds one text at a time."""
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
        return around(texts[field], [(one.start, one.end) for one in marks if one.field == field])
    shown = evaluator.present
    reply = shown.reply if shown.reply in texts else [*shown.fields_of(result, texts)][-1]
    return around(texts[reply], [])


def around(text: str, spans: Sequence[tuple[int, int]]) -> Quote:
    r"""Return a line of a text around the first of some spans, at most 200 characters in whole words.

    >>> [(piece.text, decides) for piece, decides in around("a  line\nof words", [(8, 10)])]
    [('a line ', False), ('of', True), (' words', False)]
    >>> sum(len(piece.text) for piece, _ in around("word " * 100, [(250, 254)]))
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
