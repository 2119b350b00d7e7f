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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import accumulate, repeat
from struct import Struct
from typing import NamedTuple

from safe_gate.evaluators.synthesis.features import Sentence, relations
from safe_gate.evaluators.synthesis.rules import compiled
from safe_gate.model import JsonObject
from safe_gate.text import Normalised

_STEPS = 32  # strengths are looked up on a grid of 1/32, because math.exp differs from platform to platform
_REACH = 8
_REASONS = 3
SHOWN = 0.6
"""Learned evidence that weighs less is neither shown nor counted."""

_RELATION = "r:"  # features that relate a sentence to the user's message share one weight
_LANE = 64  # bits
_ORIGIN = 1 << 62  # what a lane starts from, so that no sum in it is below 0


@dataclass(frozen=True, slots=True, eq=False)
class LearnedPack:
    """Weights of features and biases, one for each group.

    `relation` is what a feature of relation to the user's message counts, 0 where the pack looks at
    no message; `scale` turns a strength from 0 to 1 into a hit's weight; a sentence that matches
    `unless` is no evidence.
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
            unless="|".join(data["unless"]),
            bias=tuple(data["bias"]),
            weights={
                name if name.startswith(_RELATION) else name + " ": weights for name, weights in data["weights"].items()
            },
        )


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a pack sees in a sentence of the normalised text, for one group.

    `weight` is the strength, from 0 to 1 in thousandths, times the pack's scale; `because` are the
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


@dataclass(frozen=True, slots=True)
class Ledger:
    """The weights of packs side by side: for each pack a count of its features, then each group's sum.

    `features` are those that have an entry.
    """

    features: frozenset[str]
    entries: Mapping[str, int]
    origin: int
    lanes: Struct
    nothing: tuple[int, ...]

    @classmethod
    def of(cls, packs: tuple[LearnedPack, ...]) -> Ledger:
        """Return the ledger of some packs."""
        features = frozenset[str]().union(*(pack.weights for pack in packs))
        lanes = sum(1 + len(pack.groups) for pack in packs)
        origin = sum(_ORIGIN << _LANE * lane for lane in range(lanes))
        return cls(features, _Entries(packs), origin, Struct(f"<{lanes}Q"), (0,) * lanes)

    def sums(self, features: frozenset[str]) -> tuple[int, ...]:
        """Return the sums of the features' entries by lane."""
        if not features:
            return self.nothing
        total = sum(map(self.entries.__getitem__, features & self.features), self.origin)
        return tuple(lane - _ORIGIN for lane in self.lanes.unpack(total.to_bytes(self.lanes.size, "little")))


class Row(NamedTuple):
    """A sentence as one pack sees it for one group: `norm` is what each feature counts, `value` the sum of all."""

    sentence: Sentence
    relation: frozenset[str]
    norm: float
    value: float


@dataclass(frozen=True, slots=True)
class Column:
    """One group's sums over the sentences of a text, as one pack has them."""

    pack: LearnedPack
    index: int
    rows: tuple[Row, ...]

    def shown(self, text: Normalised) -> Iterator[Evidence]:
        """Yield the evidence that is strong enough to be shown, in reading order."""
        least = _least(self.pack.scale)
        for row in self.rows:
            if row.value >= least and not self._excused(text.text[row.sentence.start : row.sentence.end]):
                yield self._evidence(row)

    def strongest(self) -> Evidence | None:
        """Return the strongest evidence, however weak, the first of those alike."""
        best = max(self.rows, key=lambda row: _logistic(row.value), default=None)
        return self._evidence(best) if best else None

    def _excused(self, sentence: str) -> bool:
        return bool(self.pack.unless and compiled(self.pack.unless).search(sentence))

    def _evidence(self, row: Row) -> Evidence:
        weight = round(_logistic(row.value) * self.pack.scale, 3)
        return Evidence(row.sentence.start, row.sentence.end, weight, self._reasons(row))

    def _reasons(self, row: Row) -> tuple[str, ...]:
        """Return the features with the largest shares above 0, ties by name."""
        weights = _speaking_for(self.pack, self.index)
        shares = [
            (-row.norm * weight, feature.rstrip()) for weight, feature in _largest(weights, row.sentence.features)
        ]
        shares += [(-self.pack.relation * weight, feature) for weight, feature in _largest(weights, row.relation)]
        return tuple(feature for _, feature in sorted(shares)[:_REASONS])


@cache
def _speaking_for(pack: LearnedPack, index: int) -> Mapping[str, float]:
    """Return the features of a pack that speak for a group."""
    return {feature: weights[index] for feature, weights in pack.weights.items() if weights[index] > 0}


def _largest(weights: Mapping[str, float], features: frozenset[str]) -> list[tuple[float, str]]:
    """Return the features with the largest weights, and those that weigh as much as the last of them."""
    found = [(weights[feature], feature) for feature in features & weights.keys()]
    least = min(sorted(weight for weight, _ in found)[-_REASONS:], default=0.0)
    return [one for one in found if one[0] >= least]


def columns(
    packs: tuple[LearnedPack, ...], sentences: Sequence[Sentence], message: Sequence[Sentence]
) -> dict[str, list[Column]]:
    """Return what packs make of the sentences of a text, by group; `message` is the user's, by sentence.

    A sentence without features (see `features.Sentence`) is left out.
    """
    ledger = _ledger(packs)
    related = relations(message, sentences) if any(pack.relation for pack in packs) else repeat(frozenset[str]())
    read = [(s, relation) for s, relation in zip(sentences, related, strict=False) if s.features]
    sums = [(ledger.sums(sentence.features), ledger.sums(relation)) for sentence, relation in read]
    found: dict[str, list[Column]] = {}
    lane = 0
    for pack in packs:
        norms = [_norm(own[lane]) for own, _ in sums]
        for index, group in enumerate(pack.groups):
            lane += 1
            values = (
                pack.bias[index] + (norm * own[lane] + pack.relation * related[lane]) / 1000
                for norm, (own, related) in zip(norms, sums, strict=True)
            )
            rows = tuple(Row(*one, norm, value) for one, norm, value in zip(read, norms, values, strict=True))
            found.setdefault(group, []).append(Column(pack, index, rows))
        lane += 1
    return found


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
