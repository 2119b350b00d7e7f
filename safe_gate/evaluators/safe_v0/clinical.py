"""Clinical matching: whether a note says that its patient has something now. Pure, and linear in the note.

An occurrence of a phrase counts if it is whole and affirmed. It is whole if it begins and ends where words, numbers and
units do. It is affirmed if no trigger covers it. `clinical.json` has the triggers, after the ConText method (Chapman
et al., A simple algorithm for identifying negated findings, 2001; Harkema et al., ConText, 2009).

- A trigger `before` covers what follows it in its sentence, one `after` covers what precedes it. `just` ends at a comma
  that no "or" or "nor" follows, `right` also after three words, `list` before a longer part between commas. A `word`
  trigger covers one word, with what hyphens join to it.
- One `before if` covers what follows it only in a sentence with an "if" after it. What `lifts` a trigger suspends it up
  to the end of the brackets or clause that it begins: "PMH: AF (on apixaban), COPD".
- `ends` end what a trigger covers: those of a kind for that kind, the others for all. A `new clause` ends it for all
  kinds but hypothetical: what follows "if" may be a whole clause.
- A trigger in brackets covers nothing after them. What covered the words before them goes on.
- `pseudo` are no triggers, though they hold the words of one. What follows them is affirmed: "no change in the rash".
- In a trigger, `{name}` stands for any of `words`, `#` for a number, `YYYY` for a year, `|` for the end of a clause,
  perhaps after adverbs. `?x` is a question mark that asks of the next word, `*` any word that is no trigger, `*ed` any
  word with that ending. Two `fillers` or words in -ly may stand between its words.
"""

from __future__ import annotations

import json
import re
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property, lru_cache
from hashlib import sha256
from itertools import chain, product
from pathlib import Path
from typing import NamedTuple

from safe_gate.core.text import normalise
from safe_gate.evaluators.safe_v0.result import Uncounted, UncountedReason

_FILE = Path(__file__).with_name("clinical.json")
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:'[^\W\d_]+)*|[^\w\s]")
_THOUSANDS, _YEAR = re.compile(r"\d{1,3}(?:,\d{3})+"), re.compile(r"(?:19|20)\d\d")
_INFLECTED = re.compile(r"(?=..?[aeiouy]|[aeiouy])(.{3,})(?:ing|(?<!e)ed)")
_PHRASE_PART = re.compile(r"\{([^{}]+)\}('s)?|([^ {}]+)")
_IGNORED = frozenset("-\u2014\"'")  # typography, which no phrase depends on
_JOINING = frozenset(".,:/-\u2014^")
_BEFORE_QUERY = frozenset(".,;:(")  # a blank may follow a question mark after these: "Imp: ? PE"
_LIMITS = frozenset("<>\u2264\u2265")
_UNBOUNDED = sys.maxsize
# How far the roles of triggers reach: the most words after a comma, and in all.
_FORWARD_REACH = {
    "before": (_UNBOUNDED, _UNBOUNDED),
    "before if": (_UNBOUNDED, _UNBOUNDED),
    "list before": (4, _UNBOUNDED),
    "just before": (0, _UNBOUNDED),
    "word before": (0, 0),
}
_BACKWARD_REACH = {"after": (_UNBOUNDED, _UNBOUNDED), "just after": (0, _UNBOUNDED), "right after": (0, 3)}
_CLAUSE_ENDS = frozenset(".,;)")
_OR = frozenset({"or", "nor"})
_IF = frozenset({"if", "unless"})
_WILD = _ANY, _ANY_PARTICIPLE = frozenset({"*"}), frozenset({"*ed"})
_MOST_FILLERS = 2
_LONGEST_QUOTE = 20  # characters on either side of a part


class _Effect(NamedTuple):
    """What a phrase of the table does: it begins or ends a scope of a kind, "" for all kinds."""

    kind: str
    role: str


class _TriggerHit(NamedTuple):
    """A phrase of the table in a text: its place in the words, what it does, and its words."""

    start: int
    end: int
    effects: tuple[_Effect, ...]
    words: str


class _Trigger(NamedTuple):
    """A phrase of the table: the words that may stand at each place, what it does, and where it counts.

    One that is final counts at the end of a clause alone, where no other counts.
    """

    words: tuple[frozenset[str], ...]
    effect: _Effect
    is_final: bool

    @property
    def rank(self) -> tuple[int, bool, bool]:
        """The place among phrases that begin with one word: the longest first, and of them the most specific."""
        return -len(self.words), not self.is_final, _ANY in self.words or _ANY_PARTICIPLE in self.words


class _TriggerTable(NamedTuple):
    """The phrases by each word that they may begin with, the words that are phrases, those for adverbs, and units."""

    by_first: Mapping[str, Sequence[_Trigger]]
    alone: frozenset[str]
    fillers: frozenset[str]
    units: frozenset[str]

    def skips(self, word: str) -> bool:
        """Return whether a word may stand between the words of a phrase."""
        return word.endswith("ly") or word in self.fillers


@cache
def _trigger_table() -> _TriggerTable:
    data = json.loads(_FILE.read_bytes())
    listed = [(_Effect("", role), data[role]) for role in ("ends", "nothing")]
    listed += [
        (_Effect(kind, "ends"), data["new clause"]) for kind in data["kinds"] if kind != UncountedReason.HYPOTHETICAL
    ]
    listed += [(_Effect(kind, role), some) for kind, roles in data["kinds"].items() for role, some in roles.items()]
    by_first: dict[str, list[_Trigger]] = {}
    for effect, some in listed:
        for typed in some:
            for words in _expand_phrase(typed.removesuffix(" |"), data["words"]):
                for first in words[0]:
                    by_first.setdefault(first, []).append(_Trigger(words, effect, typed.endswith("|")))
    for phrases in by_first.values():
        phrases.sort(key=lambda one: one.rank)
    alone = frozenset(word for word, some in by_first.items() if len(some[-1].words) == 1)
    return _TriggerTable(by_first, alone, frozenset(data["fillers"]), frozenset(data["units"]))


@lru_cache(maxsize=4096)  # most words begin no phrase, and most pairs of words are common
def _candidates(first: str, following: str) -> Sequence[_Trigger]:
    """Return the phrases that may begin with two words, in order."""
    table = _trigger_table()

    def may_go_on(words: tuple[frozenset[str], ...]) -> bool:
        return len(words) == 1 or following in words[1] or words[1] in _WILD or table.skips(following)

    return [phrase for phrase in table.by_first.get(first, ()) if may_go_on(phrase.words)]


def _expand_phrase(typed: str, classes: Mapping[str, Sequence[str]]) -> Iterator[tuple[frozenset[str], ...]]:
    """Yield the words that may stand at each place of a phrase, once for each member of a class with several words."""
    choices: list[list[tuple[frozenset[str], ...]]] = []
    for name, ending, word in _PHRASE_PART.findall(typed.replace("-", "")):
        members = [f"{one}{ending}".replace("-", "").split() for one in classes[name]] if name else [[word]]
        single = frozenset(one[0] for one in members if len(one) == 1)
        several = [tuple(frozenset([word]) for word in one) for one in members if len(one) > 1]
        choices.append([(single,), *several] if single else several)
    yield from (tuple(chain.from_iterable(chosen)) for chosen in product(*choices))


@cache
def triggers_digest() -> str:
    """Return the SHA-256 of the table of triggers."""
    return sha256(_FILE.read_bytes()).hexdigest()


class Occurrence(NamedTuple):
    """A place of a phrase in a recorded text, in code points, and why it does not count, if so."""

    start: int
    end: int
    uncounted: Uncounted | None


class Note:
    """A recorded text, or an expected phrase, as words. Case, dashes, quotes and blanks make no difference."""

    def __init__(self, recorded: str) -> None:
        self._normalised = normalise(recorded)
        self._text = self._normalised.text
        found = [one for one in _TOKEN.finditer(self._text) if one[0] not in _IGNORED]
        self._spans = [one.span() for one in found]
        pairs = zip(found, [None, *found], strict=False)
        self._words = [_normalise_token(one, before, self._text) for one, before in pairs]

    def occurrences(self, phrase: Note) -> Iterator[Occurrence]:
        """Yield where a phrase occurs, its last word perhaps in another form. Occurrences do not overlap.

        Where none has its words, yield the first place that has its letters, as a part of longer words.
        """
        size, free = len(phrase._words), 0
        for last in self._places.get(_stem(phrase._words[-1]), ()) if size else ():
            start, end = last + 1 - size, last + 1
            if start >= free and self._words[start:last] == phrase._words[:-1]:
                free = end
                span = self._normalised.span(self._spans[start][0], self._spans[last][1])
                yield Occurrence(*span, self._partial(start, end) or self._covering_trigger(start, end, phrase))
        sought = "" if free else _lower_same_length(phrase._text.strip())
        begin = _lower_same_length(self._text).find(sought) if sought else -1
        if begin >= 0:
            end = begin + len(sought)
            is_part = bool(phrase._words)  # signs alone are whole
            yield Occurrence(
                *self._normalised.span(begin, end), _partial_word(self._text, begin, end) if is_part else None
            )

    def affirms(self, phrase: Note) -> tuple[bool, Uncounted | None]:
        """Return whether the note affirms a phrase, and if not, why its first occurrence does not count."""
        why = None
        for one in self.occurrences(phrase):
            if one.uncounted is None:
                return True, None
            why = why or one.uncounted
        return False, why

    @cached_property
    def _places(self) -> Mapping[str, Sequence[int]]:
        """The places of words by their stems."""
        places: dict[str, list[int]] = {}
        for place, word in enumerate(self._words):
            places.setdefault(_stem(word), []).append(place)
        return places

    def _partial(self, start: int, end: int) -> Uncounted | None:
        """Return the longer word, number, range or unit that words are a part of, None if they are whole."""
        text, begin, stop = self._text, self._spans[start][0], self._spans[end - 1][1]
        before, after, last = text[max(0, begin - 2) : begin], text[stop : stop + 2], self._words[end - 1]
        is_part = False
        if before and self._is_number(start):
            is_decimal = before[-1] == "." and not before[:-1].strip()
            is_letter = before[-1].isalpha() and not (before[0].isdigit() and before[1:] in ("x", "X"))
            is_part = is_letter or (before[-1] in _JOINING and (before[0].isdigit() or is_decimal))
            is_part = is_part or (start > 0 and self._words[start - 1] in _LIMITS)
        if after and self._is_number(end - 1):
            is_part |= after[0] in _JOINING and after[1:].isdigit()
            is_part |= after[0].isalpha() and self._words[end] not in _trigger_table().units
        elif after:
            is_measured = end - start > 1 and self._is_number(end - 2) and last in _trigger_table().units
            is_measured &= self._words[end + 2 : end + 3] != [last]  # "500mg/125mg"
            is_part |= after[0].isdigit() or (is_measured and after[0] == "/" and after[1:].isalnum())
        return _partial_word(text, begin, stop) if is_part else None

    def _is_number(self, place: int) -> bool:
        return self._words[place][0].isdigit()

    def _covering_trigger(self, start: int, end: int, phrase: Note) -> Uncounted | None:
        """Return the trigger that covers words, None if they are affirmed. "no fever" has its own negation."""
        for kind, covers in self._covers.items():
            for cover in covers if kind not in phrase._kinds else ():
                if cover[start] and (cover[end - 1] or self._words[start - 1] == "non"):  # "non-productive cough"
                    return Uncounted("", UncountedReason(kind), trigger=cover[start])
        return None

    @cached_property
    def _kinds(self) -> frozenset[str]:
        """The kinds of triggers that the text holds."""
        effects = (effect for found in self._trigger_hits for effect in found.effects)
        return frozenset(effect.kind for effect in effects if effect.role in (*_FORWARD_REACH, *_BACKWARD_REACH))

    @cached_property
    def _breaks(self) -> tuple[frozenset[int], frozenset[int], frozenset[int]]:
        """The words that begin a sentence, that begin an entry of a list below its heading, and that follow a dash."""
        text, sentences, entries, dashed = self._text, set[int](), set[int](), set[int]()
        starts = deque(start for start, _ in self._normalised.sentences)
        before, is_listed = 0, False
        for place, (begin, end) in enumerate(self._spans):
            gap, before = text[before:begin], end
            if starts and begin >= starts[0]:
                while starts and begin >= starts[0]:
                    starts.popleft()
                if self._words[max(0, place - 1)] == "?x" or (text[begin].islower() and self._ends_with_initial(place)):
                    continue  # "? PE", "C. diff"
                is_entry = gap.strip() in ("-", "\u2014") or self._words[place] in ("*", "\u2022")
                is_listed = is_entry and place > 0 and (is_listed or self._words[place - 1] == ":")
                (entries if is_listed else sentences).add(place)
            elif "\u2014" in gap or " - " in gap:
                dashed.add(place)
        return frozenset(sentences), frozenset(entries), frozenset(dashed)

    def _ends_with_initial(self, end: int) -> bool:
        """Return whether a single letter and a full stop stand before a word."""
        return end > 1 and self._words[end - 1] == "." and len(self._words[end - 2]) == 1

    @cached_property
    def _trigger_hits(self) -> Sequence[_TriggerHit]:
        """The phrases of the table, the longest at each place. None overlap, and none goes beyond a cut."""
        words, found, place = self._words, list[_TriggerHit](), 0
        keys = ["YYYY" if _YEAR.fullmatch(word) else "#" if word[0].isdigit() else word for word in words]
        cuts = frozenset[int]().union(*self._breaks, (len(words),))
        while place < len(words):
            best, end = list[_Trigger](), place + 1
            for phrase in _candidates(keys[place], keys[end] if end < len(words) else ""):
                if best and phrase.rank != best[0].rank:
                    break
                if stop := self._match_end(phrase, keys, place, cuts):
                    best.append(phrase)
                    end = stop
            if best:
                is_conditional = place in self._conditional
                effects = tuple(one.effect for one in best if is_conditional or one.effect.role != "before if")
                found.append(_TriggerHit(place, end, effects, self._matched_text(keys, place, end)))
            place = end
        return found

    def _matched_text(self, keys: Sequence[str], start: int, end: int) -> str:
        """Return words as the text writes them, in lower case and with "#" and "YYYY" for numbers and years."""
        places = range(start + 1, end)
        rest = (self._text[self._spans[place - 1][1] : self._spans[place][0]] + keys[place] for place in places)
        return "".join((keys[start], *rest)).replace("?x", "?").replace("\n", " ")

    def _match_end(self, phrase: _Trigger, keys: Sequence[str], start: int, cuts: frozenset[int]) -> int:
        """Return where a phrase ends that starts at a word, 0 if none does: there is no cut within it.

        Adverbs do not keep its words apart: "could not be definitively ruled out".
        """
        table, at, skipped = _trigger_table(), start, 0
        for some in phrase.words:
            while start < at < len(keys) and keys[at] not in some and skipped < _MOST_FILLERS and table.skips(keys[at]):
                at, skipped = at + 1, skipped + 1
            if at == len(keys) or (at > start and at in cuts):
                return 0
            is_any = some == _ANY and keys[at].isalpha() and keys[at] not in table.alone
            if not (is_any or keys[at] in some or (some == _ANY_PARTICIPLE and keys[at].endswith("ed"))):
                return 0
            at += 1
        closes = at
        while phrase.is_final and closes not in cuts and table.skips(keys[closes]):
            closes += 1  # "absent bilaterally"
        is_closed = not phrase.is_final or closes in cuts or keys[closes] in _CLAUSE_ENDS
        return at if is_closed else 0

    @cached_property
    def _covers(self) -> Mapping[UncountedReason, tuple[Sequence[str], Sequence[str]]]:
        """By kind, for each word the trigger before it and the one after it that cover it, "" for none."""
        return {
            kind: (self._cover_forward(kind), self._cover_backward(kind))
            for kind in UncountedReason
            if kind in self._kinds
        }

    @cached_property
    def _commas(self) -> Mapping[int, int]:
        """The commas, with the number of words up to the next comma or end; 0 if an "or" follows in the sentence."""
        found, is_list, end = dict[int, int](), False, len(self._words)
        for place in range(len(self._words) - 1, -1, -1):
            is_list = is_list or self._words[place] in _OR
            if self._words[place] == ",":
                found[place], end = 0 if is_list else end - place - 1, place
            if place in self._breaks[0]:
                is_list, end = False, place
        return found

    @cached_property
    def _conditional(self) -> frozenset[int]:
        """The words that an "if" follows in their sentence."""
        found, is_conditional = set[int](), False
        for place in range(len(self._words) - 1, -1, -1):
            if is_conditional:
                found.add(place)
            is_conditional = place not in self._breaks[0] and (is_conditional or self._words[place] in _IF)
        return frozenset(found)

    def _cover_forward(self, kind: str) -> Sequence[str]:
        sentences, _, dashed = self._breaks
        begins = {found.start: found for found in self._trigger_hits}
        cover, scope, lifted_until = list[str](), _NO_SCOPE, frozenset[str]()
        outside: _Scope | None = None  # what covers the words before brackets, and after them
        for place, word in enumerate(self._words):
            found = begins.get(place)
            if place in sentences or place in dashed:
                scope, outside, lifted_until = _NO_SCOPE, None, frozenset()
            if word == "(" and not found:
                outside = scope
            elif word == ")" and outside:
                scope, outside = outside, None
            is_lifted = found is not None and _Effect(kind, "lifts") in found.effects
            if scope.trigger and not is_lifted:
                if self._is_joined(place):
                    scope = scope._replace(left=scope.left + 1)  # of a hyphenated word, the first one counts
                scope = scope.at(found, kind, self._commas.get(place, 0), is_or=word in _OR)
            if is_lifted:
                lifted_until = frozenset(")") if word == "(" else _CLAUSE_ENDS
            elif word in lifted_until:
                lifted_until = frozenset()
            cover.append("" if lifted_until else scope.trigger)
            if found:
                scope = scope.after(found, kind, _FORWARD_REACH)
        return cover

    def _is_joined(self, place: int) -> bool:
        """Return whether a hyphen or the prefix "non" joins a word to the one before it."""
        return self._words[place - 1] == "non" or self._text[self._spans[place - 1][1] : self._spans[place][0]] == "-"

    def _cover_backward(self, kind: str) -> Sequence[str]:
        sentences, _, dashed = self._breaks
        ends = {found.end - 1: found for found in self._trigger_hits}
        begins = {found.start: found for found in self._trigger_hits}
        cover, scope = list[str](), _NO_SCOPE
        for place in range(len(self._words) - 1, -1, -1):
            if scope.trigger:
                scope = scope.at(ends.get(place), kind, self._commas.get(place, 0), is_or=self._words[place] in _OR)
            cover.append(scope.trigger)
            if found := begins.get(place):
                scope = scope.after(found, kind, _BACKWARD_REACH)
            # A dash or a colon may lead to a trigger: "Fever - none."
            is_apart = place in dashed or self._words[place - 1 : place] == [":"]
            if place in sentences or (is_apart and not found):
                scope = _NO_SCOPE
        return cover[::-1]


class _Scope(NamedTuple):
    """The trigger that covers what comes next, "" for none, and how far: words after a comma, words in all."""

    trigger: str
    after_comma: int = _UNBOUNDED
    left: int = _UNBOUNDED

    def at(self, found: _TriggerHit | None, kind: str, part: int, *, is_or: bool) -> _Scope:
        """Return the scope at a word. A phrase that begins there may end the scope.

        `part` is the number of words after a comma. After an "or", a list is at its end.
        """
        is_over = part > self.after_comma or not self.left
        effects = found.effects if found else ()
        if is_over or any(one.role in ("ends", "pseudo") and one.kind in ("", kind) for one in effects):
            return _NO_SCOPE
        return _Scope(self.trigger, 0 if is_or else self.after_comma, self.left - 1)

    def after(self, found: _TriggerHit, kind: str, roles: Mapping[str, tuple[int, int]]) -> _Scope:
        """Return the scope after a word. A trigger that begins there may open one."""
        for one in found.effects:
            if one.kind == kind and one.role in roles:
                return _Scope(found.words, *roles[one.role])
        return self


_NO_SCOPE = _Scope("")


def _normalise_token(found: re.Match[str], before: re.Match[str] | None, text: str) -> str:
    """Return a word, number or sign as it is compared. `before` is the one before it."""
    typed, following = found[0].lower(), text[found.end() : found.end() + 2]
    if before is None or before[0] in _BEFORE_QUERY:
        following = following.removeprefix(" ")
    if typed == "?" and following[:1].isalnum():
        return "?x"
    return typed.replace(",", "") if _THOUSANDS.fullmatch(typed) else typed


def _lower_same_length(text: str) -> str:
    """Return a text in lower case, of the same length: one capital letter has two small ones."""
    return text.replace("\u0130", "I").lower()


def _stem(word: str) -> str:
    """Return a word without the ending of its form.

    >>> [_stem(word) for word in ("allergies", "allergy", "vomited", "stopping", "bleed", "bleeding", "500")]
    ['allergy', 'allergy', 'vomit', 'stop', 'bleed', 'bleed', '500']
    """
    word = word.removesuffix("'s")
    if len(word) < 3 or not word[0].isalpha():
        return word
    if word.endswith("ies"):
        word = word[:-3] + "y"
    elif word.endswith(("ses", "shes", "ches", "xes", "zes", "sis")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    elif form := _INFLECTED.fullmatch(word):
        word = form[1]
    word = word[:-1] if len(word) > 3 and word[-1] == word[-2] else word
    return word.removesuffix("e")


def _partial_word(text: str, begin: int, end: int) -> Uncounted:
    """Return the reason that a part of a text is not whole: the longer text around it."""
    before, after = text[max(0, begin - _LONGEST_QUOTE) : begin], text[end : end + _LONGEST_QUOTE]
    start = 1 + max(before.rfind(" "), before.rfind("\n"))
    stop = min(place for place in (after.find(" "), after.find("\n"), len(after)) if place >= 0)
    return Uncounted("", UncountedReason.PART, within=before[start:] + text[begin:end] + after[:stop])


def match_phrases(
    needles: Sequence[str], notes: Sequence[Note]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[Uncounted, ...]]:
    """Return the phrases that notes affirm, those that they do not, and why an occurrence of these does not count."""
    found, missing, uncounted = list[str](), list[str](), list[Uncounted]()
    for needle in needles:
        phrase = Note(needle)
        told = [note.affirms(phrase) for note in notes]
        if any(is_affirmed for is_affirmed, _ in told):
            found.append(needle)
            continue
        missing.append(needle)
        uncounted += [replace(why, phrase=needle) for _, why in told if why][:1]
    return tuple(found), tuple(missing), tuple(uncounted)
