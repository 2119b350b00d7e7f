"""`explain`: show what decided cases: their texts with the evidence marked, and how each metric or check judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from safe_gate.commands._command import JSON, Call, Command, complain
from safe_gate.core.case import Case, selects
from safe_gate.core.evaluator import Evaluator
from safe_gate.core.validate import suggestion
from safe_gate.inputs import case_files
from safe_gate.inputs.case_files import CaseFiles
from safe_gate.model.codec import JsonObject
from safe_gate.model.problems import CannotJudge, Code, Place, Problem
from safe_gate.model.results import CaseResult, Judgement, Mark, Outcome, Phrase, Side, Untrusted
from safe_gate.render.untrusted import plain, quote_phrase
from safe_gate.scoring import sides

COMMAND = Command(
    place=5,
    summary="show why cases pass or fail",
    exit_codes="0 shown, 3 no such case or error",
    arguments={
        "id": {"nargs": "*", "metavar": "ID", "help": "ids of cases"},
        "--failed": {"action": "store_true", "help": "explain every unexpected failure"},
        "--json": JSON,
    },
)


def main(call: Call) -> int:
    """Show the cases that the command line names, in the order of the files. Returns 0 or 3."""
    options, effects = call.options(), call.effects
    wanted = _Wanted(dict.fromkeys(call.arguments["id"]), is_failed=call.arguments["failed"])
    if problem := wanted.problem():
        return complain((problem,), effects)
    evaluators = sides.evaluators_in_use(options)
    if not evaluators:
        return complain((sides.no_input_problem(),), effects)
    told, count, side = list[JsonObject](), 0, sides.take_snapshot(options)
    effects.tell("cases", told)
    for evaluator in evaluators:
        for one in _explained(side.files_of(evaluator), side.settings, side.recipe(evaluator), wanted):
            if call.arguments["json"]:
                told.append(as_json(one))
            else:
                effects.out(shown(one))
            count += 1
    if problems := wanted.unmet(evaluators):
        return complain(sides.redact_problems(problems, options.text), effects)
    if not count:
        effects.out("No case fails unexpectedly.")
    return 0


@dataclass(slots=True)
class _Wanted:
    """The cases to explain, by id or because they fail, with the ids and problems met while looking."""

    ids: dict[str, None]
    is_failed: bool
    met: set[str] = field(default_factory=set)
    seen: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def problem(self) -> Problem | None:
        """Return what is wrong with the command line, if anything is."""
        if self.ids and self.is_failed:
            return Problem(Place("explain"), "takes ids or --failed, not both; leave one out", code=Code.USAGE)
        if not (self.ids or self.is_failed):
            return Problem(Place("explain"), "names no case; expected ids before flags, or --failed", code=Code.USAGE)
        return None

    def unmet(self, evaluators: Sequence[Evaluator]) -> Sequence[Problem]:
        """Return the problems of the files if a case may be among them, else a problem for each id that no case has."""
        missing = [one for one in self.ids if one not in self.met]
        if self.problems and (missing or self.is_failed):
            return self.problems
        read = " and ".join(one.input.plural for one in evaluators)
        return [
            Problem(
                Place(one),
                f"no case has this id{suggestion(one, self.seen, most=3)}; looked in {read}",
                code=Code.UNKNOWN_CASE,
            )
            for one in missing
        ]


def _explained(files: CaseFiles, settings: JsonObject, recipe: str, wanted: _Wanted) -> Iterator[Explanation]:
    """Yield the explanations of an evaluator's cases that are wanted, and note ids and problems."""
    evaluator = files.evaluator
    by, part = case_files.compile_recipe(evaluator.name, recipe), evaluator.compare.recorded_settings(settings)
    for case in (_selected if wanted.is_failed else _named)(files, settings, wanted):
        if evaluator.rule_files and (misfit := evaluator.rule_files.misfit(case, by)):
            if not wanted.is_failed:
                raise CannotJudge(misfit)
            if wanted.problems[-1:] != [misfit]:  # which all turns of a conversation share
                wanted.problems.append(misfit)
            continue
        result = evaluator.score(case, by)
        if not wanted.is_failed or any(evaluator.gate.failures(replace(part, results=[result]))):
            yield explanation(evaluator, part, result, case.texts())


def _cases(files: CaseFiles, settings: JsonObject, wanted: _Wanted) -> Iterator[Case]:
    """Yield an evaluator's cases, whatever the filters leave out, and note problems."""
    for item in sides.read_selected_cases(files, {**settings, "tag": ()}):
        if isinstance(item, Problem):
            wanted.problems.append(item)
        elif not isinstance(item, sides.Other):
            yield item


def _selected(files: CaseFiles, settings: JsonObject, wanted: _Wanted) -> Iterator[Case]:
    """Yield an evaluator's cases that the filters leave in. To leave in none is a problem."""
    groups, left_out, count = set[str](), set[str](), 0
    for case in _cases(files, settings, wanted):
        if selects(settings["tag"], case.groups):
            count += 1
            yield case
        else:
            groups.update(case.groups)
            left_out.add(case.id)
    if not (count or wanted.problems) and (
        lacking := sides.no_case_problem(files.evaluator, settings, groups, left_out)
    ):
        wanted.problems.append(lacking)


def _named(files: CaseFiles, settings: JsonObject, wanted: _Wanted) -> Iterator[Case]:
    """Yield an evaluator's cases that ids name, whatever the filters leave out."""
    left, alike, place = dict(wanted.ids), dict[str, Case](), Place("")
    for case in _cases(files, settings, wanted):
        if not left and case.place != place:
            break
        wanted.seen.append(case.id)
        if named := [one for one in case.ids if one in wanted.ids]:
            left = {one: None for one in left if one not in named}
            place = case.place  # the other turns of a conversation are there, too
            yield case
        elif (as_shown := plain(Untrusted(case.id), len(case.id))) in left:
            alike.setdefault(as_shown, case)
    yield from (alike[one] for one in left if one in alike)
    wanted.met.update(one for one in wanted.ids if one not in left or one in alike)


_ALL = 1_000_000  # characters: an explanation shows the whole text


@dataclass(frozen=True, slots=True)
class Explanation:
    """What decided a case, according to its evaluator.

    `notes` are about the case as a whole. `texts` are the recorded texts by field. `decisions` and `marks` are as in
    `core.evaluator.Presentation`.
    """

    evaluator: Evaluator
    result: CaseResult
    outcome: Outcome
    notes: tuple[Phrase, ...]
    texts: Mapping[str, str]
    judgements: tuple[Judgement, ...]
    decisions: Mapping[str, Phrase]
    marks: tuple[Mark, ...]


def explanation(evaluator: Evaluator, part: Any, result: CaseResult, texts: Mapping[str, Any]) -> Explanation:
    """Return what decided a case: `result` is its result.

    `part` needs only what the evaluator's part of the report records of its settings (`Comparing.recorded`).
    """
    judgements = tuple(evaluator.present.judgements(part, result))
    told = {phrase for one in judgements for phrase in one.evidence}
    fields = {field: str(texts[field]) for field in evaluator.present.result_fields(result, texts) if field in texts}
    return Explanation(
        evaluator=evaluator,
        result=result,
        outcome=evaluator.compare.outcome(result),
        notes=tuple(phrase for phrase in evaluator.present.finding(result).evidence if phrase not in told),
        texts=fields,
        judgements=judgements,
        decisions=evaluator.present.decisions(part, result),
        marks=tuple(evaluator.present.marks(result, fields)),
    )


def shown(one: Explanation) -> str:
    """Return an explanation for a terminal. A mark has the same number in the text and below its check."""
    outcome, place = one.outcome, one.result.place
    meant = " as expected: it is a negative example" if outcome.passed else ", though it is a negative example"
    words = outcome.words + meant * outcome.is_meant_to_fail
    lines = [f"{plain(Untrusted(outcome.id))} ({plain(Untrusted(place.path))}:{place.line}): {words}"]
    lines += [f"  {quote_phrase(note)}" for note in one.notes]
    numbers, titles = _numbers(one), one.evaluator.present.result_fields(one.result, one.texts)
    for name, text in one.texts.items():
        spans = {span: number for span, number in numbers.items() if span[0] == name}
        lines += ["", f"{titles[name]}:", *(f"  {line}" for line in _marked(text, spans))]
    for judgement in one.judgements:
        lines += ["", *_judged(one, judgement, numbers)]
    return "\n".join([*lines, ""])


def as_json(one: Explanation) -> dict[str, Any]:
    """Return an explanation as an entry of `cases` in `schemas/explanation.schema.json`."""
    return {
        "evaluator": one.evaluator.name,
        "id": one.result.id,
        "source": {"path": one.result.place.path, "line": one.result.place.line},
        "label": one.outcome.words,
        "passed": one.outcome.passed,
        "notes": [quote_phrase(note) for note in one.notes],
        "texts": dict(one.texts),
        "judgements": {
            judgement.by: {
                "title": one.evaluator.present.explanation(judgement.by).title,
                "label": judgement.label,
                **({} if judgement.score is None else {"score": judgement.score}),
                "decision": quote_phrase(_decision(one, judgement)),
                "evidence": [quote_phrase(phrase) for phrase in judgement.evidence],
                "marks": [
                    {
                        "field": mark.field,
                        "start": mark.start,
                        "end": mark.end,
                        "text": mark.text,
                        "side": mark.side.value,
                        "says": mark.says,
                        **({"rule": mark.rule} if mark.rule else {}),
                        **({"why": quote_phrase(mark.why)} if mark.why else {}),
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


def _judged(one: Explanation, judgement: Judgement, numbers: Mapping[_Span, int]) -> Iterator[str]:
    yield f"{one.evaluator.present.explanation(judgement.by).title}: {judgement.label}"
    found = sorted(
        (mark for mark in one.marks if mark.by == judgement.by), key=lambda mark: mark.side is Side.CANCELLED
    )
    width = max((len(mark.says) for mark in found), default=0)
    for mark in found:
        number = f"[{numbers[_span(mark)]}] " if _span(mark) in numbers and mark.side is not Side.CANCELLED else ""
        quote = f'"{plain(Untrusted(mark.text), 100)}"'
        yield f"  {mark.says:>{width}}  {number}{quote}{_reason(mark)}"
    decision, rules = quote_phrase(_decision(one, judgement)), {mark.rule for mark in found}
    if not judgement.hits:  # hits are among the marks
        yield from (
            f"  {quote_phrase(phrase)}" for phrase in judgement.evidence if not _is_said(phrase, decision, rules)
        )
    yield f"  {decision}"


def _is_said(phrase: Phrase, decision: str, rules: Set[str]) -> bool:
    """Return whether a decision gives the reason that a phrase begins with, or marks by these rules show its quotes."""
    reason = quote_phrase(phrase[:1]).rstrip(" :")
    has_rule = any(isinstance(one, Untrusted) and one.text in rules for one in phrase)
    return has_rule or bool(reason and reason in decision)


def _reason(mark: Mark) -> str:
    """Return the rule of a mark, and why it does not count: rules as written, words of the text in quotation marks."""
    rule = f"  {plain(Untrusted(mark.rule))}" if mark.rule else ""
    if mark.side is not Side.CANCELLED:
        return f"{rule} ({quote_phrase(mark.why)})" if mark.why else rule
    *first, last = mark.why
    is_quote = bool(first) and isinstance(last, Untrusted) and first[-1] == ": "
    before = "".join(plain(one, 60) for one in first)
    return f"{rule}  {before}" + (f'"{plain(last, 60)}"' if is_quote else plain(last, 60))


def _decision(one: Explanation, judgement: Judgement) -> Phrase:
    """Return how a metric or check decided, else what it asks."""
    return one.decisions.get(judgement.by) or (one.evaluator.present.explanation(judgement.by).asks,)
