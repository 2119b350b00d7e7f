"""Phrases found in tokens, all of them in one pass. Pure.

`notation.py` says how a phrase is written. All phrases become one automaton over tokens. It is made
deterministic while it reads: what follows a set of places on a token is worked out once and kept, up to
a bound. So a token costs a few look-ups however many phrases there are.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from safe_gate.evaluators.synthesis.network import BEGINNINGS, Classes, Network, Unnamed, compiled
from safe_gate.evaluators.synthesis.tokens import BOUNDARY

_AFTER_THESE = frozenset("and but or so then just please now first also".split())
_STARTERS = _AFTER_THESE | BOUNDARY  # after these a clause may start
_MOST_STEPS = 60_000  # kept; then all are forgotten
_MOST_WORDS = 10_000


class Found(NamedTuple):
    """A phrase found in tokens: its number, its first token and the one after its last."""

    phrase: int
    start: int
    end: int


class _State(dict[int, "_State"]):
    """A set of places in the phrases, and where each symbol leads, as far as that was asked.

    `ends` are the phrases that may end here, each with how many tokens earlier: 1 behind `$`, which is none.
    """

    __slots__ = ("automata", "ends", "nodes")

    def __init__(self, automata: Automata, nodes: frozenset[int], ends: tuple[tuple[int, int], ...]) -> None:
        super().__init__()
        self.automata, self.nodes, self.ends = automata, nodes, ends

    def __missing__(self, symbol: int) -> _State:
        return self.automata.following(self, symbol)


class Automata:
    """The automata of a network, which share what they work out. What they keep only saves time."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self._unnamed = Unnamed(network.affixes, network.numbers)
        self._named = dict(zip(network.words, network.symbols, strict=True))
        self.symbols = {**self._named}
        self._meanings: dict[int, frozenset[int]] = {}
        self._interned: dict[frozenset[int], int] = {}
        self._first_unnamed = len(network.meanings.starts)
        firsts = accumulate(network.lists.values(), initial=0)
        self._lists = {name: (number, first) for number, (name, first) in enumerate(zip(network.lists, firsts))}  # noqa: B905
        self._known_as: dict[int, Sequence[int]] = {}
        self._made: list[Automaton] = []
        self._states: dict[frozenset[int], _State] = {}
        self._steps = 0

    def of(self, name: str, known_as: Mapping[int, Sequence[int]] | None = None) -> Automaton:
        """Return what finds the phrases of a list, of which there is one.

        `known_as` are the numbers that each phrase is known by, by its number in the list, if that is not the one:
        none if it is not looked for.
        """
        number, first = self._lists[name]
        for phrase in range(self.network.lists[name]):
            self._known_as[first + phrase] = (phrase,) if known_as is None else known_as.get(phrase, ())
        made = Automaton(self, number)
        self._made.append(made)
        return made

    def symbol(self, word: str) -> int:
        """Return the number of what a token means to the phrases; all tokens that mean the same have the same."""
        if word not in self._named:
            meaning = frozenset(self._unnamed.labels(word))
            number = self._interned.setdefault(meaning, self._first_unnamed + len(self._interned))
            self._meanings[number] = meaning
        else:
            number = self._named[word]
        if len(self.symbols) >= len(self._named) + _MOST_WORDS:
            self.symbols.clear()
            self.symbols.update(self._named)
        self.symbols[word] = number
        return number

    def following(self, state: _State, symbol: int) -> _State:
        """Return where a symbol leads from a state, and keep it."""
        meaning = self._meanings.get(symbol)
        if meaning is None:
            meaning = self._meanings[symbol] = frozenset(self.network.meanings.row(symbol))
        starts, labels = self.network.labels
        targets = self.network.targets.numbers
        nodes: set[int] = set()
        for node in state.nodes:
            start, end = starts[node], starts[node + 1]
            if end - start <= 4 * len(meaning):
                for at in range(start, end):
                    if labels[at] in meaning:
                        nodes.add(targets[at])
            else:
                for label in meaning:
                    at = bisect_left(labels, label, start, end)
                    while at < end and labels[at] == label:
                        nodes.add(targets[at])
                        at += 1
        found = self.state(frozenset(nodes))
        if self._steps >= _MOST_STEPS:
            self._forget()
        self._steps += 1
        state[symbol] = found
        return found

    def state(self, nodes: frozenset[int]) -> _State:
        """Return the state of a set of places."""
        state = self._states.get(nodes)
        if state is None:
            ends: dict[tuple[int, int], None] = {}
            for node in nodes:
                for end in self.network.ends.row(node):
                    ends |= dict.fromkeys((phrase, end % 2) for phrase in self._known_as[end // 2])
            # Of a phrase that may end here and a token earlier, the longer one comes last.
            state = self._states[nodes] = _State(self, nodes, tuple(sorted(ends, key=lambda end: (end[0], -end[1]))))
        return state

    def _forget(self) -> None:
        self._states = {}
        self._steps = 0
        for one in self._made:
            one.begin()


class Automaton:
    """Finds the phrases of a list in tokens. What it finds depends on the phrases alone."""

    def __init__(self, automata: Automata, number: int) -> None:
        """Take the number of the list."""
        self._automata, self._number = automata, number
        self._symbols, self.symbol = automata.symbols, automata.symbol
        self._end = automata.symbol("\n")
        network = automata.network
        words = frozenset(network.words[place] for place in network.firsts.row(number))
        self._firsts = words or None
        self.begin()

    def begin(self) -> None:
        """Take the states that phrases begin in."""
        anywhere = BEGINNINGS * self._number
        states = (frozenset(range(anywhere, anywhere + count)) for count in range(1, BEGINNINGS + 1))
        self._begin, self._begin_clause, self._begin_strictly = map(self._automata.state, states)

    def find(self, words: Sequence[str], *, only_first: bool = False) -> list[Found]:
        """Return each phrase at each token that it begins at, as long as it goes, in the tokens of a sentence."""
        found: list[Found] = []
        if self._firsts is not None and self._firsts.isdisjoint(words):
            return found  # most conditions are told so
        symbols = self._read(words)
        last = len(words)
        anywhere, clause, before = self._begin, self._begin_clause, self._begin_strictly
        strictly = before
        for start, word in enumerate(words):
            state = before[symbols[start]]
            before = anywhere if word not in _STARTERS else clause if word in _AFTER_THESE else strictly
            at = start + 1
            longest: dict[int, int] = {}
            while state.nodes:
                if state.ends:
                    for phrase, back in state.ends:
                        longest[phrase] = at - back
                if at > last:
                    break
                state = state[symbols[at]]
                at += 1
            if longest:
                found += [Found(phrase, start, end) for phrase, end in longest.items()]
                if only_first:
                    break
        return found

    def first(self, words: Sequence[str]) -> Found | None:
        """Return what begins first in the tokens of a sentence, if anything does."""
        return next(iter(self.find(words, only_first=True)), None)

    def beginning(self, words: Sequence[str], start: int) -> Found | None:
        """Return a phrase that begins at a token, as long as it goes, if one does."""
        *_, last = (None, *self._ends(words, self._read(words), start))
        return Found(last[0], start, last[1]) if last else None

    def ending(self, words: Sequence[str], end: int) -> Found | None:
        """Return a phrase that ends right before a token, the shortest one, if one does."""
        symbols = self._read(words)
        for start in range(end - 1, -1, -1):
            if self._firsts is not None and words[start] not in self._firsts:
                continue
            for phrase, at in self._ends(words, symbols, start):
                if at == end:
                    return Found(phrase, start, end)
        return None

    def _read(self, words: Sequence[str]) -> list[int]:
        numbers = self._symbols
        symbols = [numbers[word] if word in numbers else self.symbol(word) for word in words]
        symbols.append(self._end)
        return symbols

    def _ends(self, words: Sequence[str], symbols: Sequence[int], start: int) -> Iterator[tuple[int, int]]:
        """Yield the phrases that begin at a token with each place they may end before, shorter ones first."""
        state = self._beginning(words[start - 1]) if start else self._begin_strictly
        for at in range(start, len(symbols)):
            state = state[symbols[at]]
            if not state.nodes:
                return
            for phrase, back in state.ends:
                yield phrase, at + 1 - back

    def _beginning(self, before: str) -> _State:
        """Return what may begin after a token."""
        if before in _STARTERS:
            return self._begin_clause if before in _AFTER_THESE else self._begin_strictly
        return self._begin


def automaton(phrases: Sequence[str], classes: Classes) -> Automaton:
    """Return what finds phrases, each known by its place in the list.

    Raises ValueError for one that is not written as it must be or names a class that nobody defines.
    """
    return Automata(compiled({"": phrases}, classes)).of("")
