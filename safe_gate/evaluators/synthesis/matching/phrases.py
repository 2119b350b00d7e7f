"""Finds all phrases in tokens in one pass. Pure.

`notation.py` says how a phrase is written. All phrases become one automaton over tokens. It becomes
deterministic while it reads: each step from a set of places is worked out once and kept, up to a bound.
So a token costs a few look-ups, however many phrases there are.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import accumulate, chain, compress, count
from typing import NamedTuple

from safe_gate.evaluators.synthesis.matching.network import (
    BEGINNINGS,
    CLAUSE_END,
    Classes,
    Network,
    Rows,
    Steps,
    Unnamed,
    compiled,
)
from safe_gate.evaluators.synthesis.matching.states import LAST, State, Symbols, after
from safe_gate.evaluators.synthesis.matching.tokens import BOUNDARY, END

_AFTER_THESE = frozenset("and but or so then just please now first also".split())
_STARTERS = _AFTER_THESE | BOUNDARY | {END}  # after these a clause may start
_MOST_STEPS = 50_000  # the number kept before all are dropped


class Found(NamedTuple):
    """A phrase found in tokens: its number, its first token and the one after its last."""

    phrase: int
    start: int
    end: int


class Automata:
    """The automata of a network, which share a cache. The cache only saves time."""

    def __init__(self, network: Network, unnamed: Rows | None = None, steps: Mapping[str, Steps] | None = None) -> None:
        """Take the rest of a table, if the network is from one."""
        self.network, self._steps_of = network, steps or {}
        self._unnamed = Unnamed(network.affixes, network.numbers)
        named = dict(zip(network.words, network.symbols, strict=True))
        self.symbols = Symbols({**named, END: LAST}, self._symbol)
        self._meanings = {LAST: frozenset({CLAUSE_END, LAST})}
        self._first_unnamed = len(network.meanings.starts) - 1
        known = map(unnamed.row, range(len(unnamed.starts) - 1)) if unnamed else ()
        self._interned = {frozenset(one): number for number, one in enumerate(known, self._first_unnamed)}
        self._meanings |= {number: meaning for meaning, number in self._interned.items()}
        firsts = accumulate(network.lists.values(), initial=0)
        self._lists = {name: (number, first) for number, (name, first) in enumerate(zip(network.lists, firsts))}  # noqa: B905
        self._known_as: dict[int, Sequence[int]] = {}
        self._made: list[Automaton] = []
        self._states: dict[tuple[int, ...], State | None] = {(): None}
        self._known: dict[tuple[int, int], State] = {}
        self._steps = 0

    def of(self, name: str, known_as: Mapping[int, Sequence[int]] | None = None) -> Automaton:
        """Return the automaton of a list; each list has one.

        `known_as` maps a phrase's number in the list to the numbers that hits report, if they differ. A phrase with no
        such number is not looked for.
        """
        number, first = self._lists[name]
        for phrase in range(self.network.lists[name]):
            self._known_as[first + phrase] = (phrase,) if known_as is None else known_as.get(phrase, ())
        made = Automaton(self, number, self._steps_of.get(name))
        self._made.append(made)
        return made

    def _symbol(self, word: str) -> int:
        """Return the symbol of a token that no phrase names. Tokens with the same meaning share a symbol."""
        meaning = frozenset(self._unnamed.labels(word))
        number = self._interned.setdefault(meaning, self._first_unnamed + len(self._interned))
        self._meanings[number] = meaning
        return number

    def taking(self, symbol: int) -> frozenset[int]:
        """Return the labels that take a symbol; once in a while, forget what is kept."""
        if self._steps >= _MOST_STEPS:
            self._forget()
        self._steps += 1
        return self.meaning(symbol)

    def meaning(self, symbol: int) -> frozenset[int]:
        """Return the labels that take a symbol."""
        meaning = self._meanings.get(symbol)
        if meaning is None:
            meaning = self._meanings[symbol] = frozenset(self.network.meanings.row(symbol))
        return meaning

    def following(self, nodes: Sequence[int], taken: Set[int]) -> State | None:
        """Return the state that labels lead to from some places."""
        starts, labels = self.network.labels
        targets = self.network.targets.numbers
        found: set[int] = set()
        for node in nodes:
            start, end = starts[node], starts[node + 1]
            if end - start <= 4 * len(taken):
                for at in range(start, end):
                    if labels[at] in taken:
                        found.add(targets[at])
            else:
                for label in taken:
                    first = bisect_left(labels, label, start, end)
                    found.update(targets[first : bisect_right(labels, label, first, end)])
        state = self._state(tuple(sorted(found)))
        if LAST not in taken or state is None:
            return state
        return State(self, (), state.ends) if state.ends else None

    def beginning(self, nodes: Sequence[int]) -> State:
        """Return the state of places that begin phrases."""
        return State(self, nodes, ())

    def known(self, steps: Steps, number: int) -> State:
        """Return a state that is known by its number."""
        state = self._known.get((id(steps), number))
        if state is None:
            ends = self._in_order(steps.ends.row(number))
            state = self._known[id(steps), number] = State(self, None, ends, steps, number)
        return state

    def unnamed(self) -> Rows:
        """Return the labels of the words that were asked for and no phrase names, in the order of their symbols."""
        return Rows.of(sorted(meaning) for meaning in self._interned)

    def _state(self, nodes: tuple[int, ...]) -> State | None:
        if nodes not in self._states:
            starts, numbers = self.network.ends
            ends = chain.from_iterable(numbers[starts[node] : starts[node + 1]] for node in nodes)
            self._states[nodes] = State(self, nodes, self._in_order(ends))
        return self._states[nodes]

    def _in_order(self, ends: Iterable[int]) -> Sequence[tuple[int, int]]:
        """Return the phrases that end at some ends of the network, as states have them."""
        found = {(phrase, end % 2) for end in ends for phrase in self._known_as[end // 2]}
        # If a phrase may end here or a token earlier, the longer match comes last.
        return tuple(sorted(found, key=lambda end: (end[0], -end[1]))) if found else ()

    def labels(self, nodes: Iterable[int]) -> frozenset[int]:
        """Return all labels that some places take."""
        starts, labels = self.network.labels
        found: set[int] = set()
        for node in nodes:
            found.update(labels[starts[node] : starts[node + 1]])
        return frozenset(found)

    def _forget(self) -> None:
        self._states = {(): None}
        self._known = {}
        self._steps = 0
        for one in self._made:
            one.begin()


class Automaton:
    """Finds the phrases of a list in tokens. The result depends on the phrases alone."""

    def __init__(self, automata: Automata, number: int, steps: Steps | None) -> None:
        """Take the number of the list, and known steps. Words that only other lists tell apart are one symbol."""
        self._automata, self._number, self._steps = automata, number, steps
        network = automata.network
        self._labels = frozenset() if steps else network.labels_of(number) | {LAST}
        self._alike: dict[frozenset[int], int] = {}
        self._symbols = Symbols({}, self._symbol)
        words = frozenset(network.words[place] for place in network.firsts.row(number))
        self._firsts = words or None
        self.begin()

    def _symbol(self, word: str) -> int:
        """Return the number of a token's meaning to this list: the first symbol with the same meaning."""
        return self.same(self._automata.symbols[word])

    def same(self, symbol: int) -> int:
        """Return the symbol that means the same to this list as another one and stands for all that do."""
        if self._steps:
            return self._steps.alike[symbol] if 0 <= symbol < len(self._steps.alike) else symbol
        return self._alike.setdefault(self._automata.meaning(symbol) & self._labels, symbol)

    def begin(self) -> None:
        """Take the states that phrases begin in."""
        anywhere = BEGINNINGS * self._number
        places = (range(anywhere, anywhere + count) for count in range(1, BEGINNINGS + 1))
        self.beginnings = [*map(self._automata.beginning, places)]
        for number, state in enumerate(self.beginnings):
            state.steps, state.number = self._steps, number
        self._begin, self._begin_clause, self._begin_strictly = self.beginnings

    def find(self, words: Sequence[str]) -> list[Found]:
        """Return each phrase at each token that it begins at, as long as it goes, in the tokens of sentences.

        `END` is the last token, and stands between sentences.
        """
        return [*self._found(words)]

    def _found(self, words: Sequence[str]) -> Iterator[Found]:
        symbols = [*map(self._symbols.__getitem__, words)]
        for start, first in enumerate(self._beginnings(words, symbols)):
            at, state, longest = start, first, None
            while state is not None:
                at += 1
                if state.ends:
                    longest = longest or {}
                    for phrase, back in state.ends:
                        longest[phrase] = at - back
                    if not state.nodes:
                        break
                state = after(state, symbols[at])
            if longest:
                for phrase, end in longest.items():
                    yield Found(phrase, start, end)

    def _beginnings(self, words: Sequence[str], symbols: Sequence[int]) -> list[State | None]:
        """Return the state after each token if a phrase begins with it."""
        states = [*map(self._begin.__getitem__, symbols)]
        states[0] = self._begin_strictly[symbols[0]]
        for before in compress(range(len(words) - 1), map(_STARTERS.__contains__, words)):
            begin = self._begin_clause if words[before] in _AFTER_THESE else self._begin_strictly
            states[before + 1] = after(begin, symbols[before + 1])
        return states

    def first(self, words: Sequence[str]) -> Found | None:
        """Return what begins first in the tokens of a sentence, as long as it goes, if anything does."""
        if self._firsts is not None and self._firsts.isdisjoint(words):
            return None
        return next(self._found((*words, END)), None)

    def beginning(self, words: Sequence[str], start: int) -> Found | None:
        """Return a phrase that begins at a token, as long as it goes, if one does."""
        *_, last = (None, *self._ends(words, start))
        return Found(last[0], start, last[1]) if last else None

    def ending(self, words: Sequence[str], end: int) -> Found | None:
        """Return a phrase that ends right before a token, the shortest one, if one does."""
        for start in reversed(self._starts(words[:end])):
            for phrase, at in self._ends(words, start):
                if at == end:
                    return Found(phrase, start, end)
        return None

    def _starts(self, words: Sequence[str]) -> list[int]:
        """Return the tokens that phrases may begin with."""
        if self._firsts is not None:
            return [] if self._firsts.isdisjoint(words) else [*compress(count(), map(self._firsts.__contains__, words))]
        states = map(self._begin_strictly.__getitem__, map(self._symbols.__getitem__, words))
        return [start for start, state in enumerate(states) if state is not None]

    def _ends(self, words: Sequence[str], start: int) -> Iterator[tuple[int, int]]:
        """Yield the phrases that begin at a token with each place they may end before, shorter ones first."""
        state: State | None = self._beginning(words[start - 1] if start else END)
        for at, word in enumerate(chain(words[start:], (END,)), start + 1):
            state = state[self._symbols[word]] if state is not None else None
            if state is None:
                return
            for phrase, back in state.ends:
                yield phrase, at - back

    def _beginning(self, before: str) -> State:
        """Return what may begin after a token."""
        if before in _STARTERS:
            return self._begin_clause if before in _AFTER_THESE else self._begin_strictly
        return self._begin


def automaton(phrases: Sequence[str], classes: Classes) -> Automaton:
    """Return what finds phrases, each known by its place in the list.

    Raises ValueError for one that is not written as it must be or names a class that nobody defines.
    """
    return Automata(compiled({"": phrases}, classes)).of("")
