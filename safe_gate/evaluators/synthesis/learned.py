"""Learned packs: features with weights, added up sentence by sentence into evidence a reviewer can read.

Pure. A pack has a head for each group of hits it gives. A head's strength in a sentence is a logistic
function of the weights of the sentence's features; training (`training/`) fits the weights so that the
strengths, which nobody labelled, explain the labels of whole replies (multiple-instance learning).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from heapq import nsmallest
from itertools import repeat

from safe_gate.evaluators.synthesis.features import (
    Lexicon,
    content_stems,
    relation_features,
    sentence_features,
    tokens,
)
from safe_gate.evaluators.synthesis.rules import compiled
from safe_gate.model import JsonObject
from safe_gate.text import Normalised

_STEPS = 32  # strengths are looked up on a grid of 1/32, because math.exp differs from platform to platform
_REACH = 8
_REASONS = 3
SHOWN = 0.3
"""Learned evidence that weighs less is neither shown nor counted."""

_LEAST_WORDS = 2  # a single word ("Fine.") is too little to read anything from
_RELATION = "r:"  # features that relate a sentence to the user's message share one weight


@dataclass(frozen=True, slots=True)
class LearnedPack:
    """Weights of features by name, one number for each group, with a bias for each.

    `families` names the kinds of features (see `features.py`); `relation` is what a feature of
    relation to the user's message counts, 0 where the pack looks at no message; `scale` turns a
    strength from 0 to 1 into a hit's weight; a sentence that matches `unless` is no evidence.
    """

    id: str
    check: str
    field: str
    groups: tuple[str, ...]
    families: str
    relation: float
    scale: float
    unless: str
    bias: tuple[float, ...]
    weights: Mapping[str, tuple[float, ...]]

    @classmethod
    def of(cls, data: JsonObject) -> LearnedPack:
        """Return the pack that `schemas/rule-pack.schema.json` describes."""
        return cls(
            id=data["pack"],
            check=data["check"],
            field=data["field"],
            groups=tuple(data["groups"]),
            families=data["families"],
            relation=data["relation"],
            scale=data["scale"],
            unless="|".join(data["unless"]),
            bias=tuple(data["bias"]),
            weights={feature: tuple(weights) for feature, weights in data["weights"].items()},
        )


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a pack sees in a sentence of the normalised text, for one group.

    `strength` is from 0 to 1 in thousandths; `because` are the features that count most for it.
    """

    group: str
    start: int
    end: int
    strength: float
    because: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a normalised text by its span, with its tokens."""

    start: int
    end: int
    words: tuple[str, ...]


def sentences(text: Normalised, lexicon: Lexicon) -> tuple[Sentence, ...]:
    """Return the sentences of a text with their tokens."""
    spans = [_stripped(text.text, start, end) for start, end in text.sentences]
    return tuple(Sentence(start, end, tokens(text.text[start:end], lexicon)) for start, end in spans)


def evidence(
    pack: LearnedPack, text: Normalised, parts: Sequence[Sentence], message: Sequence[Sentence], lexicon: Lexicon
) -> tuple[Evidence, ...]:
    """Return the evidence of every group in the sentences of a text, in reading order, however weak.

    `message` is the user's, by sentence: a look at a megabyte of it at once would not be linear.
    """
    found = feature_sets(pack, [part.words for part in parts], [part.words for part in message], lexicon)
    return tuple(
        Evidence(group, part.start, part.end, strength, because)
        for part, features in zip(parts, found, strict=True)
        if features and not (pack.unless and compiled(pack.unless).search(text.text[part.start : part.end]))
        for group, (strength, because) in zip(pack.groups, strengths(pack, features), strict=True)
    )


def feature_sets(
    pack: LearnedPack, sentences: Sequence[Sequence[str]], message: Sequence[Sequence[str]], lexicon: Lexicon
) -> Iterator[set[str]]:
    """Yield the features of each sentence, those of relation to the message where the pack has them.

    A sentence of a single word has none.
    """
    topic = {stem for words in message for stem in content_stems(words)} if pack.relation else set()
    related = relation_features(topic, sentences) if pack.relation else repeat(set[str](), len(sentences))
    for words, relation in zip(sentences, related, strict=True):
        is_long_enough = sum(word[0].isalpha() for word in words) >= _LEAST_WORDS
        yield sentence_features(words, pack.families, lexicon) | relation if is_long_enough else set()


def strengths(pack: LearnedPack, features: set[str]) -> list[tuple[float, tuple[str, ...]]]:
    """Return each group's strength in a sentence with these features, and the features that count most.

    Strengths too weak to be shown come without features.
    """
    used = sorted(features & pack.weights.keys())
    plain = sum(not feature.startswith(_RELATION) for feature in used)
    norm = 1 / math.sqrt(max(1, plain))
    scales = [pack.relation if feature.startswith(_RELATION) else norm for feature in used]
    result = []
    for column, bias in enumerate(pack.bias):
        shares = [scale * pack.weights[feature][column] for feature, scale in zip(used, scales, strict=True)]
        total = bias
        for share in shares:  # from left to right: the built-in sum differs from Python 3.12 on
            total += share
        strength = _logistic(total)
        result.append((strength, _reasons(shares, used) if strength * pack.scale >= SHOWN else ()))
    return result


def _reasons(shares: Sequence[float], features: Sequence[str]) -> tuple[str, ...]:
    """Return the features with the largest shares, ties by name."""
    most = nsmallest(_REASONS, zip((-share for share in shares), features, strict=True))
    return tuple(feature for share, feature in most if share < 0)


def _logistic(value: float) -> float:
    index = round(max(-_REACH, min(_REACH, value)) * _STEPS) + _REACH * _STEPS
    return _LOGISTIC[index]


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


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
