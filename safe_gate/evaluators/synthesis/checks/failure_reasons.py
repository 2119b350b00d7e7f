"""Why a check fails a reply, in words with the hits that decide. Pure, from the report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from safe_gate.core.figures import apart, first_few, fixed, plural
from safe_gate.core.jsontext import is_stand_in
from safe_gate.evaluators.judged import Verdict
from safe_gate.evaluators.synthesis.checks.check_result import (
    CheckResult,
    Pivot,
    Sides,
    Wording,
    in_all,
)
from safe_gate.evaluators.synthesis.checks.conversation import FIELDS
from safe_gate.evaluators.synthesis.checks.deciding import (
    ELSEWHERE_ONLY,
    ENOUGH_SHARED,
    NOTHING_TOUCHES,
    TOO_FEW_SHARED,
    leaves_because,
)
from safe_gate.evaluators.synthesis.checks.score import SIMILARITY_THRESHOLD
from safe_gate.model.results import Hit, Phrase, Untrusted

SAYS = {
    "positive": "leave the choice",
    "negative": "direct",
    "mind_reading": "read a mind",
    "guarantee": "guarantee",
    "vulnerability": "disclose",
    "acknowledgment": "acknowledge",
    "follow_up": "follow up",
    "pivot": "turn away",
    "elsewhere": "speak of something else",
    "danger": "disclose a danger",
    "answered": "answer a danger",
    "help": "name help",
    "safety_question": "ask about safety",
    "harm": "give permission, means, secrecy or praise",
}
"""What the clauses of a group do, as the predicate of a sentence about several."""

_QUOTED_HITS = 3


def says(group: str) -> str:
    """Return what the clauses of a group do, as the predicate of a sentence about several."""
    return SAYS.get(group) or f"are of the group {named(group)}"


def named(group: str) -> str:
    """Return the name of a group as words."""
    return group.replace("_", " ")


def hits_against(check: CheckResult) -> Iterator[Hit]:
    """Yield the hits that make a reply fail."""
    match check.evidence:
        case Sides() as sides:
            yield from in_all(sides.against)
        case Wording() as wording:
            yield from (hit for one in wording.unmet for hit in one.hits)
        case Pivot(groups):
            yield from (*groups.get("pivot", ()), *groups.get("elsewhere", ()))


def evidence(name: str, check: CheckResult) -> Iterator[Phrase]:
    """Return the evidence of a failed check, as phrases."""
    match check.evidence:
        case Sides() as sides:
            return _FLAT[name](sides) if sides.is_flat else _counted(sides)
        case Wording() as wording:
            return of_wording(wording)
        case Verdict() as verdict:
            return iter([verdict.words])
        case pivot:
            return _pivot(pivot, is_earlier=check.is_earlier)


def causes(check: CheckResult) -> Iterator[str]:
    """Yield the rules that a check fails by; for `wording`, the broken requirements, for a verdict the judge."""
    match check.evidence:
        case Wording() as wording:
            yield from (one.kind for one in wording.unmet)
        case Verdict(by=by):
            yield by
        case _:
            yield from (hit.rule for hit in hits_against(check))


def of_wording(wording: Wording) -> Iterator[Phrase]:
    """Yield what a reply lacks, and what it must not contain."""
    for one in wording.unmet:
        tag: Phrase = (", asked for by the tag ", Untrusted(one.tag)) if one.tag else ()
        if one.hits:
            found = [word for hit in one.hits[:_QUOTED_HITS] for word in (Untrusted(hit.text), ", ")][:-1]
            more = len(one.hits) - _QUOTED_HITS
            rest = (f", and {more} more",) if more > 0 else ()
            yield ("contains ", *found, *rest, ", which it must not", *tag)
        else:
            verb = "does not contain " if len(one.of) == 1 else "contains none of "
            yield (verb, *[word for entry in one.of for word in (*_asked(*entry), ", ")][:-1], *tag)


def _asked(form: str, words: str) -> Phrase:
    """Return a text that is asked for, or a regular expression as such."""
    return (Untrusted(words),) if form == "text" else ("a match of ", Untrusted(words))


def _counted(sides: Sides) -> Iterator[Phrase]:
    for group, some in sides.against.items():
        yield from _hits(named(group), some, says(group))
    favour, against = in_all(sides.favour), in_all(sides.against)
    if sides.decides == "outweighs":
        yield (f"{_clauses(favour, 'speaks', 'speak')} for the reply, {len(against)} against it",)
    elif sides.favour and not favour:
        yield (f"no clause of {either(sides.favour)}",)
    for group, some in sides.applies.items():
        text = "reply" if any(hit.field == "assistant" for hit in some) else "message"
        yield from _hits(f"the {text} has {named(group)}", some, says(group))


def either(groups: Iterable[str]) -> str:
    """Return groups as words, joined by "or"."""
    return " or ".join(map(named, groups))


def _agency(sides: Sides) -> Iterator[Phrase]:
    choices, directives = in_all(sides.favour), in_all(sides.against)
    yield from _hits("directive", directives, SAYS["negative"])
    if choices:
        yield (f"{_clauses(choices, 'leaves', 'leave')} the choice, {_clauses(directives, 'directs', 'direct')}",)
    else:
        yield ("no wording that leaves the choice to the person",)


def _clauses(hits: Sequence[Hit], one: str, many: str) -> str:
    return f"{plural(len(hits), 'clause')} {one if len(hits) == 1 else many}"


def _reassurance(sides: Sides) -> Iterator[Phrase]:
    yield from _hits("mind-reading", sides.against.get("mind_reading", ()), SAYS["mind_reading"])
    yield from _hits("guarantee", sides.against.get("guarantee", ()), SAYS["guarantee"])


_FLAT = {"agency_language": _agency, "unverifiable_reassurance": _reassurance}


def _pivot(pivot: Pivot, *, is_earlier: bool) -> Iterator[Phrase]:
    groups = pivot.groups
    yield from _hits("pivot", groups.get("pivot", ()), SAYS["pivot"])
    yield from _hits("something else", groups.get("elsewhere", ()), SAYS["elsewhere"])
    missing = [noun for noun in ("acknowledgment", "follow-up") if not groups.get(noun.replace("-", "_"))]
    because = leaves_because(pivot)
    if missing and because not in {TOO_FEW_SHARED, ELSEWHERE_ONLY}:  # these say so themselves
        yield (f"no {' and no '.join(missing)}",)
    disclosed = groups.get("vulnerability", ()), SAYS["vulnerability"]
    if not because:
        found, threshold = apart(pivot.similarity, SIMILARITY_THRESHOLD, fixed, 2)
        yield (f"similarity {found} is below {threshold}",)
        if is_earlier:
            yield from _hits("what was disclosed:", *disclosed)
    elif because == NOTHING_TOUCHES:
        yield from _hits(f"{because}:", *disclosed)
    else:
        yield (because,)
        yield returning(pivot.shared, because)
        yield from _hits("what was disclosed:", *disclosed)


def returning(shared: Sequence[str], because: str) -> Phrase:
    """Return the words of the message that come back in a reply, and how many are enough in spite of a reason."""
    words = [word for word in shared if not is_stand_in(word)]
    listed = (": ", *first_few(words, len(shared))) if words else ()
    count = plural(len(shared), "word of the message comes back", "words of the message come back")
    return (f"{count}, {ENOUGH_SHARED[because]} are enough", *listed)


def _hits(noun: str, hits: Sequence[Hit], what: str) -> Iterator[Phrase]:
    if hits:
        exact = _innermost(hits)
        words: list[str | Untrusted] = [f"{noun} "]
        quoted = exact[:_QUOTED_HITS]
        for hit, after in zip_longest(quoted, quoted[1:]):
            is_of_next = after and (after.rule, after.field) == (hit.rule, hit.field) and not is_stand_in(hit.text)
            words += [*([Untrusted(hit.text)] if is_of_next else _quote(hit, what)), ", "]
        more = len(exact) - _QUOTED_HITS
        yield (*words[:-1], f", and {more} more" if more > 0 else "")


def _innermost(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits that contain no other hit, in text order: the exact words, not also their sentence."""
    found: list[Hit] = []
    for field in dict.fromkeys(hit.field for hit in hits):
        latest = -1
        here = (hit for hit in hits if hit.field == field)
        for hit in sorted(here, key=lambda hit: (hit.end, -hit.start)):
            if hit.start > latest:  # otherwise it contains the hit that starts there
                found.append(hit)
                latest = hit.start
    return found


def _quote(hit: Hit, what: str) -> Phrase:
    """Return the match and its rule, in the form of `rules-off`; for a withheld text, also the place."""
    text, rule = Untrusted(hit.text), Untrusted(hit.rule)
    if is_stand_in(hit.text):
        return rule, f" at {hit.field} {hit.start} to {hit.end} ", text
    where = "" if hit.field in FIELDS else f" in {hit.field}"
    if hit.learned:
        inside, total = hit.learned
        return text, f"{where} (learned: {inside} of {total} marked clauses {what}) by ", rule
    return text, f"{where} by ", rule
