"""`explain`: show what decided cases: their texts with the evidence marked, and how each metric or check judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from safe_gate.commands._command import JSON, Call, Command, switch, texts
from safe_gate.core.evaluator import Evaluator
from safe_gate.core.figures import first_few
from safe_gate.core.validate import suggestion
from safe_gate.inputs import case_files, recorded
from safe_gate.model import record
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Code, Place, Problem
from safe_gate.model.results import CaseResult, Judgement, Mark, Side, Untrusted
from safe_gate.render.untrusted import plain, quote_phrase
from safe_gate.scoring import measure, sides
from safe_gate.scoring.sides import Snapshot

COMMAND = Command(
    place=5,
    summary="show why cases pass or fail",
    exit_codes="0 shown, 3 no such case or error",
    arguments={
        "id": texts("ID", "ids of cases"),
        "--failed": switch("explain every unexpected failure"),
        "--json": JSON,
    },
)


def main(call: Call) -> int:
    """Show the cases that the command line names, in the order of the files. Returns 0 or 3."""
    options, effects = call.options(), call.effects
    ids, is_failed = call.arguments["id"], call.arguments["failed"]
    if bool(ids) == is_failed:
        words = "takes ids or --failed, not both; leave one out" if ids else "names no case; expected ids before flags"
        raise CannotJudge.at("explain", words if ids else f"{words}, or --failed", Code.USAGE)
    evaluators = sides.evaluators_in_use(options)
    if not evaluators:
        raise CannotJudge(sides.no_input_problem())
    side = sides.take_snapshot(options.on_this_machine().replace(text="full"))
    told, search, count = list[JsonObject](), _Search(ids), 0
    effects.tell("cases", told)
    for evaluator in evaluators:
        for one in search.named(evaluator, side) if ids else search.failing(evaluator, side):
            count += 1
            if call.arguments["json"]:
                told.append(one.as_json())
            else:
                effects.out(one.shown())
    if problems := [*side.at_source(search.unmet())]:
        raise CannotJudge(*sides.redact_problems(problems, options.text))
    if not count:
        effects.out("No case fails unexpectedly.")
    return 0


class _Search:
    """Looks for cases, with some ids or that fail, and keeps what is met on the way."""

    def __init__(self, ids: Sequence[str]) -> None:
        self._ids = dict.fromkeys(ids)
        self._found = set[str]()
        self._seen = set[str]()
        self._files: list[str] = []
        self._problems: list[Problem] = []

    def named(self, evaluator: Evaluator, side: Snapshot) -> Iterator[Explanation]:
        """Yield an evaluator's cases that ids name, as written or as shown, whatever the filter leaves out."""
        by = case_files.compile_recipe(evaluator.name, side.recipe(evaluator))
        found = recorded.Found()
        for case in recorded.read_cases(side.files_of(evaluator), side.settings, found):
            self._seen.add(case.id)
            if named := self._ids.keys() & {*case.ids, plain(Untrusted(case.id), len(case.id))}:
                self._found |= named
                if evaluator.rule_files and (misfit := evaluator.rule_files.misfit(case, by)):
                    raise CannotJudge(misfit)
                yield Explanation.of(evaluator, side.settings, evaluator.score(case, by), case.texts())
        self._problems += found.problems.kept()
        self._files += [one.path for one in found.inputs if one.kind == evaluator.input.kind]

    def failing(self, evaluator: Evaluator, side: Snapshot) -> Iterator[Explanation]:
        """Yield an evaluator's cases that fail and should not, none if there are problems."""
        measured = measure.measure_part(evaluator, side, "", measure.ScoringMethod(texts="failing"))
        self._problems += measured.problems
        if measured.part is not None:
            failing = {one.case_id for one in evaluator.gate.failures(measured.part)}
            for result, texts in zip(measured.results, measured.texts, strict=True):
                if result.id in failing:
                    yield Explanation.of(evaluator, side.settings, result, texts)

    def unmet(self) -> Iterator[Problem]:
        """Yield the problems of the files if a case may be among them, else a problem for each id that no case has."""
        missing = [one for one in self._ids if one not in self._found]
        if self._problems and (missing or not self._ids):
            yield from self._problems
            return
        where = quote_phrase(first_few(self._files, len(self._files)))
        for one in missing:
            words = f"no case in {where} has this id{suggestion(one, self._seen, most=3)}"
            yield Problem(Place("explain"), words, one, code=Code.UNKNOWN_CASE)


_ALL = 1_000_000  # characters: an explanation shows the whole text
_Span = tuple[str, int, int]


@record
class Explanation:
    """What decided a case: its result, and the evaluator's part without results. `texts` are those shown, by field."""

    evaluator: Evaluator
    part: Any
    result: CaseResult
    texts: Mapping[str, str]
    judgements: Sequence[Judgement]
    marks: Sequence[Mark]

    @classmethod
    def of(cls, evaluator: Evaluator, settings: JsonObject, result: CaseResult, texts: JsonObject) -> Explanation:
        """Return what decided a case, according to its evaluator."""
        part, present = evaluator.compare.recorded_settings(settings), evaluator.present
        shown = {field: str(texts[field]) for field in present.result_fields(result, texts) if field in texts}
        return cls(evaluator, part, result, shown, [*present.judgements(part, result)], [*present.marks(result, shown)])

    def notes(self) -> list[str]:
        """Return the notes about the whole case, without the evidence of its judgements."""
        told = {phrase for one in self.judgements for phrase in one.evidence}
        return [quote_phrase(one) for one in self.evaluator.present.finding(self.result).evidence if one not in told]

    def decision(self, judgement: Judgement) -> str:
        """Return how a metric or check decided, else what it asks."""
        decided = self.evaluator.present.decisions(self.part, self.result).get(judgement.by)
        return quote_phrase(decided or ("Demand: ", self.evaluator.present.explanation(judgement.by).asks))

    def as_json(self) -> JsonObject:
        """Return an entry of `cases` in `schemas/explanation.schema.json`."""
        outcome, place = self.evaluator.compare.outcome(self.result), self.result.place
        return {
            "evaluator": self.evaluator.name,
            "id": self.result.id,
            "source": {"path": place.path, "line": place.line},
            "label": outcome.words,
            "passed": outcome.passed,
            "notes": self.notes(),
            "texts": dict(self.texts),
            "judgements": {
                one.by: {
                    "title": self.evaluator.present.explanation(one.by).title,
                    "label": one.label,
                    **({} if one.score is None else {"score": one.score}),
                    "decision": self.decision(one),
                    "evidence": [quote_phrase(phrase) for phrase in one.evidence],
                    "marks": [_mark_json(mark) for mark in self.marks if mark.by == one.by],
                }
                for one in self.judgements
            },
        }

    def shown(self) -> str:
        """Return the explanation for a terminal. A mark has the same number in the text and below its check."""
        outcome, place = self.evaluator.compare.outcome(self.result), self.result.place
        meant = " as expected: it is a negative example" if outcome.passed else ", though it is a negative example"
        words = outcome.words + meant * outcome.is_meant_to_fail
        lines = [f"{plain(Untrusted(outcome.id))} ({plain(Untrusted(place.path))}:{place.line}): {words}"]
        lines += [f"  {note}" for note in self.notes()]
        numbers, titles = self._numbers(), self.evaluator.present.result_fields(self.result, self.texts)
        for field, text in self.texts.items():
            spans = {span: number for span, number in numbers.items() if span[0] == field}
            lines += ["", f"{titles[field]}:", *(f"  {line}" for line in _marked(text, spans))]
        for judgement in self.judgements:
            lines += ["", *self._judged(judgement, numbers)]
        return "\n".join([*lines, ""])

    def _numbers(self) -> dict[_Span, int]:
        """Return a number for each span that counts, in the order of reading."""
        fields = [*self.texts]
        counting = {_span(mark) for mark in self.marks if mark.side is not Side.CANCELLED and mark.field in fields}
        ordered = sorted(counting, key=lambda span: (fields.index(span[0]), span[1], -span[2]))
        return {span: number for number, span in enumerate(ordered, 1)}

    def _judged(self, judgement: Judgement, numbers: Mapping[_Span, int]) -> Iterator[str]:
        yield f"{self.evaluator.present.explanation(judgement.by).title}: {judgement.label}"
        marks = sorted(
            (mark for mark in self.marks if mark.by == judgement.by), key=lambda mark: mark.side is Side.CANCELLED
        )
        width = max((len(mark.says) for mark in marks), default=0)
        for mark in marks:
            number = f"[{numbers[_span(mark)]}] " if _span(mark) in numbers and mark.side is not Side.CANCELLED else ""
            yield f'  {mark.says:>{width}}  {number}"{plain(Untrusted(mark.text), 100)}"{_reason(mark)}'
        decision = self.decision(judgement)
        if not judgement.hits:  # hits are among the marks
            yield from (f"  {said}" for said in map(quote_phrase, judgement.evidence) if said not in decision)
        yield f"  {decision}"


def _mark_json(mark: Mark) -> JsonObject:
    rule = {"rule": mark.rule} if mark.rule else {}
    why = {"why": quote_phrase(mark.why)} if mark.why else {}
    place = {"field": mark.field, "start": mark.start, "end": mark.end, "text": mark.text}
    return {**place, "side": mark.side.value, "says": mark.says, **rule, **why}


def _span(mark: Mark) -> _Span:
    return mark.field, mark.start, mark.end


def _marked(text: str, spans: Mapping[_Span, int]) -> Iterator[str]:
    """Yield the lines of a text with `[n` where span n starts and `n]` where it ends."""
    marks: list[tuple[int, int, int, str]] = []
    for (_, start, end), number in spans.items():
        marks += [(end, 0, -start, f" {number}]"), (start, 1, -end, f"[{number} ")]
    out, position = [], 0
    for place, _, _, mark in sorted(marks):
        out += [text[position:place], mark]
        position = place
    # Whole lines: two pieces that are harmless may be a workflow command once they are joined.
    yield from (plain(Untrusted(line), _ALL) for line in "".join([*out, text[position:]]).split("\n"))


def _reason(mark: Mark) -> str:
    """Return the rule of a mark, and why it counts or does not."""
    rule = f"  {plain(Untrusted(mark.rule))}" if mark.rule else ""
    if mark.side is Side.CANCELLED:
        return f"{rule}  {quote_phrase(mark.why)}"
    return f"{rule} ({quote_phrase(mark.why)})" if mark.why else rule
