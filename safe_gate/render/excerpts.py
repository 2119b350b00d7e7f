"""For a case to look at the line of its reply that decides, from the recorded texts. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from safe_gate.core.evaluator import Evaluator
from safe_gate.core.text.patterns import later
from safe_gate.evaluators import parts_of
from safe_gate.evaluators.registry import results_of
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import Place
from safe_gate.model.report import Parts
from safe_gate.model.results import CaseResult, Recorded
from safe_gate.model.shown import Finding, Side
from safe_gate.model.untrusted import Untrusted

LONGEST = 200
"""Characters that a line has at most."""

Line = Sequence[tuple[Untrusted, bool]]
"""A line in pieces, each with whether it holds words that decide."""

Lines = Mapping[tuple[str, Place], Line]
"""A line by the id and the place of its case."""

_BLANKS = later(r"\s+")
_WORD = 20  # a longer word is cut, so that a text without blanks keeps its characters


def lines(parts: Parts, recorded: Recorded, findings: Sequence[Finding]) -> Lines:
    """Return a line of each case to look at whose reply has a text. Memory holds one text at a time."""
    wanted = {(one.case_id.text, one.place) for one in findings}
    return dict(_found(parts, recorded, wanted)) if recorded.now and wanted else {}


def _found(
    parts: Parts, recorded: Recorded, wanted: set[tuple[str, Place]]
) -> Iterator[tuple[tuple[str, Place], Line]]:
    for evaluator, part in parts_of(parts):
        for result, texts in zip(results_of(part), recorded.now.get(evaluator.name, ()), strict=False):
            case = result.id, result.place
            if case in wanted:
                wanted.remove(case)
                if texts and (line := _line(evaluator, part, result, texts)):
                    yield case, line
            if not wanted:
                return


def _line(evaluator: Evaluator, part: Any, result: CaseResult, texts: JsonObject) -> Line:
    """Return the line around the first words of what fails, or the start of the reply if no words are against it."""
    failing = {one.by for one in evaluator.present.judgements(part, result) if one.severity}
    marks = [one for one in evaluator.present.marks(result, texts) if one.side is Side.AGAINST and one.by in failing]
    if marks:
        field = marks[0].field
        return around(texts[field], [(one.start, one.end) for one in marks if one.field == field])
    shown = evaluator.present
    reply = shown.reply if shown.reply in texts else [*shown.fields_of(result, texts)][-1]
    return around(texts[reply], [])


def around(text: str, spans: Sequence[tuple[int, int]]) -> Line:
    r"""Return a line of a text around the first of some spans, at most `LONGEST` characters in whole words.

    >>> [(piece.text, decides) for piece, decides in around("a  line\nof words", [(8, 10)])]
    [('a line ', False), ('of', True), (' words', False)]
    >>> sum(len(piece.text) for piece, _ in around("word " * 100, [(250, 254)]))
    196
    """
    start, end = spans[0] if spans else (0, 0)
    room = max(LONGEST - 2 - (end - start), 0)  # an ellipsis on either side
    before = min(start, max(room // 2, room - (len(text) - end)))
    first, last = start - before, min(len(text), start - before + LONGEST - 2)
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
