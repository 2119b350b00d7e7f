"""What is found in a case, and how readers see it: hits, judgements, findings, tables and sections. Pure.

Recorded text is `Untrusted`: only a renderer may show it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn, Protocol

from safe_gate.model import record
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import Place


@record
class Untrusted:
    """Text that somebody recorded: case ids, quotes, file names, tags.

    It refuses to become part of another string. It must be escaped by a renderer for its format
    (see `render/untrusted.py`).
    """

    text: str

    def __str__(self) -> NoReturn:
        raise TypeError("escape untrusted text with a function of render/untrusted.py; str() is refused")

    def __format__(self, spec: str) -> NoReturn:
        raise TypeError("escape untrusted text with a function of render/untrusted.py; an f-string is refused")


Words = str | Untrusted
"""Our own words (`str`, shown as they are) or recorded ones (`Untrusted`, always escaped)."""


Phrase = tuple[Words, ...]
"""Words in a row, shown without anything between them."""


@record
class Interval:
    """The 95 % interval of a share, or of a difference of shares."""

    low: float
    high: float


@record
class Hit:
    """A rule that matched: `original[start:end] == text`, in code points of the field's text.

    `learned` counts, for a learned phrase, the clauses with it that are of its group, and all clauses with it. `by`
    says what cancelled a hit that does not count. `words` says where in the text it does so.
    """

    rule: str
    text: str
    field: str
    start: int
    end: int
    learned: tuple[int, int] | tuple[()] = ()
    by: str = ""
    words: str = ""

    def as_quote(self) -> dict[str, Any]:
        """Return what matched, where and by which rule, as events and lines of cases have it."""
        return {"rule": self.rule, "text": self.text, "field": self.field, "start": self.start, "end": self.end}


class Test(StrEnum):
    """The test that compares a metric between two runs (`stats.py`): yes or no, or a score from 0 to 1."""

    SIGN = "sign"
    SIGN_FLIP = "sign-flip"


class Metric(NamedTuple):
    """A metric that compares two runs: its name at the start of a sentence, and its test."""

    title: str
    test: Test


class Outcome(NamedTuple):
    """A case's result, in the terms in which two runs are compared.

    `rank` is the rank of its label, 0 for the worst, and `words` is the label. `scores` are from 0 to 1 by metric.
    `violations`: forbidden terms found. `groups` are the tags or the archetype by which a case can be protected.
    `cluster` names the cases that change together, "" for none. `case` and `output` are digests. `is_meant_to_fail` is
    true for a negative example. `judges` are those of recorded verdicts, by the names of their checks. A case that
    `has_no_reply` does not pass.
    """

    id: str
    passed: bool
    rank: int
    words: str
    scores: Mapping[str, float]
    violations: frozenset[str]
    groups: frozenset[str]
    cluster: str
    case: str
    output: str
    is_meant_to_fail: bool = False
    judges: Mapping[str, str] = MappingProxyType({})
    has_no_reply: bool = False

    def newly_fails(self, before: Outcome) -> bool:
        """Return whether the case fails and did not `before`: it passed, or had no reply and now has one."""
        return not self.passed and (before.passed or before.has_no_reply > self.has_no_reply)


class Recorded(NamedTuple):
    """The recorded texts of a run, which its report does not hold, for what shows them.

    The texts of a case are by field; of a field that is a list an entry is a line. `now` has those of an evaluator's
    `results[]` in their order, nothing if they are not to be shown. `before` returns by evaluator and id those of the
    baseline, if they are available and differ, else None.
    """

    now: Mapping[str, Sequence[JsonObject]] = {}
    before: Callable[[str, str], JsonObject | None] = lambda _evaluator, _case_id: None


NOTHING_RECORDED = Recorded()
"""What is known of the texts of a run that shows none."""


class CaseResult(Protocol):
    """What the results of all evaluators have."""

    @property
    def id(self) -> str:
        """The id of the case."""

    @property
    def place(self) -> Place:
        """The place of the case."""

    @property
    def groups(self) -> Sequence[str]:
        """The archetype or the tags of the case."""

    @property
    def batch(self) -> str:
        """The name of the batch that the case came in, "" for none."""

    @property
    def digests(self) -> Mapping[str, str]:
        """The digests of the `case`, which its output does not change, and of the `output`."""

    @property
    def asks(self) -> Mapping[str, Any]:
        """What says that the case is meant to fail, as `Evaluator.is_excused` reads it."""


class Failure(NamedTuple):
    """A case that fails, and by which metrics or checks."""

    case_id: str
    by: frozenset[str]
    result: CaseResult


class Severity(StrEnum):
    """How much a finding matters to the verdict."""

    FAILING = "failing"
    REVIEW = "review"


class Judgement(NamedTuple):
    """The judgement of one metric or check, `by`, on a case.

    `label` is Pass, Review or Fail for a metric; passes, fails or not applicable for a check. `severity` is None for a
    full pass. `score` is from 0 to 1, or None. `evidence` says what keeps it from a full pass, and `hits` are the hits
    of the rules behind it.
    """

    by: str
    label: str
    severity: Severity | None = None
    score: float | None = None
    evidence: tuple[Phrase, ...] = ()
    hits: tuple[Hit, ...] = ()

    @property
    def outcome(self) -> str:
        """The label for programs: pass, review, fail or not_applicable, for metrics and checks alike."""
        return {"passes": "pass", "fails": "fail", "not applicable": "not_applicable"}.get(
            self.label, self.label.lower()
        )


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


class Explanation(NamedTuple):
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
    whether a broken rule counts it. `doubts` are the evidence that no metric or check can tell, such as a missing
    reply, and `doubts_break` tells whether a broken rule counts these. Cases to look at are counted by `causes` (what
    is wrong) and by `groups` (the archetype or the tags). Rules on failures do not count it if it `ends_well`.
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
    doubts: tuple[Phrase, ...] = ()
    doubts_break: bool = False
    ends_well: bool = False


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
    findings: Sequence[Finding]
    cases_title: str = ""
    cases: Table = Table((), "", ())
    issues: tuple[tuple[str, Phrase], ...] = ()
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
    from html import escape  # takes long to import

    return "".join(escape(one) if one.isprintable() else ascii(one)[1:-1] for one in text)
