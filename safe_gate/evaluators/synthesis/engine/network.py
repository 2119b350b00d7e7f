"""Phrases compiled to a network: places, the words that lead from one to the next, and the gaps after them. Pure.

Compiling the packs that ship takes longer than an `eval` of few cases, so an installation holds their networks as a
table: a file with a key, the digest of all that compiling depends on. A table with another key is not read.

A phrase is written as tokens with blanks between them:
  word        that token; `calm*` any that begins so, `*ing` any that ends so
  {class}     a member of a word class: a phrase itself, most often one word
  (a|b c|)    one of several phrases; an empty one makes the others optional
  _  _0-3     any token, or zero to three of them, within the clause; `_*` any number
  <num>       any number
  ^  $        the start and the end of a clause; "and", "so" or "please" before it does not change that
  ^^          the start of a clause with nothing before it
  ,           that mark: without it a phrase stays within a clause
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise, takewhile
from typing import NamedTuple, TypeGuard

from safe_gate.evaluators.synthesis.engine.tokens import BOUNDARY

STARTS = ("^", "^^")
"""The signs for the start of a clause, which only begin a phrase."""

_PIECE = re.compile(r"\{[a-z_]+\}|[()|]|[^\s()|{}]+")
_GAP = re.compile(r"_(?:(\d+)-(\d+)|(\*))?")
_WORD = re.compile(r"\*?[^\W_]+\*?|'s|<num>|%|\$|[,;:—!?.\"]")
_LONGEST_GAP = 30


@dataclass(frozen=True, slots=True)
class Gap:
    """Any `least` to `most` tokens of a clause; without a bound where `most` is None."""

    least: int
    most: int | None


Item = str | Gap | tuple["Sequence_", ...]
Sequence_ = tuple[Item, ...]


Options = tuple[frozenset[str], Sequence[Sequence_]]
"""Options of one word, which share a place, and all others."""


def parsed(phrase: str) -> Sequence_:
    """Return a phrase taken apart: words, gaps, and options as tuples of sequences.

    Raises ValueError that says what is wrong with it.
    """
    plain = phrase.split()
    if plain and phrase.islower() and "".join(plain).isalpha():
        return tuple(plain)  # as most members of classes and learned phrases are
    pieces = _PIECE.findall(phrase)
    if "".join(pieces) != "".join(plain):
        raise ValueError("holds a brace; expected a class as in {you}")
    options, rest = _options(pieces, 0)
    if rest < len(pieces):
        raise ValueError("closes a bracket that none opens")
    if options == ((),):
        raise ValueError("is empty; expected a token")
    if len(options) > 1:
        raise ValueError("has options outside of brackets; write (a|b)")
    return options[0]


def _options(pieces: Sequence[str], at: int) -> tuple[tuple[Sequence_, ...], int]:
    """Return the options up to a closing bracket or the end, and where that is."""
    options: list[Sequence_] = []
    items: list[Item] = []
    while at < len(pieces) and pieces[at] != ")":
        piece = pieces[at]
        at += 1
        if piece.isalpha() and piece.islower():  # most are: this is fast
            items.append(piece)
        elif piece == "|":
            options.append(tuple(items))
            items = []
        elif piece == "(":
            inner, at = _options(pieces, at)
            if at == len(pieces):
                raise ValueError("opens a bracket that nothing closes")
            at += 1
            items.append(inner)
        elif piece[0] == "_" and (gap := _GAP.fullmatch(piece)):
            items.append(_gap(gap))
        elif piece[0] == "{" or (_WORD.fullmatch(piece) and piece == piece.lower()) or (piece in STARTS and at == 1):
            items.append(piece)
        else:
            raise ValueError(
                f"holds {piece}, which is not a token; expected lower-case words, classes, gaps or options"
            )
    return (*options, tuple(items)), at


def _gap(gap: re.Match[str]) -> Gap:
    if gap[3]:
        return Gap(0, None)
    least, most = int(gap[1] or 1), int(gap[2] or 1)
    if not least <= most <= _LONGEST_GAP or not most:
        raise ValueError(f"holds the gap {gap[0]}; expected such as _0-3, up to {_LONGEST_GAP}")
    return Gap(least, most)


def sorted_out(options: Sequence[Sequence_]) -> Options:
    """Return options with those of one word apart."""
    words = frozenset([word for option in options if len(option) == 1 and _is_word(word := option[0])])
    return words, [option for option in options if len(option) != 1 or not _is_word(option[0])]


def _is_word(item: Item) -> TypeGuard[str]:
    return isinstance(item, str) and item[0] not in "{^$"


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

    `lists` has the phrases by the list's name. `words` are words, beginnings ("calm*") and ends of words ("*ing") and
    the sign of any number; `meanings[n]` are the labels that take word n. From place n, label `labels[n][i]` leads to
    place `targets[n][i]`. `gaps[n]` are the gaps after it, three numbers each: the fewest and the most tokens, 0 for
    any number, and the place behind them. `ends[n]` are the phrases that end at place n, by their number among all
    lists: twice that, and one more if the phrase ends a token earlier.
    """

    lists: Mapping[str, Sequence[str]]
    words: Sequence[str]
    meanings: Rows
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
    """Return networks by name as the bytes of a table: a line of JSON, then each network in turn."""
    networks = {name: _written(network) for name, network in table.items()}
    head = {"key": key, "sizes": {name: len(content) for name, content in networks.items()}}
    return json.dumps(head).encode() + b"\n" + b"".join(networks.values())


def _written(network: Network) -> bytes:
    """Return a network as a line of JSON with its texts and the sizes of its arrays, then the arrays."""
    arrays = [one for rows in network[2:] for one in rows]
    head = [network.lists, network.words, [*map(len, arrays)]]
    return json.dumps(head).encode() + b"\n" + b"".join(one.tobytes() for one in arrays)


class Stored(Mapping[str, Network]):
    """The networks of a table, each read when it is asked for; none if the key is another or bytes are missing."""

    def __init__(self, content: bytes, key: str) -> None:
        self._content, self._start = content, content.find(b"\n") + 1
        is_mine = self._start and content.startswith(b'{"key": "' + key.encode() + b'"')
        self._sizes: dict[str, int] = json.loads(content[: self._start])["sizes"] if is_mine else {}
        if sum(self._sizes.values()) != len(content) - self._start:
            self._sizes = {}
        self._read: dict[str, Network] = {}

    def __getitem__(self, name: str) -> Network:
        if name not in self._read:
            start = self._start + sum(self._sizes[one] for one in takewhile(name.__ne__, self._sizes))
            self._read[name] = _network(self._content[start : start + self._sizes[name]])
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sizes)

    def __len__(self) -> int:
        return len(self._sizes)


def _network(content: bytes) -> Network:
    line, _, numbers = content.partition(b"\n")
    lists, words, sizes = json.loads(line)
    ends = [*accumulate((array("I").itemsize * size for size in sizes), initial=0)]
    arrays = (array("I", numbers[start:end]) for start, end in pairwise(ends))
    rows = map(Rows, arrays, arrays)
    return Network(lists, words, *rows)


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
            words=sorted(words),
            meanings=Rows.of(words[word] for word in sorted(words)),
            labels=Rows.of([label for label, _ in some] for some in self._edges),
            targets=Rows.of([target for _, target in some] for some in self._edges),
            gaps=Rows.of(self._gaps.get(node, ()) for node in range(len(self._edges))),
            ends=Rows.of(self._ends.get(node, ()) for node in range(len(self._edges))),
        )


class Meanings:
    """The labels of a network that take a word: what it means to the phrases."""

    def __init__(self, network: Network) -> None:
        self._numbers = {word: number for number, word in enumerate(network.words)}
        self._rows = network.meanings
        self._affixes: dict[tuple[int, bool], dict[str, int]] = {}
        for number, word in enumerate(network.words):
            if "*" in word:
                self._affixes.setdefault((len(word) - 1, word[-1] == "*"), {})[word.strip("*")] = number

    def __getitem__(self, word: str) -> frozenset[int]:
        named = [word, "is"] if word == "'s" else [word]  # a noun's 's may be either
        if word[0].isdigit():
            named.append(_NUMBER)
        numbers = [self._numbers.get(one) for one in named]
        if word not in BOUNDARY:
            for (length, is_prefix), affixes in self._affixes.items():
                numbers.append(affixes.get(word[:length] if is_prefix else word[-length:]))
        labels = chain.from_iterable(self._rows.row(number) for number in numbers if number is not None)
        return frozenset((CLAUSE_END, *labels) if word in BOUNDARY else labels)
