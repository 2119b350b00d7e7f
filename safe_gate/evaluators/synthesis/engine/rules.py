"""Rules: phrases with conditions, searched for in a text. Pure.

The data is parsed JSON that is valid under `schemas/rule-pack.schema.json`. One pass over a sentence finds all phrases.
Conditions are checked only where a phrase was found. What a sentence holds is kept, for it may come again. A team's
rule may have a regular expression in place of phrases.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from operator import itemgetter
from typing import NamedTuple

from safe_gate.core.text.mapped_text import Cache, Normalised
from safe_gate.evaluators.synthesis.definitions import HEDGE, HEDGED, OPENER
from safe_gate.evaluators.synthesis.engine.phrases import Automaton, Classes, Walker, phrase_walker
from safe_gate.evaluators.synthesis.engine.tokens import BOUNDARY, Reading, clause_end, clause_start
from safe_gate.model.codec import JsonObject
from safe_gate.model.results import Hit

LONGEST_EVIDENCE = 12
"""The maximum number of words that a hit quotes."""

_CLASS = re.compile(r"\{([a-z_]+)\}")
_WORD, _NO_WORD = re.compile("[a-z]+"), re.compile(r"\\.|\{[a-z_]+\}")  # escapes and word classes are no words
_NEAR = 12  # tokens
_LONGEST_WRITTEN = 100_000  # characters of a phrase
_MOST_SENTENCES = 5_000  # that are kept
CONTEXTS = ("unless", "unless_near", "unless_before", "unless_after", "before", "after")
"""The fields of a rule with phrases for the surroundings of a match."""


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """Phrases with the conditions under which they count.

    - `pattern`: a regular expression in their place, "" for phrases.
    - `around`: phrases for the surroundings of a match, by the names of `CONTEXTS`. Those of `unless` must not be in
      its clause, of `unless_near` within twelve tokens, of `unless_before` and `unless_after` right beside it. One of
      `before` must be right before it, and one of `after` right after it.
    - `cancelled_by`: word classes that must not be earlier in the clause.
    - `unless_message`: groups that the person's message must not have.
    - `unless_told`: the message must not have told what a match says: a clause of `told` with the same words.
    - `counts_after`: groups of the message after which the rule counts, although the check counts nothing else.
    - `only_if`: groups that the turn must have (true) or must not have (false).
    - `is_crisis`: the disclosure is grave, whatever the message asks.
    - `origin`: "spec", "hand" or "learned", "" for a team's own.
    - `inside`, `total`: of all `total` clauses with a learned phrase, `inside` are of its group.
    - `is_own`: a team's pack has it.
    """

    id: str
    group: str
    phrases: tuple[str, ...]
    pattern: str
    question: bool | None
    quoted: bool
    cancelled_by: tuple[tuple[str, str], ...]
    unless_message: tuple[str, ...]
    unless_told: bool
    counts_after: tuple[str, ...]
    only_if: tuple[tuple[str, bool], ...]
    is_crisis: bool
    origin: str
    inside: int
    total: int
    around: Mapping[str, tuple[str, ...]]
    is_own: bool

    @classmethod
    def of(cls, rule: JsonObject, pack: JsonObject, *, is_own: bool = False) -> Rule:
        """Return a rule of a pack's data, classes that the pack defines for itself written out."""
        own: Mapping[str, Sequence[str]] = pack.get("classes", {})
        if isinstance(rule.get("origin"), dict):
            rule = {**pack.get("learned", {}), **rule}

        def written(phrases: Iterable[str]) -> tuple[str, ...]:
            each = (own.get(one[1:-1], (one,)) if one[:1] == "{" else (one,) for one in phrases)
            return tuple(_inline_classes(one, own) for one in chain.from_iterable(each)) if own else tuple(phrases)

        origin = rule.get("origin", "")
        inside, total = origin["learned"] if isinstance(origin, dict) else (0, 0)
        return cls(
            id=rule["id"],
            group=pack["group"],
            phrases=written(rule.get("phrases", (rule["phrase"],) if "phrase" in rule else ())),
            pattern=rule.get("pattern", ""),
            question=rule.get("question"),
            quoted=rule.get("quoted", False),
            cancelled_by=tuple((name, _inline_classes(f"{{{name}}}", own)) for name in rule.get("cancelled_by", ())),
            unless_message=tuple(rule.get("unless_message", ())),
            unless_told=rule.get("unless_told", False),
            counts_after=tuple(rule.get("counts_after", ())),
            only_if=tuple(rule.get("only_if", {}).items()),
            is_crisis=rule.get("crisis", False),
            origin="learned" if isinstance(origin, dict) else origin,
            inside=inside,
            total=total,
            around={name: written(rule[name]) for name in CONTEXTS if rule.get(name)},
            is_own=is_own,
        )

    @property
    def contexts(self) -> list[tuple[str, ...]]:
        """The lists of phrases in its conditions."""
        return [*self.around.values(), *((phrase,) for _, phrase in self.cancelled_by)]


def _inline_classes(phrase: str, classes: Mapping[str, Sequence[str]]) -> str:
    """Return a phrase with some classes written out. Raises ValueError if they name each other or are too long."""
    for _ in range(8 if classes and "{" in phrase else 0):
        if classes.keys().isdisjoint(_CLASS.findall(phrase)):
            break
        phrase = _CLASS.sub(lambda c: "(" + "|".join(classes[c[1]]) + ")" if c[1] in classes else c[0], phrase)
        if len(phrase) > _LONGEST_WRITTEN:
            raise ValueError(f"has more than {_LONGEST_WRITTEN} characters with its word classes written out")
    if not classes.keys().isdisjoint(_CLASS.findall(phrase)):
        raise ValueError("names word classes that name each other")
    return phrase


class Match(NamedTuple):
    """A rule's match: its span in the normalised text, its clause, and what cancels it, if anything."""

    rule: Rule
    start: int
    end: int
    clause: tuple[int, int]
    by: str = ""
    words: str = ""

    def hit(self, text: Normalised, field: str) -> Hit:
        """Return the match as a hit that quotes the original text."""
        start, end = text.span(self.start, self.end)
        learned = (self.rule.inside, self.rule.total) if self.rule.total else ()
        return Hit(self.rule.id, text.original[start:end], field, start, end, learned, self.by, self.words)


class Table(NamedTuple):
    """The phrases and contexts of the packs that ship, compiled.

    `phrases` has the numbers of the phrases of each book's rules, by the names of the book and of the rule.
    `vocabulary` has the words that `Vocabulary` returns.
    """

    automaton: Automaton
    phrases: Mapping[str, Mapping[str, Sequence[int]]]
    vocabulary: frozenset[str]


def contexts_of_rules(rules: Iterable[Rule]) -> dict[str, Sequence[str]]:
    """Return the contexts of rules, as the lists of a network."""
    return {_context_list(context): context for rule in rules for context in rule.contexts}


def _context_list(context: Sequence[str]) -> str:
    return "\n".join(context)


class Book:
    """Rules that look in the same field, ready to be looked for."""

    def __init__(self, name: str, rules: Callable[[], Iterable[Rule]], classes: Classes, table: Table | None) -> None:
        """Take rules, whose phrases may be those of the book of this name in a table, and their contexts in it, too.

        They are made when the first text is read: many runs ask for no opt-in check.
        """
        self._make, self._name, self._classes, self._table = rules, name, classes, table
        self._contexts: dict[tuple[str, ...], Walker] = {}
        self._conditions: dict[Rule, _Conditions] = {}
        self._in_sentence = Cache(self._find, _MOST_SENTENCES)

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules."""
        return tuple(self._make())

    @cached_property
    def walkers(self) -> list[tuple[Walker, Mapping[int, Sequence[Rule]]]]:
        """What finds the phrases of the rules, with the rules by a phrase's number.

        Phrases that are not in the table are compiled. Raises ValueError for a phrase that cannot be read.
        """
        walkers: list[tuple[Walker, Mapping[int, Sequence[Rule]]]] = []
        of_number: dict[int, list[Rule]] = {}
        of_phrase: dict[str, list[Rule]] = {}
        known = self._table.phrases[self._name] if self._table else {}
        for rule in self.rules:
            if rule.id in known and not rule.is_own:
                for number in known[rule.id]:
                    of_number.setdefault(number, []).append(rule)
            else:
                for phrase in rule.phrases:
                    of_phrase.setdefault(phrase, []).append(rule)
        if self._table:
            walkers.append((Walker(self._table.automaton, self._name), of_number))
        if of_phrase:
            walkers.append((phrase_walker([*of_phrase], self._classes), dict(enumerate(of_phrase.values()))))
        return walkers

    @cached_property
    def _expressions(self) -> list[Rule]:
        return [rule for rule in self.rules if rule.pattern]

    def matches(self, text: Normalised, reading: Reading) -> dict[str, list[Match]]:
        """Return what the rules match in a text, cancelled or not, by group, each wording once.

        A sentence repeated word for word counts once for a rule (labelling guide, point 2).
        """
        held = {words: self._in_sentence[words] for words in dict.fromkeys(reading.sentences)}  # long: not cached
        hits = [(number, hit) for number, words in enumerate(reading.sentences) for hit in held[words]]
        if self._expressions:
            hits += chain.from_iterable(self._expression_hits(rule, text, reading) for rule in self._expressions)
            hits.sort(key=lambda one: (one[0], one[1].start))
        wordings = _duplicate_wordings(text, reading, {number for number, _ in hits})
        seen: set[tuple[str, int | str, int]] = set()
        found: dict[str, list[Match]] = {}
        for number, (rule, start, end, clause, cancelled_by, beside, matched) in hits:
            told = rule.id, wordings.get(number, number), start
            if told in seen:
                continue
            seen.add(told)
            span = matched or reading.span(number, start, min(end, start + LONGEST_EVIDENCE))
            by, words = cancelled_by, ""
            if not rule.quoted and text.is_quoted(*span):
                by = "quotation"
            elif by and beside[0] < beside[1]:  # the end of a clause has no words
                words = text.recorded(*reading.span(number, *beside))
            found.setdefault(rule.group, []).append(Match(rule, *span, (number, clause), by, words))
        return found

    def _find(self, words: tuple[str, ...]) -> Sequence[RuleHit]:
        """Return what the rules match in a sentence, read with the words that introduce a statement and without."""
        found = self._hits(words)
        openers = [hit for hit in found if hit.rule.group == OPENER and not hit.by]
        if not openers:
            return found
        bare, gone = [*words], set[int]()
        for hit in openers:
            is_aside = words[hit.start] in BOUNDARY or hit.end - hit.start == 1  # ", of course,"; "eventually"
            bare[hit.end - 1] = ","
            gone.update(range(hit.start, hit.end - (not is_aside)))
        kept = [at for at in range(len(words)) if at not in gone]
        hits = {hit[:3]: hit for hit in found}
        for hit in self._hits(tuple(map(bare.__getitem__, kept))):
            place = hit.rule, kept[hit.start], kept[hit.end - 1] + 1
            known = hits.get(place)
            if not hit.by and (known is None or known.by):
                hits[place] = RuleHit(*place, clause_start(words, place[1]))
        return sorted(hits.values(), key=itemgetter(1))

    def _hits(self, words: tuple[str, ...]) -> Sequence[RuleHit]:
        hits = [
            (rule, hit.start, hit.end)
            for one, rules in self.walkers
            for hit in one.find(words)
            for rule in rules.get(hit.phrase, ())
        ]
        hits.sort(key=itemgetter(1))
        found = [*filter(None, (self._judge(words, *hit) for hit in hits))]
        hedges = [hit for hit in found if hit.rule.group == HEDGE and not hit.by]
        return tuple(_hedged(words, hit, hedges) for hit in found) if hedges else tuple(found)

    def _judge(self, words: Sequence[str], rule: Rule, start: int, end: int) -> RuleHit | None:
        """Return a rule's match in a sentence with what cancels it; nothing if what the rule asks for is missing."""
        if rule.question is not None and rule.question != _is_asked(words, start, end):
            return None
        conditions = self._conditions.get(rule) or self._conditions_of(rule)
        if not conditions.stand(words, start, end):
            return None
        clause = clause_start(words, start)
        return RuleHit(rule, start, end, clause, *conditions.cancel(words, clause, start, end))

    def _expression_hits(self, rule: Rule, text: Normalised, reading: Reading) -> Iterator[tuple[int, RuleHit]]:
        """Yield what a rule's expression matches, without blanks around it, each with the number of its sentence."""
        from safe_gate.evaluators.synthesis.engine import patterns  # RE2, which only these need

        for start, end in patterns.match_spans(patterns.with_bare_words(rule.pattern), text):
            found = text.text[start:end]
            if found.strip():
                span = end - len(found.lstrip()), start + len(found.rstrip())
                number, first, last = reading.tokens_at(*span)
                if hit := self._judge(reading.sentences[number], rule, first, last):
                    yield number, hit._replace(span=span)

    def _conditions_of(self, rule: Rule) -> _Conditions:
        names = [(name, self._context((phrase,))) for name, phrase in rule.cancelled_by]
        around = {name: self._context(phrases) for name, phrases in rule.around.items()}
        found = self._conditions[rule] = _Conditions(names, around)
        return found

    def _context(self, phrases: tuple[str, ...]) -> Walker:
        if phrases not in self._contexts:
            table, name = self._table, _context_list(phrases)
            is_known = table and name in table.automaton.lists
            self._contexts[phrases] = (
                Walker(table.automaton, name) if table and is_known else phrase_walker(phrases, self._classes)
            )
        return self._contexts[phrases]


class RuleHit(NamedTuple):
    """A rule's match in the tokens of a sentence: the first one, the one after the last, the first one of its clause.

    `by` cancels it, with the tokens `beside`. `span` is what an expression matches in the text.
    """

    rule: Rule
    start: int
    end: int
    clause: int
    by: str = ""
    beside: tuple[int, int] = (0, 0)
    span: tuple[int, int] | None = None


def _hedged(words: Sequence[str], hit: RuleHit, hedges: Iterable[RuleHit]) -> RuleHit:
    """Return a match, cancelled if a hedge leaves it open. A team's rule has its own conditions alone."""
    if hit.by or hit.rule.is_own or hit.rule.group not in HEDGED:
        return hit
    first, end = _statement_start(words, hit.clause, hit.start), clause_end(words, hit.end)
    by = next((one for one in hedges if _leaves_open(words, one, hit, first, end)), None)
    return hit._replace(by=HEDGE, beside=(by.start, by.end)) if by else hit


def _leaves_open(words: Sequence[str], hedge: RuleHit, hit: RuleHit, first: int, end: int) -> bool:
    """Return whether a hedge leaves a match open, whose statement begins at `first` and whose clause ends at `end`.

    A single word does so before it in its statement, in it and right behind it, several do before it or at the end of
    its clause.
    """
    if hedge.end == first and words[hedge.start] not in BOUNDARY:  # "With luck, it works"
        return True
    if first <= hedge.start < hit.start and hedge.end <= hit.start + 1:  # both may have the same "that"
        is_first = (hedge.start, hedge.end) == (first, first + 1)  # "Perhaps he is tired and you are hurt"
        if is_first or not _LEADS_ON.isdisjoint(words[hedge.start : hit.start]):
            return True
        return _NEW_STATEMENT.isdisjoint(pairwise(words[hedge.end : hit.start + 2]))
    if not hit.start <= hedge.start <= end:
        return False
    between = words[hit.end : hedge.start]
    if hedge.start == end:  # "He loves you, I hope"
        return _NEW_STATEMENT.isdisjoint(pairwise(between))
    return hedge.end - hedge.start == 1 and len(between) <= _BESIDE and _JOINS.isdisjoint(between)


_NEW_STATEMENT = frozenset(
    ("and", who) for who in "i you he she it we they the your his her my our their there this nobody everyone".split()
)
_BESIDE = 2  # tokens between a match and a hedge behind it
_LEADS_ON = frozenset("that like as if though whether".split())  # "It seems that he is tired and you are hurt"
_JOINS = frozenset("and or because so as than whatever while that who which when how if even though matter".split())


def _is_asked(words: Sequence[str], start: int, end: int) -> bool:
    """Return whether tokens of a sentence are in a question.

    They are not if only a clause behind them asks, and asks something of its own: "You will be fine, shall I come?".
    Nor are they behind "you know", which takes them for granted: "You know he loves you, right?".
    """
    if "?" not in words[end - 1 :]:
        return False
    breaks = [at for at, word in enumerate(words) if word == ";" and _opens_question(*words[at + 1 : at + 3])]
    first = max((at + 1 for at in breaks if at < start), default=0)
    words, start, end = words[first : next((at for at in breaks if at >= end), None)], start - first, end - first
    if "?" not in words:
        return False
    clauses = [0, *(at + 1 for at, word in enumerate(words[:-1]) if word in BOUNDARY)]
    if any(_opens_question(*words[at : at + 2]) for at in clauses if at <= start):
        return True
    before = words[max(0, start - 3) : start]
    behind = (words[at : words.index("?", at)] for at in clauses if at >= end and "?" in words[at:])
    return not (before[-2:] == _GRANTED or before == (*_GRANTED, "that") or any(map(_asks_anew, behind)))


def _behind_number(words: Sequence[str]) -> int:
    """Return the first token of a sentence behind the number of a list's item, if it has one."""
    at = int(words[0] == "\n")
    return at + 2 if words[at + 1 : at + 2] == (".",) and words[at].isdigit() else 0


def _asks_anew(words: Sequence[str]) -> bool:
    """Return whether the words before a "?" are a question of their own or only "ok", not "is it" or "is that so"."""
    if len(words) < 2:
        return not _CONSENT.isdisjoint(words)
    first, *others = words[1:] if words[0] in _LINKS else words
    asks = len(others) > 1 and _opens_question(first, others[0]) and others[0] not in _BACK
    if not asks or not _BELIEF.isdisjoint(others):
        return False
    is_on_you = others[0] == "you" or first in ("how", "when", "where", "why")
    return is_on_you or len(others) >= _LONG_QUESTION or others[-1] not in _BACK


def _opens_question(first: str = "", second: str = "") -> bool:
    """Return whether a clause that begins with two words asks: "When is it" does, "When you get home" does not."""
    if first in _MAY_TELL:
        return second in _SUBJECTS
    return first in _OPENS_QUESTION and not (first in _MAY_JOIN and second in _SUBJECTS)


_MAY_TELL = frozenset({"do", "have"})  # "Do ring me"
_MAY_JOIN = frozenset("what who when where why how".split())
_SUBJECTS = frozenset("i you he she it we they this that the a an my your his her our their".split())
_OPENS_QUESTION = frozenset(
    "do does did is are was were am have has had can could will would shall should may might "
    "what how who whose which when where why want wanna fancy need care ready".split()
)
_CONSENT = frozenset("ok okay alright yeah yes".split())
_GRANTED = ("you", "know")
_LONG_QUESTION = 6  # tokens: the "it" at its end may be anything
_LINKS = frozenset("and so but now then".split())
_BACK = frozenset("that this it so not".split())
_BELIEF = frozenset(
    "think thinking say saying said believe mean sure afraid fear true right sound worried hoping hope doubt doubting "
    "wondering".split()
)


def _duplicate_wordings(text: Normalised, reading: Reading, numbers: Set[int]) -> dict[int, str]:
    """Return the wordings of those among some sentences, given by number, that have the tokens of another one."""
    counts = Counter(map(reading.sentences.__getitem__, numbers))
    twice = (number for number in numbers if counts[reading.sentences[number]] > 1)
    return {number: text.text[slice(*reading.bounds(number))].strip().lower() for number in twice}


class _Conditions(NamedTuple):
    """The conditions of a rule, ready to be looked for: see `Rule`."""

    cancelled_by: Sequence[tuple[str, Walker]]
    around: Mapping[str, Walker]

    def stand(self, words: Sequence[str], start: int, end: int) -> bool:
        """Return whether what must be beside a phrase stands there."""
        before, after = self.around.get("before"), self.around.get("after")
        if before and not before.ending(words, start):
            return False
        return not after or after.beginning(words, end) is not None

    def cancel(self, words: Sequence[str], clause: int, start: int, end: int) -> tuple[str, tuple[int, int]]:
        """Return what cancels a match in a clause of a sentence, and its tokens; "" if nothing does.

        What stands before "but" or "and I know" does not: "I can't promise much but you'll be fine" is a promise.
        """
        clause = _statement_start(words, clause, start)
        for name, phrases in self.cancelled_by:
            if found := phrases.first(words, clause, start):
                return name, (found.start, found.end)
        for name, phrases in self.around.items():
            match name:
                case "unless":
                    found = phrases.first(words, clause, clause_end(words, end))
                case "unless_near":
                    found = phrases.first(words, max(_behind_number(words), start - _NEAR), end + _NEAR)
                case "unless_before":
                    found = phrases.ending(words, start)
                case "unless_after":
                    found = phrases.beginning(words, end)
                case _:
                    continue
            if found:
                return "unless", (found.start, found.end)
        return "", (0, 0)


def _statement_start(words: Sequence[str], clause: int, at: int) -> int:
    """Return where the statement begins that a token of a clause is in."""
    return next((turn + 1 for turn in range(at - 1, clause, -1) if _turns(words, turn)), clause)


def _turns(words: Sequence[str], at: int) -> bool:
    """Return whether a token begins a statement of its own within a clause."""
    before, after = words[max(0, at - 2) : at], words[at + 1 : at + 2]
    if words[at] == "but":  # "can't help but hope", "tired but will be fine": the same statement goes on
        goes_on = not _GOES_ON.isdisjoint(after) and _VOUCHES.isdisjoint(words[at + 2 : at + 4])
        return not goes_on and before != ("not", "help") and _EXCEPT.isdisjoint(before[-1:])
    vouches = (words[at], *after) == ("and", "i") and not _VOUCHES.isdisjoint(words[at + 2 : at + 3])
    return vouches and (words[at + 3 : at + 4] != ("you",) or words[at + 4 : at + 5] == ("will",))


_EXCEPT = frozenset("nothing all none".split())
_GOES_ON = frozenset(
    "can could will would may might must should do does did not am is are was were has have had never also "
    "still just that hope wish".split()
)
_VOUCHES = frozenset("know promise guarantee bet swear certain sure confident".split())


def rule_faults(rules: Iterable[Rule], classes: Classes) -> Iterator[ValueError]:
    """Yield the problems of phrases, contexts and expressions of rules, each with its rule and field."""
    for rule in rules:
        if rule.pattern:
            from safe_gate.evaluators.synthesis.engine import patterns  # RE2, which only these need

            if why := patterns.refusal_reason(rule.pattern):
                yield ValueError(f"rule {rule.id}: pattern: RE2 refuses it: {why}; correct it, or write a phrase")
        fields = {"phrases": rule.phrases, **rule.around}
        fields["cancelled_by"] = tuple(phrase for _, phrase in rule.cancelled_by)
        for field, phrases in fields.items():
            try:
                phrase_walker(phrases, classes)
            except ValueError as error:
                yield ValueError(f"rule {rule.id}: {field} {error}")


class Vocabulary:
    """The words in the rules of packs, in lower case: from phrases and from the texts they promise to hit.

    Few texts ask about words, so they are collected when the first one does.
    """

    def __init__(self, packs: Iterable[JsonObject], classes: Classes, known: frozenset[str] = frozenset()) -> None:
        """Take packs, word classes, and words that are `known` already."""
        self._packs, self._classes, self._known = packs, classes, known

    def __contains__(self, word: object) -> bool:
        return word in self.words

    @cached_property
    def words(self) -> frozenset[str]:
        """All of the words."""
        texts = [*chain.from_iterable(self._classes.values())]
        for pack in self._packs:
            texts += chain.from_iterable(pack.get("classes", {}).values())
            for rule in pack["rules"]:
                texts += (rule[name] for name in ("phrase", "pattern") if name in rule)
                texts += chain.from_iterable(rule.get(name, ()) for name in ("phrases", "hit", *CONTEXTS))
        return self._known.union(_WORD.findall(_NO_WORD.sub(" ", " ".join(texts)).lower()))


def resolve_overlaps(matches: Iterable[Match]) -> list[Match]:
    """Return the matches in reading order; where they overlap the longest stays, then the first, then the lower id."""
    ranked = sorted(matches, key=lambda m: m.start)
    if all(match.end <= after.start for match, after in pairwise(ranked)):
        return ranked
    ranked.sort(key=lambda m: (m.start - m.end, m.start, m.rule.id))
    taken = bytearray(max(match.end for match in ranked))
    kept = []
    for match in ranked:
        if taken.find(1, match.start, match.end) < 0:
            taken[match.start : match.end] = b"\1" * (match.end - match.start)
            kept.append(match)
    return sorted(kept, key=lambda m: m.start)


def longest_overlapping(match: Match, kept: Sequence[Match]) -> Match:
    """Return the longest of those that `resolve_overlaps` kept that overlap a match that it did not keep."""
    first = bisect_right(kept, match.start, key=lambda m: m.end)
    end = bisect_left(kept, match.end, key=lambda m: m.start)
    return max(kept[first:end], key=lambda m: m.end - m.start)
