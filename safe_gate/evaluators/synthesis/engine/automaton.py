"""Finds all phrases in tokens in one pass. Pure.

`notation.py` says how a phrase is written. From each token a walk takes the phrases that begin there, all at once, as
far as they have no gap. The walk becomes deterministic as it goes: each step from a set of places is worked out once
and kept, as long as there is room. What stands behind a gap is looked for only where the words before it stand.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress, count
from typing import NamedTuple

from safe_gate.core.text.cache import Cache
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


class _State(dict[Meaning, "_State | None"]):
    """A set of places, with the state that each token asked for so far leads to: None for no place.

    `ends` are the phrases that may end here, each with how many tokens earlier: 1 behind `$`, which is no token.
    """

    __slots__ = ("_edges", "ends", "is_last", "leaps", "places", "walker")
    __hash__, __eq__ = object.__hash__, object.__eq__  # type: ignore[assignment]

    def __init__(self, walker: Walker, places: frozenset[int]) -> None:
        super().__init__()
        self.walker, self.places = walker, places
        self._edges: dict[int, list[int]] | None = None
        network = walker.network
        starts = network.labels.starts
        self.is_last = not any(starts[place] < starts[place + 1] for place in places)
        self.ends = walker.ends(places)
        self.leaps = walker.leaps(places)

    def __missing__(self, meaning: Meaning) -> _State | None:
        if self._edges is None:
            self._edges = self.walker.edges(self.places)
        taken = self._edges.keys() & meaning
        found = self.walker.state(frozenset[int]().union(*map(self._edges.__getitem__, taken))) if taken else None
        if found is not None and _LAST in meaning:
            found = self.walker.at_end(found)
        if self.walker.has_room():
            self[meaning] = found
        return found


class Walker:
    """Finds the phrases of one list of a network. The result depends on the phrases alone.

    `known_as` maps a phrase's number in the list to the numbers that hits report, if they differ. A phrase with no
    such number is not looked for.
    """

    def __init__(
        self,
        network: Network,
        name: str,
        meanings: Cache[Meaning],
        known_as: Mapping[int, Sequence[int]] | None = None,
    ) -> None:
        self.network, self._meanings, self._known_as = network, meanings, known_as
        self._room = _MOST_STEPS
        self._states: dict[frozenset[int], _State] = {}
        names = [*network.lists]
        number = names.index(name)
        self._first = sum(len(network.lists[one]) for one in names[:number])
        anywhere = BEGINNINGS * number
        places = (frozenset(range(anywhere, anywhere + many)) for many in range(1, BEGINNINGS + 1))
        self._begin, self._begin_clause, self._begin_strictly = (_State(self, some) for some in places)

    def has_room(self) -> bool:
        """Return whether one more step may be kept."""
        self._room -= 1
        return self._room >= 0

    def state(self, places: frozenset[int]) -> _State:
        """Return the state of some places."""
        found = self._states.get(places)
        if found is None:
            found = _State(self, places)
            if self.has_room():
                self._states[places] = found
        return found

    def at_end(self, state: _State) -> _State | None:
        """Return a state at the end of a sentence, where nothing follows."""
        if not state.ends:
            return None
        last = _State(self, frozenset())
        last.ends = state.ends
        return last

    def edges(self, places: Iterable[int]) -> dict[int, list[int]]:
        """Return the places that labels lead to from some."""
        starts, labels = self.network.labels
        targets = self.network.targets.numbers
        found: dict[int, list[int]] = {}
        for place in places:
            for at in range(starts[place], starts[place + 1]):
                found.setdefault(labels[at], []).append(targets[at])
        return found

    def ends(self, places: Iterable[int]) -> Sequence[tuple[int, int]]:
        """Return the phrases that end in some places, as states have them."""
        starts, numbers = self.network.ends
        found: set[tuple[int, int]] = set()
        for place in places:
            for end in numbers[starts[place] : starts[place + 1]]:
                phrase = end // 2 - self._first
                known_as = (phrase,) if self._known_as is None else self._known_as.get(phrase, ())
                found.update((one, end % 2) for one in known_as)
        return tuple(found)

    def leaps(self, places: Iterable[int]) -> Sequence[_Leap]:
        """Return the gaps after some places, those with a bound apart."""
        starts, numbers = self.network.gaps
        bounded: list[tuple[int, int, int]] = []
        unbounded: list[tuple[int, int, int]] = []
        for place in places:
            for at in range(starts[place], starts[place + 1], 3):
                least, most, behind = numbers[at : at + 3]
                (bounded if most else unbounded).append((least, most, behind))
        return tuple(_Leap(self, gaps) for gaps in (bounded, unbounded) if gaps)

    def find(self, words: Sequence[str]) -> list[PhraseHit]:
        """Return each phrase at each token that it begins at, as long as it goes, in the tokens of sentences.

        `END` is the last token, and stands between sentences.
        """
        return [*self._found(words)]

    def first(self, words: Sequence[str]) -> PhraseHit | None:
        """Return what begins first in the tokens of a sentence, as long as it goes, if anything does."""
        return next(self._found((*words, END)), None)

    def beginning(self, words: Sequence[str], start: int) -> PhraseHit | None:
        """Return a phrase that begins at a token of a sentence, as long as it goes, if one does."""
        ends = self._ends(self._begin_after(words, start), start, *self._read((*words, END)))
        return PhraseHit(ends[-1][1], start, ends[-1][0] - ends[-1][2]) if ends else None

    def ending(self, words: Sequence[str], end: int) -> PhraseHit | None:
        """Return a phrase that ends right before a token of a sentence, the shortest one, if one does."""
        read = self._read((*words, END))
        for start in reversed(range(end)):
            for at, phrase, back in self._ends(self._begin_after(words, start), start, *read):
                if at - back == end:
                    return PhraseHit(phrase, start, end)
        return None

    def _read(self, words: Sequence[str]) -> tuple[Sequence[Meaning], Sequence[int]]:
        """Return the meanings of tokens, and where clauses end."""
        return [*map(self._meanings.__getitem__, words)], [*compress(count(), map(_STOPS.__contains__, words))]

    def _begin_after(self, words: Sequence[str], start: int) -> _State:
        """Return what may begin at a token."""
        if start and words[start - 1] not in _STARTERS:
            return self._begin
        return self._begin_clause if start and words[start - 1] in _AFTER_THESE else self._begin_strictly

    def _found(self, words: Sequence[str]) -> Iterator[PhraseHit]:
        meanings, stops = self._read(words)
        states = [*map(self._begin.__getitem__, meanings)]
        states[0] = after(self._begin_strictly, meanings[0])
        for before in compress(range(len(words) - 1), map(_STARTERS.__contains__, words)):
            states[before + 1] = after(self._begin_after(words, before + 1), meanings[before + 1])
        for start, state in enumerate(states):
            if self._begin_strictly.leaps:
                ends = self._ends(self._begin_after(words, start), start, meanings, stops)
            elif state is None:
                continue
            else:
                ends = self._ends(state, start + 1, meanings, stops)
            for phrase, end in {phrase: end - back for end, phrase, back in ends}.items():
                yield PhraseHit(phrase, start, end)

    def _ends(
        self, state: _State | None, at: int, meanings: Sequence[Meaning], stops: Sequence[int]
    ) -> list[tuple[int, int, int]]:
        """Return where phrases end that are in a state before a token: the token, the phrase, how far earlier it ends.

        Shorter ones come first.
        """
        found: list[tuple[int, int, int]] = []
        pending: _Pending | None = None
        while state is not None:
            if state.ends:
                found += [(at, phrase, back) for phrase, back in state.ends]
            if state.leaps:
                pending = pending or _Pending(meanings, stops)
                pending.leap(state, at)
            state = None if state.is_last else after(state, meanings[at])
            at += 1
            if state is None and pending:
                state, at = pending.next()
        if len(found) > 1:
            found.sort(key=_in_order)
        return found


class _Pending:
    """The states behind gaps from which a walk goes on, each once, and from where."""

    def __init__(self, meanings: Sequence[Meaning], stops: Sequence[int]) -> None:
        self._meanings, self._stops = meanings, stops
        self._states: deque[tuple[_State, int]] = deque()
        self._seen: set[tuple[_State, int]] = set()
        self._leapt: dict[tuple[_Leap, int], int] = {}

    def next(self) -> tuple[_State | None, int]:
        """Return a state and the token that comes next, no state if none is left."""
        return self._states.popleft() if self._states else (None, 0)

    def leap(self, state: _State, at: int) -> None:
        """Add what goes on behind the gaps that a state before a token has."""
        stop = self._stops[bisect_left(self._stops, at)]  # no gap holds a token that ends a clause
        for leap in state.leaps:
            if leap.most is None:  # a gap without a bound that began earlier in the clause has seen all
                if self._leapt.get((leap, stop), at + 1) <= at:
                    continue
                self._leapt[leap, stop] = at
            last = stop if leap.most is None else min(stop, at + leap.most)
            if leap.state.ends or leap.state.leaps:
                for place in range(at + 1, last + 1):
                    self._add(leap.after(place - at), place)
                continue
            following = map(leap.state.__getitem__, self._meanings[at + 1 : last + 1])
            for place in [place for place, one in enumerate(following, at + 1) if one is not None]:
                if (behind := leap.after(place - at)) is not None:
                    self._add(after(behind, self._meanings[place]), place + 1)

    def _add(self, state: _State | None, at: int) -> None:
        if state is not None and (state, at) not in self._seen:
            self._seen.add((state, at))
            self._states.append((state, at))


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
    known = Meanings(network.words)
    shared: dict[Meaning, Meaning] = {}

    def meaning(word: str) -> Meaning:
        found = known[word] if word else frozenset({CLAUSE_END, _LAST})
        return shared.setdefault(found, found)

    return Cache(meaning)
