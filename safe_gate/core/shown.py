"""What readers see, in any format: marks in texts, findings, tables and sections. Pure data."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from safe_gate.core.model import JsonObject, Phrase, Place, Severity, Untrusted, Words


class Side(StrEnum):
    """Which way what was found in a text counts."""

    FOR = "for"
    AGAINST = "against"
    NEITHER = "neither"
    CANCELLED = "cancelled"


class Mark(NamedTuple):
    """What was found in a recorded text: `text` is `[start:end]` of the field, in code points.

    `by` is the metric or check that looked for it, `says` what it does there in our own words, `rule` what matched,
    "" for no rule. `why` tells more: of what is cancelled, by what.
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
    """A share that a report tells: `part` of `whole` cases or labels. `about` is a title that several may have.

    `rule` is the rule of the gate that limits it, of a `group` if it is one of a group; "" for none.
    """

    about: str
    name: Words
    part: int
    whole: int
    rule: str = ""
    group: str = ""


class Explained(NamedTuple):
    """What a metric or check is called, what it asks of a case in a sentence, and what to do about a failure."""

    title: str
    asks: str
    advice: str


class BatchEvent(NamedTuple):
    """The event of a batch of cases: its type, the name of the batch, its data, and the share of cases that pass."""

    type: str
    batch: str
    data: JsonObject
    pass_rate: float


class Cause(NamedTuple):
    """What is wrong with a case, in our words, and the id of the rule that found it, "" if none did."""

    what: str
    rule: str = ""


class Finding(NamedTuple):
    """A case a reviewer should look at: what is wrong with it and the evidence for that.

    `news` says what is new about it since the baseline, where there is one; `breaks` whether a broken rule counts it.
    `causes` and `groups` are what cases to look at are counted by: what is wrong, and the archetype or the tags.
    """

    case_id: Untrusted
    severity: Severity
    what: str
    evidence: tuple[Phrase, ...]
    place: Place
    news: str = ""
    breaks: bool = False
    causes: tuple[Cause, ...] = ()
    groups: tuple[str, ...] = ()


class Table(NamedTuple):
    """Rows under a header; `align` has one of `<`, `>`, `^` a column."""

    header: tuple[str, ...]
    align: str
    rows: Sequence[tuple[Words, ...]]
    min_widths: tuple[int, ...] = ()


class Section(NamedTuple):
    """What an evaluator's part of the report looks like to a reader, in no particular format.

    `notes` are sentences a reader must see before any table.
    `details` are tables by title for those who want to know more; they may be folded or left out.
    """

    title: Phrase
    headline: str
    counts: tuple[str, ...]
    metrics: Table
    footer: str
    cases_title: str
    cases: Table
    issues: tuple[tuple[str, Phrase], ...]
    findings: Sequence[Finding]
    notes: tuple[Phrase, ...] = ()
    details: tuple[tuple[str, Table], ...] = ()
