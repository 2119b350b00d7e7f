"""Phrases found in tokens, all of them in one pass. Pure.

`notation.py` says how a phrase is written. All phrases become one automaton over tokens. It is made
deterministic while it reads: what follows a set of places on a token is worked out once and kept, up to
a bound. So a token costs a few look-ups however many phrases there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from safe_gate.evaluators.synthesis.notation import STARTS, Gap, Options, Sequence_, parsed, sorted_out
from safe_gate.evaluators.synthesis.tokens import BOUNDARY

_AFTER_THESE = frozenset("and but or so then just please now first also".split())
_SIGNS = frozenset({"_", "$", "<num>"})
_STARTERS = _AFTER_THESE | BOUNDARY  # after these a clause may start
_DEEPEST = 8  # a class may name another one
_MOST_STEPS = 60_000  # kept; then all are forgotten
_MOST_WORDS = 10_000
_ANYWHERE, _CLAUSE_START, _STRICT_START = 0, 1, 2  # the places where phrases begin
_STARTS = dict(zip(STARTS, (_CLAUSE_START, _STRICT_START), strict=True))

Classes = Mapping[str, Sequence[str]]
Label = str | frozenset[str]
"""What a place in a phrase takes: a word, one of several words, or a sign such as `_`."""


class Found(NamedTuple):
    """A phrase found in tokens: its number, its first token and the one after its last."""

    phrase: int
    start: int
    end: int


class _State(dict[int, "_State"]):
    """A set of places in the phrases, and where each symbol leads, as far as that was asked.

    `ends` are the phrases that may end here, each with how many tokens earlier: 1 behind `$`, which is none.
    """

    __slots__ = ("automaton", "ends", "nodes")

    def __init__(self, automaton: Automaton, nodes: frozenset[int], ends: tuple[tuple[int, int], ...]) -> None:
        super().__init__()
        self.automaton, self.nodes, self.ends = automaton, nodes, ends

    def __missing__(self, symbol: int) -> _State:
        return self.automaton.following(self, symbol)


class Automaton:
    """Finds phrases in tokens. What it finds depends on the phrases alone; what it keeps only saves time."""

    def __init__(self, phrases: Sequence[str], classes: Classes) -> None:
        """Compile phrases, each known by its place in the list.

        Raises ValueError for one that is not written as it must be or names a class that nobody defines.
        """
        self._edges: list[dict[Label, list[int]]] = [{}, {}, {}]
        self._accepts: dict[int, list[int]] = {}
        self._trimmed: dict[int, list[int]] = {}
        self._nodes: dict[tuple[frozenset[int], Label], int] = {}
        self._marks: set[int] = set()  # the places behind $, which is no token of a phrase
        self._classes = classes
        self._class_options: dict[str, Options] = {}
        self._by_word: dict[str, list[Label]] = {}
        self._by_affix: dict[tuple[int, bool], dict[str, list[Label]]] = {}
        self._labels: set[Label] = set()
        for number, phrase in enumerate(phrases):
            self._add(number, phrase)
        self._symbols: dict[str, int] = {}
        self._meanings: list[frozenset[Label]] = []
        self._interned: dict[frozenset[Label], int] = {}
        self._end = self.symbol("\n")
        self._firsts = self._first_words()
        self._forget()

    def _add(self, number: int, phrase: str) -> None:
        sequence = parsed(phrase)
        start = next((place for sign, place in _STARTS.items() if sequence[:1] == (sign,)), _ANYWHERE)
        ends = self._sequence(sequence[start > _ANYWHERE :], frozenset({start}), 0)
        if start in ends:
            raise ValueError("may be empty; expected a token that must be there")
        for end in ends:
            (self._trimmed if end in self._marks else self._accepts).setdefault(end, []).append(number)

    def _sequence(self, sequence: Sequence_, sources: frozenset[int], depth: int) -> frozenset[int]:
        """Return the places that a sequence leads to from some."""
        for item in sequence:
            if isinstance(item, Gap):
                sources = self._through_gap(item, sources)
            elif isinstance(item, tuple):
                sources = self._either(sorted_out(item), sources, depth)
            elif item[0] == "{":
                sources = self._either(self._members(item[1:-1]), sources, depth + 1)
            else:
                sources = self._step(sources, item)
        return sources

    def _either(self, options: Options, sources: frozenset[int], depth: int) -> frozenset[int]:
        if depth > _DEEPEST:
            raise ValueError(f"names word classes that name each other more than {_DEEPEST} deep")
        words, others = options
        ends = self._step(sources, next(iter(words)) if len(words) == 1 else words) if words else frozenset()
        for option in others:
            ends |= self._sequence(option, sources, depth)
        return ends

    def _members(self, name: str) -> Options:
        if name not in self._class_options:
            if name not in self._classes:
                raise ValueError(f"names the unknown word class {{{name}}}")
            self._class_options[name] = sorted_out([parsed(member) for member in self._classes[name]])
        return self._class_options[name]

    def _through_gap(self, gap: Gap, sources: frozenset[int]) -> frozenset[int]:
        for _ in range(gap.least):
            sources = self._step(sources, "_")
        if gap.most is None:
            (loop,) = self._step(sources, "_*")  # takes what _ takes, again and again
            self._edges[loop].setdefault("_", []).append(loop)
            return sources | {loop}
        ends = sources
        for _ in range(gap.most - gap.least):
            sources = self._step(sources, "_")
            ends |= sources
        return ends

    def _step(self, sources: frozenset[int], label: Label) -> frozenset[int]:
        """Return the place behind a label after some places; the phrases that begin alike share it."""
        node = self._nodes.get((sources, label))
        if node is None:
            node = self._nodes[sources, label] = len(self._edges)
            self._edges.append({})
            taken = "_" if label == "_*" else label
            if label == "$":
                self._marks.add(node)
            for source in sources:
                self._edges[source].setdefault(taken, []).append(node)
            if taken not in self._labels:
                self._labels.add(taken)
                for word in (taken,) if isinstance(taken, str) else taken:
                    self._register(word, taken)
        return frozenset({node})

    def _register(self, word: str, label: Label) -> None:
        if word.endswith("*"):
            self._by_affix.setdefault((len(word) - 1, True), {}).setdefault(word[:-1], []).append(label)
        elif word.startswith("*"):
            self._by_affix.setdefault((len(word) - 1, False), {}).setdefault(word[1:], []).append(label)
        else:
            self._by_word.setdefault(word, []).append(label)

    def _first_words(self) -> frozenset[str] | None:
        """Return the words that phrases begin with, None if one may begin with any."""
        firsts: set[str] = set()
        for label in (label for start in (_ANYWHERE, *_STARTS.values()) for label in self._edges[start]):
            words = {label} if isinstance(label, str) else label
            if any(word in _SIGNS or "*" in word for word in words):
                return None
            firsts |= words
        return frozenset(firsts | {"'s"} if "is" in firsts else firsts)

    # Reading

    def symbol(self, word: str) -> int:
        """Return the number of what a token means to the phrases; all tokens that mean the same have the same."""
        meaning = self._meaning(word)
        number = self._interned.get(meaning)
        if number is None:
            number = self._interned[meaning] = len(self._meanings)
            self._meanings.append(meaning)
        if len(self._symbols) >= _MOST_WORDS:
            self._symbols.clear()
        self._symbols[word] = number
        return number

    def _meaning(self, word: str) -> frozenset[Label]:
        """Return the labels that take a token."""
        labels = set(self._by_word.get(word, ()))
        if word == "'s":
            labels.update(self._by_word.get("is", ()))  # a noun's, which may be either
        if word in BOUNDARY:
            return frozenset({*labels, "$"})
        if word[0].isdigit():
            labels.update(self._by_word.get("<num>", ()))
        for (length, is_prefix), affixes in self._by_affix.items():
            labels.update(affixes.get(word[:length] if is_prefix else word[-length:], ()))
        return frozenset({*labels, "_"})

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

    def following(self, state: _State, symbol: int) -> _State:
        """Return where a symbol leads from a state, and keep it."""
        meaning = self._meanings[symbol]
        nodes: set[int] = set()
        for node in state.nodes:
            edges = self._edges[node]
            some, others = (edges, meaning) if len(edges) < len(meaning) else (meaning, edges)
            for label in some:
                if label in others:
                    nodes.update(edges[label])
        found = self._state(frozenset(nodes))
        if self._steps >= _MOST_STEPS:
            self._forget()
        self._steps += 1
        state[symbol] = found
        return found

    def _forget(self) -> None:
        self._states: dict[frozenset[int], _State] = {}
        self._steps = 0
        self._begin = self._state(frozenset({_ANYWHERE}))
        self._begin_clause = self._state(frozenset({_ANYWHERE, _CLAUSE_START}))
        self._begin_strictly = self._state(frozenset({_ANYWHERE, _CLAUSE_START, _STRICT_START}))

    def _state(self, nodes: frozenset[int]) -> _State:
        state = self._states.get(nodes)
        if state is None:
            ends = {(phrase, 0): None for node in nodes for phrase in self._accepts.get(node, ())}
            ends |= {(phrase, 1): None for node in nodes for phrase in self._trimmed.get(node, ())}
            # Of a phrase that may end here and a token earlier, the longer one comes last.
            state = self._states[nodes] = _State(self, nodes, tuple(sorted(ends, key=lambda end: (end[0], -end[1]))))
        return state
