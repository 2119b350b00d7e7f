"""Clinical matching: whether a note says that its patient has something now. Pure, and linear in the note.

An occurrence of a phrase counts if it is whole and affirmed. It is whole if it begins and ends where words, numbers and
units do. It is affirmed if no trigger covers it. `clinical.json` has the triggers, after the ConText method (Chapman
et al., A simple algorithm for identifying negated findings, 2001; Harkema et al., ConText, 2009).

- A trigger `before` covers what follows it in its sentence, one `after` covers what precedes it. `just` ends at a comma
  that no "or" or "nor" follows, `right` also after three words, `list` before a longer part between commas. A `word`
  trigger covers one word, with what hyphens join to it. A `list after` one passes commas if "and" ends the list, one if
  a colon does, up to what may be a clause: "Rash, cough and fever denied", not "Chest clear, cough and fever denied".
- One `before if` or `after if` covers only in a sentence with an "if" after it. What `lifts` a trigger suspends it up
  to the end of the brackets or clause that it begins: "PMH: AF (on apixaban), COPD".
- `ends` end what a trigger covers: those of a kind for that kind, the others for all. A `new clause` ends it for all
  kinds but hypothetical: what follows "if" may be a whole clause.
- A heading ends in a colon or an open word such as "of", or is a trigger. A trigger that covers the end of a heading
  covers each item of the list below. A `just` trigger must end there, too: "Is not well:" covers no item.
- A trigger in brackets covers nothing after them. What covered the words before them goes on.
- `pseudo` are no triggers, though they hold the words of one. "No change in the rash" affirms a rash, but no change.
  `nothing` has phrases that neither begin nor end anything, though they hold the words of one that does.
- In a trigger, `{name}` stands for any of `words`, `#` for a number, `YYYY` for a year, `^` for the start of a
  sentence, an item or what follows a semicolon, `|` for the end of a clause, perhaps after adverbs. `?x` is a question
  mark that asks of the next word, `*` any word that is no trigger, `*ed` any word with that ending. Two `fillers` or
  words in -ly may stand between its words.
"""

from __future__ import annotations

import json
import re
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from safe_gate.core.text import normalise, stem
from safe_gate.core.text.characters import LINES_OF_HTML
from safe_gate.core.text.mapped_text import Normalised
from safe_gate.evaluators.safe_v0.result import Uncounted, UncountedReason

_FILE = Path(__file__).with_name("clinical.json").read_bytes()
TRIGGERS_DIGEST = sha256(_FILE).hexdigest()
"""The SHA-256 of the table of triggers."""
_TABLE = json.loads(_FILE)
_FILLERS, _UNITS = frozenset(_TABLE["fillers"]), frozenset(_TABLE["units"])
# What begins a line and is no word of it: the signs of a heading, a quotation or an item of a list.
_MARK = r"""(?m:^)(?:
    (?:[*\u00b7] | \#{1,6} | \+(?!\ ve\b) | >(?!\ ?\d+(?![.)]\s|\d)))\s
  | (?:\(?(?:[12]?\d|[a-z])\) | (?:[12]?\d|[ivx]{1,4})\.)\s
  | [-\u2014\u2022\u2023\u25aa\u25cb\u25cf\u25e6](?:\s|(?=[^\W\d_]))
)+(?=\S)"""
_MARKS, _HTML_ITEM = re.compile(_MARK, re.VERBOSE), re.compile(r"(?i:<li\b[^<>]*>)")
# What no phrase goes across: a heading or bold line, an empty line, and a tag of HTML that begins a block.
_BLOCK = re.compile(
    rf"""(?im)^[^\S\r\n]*(?:\#{{1,6}}\ [^\r\n]* | (?:\*\*[^*\r\n]+\*\*|__[^_\r\n]+__)[^\S\r\n]*+(?=[\r\n]))
  | (?>\r\n?|\n)[^\w\r\n]*+[\r\n] | \u2029 | <br\b[^<>]*>\s*<br\b | </?(?!br\b)(?:{LINES_OF_HTML})\b""",
    re.VERBOSE,
)
_FIRST_CELL = re.compile(r"(?m:^)\|([^|\n]*)\|(?=.*\|)")
# A break after words that end no sentence, or before "> 38" with a unit of temperature, "or", "and" or a mark.
_UNFINISHED = re.compile(
    rf"""(?:
    (?:(?m:^) | (?<=[^\W\d_]\ ))
    (?:an?|above|any|are|at|below|[Dd]enies|for|had|has|have|her|his|[Ii]f|is|of|or|over|than|the|their|to|under
      |was|were|with|[Ww]ithout | (?:are|but|had|has|have|is|was|were|with)\ not?)
  | (?<=[^.!?:;\n])(?=\n>\ ?\d+(?:[.,]\d+)? (?:\ ?\u00b0?[CFc]\b | \ (?:or|and)\b | [.,;)](?!\d) | \n | \Z))
)\n(?!{_MARK})(?=[a-z\d<>\u2264\u2265])""",
    re.VERBOSE,
)
# Of signs that mean the same, the one to compare: for the micro sign, a minus, lowered digits and a raised point.
_SIGNS, _POINT = str.maketrans("\xb5\u2212₀₁₂₃₄₅₆₇₈₉", "\u03bc-0123456789"), re.compile(r"(?<=\d)\u00b7(?=\d)")
_TOKEN = re.compile(r"\d+(?:(?:[.,]|'(?=\d{3}))\d+)*|[^\W\d_]+(?:'[^\W\d_]+)*|[^\w\s]")
_IGNORED = frozenset("-\u2014\"'")  # typography, which no phrase depends on
_THOUSANDS, _YEAR = re.compile(r"\d{1,3}(?:[,']\d{3})+"), re.compile(r"(?:19|20)\d\d")
# "?PE", "Imp: ? PE" and "Cough ? cause", but neither "Cough ? No" nor "Any cough ? She says no".
_ANSWERS = "awaiting|denie[ds]|ex|he|i|maybe|n|never|nil|no|none|nope|not|she|they|un(?:clear|known|sure)|we|will|y|yes"
_ASKING = re.compile(
    r"\?(?=[^\W_])|(?m:^|(?<=[.,;:(])|(?<=[^\w\s]\s)|(?<=\s)(?=\? (?:[a-z]|[A-Z](?![a-z]))))"
    rf"\?(?= (?!(?i:{_ANSWERS})\b)[^\W_])"
)
_INITIAL, _LONE = re.compile(r"(?<![\w.])\w\.\s?\Z"), re.compile(r"\s*[^\W\d_]\.\s*")
# What makes a number go on before it and after it, and what makes a unit go on: "1-5" or "<5" but not "2x5", "mg/kg".
_BEFORE_NUMBER = re.compile(r"(?:\d[.,:/\u2014^-]|(?<!\S)\.|[^\W\d_](?<!\d[xX])|[<>\u2264\u2265]\s?)\Z")
_AFTER_NUMBER, _AFTER_UNIT = re.compile(r"[.,:/\u2014^-]\d"), re.compile(r"/[^\W_]")
_CLAUSE_ENDS, _STOPS = frozenset(".,;)"), frozenset(".!?")
_OR, _IF = frozenset({"or", "nor"}), frozenset({"if", "unless"})
_OPEN = frozenset({"any", "denies", "following", "for", "if", "of", "with", "without"})  # words that end a heading
_COORDINATORS = frozenset({",", ":", "and", "hence", "or", "so", "then", "therefore"})
_LINKS = frozenset({"be", "been", "of", "to"})
_CLAUSES = ("is", "went_on", "goes_on", "stays", "shows", "by", "found", "state", "fine", "over")
_CLAUSAL = {"and", ":", "#", *(word for name in _CLAUSES for word in _TABLE["words"][name])}  # may make a part a clause
_MOST_FILLERS = 2
_FARTHEST = 30  # words behind a negation that undoes another one
_PART = 3  # the most words between two commas of a list that a trigger behind it covers
_LONGEST_QUOTE = 20  # characters on either side of a part
_DEEPEST = 20  # blanks before a line
_SENTENCE, _ITEM, _DASH, _COLON = "sentence", "item of a list below its heading", "dash", "colon"
# How far the roles of triggers reach, forward and backward: the most words after a comma, in all, in a list's parts.
_FORWARD, _BACKWARD, _ALL = 1, -1, sys.maxsize
_REACHES: Mapping[int, Mapping[str, tuple[int, ...]]] = {
    _FORWARD: {"before": (_ALL, _ALL), "list before": (4, _ALL), "just before": (0, _ALL), "word before": (0, 0)},
    _BACKWARD: {"after": (_ALL, _ALL), "list after": (0, _ALL, _PART), "just after": (0, _ALL), "right after": (0, 3)},
}
_BOTH_WAYS = {"ends", "pseudo", _SENTENCE, _DASH}
_ENDS = {_FORWARD: {*_BOTH_WAYS, "lifts"}, _BACKWARD: {*_BOTH_WAYS, _ITEM, _COLON}}


_Effect = tuple[str, str]
"""What a phrase of the table does: a kind of triggers, "" for all kinds, and its role for them."""


class _State:
    """What phrases of the table that begin alike do if they end here, and how they go on."""

    def __init__(self, *, is_specific: bool = True) -> None:
        self.is_specific = is_specific  # without "*" and "*ed"
        self.effects: list[_Effect] = []
        self.following: dict[str, list[_State]] = {}  # by the next word
        self._by_part: dict[str, _State] = {}

    def after(self, part: str) -> _State:
        """Return the state after a word, or after any of a class of words or of phrases, perhaps with an ending."""
        if part not in self._by_part:
            self._by_part[part] = _State(is_specific=self.is_specific and not part.startswith("*"))
            name, _, ending = part.removeprefix("{").partition("}")
            for member in _TABLE["words"][name] if part.startswith("{") else [part]:
                *words, last = f"{member}{ending}".replace("-", " ").split()
                state = self
                for word in words:
                    state.following.setdefault(word, []).append(_State())
                    state = state.following[word][-1]
                state.following.setdefault(last, []).append(self._by_part[part])
        return self._by_part[part]


@cache
def _phrases() -> _State:
    """Return the phrases of the table that begin or end a scope."""
    start = _State()
    for kind, roles in (("", _TABLE["all kinds"]), *_TABLE["kinds"].items()):
        for role, some in roles.items():
            for phrase in some:
                state = start
                for part in phrase.split():
                    state = state.after(part)
                state.effects.append((kind, role))
    return start


def _is_phrase(word: str) -> bool:
    """Return whether a word alone is a phrase of the table."""
    return any(state.effects for state in _phrases().following.get(word, ()))


def _is_skipped(word: str) -> bool:
    """Return whether a word may stand between the words of a phrase."""
    return word.endswith("ly") or word in _FILLERS


class Occurrence(NamedTuple):
    """A place of a phrase in a recorded text, in code points, and why it does not count, if so."""

    start: int
    end: int
    uncounted: Uncounted | None


class _Unit(NamedTuple):
    """A phrase of the table in a text, a word outside of them, or a break: its place in the words, and what it does.

    `word` is its first word, "" for a break. A hyphen or "non" may join it to what is before it.
    """

    start: int
    end: int
    word: str
    effects: Sequence[_Effect]
    is_joined: bool = False


class _Scope(NamedTuple):
    """The trigger that covers what comes next, if any, and how far: words after a comma, in all, in a list's parts."""

    trigger: _Unit | None
    after_comma: int = _ALL
    left: int = _ALL
    parts: int = 0


_NO_SCOPE = _Scope(None)


def read_lines(recorded: str) -> tuple[Normalised, Mapping[int, tuple[int, str]]]:
    """Return a text without the marks of its lines, and where items of lists begin, each with its indentation and mark.

    Marks become breaks, and a line that ends in "of" goes on.
    """
    whole = normalise(_HTML_ITEM.sub(lambda tag: "\n- ".ljust(len(tag[0])), recorded))
    text = _UNFINISHED.sub(lambda found: f"{found[0][:-1]} ", whole.text)
    marks = [found for found in _MARKS.finditer(text) if "#" not in found[0]]
    items = {found.end(): (_indentation(whole, found.start()), re.sub(r"[\w\s]+", "", found[0])) for found in marks}
    return replace(whole, text=_MARKS.sub(lambda found: "\n".rjust(len(found[0])), text)), items


def uniform_signs(text: str) -> str:
    """Return a text of the same length in which signs that mean the same are one: a minus, 0\u00b75, SpO\u2082."""
    return _POINT.sub(".", text.translate(_SIGNS))


def block_ends(recorded: str) -> Sequence[int]:
    """Return where blocks of a text begin or end, in order: headings, paragraphs and what HTML sets apart."""
    return sorted({place for found in _BLOCK.finditer(recorded) for place in found.span()})


def _indentation(text: Normalised, place: int) -> int:
    """Return how many blanks begin the recorded line of a place near its start."""
    at = text.starts[place]
    _, is_line, before = text.original[max(0, at - _DEEPEST) : at].rpartition("\n")
    return len(before) - len(before.lstrip()) if is_line or at <= _DEEPEST else 0


class Note:
    """A recorded text, or an expected phrase, as words. Case, dashes, quotes and blanks make no difference."""

    def __init__(self, recorded: str) -> None:
        self._normalised, self._items = read_lines(recorded)
        text = _FIRST_CELL.sub(r" \1:", self._normalised.text)  # which labels its row
        self._text = uniform_signs(text)
        self._lowered = self._text.replace("\u0130", "I").lower()  # U+0130 would become two letters
        found = [one for one in _TOKEN.finditer(self._text) if one[0] not in _IGNORED]
        self._spans = [one.span() for one in found]
        self._words = [_comparable(one) for one in found]
        self._typed = self._in_own_letters()
        self._keys = ["YYYY" if _YEAR.fullmatch(one) else "#" if one[0].isdigit() else one for one in self._words]
        ends = (0, *(end for _, end in self._spans))
        self._gaps = [self._text[end:start] for end, (start, _) in zip(ends, self._spans, strict=False)]
        self._breaks, self._lists = self._structure()

    def occurrences(self, phrase: Note) -> Iterator[Occurrence]:
        """Yield where a phrase occurs, its last word perhaps in another form. Occurrences do not overlap.

        Where none has its words, yield the first place that has its letters, as a part of longer words.
        """
        size, free, found = len(phrase._words), 0, list[int]()
        lasts = {stem(words[-1]) for words in (phrase._words, phrase._typed) if words}
        for last in sorted({place for one in lasts for place in self._places.get(one, ())}):
            start, end = last + 1 - size, last + 1
            is_said = self._words[start:last] == phrase._words[:-1] or self._typed[start:last] == phrase._typed[:-1]
            if start >= free and is_said:
                free = end
                found += [start] if phrase._blocks or not self._has_block(start, end) else []
        after, occurrences = 0, list[Occurrence]()
        for start in reversed(found):
            end = start + size
            why = self._partial(start, end) or self._cancelled(start, end, phrase)
            for one in self._covers.get(UncountedReason.NEGATED, ()) if occurrences and self._words[end] == ":" else ():
                if (trigger := one[after]) and trigger.start == end + 1:
                    why = why or occurrences[-1].uncounted  # "Fever: no fever."
            span = self._normalised.span(self._spans[start][0], self._spans[end - 1][1])
            occurrences.append(Occurrence(*span, why))
            after = start
        yield from reversed(occurrences)
        sought = phrase._lowered.strip()
        begin = self._lowered.find(sought) if sought and not free else -1
        if begin >= 0:
            end = begin + len(sought)  # signs alone are whole
            yield Occurrence(*self._normalised.span(begin, end), self._longer(begin, end) if size else None)

    @cached_property
    def _places(self) -> Mapping[str, Sequence[int]]:
        places: dict[str, list[int]] = {}
        for place, words in enumerate(zip(self._words, self._typed, strict=True)):
            for word in {*words}:
                places.setdefault(stem(word), []).append(place)
        return places

    def _in_own_letters(self) -> Sequence[str]:
        """Return the words with letters of other alphabets as recorded.

        Whether these pass for ASCII ones depends on the text around them, so a Greek word alone may be read in another
        way than in a sentence.
        """
        if not self._normalised.disguised:
            return self._words
        recorded = map(self._normalised.original.__getitem__, self._normalised.starts)
        pairs = zip(recorded, self._text, strict=True)
        own = "".join(was if "\u0370" <= was <= "\u1cff" and "@" < now <= "z" else now for was, now in pairs)
        words = zip(self._words, self._spans, strict=True)
        return [own[begin:end].lower() if word[0].isalpha() else word for word, (begin, end) in words]

    @cached_property
    def _blocks(self) -> Sequence[int]:
        """Where blocks of the recorded text begin or end, and where items begin, not quoted lines, in order."""
        items = (self._normalised.starts[place] for place, (_, mark) in self._items.items() if mark != ">")
        return sorted({*block_ends(self._normalised.original), *items})

    def _has_block(self, start: int, end: int) -> bool:
        """Return whether a block or an item begins or ends between words."""
        first, last = self._normalised.span(self._spans[start][0], self._spans[end - 1][1])
        return bisect_right(self._blocks, first) < bisect_left(self._blocks, last)

    def _partial(self, start: int, end: int) -> Uncounted | None:
        """Return the longer word, number, range or unit that words are a part of, None if they are whole."""
        begin, stop, last = self._spans[start][0], self._spans[end - 1][1], self._words[end - 1]
        before, after = self._text[max(0, begin - 3) : begin], self._text[stop : stop + 2]
        low, high = start - self._joined(start), end + self._joined(end)
        is_part = self._words[start][0].isdigit() and _BEFORE_NUMBER.search(before) is not None
        if last[0].isdigit():
            is_part |= _AFTER_NUMBER.match(after) is not None
            is_part |= after[:1].isalpha() and self._words[end] not in _UNITS
        else:
            is_part |= after[:1].isdigit()
            is_dose = last in _UNITS and end - start > 1 and self._words[end + 2 : end + 3] != [last]  # "500mg/125mg"
            is_part |= is_dose and _AFTER_UNIT.match(after) is not None
            if is_dose and self._breaks.keys().isdisjoint((end, end + 1)) and self._words[end] in ("/", "per"):
                sign, of = self._words[end : end + 2]
                if of in _UNITS - {"ng"} or (sign == "/" and of[0].isdigit()):  # "5 mg per kg", "5 mg / 2 ml"
                    high += 2
        is_part |= (low, high) != (start, end)
        return self._longer(self._spans[low][0], self._spans[high - 1][1]) if is_part else None

    def _joined(self, place: int) -> int:
        """Return how many words before a number make a range with it: "5 - 10", "5 mg-10 mg", but not "14:00 - 10"."""
        if self._breaks.get(place, _DASH) != _DASH or self._gaps[place].strip() not in ("-", "\u2014"):
            return 0
        words, first = self._words, place - 1
        if first and words[first] in words[place + 1 : place + 2]:  # a unit
            first -= 1
        begin = self._spans[first][0]
        are_numbers = words[first][0].isdecimal() and words[place][0].isdecimal()
        if not are_numbers or self._text[begin - 1 : begin] in (":", "/"):
            return 0
        least, most = (float(re.split("[.,']", words[one])[0]) for one in (first, place))
        return place - first if least <= most else 0

    def _longer(self, begin: int, end: int) -> Uncounted:
        """Return that a part of the text is not whole, with the longer text around it."""
        text = self._normalised.text
        before = re.split(r"\s", text[max(0, begin - _LONGEST_QUOTE) : begin])[-1]
        after = re.split(r"\s", text[end : end + _LONGEST_QUOTE])[0]
        return Uncounted("", UncountedReason.PART, within=before + text[begin:end] + after)

    def _cancelled(self, start: int, end: int, phrase: Note) -> Uncounted | None:
        """Return the trigger that covers words, None if they are affirmed. "no fever" has its own negation."""
        for kind in UncountedReason:
            for cover in self._covers.get(kind, ()):
                if not (trigger := cover[start]):
                    continue
                if kind in phrase._covers:
                    is_covered = kind == UncountedReason.NEGATED and self._undoes(trigger, start, phrase)
                else:  # "not reviewed by surgeons", "non-productive cough"
                    is_inside = trigger.start < start < trigger.end or self._words[start - 1] == "non"
                    is_covered = is_inside or cover[end - 1] is not None
                if is_covered:
                    begin, stop = self._spans[trigger.start][0], self._spans[trigger.end - 1][1]
                    typed = self._normalised.text[begin:stop].lower()
                    return Uncounted("", kind, trigger=re.sub(r"\d+", "#", _YEAR.sub("YYYY", typed)))
        return None

    def _undoes(self, trigger: _Unit, start: int, phrase: Note) -> bool:
        """Return whether a trigger undoes the negation that a phrase begins with, as in "do not stop"."""
        negated, least = UncountedReason.NEGATED, max(trigger.end, start - _FARTHEST)
        begin = next((place for place in range(start, least, -1) if place in self._breaks), least)
        words = self._words[begin : start + 1]
        if not any(kind == negated for kind, _ in phrase._units[1].effects) or _COORDINATORS & {*words}:
            return False
        if trigger.end > start:
            is_negated = any(map(_is_phrase, self._words[trigger.start : start]))
            return is_negated or (negated, "pseudo") in trigger.effects  # "not ruled out", not "was negative for"
        before = self._words[start - 1]
        return len(words) == 1 or words[-1] == "without" or before in _LINKS or _is_skipped(before)

    @cached_property
    def _covers(self) -> Mapping[str, Sequence[Sequence[_Unit | None]]]:
        """By the kind of triggers that the text holds, for each word the one before it and the one after it."""
        roles = {"pseudo", *_REACHES[_FORWARD], *_REACHES[_BACKWARD]}
        kinds = {kind for unit in self._units for kind, role in unit.effects if role.removesuffix(" if") in roles}
        return {kind: [self._cover(kind, step) for step in _REACHES] for kind in kinds}

    def _cover(self, kind: str, step: int) -> Sequence[_Unit | None]:
        cover: list[_Unit | None] = [None] * len(self._words)
        scope, units = _NO_SCOPE, self._units[::step]
        resumed = list[tuple[_Scope, frozenset[str]]]()  # what goes on after brackets or a clause, and what ends these
        headings = dict[int, _Scope]()  # what covers each item of a list, by the list's first word
        for behind, unit in pairwise((units[0], *units)):
            roles = {role.removesuffix(" if") for of, role in unit.effects if of in ("", kind)}
            is_name = scope.trigger is behind and (behind.word == ":" or behind.start in self._breaks)
            if step == _FORWARD and _DASH in roles and kind == UncountedReason.OTHER and is_name:
                continue  # "Mother - asthma.", but not "Called mother - fever."
            if step == _BACKWARD and roles & {_DASH, _COLON} and behind.effects:
                scope = scope._replace(after_comma=max(scope.after_comma, scope.parts))
                continue  # "Fever - none."
            if roles & {_SENTENCE, _ITEM}:
                resumed.clear()
            if step == _FORWARD and _ITEM in roles:
                is_heading = self._heads_list(scope, behind, unit.start)
                scope = headings.setdefault(self._lists[unit.start], scope if is_heading else _NO_SCOPE)
            while resumed and unit.word in resumed[-1][1]:
                scope, _ = resumed.pop()
            if step == _FORWARD and ("lifts" in roles or (unit.word == "(" and not unit.effects)):
                resumed.append((scope, frozenset(")") if unit.word == "(" else _CLAUSE_ENDS))
            reaches = [reach for role, reach in _REACHES[step].items() if role in roles]
            inner = unit if reaches or unit.word != "to" else scope.trigger  # "do not plan to stop"
            if roles & _ENDS[step] or ("new clause" in roles and kind != UncountedReason.HYPOTHETICAL):
                scope = _NO_SCOPE
            elif scope.trigger:
                scope = self._advanced(scope, unit, step)
                cover[unit.start : unit.end] = [scope.trigger] * (unit.end - unit.start)
            if reaches:
                scope = _Scope(unit, *max(reaches))
            if step == _FORWARD and (reaches or (kind == UncountedReason.NEGATED and "pseudo" in roles)):
                cover[unit.start + 1 : unit.end] = [inner] * (unit.end - unit.start - 1)  # "not distended", "no change"
        return cover

    def _heads_list(self, scope: _Scope, behind: _Unit, place: int) -> bool:
        """Return whether a scope covers the list below: "PMH", "Denies:", "Not aware of:", but not "Is not well:"."""
        before, last = self._words[place - 2], self._words[place - 1]
        if last != ":" and scope.trigger is behind and self._breaks.get(behind.start) in (_SENTENCE, _ITEM):
            return self._words[behind.start - 1 : behind.start] not in ([":"], ["?"])  # an answer
        is_near = scope.trigger is None or scope.trigger.end >= place - 1
        return last in _OPEN or (last == ":" and (before in _OPEN or scope.after_comma > 0 or is_near))

    def _advanced(self, scope: _Scope, unit: _Unit, step: int) -> _Scope:
        """Return a scope at what comes next, which may be its end. Of a hyphenated word, the first one counts."""
        size, later = self._ahead[unit.start]
        if step == _BACKWARD and unit.word == ",":
            size = self._part(unit.start)
        is_over = unit.word == "," and size > scope.after_comma and not _OR & later
        if is_over or (not scope.left and not unit.is_joined):
            return _NO_SCOPE
        if unit.word == "and":
            scope = scope._replace(after_comma=max(scope.after_comma, scope.parts), parts=0)
        is_last = unit.word in _OR or (unit.word == "," and scope.parts)
        return scope._replace(after_comma=0 if is_last else scope.after_comma, left=scope.left - (not unit.is_joined))

    def _part(self, comma: int) -> int:
        """Return how many words are between a comma and the one before it, as if more if they may be a clause."""
        start = comma
        while start >= comma - _PART and start not in self._breaks and self._words[start - 1] != ",":
            start -= 1
        part = self._keys[start:comma]
        is_clause = _CLAUSAL & {*part} or any(one.endswith("ed") or _is_phrase(one) for one in part)
        return _ALL if is_clause else len(part)

    def _structure(self) -> tuple[Mapping[int, str], Mapping[int, int]]:
        """Return the words that follow a break, with its kind, and those that begin an item, with its list's first."""
        breaks, lists = {len(self._words): _SENTENCE}, dict[int, int]()
        open_lists, above = list[tuple[tuple[int, str], int]](), -1  # each with its first word; the line above
        sentence = -1, -1
        for place, ((begin, _), gap) in enumerate(zip(self._spans, self._gaps, strict=True)):
            before, sentence = sentence, self._normalised.sentence_at(begin)
            is_initial = _INITIAL.search(self._text, max(0, begin - 4), begin) and (
                self._text[begin].islower() or _LONE.fullmatch(self._text, *before)
            )
            if sentence == before or is_initial or self._words[place - 1] == "?x":  # "C. diff", "? PE"
                if "\u2014" in gap or " - " in gap:
                    breaks[place] = _DASH
            elif item := self._items.get(begin):
                is_headed = place > 0 and (self._words[place - 1] == ":" or (not open_lists and item[0] > above))
                while open_lists and item[0] <= open_lists[-1][0][0] and (is_headed or item != open_lists[-1][0]):
                    open_lists.pop()
                if is_headed:
                    open_lists.append((item, place))
                breaks[place], above = _ITEM if open_lists else _SENTENCE, item[0]
                if open_lists:
                    lists[place] = open_lists[-1][1]
            else:
                is_new = "\n" in gap
                goes_on = is_new and open_lists and _indentation(self._normalised, begin) > open_lists[-1][0][0]
                if not goes_on or self._words[place - 1] in _STOPS:
                    breaks[place] = _SENTENCE
                if is_new and not goes_on:
                    open_lists, above = [], -1
        return breaks, lists

    @cached_property
    def _ahead(self) -> Sequence[tuple[int, frozenset[str]]]:
        """For each word, how many are between it and the next comma, and what "or" or "if" follows in its sentence."""
        found, size, later = list[tuple[int, frozenset[str]]](), 0, frozenset[str]()
        for place in reversed(range(len(self._words))):
            if self._breaks.get(place + 1) in (_SENTENCE, _ITEM):
                size, later = int(self._words[place] not in _STOPS), frozenset()  # with or without a full stop
            found.append((size, later))
            size, later = size + 1, later | ((_OR | _IF) & {self._words[place]})
            if self._words[place] == ",":
                size = 0
        return found[::-1]

    @cached_property
    def _units(self) -> Sequence[_Unit]:
        """The text as phrases of the table, the longest at each place, the words outside of them, and breaks."""
        units, end = list[_Unit](), 0
        while (start := end) < len(self._words):
            if cut := self._breaks.get(start):
                units.append(_Unit(start, start, "", [("", cut)]))
            root, is_first = _phrases(), cut in (_SENTENCE, _ITEM) or self._words[start - 1] == ";"
            states = (root, *root.following["^"]) if is_first else (root,)
            found = [one for state in states for one in self._phrases(state, start)]
            end, *fit = max((rank for *rank, _ in found), default=[start + 1])
            effects = [one for *rank, some in found if rank == [end, *fit] for one in some]
            if not _IF & self._ahead[start][1]:
                effects = [(kind, role) for kind, role in effects if not role.endswith(" if")]
            if self._normalised.text[self._spans[start][0]] == ":" and not effects:
                effects = [("", _COLON)]
            is_joined = self._gaps[start] == "-" or self._words[start - 1] == "non"
            units.append(_Unit(start, end, self._words[start], effects, is_joined))
        return units

    def _phrases(self, state: _State, place: int, skips: int = 0) -> Iterator[tuple[int, bool, bool, list[_Effect]]]:
        """Yield the phrases of the table that go on at a word: their ends, how well they fit, and what they do.

        Those fit better that a clause ends with, and then those without wild cards. None goes beyond a break.
        Adverbs do not keep its words apart: "could not be definitively ruled out".
        """
        word, end = self._keys[place], place + 1
        keys = (word, "*ed" if word.endswith("ed") else "", "*" if word.isalpha() and not _is_phrase(word) else "")
        for one in (one for key in keys for one in state.following.get(key, ())):
            if one.effects:
                yield end, False, one.is_specific, one.effects
            for last in one.following.get("|", ()) if self._ends_clause(end) else ():
                yield end, True, one.is_specific, last.effects
            if end not in self._breaks:
                yield from self._phrases(one, end, _MOST_FILLERS)
        if skips and _is_skipped(word) and end not in self._breaks:
            yield from self._phrases(state, end, skips - 1)

    def _ends_clause(self, place: int) -> bool:
        """Return whether nothing but adverbs stands between a place and the end of a clause: "absent bilaterally"."""
        begins = {_SENTENCE, _ITEM} & {self._breaks.get(place - 1), self._breaks.get(place - 2)}
        if begins and self._lists.get(place) == place and self._words[place - 1] == "denies":
            return False  # "He denies", above a list
        while place not in self._breaks and _is_skipped(self._words[place]):
            place += 1
        return place in self._breaks or self._words[place] in _CLAUSE_ENDS


def _comparable(token: re.Match[str]) -> str:
    if token[0] == "?" and _ASKING.match(token.string, token.start()):
        return "?x"
    return re.sub("[,']", "", token[0]) if _THOUSANDS.fullmatch(token[0]) else token[0].lower()


def match_phrases(needles: Iterable[str], notes: Sequence[Note]) -> tuple[set[str], tuple[Uncounted, ...]]:
    """Return the phrases that notes affirm, and why an occurrence of the others does not count."""
    found, uncounted = set[str](), list[Uncounted]()
    for needle in needles:
        phrase = Note(needle)
        reasons = [one.uncounted for note in notes for one in note.occurrences(phrase)]
        if None in reasons:
            found.add(needle)
        else:
            uncounted += [replace(why, phrase=needle) for why in reasons[:1] if why]
    return found, tuple(uncounted)
