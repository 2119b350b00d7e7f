"""The result of a check: part of an entry of `results[]`. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any

from safe_gate.evaluators.judged import Verdict
from safe_gate.model import codec
from safe_gate.model.codec import JsonObject, key
from safe_gate.model.results import Hit

Hits = Mapping[str, tuple[Hit, ...]]
"""Hits by group."""

Placing = Callable[[Sequence[Hit]], tuple[Hit, ...]]
"""Returns hits with their places in a conversation."""

_HITS = "_hits"


def _requirement_json(one: Requirement, own: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    tag = {"tag": one.tag} if one.tag else {}
    return {"kind": one.kind, **tag, "of": [{form: words} for form, words in one.of], "hits": own().get("hits", [])}


def _requirement_fields(value: JsonObject) -> dict[str, Any]:
    return {**value, "of": tuple(form for entry in value["of"] for form in entry.items())}


@codec.reshaped(_requirement_json, _requirement_fields)
@dataclass(frozen=True, slots=True)
class Requirement:
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


@dataclass(frozen=True, slots=True)
class Wording:
    """The evidence of `wording`: what the reply must and must not contain."""

    asked: tuple[Requirement, ...]

    @property
    def unmet(self) -> list[Requirement]:
        """The requirements that do not hold."""
        return [one for one in self.asked if not one.holds]

    def placed(self, place: Placing) -> Wording:
        """Return the evidence with its hits elsewhere."""
        return Wording(tuple(replace(one, hits=place(one.hits)) for one in self.asked))


@dataclass(frozen=True, slots=True)
class Sides:
    """The evidence of a check that counts clauses: those that make it apply, those for and against a reply, by group.

    `decides` says how it decides by them. `is_flat` is true for the first two checks, which the report has without
    sides.
    """

    decides: str
    applies: Hits
    favour: Annotated[Hits, key("for")]
    against: Hits
    is_flat: bool = False

    def placed(self, place: Placing) -> Sides:
        """Return the evidence with its hits elsewhere."""
        applies, favour, against = (_placed(side, place) for side in (self.applies, self.favour, self.against))
        return replace(self, applies=applies, favour=favour, against=against)


@codec.whole
@dataclass(frozen=True, slots=True)
class Ties:
    """What ties a reply to the message, besides hits: see `deciding.ties`."""

    shared: Sequence[str] = ()
    dwells: bool = False
    addresses: bool = False


@dataclass(frozen=True, slots=True)
class Pivot:
    """The evidence of `topic_pivot`: the hits by group, and how alike the message and the reply are, from 0 to 1.

    `ties` are None for a check by `similarity`.
    """

    groups: Hits
    similarity: float
    ties: Ties | None = None

    def placed(self, place: Placing) -> Pivot:
        """Return the evidence with its hits elsewhere."""
        return replace(self, groups=_placed(self.groups, place))

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


Evidence = Pivot | Sides | Wording | Verdict


def _check_json(check: CheckResult, own: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the result of a check with its evidence beside the verdict, in the form of its kind."""
    found, applicable = own(), {"applicable": check.applicable}
    evidence = found["evidence"]
    match check.evidence:
        case Sides(decides, _, favour, against, is_flat=True):
            applicable = {} if check.applicable else applicable
            score = {"score": count(favour) - count(against)} if decides == "outweighs" else {}
            evidence = {**score, **_with_suffix({**evidence["for"], **evidence["against"]})}
        case Pivot() as pivot:
            evidence = {
                "similarity": pivot.similarity,
                "acknowledged": pivot.acknowledges,
                "followed_up": pivot.follows_up,
                "pivoted": pivot.turns_away,
                **evidence.get("ties", {}),
                **_with_suffix(evidence["groups"]),
            }
    earlier = {"earlier": True} if check.is_earlier else {}
    return {"pass": check.passed, **applicable, **evidence, "cancelled": found.get("cancelled", []), **earlier}


def _with_suffix(groups: Mapping[str, Any]) -> dict[str, Any]:
    return {group + _HITS: hits for group, hits in groups.items()}


def _check_fields(value: JsonObject) -> dict[str, Any]:
    groups = {name.removesuffix(_HITS): hits for name, hits in value.items() if name.endswith(_HITS)}
    evidence: Any
    if "by" in value:
        evidence = codec.from_json(Verdict, value)
    elif "asked" in value:
        evidence = codec.from_json(Wording, {"asked": value["asked"]})
    elif "similarity" in value:
        ties = (
            {"ties": {one.name: value[one.name] for one in fields(Ties) if one.name in value}}
            if "shared" in value
            else {}
        )
        evidence = codec.from_json(Pivot, {"groups": groups, "similarity": value["similarity"], **ties})
    elif "decides" in value:
        evidence = codec.from_json(Sides, value)
    else:
        favour = {group: groups.pop(group) for group in ("positive",) if group in groups}
        decides = "outweighs" if favour else "none_against"
        flat = {"decides": decides, "applies": {}, "for": favour, "against": groups, "is_flat": True}
        evidence = codec.from_json(Sides, flat)
    return {
        "passed": value["pass"],
        "applicable": value.get("applicable", True),
        "evidence": evidence,
        "cancelled": value["cancelled"],
        "is_earlier": value.get("earlier", False),
    }


@codec.reshaped(_check_json, _check_fields)
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

    @classmethod
    def recorded(cls, verdict: Verdict) -> CheckResult:
        """Return the result that a recorded verdict is."""
        return cls(verdict.passed, applicable=True, evidence=verdict)

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
            case Pivot(groups):
                return dict(groups)
            case _:
                return {}

    def agreement(self, expected: bool | None) -> Agreement:
        """Return how the verdict compares with a label.

        Not applicable is an automatic pass, so it agrees with True as well as with None. The label None agrees only
        with not applicable (DESIGN, Inputs).
        """
        match = self.actual == expected or (self.actual is None and expected is True)
        return Agreement(expected, self.actual, match)


def in_all(groups: Hits) -> list[Hit]:
    """Return the hits of several groups, group by group."""
    return [hit for hits in groups.values() for hit in hits]


def count(groups: Hits) -> int:
    """Return how many hits several groups have."""
    return sum(map(len, groups.values()))


def _placed(groups: Hits, place: Placing) -> Hits:
    return {group: place(hits) for group, hits in groups.items()}


@dataclass(frozen=True, slots=True)
class Agreement:
    """The label that people gave a check, the verdict as a label, and whether they agree; None is not applicable."""

    expected: bool | None
    actual: bool | None
    match: bool
