"""The console scorecard (SAFE v0 spec section 5.2), drawn with `tabulate`. Pure.

No colours: a terminal gets them later, and may ask for narrower tables (`commands/_terminal.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from safe_gate.core.figures import plural, with_interval
from safe_gate.core.model import (
    JsonObject,
    Phrase,
    Problem,
    Section,
    Severity,
    Table,
    Untrusted,
    Words,
    in_order,
    number,
)
from safe_gate.core.stats import wilson
from safe_gate.evaluators import present
from safe_gate.render import weakening
from safe_gate.render.comparison import comparison_section, notes, shown_sections
from safe_gate.render.report import (
    MOST_COUNTED,
    Ranked,
    broken_rules,
    conclusion,
    counted,
    known_failures,
    message,
    ranked,
    remarks,
    state,
    waiver_table,
)
from safe_gate.render.untrusted import plain, quoted

if TYPE_CHECKING:
    from tabulate import TableFormat

    from safe_gate.evaluators.synthesis.gain import Gain
    from safe_gate.evaluators.synthesis.learning import Row
    from safe_gate.evaluators.synthesis.rules import Rule
    from safe_gate.evaluators.synthesis.score import Rules

MOST_EVIDENCE = 10
MOST_PROBLEMS = 18
"""So many kinds of problems of a file are shown. With the two lines that count them they are 20 lines."""
_MOST_LINES = 10
_MOST_OTHERS = 3
MOST_ROWS = 100
"""Tables of cases show this many rows unless everything is asked for."""

_DIGITS = re.compile("[0-9]+")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|[0-9]+')
_REPORT = "see the JSON report"
_NARROWEST = 8  # columns that a cell keeps on a terminal that is too narrow for a table
_VERBOSE = f"{_REPORT}, or --verbose"  # score, eval and compare have it, run and merge have not

_MARKS = {"ok": "ok", "broken": "BROKEN", "skipped": "skipped"}
_ALIGN = {"<": "left", ">": "right", "^": "center"}


def scorecards(report: JsonObject) -> Iterator[str]:
    """Yield in what the gate got weaker, then the scorecard of every evaluator.

    One with a broken rule shows its Review cases' evidence too.
    """
    yield from weakened(report)
    broken = broken_rules(report)
    for name, section in zip(present(report), shown_sections(report), strict=True):
        yield scorecard(section, reviews=name in broken, rows=MOST_EVIDENCE, way=_REPORT)
    if "comparison" in report:
        yield compared(report, way=_REPORT)


def scorecard(
    section: Section, *, everything: bool = False, reviews: bool = False, rows: int = MOST_ROWS, way: str = _VERBOSE
) -> str:
    """Return an evaluator's scorecard: the box, the counts of what is wrong, the cases, the issues, the evidence.

    The evidence is that of failing cases, with `reviews` of all cases to look at. The table of cases has at most
    `rows`; `everything` leaves out no case. `way` says how to see what is left out.
    """
    wanted = (one for one in section.findings if everything or reviews or one.severity == Severity.FAILING)
    found = ranked(wanted, len(section.findings) if everything else MOST_EVIDENCE)
    return "\n".join(
        (
            *(quoted(note) for note in section.notes),
            *_box(section),
            *_counted(found),
            *_cases(section, way, len(section.cases.rows) if everything else rows),
            *_issues(section),
            *(_details(section) if everything else ()),
            *_evidence(found, way),
            "",
        )
    )


def weakened(report: JsonObject) -> Iterator[str]:
    """Yield in what the gate itself got weaker, nothing where it did not."""
    if headline := weakening.headline(report):
        findings = report["weakened"]["findings"]
        table, more = weakening.table(findings[: weakening.ROWS]), len(findings) - weakening.ROWS
        yield "\n".join(
            (
                f"This change weakens the gate{quoted(headline)}",
                _table(table, "simple_outline"),
                *([f"... and {more} more: see the JSON report"] if more > 0 else ()),
                "",
            )
        )


def compared(report: JsonObject, *, everything: bool = False, way: str = _VERBOSE) -> str:
    """Return the comparison with a baseline as a scorecard; without one a sentence that says so."""
    if report["comparison"]["status"] == "none":
        return "".join(f"{quoted(note)}\n" for note in notes(report["comparison"]))
    return scorecard(comparison_section(report), everything=everything, way=way)


def rules(report: JsonObject) -> str:
    """Return the known failures, the gate's rules with what was found, and the verdict as the last line."""
    absent = "".join(f"\n{quoted(sentence)}" for sentence in (*remarks(report), *weakening.sentences(report)))
    return f"{_known(report)}{outcomes(report['rules'])}{absent}\n{verdict(report)}"


def verdict(report: JsonObject) -> str:
    """Return the verdict as a line."""
    return f"Gate: {report['verdict'].upper()} ({conclusion(report)})"


def outcomes(rules: Sequence[JsonObject]) -> str:
    """Return what was found for each rule as a table."""
    rows = tuple((rule["rule"], _MARKS[state(rule)], quoted(message(rule))) for rule in rules)
    return _table(Table(("Rule", "Outcome", "Found"), "<<<", rows), "simple_outline")


def _known(report: JsonObject) -> str:
    known = waiver_table(report)
    if not known.rows:
        return ""
    more = f"... and {len(known.rows) - MOST_ROWS} more: see the JSON report\n" if len(known.rows) > MOST_ROWS else ""
    shown = replace(known, rows=known.rows[:MOST_ROWS])
    count = quoted(known_failures(report)) or "none is waived"
    return f"Known failures: {count}\n{_table(shown, 'simple_outline')}\n{more}\n"


def rule_list(rules: Rules) -> str:
    """Return the rules that count: id, group and where each is from."""
    rows = tuple((Untrusted(rule.id), rule.group, _ORIGINS.get(rule.origin) or _learned(rule)) for rule in rules.all)
    learned = sum(rule.total > 0 for rule in rules.all)
    table = Table(("Rule", "Group", "Origin"), "<<<", rows)
    return f"{_table(table, 'simple_outline')}\n{plural(len(rows), 'rule')}, {learned} of them learned"


_ORIGINS = {"spec": "spec", "hand": "hand-written", "": "own"}


def _learned(rule: Rule) -> str:
    return f"learned: {rule.inside} of {rule.total}"


def lesson(rows: Sequence[Row], found: Sequence[Gain]) -> str:
    """Return the rows that were learned, with their counts, and what they gain each check."""
    shown = tuple(
        (Untrusted(row.phrase + " ?" * row.question), row.group, f"{row.inside} of {row.total}") for row in rows
    )
    table = _table(Table(("Phrase", "Group", "Clauses"), "<<>", shown), "simple_outline") + "\n" if rows else ""
    count = f"{plural(len(rows), 'row')} learned"
    return f"{table}{count}\n{gains(found)}" if found else f"{table}{count}"


def gains(found: Sequence[Gain]) -> str:
    """Return what learning gains each check, on labels left out, and in words whether that is worth anything."""
    rows = tuple(
        (
            gain.check,
            str(gain.labels),
            with_interval(gain.before / gain.labels, *wilson(gain.before, gain.labels)),
            with_interval(gain.after / gain.labels, *wilson(gain.after, gain.labels)),
            f"{100 * (gain.after - gain.before) / gain.labels:+.1f}",
            str(gain.mended),
            str(gain.spoiled),
            _worth(gain),
        )
        for gain in found
    )
    header = ("Check", "Labels", "Before", "After", "Gain", "Fixed", "Broken", "Worth")
    notes = (
        "Before: labels that agree with today's rules. After: with the rows that the other cases teach, which never",
        "saw the labels they are measured on. In brackets: 95 % Wilson intervals.",
    )
    return "\n".join((_table(Table(header, "<>>>>>><", rows), "simple_outline"), *notes))


def _worth(gain: Gain) -> str:
    if gain.after <= gain.before:
        return "no gain: do not use these rows"
    return "gain" if gain.is_beyond_chance else "may be chance: label more cases"


def settings_table(rows: Sequence[tuple[Words, ...]]) -> str:
    """Return settings with their values and where these came from."""
    return _table(Table(("Setting", "Value", "From", "Name there"), "<<<<", tuple(rows)), "simple_outline")


def table(found: Table) -> str:
    """Return a table of at most `MOST_ROWS` rows, and how many more there are."""
    rows = found.rows[:MOST_ROWS]
    more = f"\n... and {len(found.rows) - len(rows)} more" if len(rows) < len(found.rows) else ""
    return _table(replace(found, rows=rows), "simple_outline") + more


def sentence(phrase: Phrase) -> str:
    """Return a phrase as a line."""
    return "".join(plain(words) for words in phrase)


def facts(title: str, found: Sequence[tuple[str, Words]]) -> str:
    """Return a title and under it named facts, one a line."""
    width = max(len(name) for name, _ in found)
    return "\n".join((f"\n{title}:", *(f"  {name:<{width}}  {plain(words)}" for name, words in found)))


def problems(found: Sequence[Problem]) -> str:
    """Return problems as lines `path:line: id: field: message`, each kind once, then what they add up to."""
    lines = _kinds(found)
    lines.append(f"safe-gate: could not judge: {plural(number(found), 'problem')}; correct the input and run again")
    return "\n".join(lines)


def refusals(found: Sequence[Problem]) -> str:
    """Return the problems of records that are skipped as lines, each kind once, then how many there are."""
    return "\n".join((*_kinds(found), f"Skipped: {plural(number(found), 'record')} that cannot become a case"))


def _kinds(found: Sequence[Problem]) -> list[str]:
    """Return the first problem of each kind and how many there are, by files, then the lines of all."""
    files: dict[str, list[Problem]] = {}
    for one in in_order(found):
        files.setdefault(one.place.path, []).append(one)
    lines = []
    for path, some in files.items():
        kinds: dict[tuple[str, str], list[Problem]] = {}
        for one in some:
            kinds.setdefault(_kind(one), []).append(one)
        alike = list(kinds.values())[:MOST_PROBLEMS]
        lines += [problem(ones[0]) + _times(ones) for ones in alike]
        if hidden := number(some) - sum(map(len, alike)):
            lines.append(f"... and {hidden} more in {plain(Untrusted(path))}")
    for path, some in files.items():
        numbers = sorted({one.place.line for one in some})
        places = ", ".join(f"line {number}" for number in numbers[:_MOST_LINES] if number)
        if places:
            more = ", ..." if len(numbers) > _MOST_LINES else ""
            lines.append(f"{plain(Untrusted(path))}: {plural(number(some), 'problem')}, {places}{more}")
    return lines


def _times(ones: Sequence[Problem]) -> str:
    """Return how many problems of one kind there are and the first other cases that have it, "" for one problem."""
    others = [plain(Untrusted(name)) for name in dict.fromkeys(one.case_id for one in ones[1:]) if name]
    more = ", ..." if len(others) > _MOST_OTHERS else ""
    also = f": also {', '.join(others[:_MOST_OTHERS])}{more}" if others else ""
    return f" ({len(ones)} times{also})" if len(ones) > 1 else ""


def _kind(one: Problem) -> tuple[str, str]:
    """Return what problems of one kind have in common: the field and the words, without numbers and quotes."""
    return _DIGITS.sub("", one.field), _QUOTED.sub("", one.message)


def problem(one: Problem) -> str:
    """Return one problem as a line."""
    parts = (
        _place(one.place.path, one.place.line),
        *(plain(Untrusted(part)) for part in (one.case_id, one.field) if part),
        plain(Untrusted(one.message), 500),
    )
    return ": ".join(parts)


def path_words(path: str) -> str:
    """Return a path as a line may show it."""
    return plain(Untrusted(path), 500)


def _place(path: str, line: int) -> str:
    return plain(Untrusted(path)) + (f":{line}" if line else "")


def _box(section: Section) -> Iterator[str]:
    title = sentence(section.title)
    counts = "    ".join(section.counts)
    metrics = _table(section.metrics, _box_format()).split("\n")
    lacking = max(_width(line) for line in (title, counts, section.footer)) + 4 - _width(metrics[0])
    if lacking > 0:  # the last column takes up what the longest line needs
        widths = section.metrics.min_widths or (0,) * len(section.metrics.header)
        last = max(_width(str(row[-1])) for row in (section.metrics.header, *section.metrics.rows))
        metrics = _table(section.metrics, _box_format(), (*widths[:-1], max(widths[-1], last) + lacking)).split("\n")
    inner = _width(metrics[0]) - 2
    if 0 < _columns.get() < inner + 2:
        metrics = _table(section.metrics, "simple_outline").split("\n")
        yield from (title, *section.counts, *metrics, *section.footer.split("    "))
        return
    yield f"╔{'═' * inner}╗"
    yield f"║{_centre(title, inner)}║"
    yield f"╠{'═' * inner}╣"
    yield f"║ {_fill(counts, inner - 1)}║"
    yield f"╠{'═' * inner}╣"
    yield from metrics
    yield f"╠{'═' * inner}╣"
    yield f"║ {_fill(section.footer, inner - 1)}║"
    yield f"╚{'═' * inner}╝"


def _cases(section: Section, way: str, most: int) -> Iterator[str]:
    rows = section.cases.rows
    if not rows:
        return
    shown = rows[:most]
    yield ""
    yield f"{section.cases_title}:"
    yield _table(replace(section.cases, rows=shown), "simple_outline")
    if len(shown) < len(rows):
        yield f"... and {len(rows) - len(shown)} more: {way}"


def _issues(section: Section) -> Iterator[str]:
    if section.issues:
        yield ""
        yield "Top Issues:"
        for title, phrase in section.issues:
            yield f"  {title}: {quoted(phrase)}"


def _details(section: Section) -> Iterator[str]:
    for title, table in section.details:
        yield ""
        yield f"{title}:"
        yield _table(table, "simple_outline")


def _evidence(found: Ranked, way: str) -> Iterator[str]:
    """Yield the first cases to look at with their evidence."""
    if found.first:
        yield ""
        yield "Evidence:"
    for finding in found.first:
        where = _place(finding.place.path, finding.place.line)
        news = f" ({finding.news})" if finding.news else ""
        yield f"  {plain(finding.case_id)} ({where}) {finding.what}{news}"
        yield from (f"    {quoted(phrase)}" for phrase in finding.evidence)
    if len(found.first) < found.number:
        yield f"  ... and {found.number - len(found.first)} more: {way}"


def _counted(found: Ranked) -> Iterator[str]:
    """Yield how many of the cases to look at have each cause and are in each group, unless they are few."""
    for noun, counts in counted(found):
        yield ""
        yield f"{found.number} cases to look at, by {noun}:"
        for phrase, cases in counts[:MOST_COUNTED]:
            yield f"  {cases:>{len(str(counts[0][1]))}}  {sentence(phrase)}"
        if len(counts) > MOST_COUNTED:
            yield f"  ... and {len(counts) - MOST_COUNTED} more"


def _table(table: Table, form: str | TableFormat, min_widths: tuple[int, ...] = ()) -> str:
    widths = min_widths or table.min_widths or (0,) * len(table.header)
    import tabulate  # takes as long to import as a hundred cases to score

    tabulate.MIN_PADDING = 0  # a column as wide as its widest text, header or not, as the spec draws it
    alignments = [_ALIGN[sign] for sign in table.align]
    rows = [[plain(cell, 60) for cell in row] for row in table.rows]
    headers = [
        _centre(name, width) if sign == "^" else _fill(name, width)
        for name, width, sign in zip(table.header, widths, table.align, strict=True)
    ]
    is_framed = not isinstance(form, str)  # as wide as it is: what does not fit gets no frame
    if not (is_framed or _fits([headers, *rows])):
        headers = list(table.header)
    widest = None if is_framed else _fitting([headers, *rows])
    return tabulate.tabulate(
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


_columns: ContextVar[int] = ContextVar("columns", default=0)


def fit(columns: int) -> None:
    """Let tables be at most so many columns wide in this context; 0 for any width."""
    _columns.set(columns)


def _fits(rows: Sequence[Sequence[str]]) -> bool:
    return _columns.get() == 0 or sum(_widths(rows)) <= _room(rows)


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(_width, cells)) for cells in zip(*rows, strict=True)]


def _room(rows: Sequence[Sequence[str]]) -> int:
    """Return the columns that the texts of a table's row may take, without blanks and lines between them."""
    return _columns.get() - 3 * len(rows[0]) - 1


def _fitting(rows: Sequence[Sequence[str]]) -> list[int] | None:
    """Return how wide each column of a table may be, None if it fits: the widest ones give way, down to a few."""
    if _fits(rows):
        return None
    widths, room = _widths(rows), _room(rows)
    while sum(widths) > room and max(widths) > _NARROWEST:
        widths[widths.index(max(widths))] -= 1
    return widths


@cache
def _box_format() -> TableFormat:
    from tabulate import DataRow, Line, TableFormat

    return TableFormat(
        lineabove=None,
        linebelowheader=Line("╠", "─", "┼", "╣"),
        linebetweenrows=None,
        linebelow=None,
        headerrow=DataRow("║", "│", "║"),
        datarow=DataRow("║", "│", "║"),
        padding=1,
        with_header_hide=None,
    )


def _width(text: str) -> int:
    from wcwidth import wcswidth

    return max(wcswidth(text), 0)


def _fill(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _centre(text: str, width: int) -> str:
    room = width - _width(text)
    return " " * (room // 2) + text + " " * (room - room // 2)
