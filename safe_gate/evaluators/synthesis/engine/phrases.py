"""Phrases: how they are written, compiled to a network, and found in tokens in one pass. Pure.

A phrase is written as tokens with blanks between them:
  word        that token; `calm*` any that begins so, `*ing` any that ends so
  {class}     a member of a word class: a phrase itself, most often one word
  (a|b c|)    one of several phrases; an empty one makes the others optional
  _  _0-3     any token, or zero to three of them, within the clause
  <num>       any number
  ^  $        the start and the end of a clause; "and", "so" or "please" before it does not change that
  ^^          the start of a clause with nothing before it
  ,           that mark: without it a phrase stays within a clause

A network has places, the words that lead from one to the next, and the gaps after them. Compiling the packs that ship
takes longer than an `eval` of few cases, so an installation holds their network as a table: a file with a key, the
digest of all that it is made from. A table with another key is not read.

From each token a walk takes the phrases that begin there, all at once, as far as they have no gap. The walk becomes
deterministic as it goes: each step from a set of places is worked out once and kept, as long as there is room. What
stands behind a gap is looked for only where the words before it stand.
"""

from __future__ import annotations

import json
import re
from array import array
from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain, compress, count, pairwise
from typing import Any, NamedTuple, TypeGuard

from safe_gate.core.text import without_diacritics
from safe_gate.core.text.mapped_text import Cache
from safe_gate.evaluators.synthesis.engine.tokens import BOUNDARY, END
from safe_gate.model import record
from safe_gate.model.codec import JsonObject

STARTS = ("^", "^^")
"""The signs for the start of a clause, which only begin a phrase."""

_PIECE = re.compile(r"\{[a-z_]+\}|[()|]|[^\s()|{}]+")
_GAP = re.compile(r"_(?:(\d+)-(\d+))?")
_WORD = re.compile(r"\*?[^\W_]+\*?|'s|<num>|%|\$|[,;:—!?.\"]")
_LONGEST_GAP = 30


@record
class Gap:
    """Any `least` to `most` tokens of a clause."""

    least: int
    most: int


Item = str | Gap | tuple["Sequence_", ...]
Sequence_ = tuple[Item, ...]


_Options = tuple[frozenset[str], Sequence[Sequence_]]
"""Options of one word, which share a place, and all others."""


def parse_phrase(phrase: str) -> Sequence_:
    """Return a phrase taken apart: words, gaps, and options as tuples of sequences.

    Raises ValueError that says what is wrong with it.
    """
    plain = phrase.split()
    if plain and phrase.isascii() and phrase.islower() and "".join(plain).isalpha():
        return tuple(plain)  # as most members of classes and learned phrases are
    pieces = _PIECE.findall(phrase)
    if "".join(pieces) != "".join(plain):
        raise ValueError("holds a brace; expected a class as in {you}")
    options, rest = _parse_options(pieces, 0)
    if rest < len(pieces):
        raise ValueError("closes a bracket that none opens")
    if options == ((),):
        raise ValueError("is empty; expected a token")
    if len(options) > 1:
        raise ValueError("has options outside of brackets; write (a|b)")
    return options[0]


def _parse_options(pieces: Sequence[str], at: int) -> tuple[tuple[Sequence_, ...], int]:
    """Return the options up to a closing bracket or the end, and where that is."""
    options: list[Sequence_] = []
    items: list[Item] = []
    while at < len(pieces) and pieces[at] != ")":
        piece = pieces[at]
        at += 1
        if piece.isascii() and piece.isalpha() and piece.islower():  # most are: this is fast
            items.append(piece)
        elif piece == "|":
            options.append(tuple(items))
            items = []
        elif piece == "(":
            inner, at = _parse_options(pieces, at)
            if at == len(pieces):
                raise ValueError("opens a bracket that nothing closes")
            at += 1
            items.append(inner)
        elif piece[0] == "_" and (gap := _GAP.fullmatch(piece)):
            items.append(_parse_gap(gap))
        elif piece[0] == "{" or (_WORD.fullmatch(piece) and piece == piece.lower()) or (piece in STARTS and at == 1):
            bare = without_diacritics(piece).lower()  # as texts may be read
            items.append(piece if bare == piece else ((piece,), (bare,)))
        else:
            raise ValueError(
                f"holds {piece}, which is not a token; expected lower-case words, classes, gaps or options"
            )
    return (*options, tuple(items)), at


def _parse_gap(gap: re.Match[str]) -> Gap:
    least, most = int(gap[1] or 1), int(gap[2] or 1)
    if not least <= most <= _LONGEST_GAP or not most:
        raise ValueError(f"holds the gap {gap[0]}; expected such as _0-3, up to {_LONGEST_GAP}")
    return Gap(least, most)


def _group_single_words(options: Sequence[Sequence_]) -> _Options:
    words = frozenset([word for option in options if len(option) == 1 and _is_word(word := option[0])])
    return words, [option for option in options if len(option) != 1 or not _is_word(option[0])]


def _is_word(item: Item) -> TypeGuard[str]:
    return isinstance(item, str) and item[0] not in "{^$"


Classes = Mapping[str, Sequence[str]]
Label = str | frozenset[str]
"""What leads from a place to another: a word, one of several words, or the sign `$`."""

_CLAUSE_END, _ENDS, _GAPS = range(3)  # the number of the label `$`, and what stands for labels: see `Network`
_BEGINNINGS = 3  # so many places begin a list's phrases: anywhere, where a clause starts, and with nothing before it
_NUMBER = "<num>"
_DEEPEST = 8  # a class may name another one


class _Rows(NamedTuple):
    """Rows of numbers, one after the other. `starts` says where each starts, and where the last one ends."""

    starts: Sequence[int]
    numbers: Sequence[int]

    @classmethod
    def of(cls, rows: Iterable[Sequence[int]]) -> _Rows:
        """Return rows put one after the other."""
        rows = [*rows]
        return cls(array("I", accumulate(map(len, rows), initial=0)), array("I", chain.from_iterable(rows)))

    def row(self, number: int) -> Sequence[int]:
        """Return a row."""
        return self.numbers[self.starts[number] : self.starts[number + 1]]


class Network(NamedTuple):
    """Lists of phrases, compiled. List n begins at the places `_BEGINNINGS` * n and behind.

    `lists` are their names. `words` are words, beginnings ("calm*") and ends of words ("*ing") and the sign of any
    number; `meanings[n]` are the labels that take word n. `places[n]` lead on from place n, two numbers each: a label,
    and the place that it leads to. Behind `_ENDS` is a phrase that ends at the place, by its number in its list: twice
    that, and one more if the phrase ends a token earlier. Behind `_GAPS` is the number of a gap in `gaps`: there are
    the fewest and the most tokens, and the place behind them.
    """

    lists: Sequence[str]
    words: Sequence[str]
    meanings: _Rows
    places: _Rows
    gaps: _Rows


def compile_lists(lists: Mapping[str, Sequence[str]], classes: Classes) -> Network:
    """Return lists of phrases compiled.

    Raises ValueError for a phrase that is not written as it must be or names a class that nobody defines.
    """
    return _Compiler(lists, classes).network()


def network_bytes(network: Network, key: str, beside: Mapping[str, Any]) -> bytes:
    """Return a network as the bytes of a table: a line of JSON (texts, sizes, what is `beside` it), then its arrays."""
    arrays = [array("I", one) for rows in network[2:] for one in rows]
    head = {"key": key, "sizes": [*map(len, arrays)], "lists": network.lists, "words": network.words, **beside}
    return json.dumps(head).encode() + b"\n" + b"".join(one.tobytes() for one in arrays)


def network_from_bytes(content: bytes, key: str) -> tuple[Network, JsonObject] | None:
    """Return the network of a table and its first line, None if the key is another or bytes are missing."""
    line_end = content.find(b"\n")
    if not content.startswith(b'{"key": "' + key.encode() + b'"') or line_end < 0:
        return None
    head = json.loads(content[:line_end])
    ends = [*accumulate((array("I").itemsize * size for size in head["sizes"]), initial=0)]
    numbers = memoryview(content)[line_end + 1 :]
    if len(numbers) != ends[-1]:
        return None
    arrays = (numbers[start:end].cast("I") for start, end in pairwise(ends))
    return Network(head["lists"], head["words"], *map(_Rows, arrays, arrays)), head


class _Compiler:
    """Compiles lists of phrases. Phrases of a list that begin alike share places."""

    def __init__(self, lists: Mapping[str, Sequence[str]], classes: Classes) -> None:
        self._lists, self._classes = lists, classes
        self._places: list[list[int]] = [[] for _ in range(_BEGINNINGS * len(lists))]
        self._gaps: list[tuple[int, int, int]] = []
        self._nodes: dict[tuple[frozenset[int], Label | Gap], int] = {}
        self._marks: set[int] = set()  # the places behind $, which is no token of a phrase
        self._members: dict[str, _Options] = {}
        self._labels: dict[Label, int] = {"$": _CLAUSE_END}
        for anywhere, phrases in zip(range(0, len(self._places), _BEGINNINGS), lists.values(), strict=True):
            for number, phrase in enumerate(phrases):
                # A class alone stands for its members as phrases, which may begin with ^.
                of_class = self._classes.get(phrase[1:-1]) if phrase[:1] == "{" else None
                for one in (phrase,) if of_class is None else of_class:
                    self._add(number, one, anywhere)

    def _add(self, number: int, phrase: str, anywhere: int) -> None:
        sequence = parse_phrase(phrase)
        start = anywhere + (1 + STARTS.index(sign) if isinstance(sign := sequence[0], str) and sign in STARTS else 0)
        ends = self._sequence(sequence[start > anywhere :], frozenset({start}), 0)
        if start in ends:
            raise ValueError("also matches an empty text; add a token that is not optional")
        for end in ends:
            self._places[end] += _ENDS, 2 * number + (end in self._marks)

    def _sequence(self, sequence: Sequence_, sources: frozenset[int], depth: int) -> frozenset[int]:
        """Return the places that a sequence leads to from some."""
        for item in sequence:
            if isinstance(item, Gap):
                behind = self._behind(sources, item)
                sources = behind if item.least else sources | behind
            elif isinstance(item, tuple):
                sources = self._either(_group_single_words(item), sources, depth)
            elif item[0] == "{":
                sources = self._either(self._options(item[1:-1]), sources, depth + 1)
            elif item in STARTS:
                raise ValueError(f"holds {item} in a word class beside other words; such a class stands alone")
            else:
                sources = self._behind(sources, item)
        return sources

    def _either(self, options: _Options, sources: frozenset[int], depth: int) -> frozenset[int]:
        if depth > _DEEPEST:
            raise ValueError(f"names word classes that name each other more than {_DEEPEST} deep")
        words, others = options
        ends = self._behind(sources, next(iter(words)) if len(words) == 1 else words) if words else frozenset()
        for option in others:
            ends |= self._sequence(option, sources, depth)
        return ends

    def _options(self, name: str) -> _Options:
        if name not in self._members:
            if name not in self._classes:
                raise ValueError(f"names the unknown word class {{{name}}}; add it to `classes` of the pack")
            self._members[name] = _group_single_words([parse_phrase(member) for member in self._classes[name]])
        return self._members[name]

    def _behind(self, sources: frozenset[int], what: Label | Gap) -> frozenset[int]:
        """Return the place behind a label or a gap after some places; the phrases that begin alike share it."""
        node = self._nodes.get((sources, what))
        if node is None:
            node = self._nodes[sources, what] = len(self._places)
            self._places.append([])
            if isinstance(what, Gap):
                pair = _GAPS, len(self._gaps)
                self._gaps.append((max(what.least, 1), what.most, node))
            else:
                pair = self._labels.setdefault(what, len(self._labels) + _GAPS), node
            for source in sources:
                self._places[source] += pair
            if what == "$":
                self._marks.add(node)
        return frozenset({node})

    def network(self) -> Network:
        """Return what was compiled."""
        words: dict[str, list[int]] = {}
        for label, number in self._labels.items():
            for word in (label,) if isinstance(label, str) else label:
                words.setdefault(word, []).append(number)
        del words["$"]
        return Network(
            lists=[*self._lists],
            words=sorted(words),
            meanings=_Rows.of(words[word] for word in sorted(words)),
            places=_Rows.of(self._places),
            gaps=_Rows.of(self._gaps),
        )


_AFTER_THESE = frozenset("and but or so then just please now first also".split())
_STARTERS = _AFTER_THESE | BOUNDARY | {END}  # after these a clause may start
_STOPS = BOUNDARY | {END}
_ALSO = {"'s": ("is",), **dict.fromkeys("actually literally genuinely honestly basically legit".split(), ("really",))}
"""What a word may also be: a noun's 's is either, and "I'm actually scared" says what "I'm really scared" does."""
_MOST_STEPS = 150_000  # the number that is kept

_Meaning = frozenset[int]
"""The labels that take a token."""


class PhraseHit(NamedTuple):
    """A phrase found in tokens: its number in its list, its first token and the one after its last."""

    phrase: int
    start: int
    end: int


class _State(dict[_Meaning, "_State | None"]):
    """A set of places, with the states that tokens asked for so far lead to.

    `labels` are those that lead on. `ends` are the phrases that may end here, each with how many tokens earlier: 1
    behind `$`, which is no token. `gaps` are the gaps after it. `is_plain` says that it has neither.
    """

    __slots__ = ("_automaton", "_more", "_targets", "ends", "gaps", "is_plain", "labels")
    __hash__, __eq__ = object.__hash__, object.__eq__  # type: ignore[assignment]

    def __init__(self, automaton: Automaton, places: Iterable[int]) -> None:
        super().__init__()
        network = automaton.network
        self._automaton = automaton
        pairs = [*chain.from_iterable(map(network.places.row, places))]
        labels, targets = pairs[::2], pairs[1::2]
        self._targets = dict(zip(labels, targets, strict=True))  # a place of each label: most have only one
        self._more: dict[int, tuple[int, ...]] = {}  # the other places of a label
        if len(self._targets) < len(labels):
            for label, target in zip(labels, targets, strict=True):
                if target != self._targets[label]:
                    self._more[label] = (*self._more.get(label, ()), target)
        self.ends = tuple({(end // 2, end % 2) for end in self._pop(_ENDS)})
        gaps = self._pop(_GAPS)
        self.gaps = _Gaps(automaton, [tuple(network.gaps.row(gap)) for gap in gaps]) if gaps else None
        self.is_plain = not self.ends and not gaps
        self.labels = frozenset(self._targets)

    def _pop(self, label: int) -> tuple[int, ...]:
        return (self._targets.pop(label), *self._more.pop(label, ())) if label in self._targets else ()

    def __missing__(self, meaning: _Meaning) -> _State | None:
        automaton, found = self._automaton, None
        if not self.labels.isdisjoint(meaning):
            leading = self.labels & meaning
            places = map(self._targets.__getitem__, leading)
            found = automaton.state(chain(places, *map(self._more.__getitem__, self._more.keys() & leading)))
        if automaton.room:
            automaton.room -= 1
            self[meaning] = found
        return found


after = _State.__getitem__
"""Return the state that a token leads to. Square brackets take several times as long for a subclass of `dict`."""


class _Gaps:
    """The gaps after a state, each with the fewest and the most tokens and the place behind it.

    `most` is the most tokens of any of them, and `behind` are the places behind all of them.
    """

    __slots__ = ("_automaton", "_by_length", "_gaps", "behind", "most")

    def __init__(self, automaton: Automaton, gaps: Sequence[Sequence[int]]) -> None:
        self._automaton, self._gaps = automaton, gaps
        self.most = max(most for _, most, _ in gaps)
        self.behind = automaton.state(place for _, _, place in gaps)
        self._by_length: dict[int, _State | None] = {}

    def after(self, length: int) -> _State | None:
        """Return the places behind those gaps that may have a length."""
        if length not in self._by_length:
            places = [place for least, most, place in self._gaps if least <= length <= most]
            self._by_length[length] = self._automaton.state(places) if places else None
        return self._by_length[length]


class Automaton:
    """The states of a network that texts led to so far, and what tokens mean to it.

    `lists` has the place that each list begins at. `room` says how many more steps are kept.
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self.lists = {name: _BEGINNINGS * number for number, name in enumerate(network.lists)}
        self.room = _MOST_STEPS
        self.meanings = Cache(self._meaning)
        self._states: dict[tuple[int, ...], _State] = {}
        self._numbers = {word: number for number, word in enumerate(network.words)}
        self._affixes: dict[tuple[int, bool], dict[str, int]] = {}
        for number, word in enumerate(network.words):
            if "*" in word:
                self._affixes.setdefault((len(word) - 1, word[-1] == "*"), {})[word.strip("*")] = number
        self._shared: dict[_Meaning, _Meaning] = {}

    def state(self, places: Iterable[int]) -> _State:
        """Return the state of places, given by number."""
        key = tuple(sorted({*places}))  # takes a third of a set's memory
        found = self._states.get(key)
        if found is None:
            found = _State(self, key)
            if self.room:
                self._states[key] = found
        return found

    def _meaning(self, word: str) -> _Meaning:
        """Return the labels that take a word. Words with the same ones share them."""
        if not word:
            return frozenset({_CLAUSE_END})
        named = [word, *_ALSO.get(word, ())]
        if word[0].isdigit():
            named.append(_NUMBER)
        numbers = [self._numbers.get(one) for one in named]
        if word not in BOUNDARY:
            for (length, is_prefix), affixes in self._affixes.items():
                numbers.append(affixes.get(word[:length] if is_prefix else word[-length:]))
        labels = chain.from_iterable(self.network.meanings.row(number) for number in numbers if number is not None)
        found = frozenset((_CLAUSE_END, *labels) if word in BOUNDARY else labels)
        return self._shared.setdefault(found, found)


class Walker:
    """Finds the phrases of one list of a network. The result depends on the phrases alone."""

    def __init__(self, automaton: Automaton, name: str = "") -> None:
        self._meanings = automaton.meanings
        first = automaton.lists[name]
        leads_on = automaton.network.places.row
        places = (filter(leads_on, range(first, first + many)) for many in range(1, _BEGINNINGS + 1))
        self._begin, self._begin_clause, self._begin_strictly = map(automaton.state, places)  # most often one state

    def find(self, words: Sequence[str]) -> Iterator[PhraseHit]:
        """Yield each phrase at each token of a sentence that it begins at, as long as it goes."""
        words = (*words, END)
        walk = _Walk(words, self._meanings)
        starts: Container[int] = {0, *compress(count(1), map(_STARTERS.__contains__, words))}  # of clauses
        if self._begin.gaps:  # a phrase begins with a gap
            starts = range(len(words))
        for start, first in enumerate(map(self._begin.__getitem__, walk.meanings[:-1])):
            state, at = first, start + 1
            if start in starts:
                begin = self._begin_after(words, start)
                if begin.is_plain:
                    state = after(begin, walk.meanings[start])
                else:
                    state, at = begin, start
            if state is not None and state.is_plain:  # a second word tells most apart
                state, at = after(state, walk.meanings[at]), at + 1
            if state is None:
                continue  # as most do
            if ends := walk.ends(state, at):
                for phrase, end in {phrase: end - back for end, phrase, back in ends}.items():
                    yield PhraseHit(phrase, start, end)

    def first(self, words: Sequence[str], start: int, end: int) -> PhraseHit | None:
        """Return what begins first in some tokens of a sentence, as long as it goes there, if anything does."""
        words, begin = words[start:end], self._begin_strictly
        if begin.is_plain and all(map(begin.labels.isdisjoint, map(self._meanings.__getitem__, (*words, END)))):
            return None  # most often: a context has few words
        found = next(self.find(words), None)
        return found and PhraseHit(found.phrase, start + found.start, start + found.end)

    def beginning(self, words: Sequence[str], start: int) -> PhraseHit | None:
        """Return a phrase that begins at a token of a sentence, as long as it goes, if one does."""
        ends = _Walk((*words, END), self._meanings).ends(self._begin_after(words, start), start)
        return PhraseHit(ends[-1][1], start, ends[-1][0] - ends[-1][2]) if ends else None

    def ending(self, words: Sequence[str], end: int) -> PhraseHit | None:
        """Return a phrase that ends right before a token of a sentence, the shortest one, if one does."""
        walk = _Walk((*words[: end + 1], END), self._meanings)
        for start in reversed(range(end)):
            begin = self._begin_after(words, start)
            if begin.is_plain and after(begin, walk.meanings[start]) is None:
                continue  # as most do
            for at, phrase, back in walk.ends(begin, start):
                if at - back == end:
                    return PhraseHit(phrase, start, end)
        return None

    def _begin_after(self, words: Sequence[str], start: int) -> _State:
        if start and words[start - 1] not in _STARTERS:
            return self._begin
        return self._begin_clause if start and words[start - 1] in _AFTER_THESE else self._begin_strictly


class _Walk:
    """Walks through tokens, and the states behind gaps from which each goes on, each once."""

    def __init__(self, words: Sequence[str], meanings: Cache[str, _Meaning]) -> None:
        self._words = words
        self.meanings = [*map(meanings.__getitem__, words), frozenset[int]()]  # behind the end is nothing
        self._pending: deque[tuple[_State, int]] = deque()
        self._seen: set[tuple[_State, int]] = set()

    def ends(self, begin: _State, at: int) -> list[tuple[int, int, int]]:
        """Return where phrases end that are in a state before a token: the token, the phrase, how far earlier it ends.

        Shorter ones come first.
        """
        found: list[tuple[int, int, int]] = []
        state: _State | None = begin
        while state is not None:
            if state.ends:
                found += [(at, phrase, back) for phrase, back in state.ends]
            if state.gaps:
                self._leap(state.gaps, at)
            state = after(state, self.meanings[at]) if state.labels else None
            at += 1
            if state is None and self._pending:
                state, at = self._pending.popleft()
        if len(found) > 1:
            found.sort(key=lambda one: (*one[:2], -one[2]))  # an end may be a token earlier: the longer match is last
        self._seen.clear()
        return found

    def _leap(self, gaps: _Gaps, at: int) -> None:
        """Add what goes on behind the gaps before a token."""
        behind, meanings = gaps.behind, self.meanings
        for place, word in enumerate(self._words[at : at + gaps.most], at + 1):
            if word in _STOPS:
                break  # no gap holds a token that ends a clause
            if behind.is_plain and after(behind, meanings[place]) is None:
                continue  # as most do
            state = gaps.after(place - at)
            if state is not None and (state, place) not in self._seen:
                self._seen.add((state, place))
                self._pending.append((state, place))


def phrase_walker(phrases: Sequence[str], classes: Classes) -> Walker:
    """Return what finds phrases, each known by its place in the list.

    Raises ValueError for one that is not written as it must be or names a class that nobody defines.
    """
    return Walker(Automaton(compile_lists({"": phrases}, classes)))
