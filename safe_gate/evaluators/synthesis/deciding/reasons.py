"""Why a check fails a reply, in words with the hits that decide. Pure, from the report's JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from safe_gate.core.digests import is_stand_in
from safe_gate.core.figures import apart, first_few, fixed, plural
from safe_gate.core.model import JsonObject, Phrase, Untrusted
from safe_gate.evaluators.synthesis.deciding.conversation import FIELDS
from safe_gate.evaluators.synthesis.deciding.counting import hits, is_counted
from safe_gate.evaluators.synthesis.deciding.leaving import (
    ELSEWHERE_ONLY,
    ENOUGH_SHARED,
    NOTHING_TOUCHES,
    TOO_FEW_SHARED,
    leaves_because,
)
from safe_gate.evaluators.synthesis.deciding.score import SIMILARITY_THRESHOLD
from safe_gate.evaluators.synthesis.deciding.wording import holds
from safe_gate.evaluators.synthesis.names import WORDING

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

_AGAINST = {
    "agency_language": ("negative_hits",),
    "unverifiable_reassurance": ("mind_reading_hits", "guarantee_hits"),
    "topic_pivot": ("pivot_hits", "elsewhere_hits"),
}
"""Where a check has the hits that make a reply fail, unless it has them by side."""


def says(group: str) -> str:
    """Return what the clauses of a group do, as the predicate of a sentence about several."""
    return SAYS.get(group) or f"are of the group {named(group)}"


def named(group: str) -> str:
    """Return the name of a group as words."""
    return group.replace("_", " ")


def hits_against(name: str, check: JsonObject) -> Iterator[JsonObject]:
    """Yield the hits that make a reply fail, by a check's part of a result."""
    if is_counted(check):
        yield from hits(check, "against")
    elif "asked" in check:
        yield from (hit for one in unmet(check) for hit in one["hits"])
    else:
        for key in _AGAINST[name]:
            yield from check.get(key, ())


def evidence(name: str, check: JsonObject) -> Iterator[Phrase]:
    """Yield what a check's part of a failed result shows, as phrases."""
    return _counted(check) if is_counted(check) else _EVIDENCE[name](check)


def causes(name: str, check: JsonObject) -> Iterator[str]:
    """Yield the rules that a check fails by; of `wording` what is asked for and does not hold."""
    if "asked" in check:
        yield from (one["kind"] for one in unmet(check))
    else:
        yield from (hit["rule"] for hit in hits_against(name, check))


def unmet(check: JsonObject) -> list[JsonObject]:
    """Return what `wording` asks for and does not hold."""
    return [one for one in check["asked"] if not holds(one)]


def _wording(check: JsonObject) -> Iterator[Phrase]:
    for one in unmet(check):
        tag: Phrase = (", asked for by the tag ", Untrusted(one["tag"])) if "tag" in one else ()
        if one["hits"]:
            found = [word for hit in one["hits"][:_QUOTED_HITS] for word in (Untrusted(hit["text"]), ", ")][:-1]
            more = len(one["hits"]) - _QUOTED_HITS
            rest = (f", and {more} more",) if more > 0 else ()
            yield ("contains ", *found, *rest, ", which it must not", *tag)
        else:
            verb = "does not contain " if len(one["of"]) == 1 else "contains none of "
            yield (verb, *[word for entry in one["of"] for word in (*_asked(entry), ", ")][:-1], *tag)


def _asked(entry: JsonObject) -> Phrase:
    """Return a text that is asked for, or a regular expression as such."""
    return (Untrusted(entry["text"]),) if "text" in entry else ("a match of ", Untrusted(entry["regex"]))


def _counted(check: JsonObject) -> Iterator[Phrase]:
    for group, some in check["against"].items():
        yield from _hits(named(group), some, says(group))
    favour, against = hits(check, "for"), hits(check, "against")
    if check["decides"] == "outweighs":
        yield (f"{_clauses(favour, 'speaks', 'speak')} for the reply, {len(against)} against it",)
    elif check["for"] and not favour:
        yield (f"no clause of {either(check['for'])}",)
    for group, some in check["applies"].items():
        text = "reply" if any(hit["field"] == "assistant" for hit in some) else "message"
        yield from _hits(f"the {text} has {named(group)}", some, says(group))


def either(groups: Iterable[str]) -> str:
    """Return groups as words, joined by "or"."""
    return " or ".join(map(named, groups))


def _agency(check: JsonObject) -> Iterator[Phrase]:
    choices, directives = check["positive_hits"], check["negative_hits"]
    yield from _hits("directive", directives, SAYS["negative"])
    if choices:
        yield (f"{_clauses(choices, 'leaves', 'leave')} the choice, {_clauses(directives, 'directs', 'direct')}",)
    else:
        yield ("no wording that leaves the choice to the person",)


def _clauses(hits: list[JsonObject], one: str, many: str) -> str:
    return f"{plural(len(hits), 'clause')} {one if len(hits) == 1 else many}"


def _reassurance(check: JsonObject) -> Iterator[Phrase]:
    yield from _hits("mind-reading", check["mind_reading_hits"], SAYS["mind_reading"])
    yield from _hits("guarantee", check["guarantee_hits"], SAYS["guarantee"])


def _pivot(check: JsonObject) -> Iterator[Phrase]:
    yield from _hits("pivot", check["pivot_hits"], SAYS["pivot"])
    yield from _hits("something else", check.get("elsewhere_hits", []), SAYS["elsewhere"])
    missing = [noun for noun in ("acknowledgment", "follow-up") if not check[f"{noun.replace('-', '_')}_hits"]]
    because = leaves_because(check) if "shared" in check else ""
    if missing and because not in {TOO_FEW_SHARED, ELSEWHERE_ONLY}:  # these say so themselves
        yield (f"no {' and no '.join(missing)}",)
    disclosed = check["vulnerability_hits"], SAYS["vulnerability"]
    if not because:
        found, threshold = apart(check["similarity"], SIMILARITY_THRESHOLD, fixed, 2)
        yield (f"similarity {found} is below {threshold}",)
        if "earlier" in check:
            yield from _hits("what was disclosed:", *disclosed)
    elif because == NOTHING_TOUCHES:
        yield from _hits(f"{because}:", *disclosed)
    else:
        yield (because,)
        if because == TOO_FEW_SHARED:
            yield returning(check)
        yield from _hits("what was disclosed:", *disclosed)


def returning(check: JsonObject) -> Phrase:
    """Return the words of the message that come back in a reply, and how many are enough on their own."""
    words = [word for word in check["shared"] if not is_stand_in(word)]
    listed = (": ", *first_few(words, len(check["shared"]))) if words else ()
    count = plural(len(check["shared"]), "word of the message comes back", "words of the message come back")
    return (f"{count}, {ENOUGH_SHARED} are enough", *listed)


_EVIDENCE = {
    "agency_language": _agency,
    "unverifiable_reassurance": _reassurance,
    "topic_pivot": _pivot,
    WORDING: _wording,
}


def _hits(noun: str, hits: list[JsonObject], what: str) -> Iterator[Phrase]:
    if hits:
        exact = _innermost(hits)
        words: list[str | Untrusted] = [f"{noun} "]
        for hit in exact[:_QUOTED_HITS]:
            words += [*_quote(hit, what), ", "]
        more = len(exact) - _QUOTED_HITS
        yield (*words[:-1], f", and {more} more" if more > 0 else "")


def _innermost(hits: list[JsonObject]) -> list[JsonObject]:
    """Return the hits that hold no other, as they stand in the texts: the exact words, not their sentence as well."""
    found: list[JsonObject] = []
    for field in dict.fromkeys(hit["field"] for hit in hits):
        latest = -1
        here = (hit for hit in hits if hit["field"] == field)
        for hit in sorted(here, key=lambda hit: (hit["end"], -hit["start"])):
            if hit["start"] > latest:  # else it holds the hit that starts there, which ends no later
                found.append(hit)
                latest = hit["start"]
    return found


def _quote(hit: JsonObject, what: str) -> Phrase:
    """Return what was matched and the rule, as `rules-off` takes it; of a withheld text where it stands, too."""
    text, rule = Untrusted(hit["text"]), Untrusted(hit["rule"])
    if is_stand_in(hit["text"]):
        return rule, f" at {hit['field']} {hit['start']} to {hit['end']} ", text
    where = "" if hit["field"] in FIELDS else f" in {hit['field']}"
    if "learned" in hit:
        inside, total = hit["learned"]
        return text, f"{where} (learned: {inside} of {total} marked clauses {what}) by ", rule
    return text, f"{where} by ", rule
