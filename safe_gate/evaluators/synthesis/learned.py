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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache
from itertools import repeat
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
"""Learned evidence that weighs less is neither shown nor counted."""

_RELATION = "r:"  # features that relate a sentence to the user's message share one weight
_LANE = 64  # bits
_ORIGIN = 1 << 63  # what a lane starts from, so that no sum in it is below 0
_NOTHING = frozenset[str]()


@dataclass(frozen=True, slots=True, eq=False)
class LearnedPack:
    """Weights of features, a column and a bias for each group.

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
    columns: tuple[Mapping[str, float], ...]

    @classmethod
    def of(cls, data: JsonObject) -> LearnedPack:
        """Return the pack that `schemas/rule-pack.schema.json` describes."""
        keys = [name if name.startswith(_RELATION) else name + " " for name in data["weights"]]
        return cls(
            id=data["pack"],
            check=data["check"],
            field=data["field"],
            groups=tuple(data["groups"]),
            relation=data["relation"],
            scale=data["scale"],
            unless="|".join(data["unless"]),
            bias=tuple(data["bias"]),
            columns=tuple(
                {key: weights[column] for key, weights in zip(keys, data["weights"].values(), strict=True)}
                for column in range(len(data["groups"]))
            ),
        )


class Evidence(NamedTuple):
    """What a pack sees in a sentence of the normalised text, for one group.

    `weight` is the strength, from 0 to 1 in thousandths, times the pack's scale; `because` are the
    features that count most for it.
    """

    start: int
    end: int
    weight: float
    because: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Ledger:
    """The weights of packs side by side: for each pack a count of its features, then each group's sum.

    The features that some pack weighs have numbers, from 1 and in order; `names` and `entries` go by them.
    """

    numbers: Mapping[str, int]
    names: Sequence[str]
    entries: Sequence[int]
    origin: int
    lanes: Struct

    @classmethod
    def of(cls, packs: tuple[LearnedPack, ...]) -> Ledger:
        """Return the ledger of some packs."""
        entries = {"": 0}
        lane = 0
        for pack in packs:
            for feature in pack.columns[0]:
                entry = 0 if feature.startswith(_RELATION) else 1
                for place, weights in enumerate(pack.columns, start=1):
                    entry += round(weights[feature] * 1000) << _LANE * place
                entries[feature] = entries.get(feature, 0) + (entry << _LANE * lane)
            lane += 1 + len(pack.groups)
        origin = sum(_ORIGIN << _LANE * k for k in range(lane))
        names = sorted(entries)
        numbers = {feature: number for number, feature in enumerate(names)}
        return cls(numbers, names, [entries[name] for name in names], origin, Struct(f"<{lane}q"))

    def weigh(self, features: Iterable[str]) -> Weighed:
        """Return what packs weigh of some features."""
        known = set(filter(None, map(self.numbers.get, features)))
        total = sum(map(self.entries.__getitem__, known), self.origin)
        # The origin is a lane's sign bit, so that flipping it leaves a signed number.
        return Weighed(tuple(known), self.lanes.unpack((total ^ self.origin).to_bytes(self.lanes.size, "little")))


class Weighed(NamedTuple):
    """Features that packs weigh, by number, and their sums by lane."""

    features: tuple[int, ...]
    sums: tuple[int, ...]


class Row(NamedTuple):
    """A sentence as the packs of a field see it: by itself, and in its relation to the user's message."""

    sentence: Sentence
    own: Weighed
    related: Weighed


@dataclass(frozen=True, slots=True)
class Column:
    """One group's value for each sentence of a text, as one pack has it, whose count stands in a lane."""

    ledger: Ledger
    pack: LearnedPack
    index: int
    lane: int
    rows: Sequence[Row]
    values: tuple[float, ...]

    def shown(self, text: Normalised) -> Iterator[Evidence]:
        """Yield the evidence that is strong enough to be shown, in reading order, each wording once."""
        least, told = _least(self.pack.scale), set[str]()
        for row, value in zip(self.rows, self.values, strict=True):
            if value >= least:
                sentence = text.text[row.sentence.start : row.sentence.end]
                wording = sentence.lower()
                if wording not in told and not self._excused(sentence):
                    told.add(wording)
                    yield self._evidence(row, value)

    def strongest(self) -> Evidence | None:
        """Return the strongest evidence, however weak, the first of those alike."""
        found = zip(self.rows, self.values, strict=True)
        best = max(found, key=lambda one: _logistic(one[1]), default=None)
        return self._evidence(*best) if best else None

    def _excused(self, sentence: str) -> bool:
        return bool(self.pack.unless and compiled(self.pack.unless).search(sentence))

    def _evidence(self, row: Row, value: float) -> Evidence:
        weight = round(_logistic(value) * self.pack.scale, 3)
        return Evidence(row.sentence.start, row.sentence.end, weight, self._reasons(row))

    def _reasons(self, row: Row) -> tuple[str, ...]:
        """Return the names of the features with the largest shares above 0, ties by name."""
        shares = [
            (each * weight, name)
            for weighed, each in ((row.own, _norm(row.own.sums[self.lane])), (row.related, self.pack.relation))
            for weight, name in _largest(self.ledger, self.pack, self.index, weighed.features)
        ]
        return tuple(name for _, name in sorted(shares)[:_REASONS])


@lru_cache(maxsize=2 * MOST_WORDINGS)
def _largest(ledger: Ledger, pack: LearnedPack, index: int, features: tuple[int, ...]) -> list[tuple[float, str]]:
    """Return the features that speak most for a group, each by its weight times -1 and its name, ties by name."""
    against = _speaking_for(ledger, pack, index)
    found = sorted((weight, number) for number in features if (weight := against[number]))
    return [(weight, ledger.names[number].rstrip()) for weight, number in found[:_REASONS]]


@cache
def _speaking_for(ledger: Ledger, pack: LearnedPack, index: int) -> Sequence[float]:
    """Return what features weigh for a group times -1, by number; 0 for those that do not speak for it."""
    weights = pack.columns[index]
    return [min(-weights.get(name, 0.0), 0.0) for name in ledger.names]


def columns(
    packs: tuple[LearnedPack, ...], sentences: Sequence[Sentence], message: Sequence[Sentence]
) -> dict[str, list[Column]]:
    """Return what packs make of the sentences of a text, by group; `message` is the user's, by sentence.

    A sentence without features (see `features.Sentence`) is left out.
    """
    ledger = _ledger(packs)
    relates = any(pack.relation for pack in packs)
    rows: list[Row] = []
    for one, relation in zip(sentences, relations(message, sentences) if relates else repeat(_NOTHING), strict=False):
        if one.wording.shown:
            rows.append(Row(one, _weighed(ledger, one.wording), _related(ledger, relation)))
    found: dict[str, list[Column]] = {}
    lane = 0
    for pack in packs:
        norms = [_norm(row.own.sums[lane]) for row in rows]
        for index, (group, bias) in enumerate(zip(pack.groups, pack.bias, strict=True)):
            k = lane + 1 + index
            values = tuple(
                bias + (norm * row.own.sums[k] + pack.relation * row.related.sums[k]) / 1000
                for norm, row in zip(norms, rows, strict=True)
            )
            found.setdefault(group, []).append(Column(ledger, pack, index, lane, rows, values))
        lane += 1 + len(pack.groups)
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
