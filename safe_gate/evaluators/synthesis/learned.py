"""Learned packs: features with weights, added up sentence by sentence into evidence a reviewer can read.

Pure. A pack has a head for each group of hits it gives. A head's strength in a sentence is a logistic
function of the weights of the sentence's features; training (`fit.py`) fits the weights so that the
strengths, which nobody labelled, explain the labels of whole replies (multiple-instance learning).

Weights are whole thousandths, and those of all packs of a field stand side by side in one wide
integer (`Ledger`): adding up some hundred features for all groups is one built-in `sum`, exact and
the same in any order.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache
from itertools import accumulate, repeat
from struct import Struct
from typing import NamedTuple

from safe_gate.evaluators.synthesis.features import MOST_WORDINGS, Sentence, Wording, relations
from safe_gate.evaluators.synthesis.rules import compiled
from safe_gate.model import JsonObject
from safe_gate.text import Normalised

_STEPS = 32  # strengths are looked up on a grid of 1/32, because math.exp differs from platform to platform
_REACH = 8
_REASONS = 3
SHOWN = 0.6
"""Learned evidence that weighs less, before a team's factor, is neither shown nor counted."""

_RELATION = "r:"  # features that relate a sentence to the user's message share one weight
_LANE = 64  # bits
_ORIGIN = 1 << 63  # what a lane starts from, so that no sum in it is below 0
_NOTHING = frozenset[str]()


@dataclass(frozen=True, slots=True, eq=False)
class LearnedPack:
    """Weights of features and biases, one for each group.

    `relation` is what a feature of relation to the user's message counts, 0 where the pack looks at
    no message; `scale` turns a strength from 0 to 1 into a hit's weight, and `factor` is what a team
    multiplies that by; a sentence that matches `unless` is no evidence.
    """

    id: str
    check: str
    field: str
    groups: tuple[str, ...]
    relation: float
    scale: float
    unless: str
    bias: tuple[float, ...]
    weights: Mapping[str, Sequence[float]]
    factor: float

    @classmethod
    def of(cls, data: JsonObject) -> LearnedPack:
        """Return the pack that `schemas/rule-pack.schema.json` describes."""
        return cls(
            id=data["pack"],
            check=data["check"],
            field=data["field"],
            groups=tuple(data["groups"]),
            relation=data["relation"],
            scale=data["scale"],
            factor=data.get("factor", 1.0),
            unless="|".join(f"(?:{pattern})" for pattern in data["unless"]),
            bias=tuple(data["bias"]),
            weights={
                name if name.startswith(_RELATION) else name + " ": weights for name, weights in data["weights"].items()
            },
        )


class Evidence(NamedTuple):
    """What a pack sees in a sentence of the normalised text, for one group.

    `weight` is the strength, from 0 to 1 in thousandths, times the pack's scale and factor; `because` are the
    features that count most for it.
    """

    start: int
    end: int
    weight: float
    because: tuple[str, ...]


class _Entries(dict[str, int]):
    """The entries of a ledger, each worked out when it is first asked for: most runs meet few of the features."""

    def __init__(self, packs: tuple[LearnedPack, ...]) -> None:
        super().__init__()
        lanes = accumulate((1 + len(pack.groups) for pack in packs), initial=0)
        self._weights = [(pack.weights, _LANE * lane) for pack, lane in zip(packs, lanes, strict=False)]

    def __missing__(self, feature: str) -> int:
        count = 0 if feature.startswith(_RELATION) else 1
        entry = 0
        for weights, place in self._weights:
            if feature in weights:
                sums = 0
                for weight in reversed(weights[feature]):
                    sums = (sums + round(weight * 1000)) << _LANE
                entry += (sums + count) << place
        self[feature] = entry
        return entry


@dataclass(frozen=True, slots=True, eq=False)
class Ledger:
    """The weights of packs side by side: for each pack a count of its features, then each group's sum.

    `features` are those that have an entry.
    """

    features: frozenset[str]
    entries: Mapping[str, int]
    origin: int
    lanes: Struct

    @classmethod
    def of(cls, packs: tuple[LearnedPack, ...]) -> Ledger:
        """Return the ledger of some packs."""
        features = frozenset[str]().union(*(pack.weights for pack in packs))
        lanes = sum(1 + len(pack.groups) for pack in packs)
        origin = sum(_ORIGIN << _LANE * lane for lane in range(lanes))
        return cls(features, _Entries(packs), origin, Struct(f"<{lanes}q"))

    def weigh(self, features: Iterable[str]) -> Weighed:
        """Return what packs weigh of some features."""
        known = self.features.intersection(features)
        total = sum(map(self.entries.__getitem__, known), self.origin)
        # The origin is a lane's sign bit, so that flipping it leaves a signed number.
        return Weighed(known, self.lanes.unpack((total ^ self.origin).to_bytes(self.lanes.size, "little")))


class Weighed(NamedTuple):
    """Features that packs weigh, and their sums by lane."""

    features: frozenset[str]
    sums: tuple[int, ...]


class Row(NamedTuple):
    """A sentence as the packs of a field see it: by itself, and by the features of its relation to the user's message.

    What they weigh is worked out whenever it is asked for, as a sentence's wording is.
    """

    sentence: Sentence
    relation: frozenset[str]
    ledger: Ledger

    def weighed(self) -> tuple[Weighed, Weighed]:
        """Return what the packs weigh of it, and of its relation."""
        return _weighed(self.ledger, self.sentence.wording), _related(self.ledger, self.relation)


@dataclass(frozen=True, slots=True)
class Column:
    """One group's value for each sentence of a text, as one pack has it, whose count stands in a lane."""

    pack: LearnedPack
    index: int
    lane: int
    rows: Sequence[Row]
    values: array[float]

    def add(self, own: Sequence[int], related: Sequence[int]) -> None:
        """Add the value of one more sentence, from what the packs weigh of it and of its relation."""
        k = self.lane + 1 + self.index
        weighed = _norm(own[self.lane]) * own[k] + self.pack.relation * related[k]
        self.values.append(self.pack.bias[self.index] + weighed / 1000)

    def shown(self, text: Normalised) -> Iterator[Evidence]:
        """Yield the evidence that is strong enough to be shown, in reading order, each wording once."""
        least, told = _least(self.pack.scale) if self.pack.factor else math.inf, set[str]()
        for row, value in zip(self.rows, self.values, strict=True):
            if value >= least:
                sentence = text.text[row.sentence.start : row.sentence.end]
                wording = sentence.lower()
                if wording not in told and not self._excused(text, row):
                    told.add(wording)
                    yield self._evidence(row, value)

    def strongest(self, text: Normalised) -> Evidence | None:
        """Return the strongest evidence, however weak, the first of those alike."""
        found = (one for one in zip(self.rows, self.values, strict=True) if not self._excused(text, one[0]))
        best = max(found, key=lambda one: _logistic(one[1]), default=None)
        return self._evidence(*best) if best else None

    def _excused(self, text: Normalised, row: Row) -> bool:
        if not self.pack.unless:
            return False
        return bool(compiled(self.pack.unless).search(text.text[row.sentence.start : row.sentence.end]))

    def _evidence(self, row: Row, value: float) -> Evidence:
        weight = round(_logistic(value) * self.pack.scale * self.pack.factor, 3)
        return Evidence(row.sentence.start, row.sentence.end, weight, self._reasons(row))

    def _reasons(self, row: Row) -> tuple[str, ...]:
        """Return the names of the features with the largest shares above 0, ties by name."""
        own, related = row.weighed()
        shares = [
            (each * weight, name)
            for weighed, each in ((own, _norm(own.sums[self.lane])), (related, self.pack.relation))
            for weight, name in _largest(self.pack, self.index, weighed.features)
        ]
        return tuple(name for _, name in sorted(shares)[:_REASONS])


@lru_cache(maxsize=2 * MOST_WORDINGS)
def _largest(pack: LearnedPack, index: int, features: frozenset[str]) -> list[tuple[float, str]]:
    """Return the features that speak most for a group, each by its weight times -1 and its name, ties by name."""
    speaking = _speaking_for(pack, index)
    names = sorted(features & speaking.keys())
    names.sort(key=speaking.__getitem__)
    return [(speaking[name], name.rstrip()) for name in names[:_REASONS]]


@cache
def _speaking_for(pack: LearnedPack, index: int) -> Mapping[str, float]:
    """Return the features of a pack that speak for a group, each with its weight times -1."""
    return {name: -weights[index] for name, weights in pack.weights.items() if weights[index] > 0}


def columns(
    packs: tuple[LearnedPack, ...], sentences: Sequence[Sentence], message: Sequence[Sentence]
) -> dict[str, list[Column]]:
    """Return what packs make of the sentences of a text, by group; `message` is the user's, by sentence.

    A sentence without features (see `features.Wording`) is left out.
    """
    ledger = _ledger(packs)
    relates = any(pack.relation for pack in packs)
    read = [one for one in sentences if one.is_read]
    related_by = relations(message, read) if relates else repeat(_NOTHING)
    rows = [Row(one, relation, ledger) for one, relation in zip(read, related_by, strict=False)]
    every: list[Column] = []
    lane = 0
    for pack in packs:
        every += (Column(pack, index, lane, rows, array("d")) for index in range(len(pack.groups)))
        lane += 1 + len(pack.groups)
    for row in rows:
        own, related = (weighed.sums for weighed in row.weighed())
        for column in every:
            column.add(own, related)
    found: dict[str, list[Column]] = {}
    for column in every:
        found.setdefault(column.pack.groups[column.index], []).append(column)
    return found


@lru_cache(maxsize=MOST_WORDINGS)
def _weighed(ledger: Ledger, wording: Wording) -> Weighed:
    return ledger.weigh(wording.features)


@lru_cache(maxsize=MOST_WORDINGS)
def _related(ledger: Ledger, relation: frozenset[str]) -> Weighed:
    return ledger.weigh(relation)


@cache
def _ledger(packs: tuple[LearnedPack, ...]) -> Ledger:
    return Ledger.of(packs)


def _norm(count: int) -> float:
    """Return what one of so many features counts: longer sentences have more of them."""
    return 1 / math.sqrt(max(1, count))


@cache
def _least(scale: float) -> float:
    """Return the least sum whose evidence is shown."""
    shown = (k for k, strength in enumerate(_LOGISTIC) if round(strength * scale, 3) >= SHOWN)
    return (next(shown, math.inf) - 0.5 - _REACH * _STEPS) / _STEPS


def _logistic(value: float) -> float:
    return _LOGISTIC[math.floor(max(-_REACH, min(_REACH, value)) * _STEPS + 0.5) + _REACH * _STEPS]


def _table() -> tuple[float, ...]:
    """Return 1 / (1 + exp(-x)) in thousandths on the grid, computed in decimals: the same everywhere."""
    step = Decimal(1) / _STEPS
    ratio, value, powers = step.exp(), Decimal(1), []
    for _ in range(_REACH * _STEPS + 1):
        powers.append(value)
        value *= ratio
    upper = [float(Fraction(round(1000 * power / (1 + power)), 1000)) for power in powers]
    return (*(round(1 - value, 3) for value in reversed(upper[1:])), *upper)


_LOGISTIC = _table()
