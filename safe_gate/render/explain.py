"""What decided a case: its texts with marked evidence, and how each metric or check got its result. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from safe_gate.core.evaluator import Evaluator
from safe_gate.model.problems import Place
from safe_gate.model.results import CaseResult, Judgement
from safe_gate.model.shown import Mark, Side
from safe_gate.model.untrusted import Phrase, Untrusted, Words
from safe_gate.render.untrusted import plain, quoted

_ALL = 1_000_000  # characters: an explanation shows the whole text
_LONGEST_QUOTE = 100


@dataclass(frozen=True, slots=True)
class Explanation:
    """What decided a case, according to its evaluator.

    `words`, `passed` and `is_meant_to_fail` are those of its outcome. `notes` are about the case as a whole.
    `texts` are the recorded texts by field. `decisions` and `marks` are as in `core.evaluator.Evaluator`.
    """

    evaluator: Evaluator
    result: CaseResult
    words: str
    passed: bool
    is_meant_to_fail: bool
    notes: tuple[Phrase, ...]
    texts: Mapping[str, str]
    judgements: tuple[Judgement, ...]
    decisions: Mapping[str, Phrase]
    marks: tuple[Mark, ...]

    @property
    def id(self) -> str:
        """The id of the case."""
        return self.result.id

    @property
    def place(self) -> Place:
        """The place of the case."""
        return self.result.place


def explanation(evaluator: Evaluator, part: Any, result: CaseResult, texts: Mapping[str, Any]) -> Explanation:
    """Return what decided a case: `result` is its result.

    `part` needs only what the evaluator's part of the report records of its settings (`Evaluator.recorded`).
    """
    judgements = tuple(evaluator.present.judgements(part, result))
    told = {phrase for one in judgements for phrase in one.evidence}
    outcome = evaluator.compare.outcome(result)
    fields = {field: str(texts[field]) for field in evaluator.present.fields_of(result, texts) if field in texts}
    return Explanation(
        evaluator=evaluator,
        result=result,
        words=outcome.words,
        passed=outcome.passed,
        is_meant_to_fail=outcome.is_meant_to_fail,
        notes=tuple(phrase for phrase in evaluator.present.finding(result).evidence if phrase not in told),
        texts=fields,
        judgements=judgements,
        decisions=evaluator.present.decisions(part, result),
        marks=tuple(evaluator.present.marks(result, fields)),
    )


def shown(one: Explanation) -> str:
    """Return an explanation for a terminal. A mark has the same number in the text and below its check."""
    meant = " as expected: it is a negative example" if one.passed else ", though it is a negative example"
    words = one.words + meant * one.is_meant_to_fail
    lines = [f"{plain(Untrusted(one.id))} ({plain(Untrusted(one.place.path))}:{one.place.line}): {words}"]
    lines += [f"  {quoted(note)}" for note in one.notes]
    numbers, titles = _numbers(one), one.evaluator.present.fields_of(one.result, one.texts)
    for field, text in one.texts.items():
        spans = {span: number for span, number in numbers.items() if span[0] == field}
        lines += ["", f"{titles[field]}:", f"  {_marked(text, spans)}"]
    for judgement in one.judgements:
        lines += ["", *_judged(one, judgement, numbers)]
    return "\n".join([*lines, ""])


def as_json(one: Explanation) -> dict[str, Any]:
    """Return an explanation as an entry of `cases` in `schemas/explanation.schema.json`."""
    return {
        "evaluator": one.evaluator.name,
        "id": one.id,
        "source": {"path": one.place.path, "line": one.place.line},
        "label": one.words,
        "passed": one.passed,
        "notes": [quoted(note) for note in one.notes],
        "texts": dict(one.texts),
        "judgements": {
            judgement.by: {
                "title": one.evaluator.present.explanation(judgement.by).title,
                "label": judgement.label,
                **({} if judgement.score is None else {"score": judgement.score}),
                "decision": quoted(_decision(one, judgement)),
                "evidence": [quoted(phrase) for phrase in judgement.evidence],
                "marks": [
                    {
                        "field": mark.field,
                        "start": mark.start,
                        "end": mark.end,
                        "text": mark.text,
                        "side": mark.side.value,
                        "says": mark.says,
                        **({"rule": mark.rule} if mark.rule else {}),
                        **({"why": quoted(mark.why)} if mark.why else {}),
                    }
                    for mark in one.marks
                    if mark.by == judgement.by
                ],
            }
            for judgement in one.judgements
        },
    }


_Span = tuple[str, int, int]


def _span(mark: Mark) -> _Span:
    return mark.field, mark.start, mark.end


def _numbers(one: Explanation) -> dict[_Span, int]:
    """Return a number for each span that counts, in the order of reading."""
    fields = [*one.texts]
    counting = {_span(mark) for mark in one.marks if mark.side is not Side.CANCELLED and mark.field in one.texts}
    ordered = sorted(counting, key=lambda span: (fields.index(span[0]), span[1], -span[2]))
    return {span: number for number, span in enumerate(ordered, 1)}


def _marked(text: str, spans: Mapping[_Span, int]) -> str:
    """Return a text with `[n` where span n starts and `n]` where it ends."""
    marks: list[tuple[int, int, int, str]] = []
    for (_, start, end), number in spans.items():
        marks += [(end, 0, -start, f" {number}]"), (start, 1, -end, f"[{number} ")]
    out, position = [], 0
    for place, _, _, mark in sorted(marks):
        out += [text[position:place], mark]
        position = place
    # As one: two pieces that are harmless may be a workflow command once they are joined.
    return plain(Untrusted("".join([*out, text[position:]])), _ALL)


def _judged(one: Explanation, judgement: Judgement, numbers: Mapping[_Span, int]) -> Iterator[str]:
    yield f"{one.evaluator.present.explanation(judgement.by).title}: {judgement.label}"
    found = sorted(
        (mark for mark in one.marks if mark.by == judgement.by), key=lambda mark: mark.side is Side.CANCELLED
    )
    width = max((len(mark.says) for mark in found), default=0)
    for mark in found:
        number = f"[{numbers[_span(mark)]}] " if _span(mark) in numbers and mark.side is not Side.CANCELLED else ""
        quote = f'"{plain(Untrusted(mark.text), _LONGEST_QUOTE)}"'
        yield f"  {mark.says:>{width}}  {number}{quote}{_reason(mark)}"
    decision, rules = quoted(_decision(one, judgement)), {mark.rule for mark in found}
    if not judgement.hits:  # hits are among the marks
        yield from (f"  {quoted(phrase)}" for phrase in judgement.evidence if not _is_said(phrase, decision, rules))
    yield f"  {decision}"


def _is_said(phrase: Phrase, decision: str, rules: Set[str]) -> bool:
    """Return whether a decision gives the reason that a phrase begins with, or marks by these rules show its quotes."""
    reason = quoted(phrase[:1]).rstrip(" :")
    return bool(reason and reason in decision) or any(
        isinstance(one, Untrusted) and one.text in rules for one in phrase
    )


def _reason(mark: Mark) -> str:
    rule = f"  {plain(Untrusted(mark.rule))}" if mark.rule else ""
    if mark.side is Side.CANCELLED:
        return f"{rule}  {_why(mark.why)}"
    return f"{rule} ({quoted(mark.why)})" if mark.why else rule


def _why(phrase: Sequence[Words]) -> str:
    """Return why a mark does not count, with rules as written and words of the text in quotation marks."""
    *first, last = phrase
    is_quote = bool(first) and isinstance(last, Untrusted) and first[-1] == ": "
    return "".join(plain(one, 60) for one in first) + (f'"{plain(last, 60)}"' if is_quote else plain(last, 60))


def _decision(one: Explanation, judgement: Judgement) -> Phrase:
    """Return how a metric or check decided, else what it asks."""
    return one.decisions.get(judgement.by) or (one.evaluator.present.explanation(judgement.by).asks,)
