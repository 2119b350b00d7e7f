"""The check `wording`: what a reply must contain and must not contain, by its case and by the case's tags. Pure.

Texts and regular expressions are looked for without regard to case, in the reply as it was typed, with typography made
uniform, and as a page shows it: what any of the three holds, the reply contains. RE2 is loaded only where there is an
expression, and the parser of Markdown only where there may be markup.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import accumulate, chain, islice, repeat
from typing import Any

from safe_gate.core.text import may_be_spelled, normalise, spelled
from safe_gate.core.text.mapped_text import WORD, Normalised, as_typed
from safe_gate.core.text.rendered import shown as as_shown
from safe_gate.evaluators.synthesis.checks.check_result import CheckResult, Requirement, WordingEvidence
from safe_gate.evaluators.synthesis.definitions import ANY_OF, KINDS
from safe_gate.model.results import Hit, Side

MOST_HITS = 20
"""So many places of one text or expression are shown."""


def requirements_of(value: Mapping[str, Any], tag: str = "") -> tuple[Requirement, ...]:
    """Return what the fields of a case, or of a tag's settings, ask for.

    One entry of `must_contain_any` is enough; each entry of the other fields is a requirement of its own.
    """
    found: list[Requirement] = []
    for kind in KINDS:
        of = tuple(map(_entry_form, value.get(kind, ())))
        each = [of] if kind == ANY_OF and of else [(one,) for one in of]
        found += [Requirement(kind, some, (), tag=tag) for some in each]
    return tuple(found)


def _entry_form(entry: Any) -> tuple[str, str]:
    return ("text", entry) if isinstance(entry, str) else ("regex", entry["regex"])


def invalid_expressions(value: Mapping[str, Any]) -> Iterator[tuple[str, int, str]]:
    """Yield the field, the index and the problem of each regular expression that RE2 refuses."""
    for kind in KINDS:
        for index, entry in enumerate(value.get(kind, ())):
            if not isinstance(entry, str):
                from safe_gate.evaluators.synthesis.engine import patterns  # RE2, which only these need

                if why := patterns.refusal_reason(entry["regex"]):
                    yield kind, index, why


def judge_wording(
    requirements: Sequence[Requirement], reply: Normalised, field: str = "assistant", *, is_wordless: bool
) -> CheckResult:
    """Return whether a reply, in a field of a result, contains what it must and nothing that it must not.

    It contains what any of its readings holds. It does not apply to a reply without a word of which nothing is
    required.
    """
    needles = {words: _needles(words) for one in requirements for form, words in one.of if form == "text"}
    typed, shown = as_typed(reply.original), _as_displayed(reply, needles)
    lines = _distinct(typed, reply, shown.stripped)  # ^ and $ are at what can be seen
    # To a text, the end of a line is a space.
    texts = _distinct(typed, reply, replace(shown, text=shown.text.replace("\n", " "))) if needles else ()
    searched = [*map(_Searched, texts)]

    def spans(form: str, words: str) -> Sequence[tuple[int, int]]:
        of_text = (one.spans(needles[words]) for one in searched if form == "text")
        of_regex = (_expression(words, one) for one in lines if form == "regex")
        return next(filter(None, chain(of_text, of_regex)), ())

    def judged(one: Requirement) -> Requirement:
        places = sorted({place for asked in one.of for place in spans(*asked)})[:MOST_HITS]
        quotes = ((reply.original[start:end], field, start, end) for start, end in places)
        return replace(one, hits=tuple(Hit(one.kind, *quote) for quote in quotes))

    return _result([*map(judged, requirements)], is_wordless=is_wordless)


def _distinct(*readings: Normalised) -> Sequence[Normalised]:
    return tuple({one.text: one for one in reversed(readings)}.values())[::-1]


def recount_wording(requirements: Sequence[Requirement], shown: CheckResult | None) -> CheckResult:
    """Return the result that follows from the hits that a report shows of the check, None of no check."""
    asked = shown.evidence.asked if shown and isinstance(shown.evidence, WordingEvidence) else ()
    pairs = zip(requirements, chain(asked, repeat(Requirement("", (), ()))), strict=False)
    found = [replace(one, of=old.of, hits=old.hits) for one, old in pairs]
    return _result(found, is_wordless=bool(shown and not shown.applicable))


def _result(found: Sequence[Requirement], *, is_wordless: bool) -> CheckResult:
    passed = all(one.holds for one in found)
    applicable = not (passed and is_wordless and all(one.side is Side.AGAINST for one in found))
    return CheckResult(passed, applicable, WordingEvidence(tuple(found)))


def _as_displayed(reply: Normalised, needles: Mapping[str, Sequence[str]]) -> Normalised:
    """Return a reply as a page shows it. Digits and signs are letters where they spell a word that is looked for."""
    visible, shown = as_shown(reply.original), reply
    if not (visible == reply.original == reply.text):  # the text of the reply may have lost its diacritics
        shown = replace(normalise(visible), original=reply.original)
    if not may_be_spelled(shown.text):
        return shown
    return spelled(shown, {word for some in needles.values() for text in some for word in WORD.findall(text)})


@lru_cache(maxsize=32_768)
def _needles(words: str) -> Sequence[str]:
    """Return what a text is looked for as: as it was typed, else with uniform typography, without regard to case."""
    uniform = normalise(words).text.replace("\n", " ").casefold()
    return tuple(dict.fromkeys((words.casefold(), *([uniform] if uniform.strip() else []))))


class _Searched:
    """A reading in which texts are looked for without regard to case, which may make a letter two."""

    def __init__(self, reading: Normalised) -> None:
        self._reading, self._folded = reading, reading.text.casefold()

    @cached_property
    def _starts(self) -> Sequence[int]:
        text = self._reading.text
        if len(self._folded) == len(text):
            return range(len(text) + 1)
        return array("L", accumulate((len(letter.casefold()) for letter in text), initial=0))

    def spans(self, needles: Sequence[str]) -> Sequence[tuple[int, int]]:
        """Return the first spans of the recorded reply that hold the first of some needles that it holds."""
        found = ([*islice(self._found(needle), MOST_HITS)] for needle in needles)
        return [self._reading.span(*span) for span in next(filter(None, found), ())]

    def _found(self, needle: str) -> Iterator[tuple[int, int]]:
        at = self._folded.find(needle)
        while at >= 0:
            end = at + len(needle)
            first, last = bisect_left(self._starts, at), bisect_left(self._starts, end)
            if (self._starts[first], self._starts[last]) == (at, end):  # otherwise it is half of a letter that is two
                yield first, last
            at = self._folded.find(needle, end)


def _expression(pattern: str, reading: Normalised) -> Sequence[tuple[int, int]]:
    from safe_gate.evaluators.synthesis.engine import patterns  # RE2, which only these need

    return [reading.span(*span) for span in islice(patterns.match_spans(pattern, reading), MOST_HITS)]
