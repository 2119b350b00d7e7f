"""The console scorecard. Its tables are drawn with `tabulate`, as wide as a terminal is if it is known. Pure.

No colours: a terminal gets them later, and may ask for narrower tables (`commands/_command.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from itertools import chain, zip_longest
from math import inf
from textwrap import wrap

from safe_gate.core.figures import plural
from safe_gate.model.problems import Kind, Problem, in_order, kind_of, number
from safe_gate.model.report import Comparison, RuleOutcome, Weakened
from safe_gate.model.results import Phrase, Section, Severity, Table, Untrusted, Words
from safe_gate.render.comparison import (
    WEAKENED,
    WEAKENED_ROWS,
    comparison_notes,
    weakened_headline,
    weakened_remarks,
    weakened_table,
)
from safe_gate.render.untrusted import plain, quote_phrase
from safe_gate.render.view import (
    MOST_COUNTED,
    RankedFindings,
    ReportView,
    finding_counts,
    rank,
    rule_message,
    rule_name,
    rule_state,
    rules_summary,
)

_ALIGN = {"<": "left", ">": "right", "^": "center"}
_NARROW = re.compile("[ -~\u2500-\u257f]*")  # signs of one column: ASCII and lines
_NARROWEST = 8  # columns that a cell keeps on a terminal that is too narrow for a table
_columns: ContextVar[int] = ContextVar("columns", default=0)


def draw_table(table: Table, form: str, indent: str = "") -> str:
    """Return a table in a format of `tabulate`, at most as wide as `limit_width` allows, indented.

    A cell that is longer is broken. With too many columns for that, each row is text.
    """
    import tabulate  # takes as long to import as a hundred cases to score

    tabulate.MIN_PADDING = 0  # a column as wide as its widest text, header or not, as the spec draws it
    alignments = [_ALIGN[sign] for sign in table.align]
    headers, *rows = _cells(table, table.min_widths)
    room = _columns.get() - len(indent) - 3 * len(headers) - 1 if _columns.get() else inf  # less blanks and lines
    if sum(_widths([headers, *rows])) > room:
        headers = list(table.header)
    widest = _shrink_widths([headers, *rows], room)
    if widest and sum(widest) > room:
        return "\n".join(_as_text(headers, row) for row in rows)
    text = tabulate.tabulate(
        rows,
        headers=headers,
        tablefmt=form,
        maxcolwidths=widest,
        maxheadercolwidths=widest,
        colalign=alignments,
        headersalign=alignments,
        disable_numparse=True,
        preserve_whitespace=True,
    )
    return "\n".join(f"{indent}{line}" for line in text.split("\n"))


def _as_text(headers: Sequence[str], row: Sequence[str]) -> str:
    """Return a row as text: its first cell, then the other cells with their headers, as many on a line as fit."""
    lines = [row[0]]
    for name, cell in zip(headers[1:], row[1:], strict=True):
        fact = f"{name.strip()} {cell.strip()}"
        if not cell.strip():
            continue
        if len(lines) > 1 and display_width(lines[-1]) + display_width(fact) + 3 <= _columns.get():
            lines[-1] += f" · {fact}"
        else:
            lines.append(f"  {fact}")
    return "\n".join(lines)


def draw_box(table: Table, min_widths: Sequence[int] = ()) -> list[str]:
    """Return the lines of a boxed table at full width, without the box's top and bottom.

    Every `eval` shows one, so it is drawn without `tabulate`.
    """
    cells = _cells(table, min_widths or table.min_widths)
    widths = _widths(cells)
    header, *rows = (
        f"║ {' │ '.join(_PAD[sign](cell, size) for cell, size, sign in zip(row, widths, table.align, strict=True))} ║"
        for row in cells
    )
    return [header, f"╠{'┼'.join('─' * (size + 2) for size in widths)}╣", *rows]


def _cells(table: Table, min_widths: Sequence[int]) -> list[list[str]]:
    """Return the cells of a table, its header first, each padded to the minimum width of its column."""
    header = [
        centre(name, columns) if sign == "^" else pad(name, columns)
        for name, columns, sign in zip(table.header, min_widths or (0,) * len(table.header), table.align, strict=True)
    ]
    return [header, *([plain(cell, 60) for cell in row] for row in table.rows)]


def limit_width(columns: int) -> None:
    """Limit the width of tables in this context, in columns; 0 is no limit."""
    _columns.set(columns)


def most_columns() -> int:
    """Return the maximum width of tables in this context, in columns; 0 for no limit."""
    return _columns.get()


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(display_width, cells)) for cells in zip(*rows, strict=True)]


def _shrink_widths(rows: Sequence[Sequence[str]], room: float) -> list[int] | None:
    """Return the column widths that fit into `room`, None if no column must shrink. The widest ones shrink first."""
    widths = _widths(rows)
    if sum(widths) <= room:
        return None
    while sum(widths) > room and max(widths) > _NARROWEST:
        widths[widths.index(max(widths))] -= 1
    return widths


def display_width(text: str) -> int:
    """Return how many columns a text takes on a terminal."""
    if _NARROW.fullmatch(text):
        return len(text)
    from wcwidth import wcswidth

    return max(wcswidth(text), 0)


def pad(text: str, columns: int) -> str:
    """Return a text padded on the right to a width of columns."""
    return text + " " * (columns - display_width(text))


def centre(text: str, columns: int) -> str:
    """Return a text centred in a width of columns."""
    room = columns - display_width(text)
    return " " * (room // 2) + text + " " * (room - room // 2)


_PAD = {"<": pad, ">": lambda text, columns: " " * (columns - display_width(text)) + text, "^": centre}


MOST_EVIDENCE = 10
MOST_PROBLEMS = 19
"""The most kinds of problems of a file that are shown. With the line that counts the others they are 20 lines."""
MOST_ROWS = 100
"""The most rows of a table of cases, unless everything is asked for."""

_REPORT = "see the JSON report"
_VERBOSE = f"{_REPORT}, or --verbose"  # score, eval and compare have it, run and merge have not

_STATE_MARKS = {"ok": "ok", "warning": "warning", "broken": "BROKEN", "skipped": "skipped"}


def scorecards(view: ReportView) -> Iterator[str]:
    """Yield the weakenings of the gate, then the scorecard of every evaluator.

    One with a broken rule shows its Review cases' evidence too.
    """
    report = view.report
    yield from weakened_text(report.weakened)
    for _, section, is_broken in view.parts:
        yield scorecard(section, reviews=is_broken, rows=MOST_EVIDENCE, way=_REPORT)
    if report.comparison is not None:
        shown = {
            (one.case_id.text, one.place)
            for _, section, is_broken in view.parts
            for one in section.findings
            if one.before and (is_broken or one.severity == Severity.FAILING)
        }
        others = view.comparison and view.comparison._replace(
            findings=[one for one in view.comparison.findings if (one.case_id.text, one.place) not in shown]
        )
        yield comparison_text(report.comparison, others, way=_REPORT)


def scorecard(
    section: Section, *, everything: bool = False, reviews: bool = False, rows: int = MOST_ROWS, way: str = _VERBOSE
) -> str:
    """Return an evaluator's scorecard: the box, the counts of failures, the cases, the issues, the evidence.

    It shows the evidence of failing cases, or with `reviews` of all cases to look at. The table of cases has at most
    `rows`; `everything` leaves out no case. `way` says how to see what is left out.
    """
    wanted = (one for one in section.findings if everything or reviews or one.severity == Severity.FAILING)
    found = rank(wanted, len(section.findings) if everything else MOST_EVIDENCE)
    return "\n".join(
        (
            *(quote_phrase(note) for note in section.notes),
            *_box(section),
            *_count_lines(found),
            *_detail_lines(section, way, rows, everything=everything),
            *_finding_lines(found, way),
            "",
        )
    )


def weakened_text(weakened: Weakened | None) -> Iterator[str]:
    """Yield the weakenings of the gate, if any."""
    if weakened and (headline := weakened_headline(weakened)):
        findings = weakened.findings
        table, more = weakened_table(findings[:WEAKENED_ROWS]), len(findings) - WEAKENED_ROWS
        yield "\n".join(
            (
                f"{WEAKENED}{quote_phrase(headline)}",
                draw_table(table, "simple_outline"),
                *([f"... and {more} more: see the JSON report"] if more > 0 else ()),
                "",
            )
        )


def comparison_text(
    comparison: Comparison, section: Section | None, *, everything: bool = False, way: str = _VERBOSE
) -> str:
    """Return the comparison with a baseline, its section as a scorecard; without a baseline sentences that say so."""
    if section is None:
        return "".join(f"{quote_phrase(note)}\n" for note in comparison_notes(comparison))
    return scorecard(section, everything=everything, way=way)


def rules_text(view: ReportView) -> str:
    """Return the known failures, the gate's rules with what was found, and the verdict as the last line."""
    lines = [
        outcomes_table(view.report.rules),
        *map(quote_phrase, view.remarks),
        *map(quote_phrase, weakened_remarks(view.report.weakened)),
    ]
    if view.waivers.rows:
        known = f"Known failures: {quote_phrase(view.known_failures) or 'none is waived'}"
        lines = [known, *_table_lines(view.waivers, MOST_ROWS, _REPORT), "", *lines]
    return "\n".join((*lines, verdict_line(view)))


def verdict_line(view: ReportView, *, names_rules: bool = False) -> str:
    """Return the verdict as a line, with the names of the broken rules if nothing else has them."""
    broken = dict.fromkeys(map(rule_name, view.broken)) if names_rules else ()
    named = f": {', '.join(broken)}" if broken else ""
    return f"Gate: {view.report.verdict.upper()} ({rules_summary(view.report)}{named})"


def outcomes_table(rules: Sequence[RuleOutcome]) -> str:
    """Return the table of the rules' outcomes."""
    rows = tuple((rule_name(rule), _STATE_MARKS[rule_state(rule)], quote_phrase(rule_message(rule))) for rule in rules)
    return draw_table(Table(("Rule", "Outcome", "Found"), "<<<", rows), "simple_outline")


def settings_table(rows: Sequence[tuple[Words, ...]]) -> str:
    """Return the table of settings with their values and sources."""
    shown = tuple((name, value, there or source) for name, value, source, there in rows)
    return draw_table(Table(("Setting", "Value", "From"), "<<<", shown), "simple_outline")


def table_text(table: Table) -> str:
    """Return a table of at most `MOST_ROWS` rows, and how many more there are."""
    return "\n".join(_table_lines(table, MOST_ROWS))


def _table_lines(table: Table, most: int, way: str = "") -> Iterator[str]:
    """Yield the lines of a table of at most `most` rows, and how many more there are; `way` says how to see them."""
    yield draw_table(table._replace(rows=table.rows[:most]), "simple_outline")
    if (more := len(table.rows) - most) > 0:
        yield f"... and {more} more{': ' * bool(way)}{way}"


def phrase_line(phrase: Phrase) -> str:
    """Return a phrase as a line, with its recorded text escaped."""
    return "".join(plain(words) for words in phrase)


def facts_text(title: str, facts: Sequence[tuple[str, Words]]) -> str:
    """Return a title and the facts below it, one per line with its name."""
    width = max(len(name) for name, _ in facts)
    return "\n".join((f"\n{title}:", *(f"  {name:<{width}}  {plain(words)}" for name, words in facts)))


def problem_lines(problems: Sequence[Problem], verb: str = "judge") -> str:
    """Return problems as lines `path:line: id: field: message`, each kind once, then their number.

    `verb` says what could not be done. Of a few lines in one file, the last line has the numbers.
    """
    places = {one.place for one in problems}
    named = [f"line {place.line}" for place in sorted(places) if place.line]
    is_one_file = len({place.path for place in places}) == 1
    where = f" at {' and '.join(named)}" if len(named) == len(places) <= 2 and is_one_file else ""
    last = f"could not {verb}: {plural(number(problems), 'problem')}; correct the input{where} and run again"
    return "\n".join((*_group_by_kind(problems), f"safe-gate: {last}"))


def refusal_lines(problems: Sequence[Problem]) -> str:
    """Return the problems of skipped records as lines, each kind once, then their number."""
    return "\n".join(
        (*_group_by_kind(problems), f"Skipped: {plural(number(problems), 'record')} that cannot become a case")
    )


def _group_by_kind(problems: Sequence[Problem]) -> list[str]:
    """Return the first problem of each kind by file, with the number of its kind and the places of the next ones."""
    files: dict[str, dict[Kind, list[Problem]]] = {}
    for one in in_order(problems):
        files.setdefault(one.place.path, {}).setdefault(kind_of(one), []).append(one)
    lines = []
    for path, kinds in files.items():
        alike = list(kinds.values())
        for ones in alike[:MOST_PROBLEMS]:
            named = (one.case_id or (f"line {one.place.line}" if one.place.line else "") for one in ones)
            also = join_names([*dict.fromkeys(named)][1:])
            times = f" ({number(ones)} times{': also ' * bool(also)}{also})" if number(ones) > 1 else ""
            lines.append(problem_line(ones[0]) + times)
        if hidden := sum(map(number, alike[MOST_PROBLEMS:])):
            lines.append(f"... and {hidden} more in {plain(Untrusted(path))}")
    return lines


def join_names(names: Sequence[str], most: int = 3) -> str:
    """Return the first recorded names that are not empty, joined in a line."""
    shown = ", ".join(plain(Untrusted(name)) for name in names[:most] if name)
    return shown + ", ..." * (len(names) > most)


def problem_line(problem: Problem) -> str:
    """Return one problem as a line."""
    parts = (
        _place_text(problem.place.path, problem.place.line),
        *(plain(Untrusted(part)) for part in (problem.case_id, problem.field) if part),
        plain(Untrusted(problem.message), 500),
    )
    return ": ".join(parts)


def path_text(path: str) -> str:
    """Return a path as a line may show it."""
    return plain(Untrusted(path), 500)


def _place_text(path: str, line: int) -> str:
    return plain(Untrusted(path)) + (f":{line}" if line else "")


def _box(section: Section) -> Iterator[str]:
    title = phrase_line(section.title)
    counts, footer = "    ".join(section.counts), "    ".join(section.footer)
    metrics = draw_box(section.metrics)
    lacking = max(display_width(line) for line in (title, counts, footer)) + 4 - display_width(metrics[0])
    if lacking > 0:  # the last column takes up what the longest line needs
        widths = section.metrics.min_widths or (0,) * len(section.metrics.header)
        last = max(display_width(str(row[-1])) for row in (section.metrics.header, *section.metrics.rows))
        metrics = draw_box(section.metrics, (*widths[:-1], max(widths[-1], last) + lacking))
    inner = display_width(metrics[0]) - 2
    if 0 < most_columns() < inner + 2:
        below = chain.from_iterable(wrap(one, most_columns()) for one in section.footer)
        yield from (title, *section.counts, draw_table(section.metrics, "simple_outline"), *below)
        return
    yield f"╔{'═' * inner}╗"
    yield f"║{centre(title, inner)}║"
    yield f"╠{'═' * inner}╣"
    yield f"║ {pad(counts, inner - 1)}║"
    yield f"╠{'═' * inner}╣"
    yield from metrics
    yield f"╠{'═' * inner}╣"
    yield f"║ {pad(footer, inner - 1)}║"
    yield f"╚{'═' * inner}╝"


def _detail_lines(section: Section, way: str, rows: int, *, everything: bool) -> Iterator[str]:
    """Yield the cases, the issues and the tables behind the scorecard."""
    if section.cases.rows:
        most = len(section.cases.rows) if everything else rows
        yield from ("", f"{section.cases_title}:", *_table_lines(section.cases, most, way))
    if section.issues:
        yield from ("", "Top Issues:", *(f"  {title}: {quote_phrase(phrase)}" for title, phrase in section.issues))
    for title, table in section.details if everything else ():
        yield from ("", f"{title}:", draw_table(table, "simple_outline"))


def _finding_lines(ranked: RankedFindings, way: str) -> Iterator[str]:
    """Yield the first cases to look at with their evidence."""
    if ranked.first:
        yield from ("", "Evidence:")
    for finding in ranked.first:
        where = _place_text(finding.place.path, finding.place.line)
        news = f" ({finding.news})" if finding.news else ""
        yield f"  {plain(finding.case_id)} ({where}) {finding.what}{news}"
        if finding.before:  # in columns, whose lines begin with a border: a broken cell is no workflow command
            rows = [
                tuple(map(quote_phrase, pair)) for pair in zip_longest(finding.before, finding.evidence, fillvalue=())
            ]
            yield draw_table(Table(("Baseline", "This run"), "<<", rows), "simple_outline", "    ")
        else:
            yield from (f"    {quote_phrase(phrase)}" for phrase in finding.evidence)
    if len(ranked.first) < ranked.number:
        yield f"  ... and {ranked.number - len(ranked.first)} more: {way}"


def _count_lines(ranked: RankedFindings) -> Iterator[str]:
    """Yield counts of the cases to look at by cause and by group, unless they are few."""
    for noun, counts in finding_counts(ranked):
        yield from ("", f"{ranked.number} cases to look at, by {noun}:")
        for phrase, cases in counts[:MOST_COUNTED]:
            yield f"  {cases:>{len(str(counts[0][1]))}}  {phrase_line(phrase)}"
        if len(counts) > MOST_COUNTED:
            yield f"  ... and {len(counts) - MOST_COUNTED} more"
