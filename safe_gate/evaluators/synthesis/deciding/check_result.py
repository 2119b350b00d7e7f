"""The result of a check: part of an entry of `results[]`, written to and read from JSON. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from safe_gate.core.model import Hit, JsonObject
from safe_gate.model import codec

Hits = Mapping[str, tuple[Hit, ...]]
"""Hits by group."""

Placing = Callable[[Sequence[Hit]], tuple[Hit, ...]]
"""Returns hits with their places in a conversation."""

_HITS = "_hits"


class Requirement(NamedTuple):
    """A requirement of `wording`: its kind, one or more texts or expressions with their forms, and the hits of them.

    The form is `text` or `regex`. `tag` is the tag that asks for it, "" for the case. There is no hit before a reply is
    judged.
    """

    kind: str
    of: tuple[tuple[str, str], ...]
    tag: str = ""
    hits: tuple[Hit, ...] = ()

    @property
    def is_forbidden(self) -> bool:
        """Return whether the reply must not contain it."""
        return self.kind == "must_not_contain"

    @property
    def holds(self) -> bool:
        """Return whether the reply meets the requirement."""
        return bool(self.hits) is not self.is_forbidden

    def to_json(self) -> dict[str, Any]:
        """Return the requirement in the shape of the report."""
        tag = {"tag": self.tag} if self.tag else {}
        return {"kind": self.kind, **tag, "of": [{form: words} for form, words in self.of], "hits": _listed(self.hits)}

    @classmethod
    def from_json(cls, value: JsonObject) -> Requirement:
        """Return the requirement that a report has."""
        of = tuple(form for entry in value["of"] for form in entry.items())
        return cls(value["kind"], of, value.get("tag", ""), _hits_from_json(value["hits"]))


class Wording(NamedTuple):
    """The evidence of `wording`: what the reply must and must not contain."""

    asked: tuple[Requirement, ...]

    @property
    def unmet(self) -> list[Requirement]:
        """The requirements that do not hold."""
        return [one for one in self.asked if not one.holds]

    def placed(self, place: Placing) -> Wording:
        """Return the evidence with its hits elsewhere."""
        return Wording(tuple(one._replace(hits=place(one.hits)) for one in self.asked))

    def to_json(self) -> dict[str, Any]:
        """Return the evidence in the shape of the report."""
        return {"asked": [one.to_json() for one in self.asked]}

    @classmethod
    def from_json(cls, value: JsonObject) -> Wording:
        """Return the evidence that a report has."""
        return cls(tuple(map(Requirement.from_json, value["asked"])))


class Sides(NamedTuple):
    """The evidence of a check that counts clauses: those that make it apply, those for and against a reply, by group.

    `decides` says how it decides by them. `is_flat` is true for the first two checks, which the report has without
    sides.
    """

    decides: str
    applies: Hits
    favour: Hits
    against: Hits
    is_flat: bool = False

    def placed(self, place: Placing) -> Sides:
        """Return the evidence with its hits elsewhere."""
        applies, favour, against = (_placed(side, place) for side in (self.applies, self.favour, self.against))
        return self._replace(applies=applies, favour=favour, against=against)

    def to_json(self) -> dict[str, Any]:
        """Return the evidence in the shape of the report."""
        if self.is_flat:
            score = {"score": count(self.favour) - count(self.against)} if self.decides == "outweighs" else {}
            return {**score, **_groups_json({**self.favour, **self.against})}
        return {
            "decides": self.decides,
            "applies": {group: _listed(hits) for group, hits in self.applies.items()},
            "for": {group: _listed(hits) for group, hits in self.favour.items()},
            "against": {group: _listed(hits) for group, hits in self.against.items()},
        }

    @classmethod
    def from_json(cls, value: JsonObject) -> Sides:
        """Return the evidence that a report has."""
        if "decides" not in value:
            groups = _groups_from_json(value)
            favour = {group: groups.pop(group) for group in ("positive",) if group in groups}
            return cls("outweighs" if favour else "none_against", {}, favour, groups, is_flat=True)
        applies, favour, against = (
            {group: _hits_from_json(hits) for group, hits in value[side].items()}
            for side in ("applies", "for", "against")
        )
        return cls(value["decides"], applies, favour, against)


class Ties(NamedTuple):
    """What ties a reply to the message, besides hits: see `leaving.ties`."""

    shared: Sequence[str] = ()
    comes_back: bool = False
    only_acknowledges: bool = False
    addresses: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return them in the shape of the report."""
        return {**self._asdict(), "shared": list(self.shared)}

    @classmethod
    def from_json(cls, value: JsonObject) -> Ties:
        """Return the ties that a report has."""
        return cls(**{name: value[name] for name in cls._fields if name in value})


class Pivot(NamedTuple):
    """The evidence of `topic_pivot`: the hits by group, and how alike the message and the reply are, from 0 to 1.

    `ties` are None for a check by `similarity`.
    """

    groups: Hits
    similarity: float
    ties: Ties | None = None

    def placed(self, place: Placing) -> Pivot:
        """Return the evidence with its hits elsewhere."""
        return self._replace(groups=_placed(self.groups, place))

    @property
    def shared(self) -> Sequence[str]:
        """The words of the message that come back in the reply, none of a check by `similarity`."""
        return self.ties.shared if self.ties else ()

    @property
    def acknowledges(self) -> bool:
        """Return whether a clause acknowledges what was disclosed."""
        return bool(self.groups.get("acknowledgment"))

    @property
    def follows_up(self) -> bool:
        """Return whether a clause follows up on it."""
        return bool(self.groups.get("follow_up"))

    @property
    def turns_away(self) -> bool:
        """Return whether a clause changes the subject."""
        return bool(self.groups.get("pivot"))

    @property
    def engages(self) -> bool:
        """Return whether the reply acknowledges, follows up and does not turn away."""
        return self.acknowledges and self.follows_up and not self.turns_away

    def to_json(self) -> dict[str, Any]:
        """Return the evidence in the shape of the report."""
        return {
            "similarity": self.similarity,
            "acknowledged": self.acknowledges,
            "followed_up": self.follows_up,
            "pivoted": self.turns_away,
            **({} if self.ties is None else self.ties.to_json()),
            **_groups_json(self.groups),
        }

    @classmethod
    def from_json(cls, value: JsonObject) -> Pivot:
        """Return the evidence that a report has."""
        ties = Ties.from_json(value) if "shared" in value else None
        return cls(_groups_from_json(value), value["similarity"], ties)


Evidence = Pivot | Sides | Wording


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The findings of one check. `applicable` is false only if the check has nothing to judge.

    `evidence` is what counts. `cancelled` are the hits that do not; `Hit.by` says why. `is_earlier` tells whether an
    earlier message discloses what the reply is to stay with.
    """

    passed: bool
    applicable: bool
    evidence: Evidence
    cancelled: tuple[Hit, ...] = ()
    is_earlier: bool = False

    @property
    def actual(self) -> bool | None:
        """The verdict as a label: True, False, or None for not applicable."""
        return self.passed if self.applicable else None

    @property
    def hits(self) -> dict[str, tuple[Hit, ...]]:
        """The hits that count, by group; for `wording`, by requirement."""
        match self.evidence:
            case Wording(asked):
                found: dict[str, tuple[Hit, ...]] = {}
                for one in asked:
                    found[one.kind] = (*found.get(one.kind, ()), *one.hits)
                return found
            case Sides(_, applies, favour, against):
                return {**applies, **favour, **against}
            case pivot:
                return dict(pivot.groups)

    def agreement(self, expected: bool | None) -> Agreement:
        """Return how the verdict compares with a label.

        Not applicable is an automatic pass, so it agrees with True as well as with None. The label None agrees only
        with not applicable (DESIGN, Inputs).
        """
        match = self.actual == expected or (self.actual is None and expected is True)
        return Agreement(expected, self.actual, match)

    def to_json(self) -> dict[str, Any]:
        """Return the check's part of a result in the report."""
        is_flat = isinstance(self.evidence, Sides) and self.evidence.is_flat
        return {
            "pass": self.passed,
            **({} if self.applicable and is_flat else {"applicable": self.applicable}),
            **self.evidence.to_json(),
            "cancelled": _listed(self.cancelled),
            **({"earlier": True} if self.is_earlier else {}),
        }

    @classmethod
    def from_json(cls, check: JsonObject) -> CheckResult:
        """Return the check of its part of a result in the report."""
        kind: type[Evidence] = Wording if "asked" in check else Pivot if "similarity" in check else Sides
        return cls(
            check["pass"],
            check.get("applicable", True),
            kind.from_json(check),
            _hits_from_json(check["cancelled"]),
            check.get("earlier", False),
        )


def in_all(groups: Hits) -> list[Hit]:
    """Return the hits of several groups, group by group."""
    return [hit for hits in groups.values() for hit in hits]


def count(groups: Hits) -> int:
    """Return how many hits several groups have."""
    return sum(map(len, groups.values()))


def _placed(groups: Hits, place: Placing) -> Hits:
    return {group: place(hits) for group, hits in groups.items()}


def _listed(hits: Iterable[Hit]) -> list[dict[str, Any]]:
    return [*map(codec.to_json, hits)]


def _groups_json(groups: Hits) -> dict[str, Any]:
    return {group + _HITS: _listed(hits) for group, hits in groups.items()}


def _groups_from_json(value: JsonObject) -> dict[str, tuple[Hit, ...]]:
    return {key.removesuffix(_HITS): _hits_from_json(hits) for key, hits in value.items() if key.endswith(_HITS)}


def _hits_from_json(hits: Sequence[JsonObject]) -> tuple[Hit, ...]:
    return tuple(codec.from_json(Hit, hit) for hit in hits)


class Agreement(NamedTuple):
    """The label that people gave a check, the verdict as a label, and whether they agree; None is not applicable."""

    expected: bool | None
    actual: bool | None
    match: bool
