"""For a case to look at the line of its reply that decides, from the recorded texts. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from safe_gate.core.evaluator import Evaluator
from safe_gate.core.model import JsonObject, Parts, Place, Recorded, Untrusted
from safe_gate.core.shown import Finding, Side
from safe_gate.evaluators import parts_of
from safe_gate.evaluators.results import results_of

LONGEST = 200
"""Characters that a line has at most."""

Lines = Mapping[tuple[str, Place], Untrusted]
"""A line by the id and the place of its case."""


def lines(parts: Parts, recorded: Recorded, findings: Sequence[Finding]) -> Lines:
    """Return a line of each case to look at whose reply has a text. Memory holds one text at a time."""
    wanted = {(one.case_id.text, one.place) for one in findings}
    return dict(_found(parts, recorded, wanted)) if recorded.now and wanted else {}


def _found(
    parts: Parts, recorded: Recorded, wanted: set[tuple[str, Place]]
) -> Iterator[tuple[tuple[str, Place], Untrusted]]:
    for evaluator, part in parts_of(parts):
        for result, texts in zip(results_of(evaluator, part), recorded.now.get(evaluator.name, ()), strict=False):
            case = result.id, result.place
            if case in wanted:
                wanted.remove(case)
                if texts and (line := _line(evaluator, result.entry, texts)):
                    yield case, Untrusted(line)
            if not wanted:
                return


def _line(evaluator: Evaluator, result: JsonObject, texts: JsonObject) -> str:
    """Return the line around the first words against a case, or the start of its reply if none are."""
    against = (one for one in evaluator.marks(result, texts) if one.side is Side.AGAINST)
    if mark := next(against, None):
        return around(texts[mark.field], mark.start, mark.end)
    reply = evaluator.reply if evaluator.reply in texts else [*evaluator.fields_of(result, texts)][-1]
    return around(texts[reply], 0, 0)


def around(text: str, start: int, end: int) -> str:
    r"""Return a line of a text with the characters from `start` to `end`, at most `LONGEST`.

    >>> around("a  line\nof words", 8, 10)
    'a line of words'
    >>> len(around("word " * 100, 250, 254))
    200
    """
    room = max(LONGEST - 2 - (end - start), 0)  # an ellipsis on either side
    before = min(start, max(room // 2, room - (len(text) - end)))
    first, last = start - before, min(len(text), start - before + LONGEST - 2)
    words = " ".join(text[first:last].split())
    return f"{'…' if first else ''}{words}{'…' if last < len(text) else ''}"
