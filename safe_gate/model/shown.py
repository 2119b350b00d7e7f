"""The content shown to readers, in any format: marks in texts, findings, tables and sections. Pure data."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import Place
from safe_gate.model.results import Severity
from safe_gate.model.untrusted import Phrase, Untrusted, Words


class Side(StrEnum):
    """The side on which a mark in a text counts."""

    FOR = "for"
    AGAINST = "against"
    NEITHER = "neither"
    CANCELLED = "cancelled"


class Mark(NamedTuple):
    """A mark in a recorded text: `text` is `[start:end]` of the field, in code points.

    `by` is the metric or check that looked for it. `says` describes its effect in our own words. `rule` is the rule
    that matched, "" for none. `why` tells more, such as what cancelled it.
    """

    field: str
    start: int
    end: int
    text: str
    side: Side
    by: str
    says: str
    rule: str = ""
    why: Phrase = ()


class Rate(NamedTuple):
    """A share in a report: `part` of `whole` cases or labels. Several shares may have the title `about`.

    `rule` is the rule of the gate that limits it, "" for none. `group` is the group of that rule, "" for none.
    """

    about: str
    name: Words
    part: int
    whole: int
    rule: str = ""
    group: str = ""


class Explained(NamedTuple):
    """A metric or check for readers: its title, its demand in a sentence, and what to do about a failure."""

    title: str
    asks: str
    advice: str


class BatchEvent(NamedTuple):
    """The event of a batch of cases: its type, the batch's name, its data, and its pass rate."""

    type: str
    batch: str
    data: JsonObject
    pass_rate: float


class Cause(NamedTuple):
    """A fault of a case, in our words, and the id of the rule that found it, "" for none."""

    what: str
    rule: str = ""


class Finding(NamedTuple):
    """A case a reviewer should look at: what is wrong with it and the evidence for that.

    `news` says what is new since the baseline, and `before` is the evidence there, if there is one. `breaks` tells
    whether a broken rule counts it. Cases to look at are counted by `causes` (what is wrong) and by `groups` (the
    archetype or the tags).
    """

    case_id: Untrusted
    severity: Severity
    what: str
    evidence: tuple[Phrase, ...]
    place: Place
    news: str = ""
    before: tuple[Phrase, ...] = ()
    breaks: bool = False
    causes: tuple[Cause, ...] = ()
    groups: tuple[str, ...] = ()


HELD = 200
"""So many rows of a table are shown at most."""


class Table(NamedTuple):
    """Rows under a header; `align` has one of `<`, `>`, `^` a column."""

    header: tuple[str, ...]
    align: str
    rows: Sequence[tuple[Words, ...]]
    min_widths: tuple[int, ...] = ()


class Section(NamedTuple):
    """An evaluator's part of the report for a reader, in no particular format.

    `notes` are sentences a reader must see before any table.
    `details` are tables by title for those who want to know more; they may be folded or left out.
    """

    title: Phrase
    headline: str
    counts: tuple[str, ...]
    metrics: Table
    footer: tuple[str, ...]
    cases_title: str
    cases: Table
    issues: tuple[tuple[str, Phrase], ...]
    findings: Sequence[Finding]
    notes: tuple[Phrase, ...] = ()
    details: tuple[tuple[str, Table], ...] = ()


def in_notebook(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    r"""Return a table as HTML for a notebook, which neither runs nor typesets what is recorded in it.

    >>> in_notebook("a<b", ["found"], [["\u202e"]]).partition("<caption>")[2]
    'a&lt;b</caption><tr><th>found</th></tr><tr><td>\\u202e</td></tr></table>'
    """

    def row(tag: str, cells: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{_inert(cell)}</{tag}>" for cell in cells) + "</tr>"

    inside = "".join((row("th", header), *(row("td", cells) for cells in rows)))
    return f'<table class="tex2jax_ignore mathjax_ignore"><caption>{_inert(title)}</caption>{inside}</table>'


def _inert(text: str) -> str:
    """Return a text for HTML, with characters that do not show as escapes."""
    return html.escape("".join(one if one.isprintable() else ascii(one)[1:-1] for one in text))
