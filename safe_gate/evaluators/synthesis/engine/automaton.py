"""Finds all phrases in tokens in one pass. Pure.

`network.py` says how a phrase is written. From each token a walk takes the phrases that begin there, all at once, as
far as they have no gap. The walk becomes deterministic as it goes: each step from a set of places is worked out once
and kept, as long as there is room. What stands behind a gap is looked for only where the words before it stand.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, compress, count
from typing import NamedTuple

from safe_gate.core.text.mapped_text import Cache
from safe_gate.evaluators.synthesis.engine.network import BEGINNINGS, CLAUSE_END, Classes, Meanings, Network, compiled
from safe_gate.evaluators.synthesis.engine.tokens import BOUNDARY, END

_AFTER_THESE = frozenset("and but or so then just please now first also".split())
_STARTERS = _AFTER_THESE | BOUNDARY | {END}  # after these a clause may start
_STOPS = BOUNDARY | {END}
_MOST_STEPS = 200_000  # the number that is kept
_LAST = -1  # a label that the end of a sentence has besides CLAUSE_END

Meaning = frozenset[int]
"""The labels that take a token."""


class PhraseHit(NamedTuple):
    """A phrase found in tokens: its number, its first token and the one after its last."""

    phrase: int
    start: int
    end: int


class _Leap:
    """The gaps after a state, each with the fewest and the most tokens and the place behind it.

    `most` is the most tokens of any of them, None if there is no bound; then there is none for each of them.
    """

    __slots__ = ("_by_length", "_gaps", "_state", "_walker", "most")

    def __init__(self, walker: Walker, gaps: Sequence[tuple[int, int, int]]) -> None:
        self._walker, self._gaps = walker, gaps
        self.most = max(most for _, most, _ in gaps) or None
        self._state: _State | None = None
        self._by_length: dict[int, _State | None] = {}

    @property
    def state(self) -> _State:
        """The places behind all the gaps."""
        if self._state is None:
            self._state = self._walker.state(frozenset(place for _, _, place in self._gaps))
        return self._state

    def after(self, length: int) -> _State | None:
        """Return the places behind those gaps that may have a length."""
        if length not in self._by_length:
            places = [place for least, most, place in self._gaps if least <= length <= (most or length)]
            self._by_length[length] = self._walker.state(frozenset(places)) if places else None
        return self._by_length[length]


class _Place(NamedTuple):
    """A place: the labels that lead on and where to, the phrases that end here, and the gaps behind it."""

    labels: frozenset[int]
    targets: Mapping[int, Sequence[int]]
    ends: Sequence[tuple[int, int]]
    gaps: Sequence[tuple[int, int, int]]


class _State(dict[Meaning, "_State | None"]):
    """A set of places, with the state that each token asked for so far leads to: None for no place.

    `ends` are the phrases that may end here, each with how many tokens earlier: 1 behind `$`, which is no token.
    `leaps` are the gaps after it, those with a bound apart. `is_last` says that no token leads on.
    """

    __slots__ = ("_labels", "_places", "_walker", "ends", "is_last", "leaps")
    __hash__, __eq__ = object.__hash__, object.__eq__  # type: ignore[assignment]

    def __init__(self, walker: Walker, places: Sequence[_Place], ends: Iterable[tuple[int, int]] = ()) -> None:
        super().__init__()
        self._walker, self._places = walker, places
        self._labels = frozenset[int]().union(*[place.labels for place in places])
        self.is_last = not self._labels
        self.ends = tuple({*ends, *chain.from_iterable([place.ends for place in places if place.ends])})
        gaps = [gap for place in places if place.gaps for gap in place.gaps]
        by_bound = ([gap for gap in gaps if gap[1]], [gap for gap in gaps if not gap[1]]) if gaps else ()
        self.leaps = tuple(_Leap(walker, some) for some in by_bound if some)

    def __missing__(self, meaning: Meaning) -> _State | None:
        walker, found = self._walker, None
        if not self._labels.isdisjoint(meaning):
            taken = self._labels & meaning
            some = [(place.targets, place.labels & taken) for place in self._places]
            found = walker.state(frozenset([target for to, labels in some for label in labels for target in to[label]]))
            if _LAST in meaning:  # nothing follows
                found = _State(walker, (), found.ends) if found.ends else None
        if walker.room:
            walker.room -= 1
            self[meaning] = found
        return found


class Walker:
    """Finds the phrases of one list of a network. The result depends on the phrases alone.

    `known_as` maps a phrase's number in the list to the numbers that hits report, if they differ. A phrase with no
    such number is not looked for. `room` is how many more steps may be kept.
    """

    def __init__(
        self,
        network: Network,
        name: str,
        meanings: Cache[Meaning],
        known_as: Mapping[int, Sequence[int]] | None = None,
    ) -> None:
        self._network, self._meanings, self._known_as = network, meanings, known_as
        self.room = _MOST_STEPS
        self._states: dict[frozenset[int], _State] = {}
        self._places: dict[int, _Place] = {}
        names = [*network.lists]
        number = names.index(name)
        self._first = sum(len(network.lists[one]) for one in names[:number])
        anywhere = BEGINNINGS * number
        places = (frozenset(range(anywhere, anywhere + many)) for many in range(1, BEGINNINGS + 1))
        self._begin, self._begin_clause, self._begin_strictly = map(self.state, places)

    def state(self, numbers: frozenset[int]) -> _State:
        """Return the state of places, given by number."""
        found = self._states.get(numbers)
        if found is None:
            places = [self._places[number] if number in self._places else self._place(number) for number in numbers]
            found = _State(self, places)
            if self.room:
                self._states[numbers] = found
        return found

    def _place(self, number: int) -> _Place:
        network = self._network
        targets: dict[int, list[int]] = {}
        for label, target in zip(network.labels.row(number), network.targets.row(number), strict=True):
            targets.setdefault(label, []).append(target)
        ends: list[tuple[int, int]] = []
        for end in network.ends.row(number):
            phrase = end // 2 - self._first
            known_as = (phrase,) if self._known_as is None else self._known_as.get(phrase, ())
            ends += [(one, end % 2) for one in known_as]
        gaps = iter(network.gaps.row(number))
        found = self._places[number] = _Place(frozenset(targets), targets, ends, [*zip(gaps, gaps, gaps, strict=True)])
        return found

    def find(self, words: Sequence[str]) -> Iterator[PhraseHit]:
        """Yield each phrase at each token that it begins at, as long as it goes, in the tokens of sentences.

        `END` is the last token, and stands between sentences.
        """
        walk = _Walk(words, self._meanings)
        first_tokens = enumerate(map(self._begin.__getitem__, walk.meanings))
        begins = {start: (state, start + 1) for start, state in first_tokens if state is not None}
        if self._begin.leaps:  # a phrase begins with a gap
            begins = {start: (self._begin, start) for start in range(len(words))}
        clauses = [0, *(at + 1 for at in compress(range(len(words) - 1), map(_STARTERS.__contains__, words)))]
        begins |= {start: (self._begin_after(words, start), start) for start in clauses}
        for start, (state, at) in sorted(begins.items()):
            if ends := walk.ends(state, at):
                for phrase, end in {phrase: end - back for end, phrase, back in ends}.items():
                    yield PhraseHit(phrase, start, end)

    def first(self, words: Sequence[str]) -> PhraseHit | None:
        """Return what begins first in the tokens of a sentence, as long as it goes, if anything does."""
        return next(self.find((*words, END)), None)

    def beginning(self, words: Sequence[str], start: int) -> PhraseHit | None:
        """Return a phrase that begins at a token of a sentence, as long as it goes, if one does."""
        ends = _Walk((*words, END), self._meanings).ends(self._begin_after(words, start), start)
        return PhraseHit(ends[-1][1], start, ends[-1][0] - ends[-1][2]) if ends else None

    def ending(self, words: Sequence[str], end: int) -> PhraseHit | None:
        """Return a phrase that ends right before a token of a sentence, the shortest one, if one does."""
        walk = _Walk((*words, END), self._meanings)
        for start in reversed(range(end)):
            for at, phrase, back in walk.ends(self._begin_after(words, start), start):
                if at - back == end:
                    return PhraseHit(phrase, start, end)
        return None

    def _begin_after(self, words: Sequence[str], start: int) -> _State:
        """Return what may begin at a token."""
        if start and words[start - 1] not in _STARTERS:
            return self._begin
        return self._begin_clause if start and words[start - 1] in _AFTER_THESE else self._begin_strictly


class _Walk:
    """Walks through tokens, and the states behind gaps from which each goes on, each once."""

    def __init__(self, words: Sequence[str], meanings: Cache[Meaning]) -> None:
        self.meanings = [*map(meanings.__getitem__, words)]
        self._stops = [*compress(count(), map(_STOPS.__contains__, words))]
        self._pending: deque[tuple[_State, int]] = deque()
        self._seen: set[tuple[_State, int]] = set()
        self._leapt: dict[tuple[_Leap, int], int] = {}

    def ends(self, begin: _State, at: int) -> list[tuple[int, int, int]]:
        """Return where phrases end that are in a state before a token: the token, the phrase, how far earlier it ends.

        Shorter ones come first.
        """
        found: list[tuple[int, int, int]] = []
        state: _State | None = begin
        while state is not None:
            if state.ends:
                found += [(at, phrase, back) for phrase, back in state.ends]
            if state.leaps:
                self._leap(state, at)
            state = None if state.is_last else after(state, self.meanings[at])
            at += 1
            if state is None and self._pending:
                state, at = self._pending.popleft()
        if len(found) > 1:
            found.sort(key=_in_order)
        if self._seen:
            self._seen.clear()
            self._leapt.clear()
        return found

    def _leap(self, state: _State, at: int) -> None:
        """Add what goes on behind the gaps that a state before a token has."""
        stop = self._stops[bisect_left(self._stops, at)]  # no gap holds a token that ends a clause
        for leap in state.leaps:
            last = stop
            if leap.most is not None:
                last = min(stop, at + leap.most)
            elif self._leapt.get((leap, stop), at + 1) <= at:
                continue  # a gap without a bound that began earlier in the clause has seen all
            else:
                self._leapt[leap, stop] = at
            behind = leap.state
            if behind.ends or behind.leaps:
                for place in range(at + 1, last + 1):
                    self._add(leap.after(place - at), place)
                continue
            following = [*map(behind.__getitem__, self.meanings[at + 1 : last + 1])]
            if following.count(None) < len(following):
                for place in [place for place, one in enumerate(following, at + 1) if one is not None]:
                    if (exact := leap.after(place - at)) is not None:
                        self._add(after(exact, self.meanings[place]), place + 1)

    def _add(self, state: _State | None, at: int) -> None:
        if state is not None and (state, at) not in self._seen:
            self._seen.add((state, at))
            self._pending.append((state, at))


after = _State.__getitem__
"""Return the state that a token leads to. Square brackets take several times as long for a subclass of `dict`."""


def _in_order(end: tuple[int, int, int]) -> tuple[int, int, int]:
    """Return what ends are sorted by: if a phrase may end here or a token earlier, the longer match comes last."""
    return end[0], end[1], -end[2]


def walker(phrases: Sequence[str], classes: Classes) -> Walker:
    """Return what finds phrases, each known by its place in the list.

    Raises ValueError for one that is not written as it must be or names a class that nobody defines.
    """
    network = compiled({"": phrases}, classes)
    return Walker(network, "", meanings(network))


def meanings(network: Network) -> Cache[Meaning]:
    """Return what tokens mean to the phrases of a network. Tokens with one meaning share it."""
    known = Meanings(network)
    shared: dict[Meaning, Meaning] = {}

    def meaning(word: str) -> Meaning:
        found = known[word] if word else frozenset({CLAUSE_END, _LAST})
        return shared.setdefault(found, found)

    return Cache(meaning)
