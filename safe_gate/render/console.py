"""The console scorecard. Its tables are drawn with `tabulate`, as wide as a terminal is if it is known. Pure.

No colours: a terminal gets them later, and may ask for narrower tables (`commands/_command.py`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from itertools import chain, zip_longest
from math import inf
from textwrap import wrap

from safe_gate.core.figures import plural
from safe_gate.model.problems import Code, Kind, Problem, in_order, kind_of, number
from safe_gate.model.report import Report, RuleOutcome, Weakened
from safe_gate.model.results import Section, Severity, Table, Untrusted, Words
from safe_gate.render.cases import RankedFindings, rank
from safe_gate.render.comparison import (
    WEAKENED,
    WEAKENED_ROWS,
    comparison_notes,
    weakened_headline,
    weakened_remarks,
    weakened_table,
)
from safe_gate.render.untrusted import LONGEST_PROBLEM, phrase_line, plain, problem_text, quote_phrase
from safe_gate.render.view import (
    ReportView,
    known_failures,
    remarks,
    rule_message,
    rule_state,
    rules_summary,
    waivers_table,
)

MOST_EVIDENCE = 10
MOST_PROBLEMS = 19
"""The most kinds of problems of a file that are shown. With the line that counts the others they are 20 lines."""
MOST_ROWS = 100
"""The most rows of a table of cases, unless everything is asked for."""

_REPORT = "see the JSON report"
_VERBOSE = "see --verbose"  # score, eval and compare have it, run and merge have not
_STATE_MARKS = {"ok": "ok", "warning": "warning", "broken": "BROKEN", "skipped": "skipped"}


def scorecards(view: ReportView) -> Iterator[str]:
    """Yield the weakenings of the gate, then the scorecard of every evaluator, then what else changed."""
    report, compared = view.report, view.comparison
    yield from weakened_text(report.weakened)
    for part in view.parts:
        yield scorecard(part.section, in_run=True)
    if compared:
        shown = {(one.case_id.text, one.place) for part in view.parts for one in part.section.findings if one.before}
        worse = (one for one in compared.findings if one.severity == Severity.FAILING)
        others = [one for one in worse if (one.case_id.text, one.place) not in shown]
        yield scorecard(compared._replace(findings=others), in_run=True)
    elif report.comparison:  # with no baseline yet
        yield "".join(f"{quote_phrase(note)}\n" for note in comparison_notes(report.comparison))


def scorecard(section: Section, *, everything: bool = False, in_run: bool = False) -> str:
    """Return the scorecard of an evaluator or a comparison: the box, the counts, the cases, the issues, the evidence.

    It shows the evidence of the first cases to look at; `everything` leaves out no case. With `in_run` the table of
    cases is shorter, because the JSON report has them all.
    """
    rows, way = (MOST_EVIDENCE, _REPORT) if in_run else (MOST_ROWS, _VERBOSE)
    found = rank(section.findings, len(section.findings) if everything else MOST_EVIDENCE)
    lines = [*map(quote_phrase, section.notes), *_box(section)]
    for noun, counts, others in found.counts:
        width = len(str(counts[0][1]))
        lines += ["", f"{found.number} cases to look at, by {noun}:"]
        lines += [f"  {cases:>{width}}  {phrase_line(phrase)}" for phrase, cases in counts]
        lines += [f"  ... and {others}"] if others else []
    if section.cases.rows:
        most = len(section.cases.rows) if everything else rows
        lines += ["", f"{section.cases_title}:", *_table_lines(section.cases, most, way)]
    if section.issues:
        lines += ["", "Top Issues:", *(f"  {title}: {quote_phrase(phrase)}" for title, phrase in section.issues)]
    for title, table in section.details if everything else ():
        lines += ["", f"{title}:", draw_table(table)]
    return "\n".join((*lines, *_finding_lines(found, way), ""))


def _finding_lines(ranked: RankedFindings, way: str) -> Iterator[str]:
    if ranked.first:
        yield from ("", "Evidence:")
    for finding in ranked.first:
        where = _place_text(finding.place.path, finding.place.line)
        news = f" ({finding.news})" if finding.news else ""
        yield f"  {plain(finding.case_id)} ({where}) {finding.what}{news}"
        if finding.before:  # in columns, whose lines begin with a border: a broken cell is no workflow command
            both = zip_longest(finding.before, finding.evidence, fillvalue=())
            rows = [tuple(map(quote_phrase, pair)) for pair in both]
            yield draw_table(Table(("Baseline", "This run"), "<<", rows), "    ")
        else:
            yield from (f"    {quote_phrase(phrase)}" for phrase in finding.evidence)
    yield from _left_out(ranked.number - len(ranked.first), way, indent="  ")


def weakened_text(weakened: Weakened | None) -> Iterator[str]:
    """Yield the weakenings of the gate, if any."""
    if weakened and (headline := weakened_headline(weakened)):
        rows = _table_lines(weakened_table(weakened.findings), WEAKENED_ROWS, _REPORT)
        yield "\n".join((f"{WEAKENED}{quote_phrase(headline)}", *rows, ""))


def rules_text(report: Report) -> str:
    """Return the known failures, the gate's rules with what was found, and the verdict as the last line."""
    lines = list[str]()
    if (waivers := waivers_table(report)).rows:
        known = quote_phrase(known_failures(report)) or "none is waived"
        lines += [f"Known failures: {known}", *_table_lines(waivers, MOST_ROWS, _REPORT), ""]
    lines += [outcomes_table(report.rules), *map(quote_phrase, (*remarks(report), *weakened_remarks(report.weakened)))]
    return "\n".join((*lines, verdict_line(report)))


def verdict_line(report: Report, *, names_rules: bool = False) -> str:
    """Return the verdict as a line, with the number of waivers, and with the broken rules if nothing else has them.

    A rule that several evaluators or groups break is named once, with how often.
    """
    broken = Counter(rule.rule for rule in report.broken()) if names_rules else Counter()
    names = ", ".join(f"{name} ({count})" if count > 1 else name for name, count in broken.items())
    named = f": {names}" if names else ""
    waived = len(report.waivers.applied) if report.waivers else 0
    beside = f"; {plural(waived, 'waiver')} in force" if waived else ""
    return f"Gate: {report.verdict.upper()} ({rules_summary(report)}{named}{beside})"


def outcomes_table(rules: Sequence[RuleOutcome]) -> str:
    """Return the table of the rules' outcomes."""
    rows = tuple((rule.rule, _STATE_MARKS[rule_state(rule)], quote_phrase(rule_message(rule))) for rule in rules)
    return draw_table(Table(("Rule", "Outcome", "Found"), "<<<", rows))


def facts_text(title: str, facts: Sequence[tuple[str, Words]]) -> str:
    """Return a title and the facts below it, one per line with its name."""
    width = max(len(name) for name, _ in facts)
    return "\n".join((f"\n{title}:", *(f"  {name:<{width}}  {plain(words)}" for name, words in facts)))


# --- problems -----------------------------------------------------------------------------------


def problem_lines(problems: Sequence[Problem], verb: str = "judge") -> str:
    """Return problems as lines `path:line: id: field: message`, each kind once, then their number.

    `verb` says what could not be done. Of a few lines in one file, the last line has the numbers.
    """
    places = {one.place for one in problems}
    named = [f"line {line}" for line in sorted(place.line for place in places) if line]
    is_one_file = len({place.path for place in places}) == 1
    where = f" at {' and '.join(named)}" if len(named) == len(places) <= 2 and is_one_file else ""
    what = "path" if all(one.code is Code.UNWRITABLE_FILE for one in problems) else "input"
    last = f"could not {verb}: {plural(number(problems), 'problem')}; correct the {what}{where} and run again"
    return "\n".join((*_by_kind(problems), f"safe-gate: {last}"))


def refusal_lines(problems: Sequence[Problem]) -> str:
    """Return the problems of skipped records as lines, each kind once, then their number."""
    last = f"Skipped: {plural(number(problems), 'record')} that cannot become a case"
    return "\n".join((*_by_kind(problems), last))


def _by_kind(problems: Sequence[Problem]) -> Iterator[str]:
    """Yield the first problem of each kind by file, with the number of its kind and the places of the next ones."""
    files: dict[str, dict[Kind, list[Problem]]] = {}
    for one in in_order(problems):
        files.setdefault(one.place.path, {}).setdefault(kind_of(one), []).append(one)
    for path, kinds in files.items():
        alike = list(kinds.values())
        for ones in alike[:MOST_PROBLEMS]:
            first = ones[0].place
            named = (one.case_id or (one.field if one.place == first else f"line {one.place.line}") for one in ones)
            also = join_names([*dict.fromkeys(named)][1:])
            times = f" ({number(ones)} times{': also ' * bool(also)}{also})" if number(ones) > 1 else ""
            yield problem_line(ones[0]) + times
        if hidden := sum(map(number, alike[MOST_PROBLEMS:])):
            yield f"... and {hidden} more in {plain(Untrusted(path))}"


def join_names(names: Sequence[str], most: int = 3) -> str:
    """Return the first recorded names that are not empty, joined in a line."""
    shown = ", ".join(plain(Untrusted(name)) for name in names[:most] if name)
    return shown + ", ..." * (len(names) > most)


def problem_line(problem: Problem) -> str:
    """Return one problem as a line: its place, its case, its field, and the message."""
    about = (plain(Untrusted(part)) for part in (problem.case_id, problem.field) if part)
    return ": ".join((_place_text(problem.place.path, problem.place.line), *about, problem_text(problem.message)))


def path_text(path: str) -> str:
    """Return a path as a line may show it."""
    return plain(Untrusted(path), LONGEST_PROBLEM)


def _place_text(path: str, line: int) -> str:
    return plain(Untrusted(path)) + (f":{line}" if line else "")


# --- tables -------------------------------------------------------------------------------------

_ALIGN = {"<": "left", ">": "right", "^": "center"}
_NARROW = re.compile("[ -~\u2500-\u257f]*")  # signs of one column: ASCII and lines
_LONGEST_WORD = 24  # columns of a word that is not broken, as the name of a check
_columns: ContextVar[int] = ContextVar("columns", default=0)


def limit_width(columns: int) -> None:
    """Limit the width of tables in this context, in columns; 0 is no limit."""
    _columns.set(columns)


def table_text(table: Table) -> str:
    """Return a table of at most `MOST_ROWS` rows, and how many more there are."""
    return "\n".join(_table_lines(table, MOST_ROWS))


def _table_lines(table: Table, most: int, way: str = "") -> Iterator[str]:
    """Yield the lines of a table of at most `most` rows, and how many more there are; `way` says how to see them."""
    yield draw_table(table._replace(rows=table.rows[:most]))
    yield from _left_out(len(table.rows) - most, way)


def _left_out(more: int, way: str = "", indent: str = "") -> Iterator[str]:
    if more > 0:
        yield f"{indent}... and {more} more{': ' * bool(way)}{way}"


def draw_table(table: Table, indent: str = "") -> str:
    """Return a table in lines, at most as wide as `limit_width` allows, indented.

    A cell that is longer is broken. Where names would have to be broken, too, each row is text.
    """
    import tabulate  # takes as long to import as a hundred cases to score

    tabulate.MIN_PADDING = 0  # a column as wide as its widest text, header or not, as the spec draws it
    alignments = [_ALIGN[sign] for sign in table.align]
    headers, *rows = _cells(table)
    room = _columns.get() - len(indent) - 3 * len(headers) - 1 if _columns.get() else inf  # less blanks and lines
    if sum(_widths([headers, *rows])) > room:
        headers = list(table.header)
    widest = _shrink_widths([headers, *rows], room)
    if widest and sum(widest) > room:
        return "\n".join(_as_text(headers, row) for row in rows)
    text = tabulate.tabulate(
        rows,
        headers=headers,
        tablefmt="simple_outline",
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


def _shrink_widths(rows: Sequence[Sequence[str]], room: float) -> list[int] | None:
    """Return the column widths that fit into `room`, None if no column must shrink.

    The widest ones shrink first. They do not fit if only words that are not broken are left.
    """
    widths = _widths(rows)
    if sum(widths) <= room:
        return None
    words = _widths([[max(cell.split(), key=display_width, default="") for cell in row] for row in rows])
    while sum(widths) > room:
        loose = [at for at, width in enumerate(widths) if width > min(words[at], _LONGEST_WORD)]
        if not loose:
            break
        widths[max(loose, key=widths.__getitem__)] -= 1
    return widths


def _box(section: Section) -> Iterator[str]:
    """Yield the title, the counts, the metrics and the footer of a section in a box, or without it if it is too wide.

    Every `eval` shows one, so it is drawn without `tabulate`.
    """
    title, counts, footer = phrase_line(section.title), "    ".join(section.counts), "    ".join(section.footer)
    cells = _cells(section.metrics)
    widths = _widths(cells)
    inner = max(sum(widths) + 3 * len(widths) - 1, *(display_width(line) + 2 for line in (title, counts, footer)))
    if 0 < _columns.get() < inner + 2:
        below = chain.from_iterable(wrap(one, _columns.get()) for one in section.footer)
        yield from (title, *section.counts, draw_table(section.metrics), *below)
        return
    widths[-1] += inner + 1 - sum(widths) - 3 * len(widths)
    header, *rows = (
        " │ ".join(_aligned(*cell) for cell in zip(row, widths, section.metrics.align, strict=True)) for row in cells
    )
    yield f"╔{'═' * inner}╗"
    yield f"║{_aligned(title, inner, '^')}║"
    yield f"╠{'═' * inner}╣"
    yield f"║ {_aligned(counts, inner - 1)}║"
    yield f"╠{'═' * inner}╣"
    yield f"║ {header} ║"
    yield f"╠{'┼'.join('─' * (width + 2) for width in widths)}╣"
    yield from (f"║ {row} ║" for row in rows)
    yield f"╠{'═' * inner}╣"
    yield f"║ {_aligned(footer, inner - 1)}║"
    yield f"╚{'═' * inner}╝"


def _cells(table: Table) -> list[list[str]]:
    """Return the cells of a table, its header first, which has at least the minimum width of its columns."""
    widths = table.min_widths or (0,) * len(table.header)
    header = [
        _aligned(name, width, "^" if sign == "^" else "<")
        for name, width, sign in zip(table.header, widths, table.align, strict=True)
    ]
    return [header, *([plain(cell, 60) for cell in row] for row in table.rows)]


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(display_width, cells)) for cells in zip(*rows, strict=True)]


def _aligned(text: str, columns: int, sign: str = "<") -> str:
    room = max(0, columns - display_width(text))
    before = {"<": 0, "^": room // 2, ">": room}[sign]
    return " " * before + text + " " * (room - before)


def display_width(text: str) -> int:
    """Return how many columns a text takes on a terminal."""
    if _NARROW.fullmatch(text):
        return len(text)
    from wcwidth import wcswidth

    return max(wcswidth(text), 0)
