"""Phrases compiled: places, and which words lead from one to the next, as numbers alone. Pure.

A network holds lists of phrases, each by a name. It is compiled from them, or read from a table: bytes that an
installation ships, because compiling takes longer than an `eval` of few cases. A table has a key, the digest of all
that compiling depends on besides the phrases. A table with another key than the one expected is not read.
"""

from __future__ import annotations

import hashlib
import json
import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain, pairwise
from typing import Any, NamedTuple

from safe_gate.evaluators.synthesis.matching.notation import STARTS, Gap, Options, Sequence_, parsed, sorted_out
from safe_gate.evaluators.synthesis.matching.tokens import BOUNDARY

Classes = Mapping[str, Sequence[str]]
Label = str | frozenset[str]
"""What leads from a place to another: a word, one of several words, or a sign such as `_`."""

ANY, CLAUSE_END = 0, 1
"""The numbers of the labels `_` and `$`."""
BEGINNINGS = 3
"""So many places begin the phrases of a list."""

_NUMBER = "<num>"
_SIGNS = frozenset({"_", "$", _NUMBER})
_DEEPEST = 8  # a class may name another one


class Rows(NamedTuple):
    """Rows of numbers, one after the other. `starts` says where each starts, and where the last one ends."""

    starts: array[int]
    numbers: array[int]

    @classmethod
    def of(cls, rows: Iterable[Sequence[int]]) -> Rows:
        """Return rows put one after the other."""
        rows = [*rows]
        return cls(array("I", accumulate(map(len, rows), initial=0)), array("I", chain.from_iterable(rows)))

    def row(self, number: int) -> array[int]:
        """Return a row."""
        return self.numbers[self.starts[number] : self.starts[number + 1]]


class Network(NamedTuple):
    """Compiled phrases.

    `lists` are the names of the lists, each with the number of its phrases. List n begins at the places 3n, 3n + 1 and
    3n + 2: anywhere, at the start of a clause, and there with nothing before. `words` are all that a phrase names, each
    with the number of what it means in `symbols`; `meanings` are the labels that take such a word. `affixes` are
    the beginnings ("calm*") and ends ("*ing") of words, each with its labels; `numbers` are the labels that take any
    number. From place n, label `labels[n][i]` leads to place `targets[n][i]`; `ends[n]` are the phrases that end
    there, counted through all lists: twice the number, and one more if it ends a token earlier. `firsts` are the
    words that phrases of a list begin with, as places in `words`, none if any word may.
    """

    lists: Mapping[str, int]
    words: Sequence[str]
    symbols: Sequence[int]
    meanings: Rows
    affixes: Mapping[str, Sequence[int]]
    numbers: Sequence[int]
    labels: Rows
    targets: Rows
    ends: Rows
    firsts: Rows

    def labels_of(self, number: int) -> frozenset[int]:
        """Return all labels of a list. Its places stand together, behind those that lists begin at."""
        firsts = (min(self._from_beginnings(self.targets, one), default=0) for one in range(number, len(self.lists)))
        first, end = next(firsts), next(filter(None, firsts), len(self.labels.starts) - 1)
        starts = self.labels.starts
        own = self.labels.numbers[starts[first] : starts[end]] if first else ()
        return frozenset(self._from_beginnings(self.labels, number)).union(own)

    def _from_beginnings(self, rows: Rows, number: int) -> array[int]:
        """Return what rows have of the places that a list begins at."""
        start, end = (rows.starts[BEGINNINGS * one] for one in (number, number + 1))
        return rows.numbers[start:end]


class Steps(NamedTuple):
    """States that the phrases of a list were in while they read texts, and how symbols led from one to the next.

    State n stands for the places `nodes[n]`, where phrases end as `ends[n]`; the list begins in the first three. Symbol
    `symbols[n][i]` leads from it to state `targets[n][i] - 1`, to none from 0. `alike` has for each symbol the one that
    means the same to the list.
    """

    alike: Sequence[int]
    nodes: Rows
    ends: Rows
    symbols: Rows
    targets: Rows


class Table(NamedTuple):
    """A network, the phrases of some of its lists by name, and the steps that these took through some texts.

    `unnamed` are the labels of words in these texts that no phrase names; their symbols follow those of the network.
    """

    network: Network
    phrases: Mapping[str, Sequence[str]]
    unnamed: Rows
    steps: Mapping[str, Steps]


class Unnamed:
    """What words mean that no phrase names: by how they begin and end, and whether they are numbers."""

    def __init__(self, affixes: Mapping[str, Sequence[int]], numbers: Sequence[int]) -> None:
        self._numbers = numbers
        self._affixes: dict[tuple[int, bool], dict[str, Sequence[int]]] = {}
        for affix, labels in affixes.items():
            self._affixes.setdefault((len(affix) - 1, affix[-1] == "*"), {})[affix.strip("*")] = labels

    def labels(self, word: str) -> set[int]:
        """Return the labels that take a word, besides those that name it."""
        labels = {ANY, *self._numbers} if word[0].isdigit() else {ANY}
        for (length, is_prefix), affixes in self._affixes.items():
            labels.update(affixes.get(word[:length] if is_prefix else word[-length:], ()))
        return labels


def compiled(lists: Mapping[str, Sequence[str]], classes: Classes) -> Network:
    """Return lists of phrases compiled.

    Raises ValueError for a phrase that is not written as it must be or names a class that nobody defines.
    """
    return _Compiler(lists, classes).network()


def key(classes: bytes, code: Iterable[bytes]) -> str:
    """Return the key of a table: the digest of the word classes and of the code that compiles, as files."""
    sha256 = hashlib.sha256(repr((sys.byteorder, array("I").itemsize, sorted(BOUNDARY))).encode())
    for content in (classes, *code):
        sha256.update(hashlib.sha256(content).digest())
    return sha256.hexdigest()


def written(table: Table, key: str) -> bytes:
    """Return a table as bytes: a line of JSON, then its numbers."""
    network, phrases = table.network, table.phrases
    arrays = [*_arrays(table)]
    head = {
        "key": key,
        "phrases": phrases,
        "lists": network.lists,
        "words": network.words,
        "affixes": network.affixes,
        "numbers": network.numbers,
        "sizes": [*map(len, arrays)],
    }
    return json.dumps(head).encode() + b"\n" + b"".join(one.tobytes() for one in arrays)


def read(content: bytes, key: str) -> Table | None:
    """Return the table that bytes hold, None if its key is another or if bytes are missing."""
    end = content.find(b"\n")
    facts: dict[str, Any] = json.loads(content[:end]) if end >= 0 else {"key": ""}
    if facts["key"] != key:
        return None
    numbers = memoryview(content)[end + 1 :]
    ends = [*accumulate((array("I").itemsize * size for size in facts["sizes"]), initial=0)]
    if ends[-1] != len(numbers):
        return None
    arrays = (_array(numbers[start:end]) for start, end in pairwise(ends))

    def rows() -> Rows:
        return Rows(next(arrays), next(arrays))

    network = Network(
        lists=facts["lists"],
        words=facts["words"],
        symbols=next(arrays),
        meanings=rows(),
        affixes=facts["affixes"],
        numbers=facts["numbers"],
        labels=rows(),
        targets=rows(),
        ends=rows(),
        firsts=rows(),
    )
    unnamed = rows()
    steps = {name: Steps(next(arrays), rows(), rows(), rows(), rows()) for name in facts["phrases"]}
    return Table(network, facts["phrases"], unnamed, steps)


def _array(numbers: memoryview) -> array[int]:
    found = array("I")
    found.frombytes(numbers)
    return found


def _arrays(table: Table) -> Iterator[array[int]]:
    network = table.network
    yield array("I", network.symbols)
    for rows in (network.meanings, network.labels, network.targets, network.ends, network.firsts, table.unnamed):
        yield from rows
    for alike, *some in table.steps.values():
        yield array("I", alike)
        yield from chain.from_iterable(some)


class _Compiler:
    """Compiles lists of phrases. Phrases of a list that begin alike share places."""

    def __init__(self, lists: Mapping[str, Sequence[str]], classes: Classes) -> None:
        self._lists = lists
        self._edges: list[dict[Label, list[int]]] = [{} for _ in range(BEGINNINGS * len(lists))]
        self._ends: dict[int, list[int]] = {}
        self._nodes: dict[tuple[frozenset[int], Label], int] = {}
        self._marks: set[int] = set()  # the places behind $, which is no token of a phrase
        self._classes = classes
        self._class_options: dict[str, Options] = {}
        self._by_word: dict[str, list[int]] = {}
        self._labels: dict[Label, int] = {"_": ANY, "$": CLAUSE_END}
        count = 0
        for number, phrases in enumerate(lists.values()):
            for phrase in phrases:
                self._add(count, phrase, BEGINNINGS * number)
                count += 1

    def _add(self, number: int, phrase: str, anywhere: int) -> None:
        sequence = parsed(phrase)
        start = anywhere + (1 + STARTS.index(sign) if isinstance(sign := sequence[0], str) and sign in STARTS else 0)
        ends = self._sequence(sequence[start > anywhere :], frozenset({start}), 0)
        if start in ends:
            raise ValueError("matches nothing at all, too; add a token that is not optional")
        for end in ends:
            self._ends.setdefault(end, []).append(2 * number + (end in self._marks))

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
                raise ValueError(f"names the unknown word class {{{name}}}; add it to `classes` of the pack")
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
                number = self._labels[taken] = len(self._labels)
                for word in (taken,) if isinstance(taken, str) else taken:
                    self._by_word.setdefault(word, []).append(number)
        return frozenset({node})

    def network(self) -> Network:
        """Return what was compiled."""
        affixes = {word: labels for word, labels in sorted(self._by_word.items()) if "*" in word}
        numbers = self._by_word.get(_NUMBER, [])
        words = sorted({"'s", *BOUNDARY, *self._by_word} - {_NUMBER, *affixes})
        unnamed = Unnamed(affixes, numbers)
        symbols: dict[tuple[int, ...], int] = {}
        meant = [symbols.setdefault(self._meaning(word, unnamed), len(symbols)) for word in words]
        edges = [
            sorted((self._labels[label], target) for label, targets in some.items() for target in targets)
            for some in self._edges
        ]
        places = {word: place for place, word in enumerate(words)}
        return Network(
            lists={name: len(phrases) for name, phrases in self._lists.items()},
            words=words,
            symbols=meant,
            meanings=Rows.of(symbols),
            affixes=affixes,
            numbers=numbers,
            labels=Rows.of([label for label, _ in some] for some in edges),
            targets=Rows.of([target for _, target in some] for some in edges),
            ends=Rows.of(self._ends.get(node, ()) for node in range(len(edges))),
            firsts=Rows.of(
                sorted(places[word] for word in self._first_words(BEGINNINGS * number))
                for number in range(len(self._lists))
            ),
        )

    def _meaning(self, word: str, unnamed: Unnamed) -> tuple[int, ...]:
        """Return the labels that take a word that phrases name."""
        labels = {*self._by_word.get(word, ())}
        if word == "'s":
            labels.update(self._by_word.get("is", ()))  # a noun's, which may be either
        return tuple(sorted(labels | ({CLAUSE_END} if word in BOUNDARY else unnamed.labels(word))))

    def _first_words(self, anywhere: int) -> set[str]:
        """Return the words that the phrases of a list begin with, none if one may begin with any."""
        firsts: set[str] = set()
        for label in chain.from_iterable(self._edges[anywhere : anywhere + BEGINNINGS]):
            words = {label} if isinstance(label, str) else label
            if any(word in _SIGNS or "*" in word for word in words):
                return set()
            firsts |= words
        return firsts | {"'s"} if "is" in firsts else firsts
