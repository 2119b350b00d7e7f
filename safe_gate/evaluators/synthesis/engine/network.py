"""Phrases compiled to a network: places, the words that lead from one to the next, and the gaps after them. Pure.

Compiling the packs that ship takes longer than an `eval` of few cases, so an installation holds their networks as a
table: a file with a key, the digest of all that compiling depends on. A table with another key is not read.
"""

from __future__ import annotations

import hashlib
import json
import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, chain, pairwise
from typing import NamedTuple

from safe_gate.evaluators.synthesis.engine.notation import STARTS, Gap, Options, Sequence_, parsed, sorted_out
from safe_gate.evaluators.synthesis.engine.tokens import BOUNDARY

Classes = Mapping[str, Sequence[str]]
Label = str | frozenset[str]
"""What leads from a place to another: a word, one of several words, or the sign `$`."""

CLAUSE_END = 0
"""The number of the label `$`."""
BEGINNINGS = 3
"""So many places begin the phrases of a list: anywhere, at the start of a clause, and there with nothing before."""

_NUMBER = "<num>"
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
    """Lists of phrases, compiled. List n begins at the places `BEGINNINGS` * n and behind.

    `lists` has the phrases by the list's name. `words` has the labels that take a word, the beginning of one ("calm*"),
    its end ("*ing") or any number. From place n, label `labels[n][i]` leads to place `targets[n][i]`. `gaps[n]` are the
    gaps after it, three numbers each: the fewest and the most tokens, 0 for any number, and the place behind them.
    `ends[n]` are the phrases that end at place n, by their number among all lists: twice that, and one more if the
    phrase ends a token earlier.
    """

    lists: Mapping[str, Sequence[str]]
    words: Mapping[str, Sequence[int]]
    labels: Rows
    targets: Rows
    gaps: Rows
    ends: Rows


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


def written(table: Mapping[str, Network], key: str) -> bytes:
    """Return networks by name as the bytes of a table: a line of JSON, then numbers."""
    arrays = [one for network in table.values() for rows in network[2:] for one in rows]
    names = {name: (network.lists, network.words) for name, network in table.items()}
    head = {"key": key, "networks": names, "sizes": [*map(len, arrays)]}
    return json.dumps(head).encode() + b"\n" + b"".join(one.tobytes() for one in arrays)


def read(content: bytes, key: str) -> dict[str, Network]:
    """Return the networks that the bytes of a table hold, none if its key is another or if bytes are missing."""
    line, end, numbers = content.partition(b"\n")
    if not (end and line.startswith(b'{"key": "' + key.encode() + b'"')):
        return {}
    head = json.loads(line)
    ends = [*accumulate((array("I").itemsize * size for size in head["sizes"]), initial=0)]
    if ends[-1] != len(numbers):
        return {}
    arrays = (array("I", numbers[start:end]) for start, end in pairwise(ends))
    rows = map(Rows, arrays, arrays)
    return {
        name: Network(lists, words, labels=next(rows), targets=next(rows), gaps=next(rows), ends=next(rows))
        for name, (lists, words) in head["networks"].items()
    }


class _Compiler:
    """Compiles lists of phrases. Phrases of a list that begin alike share places."""

    def __init__(self, lists: Mapping[str, Sequence[str]], classes: Classes) -> None:
        self._lists, self._classes = lists, classes
        self._edges: list[list[tuple[int, int]]] = [[] for _ in range(BEGINNINGS * len(lists))]
        self._gaps: dict[int, list[int]] = {}
        self._ends: dict[int, list[int]] = {}
        self._nodes: dict[tuple[frozenset[int], Label | Gap], int] = {}
        self._marks: set[int] = set()  # the places behind $, which is no token of a phrase
        self._members: dict[str, Options] = {}
        self._labels: dict[Label, int] = {"$": CLAUSE_END}
        numbers = iter(range(sum(map(len, lists.values()))))
        for anywhere, phrases in zip(range(0, len(self._edges), BEGINNINGS), lists.values(), strict=True):
            for phrase in phrases:
                self._add(next(numbers), phrase, anywhere)

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
                behind = self._behind(sources, item)
                sources = behind if item.least else sources | behind
            elif isinstance(item, tuple):
                sources = self._either(sorted_out(item), sources, depth)
            elif item[0] == "{":
                sources = self._either(self._options(item[1:-1]), sources, depth + 1)
            else:
                sources = self._behind(sources, item)
        return sources

    def _either(self, options: Options, sources: frozenset[int], depth: int) -> frozenset[int]:
        if depth > _DEEPEST:
            raise ValueError(f"names word classes that name each other more than {_DEEPEST} deep")
        words, others = options
        ends = self._behind(sources, next(iter(words)) if len(words) == 1 else words) if words else frozenset()
        for option in others:
            ends |= self._sequence(option, sources, depth)
        return ends

    def _options(self, name: str) -> Options:
        if name not in self._members:
            if name not in self._classes:
                raise ValueError(f"names the unknown word class {{{name}}}; add it to `classes` of the pack")
            self._members[name] = sorted_out([parsed(member) for member in self._classes[name]])
        return self._members[name]

    def _behind(self, sources: frozenset[int], what: Label | Gap) -> frozenset[int]:
        """Return the place behind a label or a gap after some places; the phrases that begin alike share it."""
        node = self._nodes.get((sources, what))
        if node is None:
            node = self._nodes[sources, what] = len(self._edges)
            self._edges.append([])
            if isinstance(what, Gap):
                for source in sources:
                    self._gaps.setdefault(source, []).extend((max(what.least, 1), what.most or 0, node))
            else:
                label = self._labels.setdefault(what, len(self._labels))
                for source in sources:
                    self._edges[source].append((label, node))
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
            lists=self._lists,
            words=dict(sorted(words.items())),
            labels=Rows.of([label for label, _ in some] for some in self._edges),
            targets=Rows.of([target for _, target in some] for some in self._edges),
            gaps=Rows.of(self._gaps.get(node, ()) for node in range(len(self._edges))),
            ends=Rows.of(self._ends.get(node, ()) for node in range(len(self._edges))),
        )


class Meanings:
    """The labels of a network that take a word: what it means to the phrases."""

    def __init__(self, words: Mapping[str, Sequence[int]]) -> None:
        self._words = words
        self._numbers = words.get(_NUMBER, ())
        self._affixes: dict[tuple[int, bool], dict[str, Sequence[int]]] = {}
        for word, labels in words.items():
            if "*" in word:
                self._affixes.setdefault((len(word) - 1, word[-1] == "*"), {})[word.strip("*")] = labels

    def __getitem__(self, word: str) -> frozenset[int]:
        labels = {*self._words.get(word, ())}
        if word == "'s":
            labels.update(self._words.get("is", ()))  # a noun's, which may be either
        if word in BOUNDARY:
            return frozenset({CLAUSE_END, *labels})
        if word[0].isdigit():
            labels.update(self._numbers)
        for (length, is_prefix), affixes in self._affixes.items():
            labels.update(affixes.get(word[:length] if is_prefix else word[-length:], ()))
        return frozenset(labels)
