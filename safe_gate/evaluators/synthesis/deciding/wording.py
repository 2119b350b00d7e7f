"""The check `wording`: what a reply must contain and must not contain, by its case and by the case's tags. Pure.

Texts and regular expressions are looked for without regard to case, in the reply as it was typed, with typography made
uniform, and as a page shows it. RE2 is loaded only where there is an expression.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate, chain, islice, repeat
from typing import Any, TypeAlias

from safe_gate.core.digests import digest
from safe_gate.core.model import Code, Hit, JsonObject, Place, Problem
from safe_gate.core.text.mapped_text import Normalised, as_typed
from safe_gate.core.text.markup import bare
from safe_gate.core.text.normalising import normalise
from safe_gate.evaluators.synthesis.deciding.check_result import CheckResult, Requirement, Wording
from safe_gate.evaluators.synthesis.names import KINDS

MOST_HITS = 20
"""So many places of one text or expression are shown."""

_ANY = KINDS[1]

_Find: TypeAlias = Callable[[str, Normalised], Iterator[tuple[int, int]]]


def asked(value: Mapping[str, Any], tag: str = "") -> tuple[Requirement, ...]:
    """Return what the fields of a case, or of a tag's settings, ask for.

    One entry of `must_contain_any` is enough; each entry of the other fields is a requirement of its own.
    """
    found: list[Requirement] = []
    for kind in KINDS:
        of = tuple(map(_form, value.get(kind, ())))
        found += [Requirement(kind, of, tag)] if kind == _ANY and of else [Requirement(kind, (one,), tag) for one in of]
    return tuple(found)


def _form(entry: Any) -> tuple[str, str]:
    return ("text", entry) if isinstance(entry, str) else ("regex", entry["regex"])


def refused(value: Mapping[str, Any]) -> Iterator[tuple[str, int, str]]:
    """Yield the field, the index and the problem of each regular expression that RE2 refuses."""
    for kind in KINDS:
        for index, entry in enumerate(value.get(kind, ())):
            if not isinstance(entry, str):
                from safe_gate.evaluators.synthesis.matching import patterns  # RE2, which only these need

                pattern = entry["regex"]
                if why := patterns.refusal(pattern) or patterns.refusal(patterns.spaced(pattern)):
                    yield kind, index, why


def unreadable(words: Mapping[str, JsonObject]) -> Iterator[Problem]:
    """Yield a problem for each regular expression of the setting `tags` that RE2 does not take."""
    for tag, kinds in words.items():
        for kind, index, why in refused(kinds):
            message = f"is not an RE2 regular expression: {why}; correct it, or write a text"
            yield Problem(Place("tags"), message, field=f"{tag}.{kind}[{index}].regex", code=Code.INVALID_SETTING)


def as_asked(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a case's requirements on wording, sorted; None for absent ones.

    One more entry in `must_contain_any` asks for less, so its digest is used: it is compared as a whole.
    """
    found = {
        kind: sorted(words if form == "text" else f"regex {words}" for form, words in map(_form, value.get(kind, ())))
        for kind in KINDS
    }
    return {kind: (digest(names) if kind == _ANY else names) if names else None for kind, names in found.items()}


def judged(every: Sequence[Requirement], reply: Normalised, *, is_wordless: bool) -> CheckResult:
    """Return whether a reply contains what it must and nothing that it must not.

    It does not apply to a reply without a word of which nothing is required.
    """
    readings = _readings(reply)
    found = [one._replace(hits=tuple(_hits(one, reply.original, readings))) for one in every]
    return _result(found, is_wordless=is_wordless)


def recounted(every: Sequence[Requirement], shown: CheckResult | None) -> CheckResult:
    """Return the result that follows from the hits that a report shows of the check, None of no check."""
    asked = shown.evidence.asked if shown and isinstance(shown.evidence, Wording) else ()
    pairs = zip(every, chain(asked, repeat(Requirement("", ()))), strict=False)
    found = [one._replace(of=old.of, hits=old.hits) for one, old in pairs]
    return _result(found, is_wordless=bool(shown and not shown.applicable))


def _result(found: Sequence[Requirement], *, is_wordless: bool) -> CheckResult:
    passed = all(one.holds for one in found)
    applicable = not (passed and is_wordless and all(one.is_forbidden for one in found))
    return CheckResult(passed, applicable, Wording(tuple(found)))


def _readings(reply: Normalised) -> dict[str, tuple[Normalised, ...]]:
    """Return the distinct readings of a reply, by the form of what is looked for in them.

    They are the reply as it was typed, with uniform typography, and as a page shows it. To a text, the end of a line is
    a space there.
    """
    visible = bare(reply.original)
    is_other = not (visible == reply.original == reply.text)  # the text of the reply may have lost its diacritics
    shown = replace(normalise(visible), original=reply.original) if is_other else reply
    typed = as_typed(reply.original)
    by_form = {"text": replace(shown, text=shown.text.replace("\n", " ")), "regex": shown}
    return {
        form: tuple({one.text: one for one in (last, reply, typed)}.values())[::-1] for form, last in by_form.items()
    }


def _hits(one: Requirement, recorded: str, readings: Mapping[str, Sequence[Normalised]]) -> Iterator[Hit]:
    spans = sorted({span for form, words in one.of for span in _spans(_FIND[form], words, readings[form])})
    for start, end in spans[:MOST_HITS]:
        yield Hit(one.kind, recorded[start:end], "assistant", start, end)


def _spans(find: _Find, words: str, readings: Sequence[Normalised]) -> Sequence[tuple[int, int]]:
    """Return the spans of the recorded reply in the first reading that has any."""
    for reading in readings:
        if found := [reading.span(*span) for span in islice(find(words, reading), MOST_HITS)]:
            return found
    return ()


def _literal(words: str, reading: Normalised) -> Iterator[tuple[int, int]]:
    """Yield the spans of a text in a reading: as it was typed, else with uniform typography."""
    found = False
    for span in _found(words.casefold(), reading.text):
        found = True
        yield span
    uniform = _uniform(words)
    if uniform.strip() and not found:
        yield from _found(uniform, reading.text)


@lru_cache(maxsize=1_000)
def _uniform(words: str) -> str:
    return normalise(words).text.replace("\n", " ").casefold()


def _found(needle: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of a text that are a needle once case is folded, which may make a letter two."""
    folded = text.casefold()
    at = folded.find(needle)
    if at < 0:
        return
    starts: Sequence[int] = range(len(text) + 1)
    if len(folded) != len(text):
        starts = array("L", accumulate((len(letter.casefold()) for letter in text), initial=0))
    while at >= 0:
        end = at + len(needle)
        first, last = bisect_left(starts, at), bisect_left(starts, end)
        if (starts[first], starts[last]) == (at, end):  # otherwise it is half of a letter that folds to two
            yield first, last
        at = folded.find(needle, end)


def _expression(pattern: str, reading: Normalised) -> Iterator[tuple[int, int]]:
    from safe_gate.evaluators.synthesis.matching import patterns  # RE2, which only these need

    yield from (span for span in patterns.spans(patterns.spaced(pattern), reading) if span[0] < span[1])


_FIND: Mapping[str, _Find] = {"text": _literal, "regex": _expression}
